/* SPDX-License-Identifier: Apache-2.0 */
/* Only for staging: the directories of a stage, and links to contents in them. */
#ifndef MOR_KYTHE_STAGE_TREE_H
#define MOR_KYTHE_STAGE_TREE_H

#include "kythe/stage/items.h"

#define MOR_STAGE_TREE_DEPTH 64

struct mor_stage_tree {
	int root, blobs; /* borrowed */
	/* A place beside the tree. Directories that the tree no longer needs are kept there, empty, until it
	 * needs some again. Making and removing a directory costs much more than renaming it. */
	int parent; /* its parent directory; borrowed */
	char spare_name[32];
	unsigned *spare_count;
	/* Private: */
	int spare;
	const char *path; /* path of the last file added. Files are sorted: the next one shares most of it */
	int fds[MOR_STAGE_TREE_DEPTH + 1];     /* the directories on that path; [0] is the root */
	size_t ends[MOR_STAGE_TREE_DEPTH + 1]; /* where each of them ends in `path` */
	unsigned depth;
};

void mor_stage_tree_init(struct mor_stage_tree *tree, int root, int blobs);
void mor_stage_tree_fini(struct mor_stage_tree *tree); /* closes its descriptors; the files stay */

/* Removes the items of `old` that `gone` marks, and the directories that become empty. */
void mor_stage_tree_clear(struct mor_stage_tree *tree, const struct mor_stage_items *old,
			  const struct mor_stage_items *now, const bool *gone);
/* 0 or -errno. The item's path stays valid until the next call. */
int mor_stage_tree_put(struct mor_stage_tree *tree, const struct mor_stage_item *item);
int mor_stage_tree_make_dir(struct mor_stage_tree *tree, const char *path); /* with its parents; "" is fine */

#endif
