/* SPDX-License-Identifier: Apache-2.0 */
/* One file: its identity and what is in it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "content/inside.h"

#define BLOCK 32768

static int64_t nanoseconds(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

struct mor_content_identity mor_content_identity_stat(const struct stat *st)
{
	return (struct mor_content_identity){
		.device = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = nanoseconds(&st->st_mtim),
		.ctime_ns = nanoseconds(&st->st_ctim),
	};
}

struct mor_content_identity mor_content_identity_of(int fd)
{
	struct stat st = { 0 };

	if (fstat(fd, &st) < 0)
		st = (struct stat){ 0 };
	return mor_content_identity_stat(&st);
}

bool mor_content_same(const struct mor_content_identity *a, const struct mor_content_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

bool mor_content_settled(const struct mor_content *record, const struct mor_content_file *file)
{
	return record->made_ns && record->made_ns - file->identity.ctime_ns >= MOR_CONTENT_FRESH_NS;
}

int mor_content_hash_fd(int fd, uint64_t size, char ret_hex[MOR_DIGEST_SIZE], const char *shown,
			mortise_error *err)
{
	struct sha256_ctx sha;
	char block[BLOCK];
	uint64_t at = 0;

	mor_digest_begin(&sha);
	for (;;) { /* one read behind the end: it must not be longer either */
		ssize_t len = pread(fd, block, sizeof(block), (off_t)at);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s: it cannot be read", shown);
		at += (uint64_t)len;
		if (at > size || (len == 0 && at < size))
			return mor_fail(err, MORTISE_EINPUT, "%s: it changes while it is read", shown);
		if (len == 0)
			break;
		mor_digest_add(&sha, block, (size_t)len);
	}
	mor_digest_end(&sha, ret_hex);
	return 0;
}

bool mor_content_link_stays(const char *path, const char *target)
{
	size_t depth = 0;

	if (*target == '/' || !*target)
		return false;
	for (const char *p = path; *p; p++)
		depth += *p == '/';
	for (; strncmp(target, "../", 3) == 0 || strcmp(target, "..") == 0; target += target[2] ? 3 : 2)
		if (depth-- == 0)
			return false;
	/* Behind the first name, ".." would go up from where a link leads. */
	for (const char *p = target; (p = strstr(p, "..")); p += 2)
		if ((p == target || p[-1] == '/') && (p[2] == '/' || !p[2]))
			return false;
	return true;
}
