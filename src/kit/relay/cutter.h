/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuts a stream into messages, also where the framing is not known: then the first message shows it, for both
 * directions of a conversation.
 */
#ifndef MOR_RELAY_CUTTER_H
#define MOR_RELAY_CUTTER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/slice.h"
#include "wire/framing.h"

struct mor_cutter {
	struct mor_deframer deframer; /* .framing: as the last message had it, once it is known */
	bool sure;                    /* the framing is known */
	struct mor_cutter *other;     /* of the other direction, or NULL */
	struct mor_buf in;            /* the beginning of the next item */
};

/* `framing`: enum mor_framing, or -1: found from the first bytes. `limit`: of one message. */
void mor_cutter_init(struct mor_cutter *cutter, int framing, size_t limit);
void mor_cutter_fini(struct mor_cutter *cutter);

/* An item of the stream: `whole` are its bytes with their framing. Never MOR_ITEM_MORE. */
typedef void mor_cutter_fn(void *arg, enum mor_item_kind kind, struct mor_slice whole,
			   const struct mor_item *item);
/* `end`: no more bytes will follow. 0 or MORTISE_ENOMEM. */
int mor_cutter_feed(struct mor_cutter *cutter, struct mor_slice bytes, bool end, mor_cutter_fn *fn, void *arg);

#endif
