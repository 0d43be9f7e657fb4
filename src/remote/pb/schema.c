/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a schema, what joins them, and how things in it are found. */
#include "pb/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/near.h"
#include "base/text.h"
#include "pb/inside.h"

enum mor_pb_wire mor_pb_kind_wire(enum mor_pb_kind kind)
{
	static const unsigned char wires[MOR_PB_KINDS] = {
		[MOR_PB_DOUBLE] = MOR_PB_FIXED64,
		[MOR_PB_FLOAT] = MOR_PB_FIXED32,
		[MOR_PB_FIX64] = MOR_PB_FIXED64,
		[MOR_PB_FIX32] = MOR_PB_FIXED32,
		[MOR_PB_SFIX32] = MOR_PB_FIXED32,
		[MOR_PB_SFIX64] = MOR_PB_FIXED64,
		[MOR_PB_STRING] = MOR_PB_BYTES,
		[MOR_PB_GROUP] = MOR_PB_BYTES,
		[MOR_PB_MESSAGE] = MOR_PB_BYTES,
		[MOR_PB_BLOB] = MOR_PB_BYTES, /* all others: MOR_PB_VARINT, which is 0 */
	};

	return (enum mor_pb_wire)wires[kind];
}

/* ---- files ---- */

enum { FILE_IMPORT = 3 };

struct mor_pb_schema *mor_pb_schema_new(void)
{
	struct mor_pb_schema *schema = mor_zalloc(sizeof(*schema));

	if (!schema)
		return NULL;
	schema->memory.limit = MOR_PB_SCHEMA_BYTES;
	schema->last_file = &schema->files;
	schema->last_service = &schema->services;
	return schema;
}

struct mor_pb_schema *mor_pb_schema_free(struct mor_pb_schema *schema)
{
	if (schema)
		mor_arena_fini(&schema->memory);
	mor_free(schema);
	return NULL;
}

static const struct mor_pb_file *find_file(const struct mor_pb_schema *schema, struct mor_slice name)
{
	for (const struct mor_pb_file *file = schema->files; file; file = file->next)
		if (mor_slice_eq(file->name, name))
			return file;
	return NULL;
}

int mor_pb_schema_add_file(struct mor_pb_schema *schema, struct mor_slice bytes, mortise_error *err)
{
	static const struct mor_pb_row name_row[] = { { 1, true, 0 }, { 0 } };
	struct mor_pb_file *file;
	struct mor_slice name = { 0 };

	if (mor_pb_read_rows(bytes, name_row, &name) < 0 || name.len == 0 || memchr(name.ptr, '\0', name.len) ||
	    !mor_utf8_valid(name))
		return mor_fail(err, MORTISE_EINPUT, "not a description of a .proto file, or cut short");
	if (find_file(schema, name))
		return 0;
	schema->import_count += mor_pb_count_each(bytes, FILE_IMPORT);
	if (++schema->file_count > MOR_PB_SCHEMA_FILES || schema->import_count > MOR_PB_SCHEMA_IMPORTS)
		return mor_fail(err, MORTISE_ELIMIT, "more than %d .proto files, or %d imports",
				MOR_PB_SCHEMA_FILES, MOR_PB_SCHEMA_IMPORTS);
	file = mor_arena_array(&schema->memory, 1, sizeof(*file));
	if (file) {
		file->name = mor_arena_text(&schema->memory, name);
		file->bytes = mor_arena_text(&schema->memory, bytes);
	}
	if (!file || !file->name.ptr || !file->bytes.ptr)
		return mor_pb_schema_no_memory(schema, err);
	*schema->last_file = file;
	schema->last_file = &file->next;
	return 0;
}

int mor_pb_schema_add_set(struct mor_pb_schema *schema, struct mor_slice set, mortise_error *err)
{
	static const struct mor_pb_row no_rows[] = { { 0 } };
	struct mor_pb pb = { .left = set };
	int r = 0;

	if (set.len == 0 || mor_pb_read_rows(set, no_rows, NULL) < 0)
		return mor_fail(err, MORTISE_EINPUT,
				"not a descriptor set; make one with protoc --include_imports -o FILE.desc");
	while (r == 0 && mor_pb_each(&pb, 1))
		r = mor_pb_schema_add_file(schema, pb.bytes, err);
	return r;
}

