/* SPDX-License-Identifier: Apache-2.0 */
/* The list of trusted paths: reading it, and changing single lines of it. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "base/path.h"
#include "base/text.h"
#include "trusted/inside.h"

static const char first_lines[] = "# Plugins that YAMS and Mortise may run: one absolute path per line,\n"
				  "# a directory with everything below it, or one file.\n";

/* ---- paths ---- */

char *mor_trusted_canonical(const char *path)
{
	MOR_CLEAN(mor_buf) struct mor_buf clean = MOR_BUF_INIT;
	char real[PATH_MAX];

	if (realpath(path, real))
		return mor_strdup(real);
	mor_path_clean("", path, &clean);
	return mor_buf_detach(&clean);
}

/* ---- lines ---- */

/* The next line with its end, and the path in it: without blanks around it, empty for a comment. */
static bool next_line(struct mor_slice *rest, struct mor_slice *line, struct mor_slice *path)
{
	if (!rest->len)
		return false;
	line->ptr = rest->ptr;
	*path = mor_slice_trim(mor_slice_cut(rest, '\n'), " \t\v\f\r");
	line->len = (size_t)(rest->ptr - line->ptr);
	if (path->len && path->ptr[0] == '#')
		path->len = 0;
	return true;
}

/* Who could change it: the path itself, and the link by which the list names it. */
static int judge_path(struct mor_trusted_path *item, mortise_error *err)
{
	char *slash = strrchr(item->typed, '/');
	MOR_CLEAN_TEXT char *parent = mor_strndup(item->typed, (size_t)(slash - item->typed));
	MOR_CLEAN_TEXT char *before = parent ? mor_trusted_canonical(*parent ? parent : "/") : NULL;
	int r;

	if (!before)
		return mor_fail_memory(err);
	if (access(item->path, F_OK) < 0) {
		item->why = mor_strdup("does not exist");
		return item->why ? 0 : mor_fail_memory(err);
	}
	r = mor_trusted_exposed(item->path, false, &item->why, err);
	if (r == 0)
		r = mor_trusted_exposed(before, true, &item->why, err);
	return r < 0 ? r : 0;
}

/* YAMS takes a relative path as one in its own working directory; ours is another. */
static int judge_line(struct mor_trusted_path *item, size_t len, mortise_error *err)
{
	const char *wrong = strlen(item->typed) != len ? "has a zero byte in it" :
			    *item->typed != '/'        ? "is not an absolute path" :
							 NULL;

	if (wrong) {
		item->why = mor_strdup(wrong);
		return item->why ? 0 : mor_fail_memory(err);
	}
	item->path = mor_trusted_canonical(item->typed);
	return item->path ? judge_path(item, err) : mor_fail_memory(err);
}

static int add_item(struct mor_trusted *list, struct mor_slice path, mortise_error *err)
{
	struct mor_trusted_path *item;

	if (mor_grow(&list->items, list->count, &list->cap, sizeof(*list->items)) < 0)
		return mor_fail_memory(err);
	item = &list->items[list->count++];
	*item = (struct mor_trusted_path){ .typed = mor_strndup(path.ptr, path.len) };
	return item->typed ? judge_line(item, path.len, err) : mor_fail_memory(err);
}

/* ---- reading ---- */

static int refuse_list(const char *file, const char *why, mortise_error *err)
{
	char shown[MOR_TRUSTED_SHOWN];

	return mor_fail(err, MORTISE_EVIOLATION, "%s, the list of trusted plugins, does not count: %s",
			mor_printable(mor_slice_of(file), shown, sizeof(shown)), why);
}

/* 1: read; 0: there is no such file. If nobody else can change the path, nobody does between the look and the
 * reading. */
static int read_bytes(const char *file, struct mor_buf *ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_trusted_canonical(file);
	MOR_CLEAN_TEXT char *why = NULL;
	char *text = NULL;
	size_t len = 0;
	int r = path ? mor_trusted_exposed(path, false, &why, err) : mor_fail_memory(err);

	if (r > 0)
		return refuse_list(file, why, err);
	if (r < 0)
		return r;
	r = mor_fd_read_file(path, MOR_TRUSTED_FILE_MAX, &text, &len);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r == -EFBIG)
		return refuse_list(file, "it has more than 4 MiB", err);
	if (r < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, -r, "%s", file);
	*ret = (struct mor_buf){ .data = text, .len = len, .cap = len + 1 };
	return 1;
}

static int read_list(struct mor_trusted *list, mortise_error *err)
{
	struct mor_slice rest, line, path;
	int r = list->file ? read_bytes(list->file, &list->all, err) : 0;

	if (r == 0 && list->older) {
		r = read_bytes(list->older, &list->all, err);
		list->from_older = r == 1;
	}
	rest = mor_buf_view(&list->all);
	while (r >= 0 && next_line(&rest, &line, &path))
		if (path.len)
			r = add_item(list, path, err);
	return r < 0 ? r : 0;
}

