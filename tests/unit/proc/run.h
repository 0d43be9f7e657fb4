/* SPDX-License-Identifier: Apache-2.0 */
/* A process under test and what was heard of it. */
#ifndef TESTS_UNIT_PROC_RUN_H
#define TESTS_UNIT_PROC_RUN_H

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leak.h"
#include "proc/proc.h"

/* Which back end is tried: the guarded one, unless MORTISE_TEST_BACKEND=direct. */
static inline bool run_direct(void)
{
	const char *wanted = getenv("MORTISE_TEST_BACKEND");

	return wanted && strcmp(wanted, "direct") == 0;
}

struct run {
	struct mor_loop *loop;
	struct mor_proc *proc;
	char journal[64]; /* s started, f not started, e stderr line, x exited */
	int lines;
	size_t longest;
	char last[MOR_STDERR_LINE + 1];
	struct mor_proc_exit exit;
	struct mor_exec_failure failure;
	char free_at; /* the event, as in the journal, in which the process is freed */
};

static inline void run_note(struct run *run, char what)
{
	size_t len = strlen(run->journal);

	if (what != 'e' || len < sizeof(run->journal) / 2) /* a flood must leave room for the end */
		run->journal[len] = what;
	if (run->free_at == what)
		run->proc = mor_proc_free(run->proc);
}

static inline void run_on_started(void *arg, int pid)
{
	assert_true(pid > 1);
	run_note(arg, 's');
}

static inline void run_on_exec_failed(void *arg, const struct mor_exec_failure *failure)
{
	struct run *run = arg;

	run->failure = *failure;
	run_note(run, 'f');
}

static inline void run_on_stderr(void *arg, struct mor_slice line)
{
	struct run *run = arg;

	assert_true(line.len <= MOR_STDERR_LINE);
	run->lines++;
	if (line.len > run->longest)
		run->longest = line.len;
	memcpy(run->last, line.ptr, line.len);
	run->last[line.len] = '\0';
	run_note(run, 'e');
}

static inline void run_on_exited(void *arg, const struct mor_proc_exit *how)
{
	struct run *run = arg;

	run->exit = *how;
	run_note(run, 'x');
}

static const struct mor_proc_events run_events = {
	.on_started = run_on_started,
	.on_exec_failed = run_on_exec_failed,
	.on_stderr = run_on_stderr,
	.on_exited = run_on_exited,
};

static inline int run_try(struct run *run, const struct mor_command *command, struct mor_exec_failure *failure)
{
	struct mor_command here = *command;

	here.direct = run_direct();
	return mor_proc_start(run->loop, &here, &run_events, run, &run->proc, failure);
}

static inline void run_start(struct run *run, const struct mor_command *command)
{
	struct mor_exec_failure failure = { 0 };

	if (!run->loop)
		assert_int_equal(mor_loop_new(0, &run->loop), 0);
	if (run_try(run, command, &failure) < 0)
		fail_msg("%s", failure.text);
}

#define RUN_SH(run, script) \
	run_start((run), \
		  &(struct mor_command){ .argv = (const char *const[]){ "/bin/sh", "-c", (script), NULL } })

static inline bool run_heard(const struct run *run, char what)
{
	return strchr(run->journal, what) != NULL;
}

static inline void run_until(struct run *run, char what)
{
	while (!run_heard(run, what)) {
		assert_true(mor_loop_wait(run->loop, 60000) >= 0);
		if (what != 'f' && run_heard(run, 'f'))
			fail_msg("not started: %s", run->failure.text);
	}
}

/* stdout until EOF, waiting for it. Returns the length. */
static inline size_t run_read_all(const struct run *run, char *out, size_t room)
{
	struct pollfd pfd = { .fd = mor_proc_out(run->proc), .events = POLLIN };
	size_t len = 0;
	ssize_t n;

	for (;;) {
		assert_int_equal(poll(&pfd, 1, 60000), 1);
		n = read(pfd.fd, out + len, room - 1 - len);
		assert_true(n >= 0);
		len += (size_t)n;
		out[len] = '\0';
		if (n == 0)
			return len;
	}
}

static inline void run_end(struct run *run)
{
	mor_proc_free(run->proc);
	mor_loop_free(run->loop);
}

/* This program again, as a plugin that does what it is told: main() passes it on. */
static inline void run_start_puppet(struct run *run, const char *what)
{
	static char self[PATH_MAX];
	const char *argv[] = { self, "--puppet", what, NULL };
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = '\0';
	run_start(run, &(struct mor_command){ .argv = argv });
}

#endif
