/* SPDX-License-Identifier: Apache-2.0 */
/* What arrives from a plugin: replies find their call by id, notes their role, everything else is reported. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/apart.h"
#include "base/error.h"
#include "base/text.h"
#include "host/client.h"
#include "host/embedder.h"
#include "host/receive.h"
#include "host/request.h"
#include "host/supervise.h"
#include "wire/envelope.h"

void mor_receive_drop(mortise_plugin *plugin, const char *what, struct mor_slice id)
{
	char shown[64];

	plugin->now.counters.dropped++;
	mor_event_printf(plugin, MORTISE_EVENT_DROPPED, "%s (id %s)", what,
			 mor_printable(id, shown, sizeof(shown)));
}

/* A pong shows that the plugin lives, not that its work goes on: some answer pings while a call hangs. */
static void note_word(mortise_plugin *plugin)
{
	plugin->life.last_word_ms = plugin->life.last_sign_ms;
}

/* ---- replies ---- */

/* The call that a reply belongs to: by id. The two exceptions come from the dialect. */
static mortise_call *find_call(mortise_plugin *plugin, const struct mor_message *message)
{
	unsigned wire = plugin->peer.dialect->wire;
	mortise_call *call =
		message->id_int > 0 ? mor_call_table_find(&plugin->calls.table, message->id_int) : NULL;

	if (call)
		return call;
	if (wire & MOR_WIRE_ANY_REPLY_ID)
		return mor_call_only(plugin);
	if (!(wire & MOR_WIRE_NULL_ID_FAILS_ONLY_CALL) || message->kind != MOR_MSG_ERROR ||
	    (message->id_kind != MOR_ID_NULL && message->id_kind != MOR_ID_NONE))
		return NULL;
	call = mor_call_only(plugin);
	/* And it cannot be about a call that the plugin has not read. */
	return call && call->state != MOR_CALL_WRITING ? call : NULL;
}

/* A reply to no call of ours. */
MOR_APART static void receive_stray(mortise_plugin *plugin, const struct mor_message *message)
{
	if (message->id.ptr)
		mor_heard_odd_id(plugin, message->id);
	if (message->id_kind == MOR_ID_NULL || message->id_kind == MOR_ID_NONE)
		mor_receive_drop(plugin,
				 message->kind == MOR_MSG_ERROR ? "an error that answers no call" :
								  "a result that answers no call",
				 message->kind == MOR_MSG_ERROR ? message->error : message->id);
	else
		mor_receive_drop(plugin, "a reply to no call of ours: unknown, duplicate or late", message->id);
}

static void receive_reply(mortise_plugin *plugin, const struct mor_message *message)
{
	mortise_call *call = find_call(plugin, message);

	if (!call) {
		receive_stray(plugin, message);
		return;
	}
	if (call->purpose != MOR_FOR_PING) {
		note_word(plugin);
		plugin->life.unanswered = 0;
	}
	mor_call_answer(call, message);
}

/* ---- notes ---- */

struct note {
	mortise_plugin *plugin;
	const struct mor_method *row;
	const struct mor_message *message;
	struct mor_doc *doc;            /* params */
	const struct mor_outcome *says; /* of the row */
};

static int64_t note_ref(const struct note *note)
{
	return note->says->ref ? mor_json_int(mor_json_at(mor_doc_root(note->doc), note->says->ref), -1) : -1;
}

/* The note names one of our calls, running or not. */
static bool note_refers(const struct note *note)
{
	return note_ref(note) > 0 && note_ref(note) <= note->plugin->life.next_id;
}

/* Can the plugin have read the call when it wrote the note? No, if the note was in its stdout before the
 * call's last byte was written, or if part of the call is still in its stdin. Otherwise it can: only the
 * plugin knows more. */
static bool may_know(const struct note *note, const mortise_call *call)
{
	struct mor_link *link = note->plugin->life.link;

	if (call->state == MOR_CALL_WRITING || !link || link->at < call->older)
		return false;
	return !link->ops->unread || link->written - link->ops->unread(link) >= call->end;
}

/* The call that a note is about: by its `ref`. If the row has none, or the dialect says that a missing or
 * unknown one means the running call: the only call, if the plugin can have read it by now. */
static mortise_call *note_call(const struct note *note)
{
	mortise_call *call = mor_call_table_find(&note->plugin->calls.table, note_ref(note));

	if (call || note_refers(note) ||
	    (note->says->ref && !(note->plugin->peer.dialect->wire & MOR_WIRE_ANY_REF)))
		return call;
	call = mor_call_only(note->plugin);
	return call && may_know(note, call) ? call : NULL;
}

