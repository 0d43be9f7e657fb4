/* SPDX-License-Identifier: Apache-2.0 */
#include "link/intake.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/apart.h"
#include "base/text.h"

#define KEEP_BYTES (64 * 1024) /* a larger buffer is freed when it is empty */
#define UNASKED    4           /* the cost of a message that answers no call: nothing limits how many come */

void mor_intake_init(struct mor_intake *in, struct mor_link *link, const struct mor_link_options *opt)
{
	*in = (struct mor_intake){ .link = link, .opt = opt };
	mor_deframer_init(&in->deframer, opt->framing, opt->frame_limit, opt->deframe_flags);
	in->deframer.reads = opt->reads;
}

void mor_intake_fini(struct mor_intake *in)
{
	mor_buf_fini(&in->pending);
}

/* The memory of `pending` belongs to the embedder now, but is as it was. Its rest gets memory of its own. */
MOR_APART static void leave_block(struct mor_intake *in)
{
	struct mor_slice rest = { in->pending.data + in->done, in->pending.len - in->done };

	in->link->block_taken = false;
	in->pending = (struct mor_buf)MOR_BUF_INIT;
	in->done = 0;
	if (!in->dead && rest.len && mor_buf_slice(&in->pending, rest) < 0)
		mor_intake_out_of_memory(in);
}

MOR_APART static void bad_frame(struct mor_intake *in, struct mor_slice frame,
				const struct mor_message *message, const mortise_error *error)
{
	char excerpt[96], text[320];

	bool json = mor_json_valid(frame, in->opt->envelope_flags, in->opt->max_depth, NULL);

	/* No id: it could be printed text that happens to begin with a bracket. */
	if (message->id_int <= 0 && !in->opt->every_fault) {
		in->link->events->on_noise(in->link->arg, frame, frame.len);
		return;
	}
	snprintf(text, sizeof(text), "not a JSON-RPC message (%.160s): %s", error->text,
		 mor_printable(frame, excerpt, sizeof(excerpt)));
	in->link->events->on_fault(in->link->arg, json ? MOR_FAULT_NO_MESSAGE : MOR_FAULT_BAD_JSON, message,
				   text);
}

MOR_APART static void deliver_unescaped(struct mor_intake *in, struct mor_message *message)
{
	MOR_CLEAN(mor_buf) struct mor_buf method = MOR_BUF_INIT;

	if (mor_envelope_unescape(message, &method) == 0)
		in->link->events->on_message(in->link->arg, message);
	else
		in->link->events->on_fault(in->link->arg, MOR_FAULT_CORRUPT, NULL,
					   "stdout cannot be read: out of memory");
}

/* Returns its cost. */
static unsigned frame_arrived(struct mor_intake *in, struct mor_slice frame)
{
	struct mor_message message; /* the scan sets all of it */
	mortise_error error;
	int r = mor_envelope_scan(frame, in->opt->envelope_flags, in->opt->max_depth, &message, &error);

	if (r == 0 && message.method_escaped)
		deliver_unescaped(in, &message);
	else if (r == 0)
		in->link->events->on_message(in->link->arg, &message);
	else
		bad_frame(in, frame, &message, &error);
	return r == 0 && (message.kind == MOR_MSG_RESULT || message.kind == MOR_MSG_ERROR) ? 1 : UNASKED;
}

/* The beginning of an oversize frame usually still shows which call it answers. */
static void too_big(struct mor_intake *in, const struct mor_item *item, const char *window, size_t len)
{
	struct mor_message message = { .id_int = -1 };
	char text[160], limit[32], size[32];

	if (item->body.ptr)
		mor_envelope_scan(item->body, in->opt->envelope_flags, in->opt->max_depth, &message, NULL);
	else
		mor_envelope_scan((struct mor_slice){ window, len }, in->opt->envelope_flags,
				  in->opt->max_depth, &message, NULL);
	mor_format_bytes(in->opt->frame_limit, limit);
	if (item->size)
		snprintf(text, sizeof(text), "%s, over the limit of %s for one message (limits.frame)",
			 mor_format_bytes(item->size, size), limit);
	else
		snprintf(text, sizeof(text), "over the limit of %s for one message (limits.frame)", limit);
	in->link->events->on_fault(in->link->arg, MOR_FAULT_TOO_BIG, &message, text);
}

