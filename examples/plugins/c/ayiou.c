/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <tenon/tenon.h>

static int roll(tenon_call *call)
{
	tenon_stream(call, "%s rolls:", tenon_str(call, "who", "Somebody"));
	for (int64_t left = tenon_int(call, "dice", 1); left > 0 && left <= 20; left--)
		tenon_stream(call, " %d", rand() % 6 + 1);
	return tenon_reply_text(call, ".");
}

int main(void)
{
	static const tenon_field fields[] = { { "dice", TENON_FIELD_INTEGER, .fallback = "1" },
					      { .name = "who" },
					      { 0 } };
	static const tenon_command commands[] = { { "roll", roll, "Rolls dice", fields, "r dice" }, { 0 } };

	return tenon_run(&(tenon_plugin){ "dice", "1.0.0", .dialect = "ayiou", .commands = commands });
}
