/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Archives of compilation records.
 *
 * Reading: we trust nothing in an archive. Names in it are only compared, never used as a path of the file
 * system. Sizes are checked before and while reading. The bytes of a file are hashed while they are read,
 * and refused at the end if they do not match its name. A unit whose name is not its digest causes only a
 * warning: real writers differ.
 *
 * Writing: the same content gives the same bytes, in whatever order it was added. Units are sorted by their
 * sources.
 */
#ifndef MOR_KYTHE_ARCHIVE_KZIP_H
#define MOR_KYTHE_ARCHIVE_KZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/slice.h"
#include "kythe/unit/unit.h"

enum mor_kzip_encoding { MOR_KZIP_JSON = 1, MOR_KZIP_PROTO = 2, MOR_KZIP_ALL = 3 };
const char *mor_kzip_encoding_name(enum mor_kzip_encoding encoding);         /* "json", "proto", "all" */
bool mor_kzip_encoding_parse(const char *name, enum mor_kzip_encoding *ret); /* ignores case */

/* ---- reading ---- */

struct mor_kzip;

/* 0 means the default, which is in the comment. */
struct mor_kzip_options {
	uint64_t max_entries;    /* 4,000,000                                                            */
	uint64_t max_unit_bytes; /* 64 MiB                                                               */
	uint64_t max_file_bytes; /* 1 GiB                                                                */
	uint64_t max_ratio;      /* 250: limit of unpacked over packed size, for entries of more than 1 MiB */
	void (*on_warning)(const char *text, void *arg); /* one line, without the archive's name; may be NULL */
	void *arg;
};

/* Opens the archive and checks its directory. MORTISE_EINPUT: not a zip, empty, no root directory, an entry
 * outside it, a foreign entry in units/, pbunits/ or files/, an entry twice, units/ and pbunits/ that
 * differ, too many entries. MORTISE_ENOTFOUND: the file does not exist. Sizes are checked when an entry is
 * read, so that only the entry that is too large fails. The archive stays open until it is freed. Use it
 * from one thread only. */
int mor_kzip_open(const char *path, const struct mor_kzip_options *opt, struct mor_kzip **ret,
		  mortise_error *err);
/* The same from memory, which belongs to the caller and must outlive the kzip. `name` is used in texts. */
int mor_kzip_open_bytes(const char *name, struct mor_slice bytes, const struct mor_kzip_options *opt,
			struct mor_kzip **ret, mortise_error *err);
struct mor_kzip *mor_kzip_free(struct mor_kzip *kzip); /* NULL is fine; returns NULL */
MOR_FINI_BY_FREE(mor_kzip);

const char *mor_kzip_path(const struct mor_kzip *kzip);
const char *mor_kzip_root(const struct mor_kzip *kzip);                /* without its "/" */
enum mor_kzip_encoding mor_kzip_encoding(const struct mor_kzip *kzip); /* the encodings it has; 0: no units */

/* Units are numbered from 0 in the order of the archive. If both encodings are there, protobuf is read. */
size_t mor_kzip_unit_count(const struct mor_kzip *kzip);
/* its name; valid until the kzip is freed */
const char *mor_kzip_unit_digest(const struct mor_kzip *kzip, size_t number);
int mor_kzip_unit_read(struct mor_kzip *kzip, size_t number, struct mor_unit **ret, mortise_error *err);

size_t mor_kzip_file_count(const struct mor_kzip *kzip);
const char *mor_kzip_file_digest(const struct mor_kzip *kzip, size_t number);
uint64_t mor_kzip_file_size(const struct mor_kzip *kzip, size_t number); /* size in the directory */
bool mor_kzip_file_find(const struct mor_kzip *kzip, const char *digest, size_t *ret_number);
/* Hands out the content in pieces. Only a return of 0 says that the bytes were right: do not use them
 * before. MORTISE_ENOTFOUND: no such file. MORTISE_EINPUT: damaged, over a limit, or the content does not
 * match its name. A negative return of the sink is passed on. */
typedef int mor_kzip_sink_fn(const void *bytes, size_t len, void *arg);
int mor_kzip_file_read(struct mor_kzip *kzip, const char *digest, mor_kzip_sink_fn *sink, void *arg,
		       mortise_error *err);

struct mor_kzip_found {
	size_t unit;
	char file[65]; /* its digest; "": the unit is meant */
};
/* What a person means. `unit`: its digest, or the first digits. `word`: the same of a file, if that has 8 or
 * more digits, and no unit is named; else a path in this unit, or in all. One of both may be NULL.
 * MORTISE_ENOTFOUND; MORTISE_EINPUT: it could be several. */
int mor_kzip_find_typed(struct mor_kzip *kzip, const char *unit, const char *word, struct mor_kzip_found *ret,
			mortise_error *err);

/* ---- writing ---- */

struct mor_kzip_writer;

/* Contents wait in an unnamed file beside `path`. At the end the archive appears under `path`, complete or
 * not at all (base/outfile.h). */
int mor_kzip_writer_new(const char *path, enum mor_kzip_encoding encoding, struct mor_kzip_writer **ret,
			mortise_error *err);
/* ret_digest may be NULL. A content that is already there is not added again. */
int mor_kzip_writer_add_path(struct mor_kzip_writer *writer, const char *path, char ret_digest[65],
			     mortise_error *err);
/* The parts are written in the order of the digest. ret_added: false if a unit with this digest was already
 * there (NULL is fine). A unit with details that have only JSON has no digest. Then it gets `name`, and can
 * only be written with MOR_KZIP_JSON. Otherwise, or with `name` NULL: MORTISE_EUNSUPPORTED. */
int mor_kzip_writer_add_unit(struct mor_kzip_writer *writer, const struct mor_unit *unit, const char *name,
			     bool *ret_added, mortise_error *err);
/* All units, and all files that a unit requires. A missing file is an error (MORTISE_EINPUT); the text names
 * the first. */
int mor_kzip_writer_add_kzip(struct mor_kzip_writer *writer, struct mor_kzip *kzip, mortise_error *err);
size_t mor_kzip_writer_units(const struct mor_kzip_writer *writer);
size_t mor_kzip_writer_files(const struct mor_kzip_writer *writer);
/* Writes the archive. Free the writer afterwards, in every case. */
int mor_kzip_writer_finish(struct mor_kzip_writer *writer, mortise_error *err);
/* without finish no archive appears */
struct mor_kzip_writer *mor_kzip_writer_free(struct mor_kzip_writer *writer);
MOR_FINI_BY_FREE(mor_kzip_writer);

#endif
