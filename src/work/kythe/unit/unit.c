/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units in three forms. The rest of Mortise sees the struct. The table in proto.c says where it has which field
 * of the wire; JSON is first turned into wire bytes. Writing goes the other way: struct, wire, JSON.
 */
#include "kythe/unit/unit.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "kythe/unit/proto.h"
#include "pb/pb.h"

/* The type of mor_unit.memory in a unit that was read: a unit has a thousand texts, in few blocks. */
struct loaded {
	struct mor_unit unit;
	struct mor_arena memory;
};

/* ---- wire to struct ---- */

enum origin { FOREIGN, OURS };

static size_t *count_of(const struct mor_pb_field *field, char *to)
{
	return (size_t *)(void *)(to + field->count_at);
}

static size_t item_size(const struct mor_pb_field *field)
{
	return field->type ? field->type->size : sizeof(const char *);
}

static bool has_lists(const struct mor_pb_type *type)
{
	for (size_t i = 0; i < type->count; i++)
		if (type->fields[i].repeated)
			return true;
	return false;
}

/* Types without a struct of their own are parts of the one around them, and may come in several pieces. */
static void count_items(const struct mor_pb_type *type, struct mor_slice message, char *to)
{
	struct mor_pb pb = { .left = message };

	while (mor_pb_next(&pb) > 0) {
		const struct mor_pb_field *field = mor_pb_type_field(type, pb.field);

		if (field && field->repeated)
			++*count_of(field, to);
		else if (field && field->type && has_lists(field->type))
			count_items(field->type, pb.bytes, to);
	}
}

/* Texts that are not there are "". Lists get the room that was counted, and are empty. */
static int set_empty(struct loaded *loaded, const struct mor_pb_type *type, char *to)
{
	int r = 0;

	for (const struct mor_pb_field *field = type->fields; r == 0 && field < type->fields + type->count;
	     field++) {
		if (field->repeated && *count_of(field, to)) {
			void *items = mor_arena_array(&loaded->memory, *count_of(field, to), item_size(field));

			memcpy(to + field->at, &items, sizeof(items));
			*count_of(field, to) = 0;
			r = items ? 0 : MORTISE_ENOMEM;
		} else if (field->repeated) {
			continue;
		} else if (field->kind == MOR_PB_STRING) {
			*(const char **)(void *)(to + field->at) = "";
		} else if (field->type) {
			r = set_empty(loaded, field->type, to + field->at);
		}
	}
	return r;
}

/* The place of the next item of a list. */
static char *next_item(const struct mor_pb_field *field, char *to)
{
	char *items;

	memcpy(&items, to + field->at, sizeof(items));
	return items + item_size(field) * (*count_of(field, to))++;
}

static int set_fields(struct loaded *loaded, const struct mor_pb_type *type, struct mor_slice message,
		      enum origin origin, char *to);

static int set_struct(struct loaded *loaded, const struct mor_pb_type *type, struct mor_slice message,
		      enum origin origin, char *to)
{
	int r;

	if (has_lists(type) || type == &mor_proto_compilation)
		count_items(type, message, to);
	r = set_empty(loaded, type, to);
	return r < 0 ? r : set_fields(loaded, type, message, origin, to);
}

static int set_field(struct loaded *loaded, const struct mor_pb_field *field, const struct mor_pb *pb,
		     enum origin origin, char *to)
{
	char *at = field->repeated ? next_item(field, to) : to + field->at;
	struct mor_slice copy;

	if (field->type)
		return field->repeated ? set_struct(loaded, field->type, pb->bytes, origin, at) :
					 set_fields(loaded, field->type, pb->bytes, origin, at);
	if (field->kind == MOR_PB_BOOL) {
		*(bool *)at = pb->number != 0;
		return 0;
	}
	copy = mor_arena_text(&loaded->memory, pb->bytes);
	if (field->kind == MOR_PB_STRING)
		*(const char **)(void *)at = copy.ptr;
	else
		*(struct mor_slice *)(void *)at = copy;
	return copy.ptr ? 0 : MORTISE_ENOMEM;
}

/* The message was checked before. Our own field for the JSON of a detail does not count in foreign bytes: a
 * sender could put bytes that are not JSON into replies. */
static int set_fields(struct loaded *loaded, const struct mor_pb_type *type, struct mor_slice message,
		      enum origin origin, char *to)
{
	struct mor_pb pb = { .left = message };
	struct mor_any *any = type == &mor_proto_any ? (struct mor_any *)(void *)to : NULL;
	int r = 0;