static void note_data(const struct note *note, struct mor_buf *out)
{
	const struct mor_value *root = mor_doc_root(note->doc);
	const struct mor_value *data = note->says->data ? mor_json_at(root, note->says->data) : root;

	if (data)
		mor_json_write(data, false, out);
}

static int describe_failure(const struct note *note, const struct mor_value *why, mortise_error *error)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int64_t code = note->says->code ?
			       mor_json_int(mor_json_at(mor_doc_root(note->doc), note->says->code), -1) :
			       -1;
	const char *name = note->says->code ? mor_dialect_code_name(note->plugin->peer.dialect, code) : NULL;

	if (mor_json_type(why) == MOR_JSON_STRING)
		mor_buf_slice(&text, mor_json_string(why));
	else if (mor_json_type(why) > MOR_JSON_NULL)
		mor_json_write(why, false, &text);
	else
		mor_buf_text(&text, "the call failed");
	if (note->says->code)
		mor_buf_printf(&text, " (code %lld%s%s)", (long long)code, name ? ", " : "", name ? name : "");
	mor_fail(error, MORTISE_EREMOTE, "%s: %.*s", note->plugin->peer.name, (int)text.len,
		 text.data ? text.data : "");
	error->rpc_code = code;
	return MORTISE_EREMOTE;
}

static void settle_by_note(const struct note *note, mortise_call *call)
{
	MOR_CLEAN(mor_buf) struct mor_buf data = MOR_BUF_INIT;
	const struct mor_value *root = mor_doc_root(note->doc);
	struct mor_verdict verdict = { 0 };
	mortise_error error;
	bool failed = note->row->role == MOR_ROLE_FAIL || mor_says_failure(note->says->ok, root);

	note_data(note, &data);
	if (mor_buf_failed(&data)) {
		verdict.status = mor_fail(&error, MORTISE_ENOMEM, "%s: out of memory for the answer to \"%s\"",
					  call->plugin->peer.name, call->name);
		verdict.error = &error;
		mor_call_settle(call, &verdict, false);
		return;
	}
	verdict.result = mor_buf_view(&data);
	verdict.keep = !failed && mor_keep_asked(note->row, root);
	note->plugin->life.failed_without_ref = note->row->role == MOR_ROLE_FAIL && !note_refers(note);
	if (failed) {
		const struct mor_value *why = note->says->why ? mor_json_at(root, note->says->why) : NULL;

		verdict.status = describe_failure(note, why, &error);
		verdict.error = &error;
		verdict.error_data = mor_buf_view(&data);
		verdict.result = (struct mor_slice){ 0 };
	}
	mor_call_settle(call, &verdict, false);
}

/* A message that cannot be reported: its receiver would wait for ever, so the process is given up. */
static void lose_note(const struct note *note)
{
	char why[128];

	snprintf(why, sizeof(why), "out of memory for \"%.*s\"",
		 (int)(note->message->method.len < 64 ? note->message->method.len : 64),
		 note->message->method.ptr);
	mor_supervise_wedged(note->plugin, why);
}

static void pass_note(const struct note *note)
{
	const struct mor_message *message = note->message;
	char name[128], *method = name, *made = NULL;
	mortise_event event = { .type = MORTISE_EVENT_NOTE,
				.note.params = { message->params.ptr, message->params.len } };

	if (message->method.len < sizeof(name)) {
		memcpy(name, message->method.ptr, message->method.len);
		name[message->method.len] = '\0';
	} else {
		method = made = mor_strndup(message->method.ptr, message->method.len);
	}
	if (!method) {
		lose_note(note);
		return;
	}
	event.note.method = method;
	mor_event_full(note->plugin, &event);
	mor_free(made);
}

/* Names are passed on; the numbers are those of LSP. */
static const char *log_level(const struct mor_value *level)
{
	static const char *const names[] = { "info", "error", "warning", "info", "debug" };
	int64_t number = mor_json_int(level, 0);

	return mor_json_text(level, names[number > 0 && number < 5 ? number : 0]);
}

