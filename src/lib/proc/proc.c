/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both back ends share: resolution, the three pipes, stderr, the order of events. The back ends start,
 * control and end the process: guarded.c (mortise-jail), direct.c (posix_spawn).
 */
#include "proc/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/trace.h"
#include "policy/policy.h"
#include "proc/inside.h"

#define LOOK_MS   100 /* what it is doing is not looked up again before */
#define LOOK_COST 128 /* of a look, in steps of the loop: it may take two milliseconds */

/* ---- pipes ---- */

struct stdio {
	int ours[3], theirs[3];
};

static void close_all(int fds[3])
{
	for (int i = 0; i < 3; i++)
		mor_fd_close(&fds[i]);
}

static int open_pipe(struct stdio *io, int number)
{
	int ends[2], r;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	io->ours[number] = ends[number == 0 ? 1 : 0];
	io->theirs[number] = ends[number == 0 ? 0 : 1];
	r = mor_fd_lift(&io->ours[number], 3);
	if (r == 0)
		r = mor_fd_lift(&io->theirs[number], 3);
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

/* ---- events ---- */

void mor_proc_tell_started(struct mor_proc *proc)
{
	if (proc->told)
		return;
	proc->told = true;
	mor_task_stop(&proc->started);
	mor_trace(MOR_TRACE_PROC, "pid %d started", proc->pid);
	if (proc->events->on_started)
		proc->events->on_started(proc->arg, proc->pid);
}

static void on_stderr_line(struct mor_stderr *err, struct mor_slice line)
{
	struct mor_proc *proc = mor_container_of(err, struct mor_proc, err);

	mor_proc_tell_started(proc); /* with the direct back end stderr may come first */
	if (!proc->freed && proc->events->on_stderr)
		proc->events->on_stderr(proc->arg, line);
}

int mor_proc_hear_stderr(struct mor_proc *proc)
{
	return mor_stderr_start_take(proc->loop, &proc->err, proc->err.fd, on_stderr_line);
}

void mor_proc_how_ended(const struct mor_proc *proc, struct mor_proc_exit *ret)
{
	*ret = (struct mor_proc_exit){ 0 };
	proc->ops->how_ended(proc, ret);
	if (!ret->text[0])
		mor_exit_text(&ret->how, ret->text, sizeof(ret->text));
}

static void on_stderr_over(struct mor_stderr *err)
{
	struct mor_proc *proc = mor_container_of(err, struct mor_proc, err);
	struct mor_proc_exit ended;

	if (proc->freed)
		return;
	mor_proc_how_ended(proc, &ended);
	mor_trace(MOR_TRACE_PROC, "pid %d %s", proc->pid, ended.text);
	if (proc->events->on_exited)
		proc->events->on_exited(proc->arg, &ended);
}

void mor_proc_tell_exited(struct mor_proc *proc, const struct mor_child_exit *how)
{
	proc->exit = *how;
	mor_proc_tell_started(proc);
	if (!proc->freed)
		mor_stderr_finish(proc->loop, &proc->err, on_stderr_over);
}

/* ---- start ---- */

static void free_proc(struct mor_grave *grave)
{
	struct mor_proc *proc = mor_container_of(grave, struct mor_proc, grave);

	mor_stderr_fini(&proc->err);
	mor_free(proc->program);
	mor_free(proc->scratch);
	mor_free(proc->ending.record);
	mor_free(proc->doing);
	mor_free(proc);
}

static struct mor_proc *proc_new(struct mor_loop *loop, const struct mor_command *command,
				 const struct mor_proc_events *events, void *arg)
{
	struct mor_proc *proc = mor_zalloc(sizeof(*proc));

	if (!proc)
		return NULL;
	proc->ops = command->direct ? &mor_proc_direct : &mor_proc_guarded;
	proc->loop = loop;
	proc->events = events;
	proc->arg = arg;
	proc->in = proc->out = proc->err.fd = proc->socket = -1;
	return proc;
}

int mor_proc_no_memory(struct mor_exec_failure *failure, const char *path)
{
	return mor_exec_fail(failure, MOR_STEP_SPAWN, ENOMEM, MORTISE_ENOMEM, path, "%s",
			     mortise_status_text(MORTISE_ENOMEM));
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
	proc->err.fd = io.ours[2];
	r = proc->ops->start(proc, command, argv, io.theirs, failure);
	close_all(io.theirs);
	return r;
}

int mor_proc_start(struct mor_loop *loop, const struct mor_command *command,
		   const struct mor_proc_events *events, void *arg, struct mor_proc **ret,
		   struct mor_exec_failure *ret_failure)
{
	struct mor_proc *proc;
	char **argv = NULL;
	int r = mor_program_resolve(command, &argv, ret_failure);

	if (r < 0)
		return r;
	proc = proc_new(loop, command, events, arg);
	r = proc ? start_argv(proc, command, argv, ret_failure) : mor_proc_no_memory(ret_failure, argv[0]);
	mor_program_argv_free(argv);
	if (r < 0) {
		mor_proc_free(proc);
		return r;
	}
	*ret = proc;
	return 0;
}

/* A child that we started but cannot watch (for example, no descriptor is left). It is not reaped, so its
 * number is still its own, unless SIGCHLD is ignored and it has ended. So we check before we signal. */
void mor_proc_kill_unwatched(pid_t pid, bool group)
{
	siginfo_t info;

	assert(pid > 1);
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		return;
	kill(group ? -pid : pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ---- orders ---- */

void mor_proc_order(struct mor_proc *proc, enum mor_order order)
{
	if (proc->child.watch.loop)
		proc->ops->order(proc, order);
}

int mor_proc_set_view(struct mor_proc *proc, struct mor_slice texts)
{
	if (!proc->told || !proc->child.watch.loop || !proc->ops->set_view)
		return MORTISE_ECLOSED;
	return proc->ops->set_view(proc, texts);
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
	if (proc->child.watch.loop && !mor_loop_is_forsaken(proc->loop))
		proc->ops->end(proc);
	mor_child_stop(&proc->child);
	mor_watch_stop(&proc->records);
	mor_fd_close(&proc->socket);
	mor_loop_free_later(proc->loop, &proc->grave, free_proc);
	return NULL;
}

/* ---- questions ---- */

int mor_proc_pid(const struct mor_proc *proc)
{
	return proc->pid;
}

int mor_proc_guardian(const struct mor_proc *proc)
{
	return proc->ops == &mor_proc_guarded ? proc->child.pid : 0;
}

/* Asked rarely, so no descriptor is kept. If another process has the number now, the answer is "runs", which
 * does no harm. */
bool mor_proc_is_over(const struct mor_proc *proc)
{
	struct pollfd pfd = { .fd = (int)syscall(SYS_pidfd_open, proc->pid, 0), .events = POLLIN };
	bool over = pfd.fd < 0 ? errno == ESRCH : poll(&pfd, 1, 0) > 0;

	mor_fd_close(&pfd.fd);
	return over;
}

const struct mor_doing *mor_proc_doing(struct mor_proc *proc)
{
	static const struct mor_doing unknown = { .fd = -1 };
	int64_t now = mor_loop_now_ms(proc->loop);

	if (proc->doing && now - proc->doing_ms < LOOK_MS)
		return proc->doing;
	if (!proc->doing && !(proc->doing = mor_alloc(sizeof(*proc->doing))))
		return &unknown;
	proc->doing_ms = now;
	mor_doing_look(proc->pid, proc->doing);
	mor_loop_charge(proc->loop, LOOK_COST);
	return proc->doing;
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

const char *mor_proc_level(const struct mor_proc *proc)
{
	return proc->ops == &mor_proc_direct ? "direct" : mor_level_name((enum mor_level)proc->level);
}

const char *mor_rung_name(unsigned rung)
{
	static const char *const names[] = { "group", "subreaper", "pidns" };

	return rung < sizeof(names) / sizeof(*names) ? names[rung] : "unknown";
}

const char *mor_proc_rung(const struct mor_proc *proc)
{
	return mor_rung_name(proc->rung);
}
