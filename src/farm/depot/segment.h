/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A segment: the result of one batch of units, in a farm's store by its digest. The bytes of its units are one
 * stream, packed as frames of zstd (depot/pack.h): neighbours say much that is the same, and it is said once.
 * Then comes the list (part/lines.h):
 *
 *	mortise-segment 2 KEY COUNT
 *	done AT BYTES SUM RECORDS ATTEMPTS
 *	failed AT BYTES SUM CODE ATTEMPTS NAME<tab>why it failed
 *	log UNIT a line that was said about the unit
 *	end LENGTH CHECK
 *
 * BYTES from AT on in the stream are the unit's, SUM is theirs (base/sum.h). The stream has the bytes of all
 * units and no others. It is fastest to read the units in the order of the stream, which is that of the list
 * unless a unit was tried again. A unit's log lines follow it. Segments of version 3 are read too: their
 * streams are folded (depot/unfold.h).
 *
 * And a manifest: the segments of a whole run in their order, as text. It is the result of a run whose bytes
 * are too many for one file.
 *
 *	mortise-manifest 1 FORMAT UNITS
 *	store PATH
 *	segment DIGEST FIRST COUNT BYTES
 *	end LENGTH CHECK
 */
#ifndef MOR_DEPOT_SEGMENT_H
#define MOR_DEPOT_SEGMENT_H

#include <sys/types.h>

#include "base/sum.h"
#include "depot/depot.h"

struct mor_segment_unit {
	uint64_t at; /* in the stream */
	uint64_t bytes, sum, records;
	unsigned attempts;
	int code;              /* 0: done; else the status of its failure */
	struct mor_slice name; /* of a failed unit ... */
	struct mor_slice why;  /* ... one line */
};

/* ---- writing ---- */

struct mor_segment_writer;
int mor_segment_writer_new(struct mor_depot *depot, const char *key, size_t count,
			   struct mor_segment_writer **ret, mortise_error *err);
/* Bytes of a unit, in pieces; then its end. Not `keep`: they are taken back. Units in any order. */
int mor_segment_writer_put(struct mor_segment_writer *writer, const void *bytes, size_t len,
			   mortise_error *err);
int mor_segment_writer_end(struct mor_segment_writer *writer, bool keep, uint64_t *ret_at, mortise_error *err);
/* The next line of the list. Its bytes were put before, at `unit->at`. */
int mor_segment_writer_add(struct mor_segment_writer *writer, const struct mor_segment_unit *unit,
			   mortise_error *err);
/* About the unit that was added last. */
void mor_segment_writer_log(struct mor_segment_writer *writer, size_t unit, struct mor_slice line);
int mor_segment_writer_finish(struct mor_segment_writer *writer, char ret_digest[MOR_DIGEST_SIZE],
			      mortise_error *err);
/* without finish, nothing is left. NULL is fine; returns NULL */
struct mor_segment_writer *mor_segment_writer_free(struct mor_segment_writer *writer);

/* ---- reading ---- */

struct mor_segment_log {
	size_t unit;
	struct mor_slice text;
};

struct mor_segment {
	int fd;
	char *path;
	char key[MOR_DIGEST_SIZE];
	struct mor_segment_unit *units;
	size_t count;
	uint64_t bytes; /* of all units, unpacked */
	struct mor_segment_log *logs;
	size_t log_count, log_cap;
	char *list;                        /* its text: names, reasons and logs point into it */
	struct mor_segment_stream *stream; /* as far as it was read */
};

/* Checks its digest and its list. MORTISE_ENOTFOUND; MORTISE_EINPUT: it is damaged, or no segment. */
int mor_segment_open(const struct mor_depot *depot, const char *digest, struct mor_segment **ret,
		     mortise_error *err);
struct mor_segment *mor_segment_free(struct mor_segment *segment); /* NULL is fine; returns NULL */
/* The unit's bytes, in pieces. Only a return of 0 says that they were right. A negative return of the sink is
 * passed on. */
typedef int mor_segment_sink_fn(const void *bytes, size_t len, void *arg);
int mor_segment_unpack(const struct mor_segment *segment, size_t unit, mor_segment_sink_fn *sink, void *arg,
		       mortise_error *err);

/* The same for who wants to read: begin, then mor_segment_read() until 0. */
struct mor_segment_reading {
	const struct mor_segment *segment;
	size_t unit;
	uint64_t left;
	bool unsummed; /* set it behind begin(): the reader makes the sum, and compares it */
	struct mor_summer sum;
	mortise_error why; /* it failed */
};
void mor_segment_reading_begin(struct mor_segment_reading *reading, const struct mor_segment *segment,
			       size_t unit);
/* Up to `len` bytes; 0 at the unit's end, and they were right; -EBADMSG: `why`. One unit at a time. */
ssize_t mor_segment_read(void *reading, void *buffer, size_t len);

/* ---- manifests ---- */

struct mor_manifest_part {
	char segment[MOR_DIGEST_SIZE];
	uint64_t first, count, bytes;
};

struct mor_segment_list {
	char format[16]; /* "entries", "json" */
	uint64_t units, bytes;
	char *store; /* its path on the machine that wrote this */
	struct mor_manifest_part *parts;
	size_t count, cap;
};

int mor_segment_list_add(struct mor_segment_list *list, const struct mor_manifest_part *part);
int mor_segment_list_write(const struct mor_segment_list *list, const char *path, mortise_error *err);
/* 1: it is a manifest. 0: it is something else, such as a stream. MORTISE_EINPUT: a manifest that is damaged;
 * MORTISE_ENOTFOUND. */
int mor_segment_list_read(const char *path, struct mor_segment_list *ret, mortise_error *err);
void mor_segment_list_fini(struct mor_segment_list *list);

/* One of its segments: the one that the manifest means. As mor_segment_open(). */
int mor_segment_list_open(const struct mor_segment_list *list, const struct mor_depot *depot, size_t number,
			  struct mor_segment **ret, mortise_error *err);

#endif