bool mor_pb_schema_missing(const struct mor_pb_schema *schema, struct mor_slice *ret)
{
	for (const struct mor_pb_file *file = schema->files; file; file = file->next) {
		struct mor_pb pb = { .left = file->bytes };

		while (mor_pb_each(&pb, FILE_IMPORT))
			if (!find_file(schema, pb.bytes)) {
				*ret = pb.bytes;
				return true;
			}
	}
	return false;
}

/* ---- joining ---- */

static int compare_names(const void *one, const void *other)
{
	struct mor_slice a = **(struct mor_slice *const *)one, b = **(struct mor_slice *const *)other;
	int r = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);

	return r ? r : (a.len > b.len) - (a.len < b.len);
}

static int sort_names(struct mor_slice **names, size_t count, mortise_error *err)
{
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 1; i < count; i++)
		if (compare_names(&names[i - 1], &names[i]) == 0)
			return mor_fail(err, MORTISE_EINPUT, "two files describe %s", names[i]->ptr);
	return 0;
}

static int sort_all(struct mor_pb_schema *schema, mortise_error *err)
{
	size_t types = 0, enums = 0;
	int r;

	schema->types_by_name =
		mor_arena_array(&schema->memory, schema->type_count, sizeof(*schema->types_by_name));
	schema->enums_by_name =
		mor_arena_array(&schema->memory, schema->enum_count, sizeof(*schema->enums_by_name));
	if (!schema->types_by_name || !schema->enums_by_name)
		return mor_pb_schema_no_memory(schema, err);
	for (struct mor_pb_type *type = schema->types; type; type = type->next)
		schema->types_by_name[types++] = &type->name;
	for (struct mor_pb_enum *values = schema->enums; values; values = values->next)
		schema->enums_by_name[enums++] = &values->name;
	r = sort_names(schema->types_by_name, types, err);
	return r < 0 ? r : sort_names(schema->enums_by_name, enums, err);
}

static const void *find_name(struct mor_slice *const *names, size_t count, struct mor_slice name)
{
	const struct mor_slice *wanted = &name;
	struct mor_slice *const *found =
		count && name.len ? bsearch(&wanted, names, count, sizeof(*names), compare_names) : NULL;

	return found ? *found : NULL;
}

const struct mor_pb_type *mor_pb_schema_type(const struct mor_pb_schema *schema, struct mor_slice name)
{
	return find_name(schema->types_by_name, schema->type_count, name);
}

static int refuse_missing(mortise_error *err, struct mor_slice user, struct mor_slice wanted)
{
	return mor_fail(err, MORTISE_EINPUT,
			"%s uses %s, which no file describes; protoc needs --include_imports", user.ptr,
			wanted.ptr);
}

static bool is_key(const struct mor_pb_field *key)
{
	return !key->repeated && key->kind != MOR_PB_DOUBLE && key->kind != MOR_PB_FLOAT &&
	       key->kind != MOR_PB_BLOB && key->kind != MOR_PB_MESSAGE && key->kind != MOR_PB_ENUM &&
	       key->kind != MOR_PB_GROUP;
}

static bool is_map_entry(const struct mor_pb_type *type)
{
	return type->count == 2 && type->fields[0].number == 1 && type->fields[1].number == 2 &&
	       is_key(&type->fields[0]) && !type->fields[1].repeated && !type->fields[1].required &&
	       type->fields[1].kind != MOR_PB_GROUP;
}

static int join_field(struct mor_pb_schema *schema, const struct mor_pb_type *user, struct mor_pb_field *field,
		      mortise_error *err)
{
	if (field->kind == MOR_PB_MESSAGE) {
		field->type = mor_pb_schema_type(schema, field->of);
		if (!field->type)
			return refuse_missing(err, user->name, field->of);
		field->map = field->repeated && field->type->map_entry;
		if (field->map && !is_map_entry(field->type))
			return mor_fail(err, MORTISE_EINPUT, "%s is not an entry of a map", field->of.ptr);
	}
	if (field->kind == MOR_PB_ENUM) {
		field->values = find_name(schema->enums_by_name, schema->enum_count, field->of);
		if (!field->values)
			return refuse_missing(err, user->name, field->of);
	}
	return 0;
}

