/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers on the wire, field by field, without a message struct. Entries need it for speed, and it
 * checks what protobuf-c does not. */
#ifndef MOR_KYTHE_UNIT_PB_H
#define MOR_KYTHE_UNIT_PB_H

#include <stdbool.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

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

int mor_pb_put_varint(struct mor_buf *out, uint64_t number);
int mor_pb_put_number(struct mor_buf *out, uint32_t field, uint64_t number);
int mor_pb_put_bytes(struct mor_buf *out, uint32_t field, struct mor_slice bytes);
int mor_pb_put_text(struct mor_buf *out, uint32_t field, const char *text); /* writes nothing for "" */

/* Checks what protobuf-c accepts without checking: texts must be UTF-8 without NUL (it would cut them
 * there), fields must have the right wire type, and there may be at most MOR_PB_FIELDS of them (each needs
 * extra memory). MORTISE_EINPUT. */
#define MOR_PB_FIELDS 2000000
int mor_pb_check(const ProtobufCMessageDescriptor *type, struct mor_slice bytes, mortise_error *err);
/* A message with everything in it, in few blocks of memory: a unit has a thousand texts. Begin with { 0 };
 * call fini in every case. */
struct mor_pb_message {
	ProtobufCMessage *root;
	struct mor_pb_block *blocks;
	size_t left; /* in the newest */
};
/* Checked and unpacked. MORTISE_EINPUT, MORTISE_ENOMEM. */
int mor_pb_unpack(const ProtobufCMessageDescriptor *type, struct mor_slice bytes, struct mor_pb_message *ret,
		  mortise_error *err);
void mor_pb_message_fini(struct mor_pb_message *message);
int mor_pb_pack(const ProtobufCMessage *message, struct mor_buf *out);

#endif