static void corrupt(struct mor_intake *in, const struct mor_item *item, bool at_eof)
{
	int framing = mor_framing_guess(item->body);
	const char *name = framing < 0 ? NULL : mor_framing_name((enum mor_framing)framing);
	bool other = !at_eof && name && framing != (int)in->opt->framing;
	char excerpt[96], text[256];

	in->lost = !at_eof;
	snprintf(text, sizeof(text), "stdout %s: %s%s%s%s%s%s", item->why ? item->why : "is no frame",
		 mor_excerpt(item->body, excerpt, sizeof(excerpt)), other ? "; it looks like " : "",
		 other ? name : "", other ? " (plugin.framing=" : "", other ? name : "", other ? ")" : "");
	in->link->events->on_fault(in->link->arg, at_eof ? MOR_FAULT_TRUNCATED : MOR_FAULT_CORRUPT, NULL, text);
}

/* Handles what the deframer has found at the beginning of the window, and is no frame. Returns its cost. */
MOR_APART static unsigned hand_on(struct mor_intake *in, enum mor_item_kind kind, struct mor_item *item,
				  const char *window, size_t len)
{
	if (kind == MOR_ITEM_NOISE) {
		in->link->events->on_noise(in->link->arg, item->body, item->used);
	} else if (kind == MOR_ITEM_TOO_BIG) {
		too_big(in, item, window, len);
	} else if (kind == MOR_ITEM_CORRUPT) {
		item->used = len;
		corrupt(in, item, in->ended);
	}
	return UNASKED;
}

/* Hands on the items in the window, as many as allowed at once. Returns how many bytes are used. */
static size_t consume(struct mor_intake *in, const char *window, size_t len)
{
	unsigned count = 0;
	size_t used = 0;

	in->more = false;
	if (in->lost)
		return len;
	while (!in->paused) {
		struct mor_item item;
		enum mor_item_kind kind =
			mor_deframe(&in->deframer, window + used, len - used, in->ended, &item);

		if (kind == MOR_ITEM_MORE)
			return used;
		count += kind == MOR_ITEM_FRAME ? frame_arrived(in, item.body) :
						  hand_on(in, kind, &item, window + used, len - used);
		used += item.used;
		in->link->at += item.used;
		if (used == len || in->dead)
			return used;
		if (count >= in->slice && in->slice)
			break;
	}
	in->more = used < len;
	return used;
}

void mor_intake_out_of_memory(struct mor_intake *in)
{
	in->lost = true;
	in->more = false;
	in->done = 0;
	mor_buf_fini(&in->pending);
	in->link->events->on_fault(in->link->arg, MOR_FAULT_CORRUPT, NULL,
				   "stdout cannot be buffered: out of memory");
}

void mor_intake_take(struct mor_intake *in, const char *bytes, size_t len)
{
	size_t used = consume(in, bytes, len);

	if (in->dead || used == len)
		return;
	if (mor_buf_append(&in->pending, bytes + used, len - used) < 0)
		mor_intake_out_of_memory(in);
}

void mor_intake_resume(struct mor_intake *in, bool at_eof)
{
	in->ended |= at_eof;
	in->link->block = &in->pending;
	in->done += consume(in, in->pending.data + in->done, in->pending.len - in->done);
	in->link->block = NULL;
	if (in->link->block_taken)
		leave_block(in);
	if (in->dead || in->more) /* used bytes are removed in one step: a large buffer may have many slices */
		return;
	mor_buf_consume(&in->pending, in->done);
	in->done = 0;
	if (!in->pending.len)
		mor_buf_reset(&in->pending, KEEP_BYTES);
}