	while (r == 0 && mor_pb_next(&pb) > 0) {
		const struct mor_pb_field *field = mor_pb_type_field(type, pb.field);

		if (field && !(any && field->number == MOR_PROTO_ANY_JSON && origin == FOREIGN))
			r = set_field(loaded, field, &pb, origin, to);
	}
	if (any && !any->json.ptr && !any->value.ptr)
		any->value = MOR_SLICE("");
	return r;
}

struct mor_unit *mor_unit_free(struct mor_unit *unit)
{
	struct loaded *loaded = unit ? unit->memory : NULL;

	if (!loaded)
		return NULL;
	mor_arena_fini(&loaded->memory);
	return mor_free(loaded);
}

/* ---- reading ---- */

static int read_bytes(struct mor_slice bytes, enum origin origin, struct mor_unit **ret, mortise_error *err)
{
	struct loaded *loaded;
	int r = mor_proto_check(&mor_proto_compilation, bytes, NULL, err);

	if (r < 0)
		return r;
	loaded = mor_zalloc(sizeof(*loaded));
	if (!loaded)
		return mor_fail_memory(err);
	loaded->unit.memory = loaded;
	if (set_struct(loaded, &mor_proto_compilation, bytes, origin, (char *)&loaded->unit) < 0) {
		mor_unit_free(&loaded->unit);
		return mor_fail_memory(err);
	}
	*ret = &loaded->unit;
	return 0;
}

int mor_unit_read_wire(struct mor_slice bytes, struct mor_unit **ret, mortise_error *err)
{
	return read_bytes(bytes, FOREIGN, ret, err);
}

static int parse_json(struct mor_slice json, struct mor_doc **ret, mortise_error *err)
{
	int r = mor_doc_parse(json, 0, 0, ret, err);

	return r == MORTISE_EPROTO ? mor_fail(err, MORTISE_EINPUT, "not JSON: %s", err ? err->text : "") : r;
}

static int read_document(const struct mor_value *root, struct mor_unit **ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	int r = mor_pb_from_json(NULL, &mor_proto_compilation, root, MOR_PB_RECORDS, &bytes, err);

	return r < 0 ? r : read_bytes(mor_buf_view(&bytes), OURS, ret, err);
}

int mor_unit_read_json(struct mor_slice json, struct mor_unit **ret, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *outer = NULL;
	MOR_CLEAN(mor_doc) struct mor_doc *inner = NULL;
	struct mor_slice text;
	int r = parse_json(json, &outer, err);

	if (r < 0)
		return r;
	text = mor_json_string(mor_doc_root(outer));
	if (!text.ptr)
		return read_document(mor_doc_root(outer), ret, err);
	/* One level only: some writers put the JSON into a JSON string. */
	r = parse_json(text, &inner, err);
	return r < 0 ? r : read_document(mor_doc_root(inner), ret, err);
}

/* ---- writing ---- */

static void put_fields(struct mor_buf *out, const struct mor_pb_type *type, const char *from);

/* The length of a message comes before it, and is known after it. An empty message is left out where "absent"
 * and "empty" mean the same. */
static void put_message(struct mor_buf *out, const struct mor_pb_field *field, const char *from)
{
	size_t before = out->len, begin, end, len;
	char length[10];

	mor_pb_put_varint(out, (uint64_t)field->number << 3 | MOR_PB_BYTES);
	begin = out->len;
	put_fields(out, field->type, from);
	end = out->len;
	if (begin == end && !field->repeated && !field->presence) {
		out->len = before;
		return;
	}
	if (mor_pb_put_varint(out, end - begin) < 0)
		return;
	len = out->len - end;
	memcpy(length, out->data + end, len);
	memmove(out->data + begin + len, out->data + begin, end - begin);
	memcpy(out->data + begin, length, len);
}

static void put_field(struct mor_buf *out, const struct mor_pb_field *field, const char *at)
{
	struct mor_slice bytes;

	if (field->type) {
		put_message(out, field, at);
	} else if (field->kind == MOR_PB_BOOL) {
		if (*(const bool *)at)
			mor_pb_put_number(out, field->number, 1);
	} else {
		bytes = field->kind == MOR_PB_STRING ? mor_slice_of(*(const char *const *)(const void *)at) :
						       *(const struct mor_slice *)(const void *)at;
		if (bytes.len || field->repeated)
			mor_pb_put_bytes(out, field->number, bytes);
	}
}

