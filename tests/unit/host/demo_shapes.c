/* SPDX-License-Identifier: Apache-2.0 */
/* The demo protocol with one process per call, in both shapes. */
#include <string.h>

#include "demo.h"

static const struct mor_method call_methods[] = {
	{ .name = "work",
	  .role = MOR_ROLE_CALL,
	  .timing = MOR_TIMING(.timeout_ms = 10000, .late = MOR_LATE_KILL),
	  .outcome = MOR_OUTCOME(.ok = "/success", .why = "/error") },
	{ .name = "slow", .role = MOR_ROLE_CALL, .timing = MOR_TIMING(.timeout_ms = 10000) },
	{ 0 },
};
static const struct mor_method run_methods[] = {
	{ .name = "hello", .role = MOR_ROLE_HELLO, .timing = MOR_TIMING(.timeout_ms = 1000) },
	{ .name = "work",
	  .role = MOR_ROLE_CALL,
	  .timing = MOR_TIMING(.timeout_ms = 10000, .late = MOR_LATE_KILL) },
	{ .name = "bye", .role = MOR_ROLE_BYE, .timing = MOR_TIMING(.timeout_ms = 1000) },
	{ 0 },
};

const struct mor_dialect demo_call_dialect = {
	.name = "demo-call",
	.title = "One call per process",
	.link = { .framing = MOR_FRAMING_HEADERS,
		  .reads = 1 << MOR_FRAMING_LINES,
		  .frame_limit = 1 << 20,
		  .queue_limit = 1 << 20 },
	.wire = MOR_WIRE_ANY_REPLY_ID,
	.life = { .shape = MOR_SHAPE_ONE_CALL,
		  .max_in_flight = 1,
		  .stop = { .term_ms = 1000, .kill_ms = 1000 } },
	.methods = call_methods,
};

const struct mor_dialect demo_run_dialect = {
	.name = "demo-run",
	.title = "One greeting and one call per process",
	.link = { .framing = MOR_FRAMING_LINES,
		  .reads = 1 << MOR_FRAMING_HEADERS,
		  .frame_limit = 1 << 20,
		  .queue_limit = 1 << 20 },
	.life = { .shape = MOR_SHAPE_ONE_RUN,
		  .max_in_flight = 1,
		  .stop = { .bye_ms = 500, .term_ms = 1000, .kill_ms = 1000 } },
	.methods = run_methods,
};

const struct mor_dialect *demo_find(const char *name)
{
	static const struct mor_dialect *const all[] = { &demo_call_dialect, &demo_run_dialect,
							 &demo_client_dialect };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strcmp(name, all[i]->name) == 0)
			return all[i];
	return &demo_dialect;
}
