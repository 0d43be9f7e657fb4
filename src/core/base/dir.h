/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and removes directories. Existing ones are not changed. The owner gets all its bits of `mode`, whatever
 * the umask says: under one such as 0177 nobody could enter a directory that mkdir() made.
 */
#ifndef MOR_BASE_DIR_H
#define MOR_BASE_DIR_H

#include <stdbool.h>
#include <sys/types.h>

/* One directory, which must be new. 0 or -errno. */
int mor_dir_make(int at, const char *name, mode_t mode);
/* `path` with all missing parents, like `mkdir -p`; relative to the directory `at` (AT_FDCWD). 0 or -errno. */
int mor_dir_make_all(int at, const char *path, mode_t mode);
/* The directory `name` in `at`, opened with `flags` (O_PATH, or 0 to read). It is never a link. *ret_made
 * says whether it is new; it may be NULL. A descriptor or -errno. */
int mor_dir_make_open(int at, const char *name, mode_t mode, int flags, bool *ret_made);
/* Removes it and everything below it, at any depth; links are not followed. What cannot be removed stays. */
void mor_dir_remove_all(int at, const char *name);

#endif
