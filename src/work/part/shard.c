/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "part/part.h"

static int refuse_shard(const char *text, const char *why, mortise_error *err)
{
	char shown[60];

	return mor_fail(err, MORTISE_EINVAL, "--shard \"%s\": %s",
			mor_excerpt(mor_slice_of(text), shown, sizeof(shown)), why);
}

int mor_shard_parse(const char *text, struct mor_shard *ret, mortise_error *err)
{
	const char *slash = text ? strchr(text, '/') : NULL;
	struct mor_shard shard;

	if (!text) {
		*ret = (struct mor_shard){ 0, 0 };
		return 0;
	}
	if (!slash || !mor_parse_u32((struct mor_slice){ text, (size_t)(slash - text) }, &shard.shard) ||
	    !mor_parse_u32(mor_slice_of(slash + 1), &shard.shards))
		return refuse_shard(text, "expected K/N, such as 3/8: the third of eight", err);
	if (shard.shards == 0 || shard.shards > MOR_PART_SHARDS_LIMIT)
		return refuse_shard(text, "N is from 1 to 1000000", err);
	if (shard.shard == 0 || shard.shard > shard.shards)
		return refuse_shard(text, "K counts from 1 to N", err);
	*ret = shard;
	return 0;
}

void mor_shard_range(struct mor_shard shard, size_t units, size_t *ret_first, size_t *ret_count)
{
	uint64_t n = shard.shards ? shard.shards : 1, k = shard.shards ? shard.shard : 1;
	/* Divided before it is multiplied: the product of two large numbers would not fit. */
	uint64_t each = units / n, rest = units % n;
	uint64_t first = each * (k - 1) + rest * (k - 1) / n, end = each * k + rest * k / n;

	*ret_first = (size_t)first;
	*ret_count = (size_t)(end - first);
}
