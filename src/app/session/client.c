/* SPDX-License-Identifier: Apache-2.0 */
/* What commands do with a session: call, list, stop, read its notes. */
#include <dirent.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "runner/show.h"
#include "session/inside.h"

#define INFO_MS 5000 /* a keeper answers at once; one that was stopped by a signal does not */

static int open_client(const char *name, struct mor_session_wire *wire, mortise_error *err)
{
	int dir, fd = -1, r = mor_session_name_check(name, err);

	if (r < 0)
		return r;
	if ((dir = mor_session_dir_open(err)) < 0)
		return dir;
	r = mor_session_connect(dir, name, &fd, err);
	mor_fd_close(&dir);
	if (r == 0)
		mor_session_wire_open_take(wire, fd);
	return r;
}

static int keeper_lost(const char *name, int status, mortise_error *err)
{
	if (status == MORTISE_ECANCELED)
		return mor_fail(err, status, "interrupted");
	if (status == MORTISE_ETIMEOUT)
		return mor_fail(err, status, "session %s: its keeper does not answer", name);
	return mor_fail(err, MORTISE_ECLOSED, "session %s: its keeper ended while we waited", name);
}

static void ask_simple(struct mor_session_wire *wire, const char *op, bool follow)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair(&w, "op", op);
	mor_w_pair_bool(&w, "follow", follow);
	mor_w_end(&w);
	mor_session_wire_put(wire, mor_buf_view(&json));
}

/* ---- call ---- */

static void ask_call(struct mor_session_wire *wire, const struct mor_session_call *call)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair(&w, "op", "call");
	mor_w_pair(&w, "method", call->method);
	mor_session_put(&w, "params", call->params);
	mor_w_pair_int(&w, "timeout_ms", call->timeout_ms);
	mor_w_pair_int(&w, "flags", (int64_t)call->flags);
	mor_w_pair_bool(&w, "wire", call->on_frame != NULL);
	mor_w_end(&w);
	mor_session_wire_put(wire, mor_buf_view(&json));
}

/* The member as JSON text in `store`; absent if it is not there. */
static mortise_json take_raw(const struct mor_value *message, const char *name, struct mor_buf *store)
{
	const struct mor_value *value = mor_json_get(message, name);

	if (!value || mor_json_write(value, false, store) < 0)
		return (mortise_json){ 0 };
	return (mortise_json){ store->data, store->len };
}

/* true: that was the last. */
static bool take_reply(struct mor_session_call *call, const struct mor_value *message)
{
	MOR_CLEAN(mor_buf) struct mor_buf result = MOR_BUF_INIT, data = MOR_BUF_INIT, next = MOR_BUF_INIT;
	mortise_error error;
	mortise_reply reply = {
		.status = (int)mor_json_int(mor_json_get(message, "status"), MORTISE_ESYSTEM),
		.more = mor_json_bool(mor_json_get(message, "more"), false),
		.result = take_raw(message, "result", &result),
		.error_data = take_raw(message, "data", &data),
		.next = take_raw(message, "next", &next),
	};

	snprintf(call->plugin, sizeof(call->plugin), "%s", mor_json_text(mor_json_get(message, "plugin"), ""));
	if (reply.status < 0) {
		mor_session_read_error(mor_json_get(message, "error"), &error);
		reply.error = &error;
	}
	call->on_reply(&reply, call->arg);
	return !reply.more;
}

/* What write_kind() wrote in guest.c. */
static void take_kind(const struct mor_value *message, mortise_json params, mortise_event *event)
{
	const char *method = mor_json_text(mor_json_get(message, "method"), NULL);
	int64_t count = mor_json_int(mor_json_get(message, "count"), 0);

	switch ((int)event->type) {
	case MORTISE_EVENT_STATE:
		event->state.now = (enum mortise_state)mor_json_int(mor_json_get(message, "state"), 0);
		event->state.before = (enum mortise_state)mor_json_int(mor_json_get(message, "previous"), 0);
		event->state.status = (int)mor_json_int(mor_json_get(message, "code"), 0);
		break;
	case MORTISE_EVENT_NOTE:
		event->note = (mortise_event_note){ method ? method : "", params };
		break;
	case MORTISE_EVENT_LOG:
		event->log.level = mor_json_text(mor_json_get(message, "level"), NULL);
		event->log.params = params;
		break;
	case MORTISE_EVENT_WARNING:
		event->warning = (mortise_event_warning){ method, count != 0 };
		break;
	case MORTISE_EVENT_HEALTH:
		event->health = (mortise_event_health){ method, count != 0 };
		break;
	case MORTISE_EVENT_VIOLATION:
		event->violation.action =
			(enum mortise_violation_action)mor_json_int(mor_json_get(message, "action"), 0);
		event->violation.failed_calls = (uint32_t)count;
		event->violation.record = params;
		break;
	default:
		break;
	}
}

static void take_event(struct mor_console *console, const struct mor_value *message)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	mortise_event event = {
		.type = (enum mortise_event_type)mor_json_int(mor_json_get(message, "type"), 0),
		.text = mor_json_text(mor_json_get(message, "text"), ""),
	};

	take_kind(message, take_raw(message, "params", &params), &event);
	mor_show_event_of(mor_json_text(mor_json_get(message, "plugin"), "session"), &event, console);
}

