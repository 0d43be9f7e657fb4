/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of protobuf-c: checked before they are unpacked, in few blocks of memory. */
#ifndef MOR_KYTHE_UNIT_PBC_H
#define MOR_KYTHE_UNIT_PBC_H

#include <protobuf-c/protobuf-c.h>

#include <mortise/mortise.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/slice.h"

/* Checks what protobuf-c accepts without checking: texts must be UTF-8 without NUL (it would cut them
 * there), fields must have the right wire type, and there may be at most MOR_PBC_FIELDS of them (each needs
 * extra memory). MORTISE_EINPUT. */
#define MOR_PBC_FIELDS 2000000
int mor_pbc_check(const ProtobufCMessageDescriptor *type, struct mor_slice bytes, mortise_error *err);
/* A message with everything in it, in few blocks of memory: a unit has a thousand texts. Begin with { 0 };
 * call fini in every case. */
struct mor_pbc_message {
	ProtobufCMessage *root;
	struct mor_arena memory;
};
/* Checked and unpacked. MORTISE_EINPUT, MORTISE_ENOMEM. */
int mor_pbc_unpack(const ProtobufCMessageDescriptor *type, struct mor_slice bytes, struct mor_pbc_message *ret,
		   mortise_error *err);
void mor_pbc_message_fini(struct mor_pbc_message *message);
int mor_pbc_pack(const ProtobufCMessage *message, struct mor_buf *out);

#endif
