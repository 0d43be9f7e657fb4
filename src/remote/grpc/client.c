/* SPDX-License-Identifier: Apache-2.0 */
/* The connection: its socket, its frames in both directions, the ping, the end. */
#include <errno.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "grpc/inside.h"

#define WRITE_AT_ONCE (128 * 1024)
#define KEEP_FRAMES   (64 * 1024) /* a larger buffer is freed when it is empty */
#define STEPS_BYTES   2048        /* so many bytes of input cost about one step of the loop */

/* ---- the end ---- */

static void on_tell(struct mor_task *task)
{
	struct mor_grpc *grpc = mor_container_of(task, struct mor_grpc, tell);

	if (grpc->options.on_end)
		grpc->options.on_end(grpc->options.arg, &grpc->why);
}

static void stop_connection(struct mor_grpc *grpc)
{
	mor_watch_stop(&grpc->watch);
	mor_task_stop(&grpc->flush);
	mor_timer_stop(&grpc->ping);
	mor_fd_close(&grpc->fd);
}

/* The session stays until the connection is freed: this may be called from inside it. */
void mor_grpc_break(struct mor_grpc *grpc, const mortise_error *why)
{
	if (grpc->ended || grpc->freed)
		return;
	grpc->ended = true;
	grpc->why = *why;
	stop_connection(grpc);
	MOR_LIST_EACH(node, after, &grpc->calls)
		mor_grpc_settle(mor_container_of(node, struct mor_grpc_call, node), MOR_GRPC_UNAVAILABLE,
				why->code, "%s", why->text);
	mor_loop_post(grpc->loop, &grpc->tell, on_tell); /* behind the ends of the calls */
}

static void end_by_peer(struct mor_grpc *grpc, int os_errno)
{
	mortise_error why = { 0 };

	if (grpc->leaving)
		why = grpc->reason;
	else if (os_errno && os_errno != ECONNRESET && os_errno != EPIPE)
		mor_fail_errno(&why, MORTISE_ESYSTEM, os_errno, "its gRPC socket");
	else
		mor_fail(&why, MORTISE_ECLOSED, "closed its gRPC connection");
	mor_grpc_break(grpc, &why);
}

/* ---- writing ---- */

static void want(struct mor_grpc *grpc, unsigned events)
{
	if (grpc->watch.loop && grpc->watch.events != events)
		mor_watch_change(&grpc->watch, events);
}

/* false: the socket takes no more, or there is no connection any more. */
static bool write_out(struct mor_grpc *grpc)
{
	size_t left = grpc->out.len - grpc->out_done;
	ssize_t n = send(grpc->fd, grpc->out.data + grpc->out_done, left, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		/* What it said before it closed is read first: it may explain this. */
		grpc->deaf = true;
		grpc->out_done = grpc->out.len;
		mor_watch_again(&grpc->watch);
	}
	if (n > 0)
		grpc->out_done += (size_t)n;
	if (grpc->out_done < grpc->out.len) {
		want(grpc, MOR_READABLE | MOR_WRITABLE);
		return false;
	}
	mor_buf_reset(&grpc->out, KEEP_FRAMES);
	grpc->out_done = 0;
	want(grpc, MOR_READABLE);
	return true;
}

static void flush_frames(struct mor_grpc *grpc)
{
	mortise_error err;

	do {
		if (grpc->ended || grpc->freed)
			return;
		if (!grpc->out.len && mor_h2_pull(grpc, &grpc->out, WRITE_AT_ONCE, &err) < 0) {
			mor_grpc_break(grpc, &err);
			return;
		}
		if (grpc->freed || !grpc->out.len)
			break;
		if (mor_loop_spent(grpc->loop)) {
			want(grpc, MOR_READABLE | MOR_WRITABLE);
			return;
		}
	} while (write_out(grpc));
	/* the server sent GOAWAY, and the last call is over */
	if (!grpc->ended && !grpc->freed && mor_h2_is_over(grpc))
		end_by_peer(grpc, 0);
}

static void on_flush(struct mor_task *task)
{
	flush_frames(mor_container_of(task, struct mor_grpc, flush));
}

/* While the socket takes nothing, its watch will do it. */
void mor_grpc_wake(struct mor_grpc *grpc)
{
	if (!grpc->ended && !grpc->freed && !(grpc->watch.events & MOR_WRITABLE))
		mor_loop_post(grpc->loop, &grpc->flush, on_flush);
}

