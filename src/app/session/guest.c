/* SPDX-License-Identifier: Apache-2.0 */
/* One client of the keeper: it asks, one thing after the other, and gets what it asked for. */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "session/inside.h"

#define WAITING_MAX ((size_t)256 << 20) /* bytes that wait for a client that does not read */

void mor_session_guest_new_take(struct mor_session_keeper *keeper, int fd)
{
	struct mor_session_guest *guest = mor_zalloc(sizeof(*guest));

	if (!guest) {
		close(fd);
		return;
	}
	guest->keeper = keeper;
	guest->moved_ms = mor_clock_ms();
	mor_session_wire_open_take(&guest->wire, fd);
	mor_list_append(&keeper->guests, &guest->node);
}

static void show_wire(struct mor_session_guest *guest, bool on)
{
	if (on != guest->shows_wire)
		mor_session_keeper_tap(guest->keeper, on ? 1 : -1);
	guest->shows_wire = on;
}

static void free_guest(struct mor_session_guest *guest)
{
	show_wire(guest, false);
	mor_list_remove(&guest->node);
	mor_session_wire_close(&guest->wire);
	mor_free(guest);
}

/* A call that runs is cancelled: nobody would see its answer. Its last callback frees the guest. */
void mor_session_guest_leave(struct mor_session_guest *guest)
{
	guest->gone = true;
	if (guest->used)
		guest->keeper->used_ms = mor_clock_ms();
	if (guest->call)
		mortise_call_cancel(guest->call, NULL);
	else
		free_guest(guest);
}

/* ---- answers ---- */

static void send_json(struct mor_session_guest *guest, const struct mor_buf *json)
{
	if (!guest->gone)
		mor_session_wire_put(&guest->wire, mor_buf_view(json));
}

void mor_session_put(struct mor_writer *w, const char *name, mortise_json json)
{
	if (json.text)
		mor_w_pair_raw(w, name, (struct mor_slice){ json.text, json.len });
}

static void send_reply(struct mor_session_guest *guest, const mortise_reply *reply)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair(&w, "is", "reply");
	mor_w_pair(&w, "plugin", mortise_plugin_name(guest->keeper->plugin));
	mor_w_pair_int(&w, "status", reply->status);
	mor_w_pair_bool(&w, "more", reply->more);
	mor_session_put(&w, "result", reply->result);
	mor_session_put(&w, "data", reply->error_data);
	mor_session_put(&w, "next", reply->next);
	if (reply->error)
		mor_session_write_error(&w, reply->error);
	mor_w_end(&w);
	send_json(guest, &json);
}

static void send_failure(struct mor_session_guest *guest, const mortise_error *error)
{
	send_reply(guest, &(mortise_reply){ .status = error->code, .error = error });
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct mor_session_guest *guest = arg;

	send_reply(guest, reply);
	if (reply->more)
		return;
	guest->call = NULL;
	guest->keeper->used_ms = guest->moved_ms = mor_clock_ms();
	if (guest->gone)
		free_guest(guest);
}

/* ---- what it asks ---- */

static void begin_call(struct mor_session_guest *guest, const struct mor_value *ask)
{
	struct mor_session_keeper *keeper = guest->keeper;
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	const struct mor_value *value = mor_json_get(ask, "params");
	mortise_call_options opt = {
		.size = sizeof(opt),
		.timeout_ms = (uint32_t)mor_json_int(mor_json_get(ask, "timeout_ms"), 0),
		.flags = (uint64_t)mor_json_int(mor_json_get(ask, "flags"), 0),
		.on_reply = on_reply,
		.arg = guest,
	};
	mortise_error err = { 0 };

	show_wire(guest, mor_json_bool(mor_json_get(ask, "wire"), false));
	if (keeper->death.code) {
		send_failure(guest, &keeper->death);
		return;
	}
	keeper->calls++;
	guest->used = true;
	if (value && mor_json_write(value, false, &params) < 0)
		mor_fail_memory(&err);
	else if (mortise_call_start(keeper->plugin, mor_json_text(mor_json_get(ask, "method"), ""),
				    (mortise_json){ value ? params.data : NULL, params.len }, &opt,
				    &guest->call, &err) == 0)
		return;
	guest->call = NULL;
	send_failure(guest, &err);
}

