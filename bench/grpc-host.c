/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc-host SOCKET ROUNDS CALLS: unary calls with src/grpc, one after the other, of the plugin that listens on
 * SOCKET or will soon; then its Shutdown. Prints the nanoseconds of one call, for each round.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "grpc/grpc.h"

#define SERVICE "/sunscreen.plugin.v1.Plugin/"
#define LIMIT   (1024 * 1024)

static struct {
	struct mor_loop *loop;
	struct mor_grpc *grpc;
	bool done, good;
} it;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void on_done(void *arg, struct mor_slice message, unsigned status, const mortise_error *err)
{
	(void)arg;
	(void)message;
	(void)status;
	it.done = true;
	it.good = !err;
	if (err)
		fprintf(stderr, "grpc-host: %s\n", err->text);
}

static bool call_once(const char *method, struct mor_slice message)
{
	const struct mor_grpc_unary unary = { .method = method, .message = message, .on_done = on_done };
	mortise_error err;

	it.done = it.good = false;
	if (mor_grpc_unary(it.grpc, &unary, NULL, &err) < 0)
		return false;
	while (!it.done)
		if (mor_loop_wait(it.loop, -1) < 0)
			return false;
	return it.good;
}

static bool measure(long rounds, long calls)
{
	static const char run[] = "\x0a\x03"
				  "app\x12\x04"
				  "echo\x1a\x05hello";

	for (long round = 0; round < rounds; round++) {
		int64_t begin = now_ns();

		for (long i = 0; i < calls; i++)
			if (!call_once(SERVICE "RunCommand", MOR_SLICE(run)))
				return false;
		printf("%lld\n", (long long)((now_ns() - begin) / calls));
	}
	return call_once(SERVICE "Shutdown", MOR_SLICE(""));
}

static int connect_soon(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	for (int tries = 0; connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0; tries++) {
		if (tries == 10000)
			return -1;
		poll(NULL, 0, 1);
	}
	return fd;
}

int main(int argc, char **argv)
{
	const struct mor_grpc_options options = { .message_limit = LIMIT, .queue_limit = LIMIT };
	int fd = argc == 4 ? connect_soon(argv[1]) : -1;
	bool good;

	if (fd < 0 || mor_loop_new(0, &it.loop) < 0 || mor_grpc_new(it.loop, fd, &options, &it.grpc) < 0) {
		fprintf(stderr, "usage: grpc-host SOCKET ROUNDS CALLS, with a plugin that listens there\n");
		return 2;
	}
	good = measure(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
	mor_grpc_free(it.grpc);
	mor_loop_free(it.loop);
	return !good;
}
