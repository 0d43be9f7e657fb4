/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of an installed plugin between the host's check and the start (docs/design/0008-store.md). The host
 * tells what stood for each file's content when it was checked: device, inode, size, and two times. What runs
 * must still have all of them. So a file that was replaced or rewritten meanwhile is not run.
 *
 * guarded, t0: a program of the plugin is opened, held against writers, compared, and executed by its handle. A
 * script is compared, but its interpreter opens it later, by its name; so it does with what a script loads. t1:
 * the plugin sees a copy of the files in memory, each compared before and after it was read.
 */
#ifndef MOR_JAIL_CHECKED_H
#define MOR_JAIL_CHECKED_H

#include "policy/plan.h"

/* Above these there is no copy: the files are compared when the tree is made, and shown as they are. */
enum { MOR_CHECKED_COPIED_FILES = 2000, MOR_CHECKED_COPIED_BYTES = 16 << 20 };

/* In the launcher, before its lock. The handle to execute plan->argv[0] by; -1: execute it by its name; -2: it
 * is not what was checked. */
int mor_checked_open(const struct mor_plan *plan);
/* The same as execve(), by the handle. Returns only on failure, with errno. */
void mor_checked_execute(int fd, const struct mor_plan *plan);

/* Is there a copy? How many bytes it takes, with something for each file. 0: there is no copy. */
uint64_t mor_checked_size(const struct mor_plan *plan);
/* Compares all files below `from`, and copies them to `onto` if that is not -1. 0, or -errno; -ESTALE:
 * *ret_name was changed. */
int mor_checked_take(const struct mor_plan *plan, int from, int onto, const char **ret_name);

#endif
