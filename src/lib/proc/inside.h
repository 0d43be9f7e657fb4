/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room. Nobody else includes it. */
#ifndef MOR_PROC_INSIDE_H
#define MOR_PROC_INSIDE_H

#include "policy/plan.h"
#include "proc/doing.h"
#include "proc/proc.h"

/* ---- how it ended (ending.c) ---- */

void mor_exit_text(const struct mor_child_exit *how, char *out, size_t out_size);
/* The meaning of an error of the dynamic loader. false: the line is not such an error. */
bool mor_loader_complaint(const char *line, char *out, size_t out_size);

/* ---- stderr (stderr.c) ---- */

struct mor_stderr;
typedef void mor_stderr_fn(struct mor_stderr *err, struct mor_slice line);
typedef void mor_stderr_over_fn(struct mor_stderr *err);
struct mor_stderr {
	struct mor_watch watch;
	mor_stderr_fn *on_line;
	mor_stderr_over_fn *on_over; /* set: the process has ended; called when the rest is reported */
	int rest;                    /* bytes that the pipe held then, minus those read since */
	/* made when the first byte comes: a plugin without stderr output costs nothing */
	struct mor_stderr_keep *keep;
	uint64_t bytes;
	int fd;
};
/* Takes the descriptor, also on failure. 0 or a status. */
int mor_stderr_start_take(struct mor_loop *loop, struct mor_stderr *err, int fd, mor_stderr_fn *on_line);
/* Reads what the pipe holds now, without waiting for EOF, and also reports an unfinished line. Then it calls
 * `on_over`, at once or, if there is much, in a later dispatch. Nothing is called after mor_stderr_stop(). */
void mor_stderr_finish(struct mor_loop *loop, struct mor_stderr *err, mor_stderr_over_fn *on_over);
/* Stops and closes. The kept lines stay until mor_stderr_fini(), for callers up the stack. */
void mor_stderr_stop(struct mor_stderr *err);
void mor_stderr_fini(struct mor_stderr *err);
const char *mor_stderr_last(const struct mor_stderr *err);

/* ---- a process and its back end ---- */

struct mor_proc_ops {
	/* `theirs`: the plugin's ends of the pipes; the caller closes them. */
	int (*start)(struct mor_proc *proc, const struct mor_command *command, char **argv, const int theirs[3],
		     struct mor_exec_failure *failure);
	void (*order)(struct mor_proc *proc, enum mor_order order);
	int (*set_view)(struct mor_proc *proc, struct mor_slice texts); /* NULL: cannot */
	void (*end)(struct mor_proc *proc); /* it runs: kills it and reaps our child */
	/* It has ended, and our child with the status proc->exit. The caller fills an empty text. */
	void (*how_ended)(const struct mor_proc *proc, struct mor_proc_exit *ret);
};
extern const struct mor_proc_ops mor_proc_direct, mor_proc_guarded;

/* What ended it, from the last record of its guardian. What decides is here; the texts may be missing. */
struct mor_ending {
	uint32_t kind; /* as in the record; 0: it runs */
	int32_t step, error;
	uint8_t violated, forbidden, wall, left, limits;
	struct mor_child_exit how; /* of the plugin */
	uint64_t denied;
	struct mor_record *record; /* NULL: there was no memory for it */
};

struct mor_proc {
	const struct mor_proc_ops *ops;
	struct mor_loop *loop;
	const struct mor_proc_events *events;
	void *arg;
	struct mor_child child; /* the plugin, or its guardian                            */
	struct mor_stderr err;
	struct mor_task started; /* direct: queued until STARTED is reported */
	struct mor_grave grave;
	int pid, in, out; /* the plugin's pid; 0 until it is known */
	bool freed, told;
	struct mor_child_exit exit; /* of our child                                        */
	/* guarded */
	struct mor_watch records;
	struct mor_ending ending;
	char *program; /* the path as we see it, until STARTED */
	char *scratch; /* scratch directory that its guardian will remove; NULL: none */
	int socket;
	struct mor_doing *doing; /* as it was at `doing_ms`; NULL: never looked at */
	int64_t doing_ms;
	uint8_t level, rung; /* enum mor_level, enum mor_tree_rung                     */
};

/* Does nothing if it was reported already. No event may come before STARTED. */
void mor_proc_tell_started(struct mor_proc *proc);
int mor_proc_hear_stderr(struct mor_proc *proc); /* 0 or a status with errno */
/* Reports the rest of stderr, then the end. */
void mor_proc_tell_exited(struct mor_proc *proc, const struct mor_child_exit *how);
int mor_proc_no_memory(struct mor_exec_failure *failure, const char *path);
void mor_proc_kill_unwatched(pid_t pid, bool group);
/* One program to start: fds[i] becomes its descriptor i, and it gets no others. */
struct mor_spawn {
	const char *path;
	char *const *argv, *const *env;
	const char *cwd; /* or NULL: ours */
	const int *fds;
	int count;
	bool session; /* false: only a process group of its own */
};
int mor_spawn(const struct mor_spawn *what, pid_t *ret_pid); /* 0 or an errno, like posix_spawn() */

#endif
