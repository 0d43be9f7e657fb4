/* SPDX-License-Identifier: Apache-2.0 */
/* FileDescriptorProto and what is in it, as tables of the fields that count here. The numbers are those of
 * google/protobuf/descriptor.proto. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "pb/inside.h"

#define NAME_LIMIT 1000 /* of a full name: types nest, and each one repeats the names around it */
#define NEST_LIMIT 32

struct describing {
	struct mor_pb_schema *schema;
	struct mor_slice file;
	bool proto2;
	unsigned depth;
	mortise_error *err;
};

/* What a single row reads. For a number a uint64_t would do, but the code that reads a row can write either,
 * and gcc sees both where it inlines it (-O3). */
union single {
	uint64_t number;
	struct mor_slice text;
};

int mor_pb_read_rows(struct mor_slice bytes, const struct mor_pb_row *rows, void *ret)
{
	struct mor_pb pb = { .left = bytes };
	int r;

	while ((r = mor_pb_next(&pb)) > 0)
		for (const struct mor_pb_row *row = rows; row->number; row++) {
			if (row->number != pb.field || pb.wire != (row->text ? MOR_PB_BYTES : MOR_PB_VARINT))
				continue;
			if (row->text)
				*(struct mor_slice *)(void *)((char *)ret + row->at) = pb.bytes;
			else
				*(uint64_t *)(void *)((char *)ret + row->at) = pb.number;
		}
	return r;
}

bool mor_pb_each(struct mor_pb *pb, uint32_t number)
{
	while (mor_pb_next(pb) > 0)
		if (pb->field == number && pb->wire == MOR_PB_BYTES)
			return true;
	return false;
}

size_t mor_pb_count_each(struct mor_slice bytes, uint32_t number)
{
	struct mor_pb pb = { .left = bytes };
	size_t count = 0;

	while (mor_pb_each(&pb, number))
		count++;
	return count;
}

static int refuse_file(const struct describing *rd, const char *what, struct mor_slice name)
{
	char shown[200], file[200];

	return mor_fail(rd->err, MORTISE_EINPUT, "%s: %s \"%s\"", mor_excerpt(rd->file, file, sizeof(file)),
			what, mor_excerpt(name, shown, sizeof(shown)));
}

static int refuse_bytes(const struct describing *rd)
{
	char file[200];

	return mor_fail(rd->err, MORTISE_EINPUT, "%s: not a description of a .proto file, or cut short",
			mor_excerpt(rd->file, file, sizeof(file)));
}

/* Letters, digits and underscores; dots between them where `dots` is set. */
static bool is_name(struct mor_slice name, bool dots)
{
	bool begins = true;

	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.ptr[i];

		if (c == '.' && dots && !begins) {
			begins = true;
			continue;
		}
		if (c >= 0x80 || !(isalpha(c) || c == '_' || (isdigit(c) && !begins)))
			return false;
		begins = false;
	}
	return !begins;
}

/* scope.name in memory of the schema. */
static int join_name(struct describing *rd, struct mor_slice scope, struct mor_slice name,
		     struct mor_slice *ret)
{
	char whole[NAME_LIMIT];
	size_t len = scope.len ? scope.len + 1 : 0;

	if (!name.ptr || !is_name(name, false))
		return refuse_file(rd, "not a name:", name);
	if (len + name.len > sizeof(whole))
		return refuse_file(rd, "a name that is too long:", name);
	if (scope.len) {
		memcpy(whole, scope.ptr, scope.len);
		whole[scope.len] = '.';
	}
	memcpy(whole + len, name.ptr, name.len);
	*ret = mor_arena_text(&rd->schema->memory, (struct mor_slice){ whole, len + name.len });
	return ret->ptr ? 0 : mor_pb_schema_no_memory(rd->schema, rd->err);
}

static int keep_text(struct describing *rd, struct mor_slice text, struct mor_slice *ret)
{
	*ret = mor_arena_text(&rd->schema->memory, text);
	return ret->ptr ? 0 : mor_pb_schema_no_memory(rd->schema, rd->err);
}

/* Sets the pointer at `where`. A macro, so that it works for every type. 0 or a status. */
#define MAKE_ARRAY(rd, count, size, where) \
	((*(where) = mor_arena_array(&(rd)->schema->memory, count, size)) ? \
		 0 : \
		 mor_pb_schema_no_memory((rd)->schema, (rd)->err))

