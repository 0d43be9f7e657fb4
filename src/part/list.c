/* SPDX-License-Identifier: Apache-2.0 */
/* The list at the end of a part: written, and read again. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/sum.h"
#include "base/text.h"
#include "part/part.h"

#define MAGIC      "mortise-part 1 "
#define END_FORMAT "end %016" PRIx64 " %016" PRIx64 "\n"
#define END_LENGTH 38
#define LIST_LIMIT ((uint64_t)1 << 28)

/* ---- writing ---- */

void mor_part_list_begin(const struct mor_part_head *head, struct mor_buf *list)
{
	mor_buf_printf(list, MAGIC "%s %s %u %u %" PRIu64 " %d\n", head->command, head->run, head->shard.shard,
		       head->shard.shards, head->units, head->gap);
}

/* One line, whatever its bytes. */
static void add_text(struct mor_buf *list, struct mor_slice text)
{
	char shown[1024];

	mor_buf_text(list, mor_printable(text, shown, sizeof(shown)));
}

void mor_part_list_add(const struct mor_part_piece *piece, struct mor_buf *list)
{
	mor_buf_printf(list, "%s %" PRIu64 " %016" PRIx64, piece->code ? "failed" : "done", piece->bytes,
		       piece->sum);
	if (piece->code) {
		mor_buf_printf(list, " %d ", -piece->code);
		add_text(list, piece->name);
		mor_buf_byte(list, '\t');
		add_text(list, piece->why);
	}
	mor_buf_byte(list, '\n');
}

void mor_part_list_end(struct mor_buf *list)
{
	uint64_t length = list->len, check = mor_sum(list->data, list->len, 0);

	mor_buf_printf(list, END_FORMAT, length, check);
}

/* ---- reading ---- */

/* The text up to `end`, taken off the front. */
static bool take_word(struct mor_slice *text, char end, struct mor_slice *ret)
{
	const char *at = memchr(text->ptr, end, text->len);

	if (!at)
		return false;
	*ret = (struct mor_slice){ text->ptr, (size_t)(at - text->ptr) };
	text->ptr = at + 1;
	text->len -= ret->len + 1;
	return true;
}

static bool take_number(struct mor_slice *text, char end, uint64_t *ret)
{
	struct mor_slice word;

	return take_word(text, end, &word) && mor_parse_u64(word, ret);
}

static bool take_u32(struct mor_slice *text, char end, uint32_t *ret)
{
	struct mor_slice word;

	return take_word(text, end, &word) && mor_parse_u32(word, ret);
}

/* The text goes on after the word, or ends with a NUL. */
static bool hex_number(struct mor_slice word, uint64_t *ret)
{
	uint64_t number = 0;

	if (word.len != 16 || mor_hex_count(word.ptr) != 16)
		return false;
	for (size_t i = 0; i < word.len; i++)
		number = number << 4 | (unsigned)mor_hex_value(word.ptr[i]);
	*ret = number;
	return true;
}

static bool take_copy(struct mor_slice *text, char *to, size_t size)
{
	struct mor_slice word;

	if (!take_word(text, ' ', &word) || word.len == 0 || word.len >= size)
		return false;
	memcpy(to, word.ptr, word.len);
	to[word.len] = '\0';
	return true;
}

static bool read_head(struct mor_slice *text, struct mor_part_head *head)
{
	uint64_t gap;

	if (text->len < strlen(MAGIC) || memcmp(text->ptr, MAGIC, strlen(MAGIC)) != 0)
		return false;
	text->ptr += strlen(MAGIC);
	text->len -= strlen(MAGIC);
	if (!take_copy(text, head->command, sizeof(head->command)) ||
	    !take_copy(text, head->run, sizeof(head->run)) || !take_u32(text, ' ', &head->shard.shard) ||
	    !take_u32(text, ' ', &head->shard.shards) || !take_number(text, ' ', &head->units) ||
	    !take_number(text, '\n', &gap))
		return false;
	head->gap = gap != 0;
	return head->shard.shard > 0 && head->shard.shard <= head->shard.shards &&
	       head->shard.shards <= MOR_PART_SHARDS_LIMIT && head->units <= SIZE_MAX &&
	       mor_digest_valid(head->run);
}

