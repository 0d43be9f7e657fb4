/* SPDX-License-Identifier: Apache-2.0 */
/* Connections on one side, the lines of the session on the other. */
#include "bridge.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "wire/envelope.h"
#include "wire/json.h"

#define MESSAGE_LIMIT ((size_t)256 << 20)
#define WAITING_MAX   ((size_t)1 << 20) /* for a host that does not read; then the session has to wait */
#define GRACE_MS      2000
#define KEEP_BYTES    ((size_t)1 << 20)

struct guest {
	struct mor_list node;
	struct tn_bridge *bridge;
	struct mor_grpc_server *server;
};

/* ---- to the session ---- */

struct tn_asked *tn_bridge_ask(struct tn_bridge *bridge, const char *method, const struct mor_buf *params)
{
	struct tn_asked *asked = mor_zalloc(sizeof(*asked));
	size_t before = bridge->lines.len;

	if (!asked)
		return NULL;
	asked->id = ++bridge->last_id;
	if (bridge->over || mor_buf_failed(params) ||
	    mor_write_request(&bridge->lines, asked->id, mor_slice_of(method), mor_buf_view(params)) < 0 ||
	    mor_buf_byte(&bridge->lines, '\n') < 0) {
		bridge->lines.len = before;
		bridge->lines.status = 0;
		mor_free(asked);
		return NULL;
	}
	mor_list_append(&bridge->asked, &asked->node);
	return asked;
}

void tn_bridge_cancel(struct tn_bridge *bridge, const struct tn_asked *asked)
{
	char params[40];

	snprintf(params, sizeof(params), "{\"id\":%lld}", (long long)asked->id);
	mor_write_note(&bridge->lines, MOR_SLICE("$/cancelRequest"), mor_slice_of(params));
	mor_buf_byte(&bridge->lines, '\n');
}

static void forget_asked(struct tn_asked *asked)
{
	mor_list_remove(&asked->node);
	mor_free(asked);
}

/* ---- from the session ---- */

static struct tn_asked *find_asked(struct tn_bridge *bridge, int64_t id)
{
	MOR_LIST_EACH(node, after, &bridge->asked) {
		struct tn_asked *asked = mor_container_of(node, struct tn_asked, node);

		if (asked->id == id)
			return asked;
	}
	return NULL;
}

static void take_note(struct tn_bridge *bridge, const struct mor_message *message)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct tn_asked *asked;

	if (mor_doc_parse(message->params, 0, 0, &doc, NULL) < 0)
		return;
	asked = find_asked(bridge, mor_json_int(mor_json_get(mor_doc_root(doc), "request_id"), 0));
	if (asked)
		tn_services_note(asked->call, message->method, message->params);
}

static void take_line(struct tn_bridge *bridge, struct mor_slice line)
{
	struct mor_message message;
	struct tn_asked *asked;
	bool ok;

	if (mor_envelope_scan(line, 0, 0, &message, NULL) < 0)
		return;
	if (message.kind == MOR_MSG_NOTE) {
		take_note(bridge, &message);
		return;
	}
	ok = message.kind == MOR_MSG_RESULT;
	asked = find_asked(bridge, message.id_int);
	if (!asked)
		return;
	asked->call->owner = NULL;
	asked->answer(asked->call, ok, ok ? message.result : message.error);
	forget_asked(asked);
}

static size_t waiting_bytes(const struct tn_bridge *bridge)
{
	size_t all = 0;

	for (const struct mor_list *node = bridge->guests.next; node != &bridge->guests; node = node->next)
		all += mor_grpc_server_waiting(mor_container_of(node, struct guest, node)->server);
	return all;
}

/* ---- one at a time ---- */

/* Under the lock, which it leaves meanwhile: waits for what comes next. 0 or a status. */
static int turn_bridge(struct tn_bridge *bridge)
{
	int r;

	bridge->turning = true;
	pthread_mutex_unlock(&bridge->lock);
	r = mor_loop_wait(bridge->loop, -1);
	pthread_mutex_lock(&bridge->lock);
	bridge->turning = false;
	pthread_cond_broadcast(&bridge->turned);
	return r < 0 ? r : 0;
}

/* While another thread turns the loop, or sends, its turn is waited for: it may have brought something. */
static bool bridge_read(struct tn_wire *wire, struct mor_buf *input)
{
	struct tn_bridge *bridge = mor_container_of(wire, struct tn_bridge, wire);
	int r = 0;

	pthread_mutex_lock(&bridge->lock);
	if (bridge->turning || bridge->senders)
		pthread_cond_wait(&bridge->turned, &bridge->lock);
	else if (!bridge->lines.len)
		r = turn_bridge(bridge);
	if (!bridge->turning && bridge->lines.len) {
		r = mor_buf_slice(input, mor_buf_view(&bridge->lines));
		mor_buf_reset(&bridge->lines, KEEP_BYTES);
	}
	pthread_mutex_unlock(&bridge->lock);
	return r >= 0;
}

/* A host that does not read makes the session wait. */
static void await_host(struct tn_bridge *bridge)
{
	int r = 0;

	while (r == 0 && (bridge->turning || waiting_bytes(bridge) >= WAITING_MAX)) {
		if (bridge->turning)
			pthread_cond_wait(&bridge->turned, &bridge->lock);
		else
			r = turn_bridge(bridge);
	}
}

