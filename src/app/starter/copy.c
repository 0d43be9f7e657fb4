/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "starter/inside.h"

#define FILE_LIMIT (16u << 20)
#define DEPTH      16 /* our own trees are never that deep */

static int copy_dir(const struct mor_starter_copy *copy, const char *from, const char *into, unsigned depth,
		    mortise_error *err);

/* What our own trees hold beside what belongs into a folder. */
static bool is_left_out(const struct mor_starter_copy *copy, const char *name)
{
	size_t len = strlen(name);

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	if (copy->values)
		return strcmp(name, "steps") == 0;
	return mor_text_in(mor_slice_of(name), "__pycache__|node_modules|package-lock.json|meson.build|pack") ||
	       name[0] == '.' || (len > 4 && strcmp(name + len - 4, ".tgz") == 0);
}

/* dir/name, as it is called in the folder. */
static bool place_of(const struct mor_starter_copy *copy, const char *dir, const char *name, char out[PATH_MAX])
{
	static const char mark[] = "dot-";
	bool hidden = copy->values && strncmp(name, mark, sizeof(mark) - 1) == 0;

	return snprintf(out, PATH_MAX, "%s%s%s%s", dir, *dir ? "/" : "", hidden ? "." : "",
			hidden ? name + sizeof(mark) - 1 : name) < PATH_MAX;
}

/* The file must be new: two templates with one name are a mistake of ours, and are not mixed. */
static int write_file(const struct mor_starter_copy *copy, const char *into, mode_t mode,
		      struct mor_slice bytes, mortise_error *err)
{
	int fd = openat(copy->root, into, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0111 ? 0777 : 0666);
	int r = fd < 0 ? -errno : mor_fd_write_all(fd, bytes.ptr, bytes.len);

	mor_fd_close(&fd);
	if (r < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, -r, "%s", into);
	r = copy->files ? mor_text_list_add_take(copy->files, mor_strdup(into)) : 0;
	return r < 0 ? mor_fail_memory(err) : 0;
}

static int copy_file(const struct mor_starter_copy *copy, const char *from, const char *into, mode_t mode,
		     mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf filled = MOR_BUF_INIT;
	struct mor_slice bytes = { 0 };
	char *content = NULL;
	int r = mor_fd_read_file(from, FILE_LIMIT, &content, &bytes.len);

	if (r < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", from);
	bytes.ptr = content;
	if (copy->values && mor_starter_fill(bytes, copy->values, &filled) < 0)
		r = mor_fail_memory(err);
	if (r == 0)
		r = write_file(copy, into, mode, copy->values ? mor_buf_view(&filled) : bytes, err);
	mor_free(content);
	return r;
}

static int copy_entry(const struct mor_starter_copy *copy, const char *from, const char *into, unsigned depth,
		      mortise_error *err)
{
	struct stat st;
	int r;

	if (lstat(from, &st) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", from);
	if (S_ISREG(st.st_mode))
		return copy_file(copy, from, into, st.st_mode, err);
	if (!S_ISDIR(st.st_mode) || depth >= DEPTH)
		return mor_fail(err, MORTISE_ESYSTEM, "%s: neither a file nor a directory", from);
	r = mor_dir_make_all(copy->root, into, 0777);
	return r < 0 ? mor_fail_errno(err, MORTISE_EINPUT, -r, "%s", into) :
		       copy_dir(copy, from, into, depth + 1, err);
}

static int copy_dir(const struct mor_starter_copy *copy, const char *from, const char *into, unsigned depth,
		    mortise_error *err)
{
	char source[PATH_MAX], place[PATH_MAX];
	DIR *dir = opendir(from);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", from);
	while (r == 0 && (entry = readdir(dir))) {
		if (is_left_out(copy, entry->d_name))
			continue;
		if (snprintf(source, sizeof(source), "%s/%s", from, entry->d_name) >= (int)sizeof(source) ||
		    !place_of(copy, into, entry->d_name, place))
			r = mor_fail_errno(err, MORTISE_EINPUT, ENAMETOOLONG, "%s", from);
		else
			r = copy_entry(copy, source, place, depth, err);
	}
	closedir(dir);
	return r;
}

int mor_starter_copy(const struct mor_starter_copy *copy, mortise_error *err)
{
	int r = *copy->into ? mor_dir_make_all(copy->root, copy->into, 0777) : 0;

	if (r < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, -r, "%s", copy->into);
	return copy_dir(copy, copy->from, copy->into, 0, err);
}
