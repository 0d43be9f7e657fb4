/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sending half of a link with frames: messages become bytes that wait to be written. They are in one queue,
 * except one large part at a time, which stays in its own memory and is written from there.
 */
#ifndef MOR_LINK_OUTGO_H
#define MOR_LINK_OUTGO_H

#include <string.h>

#include "link/link.h"
#include "wire/outgoing.h"

struct mor_outgo {
	const struct mor_link_options *opt;
	struct mor_buf queue;
	size_t done; /* bytes of it that are written */
	/* Not yet written of the large part, which comes after `large_at` bytes of the queue;
	 * {NULL, 0}: none. */
	struct mor_slice large;
	size_t large_at;
	char *owned; /* its memory; NULL: it is borrowed */
};

/* Appends one message in its frame. 0 or the buffer's status. */
int mor_outgo_append(struct mor_outgo *out, struct mor_slice body);
/* Written bytes are removed from the queue. */
void mor_outgo_close_up(struct mor_outgo *out);
/* The same for head, part and '}', while mor_outgo_takes_large(). *ret_bytes: with the frame. */
int mor_outgo_add_large(struct mor_outgo *out, struct mor_slice head, struct mor_large *part,
			uint64_t *ret_bytes);
/* Copies what is left of a borrowed part. 0 or MORTISE_ENOMEM. */
int mor_outgo_own(struct mor_outgo *out);
void mor_outgo_drop_large(struct mor_outgo *out);

/* ---- the usual way, inline: every message takes it ---- */

#define MOR_OUTGO_KEEP ((size_t)64 * 1024) /* a larger queue is freed when it is empty */

/* Everything has been written, or is thrown away: memory over `keep` bytes is freed. */
static inline void mor_outgo_reset(struct mor_outgo *out, size_t keep)
{
	if (out->large.len)
		mor_outgo_drop_large(out);
	out->done = out->queue.len = 0;
	if (out->queue.cap > keep)
		mor_buf_fini(&out->queue);
}

/* 0; MORTISE_ELIMIT: too large; MORTISE_EOVERLOAD: too much waits already. */
static inline int mor_outgo_check(const struct mor_outgo *out, size_t len)
{
	size_t limit = out->opt->send_limit ? out->opt->send_limit : out->opt->frame_limit;
	size_t waiting = out->queue.len - out->done + out->large.len;

	if (limit && len > limit)
		return MORTISE_ELIMIT;
	/* One message may always wait, of any size; the limit is for later ones. */
	if (out->opt->queue_limit && waiting && waiting + len > out->opt->queue_limit)
		return MORTISE_EOVERLOAD;
	return 0;
}

/* Written bytes go out of the queue. Not for every 64 KiB: a slow reader may leave much. */
static inline void mor_outgo_tidy(struct mor_outgo *out)
{
	if (out->done > MOR_OUTGO_KEEP && out->done >= out->queue.len / 2)
		mor_outgo_close_up(out);
}

/* Queues one message. 0 or MORTISE_ENOMEM; *ret_bytes: with its frame. */
static inline int mor_outgo_add(struct mor_outgo *out, struct mor_slice body, uint64_t *ret_bytes)
{
	size_t before;
	int r;

	mor_outgo_tidy(out);
	before = out->queue.len;
	if (out->opt->framing != MOR_FRAMING_LINES || out->opt->frame_pad) {
		r = mor_outgo_append(out, body);
	} else if ((r = mor_buf_reserve(&out->queue, body.len + 1)) == 0) {
		memcpy(out->queue.data + before, body.ptr, body.len);
		out->queue.data[before + body.len] = '\n';
		out->queue.len += body.len + 1;
	}
	out->queue.status = 0;
	*ret_bytes = out->queue.len - before;
	return r;
}

/* The same for a request, which is put together in the queue. Not where opt->frame_pad is set. */
static inline int mor_outgo_add_request(struct mor_outgo *out, const struct mor_outgoing *request,
					uint64_t *ret_bytes)
{
	bool line = out->opt->framing == MOR_FRAMING_LINES;
	size_t before;
	char *to;

	mor_outgo_tidy(out);
	before = out->queue.len;
	if (mor_buf_reserve(&out->queue, MOR_FRAME_HEAD + request->len + MOR_OUTGOING_SLACK) < 0) {
		out->queue.status = 0;
		return MORTISE_ENOMEM;
	}
	to = out->queue.data + before;
	if (!line)
		to += mor_frame_head(out->opt->framing, request->len, to, &(const char *){ NULL });
	to = mor_outgoing_write(to, request);
	if (line)
		*to++ = '\n';
	out->queue.len = (size_t)(to - out->queue.data);
	*ret_bytes = out->queue.len - before;
	return 0;
}

static inline bool mor_outgo_takes_large(const struct mor_outgo *out)
{
	return !out->large.len && !out->opt->frame_pad;
}

static inline bool mor_outgo_is_empty(const struct mor_outgo *out)
{
	return out->done == out->queue.len; /* the end of a large message is in the queue */
}

/* What is written next: the queue up to the large part, that part, or the rest of the queue. */
static inline struct mor_slice mor_outgo_next(const struct mor_outgo *out)
{
	if (!out->large.len)
		return (struct mor_slice){ out->queue.data + out->done, out->queue.len - out->done };
	if (out->done == out->large_at)
		return out->large;
	return (struct mor_slice){ out->queue.data + out->done, out->large_at - out->done };
}

/* `count` bytes of that have been written. */
static inline void mor_outgo_written(struct mor_outgo *out, size_t count)
{
	if (!out->large.len || out->done < out->large_at) {
		out->done += count;
		return;
	}
	out->large = (struct mor_slice){ out->large.ptr + count, out->large.len - count };
	if (!out->large.len)
		mor_outgo_drop_large(out);
}

#endif
