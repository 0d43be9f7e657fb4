/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Staging: the files of a record, put where an analyzer will find them.
 *
 * Contents are kept once, by digest, in a cache that outlives units and runs (CACHE/blobs/DIGEST); what was there
 * before, and is what it was, is not written again (blobs.h). A stage is a directory tree of hard links into it: CACHE/stages/OWNER/N/usr/include/x.h for
 * the record's /usr/include/x.h. Equal contents are one inode. OWNER is locked while its stager lives.
 *
 * Paths come from archives and are hostile. They are cleaned as text against the working directory before anything is made,
 * a stage holds no symbolic links, and everything is made relative to the stage's own descriptor: a path cannot name
 * anything outside.
 */
#ifndef MOR_KYTHE_STAGE_STAGE_H
#define MOR_KYTHE_STAGE_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "kythe/archive/kzip.h"
#include "kythe/unit/unit.h"

struct mor_stager;

/* cache: absolute or relative path of a directory, made if need be (0700). Its stages that no process owns any more are
 * removed. MORTISE_ESYSTEM, MORTISE_EINPUT with a text. */
int mor_stager_new(const char *cache, struct mor_stager **ret, mortise_error *err);
struct mor_stager *mor_stager_free(struct mor_stager *stager); /* what was made of it stays. NULL is fine; returns NULL */
static inline void mor_stager_fini(struct mor_stager **stager)
{
	*stager = mor_stager_free(*stager);
}

const char *mor_stager_path(const struct mor_stager *stager); /* of the cache, absolute */

struct mor_stager_stats {
	uint64_t written, written_bytes; /* contents that were not there, or not as they should be */
	uint64_t mended;                 /* of these: were there, but altered                  */
	uint64_t linked;                 /* files of stages                                    */
};
struct mor_stager_stats mor_stager_stats(const struct mor_stager *stager);

enum mor_stage_mode {
	MOR_STAGE_ROOT, /* the tree is "/": for a view of the file system                                             */
	MOR_STAGE_DIR   /* the tree is the working directory, which is told anew, and as much above it as the record's "../" want.
			   Absolute paths cannot be shown: the machine's own file must be there under that name, with the very
			   content; else the record is refused                                                              */
};

/* A tree that is made to fit one unit after the other: consecutive units share most of their files, so only what differs is
 * touched. Begin with { 0 }. It must not be shown while it is changed. */
struct mor_stage {
	char *path;        /* absolute, of the tree; NULL: there is none yet                            */
	char *working_dir; /* absolute, as the analyzer shall be told                                   */
	const char **directories; /* relative to it, those that hold no other; NULL-terminated, one block    */
	void *items;       /* what lies in it now                                                       */
	unsigned spares;   /* empty directories beside it, for the next unit                            */
};

/* MORTISE_EINPUT with a text that names the path: an input that the archive lacks or whose bytes are not those of its
 * digest, a path that is both a file and a directory, one path with two contents, a path that the mode cannot show. Then,
 * and after any other failure, the stage is empty. Free with mor_stage_drop(). */
int mor_stage_fit(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_unit *unit, enum mor_stage_mode mode,
		  struct mor_stage *stage, mortise_error *err);
/* The same for one of several, at least two: that which differs least from the unit, but not *shown, which may still be seen,
 * unless that is as the unit wants it. Then it is *shown; after a failure *shown is as it was. */
int mor_stage_fit_nearest(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_unit *unit,
			  enum mor_stage_mode mode, struct mor_stage *stages, unsigned count, unsigned *shown, mortise_error *err);
void mor_stage_drop(struct mor_stager *stager, struct mor_stage *stage); /* removes the tree; an empty stage is fine */

/* An empty directory (0700) beside the stages, for an analyzer's output; its absolute path is the caller's, and so is to
 * drop it: mor_stage_drop() with this path alone. */
int mor_stage_dir(struct mor_stager *stager, char **ret_path, mortise_error *err);

/* ---- the text of it, for tests ---- */

/* The working directory that an analyzer is told: the unit's, if it is absolute; else one of our own, deep enough for the
 * longest run of "../" in the record. */
int mor_stage_working_dir(const struct mor_unit *unit, struct mor_buf *out);

#endif
