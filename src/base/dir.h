/* SPDX-License-Identifier: Apache-2.0 */
/* Making directories. What is there already stays as it is. */
#ifndef MOR_BASE_DIR_H
#define MOR_BASE_DIR_H

#include <stdbool.h>
#include <sys/types.h>

/* `path` with all that is missing above it, as `mkdir -p` does; relative to the directory `at` (AT_FDCWD). 0 or -errno. */
int mor_dir_make_all(int at, const char *path, mode_t mode);
/* The directory `name` in `at`, opened with `flags` (O_PATH, or 0 to read); it is never a link. Tells whether it was
 * made now; `ret_made` may be NULL. A descriptor or -errno. */
int mor_dir_make_open(int at, const char *name, mode_t mode, int flags, bool *ret_made);

#endif