static int join_method(struct mor_pb_schema *schema, const struct mor_pb_service *user,
		       struct mor_pb_method *method, mortise_error *err)
{
	method->input = mor_pb_schema_type(schema, method->input_name);
	method->output = mor_pb_schema_type(schema, method->output_name);
	if (!method->input)
		return refuse_missing(err, user->name, method->input_name);
	return method->output ? 0 : refuse_missing(err, user->name, method->output_name);
}

/* The types that have a JSON of their own, and the kinds of their fields 1, 2, ... */
static const struct {
	const char *name;
	enum mor_pb_known known;
	unsigned char kinds[7];
} known_types[] = {
	{ "Timestamp", MOR_PB_TIMESTAMP, { MOR_PB_INT64, MOR_PB_INT32 } },
	{ "Duration", MOR_PB_DURATION, { MOR_PB_INT64, MOR_PB_INT32 } },
	{ "FieldMask", MOR_PB_FIELD_MASK, { MOR_PB_STRING } },
	{ "Struct", MOR_PB_STRUCT, { MOR_PB_MESSAGE } },
	{ "ListValue", MOR_PB_LIST_VALUE, { MOR_PB_MESSAGE } },
	{ "Value",
	  MOR_PB_VALUE,
	  { MOR_PB_ENUM, MOR_PB_DOUBLE, MOR_PB_STRING, MOR_PB_BOOL, MOR_PB_MESSAGE, MOR_PB_MESSAGE } },
	{ "Any", MOR_PB_ANY, { MOR_PB_STRING, MOR_PB_BLOB } },
	{ "DoubleValue", MOR_PB_WRAPPER, { MOR_PB_DOUBLE } },
	{ "FloatValue", MOR_PB_WRAPPER, { MOR_PB_FLOAT } },
	{ "Int64Value", MOR_PB_WRAPPER, { MOR_PB_INT64 } },
	{ "UInt64Value", MOR_PB_WRAPPER, { MOR_PB_UINT64 } },
	{ "Int32Value", MOR_PB_WRAPPER, { MOR_PB_INT32 } },
	{ "UInt32Value", MOR_PB_WRAPPER, { MOR_PB_UINT32 } },
	{ "BoolValue", MOR_PB_WRAPPER, { MOR_PB_BOOL } },
	{ "StringValue", MOR_PB_WRAPPER, { MOR_PB_STRING } },
	{ "BytesValue", MOR_PB_WRAPPER, { MOR_PB_BLOB } },
};

/* The code for these types relies on their shape, and a description can say anything. */
static bool has_known_shape(const struct mor_pb_type *type, enum mor_pb_known known, const unsigned char *kinds)
{
	size_t count = 0;

	for (; kinds[count]; count++)
		if (count >= type->count || type->fields[count].number != count + 1 ||
		    type->fields[count].kind != kinds[count] ||
		    (known == MOR_PB_VALUE && type->fields[count].oneof != 0))
			return false;
	if (known == MOR_PB_STRUCT)
		return count == type->count && type->fields[0].map;
	return count == type->count &&
	       type->fields[0].repeated == (known == MOR_PB_FIELD_MASK || known == MOR_PB_LIST_VALUE) &&
	       !type->fields[0].map;
}

static int know_type(struct mor_pb_type *type, mortise_error *err)
{
	static const char package[] = "google.protobuf.";

	if (type->name.len < sizeof(package) || memcmp(type->name.ptr, package, sizeof(package) - 1) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(known_types) / sizeof(*known_types); i++) {
		if (strcmp(type->name.ptr + sizeof(package) - 1, known_types[i].name) != 0)
			continue;
		if (!has_known_shape(type, known_types[i].known, known_types[i].kinds))
			return mor_fail(err, MORTISE_EINPUT, "%s has other fields than Google's",
					type->name.ptr);
		type->known = known_types[i].known;
	}
	return 0;
}

