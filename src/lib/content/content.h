/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree of files as a list: docs/design/0008-store.md. It says which files there are, what is in them, and
 * whether a directory is still the list that somebody has seen.
 *
 * Nothing is followed: every file is reached from a directory that is open, part by part, so that nobody can
 * swap a part for a link meanwhile. What is no file, link or directory is refused.
 */
#ifndef MOR_CONTENT_CONTENT_H
#define MOR_CONTENT_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/slice.h"

#define MOR_CONTENT_BYTES_MAX (512ull * 1024 * 1024) /* of all files */
#define MOR_CONTENT_FILES_MAX 20000                  /* files and links */
#define MOR_CONTENT_DEPTH_MAX 64                     /* directories inside each other */
/* A clock's tick, and file systems that count in whole seconds or pairs of them: a file that changed so
 * shortly before the list was made may have changed once more without a new time. */
#define MOR_CONTENT_FRESH_NS 2000000000ll

/* A file that has the same of all of these is the same, unless it is fresh. */
struct mor_content_identity {
	uint64_t device, inode, size;
	int64_t mtime_ns, ctime_ns;
};

struct mor_content_file {
	char *path;   /* relative, with "/" */
	char *target; /* of a link; NULL: it is a file */
	bool executable;
	uint64_t size;                /* a link: 0 */
	char sha256[MOR_DIGEST_SIZE]; /* a link: "" */
	struct mor_content_identity identity;
};

struct mor_content {
	struct mor_content_file *files; /* sorted by path, byte by byte */
	size_t count, cap;
	uint64_t bytes;
	/* when its making began, in the time of files; 0: identities mean nothing */
	int64_t made_ns;
	char digest[MOR_DIGEST_SIZE]; /* of the canonical text */
};

/* Lists everything below the open directory `dir`, which stays open. `shown` is its name in errors.
 * `known`: an older list of the same directory, or NULL: what has the same identity there is not read again.
 * MORTISE_EINPUT: something in it is not allowed, or changes meanwhile; MORTISE_ELIMIT; MORTISE_ESYSTEM;
 * MORTISE_ENOMEM. */
int mor_content_scan(int dir, const char *shown, const struct mor_content *known, struct mor_content *ret,
		     mortise_error *err);
/* The directory in which somebody writes the plugin: without .git and __pycache__, wherever they are in it. */
int mor_content_scan_source(int dir, const char *shown, struct mor_content *ret, mortise_error *err);
void mor_content_fini(struct mor_content *content);
/* NULL: the list has no such file. */
const struct mor_content_file *mor_content_find(const struct mor_content *content, const char *path);

/* For lists that come from elsewhere, such as an archive: adds one entry (texts are copied), any order, then
 * sorts, counts and makes the digest. _seal() refuses a path that is there twice. 0 or a status. */
int mor_content_add(struct mor_content *content, const struct mor_content_file *file, mortise_error *err);
int mor_content_seal(struct mor_content *content, const char *shown, mortise_error *err);

/* One line per file; the digest is the SHA-256 of this. 0 or MORTISE_ENOMEM. */
int mor_content_text(const struct mor_content *content, struct mor_buf *out);
/* {"digest","made","files":[{"path","mode":"x"|"-","size","sha256","id":[…]}, {"path","link"}]}: a record.
 * Without `identities`, it has neither "made" nor "id" and depends on the content alone. */
int mor_content_write(const struct mor_content *content, bool identities, struct mor_buf *out);
/* The way back. MORTISE_EPROTO: it is no such text, or its digest is not that of its files. */
int mor_content_read(struct mor_slice json, struct mor_content *ret, mortise_error *err);

enum mor_content_change_kind { MOR_CONTENT_ADDED, MOR_CONTENT_MISSING, MOR_CONTENT_CHANGED };
const char *mor_content_change_name(enum mor_content_change_kind kind); /* "added", "missing", "changed" */

struct mor_content_change {
	enum mor_content_change_kind kind;
	const char *path; /* belongs to one of the two lists */
};

struct mor_content_changes {
	struct mor_content_change *items; /* in the order of paths */
	size_t count, cap;
};

/* What is different in `now`. Identities do not count. 0 or MORTISE_ENOMEM. */
int mor_content_compare(const struct mor_content *before, const struct mor_content *now,
			struct mor_content_changes *ret);
void mor_content_changes_fini(struct mor_content_changes *changes);

/* Is the directory still that record? Files with the record's identity are not read. */
struct mor_content_check {
	struct mor_content now; /* what is there; a newer record, if nothing has changed */
	struct mor_content_changes changes;
	size_t hashed; /* files that had to be read */
};
/* 0, also with changes: the caller looks at their count. Below 0: it cannot be told, as mor_content_scan().
 * The changes borrow from `record` and from `now`. */
int mor_content_verify(int dir, const char *shown, const struct mor_content *record,
		       struct mor_content_check *ret, mortise_error *err);
void mor_content_check_fini(struct mor_content_check *check);

/* Reads an open file from its beginning, `size` bytes and no more. 0, MORTISE_EINPUT (its size is another),
 * MORTISE_ESYSTEM. The descriptor's position does not change. */
int mor_content_hash_fd(int fd, uint64_t size, char ret_hex[MOR_DIGEST_SIZE], const char *shown,
			mortise_error *err);
struct mor_content_identity mor_content_identity_of(int fd); /* all 0: fstat() failed */
bool mor_content_same(const struct mor_content_identity *a, const struct mor_content_identity *b);
/* Does a link at `path` with this target stay inside the tree? ".." may only come first: behind a name it goes
 * up from wherever that name leads. */
bool mor_content_link_stays(const char *path, const char *target);
/* May the identity stand for the content? Not while it is fresh. */
bool mor_content_settled(const struct mor_content *record, const struct mor_content_file *file);

#endif
