/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of records, as text: nothing here looks at a file system. */
#ifndef MOR_KYTHE_UNIT_PATH_H
#define MOR_KYTHE_UNIT_PATH_H

#include "base/buf.h"

/* Appends dir/path (path alone when it is absolute or dir is "") without ".", "..", "//" and a "/" at the end: "a/./b/../c"
 * is "a/c", "../x" stays, "/.." is "/", nothing is ".". Returns 0 or the buffer's status. */
int mor_path_clean(const char *dir, const char *path, struct mor_buf *out);
/* What is left of a clean path below a clean directory; NULL when it does not lie below it. "/" and "" hold everything
 * that is (not) absolute. */
const char *mor_path_below(const char *dir, const char *path);

#endif
