/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/entries/entries.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "pb/pb.h"
#include "wire/json.h"

const char *const mor_vname_part_names[MOR_VNAME_PARTS] = { "signature", "corpus", "root", "path", "language" };

/* Field numbers of kythe.proto.Entry. Those of VName are the part's number plus one. */
enum { SOURCE = 1, EDGE_KIND, TARGET, FACT_NAME, FACT_VALUE };
static const char *const entry_fields[] = { NULL, "source", "edge_kind", "target", "fact_name", "fact_value" };

/* ---- wire ---- */

static int bad_wire(mortise_error *err)
{
	return mor_fail(err, MORTISE_EINPUT, "not a kythe.proto.Entry");
}

static int bad_text(mortise_error *err, const char *field)
{
	return mor_fail(err, MORTISE_EINPUT, "%s is not UTF-8", field);
}

/* A message that comes twice is merged, as in protocol buffers: later parts win. */
static int read_vname(struct mor_slice bytes, struct mor_entry_vname *ret, mortise_error *err)
{
	struct mor_pb pb = { .left = bytes };
	int r;

	ret->set = true;
	while ((r = mor_pb_next(&pb)) > 0) {
		if (pb.field > MOR_VNAME_PARTS)
			continue;
		if (pb.wire != MOR_PB_BYTES)
			return bad_wire(err);
		if (!mor_utf8_valid(pb.bytes))
			return bad_text(err, mor_vname_part_names[pb.field - 1]);
		ret->part[pb.field - 1] = pb.bytes;
	}
	return r < 0 ? bad_wire(err) : 0;
}

static int read_field(const struct mor_pb *pb, struct mor_entry *ret, mortise_error *err)
{
	if (pb->field > FACT_VALUE)
		return 0;
	if (pb->wire != MOR_PB_BYTES)
		return bad_wire(err);
	if (pb->field == SOURCE || pb->field == TARGET)
		return read_vname(pb->bytes, pb->field == SOURCE ? &ret->source : &ret->target, err);
	if (pb->field == FACT_VALUE) {
		ret->fact_value = pb->bytes;
		return 0;
	}
	if (!mor_utf8_valid(pb->bytes))
		return bad_text(err, entry_fields[pb->field]);
	*(pb->field == EDGE_KIND ? &ret->edge_kind : &ret->fact_name) = pb->bytes;
	return 0;
}

static int read_wire(struct mor_slice record, struct mor_entry *ret, mortise_error *err)
{
	struct mor_pb pb = { .left = record };
	int r;

	*ret = (struct mor_entry){ 0 };
	while ((r = mor_pb_next(&pb)) > 0)
		if ((r = read_field(&pb, ret, err)) < 0)
			return r;
	return r < 0 ? bad_wire(err) : 0;
}

/* Lengths are known before anything is written, so that nothing is moved. All field numbers take one byte. */
static size_t field_len(struct mor_slice bytes)
{
	return bytes.len ? 1 + mor_pb_varint_len(bytes.len) + bytes.len : 0;
}

static size_t vname_len(const struct mor_entry_vname *vname)
{
	size_t len = 0;

	for (unsigned i = 0; i < MOR_VNAME_PARTS; i++)
		len += field_len(vname->part[i]);
	return len;
}

static size_t vname_field_len(const struct mor_entry_vname *vname)
{
	size_t len = vname_len(vname);

	return vname->set ? 1 + mor_pb_varint_len(len) + len : 0;
}

static size_t entry_len(const struct mor_entry *entry)
{
	return vname_field_len(&entry->source) + field_len(entry->edge_kind) + vname_field_len(&entry->target) +
	       field_len(entry->fact_name) + field_len(entry->fact_value);
}

static void put_unless_empty(struct mor_buf *out, uint32_t field, struct mor_slice bytes)
{
	if (bytes.len)
		mor_pb_put_bytes(out, field, bytes);
}

static void put_vname(struct mor_buf *out, uint32_t field, const struct mor_entry_vname *vname)
{
	if (!vname->set)
		return;
	mor_pb_put_varint(out, (uint64_t)field << 3 | MOR_PB_BYTES);
	mor_pb_put_varint(out, vname_len(vname));
	for (uint32_t i = 0; i < MOR_VNAME_PARTS; i++)
		put_unless_empty(out, i + 1, vname->part[i]);
}

static int write_wire(const struct mor_entry *entry, struct mor_buf *out)
{
	mor_pb_put_varint(out, entry_len(entry));
	put_vname(out, SOURCE, &entry->source);
	put_unless_empty(out, EDGE_KIND, entry->edge_kind);
	put_vname(out, TARGET, &entry->target);
	put_unless_empty(out, FACT_NAME, entry->fact_name);
	put_unless_empty(out, FACT_VALUE, entry->fact_value);
	return out->status;
}

