/* SPDX-License-Identifier: Apache-2.0 */
#include "part/lines.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sum.h"
#include "base/text.h"

#define END_FORMAT "end %016" PRIx64 " %016" PRIx64 "\n"
#define LIST_LIMIT ((uint64_t)1 << 28)

/* ---- writing ---- */

void mor_lines_text(struct mor_buf *list, struct mor_slice text)
{
	char shown[1024];

	mor_buf_text(list, mor_printable(text, shown, sizeof(shown)));
}

void mor_lines_end(struct mor_buf *list)
{
	uint64_t length = list->len, check = mor_sum(list->data, list->len, 0);

	mor_buf_printf(list, END_FORMAT, length, check);
}

/* ---- words ---- */

bool mor_lines_word(struct mor_slice *text, char end, struct mor_slice *ret)
{
	const char *at = memchr(text->ptr, end, text->len);

	if (!at)
		return false;
	*ret = (struct mor_slice){ text->ptr, (size_t)(at - text->ptr) };
	text->ptr = at + 1;
	text->len -= ret->len + 1;
	return true;
}

bool mor_lines_number(struct mor_slice *text, char end, uint64_t *ret)
{
	struct mor_slice word;

	return mor_lines_word(text, end, &word) && mor_parse_u64(word, ret);
}

bool mor_lines_u32(struct mor_slice *text, char end, uint32_t *ret)
{
	struct mor_slice word;

	return mor_lines_word(text, end, &word) && mor_parse_u32(word, ret);
}

/* The text goes on after the word, or ends with a NUL. */
bool mor_lines_hex(struct mor_slice *text, char end, uint64_t *ret)
{
	struct mor_slice word;
	uint64_t number = 0;

	if (!mor_lines_word(text, end, &word) || word.len != 16 || mor_hex_count(word.ptr) != 16)
		return false;
	for (size_t i = 0; i < word.len; i++)
		number = number << 4 | (unsigned)mor_hex_value(word.ptr[i]);
	*ret = number;
	return true;
}

bool mor_lines_copy(struct mor_slice *text, char end, char *to, size_t size)
{
	struct mor_slice word;

	if (!mor_lines_word(text, end, &word) || word.len == 0 || word.len >= size)
		return false;
	memcpy(to, word.ptr, word.len);
	to[word.len] = '\0';
	return true;
}

/* ---- reading ---- */

static int refuse_list(const struct mor_lines_place *place, const char *why, mortise_error *err)
{
	return mor_fail(err, MORTISE_EINPUT, "%s: %s", place->path, why);
}

/* Where the list is, from the file's last line. */
static int find_list(const struct mor_lines_place *place, uint64_t *ret_length, uint64_t *ret_check,
		     mortise_error *err)
{
	char end[MOR_LINES_END + 1] = "";
	struct mor_slice text = { end, MOR_LINES_END }, word;

	if (place->size < MOR_LINES_END ||
	    pread(place->fd, end, MOR_LINES_END, (off_t)(place->size - MOR_LINES_END)) != MOR_LINES_END ||
	    !mor_lines_word(&text, ' ', &word) || !mor_slice_is(word, "end") ||
	    !mor_lines_hex(&text, ' ', ret_length) || !mor_lines_hex(&text, '\n', ret_check))
		return refuse_list(place, place->none, err);
	if (*ret_length > LIST_LIMIT || *ret_length > place->size - MOR_LINES_END)
		return refuse_list(place, "the list at its end is damaged", err);
	return 0;
}

/* Before memory is taken for a list of any length: a sparse file costs nothing. */
static int check_magic(const struct mor_lines_place *place, uint64_t at, mortise_error *err)
{
	char magic[64];
	size_t len = strlen(place->magic);

	if (pread(place->fd, magic, len, (off_t)at) != (ssize_t)len || memcmp(magic, place->magic, len) != 0)
		return refuse_list(place, "the list at its end is damaged", err);
	return 0;
}

int mor_lines_read(const struct mor_lines_place *place, char **ret, size_t *ret_len, uint64_t *ret_at,
		   mortise_error *err)
{
	MOR_CLEAN_TEXT char *list = NULL;
	uint64_t length = 0, check = 0, at;
	int r = find_list(place, &length, &check, err);

	if (r < 0)
		return r;
	at = place->size - MOR_LINES_END - length;
	if ((r = check_magic(place, at, err)) < 0)
		return r;
	list = mor_zalloc((size_t)length + 1);
	if (!list)
		return mor_fail_memory(err);
	if (pread(place->fd, list, (size_t)length, (off_t)at) != (ssize_t)length)
		return refuse_list(place, "the list at its end cannot be read", err);
	if (mor_sum(list, (size_t)length, 0) != check)
		return refuse_list(place, "the list at its end is damaged", err);
	*ret = mor_take(&list);
	*ret_len = (size_t)length;
	*ret_at = at;
	return 0;
}
