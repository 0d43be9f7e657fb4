/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <tenon/tenon.h>

static int guess(tenon_call *call)
{
	int most = (int)tenon_int(call, "most", 10), secret = most > 0 ? rand() % most + 1 : 0;
	const char *said = tenon_ask(call, "I think of a number from 1 to %d.", most);

	for (int tries = 1; said; tries++) {
		if (atol(said) == secret)
			return tenon_reply_text(call, "Right, after %d tries.", tries);
		said = tenon_ask(call, atol(said) < secret ? "More." : "Less.");
	}
	return -1;
}

int main(void)
{
	static const tenon_field fields[] = { { "most", TENON_FIELD_INTEGER, .fallback = "10" }, { 0 } };
	static const tenon_command commands[] = { { "guess", guess, "A guessing game", .fields = fields },
						  { 0 } };

	return tenon_run(&(tenon_plugin){ "game", "1.0.0", .dialect = "gassist", .commands = commands });
}