/* The name of a type as descriptors give it: ".package.Type". */
static int keep_type_name(struct describing *rd, struct mor_slice name, struct mor_slice *ret)
{
	if (name.len && name.ptr[0] == '.')
		name = (struct mor_slice){ name.ptr + 1, name.len - 1 };
	if (!is_name(name, true))
		return refuse_file(rd, "not the name of a type:", name);
	return keep_text(rd, name, ret);
}

/* ---- fields ---- */

#define NOT_SET UINT64_MAX

struct field_text {
	struct mor_slice name, of, options, json_name;
	uint64_t number, label, kind, oneof, optional;
};
static const struct mor_pb_row field_rows[] = {
	{ 1, true, offsetof(struct field_text, name) },
	{ 3, false, offsetof(struct field_text, number) },
	{ 4, false, offsetof(struct field_text, label) },
	{ 5, false, offsetof(struct field_text, kind) },
	{ 6, true, offsetof(struct field_text, of) },
	{ 8, true, offsetof(struct field_text, options) },
	{ 9, false, offsetof(struct field_text, oneof) },
	{ 10, true, offsetof(struct field_text, json_name) },
	{ 17, false, offsetof(struct field_text, optional) },
	{ 0 },
};
enum { LABEL_REQUIRED = 2, LABEL_REPEATED = 3 };

/* required_input -> requiredInput, as protoc does it. */
static int make_json_name(struct describing *rd, struct mor_slice name, struct mor_slice *ret)
{
	char camel[NAME_LIMIT];
	size_t len = 0;
	bool up = false;

	for (size_t i = 0; i < name.len && len < sizeof(camel); i++) {
		char c = name.ptr[i];

		if (c != '_')
			camel[len++] = up ? (char)toupper((unsigned char)c) : c;
		up = c == '_';
	}
	return keep_text(rd, (struct mor_slice){ camel, len }, ret);
}

static int read_names(struct describing *rd, const struct field_text *text, struct mor_pb_field *field)
{
	int r = is_name(text->name, false) && text->name.len < NAME_LIMIT ?
			0 :
			refuse_file(rd, "not a name:", text->name);

	if (r == 0)
		r = keep_text(rd, text->name, &field->name);
	if (r < 0 || !text->json_name.len)
		return r < 0 ? r : make_json_name(rd, text->name, &field->json_name);
	if (!mor_utf8_valid(text->json_name) || memchr(text->json_name.ptr, '\0', text->json_name.len))
		return refuse_file(rd, "not a name for JSON:", text->json_name);
	return keep_text(rd, text->json_name, &field->json_name);
}

static int read_field(struct describing *rd, struct mor_slice bytes, struct mor_pb_field *field)
{
	struct field_text text = { .oneof = NOT_SET };
	union single packed = { .number = rd->proto2 ? 0 : 1 };
	static const struct mor_pb_row packed_row[] = { { 2, false, 0 }, { 0 } };
	int r;

	if (mor_pb_read_rows(bytes, field_rows, &text) < 0 ||
	    mor_pb_read_rows(text.options, packed_row, &packed) < 0)
		return refuse_bytes(rd);
	if (text.number == 0 || text.number > 0x1fffffff || text.kind == 0 || text.kind >= MOR_PB_KINDS ||
	    (text.oneof != NOT_SET && text.oneof > INT32_MAX))
		return refuse_file(rd, "a field that cannot be:", text.name);
	field->number = (uint32_t)text.number;
	field->kind = (enum mor_pb_kind)text.kind;
	field->repeated = text.label == LABEL_REPEATED;
	field->required = text.label == LABEL_REQUIRED;
	field->packed = packed.number && field->repeated && mor_pb_kind_wire(field->kind) != MOR_PB_BYTES;
	/* `optional` in proto3 is written as a oneof with one member. */
	field->oneof = text.oneof == NOT_SET || text.optional || field->repeated ? -1 : (int32_t)text.oneof;
	field->presence = !field->repeated &&
			  (rd->proto2 || text.optional || field->oneof >= 0 || field->kind == MOR_PB_MESSAGE);
	r = read_names(rd, &text, field);
	if (r == 0 && (field->kind == MOR_PB_MESSAGE || field->kind == MOR_PB_ENUM))
		r = keep_type_name(rd, text.of, &field->of);
	return r;
}

static int compare_fields(const void *a, const void *b)
{
	uint32_t one = ((const struct mor_pb_field *)a)->number, two = ((const struct mor_pb_field *)b)->number;

	return (one > two) - (one < two);
}

