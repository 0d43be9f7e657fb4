/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin behind the relay. It is not started by the library: the program that started us already has a
 * guardian, and what that guardian does to us must also reach the plugin.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "manifest/manifest.h"
#include "program/resolve.h"
#include "relay/inside.h"
#include "relay/relay.h"
#include "wire/framing.h"

/* Signals that are sent to us but meant for the plugin. */
static const int passed_on[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT };

/* All signals that we read from a descriptor. They are blocked before it exists, so that none is lost. */
void mor_relay_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(set, passed_on[i]);
}

/* ---- start ---- */

struct start {
	const struct mor_manifest *manifest;
	char **argv;
	int in[2], out[2], err[2];
	int failed[2]; /* a failure: errno of exec; else the end of the pipe */
	pid_t parent;
};

/* DIR of env_front is put before the present value. */
static void put_in_front(const char *entry)
{
	size_t len = strcspn(entry, "=");
	char name[128], *old, *joined;

	if (len >= sizeof(name) || !entry[len])
		return;
	memcpy(name, entry, len);
	name[len] = '\0';
	old = getenv(name);
	if (!old || asprintf(&joined, "%s:%s", entry + len + 1, old) < 0)
		setenv(name, entry + len + 1, 1);
	else
		setenv(name, joined, 1);
}

/* Runs in the child, which has only one thread. */
static void become_plugin(const struct start *start)
{
	const struct mor_manifest *m = start->manifest;
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* We hold the only copy of this descriptor. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != start->parent)
		return;
	for (char **e = m->env_front; e && *e; e++)
		put_in_front(*e);
	for (char **e = m->env; e && *e; e++)
		putenv(*e);
	if (dup2(start->in[0], STDIN_FILENO) < 0 || dup2(start->out[1], STDOUT_FILENO) < 0 ||
	    (start->err[1] >= 0 && dup2(start->err[1], STDERR_FILENO) < 0) || (m->cwd && chdir(m->cwd) < 0))
		return;
	execv(start->argv[0], start->argv);
}

static void run_child(const struct start *start)
{
	int error;

	become_plugin(start);
	error = errno;
	(void)!write(start->failed[1], &error, sizeof(error));
	_exit(127);
}

/* Returns the errno of an exec that failed; 0: the program runs. */
static int await_exec(int fd)
{
	int error = 0;
	ssize_t n;

	do
		n = read(fd, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? error : 0;
}

static int spawn_plugin(struct start *start, struct mor_relay_plugin *ret, mortise_error *err)
{
	struct mor_command command = { .argv = (const char *const *)start->argv, .cwd = start->manifest->cwd };
	struct mor_exec_failure failure = { 0 };
	int error;

	start->parent = getpid();
	ret->pid = fork();
	if (ret->pid == 0)
		run_child(start);
	if (ret->pid < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s: cannot start a process",
				      start->argv[0]);
	mor_fd_close(&start->failed[1]);
	error = await_exec(start->failed[0]);
	if (!error)
		return 0;
	waitpid(ret->pid, NULL, 0);
	error = mor_exec_diagnose(&command, start->argv[0], error, &failure);
	return mor_fail(err, error, "%s", failure.text);
}

/* Our ends are non-blocking; the plugin's are not. */
static int make_pipes(struct start *start, bool take_stderr, mortise_error *err)
{
	if (pipe2(start->in, O_CLOEXEC) == 0 && pipe2(start->out, O_CLOEXEC) == 0 &&
	    pipe2(start->failed, O_CLOEXEC) == 0 && mor_fd_nonblock(start->in[1]) == 0 &&
	    mor_fd_nonblock(start->out[0]) == 0 &&
	    (!take_stderr || (pipe2(start->err, O_CLOEXEC) == 0 && mor_fd_nonblock(start->err[0]) == 0)))
		return 0;
	return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "pipes for the plugin");
}

static void start_fini(struct start *start)
{
	mor_program_argv_free(start->argv);
	for (int i = 0; i < 2; i++) {
		mor_fd_close(&start->in[i]);
		mor_fd_close(&start->out[i]);
		mor_fd_close(&start->err[i]);
		mor_fd_close(&start->failed[i]);
	}
}

static int start_plugin(const struct mor_manifest *manifest, bool take_stderr, struct mor_relay_plugin *ret,
			mortise_error *err)
{
	struct mor_command command = { .argv = (const char *const *)manifest->argv, .cwd = manifest->cwd };
	struct mor_exec_failure failure = { 0 };
	__attribute__((cleanup(start_fini))) struct start start = { .manifest = manifest,
								    .in = { -1, -1 },
								    .out = { -1, -1 },
								    .err = { -1, -1 },
								    .failed = { -1, -1 } };
	int r = mor_program_resolve(&command, &start.argv, &failure);

	if (r < 0)
		return mor_fail(err, r, "%s", failure.text);
	if ((r = mor_manifest_prepare(manifest, err)) < 0 || (r = make_pipes(&start, take_stderr, err)) < 0 ||
	    (r = spawn_plugin(&start, ret, err)) < 0)
		return r;
	ret->in = start.in[1];
	ret->out = start.out[0];
	ret->err = start.err[0];
	start.in[1] = start.out[0] = start.err[0] = -1;
	ret->framing = mor_framing_by_name(manifest->framing);
	if (manifest->file || mor_manifest_text(manifest, "plugin", "dialect"))
		snprintf(ret->dialect, sizeof(ret->dialect), "%s", manifest->dialect);
	return 0;
}

int mor_relay_start(const char *path, const char *const *argv, bool take_stderr, struct mor_relay_plugin *ret,
		    mortise_error *err)
{
	struct mor_manifest_query query = { .path = path, .argv = argv };
	struct mor_manifest *manifest = NULL;
	sigset_t set;
	int r = mor_manifest_load(&query, &manifest, err);

	if (r == 0)
		r = mor_manifest_need_stdio(manifest, "a process between host and plugin", err);
	mor_relay_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGCHLD, SIG_DFL); /* if SIGCHLD is ignored, we get no exit status */
	if (r == 0)
		r = start_plugin(manifest, take_stderr, ret, err);
	mor_manifest_free(manifest);
	return r;
}