/* ---- JSON ---- */

static int bad_member(mortise_error *err, struct mor_slice name, const char *why)
{
	char shown[100];

	return mor_fail(err, MORTISE_EINPUT, "%s: %s", mor_excerpt(name, shown, sizeof(shown)), why);
}

/* "" for null. Absent ptr: not a string. */
static struct mor_slice text_of(const struct mor_value *value)
{
	return mor_json_type(value) == MOR_JSON_NULL ? MOR_SLICE("") : mor_json_string(value);
}

static int read_vname_json(const struct mor_value *value, const char *where, struct mor_entry_vname *ret,
			   mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(value);

	if (mor_json_type(value) == MOR_JSON_NULL)
		return 0;
	if (mor_json_type(value) != MOR_JSON_OBJECT)
		return bad_member(err, mor_slice_of(where), "expected an object");
	if (ret->set)
		return bad_member(err, mor_slice_of(where), "given twice");
	ret->set = true;
	while (mor_json_next(&it)) {
		unsigned i = 0;

		while (i < MOR_VNAME_PARTS && !mor_slice_is(it.name, mor_vname_part_names[i]))
			i++;
		if (i == MOR_VNAME_PARTS)
			return bad_member(err, it.name, "unknown field of a VName");
		ret->part[i] = text_of(it.value);
		if (!ret->part[i].ptr)
			return bad_member(err, it.name, "expected a string");
	}
	return 0;
}

static int read_member(const struct mor_json_iter *it, struct mor_buf *scratch, struct mor_entry *ret,
		       mortise_error *err)
{
	struct mor_slice text = text_of(it->value);

	if (mor_slice_is(it->name, "source"))
		return read_vname_json(it->value, "source", &ret->source, err);
	if (mor_slice_is(it->name, "target"))
		return read_vname_json(it->value, "target", &ret->target, err);
	if (!mor_text_in(it->name, "edge_kind|edgeKind|fact_name|factName|fact_value|factValue"))
		return bad_member(err, it->name, "unknown field of an Entry");
	if (!text.ptr)
		return bad_member(err, it->name, "expected a string");
	if (mor_text_in(it->name, "edge_kind|edgeKind"))
		ret->edge_kind = text;
	else if (mor_text_in(it->name, "fact_name|factName"))
		ret->fact_name = text;
	else { /* the last of several counts, as for every other member */
		mor_buf_reset(scratch, SIZE_MAX);
		if (mor_pb_base64(text, scratch) == MORTISE_EINPUT)
			return bad_member(err, it->name, "not base64");
	}
	return 0;
}

/* `scratch` and `*doc` keep their memory from entry to entry. */
static int read_json(struct mor_slice record, struct mor_buf *scratch, struct mor_doc **doc,
		     struct mor_entry *ret, mortise_error *err)
{
	struct mor_json_iter it;
	int r;

	*doc = mor_doc_free(*doc);
	*ret = (struct mor_entry){ 0 };
	mor_buf_reset(scratch, (size_t)1 << 20);
	if ((r = mor_doc_parse(record, 0, 0, doc, err)) < 0)
		return r == MORTISE_EPROTO ?
			       mor_fail(err, MORTISE_EINPUT, "not JSON: %s", err ? err->text : "") :
			       r;
	if (mor_json_type(mor_doc_root(*doc)) != MOR_JSON_OBJECT)
		return mor_fail(err, MORTISE_EINPUT, "not a JSON object");
	it = mor_json_iter(mor_doc_root(*doc));
	while (r == 0 && mor_json_next(&it))
		r = read_member(&it, scratch, ret, err);
	if (r == 0 && mor_buf_failed(scratch))
		r = mor_fail_memory(err);
	ret->fact_value = mor_buf_view(scratch);
	return r;
}

static void json_vname(struct mor_writer *w, const char *name, const struct mor_entry_vname *vname)
{
	if (!vname->set)
		return;
	mor_w_pair_object(w, name);
	for (unsigned i = 0; i < MOR_VNAME_PARTS; i++) {
		if (vname->part[i].len)
			mor_w_pair_slice(w, mor_vname_part_names[i], vname->part[i]);
	}
	mor_w_end(w);
}

static void json_text(struct mor_writer *w, const char *name, struct mor_slice text)
{
	if (text.len)
		mor_w_pair_slice(w, name, text);
}

