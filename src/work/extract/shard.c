/* SPDX-License-Identifier: Apache-2.0 */
/* One shard of a run: which files it has, and the list that makes its output a part for mortise join. */

#include "base/error.h"
#include "base/sum.h"
#include "extract/extract.h"

/* Shards of a run are started by the same command line, but for K. */
static void digest_run(const struct mor_extract *x, char ret[MOR_DIGEST_SIZE])
{
	const struct mor_extract_args *args = x->args;
	struct sha256_ctx sha;

	mor_digest_begin(&sha);
	for (size_t i = 0; i < args->file_count; i++)
		mor_digest_text(&sha, args->files[i]);
	mor_digest_text(&sha, "");
	mor_digest_texts(&sha, args->plugins.item);
	mor_digest_texts(&sha, args->command);
	mor_digest_texts(&sha, args->options.item);
	mor_digest_texts(&sha, args->plugin->set.item);
	mor_digest_texts(&sha, args->plugin->config.item);
	mor_digest_text(&sha, args->source);
	mor_digest_text(&sha, args->mime);
	mor_digest_text(&sha, args->extension);
	mor_digest_text(&sha, args->metadata ? "metadata" : "");
	mor_digest_text(&sha, x->args->json ? "json" : "text");
	mor_digest_end(&sha, ret);
}

int mor_extract_shard_take(struct mor_extract *x, mortise_error *err)
{
	struct mor_part_head head = { .command = "extract",
				      .shard = x->args->shard,
				      .units = x->args->file_count,
				      .gap = !x->args->json && x->args->file_count > 1 };
	size_t first;

	mor_shard_range(x->args->shard, x->args->file_count, &first, &x->file_count);
	x->files = x->args->files + first;
	if (!x->args->shard.shards)
		return 0;
	digest_run(x, head.run);
	mor_part_list_begin(&head, &x->part);
	return mor_buf_failed(&x->part) ? mor_fail_memory(err) : 0;
}

void mor_extract_shard_note(struct mor_extract_job *job, struct mor_slice heading)
{
	struct mor_part_piece piece = { .bytes = heading.len + job->row.len,
					.code = job->err.code,
					.name = mor_slice_of(mor_extract_job_name(job)),
					.why = mor_slice_of(job->err.text) };
	struct mor_summer sum;

	if (!job->extract->args->shard.shards)
		return;
	mor_summer_begin(&sum);
	mor_summer_add(&sum, heading.ptr, heading.len);
	mor_summer_add(&sum, job->row.data, job->row.len);
	piece.sum = mor_summer_end(&sum);
	mor_part_list_add(&piece, &job->extract->part);
}

int mor_extract_shard_end(struct mor_extract *x)
{
	if (!x->args->shard.shards)
		return 0;
	mor_part_list_end(&x->part);
	if (mor_buf_failed(&x->part))
		return MORTISE_ENOMEM;
	mor_out(x->console, mor_buf_view(&x->part));
	return 0;
}