int mor_trusted_read(struct mor_trusted *ret, mortise_error *err)
{
	struct mor_trusted list = { 0 };
	int r = mor_trusted_place(&list.file, &list.older, err);

	if (r == 0)
		r = read_list(&list, err);
	if (r == 0)
		*ret = list;
	else
		mor_trusted_fini(&list);
	return r;
}

void mor_trusted_fini(struct mor_trusted *list)
{
	for (size_t i = 0; i < list->count; i++) {
		mor_free(list->items[i].typed);
		mor_free(list->items[i].path);
		mor_free(list->items[i].why);
	}
	mor_free(list->items);
	mor_free(list->file);
	mor_free(list->older);
	mor_buf_fini(&list->all);
	*list = (struct mor_trusted){ 0 };
}

const struct mor_trusted_path *mor_trusted_by(const struct mor_trusted *list, const char *path, bool any)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct mor_trusted_path *item = &list->items[i];

		if (item->path && (any || !item->why) &&
		    (strcmp(path, item->path) == 0 || mor_path_below(item->path, path)))
			return item;
	}
	return NULL;
}

/* ---- writing ---- */

/* A change reads the list and replaces it. The process with the lock on its directory does that alone; YAMS
 * itself has no lock. A descriptor, or a status. */
static int lock_list(mortise_error *err)
{
	MOR_CLEAN_TEXT char *file = NULL, *older = NULL;
	char *slash;
	int fd, r = mor_trusted_place(&file, &older, err);

	if (r < 0)
		return r;
	if (!file)
		return mor_fail(err, MORTISE_ESYSTEM,
				"the list of trusted plugins has no place: neither XDG_DATA_HOME nor HOME is "
				"an absolute path");
	slash = strrchr(file, '/');
	*slash = '\0';
	r = *file ? mor_dir_make_all(AT_FDCWD, file, 0700) : 0;
	fd = r < 0 ? r : open(*file ? file : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, r < 0 ? -r : errno,
				      "the list of trusted plugins cannot be written in %s", file);
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR) {
			r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s cannot be locked", file);
			close(fd);
			return r;
		}
	return fd;
}

/* For this user only, as YAMS writes it, whatever its mode was. */
static int write_list(const struct mor_trusted *list, struct mor_slice text, mortise_error *err)
{
	struct mor_outfile file;
	int r = mor_outfile_open(list->file, 0600, &file, err);

	if (r < 0)
		return r;
	file.place.mode = 0600;
	r = mor_fd_write_all(file.fd, text.ptr, text.len);
	if (r == 0)
		return mor_outfile_commit(&file, err);
	mor_outfile_drop(&file);
	return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", list->file);
}

void mor_trusted_change_fini(struct mor_trusted_change *change)
{
	mor_free(change->path);
	mor_free(change->note);
	*change = (struct mor_trusted_change){ 0 };
}

/* ---- adding ---- */

/* A line is one path: what would be cut off or read as another one cannot be in the list. */
static bool fits_line(const char *path)
{
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			return false;
	return !isspace((unsigned char)path[strlen(path) - 1]);
}

static int check_new(const char *word, const char *path, mortise_error *err)
{
	MOR_CLEAN_TEXT char *why = NULL;
	char shown[MOR_TRUSTED_SHOWN];
	int r;

	mor_printable(mor_slice_of(word), shown, sizeof(shown));
	if (strcmp(path, "/") == 0)
		return mor_fail(err, MORTISE_EINPUT,
				"%s is the root directory: that would trust every program of this machine",
				shown);
	if (!fits_line(path))
		return mor_fail(err, MORTISE_EINPUT,
				"%s cannot stand in the list, which has one path per line: rename it", shown);
	r = mor_trusted_exposed(path, false, &why, err);
	return r > 0 ? mor_fail(err, MORTISE_EINPUT, "%s cannot be trusted: %s", shown, why) : r;
}

static int append_path(const struct mor_trusted *list, const char *path, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (list->all.len)
		mor_buf_slice(&text, mor_buf_view(&list->all));
	else
		mor_buf_text(&text, first_lines);
	if (text.len && text.data[text.len - 1] != '\n')
		mor_buf_byte(&text, '\n');
	mor_buf_printf(&text, "%s\n", path);
	if (mor_buf_failed(&text))
		return mor_fail_memory(err);
	if (text.len > MOR_TRUSTED_FILE_MAX)
		return refuse_list(list->file, "it would have more than 4 MiB", err);
	return write_list(list, mor_buf_view(&text), err);
}

