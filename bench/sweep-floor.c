/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep-floor SECONDS DEPTH:SIZE...: two bare processes, for each point of sweep.h: as many bytes as requests
 * and replies of JSON-RPC have, through two pipes with blocking reads and writes, DEPTH messages in one write.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sweep.h"

struct floor {
	char *request, *reply, *in;
	size_t request_len, reply_len;
	int to, from;
	pid_t pid;
};

static int write_all(int fd, const char *from, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, from, len);

		if (n <= 0)
			return -1;
		from += n;
		len -= (size_t)n;
	}
	return 0;
}

static void stop(struct floor *f)
{
	if (f->pid) {
		close(f->to);
		close(f->from);
		waitpid(f->pid, NULL, 0);
	}
	free(f->request);
	free(f->reply);
	free(f->in);
	*f = (struct floor){ 0 };
}

static char *repeated(const char *head, size_t depth, size_t size, size_t *ret_len)
{
	size_t len = 0;
	char *one = sweep_text(head, size, "\"}}\n", &len), *all = one ? malloc(len * depth) : NULL;

	for (size_t i = 0; all && i < depth; i++)
		memcpy(all + i * len, one, len);
	free(one);
	*ret_len = len * depth;
	return all;
}

static _Noreturn void serve(const struct floor *f, int in, int out)
{
	while (bench_read_all(in, f->in, f->request_len) == 0)
		if (write_all(out, f->reply, f->reply_len) < 0)
			break;
	_exit(0);
}

static int prepare_floor(void *arg, size_t depth, size_t size)
{
	struct floor *f = arg;
	int down[2], up[2];

	stop(f);
	f->request = repeated("{\"jsonrpc\":\"2.0\",\"id\":12345,\"method\":\"echo\",\"params\":{\"text\":\"",
			      depth, size, &f->request_len);
	f->reply = repeated("{\"jsonrpc\":\"2.0\",\"id\":12345,\"result\":{\"text\":\"", depth, size,
			    &f->reply_len);
	f->in = malloc(f->request_len);
	if (!f->request || !f->reply || !f->in || pipe2(down, O_CLOEXEC) < 0 || pipe2(up, O_CLOEXEC) < 0)
		return -1;
	if ((f->pid = fork()) == 0) {
		close(down[1]);
		serve(f, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	f->to = down[1];
	f->from = up[0];
	return f->pid < 0 ? -1 : 0;
}

static int run_floor(void *arg, size_t count, size_t depth)
{
	const struct floor *f = arg;

	for (size_t i = 0; i < count; i += depth)
		if (write_all(f->to, f->request, f->request_len) < 0 ||
		    bench_read_all(f->from, f->in, f->reply_len) < 0)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct floor f = { 0 };
	struct sweep s = { prepare_floor, run_floor, &f };
	int r = argc > 1 ? sweep_points(&s, argv + 1) : -1;

	stop(&f);
	return r < 0;
}
