/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guarded back end: mortise-jail is between us and the plugin. It gets a plan in a memfd and the
 * plugin's ends of the pipes, and answers with records on a socket. The plugin's own bytes still take the
 * direct way.
 *
 * We never signal the plugin: orders go over the socket. Its end is seen on the guardian's pidfd. Then the
 * socket holds the last record. If it holds none, the guardian was killed, and the plugin died with it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/trace.h"
#include "policy/forbidden.h"
#include "policy/policy.h"
#include "proc/inside.h"
#include "program/helper.h"
#include "undo/scratch.h"

enum { END_MS = 8000 }; /* longer than a guardian waits for processes that do not die */

/* ---- what could not be started ---- */

/* In place of a record whose texts were not kept. */
static const struct mor_record no_texts = { .text = "(out of memory: its text was not kept)", .syscall = "?" };

static const struct mor_record *texts_of(const struct mor_ending *ending)
{
	return ending->record ? ending->record : &no_texts;
}

static void explain_failure(const struct mor_proc *proc, struct mor_exec_failure *ret)
{
	const struct mor_command here = { 0 }; /* the name was made absolute while the command was there */
	int step = proc->ending.step, error = proc->ending.error;
	const char *text = texts_of(&proc->ending)->text, *why = strerrordesc_np(error);
	const char *name = proc->program ? proc->program : text;

	if (!why)
		why = "unknown error";
	if (step == MOR_AT_EXEC)
		mor_exec_diagnose(&here, name, error, ret);
	else if (step == MOR_AT_CHANGED)
		mor_exec_fail(ret, MOR_STEP_EXEC, error, MORTISE_EVIOLATION, text,
			      "changed between its check and its start: nothing of the plugin was run");
	else if (step == MOR_AT_CWD)
		mor_exec_fail(ret, MOR_STEP_EXEC, error, error == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EEXEC,
			      text, "working directory: %s", why);
	else if (step == MOR_AT_FORK)
		mor_exec_fail(ret, MOR_STEP_SPAWN, error, MORTISE_ESYSTEM, name, "%s: %s", text, why);
	else
		mor_exec_fail(ret, MOR_STEP_SPAWN, error, MORTISE_EJAIL, name,
			      "its jail could not be set up: %s (%s)", text, why);
}

/* ---- records ---- */

static void on_started(struct mor_proc *proc, const struct mor_record *record)
{
	proc->pid = record->pid;
	proc->level = record->level;
	/* Without memory a later start removes it, if the guardian is killed and does not. */
	if (record->text[0])
		proc->scratch = mor_strdup(record->text);
	proc->rung = record->rung <= MOR_TREE_PIDNS ? record->rung : MOR_TREE_GROUP;
	mor_free(mor_take(&proc->program));
	/* Not earlier: no event may come before STARTED. If the loop cannot watch it, it is read at the end. */
	if (mor_proc_hear_stderr(proc) < 0)
		mor_trace(MOR_TRACE_PROC, "pid %d: stderr cannot be watched", proc->pid);
	mor_proc_tell_started(proc);
}

/* Reads one record, if there is one. false: none, or the socket has ended. */
static bool receive_record(struct mor_proc *proc, struct mor_record *record)
{
	ssize_t n;

	memset(record, 0, sizeof(*record));
	do
		n = recv(proc->socket, record, sizeof(*record), MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) /* after its end it would be readable for ever */
		mor_watch_stop(&proc->records);
	record->text[sizeof(record->text) - 1] = record->syscall[sizeof(record->syscall) - 1] = '\0';
	record->path[sizeof(record->path) - 1] = record->rule[sizeof(record->rule) - 1] = '\0';
	return n >= (ssize_t)offsetof(struct mor_record, pid);
}

static void on_view(struct mor_proc *proc, const struct mor_record *record)
{
	const char *why = strerrordesc_np(record->error);
	struct mor_exec_failure failure = { .os_errno = record->error, .code = MORTISE_EJAIL };

	if (record->step == MOR_AT_STAGE)
		failure.code = record->error == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINVAL;
	snprintf(failure.text, sizeof(failure.text), "its view could not be set: %.255s (%s)", record->text,
		 why ? why : "unknown error");
	if (proc->events->on_view)
		proc->events->on_view(proc->arg, record->step ? &failure : NULL);
}

static void on_denied(struct mor_proc *proc, const struct mor_record *record)
{
	if (proc->told && proc->events->on_denied)
		proc->events->on_denied(proc->arg, record);
}

