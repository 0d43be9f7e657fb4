/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages as JSON and back, by a schema: the JSON of protobuf as Google documents it ("ProtoJSON format").
 * Written: lowerCamelCase names, 64-bit integers as strings, bytes as base64, enums by name, fields that are
 * not there left out. Read: both names, numbers as numbers or strings, both alphabets of base64, enums by name
 * or number; null is "not there". Timestamp, Duration, FieldMask, Struct, Value, ListValue, the wrappers and
 * Any have a JSON of their own.
 *
 * Not supported: extensions of proto2 (skipped), groups (refused).
 */
#ifndef MOR_PB_JSON_H
#define MOR_PB_JSON_H

#include "pb/schema.h"
#include "pb/where.h"

#define MOR_PB_DEPTH  60      /* of the JSON that is written */
#define MOR_PB_VALUES 4000000 /* of one message: what it takes to sort them is memory, 8 bytes each */

enum mor_pb_json_flags {
	MOR_PB_PROTO_NAMES = 1 << 0, /* written: names as in the .proto file */
	/* read: no text holds a NUL; who wrote it knows the names of members, not of types */
	MOR_PB_RECORDS = 1 << 1
};

/* A type whose JSON another room knows. It occurs only as an element of a list. */
struct mor_pb_own {
	/* Appends the fields of the message that the JSON says. */
	int (*on_read)(struct mor_pb_where *where, const struct mor_value *json, unsigned flags,
		       struct mor_buf *out);
	/* Writes one JSON value. */
	int (*on_write)(struct mor_slice message, unsigned flags, struct mor_writer *w, mortise_error *err);
};

/* Appends the message that the JSON says, its fields in the order of their numbers. MORTISE_EINPUT: an unknown
 * member, a wrong type, a member given twice; the text begins with the path of the member. MORTISE_ENOMEM.
 * schema: where the types in an Any of Google's are found. */
int mor_pb_from_json(const struct mor_pb_schema *schema, const struct mor_pb_type *type,
		     const struct mor_value *json, unsigned flags, struct mor_buf *out, mortise_error *err);

/* Appends the JSON of a message, which may be hostile. Unknown fields, and fields with another wire type than
 * they should have, are skipped; the order of members is that of field numbers, or of keys in a map. A limit
 * of `out` is kept: a byte of a message can become a long name of an enum. MORTISE_EPROTO: not such a message,
 * or nested too deep; MORTISE_ELIMIT, MORTISE_ENOMEM. */
int mor_pb_to_json(const struct mor_pb_schema *schema, const struct mor_pb_type *type, struct mor_slice message,
		   unsigned flags, struct mor_buf *out, mortise_error *err);

/* For a type that has its own JSON with the members of a message in it: those beside "@type", and into an
 * object that is open. */
int mor_pb_members_from_json(struct mor_pb_where *where, const struct mor_pb_type *type,
			     const struct mor_value *object, unsigned flags, struct mor_buf *out);
int mor_pb_members_to_json(const struct mor_pb_type *type, struct mor_slice message, unsigned flags,
			   struct mor_writer *w, mortise_error *err);

#endif
