/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only for the stager: its directory below stages/ is locked while it lives. A process id would not be
 * enough: ids are used again, and mean another process in a container that shares the cache.
 */
#ifndef MOR_KYTHE_STAGE_OWN_H
#define MOR_KYTHE_STAGE_OWN_H

#include <stdbool.h>

/* Removes all directories in it that nobody has locked: a killed run left them. */
void mor_remove_orphans(int all_stages);
/* Locks a directory that was just made. false: another process that removes orphans was faster. */
bool mor_stage_is_own(int all_stages, const char *name, int fd);

#endif
