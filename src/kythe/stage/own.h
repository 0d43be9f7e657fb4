/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the stager: its directory below stages/ is locked while it lives. A process id would not tell whether it does: it
 * is used again, and means somebody else in a container that shares the cache.
 */
#ifndef MOR_KYTHE_STAGE_OWN_H
#define MOR_KYTHE_STAGE_OWN_H

#include <stdbool.h>

/* With everything below it, however deep; symbolic links are not followed. What cannot be removed stays. */
void mor_remove_tree_at(int parent, const char *name);
/* All directories in it that nobody holds the lock of: they were left by a run that was killed. */
void mor_remove_orphans(int all_stages);
/* Locks a directory that was just made. false: somebody who looks for orphans saw it first, and took it away. */
bool mor_stage_is_own(int all_stages, const char *name, int fd);

#endif
