/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of a message, found in one walk over its bytes and put in the order of fields. Nothing is copied:
 * a spot is where a value begins. A message that is given in several pieces is all of them, one after the other
 * (protobuf merges), and all pieces lie in the same bytes.
 *
 * Spots live on one stack: those of an inner message lie above those of the one around it. So they are named
 * by index, because the stack may move.
 */
#ifndef MOR_PB_SPOTS_H
#define MOR_PB_SPOTS_H

#include "pb/schema.h"

struct mor_pb_spot {
	uint32_t field; /* index in the type */
	uint32_t at;    /* of its tag, in all bytes */
};

struct mor_pb_spots {
	struct mor_slice all;
	struct mor_pb_spot *stack;
	size_t used, cap;
	size_t found; /* since the beginning; at most `limit` */
	size_t limit;
};
void mor_pb_spots_fini(struct mor_pb_spots *spots);

/* A message: the values at the spots from .. to - 1, or (from == to) the bytes of `one`. */
struct mor_pb_pieces {
	size_t from, to;
	struct mor_slice one;
};

/* Pushes the spots of a message: by field, and for one field as on the wire. Of a oneof only the last member is
 * left; a value that an enum of proto2 does not have is left out. Give spots->used back when done with them. 0,
 * MORTISE_EINPUT, MORTISE_ELIMIT, MORTISE_ENOMEM. */
int mor_pb_spots_push(struct mor_pb_spots *spots, const struct mor_pb_type *type,
		      const struct mor_pb_pieces *pieces);
/* The value there. */
struct mor_pb mor_pb_spots_value(const struct mor_pb_spots *spots, size_t index);
/* The end of those that have the field of the one at `index`, before `to`. */
size_t mor_pb_spots_end(const struct mor_pb_spots *spots, size_t index, size_t to);

#endif
