/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct back end: posix_spawn and a separate process group. For tests and the bench; plugins are
 * guarded.
 *
 * posix_spawn reports a failed exec at once, so a process that exists here has run its program. Its end is
 * seen on the pidfd, never guessed from EOF. Then the group is killed, the child reaped, the rest of stderr
 * reported, and only then the owner is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/trace.h"
#include "proc/inside.h"

/* ---- spawn ---- */

/* A separate group or, if asked, a session; an empty mask, default dispositions. 0 or an errno. */
static int set_attributes(posix_spawnattr_t *attr, bool session)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	/* Not sigfillset(): it leaves out glibc's own signals 32 and 33, and the child would get them
	 * ignored. */
	memset(&all, 0xff, sizeof(all));
	r = posix_spawnattr_setsigmask(attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attr, &all);
	if (r == 0)
		r = posix_spawnattr_setpgroup(attr, 0);
	/* A separate group, but not a session if possible: a session is also a separate scheduling group
	 * (autogroup), and switching between two of those costs every round trip 8 %
	 * (docs/design/0002-core.md). */
	if (r == 0)
		r = posix_spawnattr_setflags(attr, (session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP) |
							   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	return r;
}

static int fill_actions(posix_spawn_file_actions_t *actions, const struct mor_spawn *what)
{
	int r = what->cwd ? posix_spawn_file_actions_addchdir_np(actions, what->cwd) : 0;

	for (int i = 0; i < what->count && r == 0; i++)
		if (what->fds[i] != i || fcntl(i, F_GETFD) >= 0) /* one that the embedder has closed stays so */
			r = posix_spawn_file_actions_adddup2(actions, what->fds[i], i);
	/* Our descriptors are close-on-exec. This is for those of the embedder that are not. */
	return r ? r : posix_spawn_file_actions_addclosefrom_np(actions, what->count);
}

int mor_spawn(const struct mor_spawn *what, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r;

	if ((r = posix_spawn_file_actions_init(&actions)) != 0)
		return r;
	if ((r = posix_spawnattr_init(&attr)) == 0) {
		if ((r = fill_actions(&actions, what)) == 0 && (r = set_attributes(&attr, what->session)) == 0)
			r = posix_spawn(ret_pid, what->path, &actions, &attr, what->argv, what->env);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

static void on_started_task(struct mor_task *task)
{
	mor_proc_tell_started(mor_container_of(task, struct mor_proc, started));
}

static void on_child_end(struct mor_child *child, const struct mor_child_exit *how)
{
	mor_proc_tell_exited(mor_container_of(child, struct mor_proc, child), how);
}

static void direct_how_ended(const struct mor_proc *proc, struct mor_proc_exit *ret)
{
	ret->how = proc->exit;
}

static int direct_start(struct mor_proc *proc, const struct mor_command *command, char **argv,
			const int theirs[3], struct mor_exec_failure *failure)
{
	const struct mor_spawn what = {
		.path = argv[0],
		.argv = argv,
		.env = command->env ? (char *const *)command->env : environ,
		.cwd = command->cwd,
		.fds = theirs,
		.count = 3,
	};
	pid_t pid = -1;
	int r = mor_proc_hear_stderr(proc);

	if (r < 0)
		return mor_exec_fail(failure, MOR_STEP_PIPES, errno, r, argv[0], "cannot watch its stderr: %s",
				     strerrordesc_np(errno));
	r = mor_spawn(&what, &pid);
	if (mor_errno_is_lack(r))
		return mor_exec_fail(failure, MOR_STEP_SPAWN, r, MORTISE_ESYSTEM, argv[0],
				     "cannot start a process: %s", strerrordesc_np(r));
	if (r)
		return mor_exec_diagnose(command, argv[0], r, failure);
	proc->child.leads_group = true;
	if (mor_child_watch(proc->loop, &proc->child, pid, on_child_end) < 0) {
		int saved = errno;

		mor_proc_kill_unwatched(pid, true);
		return mor_exec_fail(failure, MOR_STEP_SPAWN, saved, MORTISE_ESYSTEM, argv[0],
				     "cannot watch the process: %s", strerrordesc_np(saved));
	}
	proc->pid = pid;
	mor_trace(MOR_TRACE_PROC, "pid %d is %s", pid, argv[0]);
	mor_loop_post(proc->loop, &proc->started, on_started_task);
	return 0;
}

static void direct_order(struct mor_proc *proc, enum mor_order order)
{
	/* Failures do not matter: a process that cannot be signalled has ended, and the pidfd reports that. */
	mor_child_signal_group(&proc->child, order == MOR_ORDER_KILL ? SIGKILL : SIGTERM);
	if (order == MOR_ORDER_TERM)
		mor_child_signal_group(&proc->child, SIGCONT);
}

static void direct_end(struct mor_proc *proc)
{
	mor_child_signal_group(&proc->child, SIGKILL);
	/* We may be unable to signal a set-user-ID program: then waiting for it could last for ever. */
	if (mor_child_signal(&proc->child, SIGKILL) == 0)
		mor_child_reap(&proc->child, NULL);
}

const struct mor_proc_ops mor_proc_direct = {
	.start = direct_start, .order = direct_order, .end = direct_end, .how_ended = direct_how_ended
};