/* Without memory for the texts, what happened is still known. */
static void keep_ending(struct mor_proc *proc, const struct mor_record *record)
{
	proc->ending = (struct mor_ending){
		.kind = record->kind,
		.step = record->step,
		.error = record->error,
		.violated = record->violated,
		.forbidden = record->forbidden,
		.wall = record->wall,
		.left = record->left,
		.limits = record->limits,
		.how = { .known = record->known,
			 .status = record->status,
			 .by_signal = record->by_signal,
			 .core = record->core,
			 .cpu_us = (uint64_t)record->user_us + (uint64_t)record->system_us },
		.denied = record->count,
		.record = mor_alloc(sizeof(*record)),
	};
	if (proc->ending.record)
		*proc->ending.record = *record;
}

/* STARTED, VIEW and DENIED are reported as they come. The record that ends the process is kept until the
 * guardian is reaped. */
static void on_record(struct mor_watch *watch, unsigned events)
{
	struct mor_proc *proc = mor_container_of(watch, struct mor_proc, records);
	struct mor_record record;

	(void)events;
	while (!proc->freed && receive_record(proc, &record)) {
		if (record.kind == MOR_RECORD_STARTED && !proc->told)
			on_started(proc, &record);
		else if (record.kind == MOR_RECORD_VIEW)
			on_view(proc, &record);
		else if (record.kind == MOR_RECORD_DENIED)
			on_denied(proc, &record);
		else if (record.kind != MOR_RECORD_STARTED && !proc->ending.kind)
			keep_ending(proc, &record);
	}
}

/* ---- the end ---- */

static void fill_exit(const struct mor_ending *ending, struct mor_proc_exit *ret)
{
	const struct mor_record *texts = texts_of(ending);

	ret->how = ending->how;
	ret->violated = ending->violated;
	ret->denied = ending->denied;
	ret->used_up = ending->limits & 1u << MOR_LIMIT_CPU;
	if (ending->violated && ending->forbidden < MOR_FORBIDDEN_COUNT)
		ret->forbidden = &mor_forbidden_rows[ending->forbidden];
	memcpy(ret->syscall, texts->syscall, sizeof(ret->syscall));
	memcpy(ret->path, texts->path, sizeof(ret->path));
	memcpy(ret->rule, texts->rule, sizeof(ret->rule));
	if (ending->wall)
		snprintf(ret->text, sizeof(ret->text), "killed: its wall time was over");
	else if (ending->left)
		snprintf(ret->text, sizeof(ret->text), "killed, but some of its processes hang in the kernel");
}

static void guarded_how_ended(const struct mor_proc *proc, struct mor_proc_exit *ret)
{
	char text[48];

	if (proc->ending.kind == MOR_RECORD_EXITED) {
		fill_exit(&proc->ending, ret);
		return;
	}
	ret->lost = true;
	mor_exit_text(&proc->exit, text, sizeof(text));
	if (proc->ending.kind == MOR_RECORD_SETUP_FAILED)
		snprintf(ret->text, sizeof(ret->text), "guardian lost: %.80s", texts_of(&proc->ending)->text);
	else if (proc->exit.known && proc->exit.by_signal && proc->exit.status == SIGSYS)
		snprintf(ret->text, sizeof(ret->text), "guardian lost: %s", MOR_GUARD_FILTERED);
	else
		snprintf(ret->text, sizeof(ret->text), "guardian lost (%s), and the plugin with it", text);
}

/* A guardian that was killed is an ordinary death: the next one may live. One that exits without a record
 * would do so again. */
static void explain_silence(const struct mor_proc *proc, const struct mor_child_exit *how,
			    struct mor_exec_failure *ret)
{
	bool lost = !how->known || how->by_signal;
	char text[64];

	mor_exit_text(how, text, sizeof(text));
	mor_exec_fail(ret, MOR_STEP_SPAWN, ECHILD, lost ? MORTISE_ECRASHED : MORTISE_EJAIL,
		      proc->program ? proc->program : "plugin",
		      lost ? "guardian lost (%s) before it had started the plugin" :
			     "mortise-jail %s before it had started the plugin",
		      text);
}

static void tell_exec_failed(struct mor_proc *proc, const struct mor_child_exit *how)
{
	struct mor_exec_failure failure = { 0 };

	if (proc->ending.kind && proc->ending.kind != MOR_RECORD_EXITED)
		explain_failure(proc, &failure);
	else
		explain_silence(proc, how, &failure);
	mor_trace(MOR_TRACE_PROC, "not started: %s", failure.text);
	if (proc->events->on_exec_failed)
		proc->events->on_exec_failed(proc->arg, &failure);
}

