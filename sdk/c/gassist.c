/* SPDX-License-Identifier: Apache-2.0 */
/* gassist: an assistant's functions. Answers to execute and input are notifications; pings are answered
 * whatever runs (docs/dialects/gassist.md). */
#include <string.h>

#include "dialect.h"

#define MESSAGE_LIMIT ((size_t)10 << 20)

static struct mor_slice id_or_null(const tenon_call *call)
{
	return call->id.ptr ? call->id : MOR_SLICE("null");
}

/* ---- Answers ---- */

static int send_complete(tenon_call *call, struct mor_slice json, bool keep)
{
	struct tn_session *s = call->session;
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_writer w = { .out = &params };

	params.limit = s->limit - 64; /* room for the envelope */
	mor_w_object(&w);
	mor_w_pair_raw(&w, "request_id", id_or_null(call));
	mor_w_pair_bool(&w, "success", true);
	mor_w_pair_raw(&w, "data", mor_slice_is(json, "null") ? MOR_SLICE("\"\"") : json);
	mor_w_pair_bool(&w, "keep_session", keep);
	mor_w_end(&w);
	if (mor_buf_failed(&params))
		return -1;
	tn_send_note(s, "complete", &params);
	return 0;
}

static int complete_result(tenon_call *call, struct mor_slice json)
{
	return send_complete(call, json, false);
}

static int error_note(tenon_call *call, const struct tn_fault *fault)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_writer w = { .out = &params };

	mor_w_object(&w);
	mor_w_pair_raw(&w, "request_id", id_or_null(call));
	mor_w_pair_int(&w, "code", fault->code);
	mor_w_pair(&w, "message", fault->message);
	if (fault->data.ptr)
		mor_w_pair_raw(&w, "data", fault->data);
	mor_w_end(&w);
	tn_send_note(call->session, "error", &params);
	return 0;
}

static const struct tn_shape shape_execute = { complete_result, error_note, -1 };

static void gassist_stream(tenon_call *call, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_writer w = { .out = &params };

	mor_w_object(&w);
	mor_w_pair_raw(&w, "request_id", id_or_null(call));
	mor_w_pair(&w, "data", text);
	mor_w_end(&w);
	tn_send_note(call->session, "stream", &params);
}

static void gassist_log(tenon_call *call, const char *level, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	struct mor_writer w = { .out = &params };

	mor_w_object(&w);
	mor_w_pair(&w, "level", level);
	mor_w_pair(&w, "message", text);
	mor_w_end(&w);
	tn_send_note(call->session, "log", &params);
}

static void gassist_progress(tenon_call *call, double fraction, const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	if (fraction >= 0)
		mor_buf_printf(&line, "%.0f %% ", fraction * 100);
	mor_buf_text(&line, text);
	mor_buf_byte(&line, '\0');
	if (!mor_buf_failed(&line))
		gassist_log(call, "info", line.data);
}

static void gassist_ask(tenon_call *call, const char *question)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

	if (mor_buf_json_string(&json, mor_slice_of(question)) == 0)
		send_complete(call, mor_buf_view(&json), true);
}

/* ---- Methods ---- */

static void put_functions(struct mor_writer *w, const tenon_plugin *plugin)
{
	mor_w_key(w, "commands");
	mor_w_array(w);
	for (const tenon_command *command = plugin->commands; command && command->name; command++) {
		mor_w_object(w);
		mor_w_pair(w, "name", command->name);
		mor_w_pair(w, "description", command->doc ? command->doc : "");
		mor_w_end(w);
	}
	mor_w_end(w);
}

static void serve_initialize(tenon_call *call, struct tn_turn *turn)
{
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	struct mor_writer w = { .out = &result };
	const tenon_plugin *plugin = call->plugin;

	(void)turn;
	if (tn_start(call, tn_call_sent(call), NULL) < 0)
		return;
	mor_w_object(&w);
	mor_w_pair(&w, "name", plugin->name ? plugin->name : "");
	mor_w_pair(&w, "version", plugin->version ? plugin->version : "0.0.0");
	mor_w_pair(&w, "description", plugin->description ? plugin->description : "");
	mor_w_pair(&w, "protocol_version", "2.0");
	tn_put_words(&w, "capabilities", "streaming passthrough");
	put_functions(&w, plugin);
	mor_w_end(&w);
	tenon_reply_json(call, result.data, result.len);
}

/* From either thread: the answer has nothing of the plugin's in it. */
static bool write_pong(struct mor_buf *out, struct mor_slice id, struct mor_slice params)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	struct mor_writer w = { .out = &result };
	const struct mor_value *stamp = NULL;

	if (params.ptr && mor_doc_parse(params, 0, 0, &doc, NULL) == 0)
		stamp = mor_json_get(mor_doc_root(doc), "timestamp");
	mor_w_object(&w);
	mor_w_key(&w, "timestamp");
	if (stamp)
		mor_w_value(&w, stamp);
	else
		mor_w_null(&w);
	mor_w_end(&w);
	return id.ptr && !mor_buf_failed(&result) && mor_write_result(out, id, mor_buf_view(&result)) == 0;
}

static void serve_ping(tenon_call *call, struct tn_turn *turn)
{
	(void)turn;
	call->answered = true;
	write_pong(call->out, call->id, call->params_text);
}

static enum tn_quick quick_ping(struct tn_session *s, const struct mor_message *message)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	if (write_pong(&out, message->kind == MOR_MSG_REQUEST ? message->id : (struct mor_slice){ 0 },
		       message->params))
		tn_send(s, mor_buf_view(&out));
	return TN_QUICK_DONE;
}

