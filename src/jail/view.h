/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view: files of a stage over the plugin's own tree, switched while it runs (docs/design/0003-jail.md).
 *
 * Three mount namespaces take part, all owned by the plugin's user namespace:
 *   host     a copy of the host's tree, in which nobody lives: from it come stage and writable directories
 *   plugin   what the plugin sees: its root is a small tmpfs, on which the host's top-level directories
 *            (guarded) or the files of its rules (t1) hang; a view lies on top, one mount per touched
 *            top-level directory
 *   shop     a copy of the plugin's without a view: there the new mounts are put together, seen by nobody. It
 *            serves the next order too, unless something had to be mounted in it
 *
 * The maker is a process of its own: the guardian of a confined plugin has given up the system calls for this
 * by the time of the first order. With that it enters the plugin's user namespace, and stays; between orders it
 * waits in `host`. It keeps all capabilities there, so the plugin, which has none, can neither trace it nor
 * look at what it holds.
 *
 * Who runs what:
 *   guardian  mor_view_begin()    before the launch: forks the maker
 *   launcher  mor_view_split()    in the new namespaces, before its root is made: hands them to the maker
 *             mor_view_enter()    the same, and a root with all that the host has (guarded)
 *   guardian  mor_view_order()    passes an order on
 *             mor_view_receive()  its answer, when mor_view_fd() is readable
 *   maker     mor_view_make()     one order
 */
#ifndef MOR_JAIL_VIEW_H
#define MOR_JAIL_VIEW_H

#include <stddef.h>

#include "policy/plan.h"

enum { MOR_VIEW_BYTES = 24 * 1024 };

/* Each text is a letter and a name, and ends with NUL. */
struct mor_view_texts {
	uint32_t used;
	char bytes[MOR_VIEW_BYTES];
};
/* 0 or -ENOSPC. */
int mor_view_add(struct mor_view_texts *texts, char letter, const char *name);
/* The next after `after` (NULL: the first); NULL: none. */
const char *mor_view_next(const struct mor_view_texts *texts, const char *after);

/* a top-level name: covers the existing one; a new one for the view */
enum { MOR_PLACE_OVER = 'o', MOR_PLACE_MADE = 'm' };
enum { MOR_GRANT_READ = 'r', MOR_GRANT_WRITE = 'w' }; /* an absolute path, for the broker */

struct mor_view_answer {
	struct mor_setup_failure failure; /* step 0: none                                          */
	uint32_t changed;                 /* from now on these grants replace the earlier ones */
	struct mor_view_texts grants;     /* only the used part is sent */
};

enum mor_view_namespace { MOR_VIEW_USER, MOR_VIEW_HOST, MOR_VIEW_PLUGIN, MOR_VIEW_NAMESPACES };

/* All: 0, or -1 with *failure filled. Without MOR_JAIL_VIEW in the plan nothing is done. */
int mor_view_begin(const struct mor_plan *plan, struct mor_setup_failure *failure);
int mor_view_split(const struct mor_plan *plan, struct mor_setup_failure *failure);
int mor_view_enter(const struct mor_plan *plan, struct mor_setup_failure *failure);

int mor_view_fd(void); /* -1: no maker */
/* 0, -ENOTCONN: no maker (any more), -errno */
int mor_view_order(const struct mor_guard_order *order, size_t size);
/* 1: an answer; 0: none now; -1: the maker has ended, and nobody knows what the plugin sees. */
int mor_view_receive(struct mor_view_answer *ret);

/* texts: as in struct mor_guard_order; the last byte is NUL. Returns only if it is known what the plugin
 * sees. */
void mor_view_make(const int namespaces[MOR_VIEW_NAMESPACES], const char *texts, size_t size,
		   struct mor_view_answer *ret);

#endif
