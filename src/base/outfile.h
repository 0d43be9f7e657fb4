/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that is there whole or not at all.
 *
 * Its bytes go to a file without a name, in the directory where it belongs; commit gives it its name, over what lies there. Who
 * is killed before that leaves nothing behind, and what lay there stays as it was. (Where the file system has no files without
 * a name, a killed process leaves one called .mortise- and a number.)
 *
 * A link keeps pointing: what it leads to is replaced. The mode of what lies there is kept, owner and group where we may; a new
 * file gets the mode that was asked for, less the umask. What cannot be replaced (a pipe, a device, a file that is a mount
 * point) is written in place, as its bytes come. "-" is stdout.
 *
 * Nothing is synced: this holds against the death of the process, not of the machine.
 */
#ifndef MOR_BASE_OUTFILE_H
#define MOR_BASE_OUTFILE_H

#include <stdbool.h>
#include <sys/types.h>

#include <mortise/mortise.h>

/* Where a file belongs, once links are followed. */
struct mor_outplace {
	char *path;
	bool there;    /* something lies there, and we may write to it           */
	bool in_place; /* it cannot be replaced                                  */
	int descriptor; /* it is this one of ours (-, /dev/stdout, /dev/fd/N); -1: it is none */
	mode_t mode;   /* of what lies there                                     */
	uid_t uid;
	gid_t gid;
};

struct mor_outfile {
	int fd; /* to write to; -1: none is open */
	struct mor_outplace place;
	char *name; /* of the file beside, where it has one */
};
/* clang-format off */
#define MOR_OUTFILE_INIT { .fd = -1 }
/* clang-format on */

/* MORTISE_EINPUT, MORTISE_ENOTFOUND (no such directory): the text names the path. On success free it with _fini(). */
int mor_outplace_find(const char *path, struct mor_outplace *ret, mortise_error *err);
void mor_outplace_fini(struct mor_outplace *place);
char *mor_outplace_dir(const struct mor_outplace *place); /* where it lies, for mor_free(); NULL: no memory */
int mor_outplace_open(const struct mor_outplace *place); /* what is in_place, to write to; -1 and errno */
/* Makes `fd` look like what lies there: mode, group, owner. Nothing lies there: it stays as it is. */
void mor_outplace_dress(const struct mor_outplace *place, int fd);

int mor_outfile_open(const char *path, mode_t mode, struct mor_outfile *ret, mortise_error *err);
/* Everything is written: it gets its name. On failure the file is dropped. */
int mor_outfile_commit(struct mor_outfile *file, mortise_error *err);
void mor_outfile_drop(struct mor_outfile *file); /* without a trace; also after a commit, or when none is open */

#endif