/* ---- reading ---- */

static void read_in(struct mor_grpc *grpc)
{
	char *bytes = mor_loop_scratch(grpc->loop);
	mortise_error err;
	ssize_t n;

	if (!bytes) {
		mor_fail_memory(&err);
		mor_grpc_break(grpc, &err);
		return;
	}
	n = recv(grpc->fd, bytes, MOR_LOOP_SCRATCH, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR) && !grpc->deaf)
		return;
	if (n <= 0) {
		end_by_peer(grpc, n < 0 && !grpc->deaf ? errno : 0);
		return;
	}
	grpc->watch.taken += (uint64_t)n;
	grpc->heard = true;
	grpc->pinged = false;
	mor_loop_charge(grpc->loop, (unsigned)n / STEPS_BYTES);
	if (mor_h2_feed(grpc, (struct mor_slice){ bytes, (size_t)n }, &err) < 0)
		mor_grpc_break(grpc, &err);
	else
		mor_grpc_wake(grpc);
}

static void on_ready(struct mor_watch *watch, unsigned events)
{
	struct mor_grpc *grpc = mor_container_of(watch, struct mor_grpc, watch);

	if (events & (MOR_READABLE | MOR_HANGUP))
		read_in(grpc);
	if (events & MOR_WRITABLE)
		flush_frames(grpc);
}

/* ---- the ping ---- */

static void on_ping(struct mor_timer *timer)
{
	struct mor_grpc *grpc = mor_container_of(timer, struct mor_grpc, ping);
	uint32_t ms = grpc->options.ping_ms;
	mortise_error err = { 0 };
	char time[32];

	if (grpc->pinged)
		mor_fail(&err, MORTISE_ETIMEOUT, "did not answer a ping on its gRPC connection in %s",
			 mor_format_ms(ms, time));
	else if ((!grpc->heard && mor_h2_ping(grpc) < 0) || mor_timer_set(grpc->loop, timer, ms, on_ping) < 0)
		mor_fail_memory(&err);
	if (err.code) {
		mor_grpc_break(grpc, &err);
		return;
	}
	grpc->pinged = !grpc->heard;
	grpc->heard = false;
	mor_grpc_wake(grpc);
}

/* ---- begin and end ---- */

static void free_client(struct mor_grave *grave)
{
	struct mor_grpc *grpc = mor_container_of(grave, struct mor_grpc, grave);

	mor_h2_close(grpc);
	mor_buf_fini(&grpc->out);
	mor_free(grpc);
}

static int begin_client(struct mor_grpc *grpc)
{
	int r = mor_fd_nonblock(grpc->fd) < 0 ? MORTISE_ESYSTEM : mor_h2_open(grpc);

	if (r == 0)
		r = mor_watch_start(grpc->loop, &grpc->watch, grpc->fd, MOR_READABLE, on_ready);
	if (r == 0 && grpc->options.ping_ms)
		r = mor_timer_set(grpc->loop, &grpc->ping, grpc->options.ping_ms, on_ping);
	return r;
}

int mor_grpc_new_take(struct mor_loop *loop, int fd, const struct mor_grpc_options *options,
		      struct mor_grpc **ret)
{
	struct mor_grpc *grpc = mor_zalloc(sizeof(*grpc));
	int r;

	if (!grpc) {
		mor_fd_close(&fd);
		return MORTISE_ENOMEM;
	}
	grpc->loop = loop;
	grpc->fd = fd;
	grpc->options = *options;
	grpc->watch.counts = true;
	mor_list_init(&grpc->calls);
	if ((r = begin_client(grpc)) < 0) {
		mor_grpc_free(grpc);
		return r;
	}
	mor_grpc_wake(grpc);
	*ret = grpc;
	return 0;
}

struct mor_grpc *mor_grpc_free(struct mor_grpc *grpc)
{
	if (!grpc || grpc->freed)
		return NULL;
	grpc->freed = true;
	stop_connection(grpc);
	mor_task_stop(&grpc->tell);
	MOR_LIST_EACH(node, after, &grpc->calls)
		mor_grpc_drop(mor_container_of(node, struct mor_grpc_call, node));
	mor_loop_free_later(grpc->loop, &grpc->grave, free_client);
	return NULL;
}
