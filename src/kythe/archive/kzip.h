/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives of compilation records.
 *
 * Reading: everything in an archive is hostile. Names in it are only ever compared, never used as a path of the file
 * system; sizes are bounded before and while reading; the bytes of a file are hashed on their way out and refused at the
 * end if they are not what their name says. A unit whose name is not its digest is only warned about: real writers differ.
 *
 * Writing: the same content gives the same bytes, whatever the order in which it was added. Units come in the order of their
 * sources.
 */
#ifndef MOR_KYTHE_ARCHIVE_KZIP_H
#define MOR_KYTHE_ARCHIVE_KZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "kythe/unit/unit.h"

enum mor_kzip_encoding { MOR_KZIP_JSON = 1, MOR_KZIP_PROTO = 2, MOR_KZIP_ALL = 3 };
const char *mor_kzip_encoding_name(enum mor_kzip_encoding encoding); /* "json", "proto", "all" */
bool mor_kzip_encoding_parse(const char *name, enum mor_kzip_encoding *ret); /* in any case of letters */

/* ---- reading ---- */

struct mor_kzip;

/* 0 means the default, which the comment tells. */
struct mor_kzip_options {
	uint64_t max_entries;    /* 4,000,000                                                            */
	uint64_t max_unit_bytes; /* 64 MiB                                                               */
	uint64_t max_file_bytes; /* 1 GiB                                                                */
	uint64_t max_ratio;      /* 250: unpacked over packed size of an entry of more than 1 MiB       */
	unsigned unit_flags;     /* enum mor_unit_flags                                                  */
	void (*on_warning)(const char *text, void *arg); /* one line, without the archive's name; may be NULL */
	void *arg;
};

/* Opens and judges the directory of the archive: not a zip, empty, no root directory, an entry outside it, a foreign entry
 * in units/, pbunits/ or files/, an entry twice, units/ and pbunits/ that differ, too many entries. MORTISE_EINPUT for all
 * of these, MORTISE_ENOTFOUND when the file is not there. Sizes are judged when an entry is read, so that one that is too
 * large spoils nothing but itself. The archive stays open until freed; one thread. */
int mor_kzip_open(const char *path, const struct mor_kzip_options *opt, struct mor_kzip **ret, mortise_error *err);
/* The same from memory, which stays the caller's and must outlive it. `name` is for texts. */
int mor_kzip_open_bytes(const char *name, struct mor_slice bytes, const struct mor_kzip_options *opt,
			struct mor_kzip **ret, mortise_error *err);
struct mor_kzip *mor_kzip_free(struct mor_kzip *kzip); /* NULL is fine; returns NULL */
static inline void mor_kzip_fini(struct mor_kzip **kzip)
{
	*kzip = mor_kzip_free(*kzip);
}

const char *mor_kzip_path(const struct mor_kzip *kzip);
const char *mor_kzip_root(const struct mor_kzip *kzip); /* without its "/" */
enum mor_kzip_encoding mor_kzip_encoding(const struct mor_kzip *kzip); /* what it holds; 0: no units */

/* Units are numbered from 0 in the order of the archive. Where both encodings are there, the protobuf one is read. */
size_t mor_kzip_unit_count(const struct mor_kzip *kzip);
const char *mor_kzip_unit_digest(const struct mor_kzip *kzip, size_t number); /* its name; valid until the kzip is freed */
bool mor_kzip_unit_find(const struct mor_kzip *kzip, const char *digest, size_t *ret_number);
int mor_kzip_unit_read(struct mor_kzip *kzip, size_t number, struct mor_unit **ret, mortise_error *err);

size_t mor_kzip_file_count(const struct mor_kzip *kzip);
const char *mor_kzip_file_digest(const struct mor_kzip *kzip, size_t number);
uint64_t mor_kzip_file_size(const struct mor_kzip *kzip, size_t number); /* what the directory says */
bool mor_kzip_file_find(const struct mor_kzip *kzip, const char *digest, size_t *ret_number);
/* Hands the content out in pieces. Only a return of 0 says that the bytes were the right ones: before that they must not
 * be relied on. MORTISE_ENOTFOUND: no such file; MORTISE_EINPUT: damaged, over a limit, or another content than its name
 * says; or what the sink returned, if negative. */
typedef int mor_kzip_sink_fn(const void *bytes, size_t len, void *arg);
int mor_kzip_file_read(struct mor_kzip *kzip, const char *digest, mor_kzip_sink_fn *sink, void *arg, mortise_error *err);
/* The same into memory; `out` is as it was on failure. */
int mor_kzip_file_load(struct mor_kzip *kzip, const char *digest, struct mor_buf *out, mortise_error *err);

/* ---- writing ---- */

struct mor_kzip_writer;

/* Contents wait in a file without a name beside `path`; the archive appears under `path` at the end as base/outfile.h has it:
 * whole or not at all. */
int mor_kzip_writer_new(const char *path, enum mor_kzip_encoding encoding, struct mor_kzip_writer **ret,
			mortise_error *err);
/* ret_digest may be NULL. What is there already is not added again. */
int mor_kzip_writer_add_bytes(struct mor_kzip_writer *writer, struct mor_slice content, char ret_digest[65],
			      mortise_error *err);
int mor_kzip_writer_add_path(struct mor_kzip_writer *writer, const char *path, char ret_digest[65], mortise_error *err);
/* The parts are written in the order of the digest. ret_added: false when a unit with this digest was there already (NULL is
 * fine). A unit with details that have only JSON has no digest: it is called `name` then, and can only be written with
 * MOR_KZIP_JSON; else, or with `name` NULL, MORTISE_EUNSUPPORTED. */
int mor_kzip_writer_add_unit(struct mor_kzip_writer *writer, const struct mor_unit *unit, const char *name,
			     bool *ret_added, mortise_error *err);
/* All units, and all files that a unit requires. Missing files are an error (MORTISE_EINPUT) that names the first. */
int mor_kzip_writer_add_kzip(struct mor_kzip_writer *writer, struct mor_kzip *kzip, mortise_error *err);
size_t mor_kzip_writer_units(const struct mor_kzip_writer *writer);
size_t mor_kzip_writer_files(const struct mor_kzip_writer *writer);
/* Writes the archive. Free the writer afterwards, whatever this returned. */
int mor_kzip_writer_finish(struct mor_kzip_writer *writer, mortise_error *err);
struct mor_kzip_writer *mor_kzip_writer_free(struct mor_kzip_writer *writer); /* without finish: nothing appears */
static inline void mor_kzip_writer_fini(struct mor_kzip_writer **writer)
{
	*writer = mor_kzip_writer_free(*writer);
}

#endif
