/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs that come with the library and the command, but are not in PATH: mortise-jail, and those that
 * `mortise` executes.
 *
 * The search starts at the file that holds this code: libmortise.so or, if libmortise is linked in statically,
 * the program. First its own directory is searched (a build directory, a bundle), then the place in the
 * installed layout. PATH, the environment and the working directory have no influence. So a whole prefix can be
 * moved, and nobody else can make us run another program. A file that others could have written is not run:
 * docs/design/0005-install.md says who "others" are.
 */
#ifndef MOR_PROGRAM_HELPER_H
#define MOR_PROGRAM_HELPER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define MOR_PROGRAM_FAULT 256

/* Finds the program `name` and writes it to `path`. `fault`: why it must not be run and what to do, or "".
 * Whether it exists is checked when it is run. Returns `path`. */
const char *mor_program_find(const char *name, char path[PATH_MAX], char fault[MOR_PROGRAM_FAULT]);

/* The same for a file or directory that comes with mortise-full: templates, SDKs. It lies in share/mortise/,
 * beside the program in a build directory (a link), or where it was installed. */
const char *mor_data_find(const char *name, char path[PATH_MAX], char fault[MOR_PROGRAM_FAULT]);

/* The same for mortise-jail, which is searched once and checked each time. `asked`, if not NULL, is used
 * without a check: the caller is responsible for it. */
const char *mor_helper_find(const char *asked, char fault[MOR_PROGRAM_FAULT]);
/* If that helper does not exist: where else it was searched, and what to do. "" if it was `asked` for. */
enum { MOR_HELPER_HINT = 128 };
const char *mor_helper_missing(const char *asked, char hint[static MOR_HELPER_HINT]);

/* The code that runs. Who owns it, or a directory on the way to it, decides already what this process does. */
struct mor_running_code {
	const char *path; /* of its file: absolute, links resolved; "": not known */
	uid_t owner;
};

/* Checks that only we, root and the owner of `code` can write or replace the file; each directory from / to it
 * is looked at. If so, the name stays the name of that file. `path` is absolute. A missing file is fine:
 * opening it will fail. */
bool mor_file_is_ours(const char *path, const struct mor_running_code *code, char fault[MOR_PROGRAM_FAULT]);

#endif
