/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that appears complete or not at all.
 *
 * Its bytes go to an unnamed file in the same directory. Commit gives it its name and replaces the old file.
 * A process that is killed before leaves nothing behind, and the old file stays unchanged. (On a file system
 * without unnamed files, a killed process leaves a file called .mortise- and a number.)
 *
 * A link is kept: its target is replaced. The mode of the old file is kept, owner and group if we may. A new
 * file gets the mode that was asked for, minus the umask. What cannot be replaced (a pipe, a device, a file
 * that is a mount point) is written in place. "-" is stdout.
 *
 * Nothing is synced: this protects against the death of the process, not of the machine.
 */
#ifndef MOR_BASE_OUTFILE_H
#define MOR_BASE_OUTFILE_H

#include <sys/types.h>

#include <mortise/mortise.h>

#include "base/slice.h"

/* The place of a file, after links are followed. */
struct mor_outplace {
	char *path;
	bool there;     /* a file exists there, and we may write to it */
	bool in_place;  /* it cannot be replaced                                  */
	int descriptor; /* it is this open descriptor (-, /dev/stdout, /dev/fd/N); -1: a file with a name */
	mode_t mode;    /* of the existing file */
	uid_t uid;
	gid_t gid;
};

struct mor_outfile {
	int fd; /* to write to; -1: none is open */
	struct mor_outplace place;
	char *name; /* name of the temporary file, if it has one */
};
/* clang-format off */
#define MOR_OUTFILE_INIT { .fd = -1 }
/* clang-format on */

/* MORTISE_EINPUT, MORTISE_ENOTFOUND (no such directory): the text names the path. On success free it
 * with _fini(). */
int mor_outplace_find(const char *path, struct mor_outplace *ret, mortise_error *err);
void mor_outplace_fini(struct mor_outplace *place);
char *mor_outplace_dir(const struct mor_outplace *place); /* its directory, for mor_free(); NULL: no memory */
/* opens a place that is in_place, for writing; -1 and errno */
int mor_outplace_open(const struct mor_outplace *place);
/* Gives `fd` the mode, group and owner of the existing file. Without one, nothing changes. */
void mor_outplace_dress(const struct mor_outplace *place, int fd);

int mor_outfile_open(const char *path, mode_t mode, struct mor_outfile *ret, mortise_error *err);
/* Everything is written: the file gets its name. On failure the file is dropped. */
int mor_outfile_commit(struct mor_outfile *file, mortise_error *err);
/* All three for a text that is whole. */
int mor_outfile_write(const char *path, mode_t mode, struct mor_slice text, mortise_error *err);
/* leaves no trace; also fine after a commit, or if none is open */
void mor_outfile_drop(struct mor_outfile *file);

#endif
