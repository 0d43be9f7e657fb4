/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of Kythe that Mortise reads and writes, as a table, and their bytes as strict
 * readers see them. */
#ifndef MOR_KYTHE_UNIT_PROTO_H
#define MOR_KYTHE_UNIT_PROTO_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "base/slice.h"
#include "pb/json.h"
#include "pb/schema.h"

/* kythe.proto.IndexedCompilation; its struct is mor_unit. */
extern const struct mor_pb_type mor_proto_compilation;
/* google.protobuf.Any, whose struct is mor_any. The numbers of its fields; the last one is ours and never
 * leaves the process: the text of a detail whose type is unknown and which therefore has no wire form. */
extern const struct mor_pb_type mor_proto_any;
enum { MOR_PROTO_ANY_TYPE = 1, MOR_PROTO_ANY_VALUE = 2, MOR_PROTO_ANY_JSON = 100 };
extern const struct mor_pb_own mor_any_own; /* its JSON (any.c) */

/* The type of details behind "kythe.io/proto/kythe.proto.GoDetails", or NULL. Only what is behind the last "/"
 * counts. */
const struct mor_pb_type *mor_proto_detail(struct mor_slice type_url);

#define MOR_PROTO_FIELDS 2000000
/* Texts must be UTF-8 without NUL, fields must have the right wire type, and there may be at most
 * MOR_PROTO_FIELDS of them. MORTISE_EINPUT. *ret_exact (or NULL): there is no other way to write the message:
 * all fields are known, in order, none is its default or given twice, and no number is longer than needed. */
int mor_proto_check(const struct mor_pb_type *type, struct mor_slice message, bool *ret_exact,
		    mortise_error *err);

#endif
