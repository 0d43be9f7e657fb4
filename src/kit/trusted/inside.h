/* SPDX-License-Identifier: Apache-2.0 */
/* For the files of src/kit/trusted alone. */
#ifndef MOR_TRUSTED_INSIDE_H
#define MOR_TRUSTED_INSIDE_H

#include "trusted/trusted.h"

#define MOR_TRUSTED_SHOWN 600 /* a path in a text, made printable */

/* Where the list is. *ret_file NULL: there is no place; *ret_older NULL: no older list, or it does not count
 * because a variable names the list. */
int mor_trusted_place(char **ret_file, char **ret_older, mortise_error *err);

/* Clean, with links followed if the path exists; NULL: no memory. `path` is absolute. */
char *mor_trusted_canonical(const char *path);

/* Who besides this user and root could change what a path without links names? 0: nobody; 1: somebody, *ret
 * says who and what to do; or MORTISE_ENOMEM. Its parents count, too: a user who can rename them can replace
 * it. What does not exist is safe. `names`: only the names in a directory count: in one like /tmp, nobody else
 * can change those that are ours. */
int mor_trusted_exposed(const char *path, bool names, char **ret, mortise_error *err);
/* The last part alone. */
int mor_trusted_exposed_self(const char *path, bool names, char **ret, mortise_error *err);

#endif
