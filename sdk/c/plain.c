/* SPDX-License-Identifier: Apache-2.0 */
/* plain: JSON-RPC 2.0 and nothing else. Methods and commands by their names. */
#include "dialect.h"

static void put_request_id(struct mor_writer *w, const tenon_call *call)
{
	mor_w_object(w);
	mor_w_pair_raw(w, "request_id", call->id.ptr ? call->id : MOR_SLICE("null"));
}

static void plain_stream(tenon_call *call, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_writer w = { .out = &params };

	put_request_id(&w, call);
	mor_w_pair(&w, "data", text);
	mor_w_end(&w);
	tn_send_note(call->session, "stream", &params);
}

static void plain_progress(tenon_call *call, double fraction, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_writer w = { .out = &params };

	put_request_id(&w, call);
	mor_w_key(&w, "fraction");
	if (fraction >= 0)
		mor_w_double(&w, fraction);
	else
		mor_w_null(&w);
	mor_w_pair(&w, "text", text);
	mor_w_end(&w);
	tn_send_note(call->session, "progress", &params);
}

static bool plain_fits(const tenon_plugin *plugin)
{
	return plugin->methods || plugin->commands;
}

static void plain_manifest(const tenon_plugin *plugin, const char *program, struct mor_buf *out)
{
	tn_own_manifest(plugin, "plain", program, out);
}

static const struct tn_route no_routes[] = { { 0 } };

const struct tn_dialect tn_plain = {
	.name = "plain",
	.framing = MOR_FRAMING_LINES,
	.fits = plain_fits,
	.routes = no_routes,
	.by_name = &tn_shape_rpc,
	.stream = plain_stream,
	.progress = plain_progress,
	.manifest = plain_manifest,
};

/* kythe: an analyzer asks the driver for work; analyzer.c does that. */

static bool kythe_fits(const tenon_plugin *plugin)
{
	return plugin->analyses != NULL;
}

static void kythe_manifest(const tenon_plugin *plugin, const char *program, struct mor_buf *out)
{
	tn_own_manifest(plugin, "kythe", program, out);
}

const struct tn_dialect tn_kythe = {
	.name = "kythe",
	.framing = MOR_FRAMING_DECIMAL,
	.fits = kythe_fits,
	.routes = no_routes,
	.manifest = kythe_manifest,
};
