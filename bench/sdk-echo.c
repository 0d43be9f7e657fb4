/* SPDX-License-Identifier: Apache-2.0 */
/* An echo with the C SDK; and `busy`, which works for some seconds without a pause, for pings beside it. */
#include <time.h>

#include <tenon/tenon.h>

static int echo(tenon_call *call)
{
	size_t len = 0;
	const char *json = tenon_params_json(call, &len);

	return json ? tenon_reply_json(call, json, len) : tenon_reply_null(call);
}

static int busy(tenon_call *call)
{
	time_t end = time(NULL) + tenon_int(call, "seconds", 1);
	volatile unsigned long turns = 0;

	while (time(NULL) < end && !tenon_cancelled(call))
		turns = turns + 1;
	return tenon_reply_text(call, "done");
}

static const tenon_method methods[] = { { "echo", echo, "Its parameters" }, { 0 } };
static const tenon_field fields[] = { { "seconds", TENON_FIELD_INTEGER, .fallback = "1" }, { 0 } };
static const tenon_command commands[] = { { "busy", busy, "Works", .fields = fields }, { 0 } };

int main(void)
{
	return tenon_run(&(tenon_plugin){ .name = "echo", .methods = methods, .commands = commands });
}
