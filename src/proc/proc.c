/*
 * The direct back end: posix_spawn, three pipes, a process group of its own.
 *
 * posix_spawn tells an exec that failed at once, so a process that exists here has run its program. Its end is
 * seen on the pidfd, never guessed from EOF: then the group is killed, the child reaped, the rest of stderr
 * told, and only then the owner hears of it.
 */
#include "proc/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/trace.h"
#include "proc/inside.h"

struct mor_proc {
	struct mor_loop *loop;
	struct mor_proc_events events;
	void *arg;
	struct mor_child child;
	struct mor_stderr err;
	struct mor_task started; /* queued until STARTED has been told */
	struct mor_grave grave;
	int pid, in, out;
	bool freed;
};

/* ---- pipes ---- */

struct stdio {
	int ours[3], theirs[3];
};

static void close_all(int fds[3])
{
	for (int i = 0; i < 3; i++)
		mor_fd_close(&fds[i]);
}

/* An embedder that closed its stdio gets pipes on 0, 1 and 2; dup2() in the child would then overwrite one
 * end with another. */
static int lift(int *fd)
{
	int higher;

	if (*fd > 2)
		return 0;
	higher = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	if (higher < 0)
		return -errno;
	mor_fd_close(fd);
	*fd = higher;
	return 0;
}

static int open_pipe(struct stdio *io, int number)
{
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	io->ours[number] = ends[number == 0 ? 1 : 0];
	io->theirs[number] = ends[number == 0 ? 0 : 1];
	r = lift(&io->ours[number]);
	if (r == 0)
		r = lift(&io->theirs[number]);
	/* Only our end: the two ends of a pipe are two open files, and plugins expect blocking stdio. */
	return r == 0 ? mor_fd_nonblock(io->ours[number]) : r;
}

static int open_pipes(struct stdio *io)
{
	int r = 0;

	for (int i = 0; i < 3; i++)
		io->ours[i] = io->theirs[i] = -1;
	for (int i = 0; i < 3 && r == 0; i++)
		r = open_pipe(io, i);
	if (r < 0) {
		close_all(io->ours);
		close_all(io->theirs);
	}
	return r;
}

/* ---- spawn ---- */

static int fill_actions(posix_spawn_file_actions_t *actions, const char *cwd, const int theirs[3])
{
	int r = cwd ? posix_spawn_file_actions_addchdir_np(actions, cwd) : 0;

	for (int i = 0; i < 3 && r == 0; i++)
		r = posix_spawn_file_actions_adddup2(actions, theirs[i], i);
	/* Ours are close-on-exec; this is for the embedder's that are not. */
	return r ? r : posix_spawn_file_actions_addclosefrom_np(actions, 3);
}

static int fill_attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int r;

	sigemptyset(&none);
	/* Not sigfillset(): it leaves out glibc's own 32 and 33, which the child would then get ignored. */
	memset(&all, 0xff, sizeof(all));
	r = posix_spawnattr_setsigmask(attr, &none);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attr, &all);
	if (r == 0)
		r = posix_spawnattr_setpgroup(attr, 0);
	/* A group of its own, not a session: a session is also a scheduling group of its own (autogroup), and
	 * crossing between two of those costs every round trip 8 % (docs/design/0002-core.md). */
	if (r == 0)
		r = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
							   POSIX_SPAWN_SETSIGDEF);
	return r;
}

