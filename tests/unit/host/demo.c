/* SPDX-License-Identifier: Apache-2.0 */
#include "demo.h"

#include "base/error.h"

#define WITHIN(ms) MOR_TIMING(.timeout_ms = (ms))

static const struct mor_field news_params[] = {
	{ .name = "title", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "What is new" },
	{ 0 },
};

static const struct mor_method methods[] = {
	{ .name = "hello",
	  .role = MOR_ROLE_HELLO,
	  .timing = WITHIN(5000),
	  .template = "{\"host\":${version},\"config\":${config}}" },
	{ .name = "extra", .role = MOR_ROLE_HELLO, .flags = MOR_M_TOLERANT, .timing = WITHIN(1000) },
	{ .name = "ready", .role = MOR_ROLE_INIT, .flags = MOR_M_NOTE | MOR_M_PARAMS },
	{ .name = "ping", .role = MOR_ROLE_PING, .timing = WITHIN(1000), .template = "{\"n\":1}" },
	/* Any action that no other row has: settled by the reply or by a note, whichever comes first. */
	{ .name = "execute",
	  .action = "*",
	  .role = MOR_ROLE_CALL,
	  .settle = MOR_BY_FIRST,
	  .timing = MOR_TIMING(.timeout_ms = 30000, .max_ms = 60000, .clock = MOR_FROM_SIGN,
			       .late = MOR_LATE_KILL),
	  .outcome = MOR_OUTCOME(.ok = "/success", .why = "/data"),
	  .template = "{\"function\":${action},\"arguments\":${params}}" },
	/* The reply only acknowledges. */
	{ .name = "input",
	  .role = MOR_ROLE_CALL,
	  .settle = MOR_BY_NOTE,
	  .timing = MOR_TIMING(.timeout_ms = 10000, .ack_ms = 2000) },
	{ .name = "search",
	  .role = MOR_ROLE_CALL,
	  .timing = MOR_TIMING(.timeout_ms = 10000, .late = MOR_LATE_FORGET) },
	{ .name = "index",
	  .role = MOR_ROLE_CALL,
	  .timing = MOR_TIMING(.timeout_ms = 10000, .clock = MOR_FROM_PIECE, .late = MOR_LATE_CANCEL) },
	/* Conversations: a reply that says "again" opens one, and only then "say" may be called. */
	{ .name = "open",
	  .role = MOR_ROLE_CALL,
	  .timing = WITHIN(10000),
	  .outcome = MOR_OUTCOME(.keep = "/again") },
	{ .name = "say",
	  .role = MOR_ROLE_INPUT,
	  .timing = MOR_TIMING(.timeout_ms = 10000, .late = MOR_LATE_KILL),
	  .outcome = MOR_OUTCOME(.keep = "/again") },
	{ .name = "spread",
	  .role = MOR_ROLE_CALL,
	  .timing = WITHIN(10000),
	  .template = "{\"first\":1,\"...\":${extra},\"middle\":2,\"...\":${params},\"last\":3}" },
	{ .name = "wave", .role = MOR_ROLE_BYE, .flags = MOR_M_NOTE, .when = "parting=long" },
	{ .name = "cancel", .role = MOR_ROLE_CANCEL, .flags = MOR_M_NOTE, .template = "{\"id\":${id}}" },
	{ .name = "shutdown", .role = MOR_ROLE_BYE, .timing = WITHIN(1000) },
	{ .name = "exit", .role = MOR_ROLE_BYE, .flags = MOR_M_NOTE },
	{ .name = "stream",
	  .from = MOR_FROM_PLUGIN,
	  .role = MOR_ROLE_PIECE,
	  .outcome = MOR_OUTCOME(.ref = "/request_id", .data = "/data") },
	{ .name = "complete",
	  .from = MOR_FROM_PLUGIN,
	  .role = MOR_ROLE_DONE,
	  .outcome = MOR_OUTCOME(.ok = "/success", .why = "/data", .ref = "/request_id", .data = "/data") },
	{ .name = "error",
	  .from = MOR_FROM_PLUGIN,
	  .role = MOR_ROLE_FAIL,
	  .outcome = MOR_OUTCOME(.why = "/message", .code = "/code", .ref = "/request_id") },
	{ .name = "log",
	  .from = MOR_FROM_PLUGIN,
	  .role = MOR_ROLE_LOG,
	  .settle = MOR_BY_WRITE,
	  .outcome = MOR_OUTCOME(.data = "/message", .level = "/level") },
	{ .name = "news",
	  .from = MOR_FROM_PLUGIN,
	  .role = MOR_ROLE_NOTE,
	  .settle = MOR_BY_WRITE,
	  .params = news_params },
	{ .name = "alive", .from = MOR_FROM_PLUGIN, .role = MOR_ROLE_SERVE, .template = "{\"yes\":true}" },
	{ .name = "secret", .from = MOR_FROM_PLUGIN, .role = MOR_ROLE_SERVE },
	{ 0 },
};

static const struct mor_quirk quirks[] = {
	{ "parting", "short", "short|long", "Whether it is waved at before it is shut down.", MOR_QUIRK_OWN },
	{ 0 },
};

static const struct mor_code codes[] = {
	{ -2, "Timeout", "Operation timed out", MORTISE_ETIMEOUT },
	{ 0 },
};

/* "secret" is a breach of the protocol; everything else goes to the embedder. */
static int on_request(struct mor_peer *peer, const struct mor_method *method, const struct mor_value *params,
		      struct mor_buf *ret_result, mortise_error *err)
{
	(void)peer;
	(void)params;
	(void)ret_result;
	if (method->name[0] != 's' || method->name[1] != 'e')
		return 0;
	mor_fail(err, MORTISE_EPROTO, "no secrets here");
	err->rpc_code = -1;
	return MORTISE_EPROTO;
}

static const struct mor_hooks hooks = { .on_request = on_request };

static const struct mor_watchdog watchdog = { .every_ms = 2000, .misses = 2 };
static const struct mor_conversation conversation = { .total_ms = 60000 };

const struct mor_dialect demo_dialect = {
	.name = "demo",
	.title = "A protocol for the tests of the host",
	.link = { .framing = MOR_FRAMING_LINES, .frame_limit = 1 << 20, .queue_limit = 1 << 20 },
	.wire = MOR_WIRE_ANY_REF | MOR_WIRE_NULL_ID_FAILS_ONLY_CALL,
	.life = {
		.stop = { .bye_ms = 1000, .term_ms = 2000, .kill_ms = 2000 },
		.restart = { .first_ms = 100, .cap_ms = 10000, .intensity = 5, .period_ms = 60000 },
	},
	.watchdog = &watchdog,
	.conversation = &conversation,
	.methods = methods,
	.codes = codes,
	.quirks = quirks,
	.hooks = &hooks,
};
