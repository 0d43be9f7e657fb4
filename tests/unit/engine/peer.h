/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server that says what the test says, in PostgreSQL's protocol 3.0 on a Unix socket: for what a real one
 * cannot be made to say. One connection at a time, and no thread: peer_pump() lets the farm and the peer work
 * until neither has something to do, or `done` is true.
 */
#ifndef TESTS_UNIT_FARM_PEER_H
#define TESTS_UNIT_FARM_PEER_H

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "engine/pg_own.h"
#include "leak.h"
#include "top.h"

/* One answer to one question. All NULL: no rows. */
struct peer_answer {
	const char *state, *message; /* an error, with its SQLSTATE */
	const char *cells[8];        /* a row ... */
	int rows;                    /* ... so many times; 0: once */
	const char *news;            /* before it, a notification with this payload */
	bool hang_up;                /* no answer: the connection ends */
};

static struct peer {
	int listener, fd; /* -1: nobody is connected */
	bool greeted;
	unsigned connections;
	struct mor_buf in;
	const struct peer_answer *answers;
	size_t count, used;
	char sql[40][400]; /* what was asked, with "|" and each parameter behind it */
	size_t asked;
} peer;

static inline void peer_open(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int length;

	peer = (struct peer){ .fd = -1 };
	length = snprintf(address.sun_path, sizeof(address.sun_path), "%s/.s.PGSQL.5432", top);
	assert_in_range(length, 1, sizeof(address.sun_path) - 1);
	unlink(address.sun_path);
	peer.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(peer.listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(peer.listener, 5), 0);
}

static inline void peer_hang_up(void)
{
	if (peer.fd >= 0)
		close(peer.fd);
	peer.fd = -1;
	peer.greeted = false;
	mor_buf_fini(&peer.in);
	peer.in = (struct mor_buf)MOR_BUF_INIT;
}

static inline void peer_close(void)
{
	peer_hang_up();
	close(peer.listener);
}

/* ---- messages ---- */

static inline void put_int(struct mor_buf *out, uint32_t number)
{
	number = htonl(number);
	mor_buf_append(out, &number, 4);
}

static inline void put_short(struct mor_buf *out, uint16_t number)
{
	number = htons(number);
	mor_buf_append(out, &number, 2);
}

static inline void put_text(struct mor_buf *out, const char *text)
{
	mor_buf_append(out, text, strlen(text) + 1);
}

static inline void put_message(struct mor_buf *out, char type, struct mor_buf *body)
{
	mor_buf_byte(out, type);
	put_int(out, (uint32_t)body->len + 4);
	mor_buf_slice(out, mor_buf_view(body));
	mor_buf_reset(body, SIZE_MAX);
}

static inline void put_rows(struct mor_buf *out, const struct peer_answer *answer)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;
	uint16_t columns = 0;

	while (columns < 8 && answer->cells[columns])
		columns++;
	put_short(&body, columns);
	for (uint16_t i = 0; i < columns; i++) {
		put_text(&body, "c");
		put_int(&body, 0);
		put_short(&body, 0);
		put_int(&body, 25);
		put_short(&body, UINT16_MAX);
		put_int(&body, UINT32_MAX);
		put_short(&body, 0);
	}
	put_message(out, 'T', &body);
	for (int row = 0; columns && row < (answer->rows ? answer->rows : 1); row++) {
		put_short(&body, columns);
		for (uint16_t i = 0; i < columns; i++) {
			put_int(&body, (uint32_t)strlen(answer->cells[i]));
			mor_buf_text(&body, answer->cells[i]);
		}
		put_message(out, 'D', &body);
	}
	put_text(&body, "SELECT 1");
	put_message(out, 'C', &body);
}

static inline void put_error(struct mor_buf *out, const struct peer_answer *answer)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	put_text(&body, "SERROR");
	mor_buf_byte(&body, 'C');
	put_text(&body, answer->state);
	mor_buf_byte(&body, 'M');
	put_text(&body, answer->message);
	mor_buf_byte(&body, '\0');
	put_message(out, 'E', &body);
}

static inline void put_news(struct mor_buf *out, const char *payload)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	put_int(&body, 1);
	put_text(&body, "channel");
	put_text(&body, payload);
	put_message(out, 'A', &body);
}

static inline void peer_send(struct mor_buf *out)
{
	assert_int_equal(send(peer.fd, out->data, out->len, MSG_NOSIGNAL), out->len);
	mor_buf_reset(out, SIZE_MAX);
}

