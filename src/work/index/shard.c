/* SPDX-License-Identifier: Apache-2.0 */
/* One shard of a run of mortise index, which becomes a part for mortise join. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "index/index.h"

/* Shards of a run are started by the same command line, but for K. */
static void digest_analyzer(const struct mor_index *x, struct sha256_ctx *sha)
{
	mor_digest_text(sha, x->args->analyzer);
	mor_digest_texts(sha, x->args->command);
	mor_digest_texts(sha, x->args->plugin->set.item);
	mor_digest_texts(sha, x->args->plugin->config.item);
}

int mor_index_take_shard(struct mor_index *x, struct sha256_ctx *sha, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	size_t first;

	mor_shard_range(x->shard, x->all_count, &first, &x->ref_count);
	x->refs = x->all + first;
	if (!x->shard.shards) {
		mor_digest_end(sha, x->identity);
		return 0;
	}
	x->titles = mor_zalloc((x->ref_count + 1) * sizeof(*x->titles));
	digest_analyzer(x, sha);
	mor_digest_end(sha, x->run);
	mor_buf_printf(&text, "%s %u/%u", x->run, x->shard.shard, x->shard.shards);
	if (!x->titles || mor_buf_failed(&text))
		return mor_fail_memory(err);
	mor_digest_of(text.data, text.len, x->identity);
	return 0;
}

/* For want of memory the unit is called by its number. */
void mor_index_shard_note(struct mor_index *x, const struct mor_unit_end *end)
{
	if (!x->titles || x->titles[end->unit])
		return;
	x->titles[end->unit] = mor_strdup(*end->title ? end->title : end->digest);
}

static void add_unit(const struct mor_index *x, size_t unit, struct mor_buf *list)
{
	struct mor_part_piece piece = { .name = mor_slice_of(x->titles[unit] ? x->titles[unit] : "?") };
	const char *reason = NULL;

	mor_result_state(x->result, unit, &reason);
	mor_result_bytes(x->result, unit, &piece.bytes, &piece.sum);
	piece.why = mor_slice_of(reason ? reason : "");
	piece.code = mor_result_code(x->result, unit);
	mor_part_list_add(&piece, list);
}

void mor_index_shard_list(const struct mor_index *x, struct mor_buf *list)
{
	struct mor_part_head head = { .command = "index", .shard = x->shard, .units = x->all_count };

	if (!x->shard.shards)
		return;
	memcpy(head.run, x->run, sizeof(head.run));
	mor_part_list_begin(&head, list);
	for (size_t i = 0; i < x->ref_count; i++)
		add_unit(x, i, list);
	mor_part_list_end(list);
}

void mor_index_shard_free(struct mor_index *x)
{
	for (size_t i = 0; x->titles && i < x->ref_count; i++)
		mor_free(x->titles[i]);
	mor_free(x->titles);
}
