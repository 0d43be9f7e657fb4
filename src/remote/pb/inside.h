/* SPDX-License-Identifier: Apache-2.0 */
/* A schema from inside, and the names of types that are known to all. */
#ifndef MOR_PB_INSIDE_H
#define MOR_PB_INSIDE_H

#include "base/arena.h"
#include "base/error.h"
#include "pb/schema.h"

struct mor_pb_file {
	struct mor_pb_file *next;
	struct mor_slice name, bytes;
};

struct mor_pb_schema {
	struct mor_arena memory;
	struct mor_pb_file *files, **last_file;
	size_t file_count, import_count;
	struct mor_pb_type *types;
	struct mor_pb_enum *enums;
	struct mor_pb_service *services, **last_service;
	/* After the link: by name, which is what each of them begins with. */
	struct mor_slice **types_by_name, **enums_by_name;
	size_t type_count, enum_count;
};

/* MORTISE_ENOMEM, or MORTISE_ELIMIT if the schema has grown too large. Here, so that an analyzer sees that
 * it is never 0. */
static inline int mor_pb_schema_no_memory(const struct mor_pb_schema *schema, mortise_error *err)
{
	if (!schema->memory.full)
		return mor_fail_memory(err);
	return mor_fail(err, MORTISE_ELIMIT, "the descriptions of messages take more than %zu MiB",
			MOR_PB_SCHEMA_BYTES >> 20);
}
/* Reads all files into lists of types, enums and services (schema_read.c). */
int mor_pb_schema_read(struct mor_pb_schema *schema, mortise_error *err);

/* Fields of a message of descriptor.proto that occur once: a text, or a number. */
struct mor_pb_row {
	uint32_t number;
	bool text;
	size_t at; /* of a struct mor_slice, or of a uint64_t, in `ret`; unchanged where the field is missing */
};
/* `rows` ends with number 0. MORTISE_EINPUT: not a protocol buffer. */
int mor_pb_read_rows(struct mor_slice bytes, const struct mor_pb_row *rows, void *ret);
/* One by one the messages or texts in a field that is repeated:
 *	struct mor_pb pb = { .left = bytes }; while (mor_pb_each(&pb, 4)) ... pb.bytes ... */
bool mor_pb_each(struct mor_pb *pb, uint32_t number);
size_t mor_pb_count_each(struct mor_slice bytes, uint32_t number);

#endif