static void bridge_write(struct tn_wire *wire, struct mor_slice body)
{
	struct tn_bridge *bridge = mor_container_of(wire, struct tn_bridge, wire);

	pthread_mutex_lock(&bridge->lock);
	bridge->senders++;
	while (bridge->turning) {
		mor_loop_wakeup(bridge->loop);
		pthread_cond_wait(&bridge->turned, &bridge->lock);
	}
	take_line(bridge, body);
	mor_loop_wait(bridge->loop, 0); /* it leaves now, not when somebody reads */
	await_host(bridge);
	bridge->senders--;
	pthread_cond_broadcast(&bridge->turned);
	pthread_mutex_unlock(&bridge->lock);
}

/* The session's threads want something of each other. */
static void on_woken(struct mor_watch *watch, unsigned events)
{
	(void)watch;
	(void)events;
}

/* ---- connections ---- */

static void on_guest_call(void *arg, struct mor_grpc_inbound *call)
{
	tn_services_call(((struct guest *)arg)->bridge, call);
}

static void on_guest_message(void *arg, struct mor_grpc_inbound *call, struct mor_slice message)
{
	tn_services_message(((struct guest *)arg)->bridge, call, message);
}

static void on_guest_finish(void *arg, struct mor_grpc_inbound *call)
{
	(void)arg;
	tn_services_finish(call);
}

static void on_guest_gone(void *arg, struct mor_grpc_inbound *call)
{
	struct tn_asked *asked = call->owner;

	if (!asked)
		return;
	tn_bridge_cancel(((struct guest *)arg)->bridge, asked);
	forget_asked(asked);
}

static void on_guest_end(void *arg, struct mor_grpc_server *server)
{
	struct guest *guest = arg;

	(void)server;
	mor_list_remove(&guest->node);
	mor_free(guest);
}

static void on_listening(struct mor_watch *watch, unsigned events)
{
	struct tn_bridge *bridge = mor_container_of(watch, struct tn_bridge, listening);
	struct mor_grpc_server_options options = {
		MESSAGE_LIMIT, on_guest_call, on_guest_message, on_guest_finish, on_guest_gone,
		on_guest_end,  NULL
	};
	int fd = accept4(bridge->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct guest *guest = fd < 0 ? NULL : mor_zalloc(sizeof(*guest));

	(void)events;
	if (!guest) {
		mor_fd_close(&fd);
		return;
	}
	guest->bridge = bridge;
	options.arg = guest;
	if (mor_grpc_serve_take(bridge->loop, fd, &options, &guest->server) < 0)
		mor_free(guest);
	else
		mor_list_append(&bridge->guests, &guest->node);
}

/* ---- begin and end ---- */

int tn_bridge_init_take(struct tn_bridge *bridge, const tenon_plugin *plugin, int listener, int wake)
{
	*bridge = (struct tn_bridge){ .plugin = plugin,
				      .listener = listener,
				      .wire = { bridge_read, bridge_write } };
	mor_list_init(&bridge->guests);
	mor_list_init(&bridge->asked);
	pthread_mutex_init(&bridge->lock, NULL);
	pthread_cond_init(&bridge->turned, NULL);
	if (mor_loop_new(0, &bridge->loop) < 0)
		return -1;
	return mor_watch_start(bridge->loop, &bridge->woken, wake, MOR_READABLE, on_woken) < 0 ||
			       mor_watch_start(bridge->loop, &bridge->listening, listener, MOR_READABLE,
					       on_listening) < 0 ?
		       -1 :
		       0;
}

static void end_session(struct tn_bridge *bridge)
{
	bridge->over = true;
	mor_watch_stop(&bridge->woken);
	mor_watch_stop(&bridge->listening);
	MOR_LIST_EACH(node, after, &bridge->asked) {
		struct tn_asked *asked = mor_container_of(node, struct tn_asked, node);

		asked->call->owner = NULL;
		mor_grpc_close(asked->call, MOR_GRPC_UNAVAILABLE, "the plugin ends");
		forget_asked(asked);
	}
}

/* A client that is cut off in the middle of a call may throw away the answer that it has got. */
static bool all_idle(const struct tn_bridge *bridge)
{
	for (const struct mor_list *node = bridge->guests.next; node != &bridge->guests; node = node->next)
		if (!mor_grpc_server_idle(mor_container_of(node, struct guest, node)->server))
			return false;
	return true;
}

void tn_bridge_leave(struct tn_bridge *bridge)
{
	int64_t until = mor_clock_ms() + GRACE_MS;

	end_session(bridge);
	MOR_LIST_EACH(node, after, &bridge->guests)
		mor_grpc_server_leave(mor_container_of(node, struct guest, node)->server);
	while (!all_idle(bridge) && mor_clock_ms() < until)
		if (mor_loop_wait(bridge->loop, GRACE_MS) < 0)
			return;
}

void tn_bridge_fini(struct tn_bridge *bridge)
{
	if (!bridge->over)
		end_session(bridge);
	MOR_LIST_EACH(node, after, &bridge->guests)
		mor_grpc_server_end(mor_container_of(node, struct guest, node)->server);
	mor_fd_close(&bridge->listener);
	mor_buf_fini(&bridge->lines);
	mor_buf_fini(&bridge->workspace);
	if (bridge->loop)
		mor_loop_free(bridge->loop);
	pthread_cond_destroy(&bridge->turned);
	pthread_mutex_destroy(&bridge->lock);
}
