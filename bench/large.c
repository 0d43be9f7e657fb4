/* SPDX-License-Identifier: Apache-2.0 */
/*
 * large [async-]result|[async-]params FRAMING MIB ROUNDS [MOST]: one call with a large result, or large
 * params, beside `cat`.
 *
 * Memory: the most that this process held during a call (VmHWM, set back before it) beyond what it held before,
 * as a part of the payload. Speed: the time of the same number of bytes through a pipe from or to `cat`,
 * divided by ours, in turns; the median. One line of JSON; 1 if more memory
 * than MOST times the payload was needed. `large plugin FRAMING` is the plugin: it knows how
 * the library writes a request (id before method, params last).
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mortise/mortise.h>

#include "bench.h"

#define BLOCK      ((size_t)128 * 1024) /* as cat reads and writes */
#define MOST       64                   /* rounds */
#define PARAMS_END "\"]"

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "large: %s: %s\n", what, why);
	exit(1);
}

static void put(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len < BLOCK ? len : BLOCK);

		if (n <= 0)
			_exit(3);
		bytes += n;
		len -= (size_t)n;
	}
}

/* ---- the plugin ---- */

static char block[BLOCK];

static size_t put_head(char *to, const char *framing, size_t len)
{
	if (strcmp(framing, "decimal") == 0)
		return (size_t)sprintf(to, "%zu\n", len);
	if (strcmp(framing, "headers") == 0)
		return (size_t)sprintf(to, "Content-Length: %zu\r\n\r\n", len);
	if (strcmp(framing, "be32") == 0) {
		for (int i = 0; i < 4; i++)
			to[i] = (char)(len >> (24 - 8 * i));
		return 4;
	}
	return 0;
}

static void answer(const char *framing, long id, size_t size)
{
	char head[160], body[96];
	size_t len = (size_t)sprintf(body, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":\"", id),
	       total = len + size + 2;
	size_t used = put_head(head, framing, total);

	memcpy(head + used, body, len);
	put(1, head, used + len);
	memset(block, 'x', sizeof(block));
	for (size_t left = size; left; left -= left < BLOCK ? left : BLOCK)
		put(1, block, left < BLOCK ? left : BLOCK);
	put(1, "\"}\n", strcmp(framing, "lines") == 0 ? 3 : 2);
}

/* A request ends with PARAMS_END and a brace, which the payload does not have. They may come in
 * several reads. */
static int is_whole(const char *framing, char last[4], const char *bytes, size_t len)
{
	size_t new = len < 4 ? len : 4;

	memmove(last, last + new, 4 - new);
	memcpy(last + 4 - new, bytes + len - new, new);
	return memcmp(last + (strcmp(framing, "lines") != 0), PARAMS_END "}", 3) == 0;
}

static int serve(const char *framing)
{
	size_t have = 0;
	char last[4] = "";
	ssize_t n;
	long id = 0, size = 0;

	while ((n = read(0, block, BLOCK - 1)) > 0) {
		if (!have) {
			char *at;

			block[n] = '\0';
			for (ssize_t i = 0; i < 4 && i < n; i++)
				block[i] = block[i] ? block[i] : ' ';
			at = strstr(block, "\"id\":");
			id = at ? strtol(at + 5, NULL, 10) : 0;
			at = strstr(block, "[\"size");
			size = at ? strtol(at + 6, NULL, 10) : 0;
		}
		have += (size_t)n;
		if (!is_whole(framing, last, block, (size_t)n))
			continue;
		answer(framing, id, (size_t)size);
		have = 0;
	}
	return 0;
}

/* ---- memory ---- */

static long status_kb(const char *key)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[160];
	long kb = -1;

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0)
			kb = strtol(line + strlen(key), NULL, 10);
	if (file)
		fclose(file);
	return kb;
}

static void reset_peak(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "we");

	if (!file || fputs("5", file) < 0 || fclose(file) != 0)
		fail("/proc/self/clear_refs", "cannot be written");
}

/* ---- the floor: cat ---- */

