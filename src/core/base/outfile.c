/* SPDX-License-Identifier: Apache-2.0 */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"

#define LINKS_MAX 40 /* as many as the kernel follows */

/* ---- the place ---- */

/* The directory of a path, "." if it has none. NULL: no memory. */
static char *dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? mor_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : mor_strdup(".");
}

static char *join_path_take(char *dir, const char *name)
{
	struct mor_buf path = MOR_BUF_INIT;

	mor_buf_printf(&path, "%s/%s", dir ? dir : "", name);
	mor_free(dir);
	return mor_buf_detach(&path);
}

/* realpath() does not work here: the target of the last link need not exist. 0 or -errno. */
static int follow_links(char **path)
{
	char target[PATH_MAX];

	for (int i = 0; i < LINKS_MAX; i++) {
		ssize_t len = readlink(*path, target, sizeof(target) - 1);
		char *next;

		if (len < 0)
			/* not a link, or nothing there */
			return errno == EINVAL || errno == ENOENT ? 0 : -errno;
		target[len] = '\0';
		next = target[0] == '/' ? mor_strdup(target) : join_path_take(dir_of(*path), target);
		if (!next)
			return -ENOMEM;
		mor_free(*path);
		*path = next;
	}
	return -ELOOP;
}

/* A rename over a mount point fails (EBUSY). Kernels before 5.8 cannot tell, and then the rename fails. */
static bool is_mount_point(const char *path)
{
	struct statx info = { 0 };

	return statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_TYPE, &info) == 0 &&
	       (info.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* 0 or -errno. */
static int look(struct mor_outplace *place)
{
	struct stat st;

	if (stat(place->path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (faccessat(AT_FDCWD, place->path, W_OK, AT_EACCESS) < 0)
		return -errno;
	place->there = true;
	place->in_place = !S_ISREG(st.st_mode) || is_mount_point(place->path);
	place->mode = st.st_mode & 0777;
	place->uid = st.st_uid;
	place->gid = st.st_gid;
	return 0;
}

static int fail_at(const char *path, int error, mortise_error *err)
{
	return mor_fail_errno(err, error == -ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, -error,
			      "%s: it cannot be written", path);
}

/* "-", /dev/stdout and the like: a descriptor that is open already. Opening it again would start at the
 * beginning of the file, even if the shell said ">>", and fail for a socket. -1: the path is not one of
 * these. */
static int descriptor_of(const char *path)
{
	static const char *const numbered[] = { "/dev/fd/", "/proc/self/fd/" };

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(numbered) / sizeof(*numbered); i++) {
		size_t len = strlen(numbered[i]);
		size_t digits = strncmp(path, numbered[i], len) == 0 ? strspn(path + len, "0123456789") : 0;

		if (digits > 0 && digits < 6 && path[len + digits] == '\0')
			return (int)strtol(path + len, NULL, 10);
	}
	return -1;
}

int mor_outplace_find(const char *path, struct mor_outplace *ret, mortise_error *err)
{
	int r;

	*ret = (struct mor_outplace){ .path = mor_strdup(path), .descriptor = descriptor_of(path) };
	if (!ret->path)
		return mor_fail_memory(err);
	if (ret->descriptor >= 0) {
		ret->there = ret->in_place = true;
		return 0;
	}
	r = *path ? follow_links(&ret->path) : -ENOENT;
	if (r == 0)
		r = look(ret);
	if (r == 0)
		return 0;
	mor_outplace_fini(ret);
	return fail_at(path, r, err);
}

char *mor_outplace_dir(const struct mor_outplace *place)
{
	return dir_of(place->path);
}

void mor_outplace_fini(struct mor_outplace *place)
{
	mor_free(place->path);
	*place = (struct mor_outplace){ 0 };
}

int mor_outplace_open(const struct mor_outplace *place)
{
	if (place->descriptor >= 0)
		return fcntl(place->descriptor, F_DUPFD_CLOEXEC, 0);
	return open(place->path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
}

/* If the group cannot be kept, it gets only the rights of others. */
void mor_outplace_dress(const struct mor_outplace *place, int fd)
{
	mode_t mode = place->mode;
	struct stat st;

	if (!place->there || fstat(fd, &st) < 0)
		return;
	if (st.st_gid != place->gid && fchown(fd, (uid_t)-1, place->gid) < 0)
		mode &= ~(mode_t)070 | (mode & 07) << 3;
	if (st.st_uid != place->uid && fchown(fd, place->uid, (gid_t)-1) < 0)
		(void)errno; /* it is ours, then */
	(void)fchmod(fd, mode);
}

/* ---- the file ---- */

/* Tries new names in the directory of the place; make() makes the file: 0 or -errno. */
static int take_name(struct mor_outfile *file, int (*make)(struct mor_outfile *file, mode_t mode), mode_t mode)
{
	int r;

	do {
		struct mor_buf name = MOR_BUF_INIT;
		char *dir = dir_of(file->place.path);
		uint64_t number = 0;

		r = getrandom(&number, sizeof(number), 0) == sizeof(number) ? 0 : -errno;
		mor_buf_printf(&name, "%s/.mortise-%016" PRIx64, dir ? dir : "", number);
		mor_free(file->name);
		file->name = mor_buf_detach(&name);
		if (!dir || !file->name)
			r = -ENOMEM;
		mor_free(dir);
		if (r == 0)
			r = make(file, mode);
	} while (r == -EEXIST);
	if (r < 0) {
		mor_free(file->name);
		file->name = NULL;
	}
	return r;
}

static int make_named(struct mor_outfile *file, mode_t mode)
{
	file->fd = open(file->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	return file->fd < 0 ? -errno : 0;
}

/* /proc gives a name for a descriptor. */
static int link_unnamed(struct mor_outfile *file, mode_t mode)
{
	char from[40];

	(void)mode;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", file->fd);
	return linkat(AT_FDCWD, from, AT_FDCWD, file->name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int make_beside(struct mor_outfile *file, mode_t mode)
{
	MOR_CLEAN_TEXT char *dir = dir_of(file->place.path);

	if (!dir)
		return -ENOMEM;
	if (access("/proc/self/fd", X_OK) < 0)
		return take_name(file, make_named, mode);
	file->fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	if (file->fd >= 0)
		return 0;
	/* A kernel that does not know O_TMPFILE sees an attempt to write a directory. */
	return errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL ? take_name(file, make_named, mode) :
									   -errno;
}

static int fail_beside(const char *path, int error, mortise_error *err)
{
	if (error != -EACCES && error != -EPERM && error != -EROFS)
		return fail_at(path, error, err);
	return mor_fail_errno(
		err, MORTISE_EINPUT, -error,
		"%s: no file can be made in its directory, where the output is kept until it is complete (\"> "
		"FILE\" works without that)",
		path);
}

int mor_outfile_open(const char *path, mode_t mode, struct mor_outfile *ret, mortise_error *err)
{
	int r;

	*ret = (struct mor_outfile)MOR_OUTFILE_INIT;
	if ((r = mor_outplace_find(path, &ret->place, err)) < 0)
		return r;
	if (ret->place.in_place) {
		ret->fd = mor_outplace_open(&ret->place);
		r = ret->fd < 0 ? fail_at(path, -errno, err) : 0;
	} else {
		r = make_beside(ret, mode);
		r = r < 0 ? fail_beside(path, r, err) : 0;
	}
	if (r < 0)
		mor_outfile_drop(ret);
	return r;
}

int mor_outfile_commit(struct mor_outfile *file, mortise_error *err)
{
	int r = 0;

	if (!file->place.in_place) {
		mor_outplace_dress(&file->place, file->fd);
		r = file->name ? 0 : take_name(file, link_unnamed, 0);
		if (r == 0 && rename(file->name, file->place.path) < 0)
			r = -errno;
		if (r == 0) {
			mor_free(file->name);
			file->name = NULL;
		}
	}
	/* Some file systems report only now that there was no room. */
	if (close(file->fd) < 0 && r == 0 && errno != EINTR)
		r = -errno;
	file->fd = -1;
	r = r < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s: it cannot be written", file->place.path) : 0;
	mor_outfile_drop(file);
	return r;
}

void mor_outfile_drop(struct mor_outfile *file)
{
	if (file->name)
		(void)unlink(file->name);
	mor_free(file->name);
	mor_fd_close(&file->fd);
	mor_outplace_fini(&file->place);
	*file = (struct mor_outfile)MOR_OUTFILE_INIT;
}

int mor_outfile_write(const char *path, mode_t mode, struct mor_slice text, mortise_error *err)
{
	struct mor_outfile file = MOR_OUTFILE_INIT;
	int r = mor_outfile_open(path, mode, &file, err);

	if (r < 0)
		return r;
	r = mor_fd_write_all(file.fd, text.ptr, text.len);
	if (r == 0)
		return mor_outfile_commit(&file, err);
	mor_outfile_drop(&file);
	return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", path);
}
