/* SPDX-License-Identifier: Apache-2.0 */
#include "link/outgo.h"

#include "base/alloc.h"

static size_t padding(const struct mor_outgo *out, size_t len)
{
	const char *tail;
	char head[MOR_FRAME_HEAD];
	size_t total;

	if (!out->opt->frame_pad)
		return 0;
	total = len + mor_frame_head(out->opt->framing, len, head, &tail) + strlen(tail);
	return (out->opt->frame_pad - total % out->opt->frame_pad) % out->opt->frame_pad;
}

int mor_outgo_append(struct mor_outgo *out, struct mor_slice body)
{
	size_t pad = padding(out, body.len);
	char head[MOR_FRAME_HEAD], *to;
	const char *tail;
	size_t head_len = mor_frame_head(out->opt->framing, body.len + pad, head, &tail),
	       tail_len = strlen(tail);
	int r = mor_buf_reserve(&out->queue, head_len + body.len + pad + tail_len);

	if (r < 0)
		return r;
	to = out->queue.data + out->queue.len;
	memcpy(to, head, head_len);
	memcpy(to + head_len, body.ptr, body.len);
	if (pad)
		memset(to + head_len + body.len, ' ', pad);
	memcpy(to + head_len + body.len + pad, tail, tail_len);
	out->queue.len += head_len + body.len + pad + tail_len;
	return 0;
}

void mor_outgo_close_up(struct mor_outgo *out)
{
	mor_buf_consume(&out->queue, out->done);
	out->large_at -= out->large.len ? out->done : 0;
	out->done = 0;
}

int mor_outgo_add_large(struct mor_outgo *out, struct mor_slice head, struct mor_large *part,
			uint64_t *ret_bytes)
{
	char frame[MOR_FRAME_HEAD];
	const char *tail;
	size_t frame_len = mor_frame_head(out->opt->framing, head.len + part->bytes.len + 1, frame, &tail);
	size_t before = out->queue.len;

	if (mor_buf_reserve(&out->queue, frame_len + head.len + 1 + strlen(tail)) < 0) {
		out->queue.status = 0;
		return MORTISE_ENOMEM;
	}
	mor_buf_append(&out->queue, frame, frame_len);
	mor_buf_slice(&out->queue, head);
	out->large_at = out->queue.len;
	out->large = part->bytes;
	out->owned = part->owned.data;
	part->owned = (struct mor_buf)MOR_BUF_INIT;
	mor_buf_byte(&out->queue, '}');
	mor_buf_text(&out->queue, tail);
	*ret_bytes = out->queue.len - before + out->large.len;
	return 0;
}

int mor_outgo_own(struct mor_outgo *out)
{
	struct mor_buf copy = MOR_BUF_INIT;
	int r;

	if (!out->large.len || out->owned)
		return 0;
	if ((r = mor_buf_slice(&copy, out->large)) < 0)
		return r;
	out->large = mor_buf_view(&copy);
	out->owned = copy.data;
	return 0;
}

void mor_outgo_drop_large(struct mor_outgo *out)
{
	out->large = (struct mor_slice){ 0 };
	mor_free(mor_take(&out->owned));
}
