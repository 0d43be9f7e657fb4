/* SPDX-License-Identifier: Apache-2.0 */
/* One value that is not a message: on the wire, and in JSON. */
#ifndef MOR_PB_SCALAR_H
#define MOR_PB_SCALAR_H

#include "pb/schema.h"
#include "pb/where.h"

struct mor_pb_scalar {
	uint64_t bits; /* of a number: a zigzag undone; from the wire, 32 bits where the kind has 32 */
	struct mor_slice bytes;
};
static inline bool mor_pb_scalar_is_zero(const struct mor_pb_scalar *value)
{
	return value->bits == 0 && value->bytes.len == 0;
}

/* ---- from the wire ---- */

/* The value of a field that is not packed; false: it has another wire type. */
bool mor_pb_scalar_of(enum mor_pb_kind kind, const struct mor_pb *value, struct mor_pb_scalar *ret);
/* The next of packed values; 1, 0 at the end, MORTISE_EINPUT. */
int mor_pb_scalar_next(enum mor_pb_kind kind, struct mor_slice *packed, struct mor_pb_scalar *ret);
double mor_pb_scalar_double(const struct mor_pb_scalar *value);

/* ---- to the wire ---- */

/* Without a tag, as it is in a packed list; and with it. */
void mor_pb_scalar_put(struct mor_buf *out, enum mor_pb_kind kind, const struct mor_pb_scalar *value);
void mor_pb_scalar_put_field(struct mor_buf *out, const struct mor_pb_field *field,
			     const struct mor_pb_scalar *value);

/* ---- JSON ---- */

/* Bytes of base64 are kept in `keep`. MORTISE_EINPUT, MORTISE_ENOMEM. */
int mor_pb_scalar_read(struct mor_pb_where *where, const struct mor_value *json,
		       const struct mor_pb_field *field, struct mor_buf *keep, struct mor_pb_scalar *ret);
/* The key of a map is a text, whatever its kind. */
int mor_pb_scalar_read_key(struct mor_pb_where *where, struct mor_slice name, enum mor_pb_kind kind,
			   struct mor_pb_scalar *ret);
/* MORTISE_EPROTO: a text that is not UTF-8; else the status of the writer's buffer. */
int mor_pb_scalar_write(struct mor_writer *w, const struct mor_pb_field *field,
			const struct mor_pb_scalar *value, mortise_error *err);
int mor_pb_scalar_write_key(struct mor_writer *w, const struct mor_pb_field *key,
			    const struct mor_pb_scalar *value, mortise_error *err);

#endif