static void take_frame(const struct mor_session_call *call, const struct mor_value *message)
{
	struct mor_slice body = mor_json_string(mor_json_get(message, "body"));
	mortise_tap_frame frame = {
		.direction = mor_json_bool(mor_json_get(message, "to_plugin"), false) ? MORTISE_TO_PLUGIN :
											MORTISE_FROM_PLUGIN,
		.body = { body.ptr, body.len },
	};

	if (call->on_frame)
		call->on_frame(&frame, call->frame_arg);
}

/* 1: the call has ended; 0: there is more to come. */
static int take_message(struct mor_console *console, struct mor_session_call *call, struct mor_slice text,
			mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_doc_parse(text, MOR_JSON_NAN, MOR_JSON_DEPTH_MAX, &doc, err);
	const char *is = r < 0 ? "" : mor_json_text(mor_json_get(mor_doc_root(doc), "is"), "");

	if (strcmp(is, "reply") == 0)
		return take_reply(call, mor_doc_root(doc));
	if (strcmp(is, "event") == 0)
		take_event(console, mor_doc_root(doc));
	else if (strcmp(is, "frame") == 0)
		take_frame(call, mor_doc_root(doc));
	return r;
}

int mor_session_call(struct mor_console *console, struct mor_session_call *call, mortise_error *err)
{
	struct mor_session_wire wire;
	struct mor_slice text;
	int r = open_client(call->name, &wire, err), done = 0;

	if (r < 0)
		return r;
	ask_call(&wire, call);
	while (done == 0 && !mor_out_broken(console)) {
		r = mor_session_wire_wait(&wire, -1, &text);
		done = r < 0 ? keeper_lost(call->name, r, err) : take_message(console, call, text, err);
	}
	mor_session_wire_close(&wire);
	return done < 0 ? done : 0;
}

/* ---- info ---- */

int mor_session_about(const char *name, struct mor_doc **ret, mortise_error *err)
{
	struct mor_session_wire wire;
	struct mor_slice text;
	int r = open_client(name, &wire, err);

	if (r < 0)
		return r;
	ask_simple(&wire, "info", false);
	r = mor_session_wire_wait(&wire, INFO_MS, &text);
	r = r < 0 ? keeper_lost(name, r, err) : mor_doc_parse(text, MOR_JSON_NAN, 0, ret, err);
	mor_session_wire_close(&wire);
	return r;
}

int mor_session_clear_dead(struct mor_console *console, const char *name, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_session_about(name, &doc, err);

	if (r == MORTISE_ENOTFOUND)
		return 0;
	if (r < 0)
		return r;
	if (strcmp(mor_json_text(mor_json_get(mor_doc_root(doc), "state"), ""), "dead") == 0)
		return mor_session_stop(console, name, err);
	return mor_fail(err, MORTISE_EINPUT, "session %s runs already: 'mortise session stop %s' ends it", name,
			name);
}

/* ---- list ---- */

int mor_session_names(struct mor_text_list *names, mortise_error *err)
{
	int dir = mor_session_dir_open(err), r = dir < 0 ? dir : 0;
	DIR *stream = dir < 0 ? NULL : fdopendir(dir);
	struct dirent *entry;

	while (r == 0 && stream && (entry = readdir(stream))) {
		size_t len = strlen(entry->d_name);

		if (len < 6 || strcmp(entry->d_name + len - 5, ".sock") != 0)
			continue;
		entry->d_name[len - 5] = '\0';
		if (mor_session_name_check(entry->d_name, NULL) == 0)
			r = mor_text_list_add_take(names, mor_strdup(entry->d_name));
	}
	if (stream)
		closedir(stream);
	else
		mor_fd_close(&dir);
	mor_text_list_sort(names);
	return r == MORTISE_ENOMEM ? mor_fail_memory(err) : r;
}

/* A socket without a keeper: its keeper was killed. The lock says whether that is so. */
static void remove_rest(const char *name)
{
	struct mor_session_seat seat;
	int dir = mor_session_dir_open(NULL);

	if (dir >= 0 && mor_session_seat_take(&seat, dir, name, NULL) == 0)
		mor_session_seat_leave(&seat);
}

static void print_row(struct mor_console *console, const struct mor_value *info)
{
	const char *why = mor_json_text(mor_json_get(info, "why"), NULL);
	int64_t idle = mor_json_int(mor_json_get(info, "idle_ms"), 0);
	int64_t rest = idle - mor_json_int(mor_json_get(info, "unused_ms"), 0);
	char ends[32], shown[300], plugin[100];

	mor_printable(mor_json_string(mor_json_get(info, "plugin")), plugin, sizeof(plugin));
	mor_outf(console, "%-16s %-20s %-10s %-8s %6lld calls, ",
		 mor_json_text(mor_json_get(info, "name"), "?"), plugin,
		 mor_json_text(mor_json_get(info, "dialect"), "?"),
		 mor_json_text(mor_json_get(info, "state"), "?"),
		 (long long)mor_json_int(mor_json_get(info, "calls"), 0));
	if (idle)
		mor_outf(console, "ends in %s if not used\n",
			 mor_format_ms(rest < 0 ? 0 : (uint64_t)rest / 1000 * 1000, ends));
	else
		mor_out_text(console, "stays\n");
	if (why)
		mor_outf(console, "  %s\n", mor_printable(mor_slice_of(why), shown, sizeof(shown)));
}

