/* SPDX-License-Identifier: Apache-2.0 */
/* After a start: the dialect's HELLO and INIT rows, one after the other in table order, then READY. */
#include "host/greet.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "host/client.h"
#include "host/embedder.h"
#include "host/supervise.h"
#include "host/template.h"

static const struct mor_method *next_row(const struct mor_dialect *dialect, const struct mor_method *after)
{
	const struct mor_method *row = after ? after + 1 : dialect->methods;

	for (; row && row->name; row++) {
		if (row->from == MOR_FROM_HOST && (row->role == MOR_ROLE_HELLO || row->role == MOR_ROLE_INIT))
			return row;
	}
	return NULL;
}

static void refuse_greeting(mortise_plugin *plugin, const mortise_error *error, struct mor_slice data,
			    bool retry)
{
	mor_supervise_refused(plugin,
			      &(struct mor_verdict){
				      .status = error->code, .error = error, .error_data = data },
			      retry);
}

static int greeting_params(mortise_plugin *plugin, const struct mor_method *row, struct mor_buf *params)
{
	const struct mor_hooks *hooks = plugin->peer.dialect->hooks;

	if (row->template)
		return mor_template_fill(plugin, row->template, NULL, params);
	if (hooks && hooks->greet)
		return hooks->greet(&plugin->peer, row, params);
	return 0;
}

static void greet_with(mortise_plugin *plugin, const struct mor_method *row)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	mortise_error error;
	int r;

	plugin->life.greeting = row;
	if (!row) {
		if (plugin->peer.dialect->serve)
			mor_client_await_hello(plugin);
		else
			mor_supervise_ready(plugin);
		return;
	}
	if ((r = greeting_params(plugin, row, &params)) < 0)
		mor_fail(&error, r, "%s: params of \"%s\": %s", plugin->peer.name, row->name,
			 mortise_status_text(r));
	else
		r = mor_call_internal(plugin, row, MOR_FOR_GREETING,
				      params.len ? mor_buf_view(&params) : (struct mor_slice){ 0 }, &error);
	if (r < 0 && plugin->now.state == MORTISE_GREETING) /* otherwise the tap has stopped it */
		refuse_greeting(plugin, &error, (struct mor_slice){ 0 }, true);
}

void mor_greet_begin(mortise_plugin *plugin)
{
	greet_with(plugin, next_row(plugin->peer.dialect, NULL));
}

/* The name that a plugin gives itself, if nobody else has named it. It is used only in texts, never in
 * paths, so any printable text is fine. */
static void take_name(mortise_plugin *plugin)
{
	const char *at = plugin->peer.dialect->called;
	struct mor_slice said =
		at ? mor_json_string(mor_json_at(plugin->peer.hello, at)) : (struct mor_slice){ 0 };
	char shown[100];

	if (plugin->guarded.manifest->named || plugin->now.said_name || !said.len)
		return;
	plugin->now.said_name = mor_strdup(mor_printable(said, shown, sizeof(shown)));
	if (plugin->now.said_name)
		plugin->peer.name = plugin->now.said_name;
}

/* Keeps the result: describe and later hooks read it. */
static int keep_result(mortise_plugin *plugin, const struct mor_method *row, struct mor_slice result,
		       mortise_error *err)
{
	const struct mor_hooks *hooks = plugin->peer.dialect->hooks;
	struct mor_doc **place = row->role == MOR_ROLE_HELLO ? &plugin->life.hello : &plugin->life.init;
	struct mor_doc *doc = NULL;
	int r;

	if (!result.ptr)
		return 0;
	if ((r = mor_doc_parse(result, MOR_JSON_NAN, plugin->is.link_options.max_depth, &doc, err)) < 0)
		return r;
	mor_doc_free(*place);
	*place = doc;
	if (row->role == MOR_ROLE_HELLO)
		plugin->peer.hello = mor_doc_root(doc);
	else
		plugin->peer.init = mor_doc_root(doc);
	if (row->role == MOR_ROLE_HELLO)
		take_name(plugin);
	if (!hooks || !hooks->greeted)
		return 0;
	r = hooks->greeted(&plugin->peer, row, mor_doc_root(doc), err);
	return r < 0 ? mor_fail_prefix(err, plugin->peer.name) : 0;
}

/* A plugin that says no has understood: only answers of a plugin that does not know the method are
 * tolerated. */
static bool tolerable(const mortise_plugin *plugin, const struct mor_method *row,
		      const struct mor_verdict *verdict)
{
	if (verdict->said)
		return false;
	if (plugin->peer.strict && !(row->flags & MOR_M_TOLERANT))
		return false; /* no specification allows a missing INIT */
	if (row->flags & MOR_M_TOLERANT)
		return verdict->status == MORTISE_EREMOTE || verdict->status == MORTISE_ETIMEOUT ||
		       verdict->status == MORTISE_EPROTO;
	return (row->flags & MOR_M_OPTIONAL) && verdict->status == MORTISE_EREMOTE &&
	       verdict->error->rpc_code == -32601;
}

void mor_greet_answered(mortise_call *call, const struct mor_verdict *verdict)
{
	mortise_plugin *plugin = call->plugin;
	const struct mor_method *row = call->method;
	mortise_error error;

	if (plugin->gone || plugin->now.state != MORTISE_GREETING || plugin->life.greeting != row)
		return; /* it died or is being stopped: reported elsewhere */
	if (verdict->status < 0 && !tolerable(plugin, row, verdict)) {
		error = *verdict->error;
		refuse_greeting(plugin, &error, verdict->error_data,
				verdict->status == MORTISE_ETIMEOUT || mor_error_is_lack(&error));
		return;
	}
	if (verdict->status < 0)
		mor_event_printf(plugin, MORTISE_EVENT_WARNING, "\"%s\" is not implemented: %s", row->name,
				 verdict->error->text);
	else if (keep_result(plugin, row, verdict->result, &error) < 0) {
		refuse_greeting(plugin, &error, verdict->result, mor_error_is_lack(&error));
		return;
	}
	if (plugin->now.state == MORTISE_GREETING && plugin->life.link)
		greet_with(plugin, next_row(plugin->peer.dialect, row));
}
