/* SPDX-License-Identifier: Apache-2.0 */
/* sunscreen as it comes over gRPC (sdk/grpc): words as they were typed, and notes to a host that takes them. */
#include <string.h>

#include "dialect.h"

static bool grpc_fits(const tenon_plugin *plugin)
{
	return plugin->commands || plugin->hooks;
}

/* ---- Notes: only of a call that streams ---- */

static bool streams(const tenon_call *call)
{
	return mor_json_bool(mor_json_get(tn_call_sent(call), "stream"), false);
}

static void send_note(tenon_call *call, const char *what, const char *text, const char *level, double fraction)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_writer w = { .out = &params };

	mor_w_object(&w);
	mor_w_pair_raw(&w, "request_id", call->id);
	mor_w_pair(&w, "text", text);
	if (level)
		mor_w_pair(&w, "level", level);
	if (fraction >= 0) {
		mor_w_key(&w, "fraction");
		mor_w_double(&w, fraction);
	}
	mor_w_end(&w);
	tn_send_note(call->session, what, &params);
}

static void grpc_stream(tenon_call *call, const char *text)
{
	if (streams(call))
		send_note(call, "piece", text, NULL, -1);
	else
		mor_buf_text(&call->pieces, text);
}

static void grpc_progress(tenon_call *call, double fraction, const char *text)
{
	if (streams(call))
		send_note(call, "progress", text, NULL, fraction);
	else
		tn_say(call->session, "%.0f %% %s", fraction < 0 ? 0 : fraction * 100, text);
}

static void grpc_log(tenon_call *call, const char *level, const char *text)
{
	if (streams(call))
		send_note(call, "log", text, level, -1);
	else
		tn_say(call->session, "%s: %s", level, text);
}

/* ---- Methods ---- */

static void grpc_run(tenon_call *call, struct tn_turn *turn)
{
	(void)turn;
	tn_sunscreen_run(call, "scaffold");
}

static void grpc_run_app(tenon_call *call, struct tn_turn *turn)
{
	(void)turn;
	tn_sunscreen_run(call, "app");
}

static void grpc_shutdown(tenon_call *call, struct tn_turn *turn)
{
	(void)turn;
	tn_end(call->session);
	tenon_reply_json(call, "true", 4);
}

static enum tn_quick grpc_stop(struct tn_session *s, const struct mor_message *message)
{
	(void)s;
	(void)message;
	return TN_QUICK_STOP;
}

static const struct tn_route grpc_routes[] = {
	{ "run", grpc_run, NULL },
	{ "hook", tn_sunscreen_hook, NULL },
	{ "shutdown", grpc_shutdown, grpc_stop },
	{ 0 },
};
static const struct tn_route grpc_json_routes[] = {
	{ "run", grpc_run_app, NULL },
	{ "hook", tn_sunscreen_hook, NULL },
	{ "shutdown", grpc_shutdown, grpc_stop },
	{ 0 },
};

#define SUNSCREEN_GRPC(called, table) \
	{ \
		.name = called, .framing = MOR_FRAMING_LINES, .fits = grpc_fits, .routes = table, \
		.stream = grpc_stream, .progress = grpc_progress, .log = grpc_log \
	}

const struct tn_dialect tn_sunscreen_grpc = SUNSCREEN_GRPC("sunscreen", grpc_routes);
const struct tn_dialect tn_sunscreen_json_grpc = SUNSCREEN_GRPC("sunscreen-json", grpc_json_routes);
