/* SPDX-License-Identifier: Apache-2.0 */
#include "depot/depot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "depot/inside.h"

#define COPY_PIECE ((size_t)128 << 10)

static int open_place(struct mor_depot *depot, const char *path, enum mor_depot_use use, mortise_error *err)
{
	int top = open(depot->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
	struct stat st;

	if (top < 0 && errno == ENOENT && use != MOR_DEPOT_READ)
		return mor_fail(err, MORTISE_ENOTFOUND, "--store %s: it is not there: make it first: mkdir %s",
				path, path);
	if (top < 0 || fstat(top, &st) < 0) {
		r = mor_fail_errno(err, errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, errno,
				   "--store %s", path);
	} else {
		depot->mode = st.st_mode & 07777;
		depot->gid = st.st_gid;
		r = mor_depot_check_place(depot, top, use, err);
	}
	mor_fd_close(&top);
	return r;
}

int mor_depot_open(const char *path, enum mor_depot_use use, struct mor_depot **ret, mortise_error *err)
{
	struct mor_depot *depot = mor_zalloc(sizeof(*depot));
	int r;

	if (!depot || !(depot->path = mor_path_absolute(path)) || !(depot->given = mor_strdup(path)) ||
	    !(depot->spare = mor_zalloc(sizeof(*depot->spare)))) {
		mor_depot_free(depot);
		return mor_fail_memory(err);
	}
	r = open_place(depot, path, use, err);
	if (r == 0)
		*ret = depot;
	else
		mor_depot_free(depot);
	return r;
}

struct mor_depot *mor_depot_free(struct mor_depot *depot)
{
	if (!depot)
		return NULL;
	if (depot->spare) {
		mor_packer_free(depot->spare->packer);
		mor_unpacker_free(depot->spare->unpacker);
	}
	mor_free(depot->spare);
	mor_free(depot->path);
	mor_free(depot->given);
	return mor_free(depot);
}

const char *mor_depot_path(const struct mor_depot *depot)
{
	return depot->path;
}

char *mor_depot_name(const struct mor_depot *depot, enum mor_depot_kind kind, const char *digest)
{
	return mor_text_format("%s/%s/%.2s/%s", depot->path, mor_depot_folders[kind], digest, digest);
}

void mor_depot_remove(const struct mor_depot *depot, enum mor_depot_kind kind, const char *digest)
{
	MOR_CLEAN_TEXT char *path = mor_digest_valid(digest) ? mor_depot_name(depot, kind, digest) : NULL;

	if (path)
		unlink(path);
}

/* Notes that the file is used: mor_depot_sweep() goes by that. */
static void touch_file(const char *path)
{
	(void)utimensat(AT_FDCWD, path, NULL, 0);
}

static bool touch_kept(const struct mor_depot *depot, enum mor_depot_kind kind, const char *digest)
{
	MOR_CLEAN_TEXT char *path = mor_digest_valid(digest) ? mor_depot_name(depot, kind, digest) : NULL;

	if (!path || !mor_path_is_file(path))
		return false;
	touch_file(path);
	return true;
}

/* ---- writing ---- */

static int open_new(const struct mor_depot *depot, const char *path, int *ret_fd)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), r = 0;

	if (fd < 0 && errno == ENOENT) {
		r = mor_depot_make_folders(depot);
		fd = r < 0 ? -1 : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	}
	if (fd < 0)
		return r < 0 ? r : -errno;
	mor_depot_share(depot, fd, (depot->mode & 0666) | 0600);
	*ret_fd = fd;
	return 0;
}

int mor_depot_create(struct mor_depot *depot, struct mor_depot_file *ret, mortise_error *err)
{
	struct mor_depot_file file = { .depot = depot, .fd = -1 };
	int r = mor_depot_temporary(depot, &file.path);

	r = r ? r : open_new(depot, file.path, &file.fd);
	if (r < 0) {
		mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s/new", depot->given);
		mor_free(file.path);
		return MORTISE_ESYSTEM;
	}
	mor_digest_begin(&file.sha);
	*ret = file;
	return 0;
}

static int fail_writing(const struct mor_depot *depot, int os_errno, mortise_error *err)
{
	return mor_fail_errno(err, MORTISE_ESYSTEM, os_errno, "writing to the store %s", depot->given);
}

