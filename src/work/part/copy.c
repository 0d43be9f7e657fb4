/* SPDX-License-Identifier: Apache-2.0 */
/* Parts become one result again. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/sum.h"
#include "part/part.h"

/* ---- which parts ---- */

static int by_shard(const void *a, const void *b)
{
	uint32_t x = (*(struct mor_part *const *)a)->head.shard.shard,
		 y = (*(struct mor_part *const *)b)->head.shard.shard;

	return x < y ? -1 : x > y;
}

/* All parts of a run say the same about it. */
static int check_run(const struct mor_part *first, const struct mor_part *part, mortise_error *err)
{
	const struct mor_part_head *a = &first->head, *b = &part->head;

	if (strcmp(a->command, b->command) != 0)
		return mor_fail(err, MORTISE_EINPUT, "%s was made by mortise %s, but %s by mortise %s",
				part->path, b->command, first->path, a->command);
	if (a->shard.shards != b->shard.shards)
		return mor_fail(err, MORTISE_EINPUT, "%s is part %u of %u, but %s is part %u of %u", part->path,
				b->shard.shard, b->shard.shards, first->path, a->shard.shard, a->shard.shards);
	if (strcmp(a->run, b->run) != 0 || a->units != b->units || a->gap != b->gap)
		return mor_fail(
			err, MORTISE_EINPUT,
			"%s is a part of another run than %s: its input, its options or its plugin were others",
			part->path, first->path);
	return 0;
}

static int refuse_gap(uint32_t from, uint32_t to, uint32_t shards, mortise_error *err)
{
	if (from == to)
		return mor_fail(err, MORTISE_EINPUT, "part %u of %u is missing", from, shards);
	return mor_fail(err, MORTISE_EINPUT, "parts %u to %u of %u are missing", from, to, shards);
}

int mor_parts_order(struct mor_part **parts, size_t count, mortise_error *err)
{
	uint32_t next = 1, shards = parts[0]->head.shard.shards;

	for (size_t i = 1; i < count; i++)
		if (check_run(parts[0], parts[i], err) < 0)
			return MORTISE_EINPUT;
	qsort(parts, count, sizeof(struct mor_part *), by_shard);
	for (size_t i = 0; i < count; i++, next++) {
		uint32_t shard = parts[i]->head.shard.shard;

		if (i > 0 && shard == next - 1)
			return mor_fail(err, MORTISE_EINPUT, "%s and %s are both part %u of %u",
					parts[i - 1]->path, parts[i]->path, shard, shards);
		if (shard != next)
			return refuse_gap(next, shard - 1, shards, err);
	}
	return next > shards ? 0 : refuse_gap(next, shards, shards, err);
}

/* ---- their bytes ---- */

static int changed(const struct mor_part *part, size_t piece, mortise_error *err)
{
	size_t first, count;

	mor_shard_range(part->head.shard, (size_t)part->head.units, &first, &count);
	return mor_fail(err, MORTISE_EINPUT,
			"%s: the bytes of unit %zu are not those that its run wrote: run this shard again",
			part->path, first + piece + 1);
}

static int write_to(int to, const void *bytes, size_t len, mortise_error *err)
{
	int r = mor_fd_write_all(to, bytes, len);

	return r < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "writing the result") : 0;
}

static int copy_piece(const struct mor_part *part, size_t number, uint64_t at, int to, mortise_error *err)
{
	const struct mor_part_piece *piece = &part->pieces[number];
	uint64_t end = at + piece->bytes;
	struct mor_summer sum;
	char buffer[65536];

	mor_summer_begin(&sum);
	while (at < end) {
		size_t want = end - at < sizeof(buffer) ? (size_t)(end - at) : sizeof(buffer);
		ssize_t n = pread(part->fd, buffer, want, (off_t)at);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", part->path);
		if (n == 0)
			return changed(part, number, err);
		mor_summer_add(&sum, buffer, (size_t)n);
		if ((r = write_to(to, buffer, (size_t)n, err)) < 0)
			return r;
		at += (uint64_t)n;
	}
	return mor_summer_end(&sum) == piece->sum ? 0 : changed(part, number, err);
}

int mor_part_copy(struct mor_part *part, int to, bool *first, mortise_error *err)
{
	uint64_t at = 0;
	int r = 0;

	for (size_t i = 0; i < part->count && r == 0; i++) {
		bool some = part->pieces[i].bytes > 0;

		if (some && part->head.gap && !*first)
			r = write_to(to, "\n", 1, err);
		r = r ? r : copy_piece(part, i, at, to, err);
		at += part->pieces[i].bytes;
		*first = *first && !some;
	}
	return r;
}
