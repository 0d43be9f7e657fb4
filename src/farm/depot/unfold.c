/* SPDX-License-Identifier: Apache-2.0 */
#include "depot/unfold.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"

enum unfold_state { COUNT, BYTES, LENGTH, FROM, RUN };

struct mor_unfold {
	unsigned char *room;
	size_t at;
	bool full; /* what is behind `at` is older */
	enum unfold_state state;
	uint64_t number; /* as far as it was read */
	unsigned shift;
	uint64_t left; /* of bytes or run */
	size_t from;
};

struct mor_unfold *mor_unfold_new(void)
{
	struct mor_unfold *fold = mor_zalloc(sizeof(*fold));

	if (!fold)
		return NULL;
	fold->room = mor_alloc(MOR_UNFOLD_ROOM); /* no memory until it is written to */
	return fold->room ? fold : mor_unfold_free(fold);
}

struct mor_unfold *mor_unfold_free(struct mor_unfold *fold)
{
	if (fold)
		mor_free(fold->room);
	return mor_free(fold);
}

void mor_unfold_begin(struct mor_unfold *fold)
{
	*fold = (struct mor_unfold){ .room = fold->room };
}

bool mor_unfold_whole(const struct mor_unfold *fold)
{
	return fold->state == COUNT && fold->shift == 0;
}

static size_t least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* 1: `number` is whole. */
static int take_number(struct mor_unfold *fold, struct mor_slice *in)
{
	while (in->len) {
		unsigned char byte = (unsigned char)*in->ptr++;

		in->len--;
		if (fold->shift == 0)
			fold->number = 0;
		if (fold->shift > 56)
			return -1;
		fold->number |= (uint64_t)(byte & 0x7f) << fold->shift;
		fold->shift += 7;
		if (byte < 0x80) {
			fold->shift = 0;
			return 1;
		}
	}
	return 0;
}

static bool run_can_be(const struct mor_unfold *fold, uint64_t from)
{
	size_t end = fold->full ? MOR_UNFOLD_ROOM : fold->at;

	return from < end && fold->left <= end - from;
}

/* The number that was expected is there. */
static bool mind_number(struct mor_unfold *fold)
{
	if (fold->state == FROM) {
		fold->from = (size_t)fold->number;
		fold->state = RUN;
		return run_can_be(fold, fold->number);
	}
	fold->left = fold->number;
	if (fold->state == COUNT)
		fold->state = fold->left ? BYTES : LENGTH;
	else
		fold->state = fold->left ? FROM : COUNT;
	return true;
}

/* New bytes: they are kept. */
static size_t take_new(struct mor_unfold *fold, struct mor_slice *in, unsigned char *out, size_t len)
{
	len = least_of(least_of(len, in->len), MOR_UNFOLD_ROOM - fold->at);
	memcpy(fold->room + fold->at, in->ptr, len);
	memcpy(out, in->ptr, len);
	in->ptr += len;
	in->len -= len;
	fold->at += len;
	if (fold->at == MOR_UNFOLD_ROOM) {
		fold->at = 0;
		fold->full = true;
	}
	return len;
}

static size_t take_bytes(struct mor_unfold *fold, struct mor_slice *in, unsigned char *out, size_t len)
{
	if (len > fold->left)
		len = (size_t)fold->left;
	if (fold->state == BYTES) {
		len = take_new(fold, in, out, len);
	} else {
		memcpy(out, fold->room + fold->from, len);
		fold->from += len;
	}
	fold->left -= len;
	if (!fold->left)
		fold->state = fold->state == BYTES ? LENGTH : COUNT;
	return len;
}

ssize_t mor_unfold_read(struct mor_unfold *fold, struct mor_slice *in, void *buffer, size_t len)
{
	size_t done = 0;

	while (done < len && (in->len || fold->state == RUN)) {
		if (fold->state == BYTES || fold->state == RUN) {
			done += take_bytes(fold, in, (unsigned char *)buffer + done, len - done);
		} else {
			int r = take_number(fold, in);

			if (r < 0 || (r > 0 && !mind_number(fold)))
				return -EBADMSG;
		}
	}
	return (ssize_t)done;
}
