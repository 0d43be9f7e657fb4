/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptions of messages and services that are read at run time: what `protoc --include_imports -o FILE`
 * writes (a FileDescriptorSet), or what a server says of itself (reflection). proto2 and proto3; of proto2,
 * extensions are unknown fields, and a group is refused where one is used.
 *
 *	mor_pb_schema_new() .. mor_pb_schema_add_set() or _add_file()* .. mor_pb_schema_link(), once .. find
 *
 * A room that knows its messages has a constant table of types instead (src/work/kythe/unit/proto.c).
 *
 * Everything belongs to the schema. All names are NUL-terminated as well. Who sends the descriptions may be
 * hostile: they take at most MOR_PB_SCHEMA_BYTES of memory, whatever they say, and time in proportion.
 */
#ifndef MOR_PB_SCHEMA_H
#define MOR_PB_SCHEMA_H

#include "pb/pb.h"

#define MOR_PB_SCHEMA_BYTES   ((size_t)64 << 20)
#define MOR_PB_SCHEMA_FILES   2000
#define MOR_PB_SCHEMA_IMPORTS 20000 /* of all files */

/* The numbers of descriptor.proto. */
enum mor_pb_kind {
	MOR_PB_DOUBLE = 1,
	MOR_PB_FLOAT,
	MOR_PB_INT64,
	MOR_PB_UINT64,
	MOR_PB_INT32,
	MOR_PB_FIX64,
	MOR_PB_FIX32,
	MOR_PB_BOOL,
	MOR_PB_STRING,
	MOR_PB_GROUP,
	MOR_PB_MESSAGE,
	MOR_PB_BLOB,
	MOR_PB_UINT32,
	MOR_PB_ENUM,
	MOR_PB_SFIX32,
	MOR_PB_SFIX64,
	MOR_PB_SINT32,
	MOR_PB_SINT64,
	MOR_PB_KINDS
};
/* How a value of this kind is written; MOR_PB_BYTES for those that cannot be packed. */
enum mor_pb_wire mor_pb_kind_wire(enum mor_pb_kind kind);

/* The types that have a JSON of their own. */
enum mor_pb_known {
	MOR_PB_PLAIN,
	MOR_PB_TIMESTAMP,
	MOR_PB_DURATION,
	MOR_PB_FIELD_MASK,
	MOR_PB_STRUCT,
	MOR_PB_LIST_VALUE,
	MOR_PB_VALUE,
	MOR_PB_WRAPPER, /* google.protobuf.StringValue and its like: field 1 */
	MOR_PB_ANY,
	MOR_PB_OWN /* the JSON is that of `own`, in a table of another room */
};

struct mor_pb_field {
	struct mor_slice name, json_name;
	struct mor_slice of; /* the name of `type` or `values` */
	const struct mor_pb_type *type;
	const struct mor_pb_enum *values;
	uint32_t number;
	int32_t oneof; /* -1: none */
	enum mor_pb_kind kind;
	bool repeated, packed, required;
	bool presence; /* a value that is its default is told from one that is not there */
	bool map;      /* `type` is an entry: field 1 its key, field 2 its value */
	/* In a table of another room: where its struct has the value, and the length of a list. */
	uint16_t at, count_at;
};

struct mor_pb_type {
	struct mor_slice name; /* "package.Outer.Inner"; first, as in an enum: lists by name hold both */
	struct mor_pb_type *next;
	const struct mor_pb_field *fields; /* by number */
	size_t count;
	enum mor_pb_known known;
	bool map_entry, has_oneofs, has_required;
	size_t size;                  /* of that struct */
	const struct mor_pb_own *own; /* json.h */
};

struct mor_pb_choice {
	struct mor_slice name;
	int32_t number;
	uint32_t order; /* in the file */
};

struct mor_pb_enum {
	struct mor_slice name;
	struct mor_pb_enum *next;
	struct mor_pb_choice *choices; /* by number, then as in the file */
	size_t count;
	int32_t zero; /* the number of a value that is not there: the first of the file */
	bool closed;  /* proto2: other numbers do not exist */
	bool is_null; /* google.protobuf.NullValue */
};

struct mor_pb_method {
	struct mor_slice name, input_name, output_name;
	const struct mor_pb_type *input, *output;
	bool client_streams, server_streams;
};

struct mor_pb_service {
	struct mor_pb_service *next; /* in the order of the files */
	struct mor_slice name;
	struct mor_pb_method *methods;
	size_t count;
};

struct mor_pb_schema;

struct mor_pb_schema *mor_pb_schema_new(void); /* NULL: no memory */
struct mor_pb_schema *mor_pb_schema_free(struct mor_pb_schema *schema);
static inline void mor_pb_schema_fini(struct mor_pb_schema **schema)
{
	*schema = mor_pb_schema_free(*schema);
}
/* A FileDescriptorProto, which is copied. A file that is there already is ignored. 0, MORTISE_EINPUT,
 * MORTISE_ELIMIT, MORTISE_ENOMEM. */
int mor_pb_schema_add_file(struct mor_pb_schema *schema, struct mor_slice file, mortise_error *err);
int mor_pb_schema_add_set(struct mor_pb_schema *schema, struct mor_slice set, mortise_error *err);
/* A file that another one imports and that is not there; false: nothing is missing. */
bool mor_pb_schema_missing(const struct mor_pb_schema *schema, struct mor_slice *ret);
/* Reads the files and joins what they say. The same errors; a text names what is missing or wrong. */
int mor_pb_schema_link(struct mor_pb_schema *schema, mortise_error *err);

const struct mor_pb_type *mor_pb_schema_type(const struct mor_pb_schema *schema, struct mor_slice name);
const struct mor_pb_service *mor_pb_schema_services(const struct mor_pb_schema *schema);
/* By "package.Service/Method"; a slash before it does not count. MORTISE_EUNSUPPORTED with a text that says
 * what there is instead. */
int mor_pb_schema_method(const struct mor_pb_schema *schema, struct mor_slice path,
			 const struct mor_pb_method **ret, mortise_error *err);

/* The field with this number, or NULL. */
const struct mor_pb_field *mor_pb_type_field(const struct mor_pb_type *type, uint32_t number);
/* By its JSON name or the name in the file. */
const struct mor_pb_field *mor_pb_type_named(const struct mor_pb_type *type, struct mor_slice name);
/* The first choice with this number, or NULL. */
const struct mor_pb_choice *mor_pb_enum_choice(const struct mor_pb_enum *values, int32_t number);

#endif