int mor_depot_write(struct mor_depot_file *file, const void *bytes, size_t len, mortise_error *err)
{
	int r = mor_fd_write_all(file->fd, bytes, len);

	if (r < 0)
		return fail_writing(file->depot, -r, err);
	mor_digest_add(&file->sha, bytes, len);
	file->bytes += len;
	return 0;
}

int mor_depot_cut(struct mor_depot_file *file, const struct mor_depot_file *mark, mortise_error *err)
{
	if (ftruncate(file->fd, (off_t)mark->bytes) < 0 || lseek(file->fd, (off_t)mark->bytes, SEEK_SET) < 0)
		return fail_writing(file->depot, errno, err);
	file->bytes = mark->bytes;
	file->sha = mark->sha;
	return 0;
}

void mor_depot_drop(struct mor_depot_file *file)
{
	if (file->path)
		unlink(file->path);
	file->path = mor_free(file->path);
	mor_fd_close(&file->fd);
}

/* A name is safe only when its directory is on the disk too. */
static int sync_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 || fsync(fd) < 0 ? -errno : 0;

	mor_fd_close(&fd);
	return r;
}

/* Usually its directory is there. */
static int rename_into(const struct mor_depot_file *file, enum mor_depot_kind kind, const char *dir,
		       const char *path)
{
	MOR_CLEAN_TEXT char *folder = NULL;
	int r;

	if (rename(file->path, path) == 0)
		return 0;
	if (errno != ENOENT)
		return -errno;
	folder = mor_path_join(file->depot->path, mor_depot_folders[kind]);
	r = folder ? mor_depot_make_dir(file->depot, folder) : -ENOMEM;
	r = r ? r : mor_depot_make_dir(file->depot, dir);
	return r == 0 && rename(file->path, path) < 0 ? -errno : r;
}

static int move_into(const struct mor_depot_file *file, enum mor_depot_kind kind, const char *digest, bool sync)
{
	MOR_CLEAN_TEXT char *dir =
		mor_text_format("%s/%s/%.2s", file->depot->path, mor_depot_folders[kind], digest);
	MOR_CLEAN_TEXT char *path = mor_depot_name(file->depot, kind, digest);
	int r = dir && path ? 0 : -ENOMEM;

	if (r == 0 && sync && fsync(file->fd) < 0)
		r = -errno;
	r = r ? r : rename_into(file, kind, dir, path);
	return r == 0 && sync ? sync_dir(dir) : r;
}

int mor_depot_commit(struct mor_depot_file *file, enum mor_depot_kind kind, char ret_digest[MOR_DIGEST_SIZE],
		     mortise_error *err)
{
	char digest[MOR_DIGEST_SIZE];
	int r;

	mor_digest_end(&file->sha, digest);
	if ((r = move_into(file, kind, digest, true)) < 0)
		fail_writing(file->depot, -r, err);
	else
		memcpy(ret_digest, digest, sizeof(digest));
	mor_depot_drop(file); /* its old name is gone, if it has its new one */
	return r < 0 ? MORTISE_ESYSTEM : 0;
}

int mor_depot_put_text(struct mor_depot *depot, enum mor_depot_kind kind, struct mor_slice text,
		       char ret_digest[MOR_DIGEST_SIZE], mortise_error *err)
{
	struct mor_depot_file file;
	int r;

	mor_digest_of(text.ptr, text.len, ret_digest);
	if (touch_kept(depot, kind, ret_digest))
		return 0;
	if ((r = mor_depot_create(depot, &file, err)) < 0)
		return r;
	r = mor_depot_write(&file, text.ptr, text.len, err);
	if (r == 0)
		return mor_depot_commit(&file, kind, ret_digest, err);
	mor_depot_drop(&file);
	return r;
}

/* ---- whole files ---- */

static int fail_reading(const char *path, int os_errno, mortise_error *err)
{
	return mor_fail_errno(err, os_errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, os_errno, "%s",
			      path);
}

