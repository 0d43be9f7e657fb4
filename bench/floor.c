/* SPDX-License-Identifier: Apache-2.0 */
/*
 * floor seq|batch COUNT CPU: what two bare processes need for the same bytes. No parsing, no loop, no
 * limits: blocking read and write on two pipes. "batch" sends 64 messages in one write and gets 64 replies
 * in one. What the library does is judged as a multiple of this.
 *
 * floor seq COUNT CPU COMMAND [ARG...]: the same with COMMAND as the other process: a relay in front of
 * "floor peer", which is that other process alone.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define WARM_UP 1000

struct work {
	char *request, *reply, *in;
	size_t request_len, reply_len;
};

static int repeat(const char *text, size_t times, char **ret, size_t *ret_len)
{
	size_t len = strlen(text);

	*ret = malloc(len * times);
	if (!*ret)
		return -1;
	for (size_t i = 0; i < times; i++)
		memcpy(*ret + i * len, text, len);
	*ret_len = len * times;
	return 0;
}

static int trip(const struct work *w, int out, int in)
{
	return write(out, w->request, w->request_len) == (ssize_t)w->request_len ?
		       bench_read_all(in, w->in, w->reply_len) :
		       -1;
}

static void peer(const struct work *w, int in, int out)
{
	while (bench_read_all(in, w->in, w->request_len) == 0)
		if (write(out, w->reply, w->reply_len) != (ssize_t)w->reply_len)
			break;
	_exit(0);
}

static int measure(const struct work *w, int out, int in, size_t count, size_t batch)
{
	int64_t *ns = malloc(count * sizeof(*ns)), begin, last;

	if (!ns)
		return -1;
	for (size_t i = 0; i < WARM_UP; i++)
		if (trip(w, out, in) < 0)
			return -1;
	begin = last = bench_now();
	for (size_t i = 0; i < count; i++) {
		int64_t now;

		if (trip(w, out, in) < 0)
			return -1;
		now = bench_now();
		ns[i] = now - last;
		last = now;
	}
	if (batch > 1)
		bench_print_rate(count * batch, last - begin);
	else
		bench_print_times(ns, count);
	free(ns);
	return 0;
}

/* In the child: the peer itself, or the command that leads to one. */
static void be_other(const struct work *w, int in, int out, char **command)
{
	if (!*command)
		peer(w, in, out);
	if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0)
		execv(*command, command);
	perror(*command);
	_exit(127);
}

static int prepare_work(struct work *w, size_t batch)
{
	if (repeat(BENCH_REQUEST, batch, &w->request, &w->request_len) < 0 ||
	    repeat(BENCH_REPLY, batch, &w->reply, &w->reply_len) < 0)
		return -1;
	w->in = malloc(w->request_len + w->reply_len);
	return w->in ? 0 : -1;
}

int main(int argc, char **argv)
{
	size_t batch = argc > 1 && strcmp(argv[1], "batch") == 0 ? BENCH_IN_FLIGHT : 1;
	struct work w = { 0 };
	int down[2], up[2], r;
	pid_t pid;

	if (prepare_work(&w, batch) < 0)
		return 1;
	if (argc == 2 && strcmp(argv[1], "peer") == 0)
		peer(&w, STDIN_FILENO, STDOUT_FILENO);
	if (argc < 4 || bench_pin((int)strtol(argv[3], NULL, 10)) < 0)
		return 2;
	if (pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		return 1;
	if (pid == 0) {
		close(down[1]);
		be_other(&w, down[0], up[1], argv + 4);
	}
	r = measure(&w, down[1], up[0], strtoul(argv[2], NULL, 10) / batch, batch);
	close(down[1]);
	waitpid(pid, NULL, 0);
	free(w.request);
	free(w.reply);
	free(w.in);
	return r < 0;
}