/* 0 or an errno, as posix_spawn(). */
static int spawn(const struct mor_command *command, char **argv, const int theirs[3], pid_t *ret_pid)
{
	char *const *env = command->env ? (char *const *)command->env : environ;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r;

	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return r;
	r = posix_spawnattr_init(&attr);
	if (r == 0) {
		r = fill_actions(&actions, command->cwd, theirs);
		if (r == 0)
			r = fill_attributes(&attr);
		if (r == 0)
			r = posix_spawn(ret_pid, argv[0], &actions, &attr, argv, env);
		posix_spawnattr_destroy(&attr);
	}
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

/* ---- events ---- */

/* Nothing may come before STARTED, and a child's stderr or exit can be seen first. */
static void tell_started(struct mor_proc *proc)
{
	if (!proc->started.queued)
		return;
	mor_task_stop(&proc->started);
	if (proc->events.on_started)
		proc->events.on_started(proc->arg, proc->pid);
}

static void on_started_task(struct mor_task *task)
{
	struct mor_proc *proc = mor_container_of(task, struct mor_proc, started);

	if (proc->events.on_started)
		proc->events.on_started(proc->arg, proc->pid);
}

static void on_stderr_line(struct mor_stderr *err, struct mor_slice line)
{
	struct mor_proc *proc = mor_container_of(err, struct mor_proc, err);

	tell_started(proc);
	if (!proc->freed && proc->events.on_stderr)
		proc->events.on_stderr(proc->arg, line);
}

static void on_child_end(struct mor_child *child, const struct mor_child_exit *how)
{
	struct mor_proc *proc = mor_container_of(child, struct mor_proc, child);
	struct mor_proc_exit ended = { .how = *how };

	tell_started(proc);
	if (!proc->freed)
		mor_stderr_finish(proc->loop, &proc->err);
	if (proc->freed)
		return;
	mor_exit_text(how, ended.text, sizeof(ended.text));
	mor_trace(MOR_TRACE_PROC, "pid %d %s", proc->pid, ended.text);
	if (proc->events.on_exited)
		proc->events.on_exited(proc->arg, &ended);
}

/* ---- start ---- */

static void free_proc(struct mor_grave *grave)
{
	struct mor_proc *proc = mor_container_of(grave, struct mor_proc, grave);

	mor_stderr_fini(&proc->err);
	mor_free(proc);
}

/* A child that we started and cannot watch (no descriptor is left, say). It is not reaped, so the number is
 * its own, unless SIGCHLD is ignored and it has ended: hence the look before the signal. */
static void kill_unwatched(pid_t pid)
{
	siginfo_t info;

	assert(pid > 1);
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return;
	kill(-pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int run(struct mor_proc *proc, const struct mor_command *command, char **argv, struct stdio *io,
	       struct mor_exec_failure *failure)
{
	pid_t pid = -1;
	int r = spawn(command, argv, io->theirs, &pid);

	if (r == EAGAIN || r == ENOMEM || r == EMFILE || r == ENFILE)
		return mor_exec_fail(failure, MOR_STEP_SPAWN, r, MORTISE_ESYSTEM, argv[0],
				     "cannot start a process: %s", strerrordesc_np(r));
	if (r)
		return mor_exec_diagnose(command, argv[0], r, failure);
	proc->child.leads_group = true;
	r = mor_child_watch(proc->loop, &proc->child, pid, on_child_end);
	if (r < 0) {
		int saved = errno;

		kill_unwatched(pid);
		return mor_exec_fail(failure, MOR_STEP_SPAWN, saved, MORTISE_ESYSTEM, argv[0],
				     "cannot watch the process: %s", strerrordesc_np(saved));
	}
	proc->pid = pid;
	mor_trace(MOR_TRACE_PROC, "pid %d is %s", pid, argv[0]);
	return 0;
}

static struct mor_proc *proc_new(struct mor_loop *loop, const struct mor_proc_events *events, void *arg)
{
	struct mor_proc *proc = mor_zalloc(sizeof(*proc));

	if (!proc)
		return NULL;
	proc->loop = loop;
	proc->events = *events;
	proc->arg = arg;
	proc->in = proc->out = proc->err.fd = -1;
	return proc;
}

static int no_memory(struct mor_exec_failure *failure, const char *path)
{
	return mor_exec_fail(failure, MOR_STEP_SPAWN, ENOMEM, MORTISE_ENOMEM, path, "out of memory");
}

/* Everything that can fail and be undone comes before the child exists. */
static int start_argv(struct mor_proc *proc, const struct mor_command *command, char **argv,
		      struct mor_exec_failure *failure)
{
	struct stdio io;
	int r = open_pipes(&io);

	if (r < 0)
		return mor_exec_fail(failure, MOR_STEP_PIPES, -r, MORTISE_ESYSTEM, argv[0],
				     "cannot make pipes: %s", strerrordesc_np(-r));
	proc->in = io.ours[0];
	proc->out = io.ours[1];
	r = mor_stderr_start(proc->loop, &proc->err, io.ours[2], on_stderr_line);
	if (r < 0)
		r = mor_exec_fail(failure, MOR_STEP_PIPES, errno, r, argv[0], "cannot watch its stderr: %s",
				  strerrordesc_np(errno));
	else
		r = run(proc, command, argv, &io, failure);
	close_all(io.theirs);
	return r;
}

int mor_proc_start(struct mor_loop *loop, const struct mor_command *command,
		   const struct mor_proc_events *events, void *arg, struct mor_proc **ret,
		   struct mor_exec_failure *ret_failure)
{
	struct mor_proc *proc;
	char **argv = NULL;
	int r = mor_proc_resolve(command, &argv, ret_failure);

	if (r < 0)
		return r;
	proc = proc_new(loop, events, arg);
	r = proc ? start_argv(proc, command, argv, ret_failure) : no_memory(ret_failure, argv[0]);
	mor_proc_argv_free(argv);
	if (r < 0) {
		mor_proc_free(proc);
		return r;
	}
	mor_loop_post(loop, &proc->started, on_started_task);
	*ret = proc;
	return 0;
}

/* ---- orders ---- */

static bool runs(const struct mor_proc *proc)
{
	return proc->child.watch.loop != NULL;
}

void mor_proc_order(struct mor_proc *proc, enum mor_order order)
{
	if (!runs(proc))
		return;
	/* Failures do not matter: who cannot be signalled any more has ended, and that is told on the pidfd. */
	mor_child_signal_group(&proc->child, order == MOR_ORDER_KILL ? SIGKILL : SIGTERM);
	if (order == MOR_ORDER_TERM)
		mor_child_signal_group(&proc->child, SIGCONT);
}

struct mor_proc *mor_proc_free(struct mor_proc *proc)
{
	if (!proc || proc->freed)
		return NULL;
	proc->freed = true;
	mor_task_stop(&proc->started);
	mor_proc_close_in(proc);
	mor_proc_close_out(proc);
	mor_stderr_stop(&proc->err);
	if (runs(proc)) {
		mor_child_signal_group(&proc->child, SIGKILL);
		/* A set-user-ID program may be beyond our signals: to wait for it could be to wait for ever. */
		if (mor_child_signal(&proc->child, SIGKILL) == 0)
			mor_child_reap(&proc->child, NULL);
	}
	mor_child_stop(&proc->child);
	mor_loop_free_later(proc->loop, &proc->grave, free_proc);
	return NULL;
}

/* ---- questions ---- */

int mor_proc_pid(const struct mor_proc *proc)
{
	return proc->pid;
}

int mor_proc_in(const struct mor_proc *proc)
{
	return proc->in;
}

int mor_proc_out(const struct mor_proc *proc)
{
	return proc->out;
}

void mor_proc_close_in(struct mor_proc *proc)
{
	mor_fd_close(&proc->in);
}

void mor_proc_close_out(struct mor_proc *proc)
{
	mor_fd_close(&proc->out);
}

const char *mor_proc_last_stderr(const struct mor_proc *proc)
{
	return mor_stderr_last(&proc->err);
}

uint64_t mor_proc_stderr_bytes(const struct mor_proc *proc)
{
	return proc->err.bytes;
}

bool mor_proc_explain_exit(const struct mor_proc *proc, const struct mor_proc_exit *how, char *out,
			   size_t out_size)
{
	/* The loader ends with 127, or with 1 when a version is missing. */
	if (!how->how.known || how->how.by_signal || (how->how.status != 127 && how->how.status != 1))
		return false;
	return mor_loader_complaint(mor_proc_last_stderr(proc), out, out_size);
}
