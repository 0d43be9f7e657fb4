/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers on the wire, field by field, without a message struct and without a library: what a peer
 * sends takes no memory here, however hostile it is. */
#ifndef MOR_PB_PB_H
#define MOR_PB_PB_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"

enum mor_pb_wire { MOR_PB_VARINT = 0, MOR_PB_FIXED64 = 1, MOR_PB_BYTES = 2, MOR_PB_FIXED32 = 5 };

/* struct mor_pb pb = { .left = bytes }; while ((r = mor_pb_next(&pb)) > 0) ... pb.field,
 * pb.wire, pb.bytes ... */
struct mor_pb {
	struct mor_slice left;
	uint32_t field;
	enum mor_pb_wire wire;
	uint64_t number;        /* of a varint */
	struct mor_slice bytes; /* of MOR_PB_BYTES */
};

/* 1, 0 at the end, MORTISE_EINPUT if it is not a protocol buffer (groups are refused). */
int mor_pb_next(struct mor_pb *pb);
/* The length of the varint at p; 0: it is not complete within len; -1: it is not a varint. */
int mor_pb_varint(const char *p, size_t len, uint64_t *ret);

static inline size_t mor_pb_varint_len(uint64_t number)
{
	return (size_t)(70 - __builtin_clzll(number | 1)) / 7;
}
int mor_pb_put_varint(struct mor_buf *out, uint64_t number);
int mor_pb_put_number(struct mor_buf *out, uint32_t field, uint64_t number);
int mor_pb_put_bytes(struct mor_buf *out, uint32_t field, struct mor_slice bytes);
int mor_pb_put_text(struct mor_buf *out, uint32_t field, const char *text); /* writes nothing for "" */

/* Base64 as JSON of protobuf allows it: standard or URL alphabet, padded or not. MORTISE_EINPUT if it is not
 * base64. */
int mor_pb_base64(struct mor_slice text, struct mor_buf *out);

#endif
