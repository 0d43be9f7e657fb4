/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc-caller SOCKET METHOD TIMEOUT_MS WORD...: one call of src/remote/grpc, for tests against real servers.
 *
 *	=TEXT  send this message     *N  send N bytes       .  no more from us
 *	?      wait for a message    !   cancel             ~  wait until what was sent has left
 *
 * Prints "message LENGTH TEXT" for each message, its text cut, and at the end "end STATUS NAME CODE TEXT".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "grpc/grpc.h"

#define LIMIT (64 * 1024 * 1024)

static struct {
	struct mor_grpc_call *call;
	char **words;
	unsigned messages, awaited; /* how many have come, and how many of these a "?" has taken */
	bool drained, over;
} it;

static void give_up(const char *what)
{
	fprintf(stderr, "grpc-caller: %s\n", what);
	exit(2);
}

static void send_bytes(const char *bytes, size_t len)
{
	int r = mor_grpc_send(it.call, (struct mor_slice){ bytes, len });

	it.drained = false;
	if (r < 0)
		give_up(mortise_status_text(r));
}

static void send_many(const char *count)
{
	size_t len = strtoul(count, NULL, 10);
	char *bytes = calloc(1, len + 1);

	if (!bytes)
		give_up("no memory");
	send_bytes(bytes, len);
	free(bytes);
}

/* false: this word has to wait. */
static bool do_word(const char *word)
{
	switch (word[0]) {
	case '=':
		send_bytes(word + 1, strlen(word + 1));
		return true;
	case '*':
		send_many(word + 1);
		return true;
	case '.':
		mor_grpc_finish(it.call);
		return true;
	case '!':
		mor_grpc_cancel(it.call);
		return true;
	case '~':
		return it.drained;
	case '?':
		if (it.awaited == it.messages)
			return false;
		it.awaited++;
		return true;
	default:
		give_up("a word that is not known");
		return false;
	}
}

static void go_on(void)
{
	while (!it.over && *it.words && do_word(*it.words))
		it.words++;
}

static void on_message(void *arg, struct mor_slice message)
{
	char text[60];

	(void)arg;
	it.messages++;
	printf("message %zu %s\n", message.len,
	       mor_excerpt((struct mor_slice){ message.ptr, message.len < 40 ? message.len : 40 }, text,
			   sizeof(text)));
	fflush(stdout);
	go_on();
}

static void on_drained(void *arg)
{
	(void)arg;
	it.drained = true;
	go_on();
}

static void on_end(void *arg, unsigned status, const mortise_error *err)
{
	char name[32];

	(void)arg;
	it.over = true;
	printf("end %u %s %s %s\n", status, mor_grpc_status_name(status, name),
	       err ? mortise_status_name(err->code) : "OK", err ? err->text : "");
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		give_up("cannot connect");
	return fd;
}

int main(int argc, char **argv)
{
	const struct mor_grpc_options options = { .message_limit = LIMIT, .queue_limit = LIMIT };
	struct mor_grpc_call_options ask = { .on_message = on_message,
					     .on_drained = on_drained,
					     .on_end = on_end };
	struct mor_loop *loop = NULL;
	struct mor_grpc *grpc = NULL;
	mortise_error err;

	if (argc < 4)
		give_up("usage: grpc-caller SOCKET METHOD TIMEOUT_MS WORD...");
	ask.method = argv[2];
	ask.timeout_ms = (uint32_t)strtoul(argv[3], NULL, 10);
	it.words = argv + 4;
	if (mor_loop_new(0, &loop) < 0 || mor_grpc_new_take(loop, connect_to(argv[1]), &options, &grpc) < 0)
		give_up("no connection");
	if (mor_grpc_call(grpc, &ask, &it.call, &err) < 0)
		give_up(err.text);
	go_on();
	while (!it.over)
		if (mor_loop_wait(loop, -1) < 0)
			give_up("the loop failed");
	mor_grpc_free(grpc);
	mor_loop_free(loop);
	return 0;
}
