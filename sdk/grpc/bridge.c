/* SPDX-License-Identifier: Apache-2.0 */
/* The thread of gRPC: connections on one side, the session's socket pair on the other. */
#include "bridge.h"

#include <errno.h>
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

static void watch_pair(struct tn_bridge *bridge);

static void write_pair(struct tn_bridge *bridge)
{
	while (bridge->out_done < bridge->out.len) {
		ssize_t n = send(bridge->pair, bridge->out.data + bridge->out_done,
				 bridge->out.len - bridge->out_done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR) /* it has ended, which the reader sees */
			bridge->out_done = bridge->out.len;
		bridge->out_done += n > 0 ? (size_t)n : 0;
	}
	if (bridge->out_done == bridge->out.len) {
		mor_buf_reset(&bridge->out, KEEP_BYTES);
		bridge->out_done = 0;
	}
	watch_pair(bridge);
}

static void on_pair_flush(struct mor_task *task)
{
	write_pair(mor_container_of(task, struct tn_bridge, flush));
}

/* Requests of one look at the socket leave together. */
static void send_line(struct tn_bridge *bridge)
{
	mor_buf_byte(&bridge->out, '\n');
	mor_loop_post(bridge->loop, &bridge->flush, on_pair_flush);
}

struct tn_asked *tn_bridge_ask(struct tn_bridge *bridge, const char *method, const struct mor_buf *params)
{
	struct tn_asked *asked = mor_zalloc(sizeof(*asked));
	size_t before = bridge->out.len;

	if (!asked)
		return NULL;
	asked->id = ++bridge->last_id;
	if (bridge->over || mor_buf_failed(params) ||
	    mor_write_request(&bridge->out, asked->id, mor_slice_of(method), mor_buf_view(params)) < 0) {
		bridge->out.len = before;
		bridge->out.status = 0;
		mor_free(asked);
		return NULL;
	}
	send_line(bridge);
	mor_list_append(&bridge->asked, &asked->node);
	return asked;
}

