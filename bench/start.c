/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start ROUNDS PLUGIN [SUBJECT|all]: what a start costs, from the call to the plugin's first byte, in one run
 * on one core: a bare posix_spawn with two pipes, our back ends and levels, and bwrap and (with "all") firejail
 * where they are installed; and what a guardian holds of memory that is its own. Medians in microseconds, their
 * ratio to the first, and quartiles, tab-separated.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "policy/policy.h"
#include "proc/proc.h"

enum { MAX_ROUNDS = 100000 };

static void die(const char *what)
{
	fprintf(stderr, "start: %s\n", what);
	exit(1);
}

static bool wait_first_byte(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&pfd, 1, 10000) == 1 && read(fd, &byte, 1) == 1;
}

static void first_byte(int fd)
{
	if (!wait_first_byte(fd))
		die("the plugin says nothing");
}

/* posix_spawn and two pipes, nothing else: the plugin by itself, or what another jail makes of it. */
static int64_t bare(const char *const *argv)
{
	posix_spawn_file_actions_t actions;
	int in[2], out[2];
	int64_t from = mor_clock_ns(), took;
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		die("pipes");
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) != 0)
		die("posix_spawn");
	close(in[0]);
	close(out[1]);
	first_byte(out[0]);
	took = mor_clock_ns() - from;
	posix_spawn_file_actions_destroy(&actions);
	close(in[1]);
	close(out[0]);
	waitpid(pid, NULL, 0);
	return took;
}

/* Private memory of the guardian, the plugin's parent, in KiB. */
static long guardian_kib(int pid)
{
	char path[64], line[256];
	long parent = 0, sum = 0, kib;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "PPid: %ld", &parent);
	if (file)
		fclose(file);
	snprintf(path, sizeof(path), "/proc/%ld/smaps_rollup", parent);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		/* Not the pages of its file, which all guardians share. */
		if (sscanf(line, "Anonymous: %ld", &kib) == 1)
			sum += kib;
	}
	if (file)
		fclose(file);
	return sum;
}

struct heard {
	bool ended, failed;
};

static void on_exec_failed(void *arg, const struct mor_exec_failure *failure)
{
	(void)failure;
	((struct heard *)arg)->failed = true;
}

static void on_exited(void *arg, const struct mor_proc_exit *how)
{
	(void)how;
	((struct heard *)arg)->ended = true;
}

/* -1: refused here (a level that the kernel does not have). */
static int64_t ours(struct mor_loop *loop, const struct mor_command *command, long *ret_kib)
{
	const struct mor_proc_events events = { .on_exec_failed = on_exec_failed, .on_exited = on_exited };
	struct mor_exec_failure failure = { 0 };
	struct heard heard = { 0 };
	struct mor_proc *proc;
	int64_t from = mor_clock_ns(), took;

	if (mor_proc_start(loop, command, &events, &heard, &proc, &failure) < 0)
		die(failure.text);
	took = wait_first_byte(mor_proc_out(proc)) ? mor_clock_ns() - from : -1;
	while (!mor_proc_pid(proc) && !heard.failed)
		mor_loop_wait(loop, 1000);
	if (ret_kib && !heard.failed) {
		usleep(20000); /* it has gone to sleep by then */
		*ret_kib = guardian_kib(mor_proc_pid(proc));
	}
	mor_proc_close_in(proc);
	while (!heard.ended && !heard.failed)
		mor_loop_wait(loop, 10000);
	mor_proc_free(proc);
	return took;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static double median_us(int64_t *took, int rounds)
{
	qsort(took, (size_t)rounds, sizeof(*took), by_size);
	return (double)took[rounds / 2] / 1000;
}

/* ---- who takes part ---- */

static const struct mor_policy pidns = { .pidns = true }, t0 = { .level = MOR_LEVEL_T0 },
			       t1 = { .level = MOR_LEVEL_T1 };
static const struct subject {
	const char *name;
	const struct mor_policy *policy;
	bool ours, direct;
} subjects[] = {
	{ "bare", NULL, false, false },   { "direct", NULL, true, true },
	{ "guarded", NULL, true, false }, { "guarded+pidns", &pidns, true, false },
	{ "t0", &t0, true, false },       { "t1", &t1, true, false },
	{ "bwrap", NULL, false, false },  { "firejail", NULL, false, false },
};
enum { SUBJECTS = sizeof(subjects) / sizeof(subjects[0]), GUARDED = 2 };
static int64_t took[SUBJECTS][MAX_ROUNDS];

/* Other people's sandboxes, as they start a program that may read everything and reach nothing else. */
static const char *const wrappers[][8] = {
	{ "bwrap", "--unshare-all", "--ro-bind", "/", "/", NULL },
	{ "firejail", "--quiet", "--noprofile", "--net=none", "--read-only=/", NULL },
};
enum { WRAPPERS = sizeof(wrappers) / sizeof(wrappers[0]), WORDS = 10 };

/* The command line of the sandbox `name` for `program`; -1: there is no such sandbox. */
static int wrap(const char *name, const char *program, const char **words)
{
	for (int i = 0; i < WRAPPERS; i++) {
		int n = 0;

		if (strcmp(wrappers[i][0], name) != 0)
			continue;
		for (; wrappers[i][n]; n++)
			words[n] = wrappers[i][n];
		words[n] = program;
		words[n + 1] = NULL;
		return i;
	}
	return -1;
}

/* It may not be installed, or have no namespaces here. */
static bool try_wrapper(const char *const *words)
{
	posix_spawn_file_actions_t quiet;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&quiet);
	posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, words[0], &quiet, NULL, (char *const *)(uintptr_t)words, environ) == 0)
		waitpid(pid, &status, 0);
	posix_spawn_file_actions_destroy(&quiet);
	return status == 0;
}

