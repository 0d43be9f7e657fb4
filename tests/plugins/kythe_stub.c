/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An analyzer for tests of what a virtual clock cannot show: kythe_stub MODE LOG. It notes what happens to it
 * in LOG, one line each, "WORD NANOSECONDS" on the monotonic clock; the first line is "pid NUMBER".
 *
 *	units     one analysis, then exit 0
 *	stubborn  outlives the end of its stdin, and ends at SIGTERM, once it has noted both
 *	slow      the same, and does not read its stdin for a while although something is waiting there
 *	deaf      ends at SIGTERM, too, and never reads its stdin
 *	flood     a corrupt frame, then 8 MiB that must be taken off its hands; exits when its stdin ends
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FLOOD = 8 << 20, SLOW_MS = 400 };

static int log_fd;
static volatile sig_atomic_t told, heard_all; /* it goes when both are true, whichever is the later */

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void note(const char *word, long long number)
{
	char line[80];
	int len = snprintf(line, sizeof(line), "%s %lld\n", word, number);

	if (write(log_fd, line, (size_t)len) != len)
		_exit(9);
}

static void on_term(int number)
{
	(void)number;
	note("term", now_ns());
	told = 1;
	if (heard_all)
		_exit(0);
}

static void send_frame(const char *body)
{
	printf("%zu\n%s", strlen(body), body);
	fflush(stdout);
}

/* One frame; its content does not matter. 0 at the end of stdin. */
static int receive_frame(void)
{
	int size, c;

	if (scanf("%d", &size) != 1 || getchar() != '\n')
		return 0;
	while (size-- > 0 && (c = getchar()) != EOF)
		;
	return 1;
}

static void read_to_the_end(void)
{
	char block[65536];
	ssize_t n;

	do
		n = read(0, block, sizeof(block));
	while (n > 0);
	note("eof", now_ns());
}

static void one_unit(void)
{
	send_frame("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"analyze\",\"params\":{\"types\":[\"/\"]}}");
	if (!receive_frame())
		exit(0);
	send_frame("{\"jsonrpc\":\"2.0\",\"method\":\"done\"}");
}

static void flood(void)
{
	static char junk[FLOOD];

	memset(junk, '7', sizeof(junk));
	fputs("this is no frame", stdout);
	fwrite(junk, 1, sizeof(junk), stdout);
	fflush(stdout);
	note("written", now_ns());
	read_to_the_end();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	log_fd = argc > 2 ? open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	if (log_fd < 0)
		return 2;
	note("pid", getpid());
	signal(SIGTERM, on_term);
	send_frame("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"init\",\"params\":{\"protocol\":\"kythe1\"}}");
	if (!receive_frame())
		return 0;
	if (strcmp(mode, "units") == 0) {
		one_unit();
		return 0;
	}
	if (strcmp(mode, "flood") == 0) {
		flood();
		return 0;
	}
	if (strcmp(mode, "slow") == 0 || strcmp(mode, "deaf") == 0) {
		send_frame("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"vname\",\"params\":{}}");
		usleep(SLOW_MS * 1000);
		note("reading", now_ns());
	}
	if (strcmp(mode, "deaf") != 0)
		read_to_the_end();
	heard_all = 1;
	while (!told)
		pause();
	return 0;
}
