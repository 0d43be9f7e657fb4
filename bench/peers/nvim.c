/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvim SECONDS DEPTH:SIZE...: `nvim --embed` called over msgpack-rpc, for each point of sweep.h. The echo is
 * nvim_replace_termcodes(), an API function that gives an ordinary text back as it is. The host is as small as
 * one can be: blocking reads and writes, requests written together where DEPTH allows it, and of a reply only
 * its length is looked at (it has one shape), so nearly all of the time is Neovim's.
 */
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../sweep.h"

#define METHOD "nvim_replace_termcodes"

extern char **environ;

struct nvim {
	char *request, *reply; /* DEPTH of them */
	size_t request_len, reply_len;
	int to, from;
	pid_t pid;
};

static char *put_bytes(char *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	return to + len;
}

static char *put_number(char *to, unsigned char kind, size_t n)
{
	char bytes[] = { (char)kind, (char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n };

	return put_bytes(to, bytes, sizeof(bytes));
}

/* [0, id, METHOD, [text, false, false, false]] */
static char *put_request(char *to, const char *text, size_t size)
{
	to = put_bytes(to, "\x94\x00\x07\xb6" METHOD, 4 + strlen(METHOD));
	to = put_bytes(to, "\x94", 1);
	to = put_bytes(put_number(to, 0xdb, size), text, size);
	return put_bytes(to, "\xc2\xc2\xc2", 3);
}

/* [1, id, nil, text]: 4 bytes, the head of a text as short as it can be, the text */
static size_t reply_size(size_t size)
{
	return 4 + size + (size < 32 ? 1 : size < 256 ? 2 : size < 65536 ? 3 : 5);
}

static int prepare_nvim(void *arg, size_t depth, size_t size)
{
	struct nvim *n = arg;
	size_t len;
	char *text = sweep_text("", size, "", &len), *at;

	free(n->request);
	free(n->reply);
	n->request = malloc(depth * (size + 64));
	n->reply_len = reply_size(size);
	n->reply = malloc(depth * n->reply_len);
	if (!text || !n->request || !n->reply)
		return -1;
	at = n->request;
	for (size_t i = 0; i < depth; i++)
		at = put_request(at, text, size);
	n->request_len = (size_t)(at - n->request) / depth;
	free(text);
	return 0;
}

static int read_all(const struct nvim *n, size_t len)
{
	for (size_t have = 0; have < len;) {
		ssize_t got = read(n->from, n->reply + have, len - have);

		if (got <= 0)
			return -1;
		have += (size_t)got;
	}
	return n->reply[0] == '\x94' && n->reply[1] == 1 && n->reply[3] == '\xc0' ? 0 : -1;
}

static int write_all(const struct nvim *n, size_t len)
{
	for (size_t sent = 0; sent < len;) {
		ssize_t put = write(n->to, n->request + sent, len - sent);

		if (put <= 0)
			return -1;
		sent += (size_t)put;
	}
	return 0;
}

static int run_calls(void *arg, size_t count, size_t depth)
{
	const struct nvim *n = arg;

	for (size_t i = 0; i < count; i += depth)
		if (write_all(n, depth * n->request_len) < 0 || read_all(n, depth * n->reply_len) < 0)
			return -1;
	return 0;
}

static int start(struct nvim *n)
{
	char *const argv[] = { "nvim", "--embed", "--headless", "--clean", "-n", NULL };
	posix_spawn_file_actions_t actions;
	int down[2], up[2], r;

	if (pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, down[0], 0);
	posix_spawn_file_actions_adddup2(&actions, up[1], 1);
	r = posix_spawnp(&n->pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(down[0]);
	close(up[1]);
	n->to = down[1];
	n->from = up[0];
	return r == 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
	struct nvim n = { 0 };
	struct sweep s = { prepare_nvim, run_calls, &n };
	int r = argc > 2 && start(&n) == 0 ? sweep_points(&s, argv + 1) : -1;

	if (n.pid > 0) {
		close(n.to); /* nvim ends with its channel */
		close(n.from);
		waitpid(n.pid, NULL, 0);
	}
	free(n.request);
	free(n.reply);
	return r < 0;
}
