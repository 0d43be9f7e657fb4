/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of staging: the directories of a stage, and links to contents in them. */
#ifndef MOR_KYTHE_STAGE_TREE_H
#define MOR_KYTHE_STAGE_TREE_H

#include "kythe/stage/items.h"

#define MOR_STAGE_TREE_DEPTH 64

struct mor_stage_tree {
	int root, blobs; /* borrowed */
	/* Beside the tree: directories that it needs no more are kept in it, empty, until it needs others. Making and removing
	 * one costs a file system many times what renaming it does. */
	int parent;             /* where it lies; borrowed */
	char spare_name[32];
	unsigned *spare_count;
	/* Its own: */
	int spare;
	const char *path; /* of the file that was put last. Files come sorted: the next one shares most of the way */
	int fds[MOR_STAGE_TREE_DEPTH + 1]; /* the directories on that way; [0] is the root */
	size_t ends[MOR_STAGE_TREE_DEPTH + 1]; /* where in `path` each of them ends */
	unsigned depth;
};

void mor_stage_tree_init(struct mor_stage_tree *tree, int root, int blobs);
void mor_stage_tree_fini(struct mor_stage_tree *tree); /* its descriptors; what it has made stays */

/* Takes away what `old` has and `now` has not, as `gone` says of each, with the directories that nothing lies in any more. */
void mor_stage_tree_clear(struct mor_stage_tree *tree, const struct mor_stage_items *old, const struct mor_stage_items *now, const bool *gone);
/* 0 or -errno. The item's path stays valid until the next call. */
int mor_stage_tree_put(struct mor_stage_tree *tree, const struct mor_stage_item *item);
int mor_stage_tree_make_dir(struct mor_stage_tree *tree, const char *path); /* with those above it; "" is fine */


#endif
