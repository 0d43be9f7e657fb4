/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/cutter.h"

#define ALL_FRAMINGS ((1u << MOR_FRAMINGS) - 1)

void mor_cutter_init(struct mor_cutter *cutter, int framing, size_t limit)
{
	*cutter = (struct mor_cutter){ .sure = framing >= 0 };
	mor_deframer_init(&cutter->deframer, cutter->sure ? (enum mor_framing)framing : MOR_FRAMING_LINES,
			  limit, 0);
	if (!cutter->sure)
		cutter->deframer.reads = ALL_FRAMINGS;
}

void mor_cutter_fini(struct mor_cutter *cutter)
{
	mor_buf_fini(&cutter->in);
}

static enum mor_framing framing_of(const char *frame)
{
	if (*frame == '\0')
		return MOR_FRAMING_BE32;
	if ((*frame | 0x20) == 'c')
		return MOR_FRAMING_HEADERS;
	return *frame >= '0' && *frame <= '9' ? MOR_FRAMING_DECIMAL : MOR_FRAMING_LINES;
}

static void settle_framing(struct mor_cutter *cutter, enum mor_framing framing)
{
	/* Some plugins answer lines with headers or the other way round, and their hosts accept it. */
	unsigned both = 1u << MOR_FRAMING_LINES | 1u << MOR_FRAMING_HEADERS;

	cutter->deframer.framing = framing;
	cutter->deframer.reads = both & 1u << framing ? both : 0;
	cutter->sure = true;
}

/* The first message decides for both: printed text of the plugin that looks like a length must not. */
static void learn_framing(struct mor_cutter *cutter, const char *frame)
{
	enum mor_framing framing = framing_of(frame);

	if (!cutter->sure)
		settle_framing(cutter, framing);
	else if (cutter->deframer.reads)
		cutter->deframer.framing = framing; /* what is added must look like the others */
	if (cutter->other && !cutter->other->sure && cutter->other->in.len == 0)
		settle_framing(cutter->other, framing);
}

/* Returns the number of bytes that make up whole items. */
static size_t cut_items(struct mor_cutter *cutter, struct mor_slice window, bool end, mor_cutter_fn *fn,
			void *arg)
{
	const char *at = window.ptr;
	size_t len = window.len;

	for (;;) {
		struct mor_item item = { 0 };
		enum mor_item_kind kind = mor_deframe(&cutter->deframer, at, len, end, &item);

		if (kind == MOR_ITEM_MORE)
			return window.len - len;
		if (kind == MOR_ITEM_FRAME)
			learn_framing(cutter, at);
		fn(arg, kind, (struct mor_slice){ at, item.used }, &item);
		at += item.used;
		len -= item.used;
	}
}

/* Usually whole messages arrive, and nothing is copied. */
int mor_cutter_feed(struct mor_cutter *cutter, struct mor_slice bytes, bool end, mor_cutter_fn *fn, void *arg)
{
	size_t used;

	if (cutter->in.len) {
		mor_buf_slice(&cutter->in, bytes);
		if (cutter->in.status)
			return cutter->in.status;
		mor_buf_consume(&cutter->in, cut_items(cutter, mor_buf_view(&cutter->in), end, fn, arg));
		return 0;
	}
	used = cut_items(cutter, bytes, end, fn, arg);
	return mor_buf_append(&cutter->in, bytes.ptr + used, bytes.len - used);
}
