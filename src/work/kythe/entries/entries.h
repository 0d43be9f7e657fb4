/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry streams: what analyzers write and what consumers of Kythe read.
 *
 *	protobuf  varint length, then kythe.proto.Entry on the wire, repeated: the standard entry stream
 *	json      varint length, then one Entry in JSON, repeated: an analyzer with outputEncoding "json"
 *	lines     one Entry in JSON per line, with proto names: what Kythe's tools call a JSON stream
 *
 * Reading copies nothing: an entry's parts point into the record, or for JSON into the reader's scratch, and
 * live until the next call.
 */
#ifndef MOR_KYTHE_ENTRIES_ENTRIES_H
#define MOR_KYTHE_ENTRIES_ENTRIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/slice.h"

enum mor_stream_format { MOR_STREAM_PROTOBUF, MOR_STREAM_JSON, MOR_STREAM_LINES };

enum mor_vname_part {
	MOR_VNAME_SIGNATURE,
	MOR_VNAME_CORPUS,
	MOR_VNAME_ROOT,
	MOR_VNAME_PATH,
	MOR_VNAME_LANGUAGE,
	MOR_VNAME_PARTS
};
extern const char *const mor_vname_part_names[MOR_VNAME_PARTS];

struct mor_entry_vname {
	bool set; /* the message is present, even if all its parts are "" */
	struct mor_slice part[MOR_VNAME_PARTS];
};

struct mor_entry {
	struct mor_entry_vname source, target;
	struct mor_slice edge_kind, fact_name, fact_value; /* value: bytes, decoded */
};

/* ---- records: the layer below, for analyses whose output is not made of entries ---- */

#define MOR_ENTRY_LIMIT ((size_t)64 << 20) /* default limit of one record */

struct mor_records {
	mor_read_fn *read;
	void *arg;
	enum mor_stream_format format;
	size_t limit;    /* 0: MOR_ENTRY_LIMIT */
	uint64_t offset; /* where the next record begins: its length, or its line */
	uint64_t count;  /* records handed out */
	/* Private to the reader: zero at the start. */
	struct mor_buf buf;
	size_t taken, scanned; /* bytes of buf already used; bytes without a newline */
	bool at_end;
};

/* 1: *ret is the next record, valid until the next call. 0: the stream ended between records.
 * MORTISE_EINPUT, with the offset in the text, if it ends inside a record or a length is not a varint.
 * MORTISE_ELIMIT for a record over the limit. MORTISE_ESYSTEM if reading fails. In a stream of lines, blank
 * lines are skipped. */
int mor_records_next(struct mor_records *records, struct mor_slice *ret, mortise_error *err);
/* Complete records that were read already, as many as `judge` accepts from the front. `judge` returns the
 * number of bytes, and counts. True: there were some. */
typedef size_t mor_records_judge_fn(struct mor_slice bytes, uint64_t *count);
bool mor_records_drop(struct mor_records *records, mor_records_judge_fn *judge);
void mor_records_fini(struct mor_records *records);

/* ---- entries ---- */

struct mor_entries {
	struct mor_records records;
	/* Private to the reader: zero at the start. */
	struct mor_buf scratch;
	void *doc;
};

/* Like mor_records_next(), and MORTISE_EINPUT for a record that is not a valid entry. Texts begin "record 17
 * at byte 1234: ". */
int mor_entries_next(struct mor_entries *entries, struct mor_entry *ret, mortise_error *err);
/* The same for one entry or several, without decoding them: 1, 0 at the end, or an error. */
int mor_entries_skip(struct mor_entries *entries, mortise_error *err);
void mor_entries_fini(struct mor_entries *entries);

/* The number of bytes at the front that are complete records on the wire, each certainly a valid entry.
 * *count grows by their number. The next record is cut off, or must be decoded to be judged. */
size_t mor_entries_quick(struct mor_slice bytes, uint64_t *count);

/* Appends one record; wire fields in number order. For MOR_STREAM_PROTOBUF and MOR_STREAM_JSON the length comes
 * first, for MOR_STREAM_LINES a newline last. */
int mor_entry_write(const struct mor_entry *entry, enum mor_stream_format format, struct mor_buf *out);

/* Converts a whole stream from one form to another and checks each entry. The sink gets complete records,
 * several at a time. */
struct mor_convert_stats {
	uint64_t records, bytes_in, bytes_out;
};
typedef int mor_entries_sink_fn(const void *bytes, size_t len, void *arg); /* 0 or negative */
int mor_entries_convert(struct mor_entries *from, enum mor_stream_format to, mor_entries_sink_fn *sink,
			void *arg, struct mor_convert_stats *ret, mortise_error *err);

#endif