static bool have_wrapper(int which)
{
	static enum { UNKNOWN, WORKS, FAILS } known[WRAPPERS];
	const char *words[WORDS];

	if (known[which] == UNKNOWN) {
		wrap(wrappers[which][0], "/bin/true", words);
		known[which] = try_wrapper(words) ? WORKS : FAILS;
	}
	return known[which] == WORKS;
}

static int64_t once(const struct subject *who, struct mor_loop *loop, const char *plugin, long *ret_kib)
{
	const char *alone[] = { plugin, NULL }, *wrapped[WORDS];
	int which = wrap(who->name, plugin, wrapped);
	struct mor_command command = {
		.argv = alone, .helper = MORTISE_JAIL, .policy = who->policy, .direct = who->direct
	};

	if (who->ours)
		return ours(loop, &command, ret_kib);
	if (which < 0)
		return bare(alone);
	return have_wrapper(which) ? bare(wrapped) : -1;
}

int main(int argc, char **argv)
{
	int rounds = argc == 3 || argc == 4 ? (int)strtol(argv[1], NULL, 10) : 0;
	const char *only = argc == 4 && strcmp(argv[3], "all") != 0 ? argv[3] : NULL;
	int count = SUBJECTS - (argc == 3); /* firejail is the last, and slow */
	struct mor_loop *loop;
	double base, median;
	cpu_set_t one;
	long kib = 0;

	if (rounds < 1 || rounds > MAX_ROUNDS || mor_loop_new(0, &loop) < 0)
		die("usage: start ROUNDS PLUGIN [SUBJECT|all]");
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int i = 0; i < rounds; i++) {
		/* Unmeasured: whoever comes behind bwrap meets cold caches and namespaces that are removed. */
		if (!only)
			(void)once(&subjects[0], loop, argv[2], NULL);
		for (int who = 0; who < count; who++)
			took[who][i] = only && strcmp(only, subjects[who].name) != 0 ?
					       -1 :
					       once(&subjects[who], loop, argv[2],
						    who == GUARDED && i == rounds / 2 ? &kib : NULL);
	}
	base = median_us(took[0], rounds);
	for (int who = 0; who < count; who++) {
		median = median_us(took[who], rounds);
		if (median > 0)
			printf("%s\t%.1f\t%.2f\t%.1f\t%.1f\n", subjects[who].name, median,
			       only ? 1.0 : median / base, (double)took[who][rounds / 4] / 1000,
			       (double)took[who][rounds * 3 / 4] / 1000);
	}
	printf("guardian\t%ld KiB\n", kib);
	mor_loop_free(loop);
	return 0;
}
