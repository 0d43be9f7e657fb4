/* SPDX-License-Identifier: Apache-2.0 */
/* Messages in. Used by one thread at a time: who has the baton, or the watcher. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dialect.h"
#include "private_wire.h"
#include "session.h"

#define KEEP_BYTES ((size_t)1 << 20) /* what the buffer may hold on to between messages */

/* The id stands somewhere in what was not kept, so the answer cannot bear it. */
static void refuse_size(struct tn_session *s)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	char text[96];

	snprintf(text, sizeof(text), "the message is over the limit of %zu bytes", s->limit);
	if (mor_write_error(&out, MOR_SLICE("null"), TENON_EREQUEST, text, (struct mor_slice){ 0 }) == 0)
		tn_send(s, mor_buf_view(&out));
}

static enum tn_step take_item(struct tn_session *s, enum mor_item_kind kind, const struct mor_item *item,
			      struct tn_turn *ret)
{
	switch (kind) {
	case MOR_ITEM_FRAME:
	case MOR_ITEM_NOISE: /* no JSON, or a bare scalar: the sender is told which */
		*ret = (struct tn_turn){ .body = item->body, .used = item->used };
		return TN_STEP_MESSAGE;
	case MOR_ITEM_CORRUPT:
		/* The last line without its newline. A cut one is no JSON and says so; a whole one counts. */
		*ret = (struct tn_turn){ .body = item->body, .used = item->used };
		return s->framing == MOR_FRAMING_LINES && s->eof ? TN_STEP_MESSAGE : TN_STEP_BROKEN;
	case MOR_ITEM_TOO_BIG:
		refuse_size(s);
		break;
	default:
		break;
	}
	s->taken += item->used;
	return TN_STEP_MORE;
}

enum tn_step tn_step(struct tn_session *s, struct tn_turn *ret)
{
	if (!s->dialect && !tn_dialect_guess(s))
		return TN_STEP_MORE;
	while (s->taken < s->input.len) {
		struct mor_item item;
		enum mor_item_kind kind = mor_deframe(&s->deframer, s->input.data + s->taken,
						      s->input.len - s->taken, s->eof, &item);
		enum tn_step step;

		if (kind == MOR_ITEM_MORE)
			return TN_STEP_MORE;
		step = take_item(s, kind, &item, ret);
		if (step != TN_STEP_MORE)
			return step;
	}
	return TN_STEP_MORE;
}

/* Bytes move once per read, not once per message. */
static void compact(struct tn_session *s)
{
	mor_buf_consume(&s->input, s->taken);
	s->taken = 0;
	if (s->input.len == 0)
		mor_buf_reset(&s->input, KEEP_BYTES);
}

void tn_read(struct tn_session *s)
{
	ssize_t n;

	compact(s);
	if (s->wire) {
		s->eof = !s->wire->read(s->wire, &s->input);
		return;
	}
	n = tn_read_some(s->in, &s->input);
	if (n == -EINTR)
		return;
	if (n < 0)
		s->read_errno = (int)-n;
	s->eof = n <= 0;
}

static bool take_kept(struct tn_session *s, struct tn_turn *ret)
{
	struct tn_kept *kept = s->kept;

	if (!kept)
		return false;
	s->kept = kept->next;
	if (!s->kept)
		s->kept_last = NULL;
	s->kept_bytes -= kept->len;
	*ret = (struct tn_turn){ .body = { kept->body, kept->len }, .kept = kept };
	return true;
}

bool tn_next(struct tn_session *s, struct tn_turn *ret)
{
	for (;;) {
		if (atomic_load(&s->stop) || atomic_load(&s->gone))
			return false;
		if (take_kept(s, ret))
			return true;
		switch (tn_step(s, ret)) {
		case TN_STEP_MESSAGE:
			return true;
		case TN_STEP_BROKEN:
			return false;
		default:
			if (s->eof)
				return false;
			tn_read(s);
		}
	}
}

/* Without memory the rest is lost, and with it the wire: the end comes as if the host had gone. */
void tn_turn_detach(struct tn_session *s, struct tn_turn *turn)
{
	struct mor_buf rest = MOR_BUF_INIT;
	size_t at = s->taken + turn->used;

	if (turn->used == 0)
		return;
	if (mor_buf_append(&rest, s->input.data + at, s->input.len - at) < 0)
		s->eof = true;
	turn->held = s->input;
	turn->used = 0;
	s->input = rest;
	s->taken = 0;
}

void tn_turn_end(struct tn_session *s, struct tn_turn *turn)
{
	s->taken += turn->used;
	mor_free(turn->kept);
	mor_buf_fini(&turn->held);
}

int tn_keep(struct tn_session *s, struct mor_slice body, bool acked)
{
	struct tn_kept *kept = mor_zalloc(sizeof(*kept) + body.len + 1);

	if (!kept)
		return -ENOMEM;
	kept->len = body.len;
	kept->acked = acked;
	memcpy(kept->body, body.ptr, body.len);
	if (s->kept_last)
		s->kept_last->next = kept;
	else
		s->kept = kept;
	s->kept_last = kept;
	s->kept_bytes += body.len;
	return 0;
}
