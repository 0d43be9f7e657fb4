/* SPDX-License-Identifier: Apache-2.0 */
/* ayiou: commands and handlers of a chat bot (docs/dialects/ayiou.md). */
#include <string.h>
#include <strings.h>

#include "dialect.h"

#define PREFIX '/'

static bool ayiou_fits(const tenon_plugin *plugin)
{
	return plugin->handler || plugin->commands;
}

/* ---- Answers ---- */

static void put_flag(struct mor_writer *w, const char *key, const struct mor_value *object, bool usual)
{
	mor_w_pair_bool(w, key, mor_json_bool(mor_json_get(object, key), usual));
}

/* A text is the reply. An object says more; null says that nothing was done. */
static int handle_result(tenon_call *call, struct mor_slice json)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf reply = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	struct mor_writer w = { .out = &result };
	const struct mor_value *value, *own;
	bool done;

	if (mor_doc_parse(json, 0, 0, &doc, NULL) < 0)
		return -1;
	value = mor_doc_root(doc);
	own = mor_json_type(value) == MOR_JSON_OBJECT ? mor_json_get(value, "reply") : value;
	if (!own)
		own = mor_json_get(value, "text");
	done = mor_json_type(value) != MOR_JSON_NULL || call->pieces.len > 0;
	mor_w_object(&w);
	put_flag(&w, "handled", value, done);
	put_flag(&w, "block", value, done);
	mor_w_key(&w, "reply");
	if (mor_json_type(own) > MOR_JSON_NULL && mor_json_type(own) != MOR_JSON_STRING) {
		mor_json_write(own, false, &reply); /* a number, say: people read its text */
		mor_buf_slice(&call->pieces, mor_buf_view(&reply));
		own = NULL;
	}
	if (mor_json_type(own) == MOR_JSON_STRING)
		mor_buf_slice(&call->pieces, mor_json_string(own));
	if (call->pieces.len > 0)
		mor_w_slice(&w, mor_buf_view(&call->pieces));
	else
		mor_w_null(&w);
	mor_w_key(&w, "actions");
	if (mor_json_type(mor_json_get(value, "actions")) == MOR_JSON_ARRAY)
		mor_w_value(&w, mor_json_get(value, "actions"));
	else
		mor_w_raw(&w, MOR_SLICE("[]"));
	tn_put_members(&w, value, "handled block reply text actions");
	mor_w_end(&w);
	mor_buf_reset(&call->pieces, 0);
	return mor_buf_failed(&result) ? -1 : tn_shape_rpc.result(call, mor_buf_view(&result));
}

static int handle_error(tenon_call *call, const struct tn_fault *fault)
{
	return tn_shape_rpc.error(call, fault);
}

static const struct tn_shape shape_handle = { handle_result, handle_error, TENON_EINTERNAL };

static void ayiou_ask(tenon_call *call, const char *question)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

	if (mor_buf_json_string(&json, mor_slice_of(question)) == 0)
		handle_result(call, mor_buf_view(&json));
}

/* ---- Messages ---- */

/* group_id absent and null are the same. */
static void read_message(tenon_call *call)
{
	const struct mor_value *params = tn_call_sent(call);
	const char *text = mor_json_text(mor_json_get(params, "text"), "");

	call->message = (tenon_message){
		.text = text,
		.message_type = mor_json_text(mor_json_get(params, "message_type"), "private"),
		.raw_message = mor_json_text(mor_json_get(params, "raw_message"), text),
		.user_id = mor_json_int(mor_json_get(params, "user_id"), 0),
		.group_id = mor_json_int(mor_json_get(params, "group_id"), 0),
		.self_id = mor_json_int(mor_json_get(params, "self_id"), 0),
	};
}

static struct tn_wait *find_conversation(struct tn_session *s, const tenon_message *message)
{
	for (struct tn_wait *wait = s->waiting; wait; wait = wait->next)
		if (wait->call->message.user_id == message->user_id &&
		    wait->call->message.group_id == message->group_id)
			return wait;
	return NULL;
}

