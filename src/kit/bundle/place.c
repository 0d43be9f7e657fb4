/* SPDX-License-Identifier: Apache-2.0 */
#include "bundle/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"
#include "base/text.h"

static int open_beneath(int root, const char *path, int flags, unsigned long long resolve)
{
	struct open_how how = { .flags = (unsigned)(flags | O_CLOEXEC),
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve };
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* The directory of the first `len` bytes of path, made where it is missing. Name by name: none of them may be a
 * link, not even one that we made. */
static int walk_to(int root, const char *path, size_t len)
{
	struct mor_slice rest = { path, len };
	int at = fcntl(root, F_DUPFD_CLOEXEC, 0);

	if (at < 0)
		return -errno;
	while (rest.len) {
		struct mor_slice part = mor_slice_cut(&rest, '/');
		char name[256];
		int next = -ENAMETOOLONG;

		if (part.len < sizeof(name)) {
			mor_text_keep(name, part.len + 1, part.ptr, part.len);
			next = mor_dir_make_open(at, name, 0755, O_PATH, NULL);
		}
		mor_fd_close(&at);
		if (next < 0)
			return next;
		at = next;
	}
	return at;
}

/* The directory that `path` lies in, and its last name. */
static int open_parent(int root, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');

	*ret_name = slash ? slash + 1 : path;
	return walk_to(root, path, slash ? (size_t)(slash - path) : 0);
}

int mor_place_dir(int root, const char *path)
{
	int fd = walk_to(root, path, strlen(path));

	if (fd < 0)
		return fd;
	mor_fd_close(&fd);
	return 0;
}

int mor_place_file(int root, const char *path, bool executable)
{
	const char *name;
	int parent = open_parent(root, path, &name), fd, r;

	if (parent < 0)
		return parent;
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : fd;
	mor_fd_close(&parent);
	if (fd >= 0 && fchmod(fd, executable ? 0755 : 0644) < 0) {
		r = -errno;
		mor_fd_close(&fd);
	}
	return r;
}

int mor_place_link(int root, const char *path, const char *target)
{
	const char *name;
	int parent = open_parent(root, path, &name), r;

	if (parent < 0)
		return parent;
	r = symlinkat(target, parent, name) < 0 ? -errno : 0;
	mor_fd_close(&parent);
	return r;
}

int mor_place_open(int root, const char *path)
{
	struct stat st;
	int fd = open_beneath(root, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);

	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		mor_fd_close(&fd);
		return -EINVAL;
	}
	return fd;
}

int mor_place_follow(int root, const char *path)
{
	int fd = open_beneath(root, path, O_PATH, 0);

	if (fd < 0)
		return fd;
	mor_fd_close(&fd);
	return 0;
}

/* The names in a directory. */
static int list_names(int fd, char ***ret)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	int r = 0;

	if (!dir) {
		r = -errno;
		mor_fd_close(&copy);
		return r;
	}
	while (r == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = mor_texts_push_take(ret, mor_strdup(entry->d_name)) < 0 ? -ENOMEM : 0;
	closedir(dir);
	return r;
}

/* Another name for the top, so that a file in it can have the name that it has now. */
static int rename_top(int root, int top, const char *name, char *ret, size_t size)
{
	for (int i = 0;; i++) {
		snprintf(ret, size, ".mortise-top-%d", i);
		if (faccessat(top, ret, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			break;
	}
	return renameat2(root, name, root, ret, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

static int move_content(int root, const char *name)
{
	char now[32];
	char **names = NULL;
	int top = openat(root, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r = top < 0 ? -errno : list_names(top, &names);

	if (r == 0)
		r = rename_top(root, top, name, now, sizeof(now));
	for (char **at = names; r == 0 && at && *at; at++)
		r = renameat2(top, *at, root, *at, RENAME_NOREPLACE) < 0 ? -errno : 0;
	if (r == 0)
		r = unlinkat(root, now, AT_REMOVEDIR) < 0 ? -errno : 0;
	mor_texts_free(names);
	mor_fd_close(&top);
	return r;
}

int mor_place_hoist(int root, struct mor_place_top *ret)
{
	struct mor_place_top top = { "" };
	char **names = NULL;
	struct stat st;
	int r = list_names(root, &names);

	if (r == 0 && names && names[0] && !names[1] &&
	    fstatat(root, names[0], &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
		mor_text_keep(top.name, sizeof(top.name), names[0], sizeof(top.name));
		r = move_content(root, top.name);
	}
	mor_texts_free(names);
	if (r == 0)
		*ret = top;
	return r;
}

/* Without memory of its own: it is called when memory may be short. */
void mor_place_clear(int root)
{
	int copy = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir) {
		mor_fd_close(&copy);
		return;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			mor_dir_remove_all(root, entry->d_name);
	closedir(dir);
}
