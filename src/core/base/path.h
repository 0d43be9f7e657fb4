/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as texts; the last two look at the file system. Those that return a text: for mor_free(),
 * NULL: no memory. */
#ifndef MOR_BASE_PATH_H
#define MOR_BASE_PATH_H

#include "base/buf.h"

char *mor_path_join(const char *dir, const char *name); /* an absolute name stays as it is */
char *mor_path_absolute(const char *path);              /* relative to our working directory */
bool mor_path_climbs(const char *path);                 /* has a ".." among its parts */
/* Of a word that a person typed for a plugin: it is a name, whatever lies here. A path has a slash, or is "."
 * or ".."; who means a file says so. */
bool mor_path_is_name(const char *word);
/* `path` is `dir`, or lies below it. Both are clean; `dir` has `dir_len` bytes and no slash at its end. */
bool mor_path_is_within(const char *path, const char *dir, size_t dir_len);
/* The same with both lengths known, for lists: one byte tells most paths apart, where the other compares all
 * that "/usr/share/a" and "/usr/share/b" have in common. */
static inline bool mor_path_len_is_within(const char *path, size_t len, const char *dir, size_t dir_len)
{
	return len >= dir_len && (len == dir_len || path[dir_len] == '/') && memcmp(path, dir, dir_len) == 0;
}
/* Appends dir/path (path alone when it is absolute or dir is
 * "") without ".", "..", "//" and a "/" at the end: "a/./b/../c" is "a/c", "../x" stays, "/.." is "/", nothing
 * is ".". Returns 0 or the buffer's status. */
int mor_path_clean(const char *dir, const char *path, struct mor_buf *out);
char *mor_path_cleaned(const char *dir, const char *path); /* the same, for mor_free(); NULL: no memory */
/* The rest of a clean path below a clean directory; NULL if it is not below it. "/" contains all absolute
 * paths, "" all others. */
const char *mor_path_below(const char *dir, const char *path);

bool mor_path_is_file(const char *path);
bool mor_path_same(const char *a, const char *b); /* by inode: links are followed */

#endif
