/* SPDX-License-Identifier: Apache-2.0 */
/* Where the programs are that come with the library and the command, but are not on anybody's PATH. */
#ifndef MOR_PROGRAM_HELPER_H
#define MOR_PROGRAM_HELPER_H

#include <limits.h>
#include <stddef.h>

/* Where it was built, as long as we run from there; else where it was installed. Whether it is there is seen when it is run.
 * Returns `out`. */
const char *mor_program_path(const char *name, char out[PATH_MAX]);

/* Where mortise-jail is: as asked, else where it was built or installed. Never NULL; whether it is there is seen when it
 * is run. */
const char *mor_helper_path(const char *asked);

#endif