/* The command that the message calls, and what follows its name. */
static const tenon_command *find_called(const tenon_call *call, const char **ret_rest)
{
	const char *text = call->message.text + strspn(call->message.text, " \t\r\n");
	struct mor_slice name;

	if (*text != PREFIX)
		return NULL;
	name = (struct mor_slice){ text + 1, strcspn(text + 1, " \t\r\n") };
	*ret_rest = name.ptr + name.len;
	return tn_find_command(call->plugin->commands, name);
}

/* The author's `matches` answers by its result; what it says otherwise is not for the host. */
static bool handler_matches(tenon_call *call)
{
	if (!call->plugin->handler)
		return false;
	return !call->plugin->matches || call->plugin->matches(call) != 0;
}

static bool named_params(tenon_call *call)
{
	if (mor_json_type(tn_call_sent(call)) == MOR_JSON_OBJECT &&
	    mor_json_type(mor_json_get(tn_call_sent(call), "text")) == MOR_JSON_STRING)
		return true;
	tn_refuse(call, TENON_EPARAMS, "text: is missing", (struct mor_slice){ 0 });
	return false;
}

static void serve_matches(tenon_call *call, struct tn_turn *turn)
{
	const char *rest;
	bool matches;

	(void)turn;
	if (!named_params(call))
		return;
	read_message(call);
	matches = find_conversation(call->session, &call->message) || find_called(call, &rest);
	if (!matches && call->plugin->handler) {
		if (!tn_ensure_started(call))
			return;
		matches = handler_matches(call);
		call->answered = false;
	}
	tenon_reply_json(call, matches ? "{\"matches\":true}" : "{\"matches\":false}", matches ? 16 : 17);
}

static void go_on(tenon_call *call, struct tn_turn *turn, struct tn_wait *wait)
{
	struct mor_message message;

	if (call->in_batch || mor_envelope_scan(turn->body, 0, 0, &message, NULL) < 0) {
		tn_refuse(call, TENON_EINTERNAL, "there is no conversation inside a batch",
			  (struct mor_slice){ 0 });
		return;
	}
	call->answered = true; /* the waiting call answers */
	tn_resume(call->session, wait, &message, call->message.text);
}

static void serve_handle(tenon_call *call, struct tn_turn *turn)
{
	const tenon_command *command;
	struct tn_wait *wait;
	const char *rest = "";

	if (!named_params(call))
		return;
	read_message(call);
	wait = find_conversation(call->session, &call->message);
	if (wait) {
		go_on(call, turn, wait);
		return;
	}
	command = find_called(call, &rest);
	if (!tn_ensure_started(call))
		return;
	if (command) {
		if (!tn_take_words(call, command->fields, &(struct tn_words){ .line = rest }))
			return;
		call->shape = &shape_handle;
		tn_call_function(call, command->name, command->fn);
		return;
	}
	call->shape = &shape_handle;
	if (handler_matches(call))
		tn_call_function(call, "handle", call->plugin->handler);
	else
		tenon_reply_null(call);
}

/* ---- Who it is, and life ---- */

static void put_command(struct mor_writer *w, const tenon_command *command)
{
	mor_w_object(w);
	mor_w_pair(w, "name", command->name);
	mor_w_pair(w, "description", command->doc ? command->doc : "");
	tn_put_words(w, "aliases", command->aliases);
	mor_w_end(w);
}

static void serve_metadata(tenon_call *call, struct tn_turn *turn)
{
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	struct mor_writer w = { .out = &result };
	const tenon_plugin *plugin = call->plugin;

	(void)turn;
	mor_w_object(&w);
	mor_w_pair(&w, "name", plugin->name ? plugin->name : "");
	mor_w_pair(&w, "description", plugin->description ? plugin->description : "");
	mor_w_pair(&w, "version", plugin->version ? plugin->version : "0.0.0");
	tn_put_known(&w, "author", plugin->author);
	mor_w_key(&w, "commands");
	mor_w_array(&w);
	for (const tenon_command *command = plugin->commands; command && command->name; command++)
		put_command(&w, command);
	mor_w_end(&w);
	mor_w_end(&w);
	tenon_reply_json(call, result.data, result.len);
}