void tn_bridge_cancel(struct tn_bridge *bridge, const struct tn_asked *asked)
{
	char params[40];

	snprintf(params, sizeof(params), "{\"id\":%lld}", (long long)asked->id);
	mor_write_note(&bridge->out, MOR_SLICE("$/cancelRequest"), mor_slice_of(params));
	send_line(bridge);
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

static void take_lines(struct tn_bridge *bridge)
{
	size_t done = 0;
	const char *end;

	while (done < bridge->in.len &&
	       (end = memchr(bridge->in.data + done, '\n', bridge->in.len - done)) != NULL) {
		size_t len = (size_t)(end - bridge->in.data) - done;

		take_line(bridge, (struct mor_slice){ bridge->in.data + done, len });
		done += len + 1;
	}
	mor_buf_consume(&bridge->in, done);
	if (!bridge->in.len)
		mor_buf_reset(&bridge->in, KEEP_BYTES);
}

static size_t waiting_bytes(const struct tn_bridge *bridge)
{
	size_t all = 0;

	for (const struct mor_list *node = bridge->guests.next; node != &bridge->guests; node = node->next)
		all += mor_grpc_server_waiting(mor_container_of(node, struct guest, node)->server);
	return all;
}

/* A host that does not read makes the session wait: what it has said stays in the pair. */
static void watch_pair(struct tn_bridge *bridge)
{
	unsigned events = bridge->out.len ? MOR_WRITABLE : 0;

	if (bridge->over)
		return;
	if (waiting_bytes(bridge) < WAITING_MAX)
		events |= MOR_READABLE;
	if (bridge->paired.events != events)
		mor_watch_change(&bridge->paired, events);
}

static void end_session(struct tn_bridge *bridge)
{
	bridge->over = true;
	mor_watch_stop(&bridge->paired);
	mor_watch_stop(&bridge->listening);
	MOR_LIST_EACH(node, after, &bridge->asked) {
		struct tn_asked *asked = mor_container_of(node, struct tn_asked, node);

		asked->call->owner = NULL;
		mor_grpc_close(asked->call, MOR_GRPC_UNAVAILABLE, "the plugin ends");
		forget_asked(asked);
	}
}

static void on_pair(struct mor_watch *watch, unsigned events)
{
	struct tn_bridge *bridge = mor_container_of(watch, struct tn_bridge, paired);
	ssize_t n;

	if (events & MOR_WRITABLE)
		write_pair(bridge);
	if (!(events & (MOR_READABLE | MOR_HANGUP)))
		return;
	if (mor_buf_reserve(&bridge->in, KEEP_BYTES / 4) < 0) {
		end_session(bridge);
		return;
	}
	n = recv(bridge->pair, bridge->in.data + bridge->in.len, KEEP_BYTES / 4, MSG_DONTWAIT);
	if (n > 0) {
		bridge->in.len += (size_t)n;
		take_lines(bridge);
		watch_pair(bridge);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		end_session(bridge);
	}
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

static void on_guest_drained(void *arg)
{
	watch_pair(((struct guest *)arg)->bridge);
}

static void on_guest_end(void *arg, struct mor_grpc_server *server)
{
	struct guest *guest = arg;

	(void)server;
	mor_list_remove(&guest->node);
	watch_pair(guest->bridge);
	mor_free(guest);
}

static void on_listening(struct mor_watch *watch, unsigned events)
{
	struct tn_bridge *bridge = mor_container_of(watch, struct tn_bridge, listening);
	struct mor_grpc_server_options options = { MESSAGE_LIMIT,   on_guest_call, on_guest_message,
						   on_guest_finish, on_guest_gone, on_guest_drained,
						   on_guest_end,    NULL };
	int fd = accept4(bridge->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct guest *guest = fd < 0 ? NULL : mor_zalloc(sizeof(*guest));

	(void)events;
	if (!guest) {
		mor_fd_close(&fd);
		return;
	}
	guest->bridge = bridge;
	options.arg = guest;
	if (mor_grpc_serve(bridge->loop, fd, &options, &guest->server) < 0)
		mor_free(guest);
	else
		mor_list_append(&bridge->guests, &guest->node);
}

/* ---- begin and end ---- */

int tn_bridge_init(struct tn_bridge *bridge, const tenon_plugin *plugin, int listener, int pair)
{
	*bridge = (struct tn_bridge){ .plugin = plugin, .listener = listener, .pair = pair };
	mor_list_init(&bridge->guests);
	mor_list_init(&bridge->asked);
	if (mor_loop_new(0, &bridge->loop) < 0)
		return -1;
	return mor_watch_start(bridge->loop, &bridge->paired, pair, MOR_READABLE, on_pair) < 0 ||
			       mor_watch_start(bridge->loop, &bridge->listening, listener, MOR_READABLE,
					       on_listening) < 0 ?
		       -1 :
		       0;
}

/* A client that is cut off in the middle of a call may throw away the answer that it has got. */
static bool all_idle(const struct tn_bridge *bridge)
{
	for (const struct mor_list *node = bridge->guests.next; node != &bridge->guests; node = node->next)
		if (!mor_grpc_server_idle(mor_container_of(node, struct guest, node)->server))
			return false;
	return true;
}

void tn_bridge_run(struct tn_bridge *bridge)
{
	int64_t until;

	while (!bridge->over)
		if (mor_loop_wait(bridge->loop, -1) < 0)
			return;
	until = mor_clock_ms() + GRACE_MS;
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
	mor_task_stop(&bridge->flush);
	mor_fd_close(&bridge->listener);
	mor_fd_close(&bridge->pair);
	mor_buf_fini(&bridge->in);
	mor_buf_fini(&bridge->out);
	mor_buf_fini(&bridge->workspace);
	if (bridge->loop)
		mor_loop_free(bridge->loop);
}