static bool read_failure(struct mor_slice *line, struct mor_part_piece *piece)
{
	uint32_t code;

	if (!take_u32(line, ' ', &code) || code == 0 || code > INT32_MAX ||
	    !take_word(line, '\t', &piece->name) || !take_word(line, '\n', &piece->why))
		return false;
	piece->code = -(int)code;
	return true;
}

static bool read_piece(struct mor_slice *text, struct mor_part_piece *piece)
{
	struct mor_slice kind, sum;

	if (!take_word(text, ' ', &kind) || !take_number(text, ' ', &piece->bytes))
		return false;
	if (kind.len == 4 && memcmp(kind.ptr, "done", 4) == 0)
		return take_word(text, '\n', &sum) && hex_number(sum, &piece->sum);
	return kind.len == 6 && memcmp(kind.ptr, "failed", 6) == 0 && take_word(text, ' ', &sum) &&
	       hex_number(sum, &piece->sum) && read_failure(text, piece);
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

/* Where the list is, from the file's last line. */
static int find_list(const struct mor_part *part, uint64_t size, uint64_t *ret_length, uint64_t *ret_check,
		     mortise_error *err)
{
	char end[END_LENGTH + 1] = "";
	struct mor_slice text = { end, END_LENGTH }, word, length, check;

	if (size < END_LENGTH || pread(part->fd, end, END_LENGTH, (off_t)(size - END_LENGTH)) != END_LENGTH ||
	    !take_word(&text, ' ', &word) || word.len != 3 || memcmp(word.ptr, "end", 3) != 0 ||
	    !take_word(&text, ' ', &length) || !hex_number(length, ret_length) ||
	    !take_word(&text, '\n', &check) || !hex_number(check, ret_check))
		return refuse_part(part->path,
				   "this is no part, or not a whole one: --shard K/N makes parts, and a part "
				   "is whole when its run has ended",
				   err);
	if (*ret_length > LIST_LIMIT || *ret_length > size - END_LENGTH)
		return refuse_part(part->path, "the list at its end is damaged", err);
	return 0;
}

/* Before memory is taken for a list of any length: a sparse file costs nothing. */
static int check_magic(const struct mor_part *part, uint64_t at, mortise_error *err)
{
	char magic[sizeof(MAGIC) - 1];

	if (pread(part->fd, magic, sizeof(magic), (off_t)at) != (ssize_t)sizeof(magic) ||
	    memcmp(magic, MAGIC, sizeof(magic)) != 0)
		return refuse_part(part->path, "the list at its end is damaged", err);
	return 0;
}

static int read_list(struct mor_part *part, uint64_t size, mortise_error *err)
{
	uint64_t length = 0, check = 0;
	struct mor_slice text;
	int r = find_list(part, size, &length, &check, err);

	if (r < 0)
		return r;
	r = check_magic(part, size - END_LENGTH - length, err);
	if (r < 0)
		return r;
	part->list = mor_zalloc((size_t)length + 1);
	if (!part->list)
		return mor_fail_memory(err);
	if (pread(part->fd, part->list, (size_t)length, (off_t)(size - END_LENGTH - length)) != (ssize_t)length)
		return refuse_part(part->path, "the list at its end cannot be read", err);
	text = (struct mor_slice){ part->list, (size_t)length };
	if (mor_sum(text.ptr, text.len, 0) != check || !read_head(&text, &part->head) ||
	    !read_pieces(part, text) || part->bytes != size - END_LENGTH - length)
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
	if (r < 0) {
		mor_part_free(part);
		return r;
	}
	*ret = part;
	return 0;
}

struct mor_part *mor_part_free(struct mor_part *part)
{
	if (!part)
		return NULL;
	mor_fd_close(&part->fd);
	mor_free(part->pieces);
	mor_free(part->list);
	mor_free(part);
	return NULL;
}
