/* SPDX-License-Identifier: Apache-2.0 */
/* Messages between a command and a keeper. Both are ours and of one user, so whatever is wrong ends
 * the connection. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "console/signals.h"
#include "session/inside.h"

#define MESSAGE_LIMIT ((size_t)1 << 30)
#define READ_BYTES    ((size_t)64 << 10)
#define KEEP_BYTES    ((size_t)1 << 20)

void mor_session_wire_open_take(struct mor_session_wire *wire, int fd)
{
	*wire = (struct mor_session_wire){ .fd = fd };
	mor_deframer_init(&wire->deframer, MOR_FRAMING_DECIMAL, MESSAGE_LIMIT, MOR_DEFRAME_STRICT);
	mor_fd_nonblock(fd);
}

void mor_session_wire_close(struct mor_session_wire *wire)
{
	mor_fd_close(&wire->fd);
	mor_buf_fini(&wire->in);
	mor_buf_fini(&wire->out);
	wire->ended = true;
}

/* ---- in ---- */

static void drop_taken(struct mor_session_wire *wire)
{
	mor_buf_consume(&wire->in, wire->taken);
	wire->taken = 0;
	if (wire->in.len == 0)
		mor_buf_reset(&wire->in, KEEP_BYTES);
}

void mor_session_wire_fill(struct mor_session_wire *wire)
{
	ssize_t n;

	drop_taken(wire);
	while (!wire->ended) {
		if (mor_buf_reserve(&wire->in, READ_BYTES) < 0) {
			wire->ended = true;
			return;
		}
		n = recv(wire->fd, wire->in.data + wire->in.len, wire->in.cap - wire->in.len, 0);
		if (n > 0)
			wire->in.len += (size_t)n;
		else if (n == 0 || (errno != EAGAIN && errno != EINTR))
			wire->ended = true;
		else if (errno == EAGAIN)
			return;
		if (wire->in.len >= READ_BYTES)
			return; /* the rest in another turn */
	}
}

bool mor_session_wire_next(struct mor_session_wire *wire, struct mor_slice *ret)
{
	struct mor_item item;
	enum mor_item_kind kind;

	drop_taken(wire);
	if (wire->in.len == 0)
		return false;
	kind = mor_deframe(&wire->deframer, wire->in.data, wire->in.len, wire->ended, &item);
	if (kind == MOR_ITEM_FRAME) {
		*ret = item.body;
		wire->taken = item.used;
		return true;
	}
	if (kind != MOR_ITEM_MORE) {
		wire->ended = true;
		wire->taken = wire->in.len;
	}
	return false;
}

/* ---- out ---- */

void mor_session_wire_put(struct mor_session_wire *wire, struct mor_slice json)
{
	if (wire->fd >= 0)
		mor_enframe(MOR_FRAMING_DECIMAL, json, &wire->out);
}

bool mor_session_wire_flush(struct mor_session_wire *wire)
{
	size_t sent = 0;

	if (wire->fd < 0 || mor_buf_failed(&wire->out))
		return false;
	while (sent < wire->out.len) {
		ssize_t n = send(wire->fd, wire->out.data + sent, wire->out.len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0)
			return false;
		sent += (size_t)n;
	}
	mor_buf_consume(&wire->out, sent);
	if (wire->out.len == 0)
		mor_buf_reset(&wire->out, KEEP_BYTES);
	return true;
}

/* ---- a command waits ---- */

int mor_session_wire_wait(struct mor_session_wire *wire, int timeout_ms, struct mor_slice *ret)
{
	int64_t until = mor_clock_ms() + timeout_ms;
	struct pollfd fd;

	for (;;) {
		if (mor_session_wire_next(wire, ret))
			return 0;
		if (wire->ended || !mor_session_wire_flush(wire))
			return MORTISE_ECLOSED;
		if (timeout_ms >= 0 && mor_clock_ms() >= until)
			return MORTISE_ETIMEOUT;
		fd = (struct pollfd){ .fd = wire->fd,
				      .events = (short)(POLLIN | (wire->out.len ? POLLOUT : 0)) };
		mor_signals_poll(&fd, timeout_ms < 0 ? -1 : (int)(until - mor_clock_ms()));
		if (mor_signals_count())
			return MORTISE_ECANCELED;
		mor_session_wire_fill(wire);
	}
}

/* ---- errors ---- */

void mor_session_write_error(struct mor_writer *w, const mortise_error *error)
{
	mor_w_pair_object(w, "error");
	mor_w_pair_int(w, "code", error->code);
	mor_w_pair_int(w, "os_errno", error->os_errno);
	mor_w_pair_int(w, "rpc_code", error->rpc_code);
	mor_w_pair(w, "text", error->text);
	mor_w_end(w);
}

void mor_session_read_error(const struct mor_value *value, mortise_error *ret)
{
	*ret = (mortise_error){ 0 };
	mor_fail(ret, (int)mor_json_int(mor_json_get(value, "code"), MORTISE_ESYSTEM), "%s",
		 mor_json_text(mor_json_get(value, "text"), "the keeper of the session did not say why"));
	ret->os_errno = (int)mor_json_int(mor_json_get(value, "os_errno"), 0);
	ret->rpc_code = mor_json_int(mor_json_get(value, "rpc_code"), 0);
}