static inline void peer_ready(struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	mor_buf_byte(&body, 'I');
	put_message(out, 'Z', &body);
	peer_send(out);
}

static inline void peer_tell(const char *payload)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	put_news(&out, payload);
	peer_send(&out);
}

/* ---- questions ---- */

static inline void peer_answer(bool extended)
{
	static const struct peer_answer none;
	const struct peer_answer *answer = peer.used < peer.count ? &peer.answers[peer.used++] : &none;
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT, body = MOR_BUF_INIT;

	peer.asked++;
	if (answer->hang_up) {
		peer_hang_up();
		return;
	}
	if (answer->news)
		put_news(&out, answer->news);
	if (extended && !answer->state) {
		put_message(&out, '1', &body);
		put_message(&out, '2', &body);
	}
	if (answer->state)
		put_error(&out, answer);
	else
		put_rows(&out, answer);
	peer_ready(&out);
}

static inline uint32_t get_int(const char *at)
{
	uint32_t number;

	memcpy(&number, at, 4);
	return ntohl(number);
}

/* Parameters of Bind: two names, formats, then each with its length. */
static inline void peer_bind(const char *body, char *to, size_t size)
{
	const char *at = body + strlen(body) + 1;
	uint16_t count;

	at += strlen(at) + 1;
	memcpy(&count, at, 2);
	at += 2 + 2 * ntohs(count);
	memcpy(&count, at, 2);
	at += 2;
	for (count = ntohs(count); count; count--) {
		size_t used = strlen(to), len = get_int(at);

		snprintf(to + used, size - used, "|%.*s", (int)len, at + 4);
		at += 4 + len;
	}
}

/* One message, if it is there. */
static inline bool peer_take(void)
{
	size_t head = peer.greeted ? 5 : 4, len = peer.in.len < head ? 0 : get_int(peer.in.data + head - 4);
	char *sql = peer.sql[peer.asked % 40], type = peer.greeted && peer.in.len ? peer.in.data[0] : '\0';
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT, body = MOR_BUF_INIT;

	if (!len || peer.in.len < len + head - 4)
		return false;
	if (!peer.greeted) {
		peer.greeted = true;
		put_int(&body, 0);
		put_message(&out, 'R', &body);
		peer_ready(&out);
	} else if (type == 'Q' || type == 'P') {
		snprintf(sql, sizeof(peer.sql[0]), "%s", peer.in.data + 5 + (type == 'P'));
	} else if (type == 'B') {
		peer_bind(peer.in.data + 5, sql, sizeof(peer.sql[0]));
	}
	mor_buf_consume(&peer.in, len + head - 4);
	if (type == 'Q' || type == 'S')
		peer_answer(type == 'S');
	return peer.fd >= 0;
}

static inline void peer_hear(void)
{
	ssize_t n = 1;

	if (peer.fd < 0) {
		peer.fd = accept4(peer.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		peer.connections += peer.fd >= 0;
	}
	while (peer.fd >= 0 && n > 0) {
		assert_int_equal(mor_buf_reserve(&peer.in, 4096), 0);
		n = recv(peer.fd, peer.in.data + peer.in.len, 4096, 0);
		if (n > 0)
			peer.in.len += (size_t)n;
		else if (n == 0)
			peer_hang_up();
	}
	while (peer.fd >= 0 && peer_take())
		;
}

/* A wait for the next try is not waited for. */
static inline void peer_pump(struct mor_farm *farm, bool (*done)(void))
{
	struct mor_farm *pg = farm;

	for (bool quiet = false; !quiet && !(done && done());) {
		struct pollfd fds[] = { { mor_farm_fd(farm), POLLIN, 0 },
					{ peer.listener, POLLIN, 0 },
					{ .fd = -1 } };
		bool over, waits;

		mor_farm_step(farm);
		if (pg->state == PG_DOWN)
			pg->retry_ms = 0;
		peer_hear();
		fds[2] = (struct pollfd){ peer.fd, POLLIN, 0 };
		over = mor_farm_failure(farm) != NULL;
		waits = !over && pg->state != PG_DOWN && (done ? !done() : pg->state != PG_READY);
		quiet = poll(fds, 3, waits ? 60000 : 0) <= 0 && (over || pg->state != PG_DOWN);
	}
}

#endif
