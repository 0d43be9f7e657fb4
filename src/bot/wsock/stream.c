/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes over a socket, plain or encrypted. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "wsock/inside.h"

static ssize_t judge_transfer(struct mor_stream *stream, ssize_t done, unsigned wants)
{
	if (done >= 0)
		return done;
	if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
		stream->wants = wants;
		return MOR_WS_STREAM_WAIT;
	}
	snprintf(stream->why, sizeof(stream->why), "%s", strerrordesc_np(errno));
	return MOR_WS_STREAM_FAILED;
}

ssize_t mor_stream_read(struct mor_stream *stream, void *bytes, size_t len)
{
	if (stream->ssl)
		return mor_tls_read(stream, bytes, len);
	return judge_transfer(stream, recv(stream->fd, bytes, len, 0), MOR_READABLE);
}

ssize_t mor_stream_write(struct mor_stream *stream, const void *bytes, size_t len)
{
	if (stream->ssl)
		return mor_tls_write(stream, bytes, len);
	return judge_transfer(stream, send(stream->fd, bytes, len, MSG_NOSIGNAL), MOR_WRITABLE);
}

bool mor_stream_has_more(const struct mor_stream *stream)
{
	return stream->ssl && mor_tls_has_more(stream);
}

void mor_stream_close(struct mor_stream *stream)
{
	if (stream->ssl)
		mor_tls_end(stream);
	mor_fd_close(&stream->fd);
}