/* There is one session: who executes anew has left it. */
static void leave_sessions(struct tn_session *s)
{
	while (s->waiting)
		tn_give_up(s, s->waiting);
}

static bool take_arguments(tenon_call *call, const tenon_field *fields, const struct mor_value *arguments)
{
	if (mor_json_type(arguments) <= MOR_JSON_NULL)
		return tn_take_words(call, fields, &(struct tn_words){ 0 });
	if (mor_json_type(arguments) == MOR_JSON_OBJECT)
		return tn_take_fields(call, fields, arguments);
	tn_refuse(call, TENON_EPARAMS, "arguments: an object is expected", (struct mor_slice){ 0 });
	return false;
}

static void serve_execute(tenon_call *call, struct tn_turn *turn)
{
	const struct mor_value *params = tn_call_sent(call), *arguments = mor_json_get(params, "arguments");
	struct mor_slice name = mor_json_string(mor_json_get(params, "function"));
	const tenon_command *command;

	(void)turn;
	leave_sessions(call->session);
	if (!name.ptr) {
		tn_refuse(call, TENON_EPARAMS, "function: is missing", (struct mor_slice){ 0 });
		return;
	}
	command = tn_find_command(call->plugin->commands, name);
	if (!command) {
		tn_refuse_name(call, "function", name);
		return;
	}
	if (!tn_ensure_started(call) || !take_arguments(call, command->fields, arguments))
		return;
	call->shape = &shape_execute;
	tn_call_function(call, command->name, command->fn);
}

/* ---- Input of a conversation ---- */

static bool write_ack(struct mor_buf *out, struct mor_slice id)
{
	return id.ptr && mor_write_result(out, id, MOR_SLICE("{\"acknowledged\":true}")) == 0;
}

static enum tn_quick quick_input(struct tn_session *s, const struct mor_message *message)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	if (tn_find_method(s->plugin, MOR_SLICE("input")))
		return TN_QUICK_KEEP; /* the author answers it */
	if (message->kind == MOR_MSG_REQUEST && write_ack(&out, message->id))
		tn_send(s, mor_buf_view(&out));
	return TN_QUICK_ACK;
}

static void serve_input(tenon_call *call, struct tn_turn *turn)
{
	struct tn_session *s = call->session;
	const struct mor_value *content = mor_json_get(tn_call_sent(call), "content");
	struct tn_wait *wait = s->waiting;
	struct mor_message message;

	if (!(turn->kept && turn->kept->acked) && !call->in_batch) {
		write_ack(call->out, call->id);
		tn_send_answer(s);
	}
	if (call->in_batch)
		write_ack(call->out, call->id);
	call->shape = &shape_execute;
	if (!wait || mor_json_type(content) != MOR_JSON_STRING) {
		tenon_fail(call, wait ? TENON_EPARAMS : TENON_EREQUEST,
			   wait ? "content: a string is expected" : "no conversation waits for input");
		return;
	}
	call->answered = true; /* the waiting call answers */
	if (call->in_batch || mor_envelope_scan(turn->body, 0, 0, &message, NULL) < 0)
		return;
	tn_resume(s, wait, &message, mor_json_text(content, ""));
}

static void serve_shutdown(tenon_call *call, struct tn_turn *turn)
{
	(void)turn;
	tn_end(call->session);
	tenon_reply_json(call, "{\"success\":true}", 16);
}

static enum tn_quick quick_stop(struct tn_session *s, const struct mor_message *message)
{
	(void)s;
	(void)message;
	return TN_QUICK_STOP;
}

static const struct tn_route routes[] = {
	{ "initialize", serve_initialize, NULL },   { "ping", serve_ping, quick_ping },
	{ "execute", serve_execute, NULL },         { "input", serve_input, quick_input },
	{ "shutdown", serve_shutdown, quick_stop }, { 0 },
};

/* ---- The manifest ---- */

static void put_function(struct mor_writer *w, const tenon_command *command)
{
	mor_w_object(w);
	mor_w_pair(w, "name", command->name);
	mor_w_pair(w, "description", command->doc ? command->doc : command->name);
	tn_put_schema(w, command->fields);
	mor_w_end(w);
}

static void gassist_manifest(const tenon_plugin *plugin, const char *program, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair_int(&w, "manifestVersion", 1);
	mor_w_pair(&w, "name", plugin->name ? plugin->name : "");
	mor_w_pair(&w, "version", plugin->version ? plugin->version : "0.0.0");
	tn_put_known(&w, "description", plugin->description);
	tn_put_known(&w, "author", plugin->author);
	mor_w_pair(&w, "protocol_version", "2.0");
	mor_w_pair(&w, "executable", program);
	mor_w_pair_bool(&w, "persistent", true);
	mor_w_key(&w, "functions");
	mor_w_array(&w);
	for (const tenon_command *command = plugin->commands; command && command->name; command++)
		put_function(&w, command);
	mor_w_end(&w);
	mor_w_end(&w);
}

static bool gassist_fits(const tenon_plugin *plugin)
{
	return plugin->commands != NULL;
}

const struct tn_dialect tn_gassist = {
	.name = "gassist",
	.framing = MOR_FRAMING_BE32,
	.limit = MESSAGE_LIMIT,
	.fits = gassist_fits,
	.routes = routes,
	.stream = gassist_stream,
	.progress = gassist_progress,
	.log = gassist_log,
	.ask = gassist_ask,
	.manifest = gassist_manifest,
};
