/* SPDX-License-Identifier: Apache-2.0 */
/* Manifests: which segments are the result of a run. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "depot/segment.h"
#include "part/lines.h"

#define MAGIC "mortise-manifest 1 "

int mor_segment_list_add(struct mor_segment_list *list, const struct mor_manifest_part *part)
{
	if (mor_grow(&list->parts, list->count, &list->cap, sizeof(*part)) < 0)
		return MORTISE_ENOMEM;
	list->parts[list->count++] = *part;
	list->bytes += part->bytes;
	return 0;
}

int mor_segment_list_write(const struct mor_segment_list *list, const char *path, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	mor_buf_printf(&text, MAGIC "%s %" PRIu64 "\nstore ", list->format, list->units);
	mor_lines_text(&text, mor_slice_of(list->store));
	mor_buf_byte(&text, '\n');
	for (size_t i = 0; i < list->count; i++) {
		const struct mor_manifest_part *part = &list->parts[i];

		mor_buf_printf(&text, "segment %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", part->segment,
			       part->first, part->count, part->bytes);
	}
	mor_lines_end(&text);
	if (mor_buf_failed(&text))
		return mor_fail_memory(err);
	return mor_outfile_write(path, 0666, mor_buf_view(&text), err);
}

/* The segments have all units, each once and in order. */
static bool read_part(struct mor_segment_list *list, struct mor_slice *text, uint64_t *next)
{
	struct mor_manifest_part part = { 0 };
	struct mor_slice word;

	if (!mor_lines_word(text, ' ', &word) || !mor_slice_is(word, "segment") ||
	    !mor_lines_copy(text, ' ', part.segment, sizeof(part.segment)) || !mor_digest_valid(part.segment) ||
	    !mor_lines_number(text, ' ', &part.first) || !mor_lines_number(text, ' ', &part.count) ||
	    !mor_lines_number(text, '\n', &part.bytes) || part.first != *next || part.count == 0 ||
	    __builtin_add_overflow(part.first, part.count, next))
		return false;
	return mor_segment_list_add(list, &part) == 0;
}

static bool read_text(struct mor_segment_list *list, struct mor_slice text)
{
	struct mor_slice word;
	uint64_t next = 0;

	text = mor_slice_from(text, strlen(MAGIC));
	if (!mor_lines_copy(&text, ' ', list->format, sizeof(list->format)) ||
	    !mor_lines_number(&text, '\n', &list->units) || !mor_lines_word(&text, ' ', &word) ||
	    !mor_lines_word(&text, '\n', &word))
		return false;
	list->store = mor_strndup(word.ptr, word.len);
	if (!list->store)
		return false;
	while (text.len)
		if (!read_part(list, &text, &next))
			return false;
	return next == list->units;
}

static int read_open(int fd, const char *path, struct mor_segment_list *ret, mortise_error *err)
{
	struct mor_lines_place place = {
		.fd = fd, .path = path, .magic = MAGIC, .none = "this manifest was cut"
	};
	MOR_CLEAN_TEXT char *list = NULL;
	struct mor_slice text = { 0 };
	char magic[sizeof(MAGIC) - 1];
	struct stat st;
	uint64_t at;
	int r;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    pread(fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic) ||
	    memcmp(magic, MAGIC, sizeof(magic)) != 0)
		return 0;
	place.size = (uint64_t)st.st_size;
	if ((r = mor_lines_read(&place, &list, &text.len, &at, err)) < 0)
		return r;
	text.ptr = list;
	return at == 0 && read_text(ret, text) ? 1 : mor_fail(err, MORTISE_EINPUT, "%s: it is damaged", path);
}

int mor_segment_list_read(const char *path, struct mor_segment_list *ret, mortise_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), r;

	*ret = (struct mor_segment_list){ 0 };
	if (fd < 0)
		return mor_fail_errno(err, errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, errno, "%s",
				      path);
	r = read_open(fd, path, ret, err);
	mor_fd_close(&fd);
	if (r <= 0)
		mor_segment_list_fini(ret);
	return r;
}

void mor_segment_list_fini(struct mor_segment_list *list)
{
	mor_free(list->store);
	mor_free(list->parts);
	*list = (struct mor_segment_list){ 0 };
}

int mor_segment_list_open(const struct mor_segment_list *list, const struct mor_depot *depot, size_t number,
			  struct mor_segment **ret, mortise_error *err)
{
	const struct mor_manifest_part *part = &list->parts[number];
	int r = mor_segment_open(depot, part->segment, ret, err);

	if (r == 0 && ((*ret)->count != part->count || (*ret)->bytes != part->bytes)) {
		r = mor_fail(err, MORTISE_EINPUT, "%s: it is not the segment that the manifest means",
			     (*ret)->path);
		*ret = mor_segment_free(*ret);
	}
	return r;
}