struct session_table {
	struct mor_console *console;
	struct mor_writer w;
	size_t count;
};

static void list_one(struct session_table *table, const char *name)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error err = { 0 };
	int r = mor_session_about(name, &doc, &err);

	if (r == MORTISE_ENOTFOUND || r == MORTISE_ECLOSED) { /* it was ending while we asked */
		remove_rest(name);
		return;
	}
	table->count++;
	if (r < 0)
		mor_note(table->console, "%s", err.text);
	else if (table->console->json)
		mor_w_value(&table->w, mor_doc_root(doc));
	else
		print_row(table->console, mor_doc_root(doc));
}

int mor_session_list(struct mor_console *console, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct session_table table = { .console = console, .w = { .out = &json } };
	struct mor_text_list names = { 0 };
	int r = mor_session_names(&names, err);

	mor_w_array(&table.w);
	for (size_t i = 0; r == 0 && i < names.count; i++)
		list_one(&table, names.item[i]);
	mor_w_end(&table.w);
	mor_text_list_free_texts(&names);
	if (r < 0)
		return r;
	if (console->json)
		mor_out_json(console, mor_buf_view(&json));
	else if (!table.count)
		mor_note(console, "no sessions; 'mortise session start NAME PLUGIN' starts one");
	return mor_buf_failed(&json) ? mor_fail_memory(err) : 0;
}

/* ---- stop ---- */

/* The keeper closes the connection when its plugin has ended. */
int mor_session_stop(struct mor_console *console, const char *name, mortise_error *err)
{
	struct mor_session_wire wire;
	struct mor_slice text;
	int r = open_client(name, &wire, err);

	(void)console;
	if (r < 0)
		return r;
	ask_simple(&wire, "stop", false);
	do
		r = mor_session_wire_wait(&wire, -1, &text);
	while (r == 0);
	mor_session_wire_close(&wire);
	return r == MORTISE_ECLOSED ? 0 : keeper_lost(name, r, err);
}

int mor_session_stop_all(struct mor_console *console, mortise_error *err)
{
	struct mor_text_list names = { 0 };
	int r = mor_session_names(&names, err);

	for (size_t i = 0; r == 0 && i < names.count; i++) {
		r = mor_session_stop(console, names.item[i], err);
		if (r == MORTISE_ENOTFOUND)
			r = (remove_rest(names.item[i]), 0);
	}
	mor_text_list_free_texts(&names);
	return r;
}

/* ---- notes ---- */

static void print_note(struct mor_console *console, const struct mor_value *note)
{
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	time_t seconds = (time_t)(mor_json_int(mor_json_get(note, "time_ms"), 0) / 1000);
	const char *text = mor_json_text(mor_json_get(note, "text"), NULL);
	const char *method = mor_json_text(mor_json_get(note, "method"), NULL);
	mortise_json said = take_raw(note, "params", &params);
	char when[16] = "", named[200], shown[2000];
	struct tm local;

	if (localtime_r(&seconds, &local))
		strftime(when, sizeof(when), "%H:%M:%S", &local);
	mor_printable(text ? mor_slice_of(text) : (struct mor_slice){ said.text, said.len }, shown,
		      sizeof(shown));
	mor_outf(console, "%s %s%s%s %s\n", when, mor_json_text(mor_json_get(note, "kind"), ""),
		 method ? " " : "", mor_printable(mor_slice_of(method ? method : ""), named, sizeof(named)),
		 shown);
}

/* 1: that was the end. */
static int take_note(struct mor_console *console, struct mor_slice text, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_doc_parse(text, MOR_JSON_NAN, MOR_JSON_DEPTH_MAX, &doc, err);

	if (r < 0)
		return r;
	if (strcmp(mor_json_text(mor_json_get(mor_doc_root(doc), "is"), ""), "note") != 0)
		return 1;
	if (console->json)
		mor_out_json_line(console, text);
	else
		print_note(console, mor_doc_root(doc));
	mor_out_flush(console);
	return 0;
}

int mor_session_notes(struct mor_console *console, const char *name, bool follow, mortise_error *err)
{
	struct mor_session_wire wire;
	struct mor_slice text;
	int r = open_client(name, &wire, err), done = 0;

	if (r < 0)
		return r;
	ask_simple(&wire, "notes", follow);
	while (done == 0 && !mor_out_broken(console)) {
		r = mor_session_wire_wait(&wire, -1, &text);
		if (r == MORTISE_ECLOSED && follow)
			break; /* the session is over */
		done = r < 0 ? keeper_lost(name, r, err) : take_note(console, text, err);
	}
	mor_session_wire_close(&wire);
	return done < 0 ? done : 0;
}
