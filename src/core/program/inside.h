/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room. */
#ifndef MOR_PROGRAM_INSIDE_H
#define MOR_PROGRAM_INSIDE_H

#include "program/resolve.h"

bool mor_program_is_executable(const char *path);

/* For a program that does not exist: if its name looks like a whole command line, what to write instead,
 * "; write a list: [...]". "" for others. */
enum { MOR_LIST_HINT = 140 };
const char *mor_program_list_hint(const char *path, char out[static MOR_LIST_HINT]);

/* The first line of a script. The kernel reads at most 256 bytes, and passes the rest of the line as ONE
 * argument. */
struct mor_shebang {
	char interpreter[256], argument[256];
};
/* false: not a script, or not readable. */
bool mor_shebang_read(const char *path, struct mor_shebang *ret);

/* shim.c: a file that pyenv or one of its kin has put in front of a program. `out` is filled with
 * RESOLVED only. */
enum mor_shim { MOR_SHIM_NONE, MOR_SHIM_RESOLVED, MOR_SHIM_EMPTY };
enum mor_shim mor_program_behind_shim(const struct mor_command *command, const char *program,
				      char out[PATH_MAX]);

#endif
