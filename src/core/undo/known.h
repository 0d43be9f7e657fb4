/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known about each file that the plugin has changed or made, by device and inode.
 *
 * To know who wrote a file, we count: inotify reports every close of a descriptor that could write. We
 * opened the plugin's descriptors ourselves. So when it is dead, there must be no more closes than that.
 * mor_undo_hear() (undo.h) counts, in the guardian's first thread; the broker does everything else.
 */
#ifndef MOR_UNDO_KNOWN_H
#define MOR_UNDO_KNOWN_H

#include "undo/undo.h"

struct mor_undo_known {
	struct mor_undo_id id;
	char *path;           /* its present name; NULL: it is gone, or has no name */
	uint64_t copy, bytes; /* saved: its first content, and since when */
	int64_t atime_ns, mtime_ns;
	uint32_t opens;   /* opened by us for writing */
	int32_t watch;    /* -1: none                                */
	bool ours, saved; /* made by the plugin; its content is in the journal */
};

/* NULL: nothing is known about it. */
struct mor_undo_known *mor_undo_known_find(struct mor_undo *undo, const struct mor_undo_id *id);
/* Finds it, or adds it with its name below the workspace. NULL: no memory. The pointer is valid until the next
 * one is added. */
struct mor_undo_known *mor_undo_known_add(struct mor_undo *undo, const struct mor_undo_id *id,
					  const char *path);
/* From now on, closes of this file are counted. Without a watch, we notice only what is written after the
 * plugin's end. */
void mor_undo_known_watch(struct mor_undo *undo, struct mor_undo_known *known, int fd);

#endif