/* Reads from the beginning. `to`: gets a copy; NULL: it is only hashed. */
static int hash_file(int fd, const char *path, struct mor_depot_file *to, char ret[MOR_DIGEST_SIZE],
		     mortise_error *err)
{
	MOR_CLEAN_TEXT char *piece = mor_alloc(COPY_PIECE);
	struct sha256_ctx sha;
	off_t at = 0;
	ssize_t n;
	int r = 0;

	if (!piece)
		return mor_fail_memory(err);
	mor_digest_begin(&sha);
	while (r == 0 && (n = pread(fd, piece, COPY_PIECE, at)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_reading(path, errno, err);
		mor_digest_add(&sha, piece, (size_t)n);
		if (to)
			r = mor_depot_write(to, piece, (size_t)n, err);
		at += n;
	}
	mor_digest_end(&sha, ret);
	return r;
}

static int copy_in(struct mor_depot *depot, enum mor_depot_kind kind, int fd, const char *path,
		   char ret_digest[MOR_DIGEST_SIZE], mortise_error *err)
{
	struct mor_depot_file file;
	int r = mor_depot_create(depot, &file, err);

	if (r < 0)
		return r;
	r = hash_file(fd, path, &file, ret_digest, err);
	if (r == 0)
		return mor_depot_commit(&file, kind, ret_digest, err);
	mor_depot_drop(&file);
	return r;
}

int mor_depot_put_file(struct mor_depot *depot, enum mor_depot_kind kind, const char *path,
		       char ret_digest[MOR_DIGEST_SIZE], mortise_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r = fd < 0 ? fail_reading(path, errno, err) : hash_file(fd, path, NULL, ret_digest, err);

	if (r == 0 && !touch_kept(depot, kind, ret_digest))
		r = copy_in(depot, kind, fd, path, ret_digest, err);
	mor_fd_close(&fd);
	return r;
}

static int refuse_content(const char *path, const char *why, mortise_error *err)
{
	return mor_fail(err, MORTISE_EINPUT, "%s: %s", path, why);
}

int mor_depot_open_file(const struct mor_depot *depot, enum mor_depot_kind kind, const char *digest,
			mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = NULL;
	char seen[MOR_DIGEST_SIZE];
	int fd, r;

	if (!mor_digest_valid(digest))
		return refuse_content(mor_depot_folders[kind], "the name of a file in the store is no digest",
				      err);
	path = mor_depot_name(depot, kind, digest);
	if (!path)
		return mor_fail_memory(err);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT)
		return mor_fail(err, MORTISE_ENOTFOUND,
				"%s: it is not in the store; mortise farm gc removes what was not used for "
				"long",
				path);
	if (fd < 0)
		return fail_reading(path, errno, err);
	r = hash_file(fd, path, NULL, seen, err);
	if (r == 0 && strcmp(seen, digest) != 0)
		r = refuse_content(path, "its bytes are not those that its name promises", err);
	if (r < 0)
		mor_fd_close(&fd);
	else
		(void)futimens(fd, NULL); /* it is used */
	return r < 0 ? r : fd;
}

int mor_depot_get_text(const struct mor_depot *depot, enum mor_depot_kind kind, const char *digest,
		       size_t limit, struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_depot_name(depot, kind, digest);
	MOR_CLEAN_TEXT char *text = NULL;
	char seen[MOR_DIGEST_SIZE];
	size_t len = 0;
	int r;

	if (!path)
		return mor_fail_memory(err);
	if (!mor_digest_valid(digest))
		return refuse_content(path, "this is no digest", err);
	if ((r = mor_fd_read_file(path, limit, &text, &len)) < 0)
		return fail_reading(path, -r, err);
	mor_digest_of(text, len, seen);
	if (strcmp(seen, digest) != 0)
		return refuse_content(path, "its bytes are not those that its name promises", err);
	return mor_buf_append(out, text, len) < 0 ? mor_fail_memory(err) : 0;
}

/* ---- keys ---- */

int mor_depot_key_set(struct mor_depot *depot, const char *key, const char *segment, mortise_error *err)
{
	struct mor_depot_file file;
	int r = mor_depot_create(depot, &file, err);

	if (r < 0)
		return r;
	r = mor_depot_write(&file, segment, MOR_DIGEST_HEX, err);
	if (r == 0 && (r = move_into(&file, MOR_DEPOT_KEY, key, false)) < 0)
		r = fail_writing(depot, -r, err);
	mor_depot_drop(&file);
	return r;
}

bool mor_depot_key_get(const struct mor_depot *depot, const char *key, char ret_segment[MOR_DIGEST_SIZE])
{
	MOR_CLEAN_TEXT char *path = mor_depot_name(depot, MOR_DEPOT_KEY, key);
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len = 0;

	if (!path || mor_fd_read_file(path, MOR_DIGEST_HEX, &text, &len) < 0 || !mor_digest_valid(text) ||
	    !touch_kept(depot, MOR_DEPOT_SEGMENT, text))
		return false;
	memcpy(ret_segment, text, MOR_DIGEST_SIZE);
	touch_file(path);
	return true;
}
