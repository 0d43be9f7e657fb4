/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of protobuf messages, both ways, by the descriptors that protoc-c makes from kythe.proto. */
#ifndef MOR_KYTHE_UNIT_PBJSON_H
#define MOR_KYTHE_UNIT_PBJSON_H

#include <protobuf-c/protobuf-c.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "kythe/unit/unit.h"
#include "wire/json.h"

/* Appends a message's JSON as wire bytes to out. Members by proto name or camelCase. Unknown members, wrong
 * types and a member given twice are MORTISE_EINPUT. Texts begin with `where` ("unit") and the path of the
 * member. */
int mor_pbc_from_json(const struct mor_value *object, const ProtobufCMessageDescriptor *type, const char *where,
		      struct mor_buf *out, mortise_error *err);

enum mor_pbc_names { MOR_PBC_PROTO_NAMES, MOR_PBC_CAMEL_CASE };
/* Fields with their default value are left out. */
void mor_pbc_to_json(const ProtobufCMessage *message, enum mor_pbc_names names, struct mor_writer *w);
void mor_any_to_json(const struct mor_any *any, enum mor_pbc_names names, struct mor_writer *w);

/* The type behind "kythe.io/proto/kythe.proto.GoDetails", or NULL. */
const ProtobufCMessageDescriptor *mor_detail_type(const char *type_url);

#endif
