/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes files, directories and links below one directory and nowhere else. No path is followed through a link.
 * Paths have passed mor_content_name_check(). All return 0 (or a descriptor) or -errno.
 */
#ifndef MOR_BUNDLE_PLACE_H
#define MOR_BUNDLE_PLACE_H

#include <stdbool.h>

#include "bundle/unpack.h"

/* `path` and the directories that lead to it */
int mor_place_dir(int root, const char *path);
/* A new file to write, with the directories that lead to it. -EEXIST: there is one. */
int mor_place_file(int root, const char *path, bool executable);
int mor_place_link(int root, const char *path, const char *target);
/* A regular file that is there, to read. */
int mor_place_open(int root, const char *path);
/* Follows the link as a program would. -EXDEV: it leads out of root; -ENOENT: to nothing; -ELOOP. */
int mor_place_follow(int root, const char *path);

/* If all that root holds is one directory, its content takes its place. */
struct mor_place_top {
	char name[MOR_BUNDLE_TOP]; /* "": nothing was left out */
};
int mor_place_hoist(int root, struct mor_place_top *ret);
/* Removes everything in root; root stays. */
void mor_place_clear(int root);

#endif
