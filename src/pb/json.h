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

#include <mortise/mortise.h>

#include "base/buf.h"
#include "pb/schema.h"
#include "wire/json.h"

#define MOR_PB_DEPTH  60      /* of the JSON that is written */
#define MOR_PB_VALUES 4000000 /* of one message: what it takes to sort them is memory, 8 bytes each */

/* Appends the message that the JSON says. MORTISE_EINPUT: an unknown member, a wrong type, a member given
 * twice; the text begins with the path of the member. MORTISE_ENOMEM. */
int mor_pb_from_json(const struct mor_pb_schema *schema, const struct mor_pb_type *type,
		     const struct mor_value *json, struct mor_buf *out, mortise_error *err);

/* Appends the JSON of a message, which may be hostile. Unknown fields, and fields with another wire type than
 * they should have, are skipped; the order of members is that of field numbers, or of keys in a map. A limit
 * of `out` is kept: a byte of a message can become a long name of an enum. MORTISE_EPROTO: not such a message,
 * or nested too deep; MORTISE_ELIMIT, MORTISE_ENOMEM. */
int mor_pb_to_json(const struct mor_pb_schema *schema, const struct mor_pb_type *type, struct mor_slice message,
		   struct mor_buf *out, mortise_error *err);

#endif