int mor_pb_schema_link(struct mor_pb_schema *schema, mortise_error *err)
{
	int r = mor_pb_schema_read(schema, err);

	if (r == 0)
		r = sort_all(schema, err);
	for (struct mor_pb_type *type = schema->types; r == 0 && type; type = type->next)
		for (size_t i = 0; r == 0 && i < type->count; i++)
			r = join_field(schema, type, (struct mor_pb_field *)&type->fields[i], err);
	for (struct mor_pb_type *type = schema->types; r == 0 && type; type = type->next)
		r = know_type(type, err);
	for (struct mor_pb_service *service = schema->services; r == 0 && service; service = service->next)
		for (size_t i = 0; r == 0 && i < service->count; i++)
			r = join_method(schema, service, &service->methods[i], err);
	return r;
}

/* ---- finding ---- */

const struct mor_pb_service *mor_pb_schema_services(const struct mor_pb_schema *schema)
{
	return schema->services;
}

static const struct mor_pb_method *find_method(const struct mor_pb_service *service, struct mor_slice name)
{
	for (size_t i = 0; i < service->count; i++)
		if (mor_slice_eq(service->methods[i].name, name))
			return &service->methods[i];
	return NULL;
}

/* "a.B/C" of everything there is, to find what was meant. */
static int refuse_method(const struct mor_pb_schema *schema, struct mor_slice path, mortise_error *err)
{
	char typed[300], best[600] = "", one[600];
	struct mor_nearest near = { .word = mor_excerpt(path, typed, sizeof(typed)) };

	for (const struct mor_pb_service *service = schema->services; service; service = service->next)
		for (size_t i = 0; i < service->count; i++) {
			snprintf(one, sizeof(one), "%s/%s", service->name.ptr, service->methods[i].name.ptr);
			mor_nearest_offer(&near, one);
			if (near.best == one)
				near.best = memcpy(best, one, sizeof(best));
		}
	if (mor_nearest_best(&near))
		return mor_fail(err, MORTISE_EUNSUPPORTED, "no method \"%s\"; did you mean %s?", typed, best);
	return mor_fail(err, MORTISE_EUNSUPPORTED,
			"no method \"%s\"; a method is called as package.Service/Method", typed);
}

int mor_pb_schema_method(const struct mor_pb_schema *schema, struct mor_slice path,
			 const struct mor_pb_method **ret, mortise_error *err)
{
	struct mor_slice name, method;
	const char *slash;

	if (path.len && path.ptr[0] == '/')
		path = (struct mor_slice){ path.ptr + 1, path.len - 1 };
	slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
	if (!slash)
		return refuse_method(schema, path, err);
	name = (struct mor_slice){ path.ptr, (size_t)(slash - path.ptr) };
	method = (struct mor_slice){ slash + 1, path.len - name.len - 1 };
	for (const struct mor_pb_service *service = schema->services; service; service = service->next) {
		const struct mor_pb_method *found =
			mor_slice_eq(service->name, name) ? find_method(service, method) : NULL;

		if (found) {
			*ret = found;
			return 0;
		}
	}
	return refuse_method(schema, path, err);
}

const struct mor_pb_field *mor_pb_type_field(const struct mor_pb_type *type, uint32_t number)
{
	size_t from = 0, to = type->count;

	/* Most messages have the fields 1, 2, 3, ... */
	if (number && number <= type->count && type->fields[number - 1].number == number)
		return &type->fields[number - 1];
	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (type->fields[middle].number == number)
			return &type->fields[middle];
		if (type->fields[middle].number < number)
			from = middle + 1;
		else
			to = middle;
	}
	return NULL;
}

const struct mor_pb_field *mor_pb_type_named(const struct mor_pb_type *type, struct mor_slice name)
{
	for (size_t i = 0; i < type->count; i++)
		if (mor_slice_eq(type->fields[i].json_name, name))
			return &type->fields[i];
	for (size_t i = 0; i < type->count; i++)
		if (mor_slice_eq(type->fields[i].name, name))
			return &type->fields[i];
	return NULL;
}

const struct mor_pb_choice *mor_pb_enum_choice(const struct mor_pb_enum *values, int32_t number)
{
	size_t from = 0, to = values->count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (values->choices[middle].number < number)
			from = middle + 1;
		else
			to = middle;
	}
	return from < values->count && values->choices[from].number == number ? &values->choices[from] : NULL;
}
