/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "demo.h"

/* The other way round from demo: the plugin greets and asks. Its one job at a time ends with the answer. */
static const struct mor_method methods[] = {
	{ .name = "hi",
	  .from = MOR_FROM_PLUGIN,
	  .role = MOR_ROLE_HELLO,
	  .timing = MOR_TIMING(.timeout_ms = 5000),
	  .template = "{\"host\":${version}}" },
	{ .name = "job", .from = MOR_FROM_PLUGIN, .role = MOR_ROLE_TAKE },
	{ .name = "note", .from = MOR_FROM_PLUGIN, .role = MOR_ROLE_NOTE, .settle = MOR_BY_WRITE },
	{ 0 },
};

static const struct mor_serve serve = { .answer_faults = true };

/* What the wire calls a breach it says by itself; here nobody has given it a number. */
const struct mor_dialect demo_client_dialect = {
	.name = "demo-client",
	.title = "A protocol for the tests of the host: the plugin is the client",
	.link = { .framing = MOR_FRAMING_LINES, .frame_limit = 1 << 20, .queue_limit = 1 << 20 },
	.life = {
		.stop = { .term_ms = 3000, .kill_ms = 1000 },
		.restart = { .first_ms = 100, .cap_ms = 10000, .intensity = 5, .period_ms = 60000, .clean = 2 },
	},
	.serve = &serve,
	.methods = methods,
};
