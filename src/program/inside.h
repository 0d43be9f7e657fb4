/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of this room. */
#ifndef MOR_PROGRAM_INSIDE_H
#define MOR_PROGRAM_INSIDE_H

#include "program/resolve.h"

bool mor_program_is_executable(const char *path);

/* The first line of a script. The kernel reads at most 256 bytes, and passes the rest of the line as ONE
 * argument. */
struct mor_shebang {
	char interpreter[256], argument[256];
};
/* false: not a script, or not readable. */
bool mor_shebang_read(const char *path, struct mor_shebang *ret);

#endif
