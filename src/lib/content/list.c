/* SPDX-License-Identifier: Apache-2.0 */
/* The list: growing, sorting, its text, and what differs between two of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "content/inside.h"

void mor_content_fini(struct mor_content *content)
{
	for (size_t i = 0; i < content->count; i++) {
		mor_free(content->files[i].path);
		mor_free(content->files[i].target);
	}
	mor_free(content->files);
	*content = (struct mor_content){ 0 };
}

static int refuse_more(const struct mor_content *content, const struct mor_content_file *file,
		       mortise_error *err)
{
	if (content->count >= MOR_CONTENT_FILES_MAX)
		return mor_fail(err, MORTISE_ELIMIT, "a plugin may have at most %d files",
				MOR_CONTENT_FILES_MAX);
	if (file->size > MOR_CONTENT_BYTES_MAX || content->bytes + file->size > MOR_CONTENT_BYTES_MAX)
		return mor_fail(err, MORTISE_ELIMIT, "a plugin's files may have at most 512 MiB together");
	return 0;
}

int mor_content_add_take(struct mor_content *content, struct mor_content_file *file, mortise_error *err)
{
	int r = refuse_more(content, file, err);

	if (r == 0 && (!file->path ||
		       mor_grow(&content->files, content->count, &content->cap, sizeof(*content->files)) < 0))
		r = mor_fail_memory(err);
	if (r == 0) {
		content->files[content->count++] = *file;
		content->bytes += file->size;
		return 0;
	}
	mor_free(file->path);
	mor_free(file->target);
	return r;
}

int mor_content_add(struct mor_content *content, const struct mor_content_file *file, mortise_error *err)
{
	struct mor_content_file copy = *file;

	copy.path = mor_strdup(file->path);
	copy.target = mor_strdup(file->target);
	if (file->target && !copy.target) {
		mor_free(copy.path);
		return mor_fail_memory(err);
	}
	return mor_content_add_take(content, &copy, err);
}

static int by_path(const void *a, const void *b)
{
	const struct mor_content_file *first = a, *second = b;

	return strcmp(first->path, second->path);
}

int mor_content_seal(struct mor_content *content, const char *shown, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (content->count)
		qsort(content->files, content->count, sizeof(*content->files), by_path);
	for (size_t i = 1; i < content->count; i++)
		if (strcmp(content->files[i - 1].path, content->files[i].path) == 0)
			return mor_fail(err, MORTISE_EINPUT, "%s: %s is in it twice", shown,
					content->files[i].path);
	if (mor_content_text(content, &text) < 0)
		return mor_fail_memory(err);
	mor_digest_of(text.data ? text.data : "", text.len, content->digest);
	return 0;
}

const struct mor_content_file *mor_content_find(const struct mor_content *content, const char *path)
{
	struct mor_content_file wanted = { .path = (char *)path };

	return content->count ?
		       bsearch(&wanted, content->files, content->count, sizeof(*content->files), by_path) :
		       NULL;
}

int mor_content_text(const struct mor_content *content, struct mor_buf *out)
{
	for (size_t i = 0; i < content->count; i++) {
		const struct mor_content_file *file = &content->files[i];

		if (file->target)
			mor_buf_printf(out, "link - 0 %s -> %s\n", file->path, file->target);
		else
			mor_buf_printf(out, "%s %c %" PRIu64 " %s\n", file->sha256,
				       file->executable ? 'x' : '-', file->size, file->path);
	}
	return out->status < 0 ? MORTISE_ENOMEM : 0;
}

/* ---- what differs ---- */

const char *mor_content_change_name(enum mor_content_change_kind kind)
{
	static const char *const names[] = {
		[MOR_CONTENT_ADDED] = "added",
		[MOR_CONTENT_MISSING] = "missing",
		[MOR_CONTENT_CHANGED] = "changed",
	};

	return names[kind];
}

static bool equal_files(const struct mor_content_file *a, const struct mor_content_file *b)
{
	if (a->target || b->target)
		return a->target && b->target && strcmp(a->target, b->target) == 0;
	return a->executable == b->executable && a->size == b->size && strcmp(a->sha256, b->sha256) == 0;
}

static int add_change(struct mor_content_changes *changes, enum mor_content_change_kind kind, const char *path)
{
	if (mor_grow(&changes->items, changes->count, &changes->cap, sizeof(*changes->items)) < 0)
		return MORTISE_ENOMEM;
	changes->items[changes->count++] = (struct mor_content_change){ kind, path };
	return 0;
}

/* Below 0: the path is only in `before`; above: only in `now`. */
static int path_order(const struct mor_content *before, size_t i, const struct mor_content *now, size_t k)
{
	if (i == before->count)
		return 1;
	return k == now->count ? -1 : strcmp(before->files[i].path, now->files[k].path);
}

int mor_content_compare(const struct mor_content *before, const struct mor_content *now,
			struct mor_content_changes *ret)
{
	size_t i = 0, k = 0;
	int r = 0;

	while (r == 0 && (i < before->count || k < now->count)) {
		int order = path_order(before, i, now, k);

		if (order < 0)
			r = add_change(ret, MOR_CONTENT_MISSING, before->files[i].path);
		else if (order > 0)
			r = add_change(ret, MOR_CONTENT_ADDED, now->files[k].path);
		else if (!equal_files(&before->files[i], &now->files[k]))
			r = add_change(ret, MOR_CONTENT_CHANGED, now->files[k].path);
		i += order <= 0;
		k += order >= 0;
	}
	return r;
}

void mor_content_changes_fini(struct mor_content_changes *changes)
{
	mor_free(changes->items);
	*changes = (struct mor_content_changes){ 0 };
}