static void on_guardian_end(struct mor_child *child, const struct mor_child_exit *how)
{
	struct mor_proc *proc = mor_container_of(child, struct mor_proc, child);

	on_record(&proc->records, 0);
	if (proc->freed)
		return;
	mor_watch_stop(&proc->records);
	if (!proc->told) {
		tell_exec_failed(proc, how);
		return;
	}
	if (proc->ending.kind != MOR_RECORD_EXITED)
		mor_scratch_drop(proc->scratch);
	mor_proc_tell_exited(proc, how);
}

/* ---- start ---- */

static int make_plan(const struct mor_command *command, char **argv)
{
	struct mor_plan_command what = {
		.argv = (const char *const *)argv,
		.env = command->env ? command->env : (const char *const *)environ,
		.cwd = command->cwd,
		.host = getpid(),
		.checked = command->checked,
		.listen = command->listen,
	};
	MOR_CLEAN(mor_buf) struct mor_buf plan = MOR_BUF_INIT;

	if (mor_plan_make(&plan, &what, command->policy) < 0)
		return -ENOMEM;
	return mor_plan_memfd(&plan);
}

/* The helper gets no environment: the plugin's is in the plan. */
int mor_proc_spawn_helper(const char *helper, bool session, const int *theirs, int plan, int socket,
			  pid_t *ret_pid)
{
	static char name[] = "mortise-jail";
	char *argv[] = { name, NULL }, *env[] = { NULL };
	static const int ours[] = { 0, 1, 2 };
	const int *std = theirs ? theirs : ours;
	const int fds[] = { std[0], std[1], std[2], [MOR_PLAN_FD] = plan, [MOR_GUARD_FD] = socket };
	const struct mor_spawn what = {
		.path = helper,
		.argv = argv,
		.env = env,
		.fds = fds,
		.count = sizeof(fds) / sizeof(*fds),
		.session = session, /* the plugin stays in the guardian's session */
	};

	return mor_spawn(&what, ret_pid);
}

static int watch_helper(struct mor_proc *proc, pid_t pid)
{
	int r = mor_watch_start(proc->loop, &proc->records, proc->socket, MOR_READABLE, on_record), saved;

	if (r == 0)
		r = mor_child_watch(proc->loop, &proc->child, pid, on_guardian_end);
	if (r == 0)
		return 0;
	saved = errno;
	mor_proc_kill_unwatched(pid, false);
	return saved;
}

/* `fault`: what is wrong with the helper, or "". */
static int not_spawned(struct mor_exec_failure *failure, int error, const struct mor_command *command,
		       const char *program, const char *helper, const char *fault)
{
	char hint[MOR_HELPER_HINT] = "";

	if (mor_errno_is_lack(error))
		return mor_exec_fail(failure, MOR_STEP_SPAWN, error, MORTISE_ESYSTEM, program,
				     "cannot start a process: %s", strerrordesc_np(error));
	if (error == ENOENT)
		mor_helper_missing(command->helper, hint);
	return mor_exec_fail(failure, MOR_STEP_SPAWN, error, MORTISE_EJAIL, helper,
			     "the helper that guards plugins cannot be run: %s%s",
			     fault[0] ? fault : strerrordesc_np(error), hint);
}

static int run_guardian_take(struct mor_proc *proc, const struct mor_command *command, char **argv,
			     const int theirs[3], int ends[2], int plan, struct mor_exec_failure *failure)
{
	/* A session is also a scheduling group. Who has a view works for long between two messages (an
	 * analyzer), so the switch between groups is nothing to it. But in the host's group it would share one
	 * group's time with all that its user's terminal runs: on a busy machine a guarded analyzer took twice
	 * as long as a confined one. */
	bool session = command->policy && (command->policy->view || mor_policy_confined(command->policy));
	char fault[MOR_PROGRAM_FAULT];
	const char *helper = mor_helper_find(command->helper, fault);
	pid_t pid = -1;
	int r;

	/* In the child, plan and socket are moved last. If their numbers are low, an earlier dup2 would
	 * overwrite them. */
	r = mor_fd_lift(&plan, MOR_GUARD_FD + 1);
	if (r == 0)
		r = mor_fd_lift(&ends[1], MOR_GUARD_FD + 1);
	if (r == 0 && fault[0])
		r = -EACCES;
	if (r == 0)
		r = -mor_proc_spawn_helper(helper, session, theirs, plan, ends[1], &pid);
	mor_fd_close(&plan);
	mor_fd_close(&ends[1]);
	proc->socket = ends[0];
	if (r < 0)
		return not_spawned(failure, -r, command, argv[0], helper, fault);
	r = watch_helper(proc, pid);
	if (r)
		return mor_exec_fail(failure, MOR_STEP_SPAWN, r, MORTISE_ESYSTEM, argv[0],
				     "cannot watch the process: %s", strerrordesc_np(r));
	mor_trace(MOR_TRACE_PROC, "guardian %d of %s", pid, argv[0]);
	return 0;
}

