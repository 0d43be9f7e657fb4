/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the program mortise-jail: guardian, launcher, tree. No stdio, no threads. */
#ifndef MOR_JAIL_GUARD_H
#define MOR_JAIL_GUARD_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "policy/plan.h"

/* ---- launch.c: from the guardian to the plugin's execve ---- */

/* In memory that the guardian shares with the processes it starts. */
struct mor_launch {
	struct mor_setup_failure failure; /* step 0: none so far                                         */
	pid_t plugin;                     /* in the namespace of the process that forked it */
	bool ended;                       /* the namespace's init has seen the end of its plugin */
	int status, code;                 /* as in siginfo */
	struct stat root;                 /* t1: of the plugin's tree, from the process that made it */
	struct rusage usage;
};

struct mor_launched {
	struct mor_launch *launch;
	pid_t pid;    /* our child: the plugin, or the init of its PID namespace */
	pid_t keeper; /* t1: the first process of the namespaces, beside the plugin; else 0 */
	int channel;  /* open until the plugin's execve; -1: that is over */
	enum mor_tree_rung rung;
};
/* At t0 with spawn a PID namespace is used where the machine gives one, asked for or not. Without it, what the
 * plugin has started lives on if we are killed alone: a death signal reaches our own child only, and execve
 * in a second thread clears even that. */
bool mor_pidns_wished(const struct mor_plan *plan);
/* 0, or -1 with ret->launch->failure filled. */
int mor_launch(struct mor_plan *plan, struct mor_launched *ret);
/* At level t1 (within.c). ret->launch exists. 0, or -1 with ret->launch->failure filled, and nothing is left
 * of it. */
int mor_launch_within(struct mor_plan *plan, unsigned namespaces, struct mor_launched *ret);
/* What came over the channel: 1 a descriptor in *ret_fd, 0 its end (closed then), -1 nothing now. */
int mor_launch_receive(struct mor_launched *launched, int *ret_fd);
/* The pid, as we see it, of the process that a namespace's init has started; the init's pid if that is
 * unknown. */
pid_t mor_launch_visible(const struct mor_launched *launched);

/* The end of one child. 0: none has ended; -errno (-ECHILD: no child is left). WNOWAIT and WNOHANG in flags. */
struct mor_ended {
	pid_t pid;
	int status, code;
	struct rusage usage;
};
int mor_wait_child(pid_t pid, int flags, struct mor_ended *ret);

/* ---- tree.c: the complete kill ---- */

/* Opens the list of our own children; call it before we are confined. 0 or -errno. */
int mor_subtree_open(void);
/* SIGKILL to every descendant until none is left. `main_end` (may be NULL) gets the end of `main_pid` if it
 * is seen here. true: none is left; false: some did not die in time (they hang in the kernel). */
bool mor_subtree_kill(pid_t main_pid, struct mor_ended *main_end);
/* To the group that `pid` leads, as a terminal would; to it alone if it has left that group. One that is
 * stopped is continued. */
void mor_subtree_signal(pid_t pid, int signal);

/* ---- init.c: the first process of a PID namespace ---- */

_Noreturn void mor_init_main(struct mor_plan *plan, struct mor_launch *launch, int channel, uid_t uid,
			     gid_t gid, bool new_user);

/* In a new user namespace: every user keeps its id. */
int mor_users_map(uid_t uid, gid_t gid, struct mor_setup_failure *failure);
/* CAP_SYS_ADMIN: what it takes to make namespaces as we are. Root in a container does not have it. */
bool mor_has_admin(void);
/* Would that work here, and a PID namespace in it? */
bool mor_users_allowed(uid_t uid, gid_t gid);
/* We must die with the guardian. In a PID namespace getppid() is always 0. So the channel shows whether the
 * guardian is already dead: only the guardian has its other end. */
int mor_tie_to_guardian(int channel, struct mor_setup_failure *failure);

/* ---- from launch.c, for init.c ---- */

/* Everything between fork and execve. Returns only after a failure, with *failure filled. `parent` is
 * compared with getppid(), to notice that it has died meanwhile; 0: the guardian, outside our PID namespace. */
void mor_launch_become(const struct mor_plan *plan, int channel, pid_t parent,
		       struct mor_setup_failure *failure);

/* ---- guardian.c ---- */

_Noreturn void mor_guardian(struct mor_plan *plan);
/* One record; cut behind `usage` where nothing forbidden was tried. Waits for a host that reads
 * slowly: only denials are many. 0, also where there is no host any more, or -errno: the host will
 * never get it. */
int mor_record_send(struct mor_record *record);
/* Of the plugin. */
void mor_record_usage(struct mor_record *record, const struct rusage *usage);
/* mor_record_send() without waiting. false: not now; wait until MOR_GUARD_FD is writable. */
bool mor_record_offer(struct mor_record *record);
/* The last one, and the end. */
_Noreturn void mor_record_failure(const struct mor_setup_failure *failure);
/* The same where the plugin already runs: nobody must believe that we could still end it as we should. */
_Noreturn void mor_record_lost(const struct mor_setup_failure *failure);
/* Our own end, without a word: the host sees that its guardian is lost, and brings the plugin back. */
_Noreturn void mor_be_lost(void);

#endif