static void send_info(struct mor_session_guest *guest)
{
	struct mor_session_keeper *keeper = guest->keeper;
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	int64_t now = mor_clock_ms();
	char *about = NULL;

	mor_w_object(&w);
	mor_w_pair(&w, "is", "info");
	mor_w_pair(&w, "name", keeper->seat.name);
	mor_w_pair(&w, "plugin", mortise_plugin_name(keeper->plugin));
	mor_w_pair(&w, "dialect", mortise_plugin_dialect(keeper->plugin));
	mor_w_pair(&w, "state",
		   keeper->death.code ? "dead" : mortise_state_name(mortise_plugin_state(keeper->plugin)));
	mor_w_pair(&w, "why", keeper->death.code ? keeper->death.text : NULL);
	mor_w_pair_int(&w, "keeper_pid", getpid());
	mor_w_pair_int(&w, "calls", (int64_t)keeper->calls);
	mor_w_pair_int(&w, "age_ms", now - keeper->begun_ms);
	mor_w_pair_int(&w, "unused_ms", now - keeper->used_ms);
	mor_w_pair_int(&w, "idle_ms", keeper->start->idle_ms);
	if (mortise_plugin_describe(keeper->plugin, &about, NULL) == 0)
		mor_w_pair_raw(&w, "about", mor_slice_of(about));
	mortise_free(about);
	mor_w_end(&w);
	send_json(guest, &json);
}

static void send_notes(struct mor_session_guest *guest, bool follow)
{
	MOR_LIST_EACH(node, after, &guest->keeper->notes.list) {
		struct mor_session_note *note = mor_container_of(node, struct mor_session_note, node);

		mor_session_wire_put(&guest->wire, (struct mor_slice){ note->json, note->len });
	}
	guest->follows = guest->used = follow;
	if (!follow)
		mor_session_wire_put(&guest->wire, MOR_SLICE("{\"is\":\"end\"}"));
}

static void take_ask(struct mor_session_guest *guest, const struct mor_value *ask)
{
	const char *op = mor_json_text(mor_json_get(ask, "op"), "");

	if (strcmp(op, "call") == 0)
		begin_call(guest, ask);
	else if (strcmp(op, "info") == 0)
		send_info(guest);
	else if (strcmp(op, "notes") == 0)
		send_notes(guest, mor_json_bool(mor_json_get(ask, "follow"), false));
	else if (strcmp(op, "stop") == 0)
		guest->keeper->stopping = true; /* the end of the connection is the answer */
	else
		guest->wire.ended = true;
}

static void take_asks(struct mor_session_guest *guest)
{
	struct mor_slice text;

	while (!guest->call && mor_session_wire_next(&guest->wire, &text)) {
		MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

		if (mor_doc_parse(text, MOR_JSON_NAN, 0, &doc, NULL) < 0)
			guest->wire.ended = true;
		else
			take_ask(guest, mor_doc_root(doc));
	}
}

/* ---- turns ---- */

/* While a call runs, only the end of the client matters. It may ask the next thing early: that stays
 * in the socket. */
short mor_session_guest_wants(const struct mor_session_guest *guest)
{
	return (short)((guest->call ? POLLRDHUP : POLLIN) | (guest->wire.out.len ? POLLOUT : 0));
}

/* One that waits for its answer, or for notes, may wait as long as it takes; but it must read what is there. A
 * session that never ends still needs its places for others. */
int64_t mor_session_guest_rest(const struct mor_session_guest *guest)
{
	uint32_t idle_ms = guest->keeper->start->idle_ms;
	int64_t rest = guest->moved_ms + (idle_ms ? idle_ms : MOR_SESSION_IDLE_MS) - mor_clock_ms();

	if (!guest->wire.out.len && (guest->call || guest->follows))
		return -1;
	return rest < 0 ? 0 : rest;
}

/* Writes; is anybody still there? */
static bool flush_guest(struct mor_session_guest *guest)
{
	size_t before = guest->wire.out.len;

	if (!mor_session_wire_flush(&guest->wire) || guest->wire.out.len > WAITING_MAX)
		return false;
	if (guest->wire.out.len < before)
		guest->moved_ms = mor_clock_ms();
	return mor_session_guest_rest(guest) != 0;
}