static int add_locked(const char *path, struct mor_trusted_change *ret, mortise_error *err)
{
	MOR_CLEAN(mor_trusted) struct mor_trusted list = { 0 };
	const struct mor_trusted_path *by;
	int r = mor_trusted_read(&list, err);

	if (r < 0)
		return r;
	by = mor_trusted_by(&list, path, false);
	if (!by)
		return append_path(&list, path, err);
	ret->note = strcmp(by->path, path) == 0 ? mor_strdup("was trusted already") :
						  mor_text_format("was trusted already, by %s", by->path);
	return ret->note ? 0 : mor_fail_memory(err);
}

int mor_trusted_add(const char *word, struct mor_trusted_change *ret, mortise_error *err)
{
	MOR_CLEAN(mor_trusted_change) struct mor_trusted_change change = { 0 };
	MOR_CLEAN_TEXT char *typed = mor_path_absolute(word);
	MOR_CLEAN(mor_buf) struct mor_buf clean = MOR_BUF_INIT;
	char real[PATH_MAX];
	int lock, r;

	if (!realpath(word, real))
		return mor_fail_errno(err, MORTISE_ENOTFOUND, errno, "%s", word);
	if ((r = check_new(word, real, err)) < 0)
		return r;
	change.path = mor_strdup(real);
	if (!change.path || !typed || mor_path_clean("", typed, &clean) < 0)
		return mor_fail_memory(err);
	if ((lock = lock_list(err)) < 0)
		return lock;
	r = add_locked(real, &change, err);
	close(lock);
	if (r == 0 && !change.note && !mor_slice_is(mor_buf_view(&clean), real)) {
		change.note = mor_text_format("%s leads there", word);
		r = change.note ? 0 : mor_fail_memory(err);
	}
	if (r == 0) {
		*ret = change;
		change = (struct mor_trusted_change){ 0 };
	}
	return r;
}

/* ---- removing ---- */

/* By what it leads to, or as it stands in the list: a directory that is gone can only be named so. */
static bool is_meant(const struct mor_trusted_path *item, const char *word, const char *path)
{
	return strcmp(item->typed, word) == 0 || (item->path && strcmp(item->path, path) == 0);
}

static int refuse_removal(const struct mor_trusted *list, const char *word, const char *path,
			  mortise_error *err)
{
	const struct mor_trusted_path *by = mor_trusted_by(list, path, true);
	char shown[MOR_TRUSTED_SHOWN], dir[MOR_TRUSTED_SHOWN];

	mor_printable(mor_slice_of(word), shown, sizeof(shown));
	if (!by)
		return mor_fail(err, MORTISE_ENOTFOUND,
				"\"%s\" is no key and no path that you trust; see 'mortise trust list'", shown);
	mor_printable(mor_slice_of(by->typed), dir, sizeof(dir));
	return mor_fail(err, MORTISE_EINPUT,
			"%s itself is not in the list: %s is, with all that is below it; to remove that: "
			"mortise trust remove %s",
			shown, dir, dir);
}

/* The lines that are left, byte by byte as they were. */
static bool keep_lines(const struct mor_trusted *list, const char *word, const char *path, struct mor_buf *out)
{
	struct mor_slice rest = mor_buf_view(&list->all), line, found;
	size_t item = 0, dropped = 0;

	while (next_line(&rest, &line, &found)) {
		bool drop = found.len && item < list->count && is_meant(&list->items[item], word, path);

		item += found.len != 0;
		dropped += drop;
		if (!drop)
			mor_buf_slice(out, line);
	}
	return dropped;
}

static int remove_locked(const char *word, const char *path, mortise_error *err)
{
	MOR_CLEAN(mor_trusted) struct mor_trusted list = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r = mor_trusted_read(&list, err);

	if (r < 0)
		return r;
	if (!keep_lines(&list, word, path, &text))
		return refuse_removal(&list, word, path, err);
	return mor_buf_failed(&text) ? mor_fail_memory(err) : write_list(&list, mor_buf_view(&text), err);
}

/* Nothing is made for a word that is not there. */
static int look_before(const char *word, const char *path, mortise_error *err)
{
	MOR_CLEAN(mor_trusted) struct mor_trusted list = { 0 };
	int r = mor_trusted_read(&list, err);

	for (size_t i = 0; r == 0 && i < list.count; i++)
		if (is_meant(&list.items[i], word, path))
			return 0;
	return r < 0 ? r : refuse_removal(&list, word, path, err);
}

int mor_trusted_remove(const char *word, struct mor_trusted_change *ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *typed = mor_path_absolute(word);
	MOR_CLEAN_TEXT char *path = typed ? mor_trusted_canonical(typed) : NULL;
	int lock, r = path ? look_before(word, path, err) : mor_fail_memory(err);

	if (r < 0)
		return r;
	if ((lock = lock_list(err)) < 0)
		return lock;
	r = remove_locked(word, path, err);
	close(lock);
	if (r == 0)
		*ret = (struct mor_trusted_change){ .path = mor_take(&path) };
	return r;
}
