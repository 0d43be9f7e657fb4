/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of a farm (--store DIR): a directory that all machines see, with files named by their SHA-256.
 *
 *	DIR/mortise-store        the mark: without it, nothing is removed here
 *	DIR/kzips/ab/DIGEST      inputs of index
 *	DIR/files/ab/DIGEST      inputs of extract
 *	DIR/specs/ab/DIGEST      what a run is, as JSON (crew/spec.h)
 *	DIR/segments/ab/DIGEST   the results of batches (depot/segment.h)
 *	DIR/keys/ab/KEY          a text: the digest of the segment that was made for this key
 *	DIR/new/NAME             what is being written
 *
 * A file is written in new/, synced, and renamed to its digest; then its directory is synced. So a name that is
 * there has all its bytes, also after a machine was reset. Who reads it checks the digest all the same: the
 * store may be on a disk, or in hands, that nobody trusts. Names that come from elsewhere are checked to be
 * digests, so that they name nothing outside.
 *
 * What is made in DIR gets the mode and the group of DIR, so that owners and workers can be different users.
 */
#ifndef MOR_DEPOT_DEPOT_H
#define MOR_DEPOT_DEPOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/digest.h"

struct mor_depot;

enum mor_depot_kind {
	MOR_DEPOT_KZIP,
	MOR_DEPOT_FILE,
	MOR_DEPOT_SPEC,
	MOR_DEPOT_SEGMENT,
	MOR_DEPOT_KEY,
	MOR_DEPOT_KINDS
};

#define MOR_DEPOT_MARK "mortise-store"

enum mor_depot_use {
	MOR_DEPOT_READ, /* the segments of a manifest */
	MOR_DEPOT_WORK, /* it must have the mark */
	MOR_DEPOT_OWN   /* it gets the mark, if it is empty, or a store of the time when stores had none */
};
/* The directory must be there: who makes it says which disk it is on. MORTISE_ENOTFOUND, MORTISE_EINPUT with a
 * text. */
int mor_depot_open(const char *path, enum mor_depot_use use, struct mor_depot **ret, mortise_error *err);
struct mor_depot *mor_depot_free(struct mor_depot *depot); /* NULL is fine; returns NULL */
const char *mor_depot_path(const struct mor_depot *depot); /* absolute */

/* A path for mor_free(); NULL: no memory. */
char *mor_depot_name(const struct mor_depot *depot, enum mor_depot_kind kind, const char *digest);
void mor_depot_remove(const struct mor_depot *depot, enum mor_depot_kind kind, const char *digest);

/* A file that is being written. All bytes go through mor_depot_write(), which makes the digest. */
struct mor_depot_file {
	struct mor_depot *depot;
	int fd; /* -1: none is open */
	char *path;
	uint64_t bytes;
	struct sha256_ctx sha;
};
int mor_depot_create(struct mor_depot *depot, struct mor_depot_file *ret, mortise_error *err);
int mor_depot_write(struct mor_depot_file *file, const void *bytes, size_t len, mortise_error *err);
/* Back to where it was when `mark` was copied from it. */
int mor_depot_cut(struct mor_depot_file *file, const struct mor_depot_file *mark, mortise_error *err);
/* The file gets its name, and replaces one that has it: that one may be damaged. The file is closed, also when
 * this fails. */
int mor_depot_commit(struct mor_depot_file *file, enum mor_depot_kind kind, char ret_digest[MOR_DIGEST_SIZE],
		     mortise_error *err);
void mor_depot_drop(struct mor_depot_file *file); /* fine if none is open */

/* A copy of the file at `path`, if it is not there yet. */
int mor_depot_put_file(struct mor_depot *depot, enum mor_depot_kind kind, const char *path,
		       char ret_digest[MOR_DIGEST_SIZE], mortise_error *err);
int mor_depot_put_text(struct mor_depot *depot, enum mor_depot_kind kind, struct mor_slice text,
		       char ret_digest[MOR_DIGEST_SIZE], mortise_error *err);
/* Appends it. MORTISE_ENOTFOUND; MORTISE_EINPUT: it is not what its name says, or larger than `limit`. */
int mor_depot_get_text(const struct mor_depot *depot, enum mor_depot_kind kind, const char *digest,
		       size_t limit, struct mor_buf *out, mortise_error *err);
/* Opens it for reading and checks its digest. A descriptor, or the same errors. */
int mor_depot_open_file(const struct mor_depot *depot, enum mor_depot_kind kind, const char *digest,
			mortise_error *err);

/* Which segment was made for a key. The last one wins: all are as good. Not synced: a key that is lost costs
 * one more run. */
int mor_depot_key_set(struct mor_depot *depot, const char *key, const char *segment, mortise_error *err);
bool mor_depot_key_get(const struct mor_depot *depot, const char *key, char ret_segment[MOR_DIGEST_SIZE]);

/* Removes what is older than `days`, by the time of its last use (a key that is read is used): keys and
 * segments, then specs and kzips; and what was being written more than a day ago. What else lies in DIR stays,
 * and no link is followed. */
struct mor_depot_swept {
	uint64_t files, bytes;
};
struct mor_depot_keep {
	char (*digests)[MOR_DIGEST_SIZE]; /* these stay; they are sorted here */
	size_t count, cap;
};
int mor_depot_sweep(struct mor_depot *depot, unsigned days, struct mor_depot_keep *keep,
		    struct mor_depot_swept *ret, mortise_error *err);

#endif