void mor_session_guest_turn(struct mor_session_guest *guest, short events)
{
	if (guest->gone)
		return;
	if (events & POLLIN)
		guest->moved_ms = mor_clock_ms();
	if (events & (POLLRDHUP | POLLHUP | POLLERR))
		guest->wire.ended |= guest->call != NULL;
	if (!guest->call && (events & (POLLIN | POLLHUP | POLLERR)))
		mor_session_wire_fill(&guest->wire);
	take_asks(guest);
	if (!flush_guest(guest) || (guest->wire.ended && (guest->call || !guest->wire.out.len)))
		mor_session_guest_leave(guest);
}

/* ---- what the plugin does meanwhile ---- */

/* What is shown of each kind; take_kind() in client.c reads it. */
static void write_kind(struct mor_writer *w, const mortise_event *event)
{
	switch ((int)event->type) {
	case MORTISE_EVENT_STATE:
		mor_w_pair_int(w, "state", event->state.now);
		mor_w_pair_int(w, "previous", event->state.before);
		mor_w_pair_int(w, "code", event->state.status);
		break;
	case MORTISE_EVENT_NOTE:
		mor_w_pair(w, "method", event->note.method);
		mor_session_put(w, "params", event->note.params);
		break;
	case MORTISE_EVENT_LOG:
		mor_w_pair(w, "level", event->log.level);
		mor_session_put(w, "params", event->log.params);
		break;
	case MORTISE_EVENT_WARNING:
		mor_w_pair(w, "method", event->warning.health_method);
		mor_w_pair_int(w, "count", event->warning.about_rights);
		break;
	case MORTISE_EVENT_HEALTH:
		mor_w_pair(w, "method", event->health.method);
		mor_w_pair_int(w, "count", event->health.healthy);
		break;
	case MORTISE_EVENT_VIOLATION:
		mor_w_pair_int(w, "action", event->violation.action);
		mor_w_pair_int(w, "count", event->violation.failed_calls);
		mor_session_put(w, "params", event->violation.record);
		break;
	default:
		break;
	}
}

static void write_event(const mortise_event *event, struct mor_buf *json)
{
	struct mor_writer w = { .out = json };

	mor_w_object(&w);
	mor_w_pair(&w, "is", "event");
	mor_w_pair(&w, "plugin", event->plugin ? mortise_plugin_name(event->plugin) : NULL);
	mor_w_pair_int(&w, "type", event->type);
	mor_w_pair(&w, "text", event->text);
	write_kind(&w, event);
	mor_w_end(&w);
}

/* To those who wait for an answer: it concerns them. */
void mor_session_guests_tell_event(struct mor_session_keeper *keeper, const mortise_event *event)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

	MOR_LIST_EACH(node, after, &keeper->guests) {
		struct mor_session_guest *guest = mor_container_of(node, struct mor_session_guest, node);

		if (!guest->call)
			continue;
		if (!json.len)
			write_event(event, &json);
		send_json(guest, &json);
	}
}

void mor_session_guests_tell_note(struct mor_session_keeper *keeper, const struct mor_session_note *note)
{
	MOR_LIST_EACH(node, after, &keeper->guests) {
		struct mor_session_guest *guest = mor_container_of(node, struct mor_session_guest, node);

		if (guest->follows && !guest->gone)
			mor_session_wire_put(&guest->wire, (struct mor_slice){ note->json, note->len });
	}
}

/* The text of a message is not always JSON, so it goes as a string. */
void mor_session_guests_tell_frame(struct mor_session_keeper *keeper, const mortise_tap_frame *frame)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair(&w, "is", "frame");
	mor_w_pair_bool(&w, "to_plugin", frame->direction == MORTISE_TO_PLUGIN);
	mor_w_pair_slice(&w, "body", (struct mor_slice){ frame->body.text, frame->body.len });
	mor_w_end(&w);
	MOR_LIST_EACH(node, after, &keeper->guests) {
		struct mor_session_guest *guest = mor_container_of(node, struct mor_session_guest, node);

		if (guest->shows_wire)
			send_json(guest, &json);
	}
}
