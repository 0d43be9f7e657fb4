/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs that come with the library and the command, but are on nobody's PATH: mortise-jail and
 * mortise-full.
 *
 * They are sought from the file that holds this code: libmortise.so or, where libmortise is linked in
 * statically, the program. First beside it (a build directory, a bundle), then where the installed layout has
 * them. Neither PATH nor the environment nor the working directory has a say, so that a prefix can be moved as
 * a whole and nobody else can slip a program in. What others could have written is not run:
 * docs/design/0005-install.md says who "others" are.
 */
#ifndef MOR_PROGRAM_HELPER_H
#define MOR_PROGRAM_HELPER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#define MOR_PROGRAM_FAULT 256

/* Where the program `name` is, in `path`. `fault`: why it must not be run and what to do, or "". Whether it is
 * there at all is seen when it is run. Returns `path`. */
const char *mor_program_find(const char *name, char path[PATH_MAX], char fault[MOR_PROGRAM_FAULT]);

/* The same for mortise-jail, which is sought once and judged each time. `asked`, when not NULL, is taken as it
 * is: who names a helper answers for it. */
const char *mor_helper_find(const char *asked, char fault[MOR_PROGRAM_FAULT]);

/* Whether nobody but us, root and `keeper` (the owner of the code that runs already) can write the file or put
 * another one in its place. A file that is not there is fine: whoever opens it will see. */
bool mor_file_is_ours(const char *path, uid_t keeper, char fault[MOR_PROGRAM_FAULT]);

#endif