static int write_json(const struct mor_entry *entry, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf value = MOR_BUF_INIT;
	struct mor_writer w = { .out = out };

	mor_base64_encode(entry->fact_value, &value);
	mor_w_object(&w);
	json_vname(&w, "source", &entry->source);
	json_text(&w, "edge_kind", entry->edge_kind);
	json_vname(&w, "target", &entry->target);
	json_text(&w, "fact_name", entry->fact_name);
	json_text(&w, "fact_value", mor_buf_view(&value));
	mor_w_end(&w);
	return mor_buf_failed(&value) ? value.status : out->status;
}

/* ---- entries ---- */

/* Source set, fact name not empty, edge kind and target both present or both absent (Kythe's ValidEntry). */
static int check_entry(const struct mor_entry *entry, mortise_error *err)
{
	if (!entry->source.set)
		return mor_fail(err, MORTISE_EINPUT, "an entry without source");
	if (!entry->fact_name.len)
		return mor_fail(err, MORTISE_EINPUT, "an entry without fact name");
	if (entry->edge_kind.len && !entry->target.set)
		return mor_fail(err, MORTISE_EINPUT, "an edge without target");
	if (!entry->edge_kind.len && entry->target.set)
		return mor_fail(err, MORTISE_EINPUT, "a target without edge kind");
	return 0;
}

static int judge_record(struct mor_entries *entries, struct mor_slice record, uint64_t at,
			struct mor_entry *ret, mortise_error *err)
{
	struct mor_records *records = &entries->records;
	struct mor_doc *doc = entries->doc;
	char place[80];
	int r = records->format == MOR_STREAM_PROTOBUF ? read_wire(record, ret, err) :
							 read_json(record, &entries->scratch, &doc, ret, err);

	entries->doc = doc;
	r = r ? r : check_entry(ret, err);
	if (r == 0)
		return 1;
	snprintf(place, sizeof(place), "record %" PRIu64 " at byte %" PRIu64, records->count, at);
	mor_fail_prefix(err, place);
	return r;
}

int mor_entries_next(struct mor_entries *entries, struct mor_entry *ret, mortise_error *err)
{
	struct mor_slice record;
	uint64_t at = entries->records.offset;
	int r = mor_records_next(&entries->records, &record, err);

	return r <= 0 ? r : judge_record(entries, record, at, ret, err);
}

int mor_entries_skip(struct mor_entries *entries, mortise_error *err)
{
	struct mor_records *records = &entries->records;
	struct mor_entry entry;

	if (records->format == MOR_STREAM_PROTOBUF && !records->limit &&
	    mor_records_drop(records, mor_entries_quick))
		return 1;
	return mor_entries_next(entries, &entry, err);
}

void mor_entries_fini(struct mor_entries *entries)
{
	mor_records_fini(&entries->records);
	mor_buf_fini(&entries->scratch);
	entries->doc = mor_doc_free(entries->doc);
}

int mor_entry_write(const struct mor_entry *entry, enum mor_stream_format format, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf record = MOR_BUF_INIT;
	int r;

	if (format == MOR_STREAM_PROTOBUF)
		return write_wire(entry, out);
	if (format == MOR_STREAM_LINES) {
		r = write_json(entry, out);
		return r < 0 ? r : mor_buf_byte(out, '\n');
	}
	if ((r = write_json(entry, &record)) < 0)
		return r;
	mor_pb_put_varint(out, record.len);
	return mor_buf_slice(out, mor_buf_view(&record));
}

#define BATCH ((size_t)128 << 10)

static int flush_batch(struct mor_buf *out, mor_entries_sink_fn *sink, void *arg,
		       struct mor_convert_stats *stats)
{
	int r = out->len ? sink(out->data, out->len, arg) : 0;

	stats->bytes_out += out->len;
	mor_buf_reset(out, 2 * BATCH);
	return r;
}

int mor_entries_convert(struct mor_entries *from, enum mor_stream_format to, mor_entries_sink_fn *sink,
			void *arg, struct mor_convert_stats *ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_convert_stats stats = { 0 };
	struct mor_entry entry;
	int r;

	while ((r = mor_entries_next(from, &entry, err)) > 0) {
		if (mor_entry_write(&entry, to, &out) < 0)
			return mor_fail_memory(err);
		if (out.len >= BATCH && (r = flush_batch(&out, sink, arg, &stats)) < 0)
			return r;
		stats.records++;
	}
	r = r ? r : flush_batch(&out, sink, arg, &stats);
	stats.bytes_in = from->records.offset;
	if (r == 0 && ret)
		*ret = stats;
	return r;
}