static int read_fields(struct describing *rd, struct mor_slice bytes, struct mor_pb_type *type)
{
	struct mor_pb pb = { .left = bytes };
	size_t count = mor_pb_count_each(bytes, 2);
	struct mor_pb_field *fields;
	int r = MAKE_ARRAY(rd, count, sizeof(*fields), &fields);

	type->fields = fields;
	while (r == 0 && mor_pb_each(&pb, 2)) {
		struct mor_pb_field *field = &fields[type->count++];

		r = read_field(rd, pb.bytes, field);
		type->has_oneofs = type->has_oneofs || field->oneof >= 0;
		type->has_required = type->has_required || field->required;
	}
	if (r < 0)
		return r;
	qsort(fields, type->count, sizeof(*fields), compare_fields);
	for (size_t i = 1; i < type->count; i++)
		if (type->fields[i].number == type->fields[i - 1].number)
			return refuse_file(rd, "two fields with the same number:", type->name);
	return 0;
}

/* ---- enums ---- */

struct choice_text {
	struct mor_slice name;
	uint64_t number;
};
static const struct mor_pb_row choice_rows[] = {
	{ 1, true, offsetof(struct choice_text, name) },
	{ 2, false, offsetof(struct choice_text, number) },
	{ 0 },
};
static const struct mor_pb_row name_row[] = { { 1, true, 0 }, { 0 } };

static int compare_choices(const void *a, const void *b)
{
	const struct mor_pb_choice *one = a, *two = b;

	if (one->number != two->number)
		return one->number < two->number ? -1 : 1;
	return (one->order > two->order) - (one->order < two->order);
}

static int read_choices(struct describing *rd, struct mor_slice bytes, struct mor_pb_enum *values)
{
	struct mor_pb pb = { .left = bytes };
	int r = MAKE_ARRAY(rd, mor_pb_count_each(bytes, 2), sizeof(*values->choices), &values->choices);

	while (r == 0 && mor_pb_each(&pb, 2)) {
		struct mor_pb_choice *choice = &values->choices[values->count];
		struct choice_text text = { 0 };

		if (mor_pb_read_rows(pb.bytes, choice_rows, &text) < 0)
			return refuse_bytes(rd);
		if (!is_name(text.name, false))
			return refuse_file(rd, "not a name:", text.name);
		choice->number = (int32_t)(uint32_t)text.number;
		choice->order = (uint32_t)values->count++;
		r = keep_text(rd, text.name, &choice->name);
	}
	if (r == 0 && values->count == 0)
		r = refuse_file(rd, "an enum without values:", values->name);
	if (r < 0)
		return r;
	values->zero = values->choices[0].number;
	qsort(values->choices, values->count, sizeof(*values->choices), compare_choices);
	return 0;
}

static int read_enum(struct describing *rd, struct mor_slice scope, struct mor_slice bytes)
{
	struct mor_pb_enum *values = NULL;
	struct mor_slice name = { 0 };
	int r = mor_pb_read_rows(bytes, name_row, &name) < 0 ? refuse_bytes(rd) :
							       MAKE_ARRAY(rd, 1, sizeof(*values), &values);

	if (r < 0 || (r = join_name(rd, scope, name, &values->name)) < 0 ||
	    (r = read_choices(rd, bytes, values)) < 0)
		return r;
	values->closed = rd->proto2;
	values->is_null = mor_slice_is(values->name, "google.protobuf.NullValue");
	values->next = rd->schema->enums;
	rd->schema->enums = values;
	rd->schema->enum_count++;
	return 0;
}

/* ---- messages ---- */

struct type_text {
	struct mor_slice name, options;
};
static const struct mor_pb_row type_rows[] = {
	{ 1, true, offsetof(struct type_text, name) },
	{ 7, true, offsetof(struct type_text, options) },
	{ 0 },
};
enum { TYPE_NESTED = 3, TYPE_ENUM = 4 };

static int read_type(struct describing *rd, struct mor_slice scope, struct mor_slice bytes);

static int read_inner(struct describing *rd, struct mor_slice scope, struct mor_slice bytes, uint32_t types,
		      uint32_t enums)
{
	struct mor_pb pb = { .left = bytes };
	int r = 0;

	while (r == 0 && mor_pb_each(&pb, types))
		r = read_type(rd, scope, pb.bytes);
	pb = (struct mor_pb){ .left = bytes };
	while (r == 0 && mor_pb_each(&pb, enums))
		r = read_enum(rd, scope, pb.bytes);
	return r;
}

