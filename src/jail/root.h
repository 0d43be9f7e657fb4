/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small file tree of level t1: the same absolute names as on the host, but only those that a rule names.
 * It is built in a separate mount namespace, by the first process of the PID namespace, which must not be
 * under Landlock.
 */
#ifndef MOR_JAIL_ROOT_H
#define MOR_JAIL_ROOT_H

#include "jail/paths.h"

/* The small tree, complete and read-only, becomes the caller's root and working directory. -ESTALE: *step names
 * a file of an installed plugin that was changed. But for a process that joins the namespace, the host's tree
 * still lies on top, so nobody may join yet. 0 or -errno; *step says what was refused. After a failure the
 * caller must end. */
int mor_root_make(const struct mor_paths *paths, const struct mor_plan *plan, const char **step);
/* Releases the host's tree. That takes effect at once, but the kernel makes the caller wait for a tenth of a
 * millisecond or, on a busy machine, for several. */
int mor_root_leave(const char **step);

/* Both with every top-level name of the host: nothing is hidden, but more can be mounted there (view.h). The
 * caller's working directory stays the same, unless the plan has one. */
int mor_root_whole(const struct mor_plan *plan, const char **step);

/* ---- mount.c ---- */

#define MOR_MOUNT_SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) /* <sys/mount.h> */

/* A canonical name below a handle on a root, O_PATH. -errno. */
int mor_mount_open(int root, const char *name);
/* A copy of `from`, with all mounts in it, as a detached mount. -errno. */
int mor_mount_copy(int from, uint64_t attributes);
/* A detached tmpfs that holds at most `size` bytes. -errno. */
int mor_mount_tmpfs(uint64_t size);

#endif