static void put_fields(struct mor_buf *out, const struct mor_pb_type *type, const char *from)
{
	for (const struct mor_pb_field *field = type->fields; field < type->fields + type->count; field++) {
		const char *at = from + field->at;
		size_t count = 1;

		if (field->repeated) {
			count = *(const size_t *)(const void *)(from + field->count_at);
			memcpy(&at, from + field->at, sizeof(at));
		}
		for (size_t i = 0; i < count; i++)
			put_field(out, field, at + i * item_size(field));
	}
}

/* Checked like foreign bytes: what cannot be read again must not be written. */
static int put_unit(struct mor_buf *out, const struct mor_unit *unit, mortise_error *err)
{
	size_t before = out->len;

	put_fields(out, &mor_proto_compilation, (const char *)unit);
	if (mor_buf_failed(out))
		return mor_fail(err, out->status, "%s", mortise_status_text(out->status));
	return mor_proto_check(&mor_proto_compilation,
			       (struct mor_slice){ out->data + before, out->len - before }, NULL, err);
}

static int refuse_json(const struct mor_any *details, size_t count, mortise_error *err)
{
	for (size_t i = 0; i < count; i++)
		if (details[i].json.ptr)
			return mor_fail(err, MORTISE_EUNSUPPORTED,
					"details have the unknown type \"%s\": their JSON cannot be turned "
					"into protobuf",
					details[i].type_url);
	return 0;
}

int mor_unit_write_wire(const struct mor_unit *unit, struct mor_buf *out, mortise_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < unit->input_count; i++)
		r = refuse_json(unit->inputs[i].details, unit->inputs[i].detail_count, err);
	r = r ? r : refuse_json(unit->details, unit->detail_count, err);
	return r < 0 ? r : put_unit(out, unit, err);
}

int mor_unit_write_json(const struct mor_unit *unit, struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	int r = put_unit(&bytes, unit, err);

	return r < 0 ? r :
		       mor_pb_to_json(NULL, &mor_proto_compilation, mor_buf_view(&bytes), MOR_PB_PROTO_NAMES,
				      out, err);
}

/* ---- pieces of an AnalyzeReply ---- */

const char *mor_unit_title(const struct mor_unit *unit)
{
	if (unit->source_count)
		return unit->sources[0];
	return *unit->output_key ? unit->output_key : unit->vname.signature;
}

void mor_unit_env_json(const struct mor_unit *unit, struct mor_writer *w)
{
	mor_w_array(w);
	for (size_t i = 0; i < unit->env_count; i++) {
		mor_w_object(w);
		mor_w_pair(w, "name", unit->env[i].name);
		mor_w_pair(w, "value", unit->env[i].value);
		mor_w_end(w);
	}
	mor_w_end(w);
}

void mor_unit_details_json(const struct mor_unit *unit, struct mor_writer *w)
{
	mor_w_array(w);
	for (size_t i = 0; i < unit->detail_count; i++)
		mor_any_json(&unit->details[i], w);
	mor_w_end(w);
}

void mor_unit_texts_json(struct mor_writer *w, const char *name, const char *const *texts, size_t count)
{
	mor_w_pair_array(w, name);
	for (size_t i = 0; i < count; i++)
		mor_w_string(w, texts[i]);
	mor_w_end(w);
}

void mor_unit_reply_json(const struct mor_unit *unit, const char *working_dir, const char *output,
			 struct mor_writer *w)
{
	mor_w_object(w);
	mor_w_pair(w, "workingDir", working_dir);
	mor_unit_texts_json(w, "inputs", unit->sources, unit->source_count);
	if (unit->source_count)
		mor_w_pair(w, "input", unit->sources[0]);
	mor_unit_texts_json(w, "arguments", unit->arguments, unit->argument_count);
	mor_w_key(w, "environment");
	mor_unit_env_json(unit, w);
	mor_w_pair(w, "output", output);
	mor_w_pair(w, "entryContext", unit->entry_context);
	mor_w_pair(w, "outputKey", unit->output_key);
	mor_w_key(w, "details");
	mor_unit_details_json(unit, w);
	mor_w_end(w);
}

static void pair_unless_empty(struct mor_writer *w, const char *name, const char *text)
{
	if (*text)
		mor_w_pair(w, name, text);
}

void mor_vname_json(const struct mor_vname *vname, struct mor_writer *w)
{
	mor_w_object(w);
	pair_unless_empty(w, "signature", vname->signature);
	pair_unless_empty(w, "corpus", vname->corpus);
	pair_unless_empty(w, "root", vname->root);
	pair_unless_empty(w, "path", vname->path);
	pair_unless_empty(w, "language", vname->language);
	mor_w_end(w);
}