static int read_type(struct describing *rd, struct mor_slice scope, struct mor_slice bytes)
{
	static const struct mor_pb_row map_row[] = { { 7, false, 0 }, { 0 } };
	struct mor_pb_type *type = NULL;
	struct type_text text = { 0 };
	union single map = { 0 };
	int r;

	if (mor_pb_read_rows(bytes, type_rows, &text) < 0 || mor_pb_read_rows(text.options, map_row, &map) < 0)
		return refuse_bytes(rd);
	if (rd->depth == NEST_LIMIT)
		return refuse_file(rd, "messages nested too deep:", text.name);
	r = MAKE_ARRAY(rd, 1, sizeof(*type), &type);
	if (r < 0 || (r = join_name(rd, scope, text.name, &type->name)) < 0 ||
	    (r = read_fields(rd, bytes, type)) < 0)
		return r;
	type->map_entry = map.number != 0;
	type->next = rd->schema->types;
	rd->schema->types = type;
	rd->schema->type_count++;
	rd->depth++;
	r = read_inner(rd, type->name, bytes, TYPE_NESTED, TYPE_ENUM);
	rd->depth--;
	return r;
}

/* ---- services ---- */

struct method_text {
	struct mor_slice name, input, output;
	uint64_t client, server;
};
static const struct mor_pb_row method_rows[] = {
	{ 1, true, offsetof(struct method_text, name) },    { 2, true, offsetof(struct method_text, input) },
	{ 3, true, offsetof(struct method_text, output) },  { 5, false, offsetof(struct method_text, client) },
	{ 6, false, offsetof(struct method_text, server) }, { 0 },
};

static int read_method(struct describing *rd, struct mor_slice bytes, struct mor_pb_method *method)
{
	struct method_text text = { 0 };
	int r;

	if (mor_pb_read_rows(bytes, method_rows, &text) < 0)
		return refuse_bytes(rd);
	if (!is_name(text.name, false))
		return refuse_file(rd, "not a name:", text.name);
	method->client_streams = text.client != 0;
	method->server_streams = text.server != 0;
	r = keep_text(rd, text.name, &method->name);
	if (r == 0)
		r = keep_type_name(rd, text.input, &method->input_name);
	if (r == 0)
		r = keep_type_name(rd, text.output, &method->output_name);
	return r;
}

static int read_service(struct describing *rd, struct mor_slice scope, struct mor_slice bytes)
{
	struct mor_pb pb = { .left = bytes };
	struct mor_pb_service *service = NULL;
	struct mor_slice name = { 0 };
	int r = mor_pb_read_rows(bytes, name_row, &name) < 0 ? refuse_bytes(rd) :
							       MAKE_ARRAY(rd, 1, sizeof(*service), &service);

	if (r == 0)
		r = join_name(rd, scope, name, &service->name);
	if (r == 0)
		r = MAKE_ARRAY(rd, mor_pb_count_each(bytes, 2), sizeof(*service->methods), &service->methods);
	while (r == 0 && mor_pb_each(&pb, 2))
		r = read_method(rd, pb.bytes, &service->methods[service->count++]);
	if (r < 0)
		return r;
	*rd->schema->last_service = service;
	rd->schema->last_service = &service->next;
	return 0;
}

/* ---- files ---- */

struct file_text {
	struct mor_slice package, syntax;
};
static const struct mor_pb_row file_rows[] = {
	{ 2, true, offsetof(struct file_text, package) },
	{ 12, true, offsetof(struct file_text, syntax) },
	{ 0 },
};
enum { FILE_TYPE = 4, FILE_ENUM = 5, FILE_SERVICE = 6 };

static int read_file(struct describing *rd, struct mor_slice bytes)
{
	struct mor_pb pb = { .left = bytes };
	struct file_text text = { 0 };
	int r;

	if (mor_pb_read_rows(bytes, file_rows, &text) < 0)
		return refuse_bytes(rd);
	if (text.package.len && (!is_name(text.package, true) || text.package.len > NAME_LIMIT / 2))
		return refuse_file(rd, "not the name of a package:", text.package);
	if (!mor_text_in(text.syntax, "|proto2|proto3"))
		return refuse_file(rd, "only proto2 and proto3 are supported, not", text.syntax);
	rd->proto2 = !mor_slice_is(text.syntax, "proto3");
	r = read_inner(rd, text.package, bytes, FILE_TYPE, FILE_ENUM);
	while (r == 0 && mor_pb_each(&pb, FILE_SERVICE))
		r = read_service(rd, text.package, pb.bytes);
	return r;
}

int mor_pb_schema_read(struct mor_pb_schema *schema, mortise_error *err)
{
	struct describing rd = { .schema = schema, .err = err };
	int r = 0;

	for (struct mor_pb_file *file = schema->files; r == 0 && file; file = file->next) {
		rd.file = file->name;
		r = read_file(&rd, file->bytes);
	}
	return r;
}
