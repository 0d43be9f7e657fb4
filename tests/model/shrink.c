/* SPDX-License-Identifier: Apache-2.0 */
/* A long script that fails -> a short one that fails in the same way. */
#include <string.h>

#include "model.h"

#define MAX_BYTES (4096 * OP_BYTES)

struct shrinker {
	uint8_t *script;
	size_t len;
	shrink_fails_fn *fails;
	void *arg;
};

/* Without `count` bytes at `at`. True: it still fails, and they are gone. */
static bool leave_out(struct shrinker *s, size_t at, size_t count)
{
	static uint8_t tried[MAX_BYTES];

	memcpy(tried, s->script, at);
	memcpy(tried + at, s->script + at + count, s->len - at - count);
	if (!s->fails(tried, s->len - count, s->arg))
		return false;
	s->len -= count;
	memcpy(s->script, tried, s->len);
	return true;
}

/* From the back: what comes late depends on what came early, not the other way round. */
static bool leave_out_runs(struct shrinker *s, size_t run)
{
	size_t count = run * OP_BYTES, at = s->len;
	bool any = false;

	while (at >= count && count <= s->len) {
		at -= count;
		if (at + count <= s->len)
			any |= leave_out(s, at, count);
	}
	return any;
}

static bool replace(struct shrinker *s, size_t at, uint8_t with)
{
	uint8_t before = s->script[at];

	if (before == with)
		return false;
	s->script[at] = with;
	if (s->fails(s->script, s->len, s->arg))
		return true;
	s->script[at] = before;
	return false;
}

static bool make_plain(struct shrinker *s)
{
	bool any = false;

	for (size_t at = 0; at < s->len; at++) {
		uint8_t byte = s->script[at];

		if (at % OP_BYTES == 0)
			any |= replace(s, at, byte & 0x7f);
		else if (!replace(s, at, 0) && !replace(s, at, byte % 16) && !replace(s, at, byte / 2))
			continue;
		any = true;
	}
	return any;
}

size_t shrink(uint8_t *script, size_t len, shrink_fails_fn *fails, void *arg)
{
	struct shrinker s = { script, len - len % OP_BYTES, fails, arg };
	bool any = true;

	if (s.len > MAX_BYTES)
		return len;
	for (int round = 0; round < 8 && any; round++) {
		any = false;
		for (size_t run = s.len / OP_BYTES / 2; run > 0; run /= 2)
			any |= leave_out_runs(&s, run);
		make_plain(&s);
	}
	return s.len;
}