static void log_note(const struct note *note)
{
	const struct mor_value *root = mor_doc_root(note->doc);
	const struct mor_value *data = mor_json_at(root, note->says->data ? note->says->data : "/message");
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	mortise_event event = {
		.type = MORTISE_EVENT_LOG,
		.log = { log_level(note->says->level ? mor_json_at(root, note->says->level) : NULL),
			 { note->message->params.ptr, note->message->params.len } },
	};

	if (mor_json_type(data) == MOR_JSON_OBJECT && mor_json_get(data, "message"))
		data = mor_json_get(data, "message");
	if (mor_json_type(data) == MOR_JSON_STRING)
		mor_buf_slice(&text, mor_json_string(data));
	else if (data)
		mor_json_write(data, false, &text);
	mor_buf_byte(&text, '\0');
	event.text = mor_buf_failed(&text) ? "" : text.data;
	mor_event_full(note->plugin, &event);
}

static void call_note(const struct note *note)
{
	bool echo =
		note->plugin->life.failed_without_ref && note->row->role == MOR_ROLE_DONE && !note_refers(note);
	mortise_call *call = echo ? NULL : note_call(note);

	note->plugin->life.failed_without_ref = false;
	if (echo) {
		/* A failure reported twice, by FAIL and then by DONE: the second must not hit the next call. */
		mor_receive_drop(note->plugin, "the end of a call that has failed already",
				 note->message->method);
	} else if (!call && note_refers(note)) {
		mor_receive_drop(note->plugin, "a note about a call that is over", note->message->method);
	} else if (!call) {
		pass_note(note); /* perhaps a note of the plugin's own */
	} else if (call->state == MOR_CALL_LATE && note->row->role == MOR_ROLE_PIECE) {
		mor_receive_drop(note->plugin, "a piece of a call that is over", note->message->method);
	} else if (call->state == MOR_CALL_LATE) {
		call->in_hand = true;
		mor_receive_drop(note->plugin, "late end of a call", note->message->method);
		mor_call_release(call);
	} else if (note->row->role == MOR_ROLE_PIECE) {
		MOR_CLEAN(mor_buf) struct mor_buf data = MOR_BUF_INIT;

		note_data(note, &data);
		if (mor_buf_failed(&data))
			lose_note(note); /* a result with a missing piece is not a result */
		else
			mor_call_piece(call, mor_buf_view(&data));
	} else {
		settle_by_note(note, call);
	}
}

/* A note cannot be refused: problems with it are only reported. */
static void note_finding(const struct mor_finding *finding, void *arg)
{
	const struct note *note = arg;

	if (finding->fatal || note->plugin->peer.strict)
		mor_event_printf(note->plugin, MORTISE_EVENT_WARNING, "\"%s\": params: %s", note->row->name,
				 finding->text);
}

/* The roles whose params we read ourselves. Others go to the embedder as they came. */
static bool is_ours(enum mor_role role)
{
	return role == MOR_ROLE_PIECE || role == MOR_ROLE_DONE || role == MOR_ROLE_FAIL || role == MOR_ROLE_LOG;
}

static void use_note(const struct note *note, enum mor_role role)
{
	if (role == MOR_ROLE_LOG)
		log_note(note);
	else if (is_ours(role))
		call_note(note);
	else
		pass_note(note);
}

MOR_APART static void receive_note(mortise_plugin *plugin, const struct mor_message *message)
{
	const struct mor_method *row =
		mor_dialect_method(plugin->peer.dialect, MOR_FROM_PLUGIN, message->method);
	struct note note = { plugin, row, message, NULL, row ? mor_outcome_of(row) : &mor_outcome_none };
	enum mor_role role = row ? row->role : MOR_ROLE_NOTE;

	if (!row || *row->name == '*')
		mor_heard_odd_method(plugin, message->method);
	if (!mor_client_admits(plugin, row, message, NULL))
		return;
	if (role == MOR_ROLE_FINISH) {
		if (mor_client_finished(plugin, message))
			pass_note(&note);
		return;
	}
	if (!is_ours(role) && (!row || !row->params)) {
		pass_note(&note);
		return;
	}
	if (message->params.ptr && mor_doc_parse(message->params, MOR_JSON_NAN,
						 plugin->is.link_options.max_depth, &note.doc, NULL) < 0) {
		if (role != MOR_ROLE_LOG) /* nobody waits for a log message */
			lose_note(&note); /* only for lack of memory: the scanner has checked the JSON */
		return;
	}
	if (row->params)
		mor_validate(row->params, mor_doc_root(note.doc), note_finding, &note);
	use_note(&note, role);
	mor_doc_free(note.doc);
}

/* ---- link events ---- */

