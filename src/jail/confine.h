/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confinement, as the guardian and the launcher call it (program mortise-jail only). One jail per process, so
 * the state is the implementation's own. At level guarded none of these is called.
 *
 * Who runs what, in order (K: the keeper, L: the launcher, L1 and L2: Landlock domains):
 *   guardian   mor_confine_prepare()     opens pins, makes the scratch directory; t0: locks itself (L1)
 *   guardian   mor_confine_namespaces()  0: t0, and it clones L next (or an init that forks L)
 *                                        t1 (within.c): it clones K with these CLONE_NEW* flags
 *   K          mor_confine_init()        host name, mounts, pivot
 *   K          mor_confine_leave()       lets go of the host's tree; then K only waits
 *   guardian   mor_confine_forge()       at the same time: makes L1
 *   guardian   mor_confine_lock()        t1: locks itself (L1), then forks L, which joins K's namespaces
 *   guardian   mor_confine_fall_back()   AUTO, and t1 is not possible: t0 then, locked
 *   guardian   mor_confine_guard()       after the clone: drops capabilities
 *   L          (launch.c)                death signal, session, signals, limits, directory, umask,
 *                                        no_new_privs, close-on-exec
 *   L          mor_confine_enter()       capabilities, L2, seccomp; sends the listener; execve follows
 *   guardian   mor_confine_adopt()       has the listener: starts the broker's thread, filters both
 *   guardian   mor_confine_ended()       when mor_confine_fd() is readable: the broker has stopped
 *   guardian   mor_confine_end()         the tree is dead: removes the scratch directory, closes
 *
 * The guardian must signal its children and read its own list of them until the end. So at t1 L1 has no signal
 * scope, because K is outside of it, and the list is opened before mor_confine_prepare(). K itself writes the
 * uid_map of a new user namespace (own uid to own uid), before mor_confine_init().
 */
#ifndef MOR_JAIL_CONFINE_H
#define MOR_JAIL_CONFINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "policy/plan.h"

/* All return 0, or -1 with *failure filled: step, errno, and a text that names the missing kernel feature. A
 * failure ends the start with SETUP_FAILED: nothing runs with less confinement than asked. */

/* May change plan->env and plan->argv (arrays and strings are private to this process) and plan->cwd. Leaves
 * the level that will be in force in plan->level.level: MOR_LEVEL_T0 or MOR_LEVEL_T1, never AUTO. */
int mor_confine_prepare(struct mor_plan *plan, struct mor_setup_failure *failure);
unsigned mor_confine_namespaces(const struct mor_plan *plan);
/* The kernel refused a clone with these flags: *failure names the kind of namespace, and what to check.
 * Returns -1. */
int mor_confine_refused(unsigned namespaces, int error, struct mor_setup_failure *failure);
/* t1, before anything is cloned: protected paths in the workspace become immovable. */
int mor_confine_hold(struct mor_setup_failure *failure);
/* t1: the scratch directory is the one in the new tree of this process, and so are the files of an installed
 * plugin. 0 or -1 with errno. */
int mor_confine_take_scratch(const struct mor_plan *plan, pid_t keeper);
/* `proc` and `shm`: /proc and /dev/shm of the new tree. */
int mor_confine_forge(const struct mor_plan *plan, int proc, int shm, struct mor_setup_failure *failure);
int mor_confine_lock(const struct mor_plan *plan, struct mor_setup_failure *failure);
/* *failure is unchanged if t1 was asked for by name. */
int mor_confine_fall_back(struct mor_plan *plan, struct mor_setup_failure *failure);
int mor_confine_init(struct mor_plan *plan, struct mor_setup_failure *failure);
int mor_confine_leave(struct mor_setup_failure *failure);
int mor_confine_guard(struct mor_setup_failure *failure);
/* `channel` is a SOCK_SEQPACKET socket, close-on-exec; send the listener with mor_send_fd(). */
int mor_confine_enter(const struct mor_plan *plan, int channel, struct mor_setup_failure *failure);
/* `init`: its pid, or 0. */
int mor_confine_adopt(const struct mor_plan *plan, int listener, pid_t init, struct mor_setup_failure *failure);

/* What was refused and not told of yet; in deny mode most of it. Its fd is readable when there is more. */
struct mor_denied;
struct mor_denied *mor_confine_denied(void);
/* Was a new process refused because there were too many? */
bool mor_confine_was_full_of_processes(void);

int mor_confine_fd(void); /* readable when the broker has stopped; -1: it does not run */
/* 0, or 1: a violation, in violation->{violated,syscall,path,rule,text}; then the guardian kills the
 * plugin's processes. The question stays unanswered. */
int mor_confine_ended(struct mor_record *violation);
/* A process of the plugin was killed by SIGSYS (foreign ABI): is that a violation? Fills it like the above. */
int mor_confine_sigsys(struct mor_record *violation);
/* The view has changed: what may be read and written in it from now on. 0 or -errno: then nothing of it is
 * known. */
struct mor_view_texts;
int mor_confine_view(const struct mor_view_texts *grants);
/* Readable: call mor_confine_too_full(), which counts what the scratch directory holds; -1: nobody counts.
 * true: the plugin must be ended. was_full: its limit was reached. */
int mor_confine_quota_fd(void);
bool mor_confine_too_full(void);
bool mor_confine_was_full(void);
bool mor_confine_was_crowded(void); /* there were as many threads as it may have */
/* The directory that mor_confine_end() will remove, or "". */
const char *mor_confine_scratch(void);
/* Readable: call mor_confine_hear(), which counts who wrote what; -1: no undo. */
int mor_confine_watch_fd(void);
void mor_confine_hear(void);
/* The plugin's processes are dead. Ends the broker, so that all its news is known, and then what must be done
 * before the host acts on the end. alone: the host is dead, so the plugin's changes are undone, if that was
 * asked for. `last`: a violation that nobody has seen before the end. */
void mor_confine_end(bool alone, struct mor_record *last);
/* The last step, which nobody waits for: removes the scratch directory. */
void mor_confine_clean(void);

/* ---- from the launcher (launch.c) ---- */

/* Sends one descriptor in a message of one byte. 0 or -errno. */
int mor_send_fd(int channel, int fd);
/* Fills *failure from a format with %s %d %u, without stdio; returns -1. */
int mor_setup_fail(struct mor_setup_failure *failure, int step, int error, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
