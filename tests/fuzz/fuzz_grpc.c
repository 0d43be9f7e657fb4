/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes from a gRPC server, over a socketpair, with the virtual clock. Byte 0 of the input: bit 0 puts good
 * settings in front, bit 1 makes the server take none of our bytes, bit 2 pauses the second call at its first
 * message, the rest seeds the pieces. Whatever comes, each call ends exactly once, no message is longer than
 * the limit, and we are not handed more bytes than were sent.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "grpc/grpc.h"

#define LIMIT 4096

struct seen {
	struct mor_grpc_call *call;
	unsigned ends;
	size_t bytes;
	bool pauses;
};

static unsigned broken;

static void on_message(void *arg, struct mor_slice message)
{
	struct seen *seen = arg;

	CHECK(seen->ends == 0 && message.len <= LIMIT);
	seen->bytes += message.len;
	if (seen->pauses)
		mor_grpc_pause(seen->call, true);
}

static void on_end(void *arg, unsigned status, const mortise_error *err)
{
	CHECK(((struct seen *)arg)->ends++ == 0);
	CHECK((status == MOR_GRPC_OK) == (err == NULL));
	CHECK(!err || (err->code < 0 && err->text[0] && !strchr(err->text, '\n')));
}

static void on_broken(void *arg, const mortise_error *why)
{
	(void)arg;
	broken++;
	CHECK(why->code < 0 && why->text[0]);
}

static void take_ours(int fd)
{
	char bytes[4096];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

static void turn(struct mor_loop *loop, int fd, bool takes)
{
	do {
		if (takes)
			take_ours(fd);
	} while (mor_loop_dispatch(loop) > 0);
}

static void feed(struct mor_loop *loop, int fd, const uint8_t *data, size_t size, uint8_t how)
{
	static const uint8_t greeting[] = { 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0 };
	uint32_t seed = how >> 3;

	if (how & 1)
		CHECK(send(fd, greeting, sizeof(greeting), MSG_NOSIGNAL) == sizeof(greeting));
	for (size_t at = 0, step; at < size && !broken; at += step) {
		seed = seed * 1103515245 + 12345;
		step = how >> 3 ? 1 + (seed >> 16) % 64 : size;
		if (step > size - at)
			step = size - at;
		if (step > 32768)
			step = 32768;
		CHECK(send(fd, data + at, step, MSG_NOSIGNAL) == (ssize_t)step);
		turn(loop, fd, !(how & 2));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct mor_grpc_options options = { LIMIT, LIMIT, 700, on_broken, NULL };
	struct mor_grpc_call_options ask = { "/a.B/C", 1000, on_message, NULL, on_end, NULL };
	struct seen seen[3] = { 0 };
	struct mor_loop *loop;
	struct mor_grpc *grpc;
	int ends[2];

	if (size < 1)
		return 0;
	broken = 0;
	CHECK(mor_loop_new(MOR_LOOP_VIRTUAL, &loop) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	CHECK(mor_grpc_new_take(loop, ends[0], &options, &grpc) == 0);
	for (unsigned i = 0; i < 3; i++) {
		ask.arg = &seen[i];
		seen[i].pauses = i == 1 && data[0] & 4;
		CHECK(mor_grpc_call(grpc, &ask, &seen[i].call, NULL) == 0);
		CHECK(mor_grpc_send(seen[i].call, MOR_SLICE("question")) == 0);
		if (i != 1)
			mor_grpc_finish(seen[i].call);
	}
	feed(loop, ends[1], data + 1, size - 1, data[0]);
	CHECK(mor_loop_advance(loop, 3000) >= 0);
	if (data[0] & 4 && !seen[1].ends) { /* its end waited */
		seen[1].pauses = false;
		mor_grpc_pause(seen[1].call, false);
		turn(loop, ends[1], false);
	}
	for (unsigned i = 0; i < 3; i++)
		CHECK(seen[i].ends == 1 && seen[i].bytes <= size);
	CHECK(broken <= 1);
	mor_grpc_free(grpc);
	mor_loop_free(loop);
	close(ends[1]);
	return 0;
}