/* "startup", {"startup":null}, {"type":"startup"}: all of them are sent by somebody. */
static bool event_is(const struct mor_value *event, const char *name)
{
	const char *text = mor_json_text(event, NULL);

	if (!text)
		text = mor_json_text(mor_json_get(event, "type"), NULL);
	return text ? strcasecmp(text, name) == 0 : mor_json_get(event, name) != NULL;
}

/* A start that failed must say so here: hosts take an error for "has no lifecycle". */
static int refuse_startup(tenon_call *call, const struct tn_fault *fault)
{
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT;
	struct mor_writer w = { .out = &result };

	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", false);
	mor_w_pair(&w, "error", fault->message);
	mor_w_pair_int(&w, "code", fault->code);
	mor_w_end(&w);
	return mor_buf_failed(&result) ? -1 : tn_shape_rpc.result(call, mor_buf_view(&result));
}

static const struct tn_shape shape_lifecycle = { NULL, refuse_startup, TENON_EINTERNAL };

static void serve_lifecycle(tenon_call *call, struct tn_turn *turn)
{
	const struct mor_value *event = mor_json_get(tn_call_sent(call), "event");

	(void)turn;
	if (event_is(event, "startup")) {
		tn_stop(call->session);
		call->shape = &shape_lifecycle;
		if (tn_start(call, NULL, NULL) < 0)
			return;
		call->shape = &tn_shape_rpc;
	} else if (event_is(event, "shutdown")) {
		tn_end(call->session);
	}
	tenon_reply_json(call, "{\"ok\":true}", 11);
}

static enum tn_quick quick_lifecycle(struct tn_session *s, const struct mor_message *message)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	(void)s;
	if (message->params.ptr && mor_doc_parse(message->params, 0, 0, &doc, NULL) == 0 &&
	    event_is(mor_json_get(mor_doc_root(doc), "event"), "shutdown"))
		return TN_QUICK_STOP;
	return TN_QUICK_KEEP;
}

static const struct tn_route routes[] = {
	{ "metadata", serve_metadata, NULL },
	{ "matches", serve_matches, NULL },
	{ "handle", serve_handle, NULL },
	{ "lifecycle", serve_lifecycle, quick_lifecycle },
	{ 0 },
};

/* A key of TOML: bare where it may be. */
static void put_key(struct mor_buf *out, const char *name)
{
	static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

	if (*name && !name[strspn(name, word)])
		mor_buf_text(out, name);
	else
		mor_buf_json_string(out, mor_slice_of(name));
}

/* A part of the bot's own file: an ayiou plugin has none. */
static void ayiou_manifest(const tenon_plugin *plugin, const char *program, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf command = MOR_BUF_INIT;

	mor_buf_printf(&command, "./%s", program);
	mor_buf_byte(&command, '\0');
	mor_buf_text(out, "[external-plugin-bridge]\nenabled = true\n\n[external-plugin-bridge.plugins.");
	put_key(out, plugin->name ? plugin->name : program);
	mor_buf_text(out, "]\n");
	tn_toml_pair(out, "command", command.data);
}

static const char *const ayiou_methods[] = { "metadata", "matches", "handle", "lifecycle", NULL };

const struct tn_dialect tn_ayiou = {
	.name = "ayiou",
	.framing = MOR_FRAMING_LINES,
	.fits = ayiou_fits,
	.routes = routes,
	.ask = ayiou_ask,
	.resumed = read_message,
	.manifest = ayiou_manifest,
	.known_by = ayiou_methods,
};
