/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging: the files of a record, put where an analyzer will find them.
 *
 * Contents are kept once, by digest, in a cache that outlives units and runs (CACHE/blobs/DIGEST); what is
 * there already, unchanged, is not written again (blobs.h). A stage is a directory tree of hard links into it:
 * CACHE/stages/OWNER/N/usr/include/x.h for the record's /usr/include/x.h. Equal contents are one inode. OWNER
 * is locked while its stager lives.
 *
 * Paths come from archives and are hostile. They are cleaned as text against the working directory before
 * anything is made, a stage holds no symbolic links, and everything is made relative to the stage's own
 * descriptor: a path cannot name anything outside.
 */
#ifndef MOR_KYTHE_STAGE_STAGE_H
#define MOR_KYTHE_STAGE_STAGE_H

#include <stdint.h>

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "kythe/archive/kzip.h"
#include "kythe/unit/unit.h"

struct mor_stager;

/* cache: absolute or relative path of a directory; it is made if needed (0700). NULL: the user's own. Stages in
 * it that no living process owns are removed. MORTISE_ESYSTEM, MORTISE_EINPUT with a text. */
int mor_stager_new(const char *cache, struct mor_stager **ret, mortise_error *err);
/* the files it made stay. NULL is fine; returns NULL */
struct mor_stager *mor_stager_free(struct mor_stager *stager);
MOR_FINI_BY_FREE(mor_stager);

const char *mor_stager_path(const struct mor_stager *stager); /* of the cache, absolute */

struct mor_stager_stats {
	uint64_t written, written_bytes; /* contents that were missing or wrong */
	uint64_t mended;                 /* of these: present, but changed */
	uint64_t linked;                 /* files of stages                                    */
};
struct mor_stager_stats mor_stager_stats(const struct mor_stager *stager);

enum mor_stage_mode {
	MOR_STAGE_ROOT, /* the tree is "/": for a view of the file system */
	MOR_STAGE_DIR   /* the tree is the working directory (the analyzer is told its new path), and as
			     much above it as the record's "../" need. Absolute paths cannot be shown: this
			     machine must have a file with that name and content, or the record is refused */
};

/* A tree that is changed from one unit to the next: consecutive units share most of their files, so only the
 * differences are changed. Begin with { 0 }. It must not be visible to an analyzer while it is changed. */
struct mor_stage {
	char *path;        /* absolute, of the tree; NULL: not made yet                                 */
	char *working_dir; /* absolute; the path that the analyzer is told */
	const char **directories; /* relative to it, the deepest ones; NULL-terminated, one block */
	void *items;              /* the files in it now */
	unsigned spares; /* empty directories beside it, for the next unit                            */
};

/* Fits one of `count` stages to a unit: the one that differs least from it. *shown may still be visible, so it
 * is taken only if it already fits, or if there is no other. The chosen stage becomes *shown; after a failure
 * *shown is unchanged. MORTISE_EINPUT with a text that names the path: an input that the archive lacks or whose
 * bytes do not match its digest, a path that is both a file and a directory, one path with two contents, a path
 * that the mode cannot show. A chosen stage that could not be changed is empty. Free with mor_stage_drop(). */
int mor_stage_fit_nearest(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_unit *unit,
			  enum mor_stage_mode mode, struct mor_stage *stages, unsigned count, unsigned *shown,
			  mortise_error *err);
/* removes the tree; an empty stage is fine */
void mor_stage_drop(struct mor_stager *stager, struct mor_stage *stage);

/* Makes an empty directory (0700) beside the stages, for an analyzer's output. The caller owns its absolute
 * path and must drop it: mor_stage_drop() with only this path set. */
int mor_stage_dir(struct mor_stager *stager, char **ret_path, mortise_error *err);

/* ---- the text part, for tests ---- */

/* The working directory that an analyzer is told: the unit's, if it is absolute; else one of ours, deep
 * enough for the longest chain of "../" in the record. */
int mor_stage_working_dir(const struct mor_unit *unit, struct mor_buf *out);

#endif