/* Kept for the text of a later failure, when the command is gone. */
static int remember_program(struct mor_proc *proc, const struct mor_command *command, const char *program)
{
	char seen[PATH_MAX];

	if (!mor_program_seen_from(command, program, seen))
		return -ENAMETOOLONG;
	proc->program = mor_strdup(seen);
	return proc->program ? 0 : -ENOMEM;
}

static int guarded_start(struct mor_proc *proc, const struct mor_command *command, char **argv,
			 const int theirs[3], struct mor_exec_failure *failure)
{
	int ends[2], plan, r;

	/* Most errors of exec can be found before, and are reported at once. */
	if ((r = mor_exec_foresee(command, argv[0], failure)) < 0)
		return r;
	r = remember_program(proc, command, argv[0]);
	plan = r < 0 ? r : make_plan(command, argv);
	if (plan == -ENOMEM)
		return mor_proc_no_memory(failure, argv[0]);
	if (plan < 0)
		return mor_exec_fail(failure, MOR_STEP_PIPES, -plan, MORTISE_ESYSTEM, argv[0],
				     "cannot write its plan: %s", strerrordesc_np(-plan));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		r = errno;
		mor_fd_close(&plan);
		return mor_exec_fail(failure, MOR_STEP_PIPES, r, MORTISE_ESYSTEM, argv[0],
				     "cannot make a socket: %s", strerrordesc_np(r));
	}
	return run_guardian_take(proc, command, argv, theirs, ends, plan, failure);
}

/* ---- orders ---- */

_Static_assert(sizeof(struct mor_guard_order) + MOR_PROC_VIEW_TEXTS <= MOR_PLAN_ORDER_MAX,
	       "what the guardian takes in");

static void guarded_order(struct mor_proc *proc, enum mor_order order)
{
	struct mor_guard_order sent = { .kind = order == MOR_ORDER_KILL ? MOR_GUARD_KILL : MOR_GUARD_TERM };

	/* A guardian that somebody has stopped must also get the order. */
	mor_child_signal(&proc->child, SIGCONT);
	/* If the guardian cannot be told to kill, it is killed itself, and the plugin with it. */
	if (send(proc->socket, &sent, sizeof(sent), MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)sizeof(sent) &&
	    order == MOR_ORDER_KILL)
		mor_child_signal(&proc->child, SIGKILL);
}

static int guarded_set_view(struct mor_proc *proc, struct mor_slice texts)
{
	struct mor_guard_order order = { .kind = MOR_GUARD_SWITCH_VIEW, .version = MOR_PLAN_VERSION };
	struct iovec parts[] = { { &order, sizeof(order) }, { (void *)texts.ptr, texts.len } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	if (texts.len > MOR_PROC_VIEW_TEXTS)
		return MORTISE_EINVAL;
	if (sendmsg(proc->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EAGAIN || errno == ENOBUFS ? MORTISE_EOVERLOAD : MORTISE_ECLOSED;
}

/* The guardian ends when all processes have ended. */
static void guarded_end(struct mor_proc *proc)
{
	struct pollfd pfd = { .fd = proc->child.pidfd, .events = POLLIN };
	struct mor_child_exit how = { 0 };
	int r;

	guarded_order(proc, MOR_ORDER_KILL);
	shutdown(proc->socket, SHUT_RD); /* nobody reads its records any more: it must not wait for that */
	do
		r = poll(&pfd, 1, END_MS);
	while (r < 0 && errno == EINTR);
	if (r <= 0)
		mor_child_signal(&proc->child, SIGKILL);
	mor_child_reap(&proc->child, &how);
	if (!how.known || how.by_signal || how.status) /* else it is gone, or a process of its own removes it */
		mor_scratch_drop(proc->scratch);
}

const struct mor_proc_ops mor_proc_guarded = {
	.start = guarded_start,
	.order = guarded_order,
	.set_view = guarded_set_view,
	.end = guarded_end,
	.how_ended = guarded_how_ended,
};