static pid_t start_cat(int in, int out)
{
	pid_t pid = fork();

	if (pid == 0) {
		dup2(in, 0);
		dup2(out, 1);
		close_range(3, ~0U, 0);
		execlp("cat", "cat", (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* From its first block to its end, while cat reads a file in memory. */
static int64_t read_cat(int file)
{
	int pipe_fds[2];
	int64_t begin;
	ssize_t n;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0 || lseek(file, 0, SEEK_SET) < 0)
		fail("pipe", "failed");
	pid = start_cat(file, pipe_fds[1]);
	close(pipe_fds[1]);
	n = read(pipe_fds[0], block, 1);
	begin = bench_now();
	while (n > 0)
		n = read(pipe_fds[0], block, BLOCK);
	begin = bench_now() - begin;
	close(pipe_fds[0]);
	waitpid(pid, NULL, 0);
	return begin;
}

/* From its first block, when cat has started, until it has read everything. */
static int64_t write_cat(const char *bytes, size_t len)
{
	int pipe_fds[2], left = 1, null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int64_t begin;
	pid_t pid;

	if (null < 0 || pipe2(pipe_fds, O_CLOEXEC) < 0)
		fail("pipe", "failed");
	pid = start_cat(pipe_fds[0], null);
	put(pipe_fds[1], bytes, 1);
	while (left && ioctl(pipe_fds[1], FIONREAD, &left) == 0)
		sched_yield();
	begin = bench_now();
	put(pipe_fds[1], bytes, len);
	close(pipe_fds[1]);
	waitpid(pid, NULL, 0);
	begin = bench_now() - begin;
	close(pipe_fds[0]);
	close(null);
	return begin;
}

/* ---- the host ---- */

struct bench {
	mortise_host *host;
	mortise_plugin *plugin;
	const char *mode;
	mortise_json params;
	size_t size; /* of the result */
	int done;
};

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct bench *b = arg;

	b->done = reply->status == MORTISE_OK && reply->result.len == b->size + 2 ? 1 : -1;
}

static void call(struct bench *b)
{
	mortise_call_options opt = { .size = sizeof(opt), .timeout_ms = 60000 };
	mortise_error err = { .text = "not what was sent" };
	char *result = NULL;

	if (strncmp(b->mode, "async-", 6) != 0) {
		if (mortise_call_sync(b->plugin, "big", b->params, &opt, &result, &err) < 0 ||
		    result[b->size + 1] != '"' || result[b->size + 2])
			fail("call", err.text);
		mortise_free(result);
		return;
	}
	opt.on_reply = on_reply;
	opt.arg = b;
	b->done = 0;
	if (mortise_call_start(b->plugin, "big", b->params, &opt, NULL, &err) < 0)
		fail("call", err.text);
	while (!b->done)
		mortise_host_wait(b->host, -1);
	if (b->done < 0)
		fail("reply", err.text);
}

/* In turns with cat; the first call starts the plugin, so its time does not count. */
static double measure(struct bench *b, size_t payload, const char *bytes, int file, int rounds)
{
	double ratios[MOST];
	int64_t ns[MOST];
	long most = 0;

	for (int i = -1; i < rounds; i++) {
		long before, peak;
		int64_t begin, cat;

		reset_peak();
		before = status_kb("VmRSS:");
		begin = bench_now();
		call(b);
		begin = bench_now() - begin;
		peak = status_kb("VmHWM:") - before;
		most = peak > most ? peak : most;
		cat = file >= 0 ? read_cat(file) : write_cat(bytes, payload);
		if (i < 0)
			continue;
		ratios[i] = (double)cat / (double)begin;
		ns[i] = begin;
	}
	for (int i = 1; i < rounds; i++) /* insertion: a few numbers */
		for (int j = i; j > 0 && ratios[j] < ratios[j - 1]; j--) {
			double swap = ratios[j];

			ratios[j] = ratios[j - 1];
			ratios[j - 1] = swap;
		}
	qsort(ns, (size_t)rounds, sizeof(*ns), bench_compare);
	printf("{\"peak\": %.4f, \"of_cat\": %.4f, \"mb_per_s\": %.0f}\n",
	       (double)most * 1024 / (double)payload, ratios[rounds / 2],
	       (double)payload * 1e3 / (double)ns[rounds / 2]);
	return (double)most * 1024 / (double)payload;
}

static int file_of(const char *bytes, size_t len)
{
	int fd = memfd_create("large", MFD_CLOEXEC);

	if (fd < 0)
		fail("memfd_create", "failed");
	put(fd, bytes, len);
	return fd;
}

static char *fill(const char *head, size_t len, const char *tail)
{
	char *text = malloc(len + strlen(head) + strlen(tail) + 1);

	if (!text)
		fail("memory", "none");
	memset(stpcpy(text, head), 'x', len);
	strcpy(text + strlen(head) + len, tail);
	return text;
}

int main(int argc, char **argv)
{
	const char *command[4] = { "/proc/self/exe", "plugin", argc > 2 ? argv[2] : NULL, NULL };
	const char *set[] = { NULL, "limits.frame=1GB", NULL };
	mortise_plugin_options opt = { .size = sizeof(opt), .argv = command, .dialect = "plain", .set = set };
	char framing[64], self[4096], *text;
	struct bench b = { 0 };
	mortise_error err;
	size_t payload;
	double peak;
	ssize_t n;
	int rounds, file = -1;

	if (argc == 3 && strcmp(argv[1], "plugin") == 0)
		return serve(argv[2]);
	if (argc != 5 && argc != 6)
		return 2;
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = '\0';
	command[0] = self;
	b.mode = argv[1];
	payload = strtoul(argv[3], NULL, 10) << 20;
	rounds = (int)strtol(argv[4], NULL, 10);
	rounds = rounds < 1 ? 1 : rounds > MOST ? MOST : rounds;
	snprintf(framing, sizeof(framing), "plugin.framing=%s", argv[2]);
	set[0] = framing;
	if (strstr(b.mode, "params")) {
		text = fill("[\"", payload, PARAMS_END);
	} else {
		char ask[64];

		snprintf(ask, sizeof(ask), "[\"size%zu\",\"", payload);
		text = fill("", payload, "");
		file = file_of(text, payload);
		free(text);
		text = fill(ask, 0, PARAMS_END);
		b.size = payload;
	}
	b.params = (mortise_json){ text, strlen(text) };
	if (mortise_host_new(NULL, &b.host, &err) < 0 || mortise_plugin_new(b.host, &opt, &b.plugin, &err) < 0)
		fail("plugin", err.text);
	peak = measure(&b, payload, text, file, rounds);
	mortise_plugin_unref(b.plugin);
	mortise_host_free(b.host);
	free(text);
	return argc == 6 && peak > strtod(argv[5], NULL);
}
