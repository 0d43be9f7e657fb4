/* SPDX-License-Identifier: Apache-2.0 */
/* The list at the end of a part: written, and read again. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "part/lines.h"
#include "part/part.h"

#define MAGIC "mortise-part 1 "

/* ---- writing ---- */

void mor_part_list_begin(const struct mor_part_head *head, struct mor_buf *list)
{
	mor_buf_printf(list, MAGIC "%s %s %u %u %" PRIu64 " %d\n", head->command, head->run, head->shard.shard,
		       head->shard.shards, head->units, head->gap);
}

void mor_part_list_add(const struct mor_part_piece *piece, struct mor_buf *list)
{
	mor_buf_printf(list, "%s %" PRIu64 " %016" PRIx64, piece->code ? "failed" : "done", piece->bytes,
		       piece->sum);
	if (piece->code) {
		mor_buf_printf(list, " %d ", -piece->code);
		mor_lines_text(list, piece->name);
		mor_buf_byte(list, '\t');
		mor_lines_text(list, piece->why);
	}
	mor_buf_byte(list, '\n');
}

void mor_part_list_end(struct mor_buf *list)
{
	mor_lines_end(list);
}

/* ---- reading ---- */

static bool read_head(struct mor_slice *text, struct mor_part_head *head)
{
	uint64_t gap;

	if (text->len < strlen(MAGIC) || memcmp(text->ptr, MAGIC, strlen(MAGIC)) != 0)
		return false;
	*text = mor_slice_from(*text, strlen(MAGIC));
	if (!mor_lines_copy(text, ' ', head->command, sizeof(head->command)) ||
	    !mor_lines_copy(text, ' ', head->run, sizeof(head->run)) ||
	    !mor_lines_u32(text, ' ', &head->shard.shard) || !mor_lines_u32(text, ' ', &head->shard.shards) ||
	    !mor_lines_number(text, ' ', &head->units) || !mor_lines_number(text, '\n', &gap))
		return false;
	head->gap = gap != 0;
	return head->shard.shard > 0 && head->shard.shard <= head->shard.shards &&
	       head->shard.shards <= MOR_PART_SHARDS_LIMIT && head->units <= SIZE_MAX &&
	       mor_digest_valid(head->run);
}

static bool read_failure(struct mor_slice *line, struct mor_part_piece *piece)
{
	uint32_t code;

	if (!mor_lines_u32(line, ' ', &code) || code == 0 || code > INT32_MAX ||
	    !mor_lines_word(line, '\t', &piece->name) || !mor_lines_word(line, '\n', &piece->why))
		return false;
	piece->code = -(int)code;
	return true;
}

static bool read_piece(struct mor_slice *text, struct mor_part_piece *piece)
{
	struct mor_slice kind;

	if (!mor_lines_word(text, ' ', &kind) || !mor_lines_number(text, ' ', &piece->bytes))
		return false;
	if (mor_slice_is(kind, "done"))
		return mor_lines_hex(text, '\n', &piece->sum);
	return mor_slice_is(kind, "failed") && mor_lines_hex(text, ' ', &piece->sum) &&
	       read_failure(text, piece);
}

static bool read_pieces(struct mor_part *part, struct mor_slice text)
{
	size_t first, want;

	mor_shard_range(part->head.shard, (size_t)part->head.units, &first, &want);
	/* Each line has more than 8 bytes: a false number of units must not ask for any amount of memory. */
	if (want > text.len / 8)
		return false;
	part->pieces = mor_zalloc((want + 1) * sizeof(*part->pieces));
	if (!part->pieces)
		return false;
	for (; text.len && part->count < want; part->count++) {
		if (!read_piece(&text, &part->pieces[part->count]))
			return false;
		if (__builtin_add_overflow(part->bytes, part->pieces[part->count].bytes, &part->bytes))
			return false;
	}
	return text.len == 0 && part->count == want;
}

static int refuse_part(const char *path, const char *why, mortise_error *err)
{
	return mor_fail(err, MORTISE_EINPUT, "%s: %s", path, why);
}

static int read_list(struct mor_part *part, uint64_t size, mortise_error *err)
{
	struct mor_lines_place place = {
		.fd = part->fd,
		.path = part->path,
		.size = size,
		.magic = MAGIC,
		.none = "this is no part, or not a whole one: --shard K/N makes parts, and a part is whole "
			"when its run has ended",
	};
	struct mor_slice text = { 0 };
	uint64_t at = 0;
	int r = mor_lines_read(&place, &part->list, &text.len, &at, err);

	if (r < 0)
		return r;
	text.ptr = part->list;
	if (!read_head(&text, &part->head) || !read_pieces(part, text) || part->bytes != at)
		return refuse_part(part->path, "the list at its end is damaged", err);
	return 0;
}

int mor_part_open(const char *path, struct mor_part **ret, mortise_error *err)
{
	struct mor_part *part = mor_zalloc(sizeof(*part));
	struct stat st;
	int r = 0;

	if (!part)
		return mor_fail_memory(err);
	part->path = path;
	part->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (part->fd < 0 || fstat(part->fd, &st) < 0)
		r = mor_fail_errno(err, errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, errno, "%s",
				   path);
	else if (!S_ISREG(st.st_mode))
		r = refuse_part(path, "this is no file", err);
	else
		r = read_list(part, (uint64_t)st.st_size, err);
	if (r == 0)
		*ret = part;
	else
		mor_part_free(part);
	return r;
}

struct mor_part *mor_part_free(struct mor_part *part)
{
	if (!part)
		return NULL;
	mor_fd_close(&part->fd);
	mor_free(part->pieces);
	mor_free(part->list);
	return mor_free(part);
}
