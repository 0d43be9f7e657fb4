/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes: start, stdio, stderr lines, orders, the end. One interface; back ends: guarded (mortise-jail
 * stands between, and the whole tree dies with the plugin) and direct (posix_spawn; the group dies). The owner
 * gets events; it decides about ladders, restarts and framing.
 *
 * Events of one process, in order: STARTED or EXEC_FAILED; then any STDERR and DENIED, and EXITED or LOST.
 * After EXEC_FAILED, EXITED or LOST no further event comes, and the owner frees the process. Descriptors 0, 1,
 * 2 of the child are three pipes; the child gets no other descriptor, an empty signal mask, default
 * dispositions and a process group of its own.
 *
 * The owner reads stdout and writes stdin itself, through proc->out and proc->in (non-blocking,
 * close-on-exec): bytes never take a detour.
 */
#ifndef MOR_PROC_PROC_H
#define MOR_PROC_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mortise/mortise.h>

#include "base/slice.h"
#include "loop/loop.h"
#include "program/resolve.h"

struct mor_doing;
struct mor_proc;
struct mor_record;

struct mor_proc_exit {
	struct mor_child_exit how;
	/* "exited with status 3", "killed by SIGSEGV (core dumped)", "ended, status unknown" */
	char text[96];
	bool lost; /* its guardian was killed, and so it died: "guardian lost: ..."; status unknown */
	/* its limit of processor time; a handler, or a busy machine, may have kept SIGXCPU from it */
	bool used_up;
	bool violated; /* killed by its jail for this violation: */
	char syscall[32], path[512], rule[64];
	const struct mor_forbidden_row *forbidden; /* the kind of it */
	uint64_t denied;                           /* calls that were refused while it went on */
};

/* Any of them may be NULL. The owner may free the process in any of them. */
struct mor_proc_events {
	void (*on_started)(void *arg, int pid);
	void (*on_exec_failed)(void *arg, const struct mor_exec_failure *failure);
	/* At most MOR_STDERR_LINE bytes, no newline, not always UTF-8; may be in the loop's scratch memory. */
	void (*on_stderr)(void *arg, struct mor_slice line);
	/* Something was refused to it; see MOR_RECORD_DENIED in policy/plan.h. */
	void (*on_denied)(void *arg, const struct mor_record *record);
	/* All of stderr has been reported. The owner may read what stdout still holds, but only the bytes
	 * that are there now: a descendant that left the group may hold the pipe open and write to it for
	 * ever. */
	void (*on_exited)(void *arg, const struct mor_proc_exit *how);
	/* Answers one mor_proc_set_view(), in their order; NULL: it worked. Code: MORTISE_ENOTFOUND,
	 * MORTISE_EINVAL, MORTISE_EJAIL. No answer comes after the end. */
	void (*on_view)(void *arg, const struct mor_exec_failure *failure);
};

#define MOR_STDERR_LINE 4096       /* a longer line arrives in pieces                               */
#define MOR_STDERR_RING (8 * 1024) /* kept for error texts: the last lines                          */

/* Starts it. The interpreter is resolved first: `.py` -> /usr/bin/python3 -u (or the Python that its first
 * line names by its full path, as in a venv), `.js` `.mjs` `.cjs` -> node. The failure's text tells apart: a
 * CRLF shebang, a missing interpreter, a wrong architecture, a missing loader, a script without shebang. A
 * failure that is known at once is returned (and described in *ret_failure, which may be NULL). No failure
 * is reported twice. With the direct back end every failure is known at once, and on_exec_failed never
 * comes. With the guarded back end it reports what only exec or the jail could find, in the same words.
 * `events` is borrowed until mor_proc_free(). */
int mor_proc_start(struct mor_loop *loop, const struct mor_command *command,
		   const struct mor_proc_events *events, void *arg, struct mor_proc **ret,
		   struct mor_exec_failure *ret_failure);
/* If it still runs, kills it (direct: its group; guarded: all its processes, and waits for them) and closes
 * everything. No event comes from inside, and none later. */
struct mor_proc *mor_proc_free(struct mor_proc *proc);

/* Stop a watch on either end before it is closed, here or by mor_proc_free(). */
int mor_proc_pid(const struct mor_proc *proc); /* 0 before STARTED, if the back end does not know it */
/* The process that adopts what the plugin leaves behind; 0: none. */
int mor_proc_guardian(const struct mor_proc *proc);
/* What it is doing now, or was at most 100 ms ago: thousands of calls may time out together. Without memory:
 * MOR_DOING_UNKNOWN. */
const struct mor_doing *mor_proc_doing(struct mor_proc *proc);
/* The process has ended, reported or not: its guardian may still be busy with the processes it left behind. */
bool mor_proc_is_over(const struct mor_proc *proc);
/* In force since STARTED: "direct", "guarded", "t0", "t1"; how its processes are killed: "group",
 * "subreaper", "pidns". */
const char *mor_proc_level(const struct mor_proc *proc);
const char *mor_proc_rung(const struct mor_proc *proc);
const char *mor_rung_name(unsigned rung);      /* enum mor_tree_rung */
int mor_proc_in(const struct mor_proc *proc);  /* the end we write; -1 once closed */
int mor_proc_out(const struct mor_proc *proc); /* the end we read */
void mor_proc_close_in(struct mor_proc *proc);
void mor_proc_close_out(struct mor_proc *proc);

enum mor_order { MOR_ORDER_TERM, MOR_ORDER_KILL };
/* Signals the whole group, which the child leads. TERM is followed by SIGCONT, because a stopped process
 * would not get it. After the end it does nothing. */
void mor_proc_order(struct mor_proc *proc, enum mor_order order);

/* From on_exited on: the same value again. */
void mor_proc_how_ended(const struct mor_proc *proc, struct mor_proc_exit *ret);

/* Orders a view (docs/design/0003-jail.md). `texts` as in struct mor_guard_order, at most MOR_PROC_VIEW_TEXTS
 * bytes. 0, or MORTISE_ECLOSED (no process, or not with this back end), MORTISE_EOVERLOAD (the guardian has not
 * taken the last ones). */
#define MOR_PROC_VIEW_TEXTS (15 * 1024)
int mor_proc_set_view(struct mor_proc *proc, struct mor_slice texts);

/* The telling line of stderr (telling.h), "" if it wrote no such line. Valid until the next call. */
const char *mor_proc_last_stderr(const struct mor_proc *proc);
uint64_t mor_proc_stderr_bytes(const struct mor_proc *proc);

/* Why it ended, if the dynamic loader said so on stderr: "the shared library libfoo.so.1 is missing". false:
 * nothing to add to how->text. */
bool mor_proc_explain_exit(const struct mor_proc *proc, const struct mor_proc_exit *how, char *out,
			   size_t out_size);

/* Only starts mortise-jail, with a plan and the socket of its records, both above MOR_GUARD_FD. `theirs`: its
 * stdio; NULL: ours. 0 or an errno, like posix_spawn(). */
int mor_proc_spawn_helper(const char *helper, bool session, const int *theirs, int plan, int socket,
			  pid_t *ret_pid);

#endif