/* One that never was bytes is written for the tap. False: there is no memory for that. */
MOR_APART static bool show_message(mortise_plugin *plugin, const struct mor_message *message)
{
	MOR_CLEAN(mor_buf) struct mor_buf made = MOR_BUF_INIT;

	if (!message->whole.ptr && mor_envelope_copy(&made, message) < 0)
		return false;
	mor_event_show(plugin, MORTISE_FROM_PLUGIN, made.len ? mor_buf_view(&made) : message->whole);
	return true;
}

void mor_receive_message(void *arg, const struct mor_message *message)
{
	mortise_plugin *plugin = arg;

	MOR_HOLD(plugin);
	plugin->life.last_sign_ms = mor_loop_now_ms(plugin->host->loop);
	plugin->now.counters.bytes_in += message->whole.len;
	if (plugin->host->tap && !show_message(plugin, message)) {
		mor_receive_fault(plugin, MOR_FAULT_NO_MESSAGE, message, mortise_status_text(MORTISE_ENOMEM));
		return;
	}
	mor_health_heard(plugin);
	if (message->kind != MOR_MSG_NOTE)
		plugin->life.failed_without_ref = false;
	if (!plugin->life.deaf && !plugin->gone) /* the tap may have released it */
		mor_receive_route(plugin, message);
}

void mor_receive_route(mortise_plugin *plugin, const struct mor_message *message)
{
	if (message->lax && !plugin->life.lax_told)
		mor_event(plugin, MORTISE_EVENT_WARNING, "a message without \"jsonrpc\": \"2.0\"");
	plugin->life.lax_told |= message->lax; /* once per process: such a plugin does it every time */
	switch (message->kind) {
	case MOR_MSG_RESULT:
	case MOR_MSG_ERROR:
		receive_reply(plugin, message);
		break;
	case MOR_MSG_NOTE:
		note_word(plugin);
		receive_note(plugin, message);
		break;
	case MOR_MSG_REQUEST:
		note_word(plugin);
		mor_request_receive(plugin, message, NULL);
		break;
	case MOR_MSG_BATCH:
		mor_request_batch(plugin, message);
		break;
	}
}

static void fail_one(mortise_plugin *plugin, const struct mor_message *message, int code, const char *text)
{
	mortise_call *call = message && message->id_int > 0 ?
				     mor_call_table_find(&plugin->calls.table, message->id_int) :
				     NULL;
	mortise_error error;

	if ((!call || call->no_slot) && code == MORTISE_ELIMIT)
		call = mor_call_only(plugin);
	if (!call) {
		mor_event_printf(plugin, MORTISE_EVENT_WARNING, "%s", text);
		return;
	}
	if (call->state == MOR_CALL_LATE) {
		mor_call_release(call);
		return;
	}
	mor_fail(&error, code, "%s: answer to \"%s\": %s", plugin->peer.name, call->name, text);
	mor_call_fail(call, &error);
}

void mor_receive_fault(void *arg, enum mor_fault fault, const struct mor_message *message, const char *text)
{
	mortise_plugin *plugin = arg;
	mortise_error error;

	MOR_HOLD(plugin);
	plugin->life.last_sign_ms = plugin->life.last_word_ms = mor_loop_now_ms(plugin->host->loop);
	if (plugin->life.deaf)
		return;
	switch (fault) {
	case MOR_FAULT_BAD_JSON:
	case MOR_FAULT_NO_MESSAGE:
		if (plugin->is.link_options.every_fault)
			mor_client_answer_fault(plugin, fault, text);
		else
			fail_one(plugin, message, MORTISE_EPROTO, text);
		break;
	case MOR_FAULT_TOO_BIG:
		fail_one(plugin, message, MORTISE_ELIMIT, text);
		break;
	case MOR_FAULT_CORRUPT:
		mor_fail(&error, MORTISE_EPROTO, "%s: %s", plugin->peer.name, text);
		mor_supervise_breach(plugin, &error, MOR_RUNG_INPUT);
		break;
	case MOR_FAULT_TRUNCATED:
		/* The end of the process follows and uses this text. */
		mor_kept_set(&plugin->life.truncated, text, MOR_TRUNCATED_MAX);
		break;
	}
}

void mor_receive_noise(void *arg, struct mor_slice bytes, uint64_t count)
{
	mortise_plugin *plugin = arg;
	char excerpt[256];
	mortise_event event = { .type = MORTISE_EVENT_NOISE, .text = excerpt, .noise = { count } };

	MOR_HOLD(plugin);
	plugin->now.counters.noise_bytes += count;
	mor_heard_stray(plugin, bytes);
	mor_printable(bytes, excerpt, sizeof(excerpt));
	mor_event_full(plugin, &event);
}
