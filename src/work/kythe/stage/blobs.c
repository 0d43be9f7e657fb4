/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/stage/blobs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/fd.h"

#define PIECE ((size_t)128 << 10)

/* ---- which ones were hashed ---- */

static uint64_t key_of(const char *digest)
{
	uint64_t key = 0;

	for (size_t i = 0; i < 16; i++)
		key = key << 4 | (uint64_t)(digest[i] <= '9' ? digest[i] - '0' : digest[i] - 'a' + 10);
	return key ? key : 1;
}

static size_t find_slot(const uint64_t *known, size_t slots, uint64_t key)
{
	size_t slot = (size_t)key & (slots - 1);

	while (known[slot] && known[slot] != key)
		slot = (slot + 1) & (slots - 1);
	return slot;
}

static bool is_known(const struct mor_blobs *blobs, const char *digest)
{
	return blobs->slots && blobs->known[find_slot(blobs->known, blobs->slots, key_of(digest))];
}

/* At most half full. Without memory a blob is only hashed again. */
static void know_digest(struct mor_blobs *blobs, const char *digest)
{
	uint64_t key = key_of(digest);
	size_t slot;

	if (2 * blobs->count >= blobs->slots) {
		size_t slots = blobs->slots ? 2 * blobs->slots : 256;
		uint64_t *known = mor_zalloc(slots * sizeof(*known));

		if (!known)
			return;
		for (size_t i = 0; i < blobs->slots; i++)
			if (blobs->known[i])
				known[find_slot(known, slots, blobs->known[i])] = blobs->known[i];
		mor_free(blobs->known);
		blobs->known = known;
		blobs->slots = slots;
	}
	slot = find_slot(blobs->known, blobs->slots, key);
	blobs->count += blobs->known[slot] == 0;
	blobs->known[slot] = key;
}

/* ---- is it there ---- */

/* The file is hashed through its name, without following a link: exactly what an analyzer will read. */
static bool has_digest(const struct mor_blobs *blobs, const char *digest, uint64_t size)
{
	int fd = openat(blobs->dir, digest, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char hex[MOR_DIGEST_SIZE], piece[PIECE];
	struct sha256_ctx sha;

	if (fd < 0)
		return false;
	mor_digest_begin(&sha);
	while (size > 0) {
		ssize_t n = read(fd, piece, size < sizeof(piece) ? (size_t)size : sizeof(piece));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		mor_digest_add(&sha, piece, (size_t)n);
		size -= (uint64_t)n;
	}
	mor_fd_close(&fd);
	mor_digest_end(&sha, hex);
	return size == 0 && strcmp(hex, digest) == 0;
}

enum look { ABSENT, ALTERED, GOOD };

/* Our files are read-only, have the size in the archive, and our fixed time. If not, somebody has changed
 * them. */
static enum look look_at(struct mor_blobs *blobs, const char *digest, uint64_t size)
{
	struct stat st;

	if (fstatat(blobs->dir, digest, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? ABSENT : ALTERED;
	if (!S_ISREG(st.st_mode) || (st.st_mode & 0777) != 0444 || st.st_mtim.tv_sec != 1 ||
	    st.st_mtim.tv_nsec != 0 || (uint64_t)st.st_size != size)
		return ALTERED;
	if (is_known(blobs, digest))
		return GOOD;
	if (!has_digest(blobs, digest, size))
		return ALTERED;
	know_digest(blobs, digest);
	return GOOD;
}

/* ---- writing ---- */

static int write_piece(const void *bytes, size_t len, void *arg)
{
	return mor_fd_write_all(*(int *)arg, bytes, len) < 0 ? MORTISE_ESYSTEM : 0;
}

/* In our own directory until its bytes are known to be right. If two processes write the same blob, either
 * may win. */
static int write_blob(struct mor_blobs *blobs, struct mor_kzip *kzip, const char *digest, mortise_error *err)
{
	char temporary[40];
	struct stat st = { 0 };
	int fd, r;

	snprintf(temporary, sizeof(temporary), "blob.%u", blobs->next++);
	if ((fd = openat(blobs->work, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400)) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s: a new content", blobs->place);
	r = mor_kzip_file_read(kzip, digest, write_piece, &fd, err);
	/* A constant time: what an analyzer sees must not depend on when the file was staged. */
	if (r == 0 && (fchmod(fd, 0444) < 0 || futimens(fd, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }) < 0 ||
		       fstat(fd, &st) < 0))
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s: a new content", blobs->place);
	mor_fd_close(&fd);
	if (r == 0 && renameat(blobs->work, temporary, blobs->dir, digest) < 0)
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s/blobs/%s", blobs->place, digest);
	if (r < 0) {
		unlinkat(blobs->work, temporary, 0);
		return r;
	}
	blobs->written++;
	blobs->written_bytes += (uint64_t)st.st_size;
	know_digest(blobs, digest); /* reading it from the archive has hashed it */
	return 0;
}

int mor_blobs_ensure(struct mor_blobs *blobs, struct mor_kzip *kzip, size_t number, mortise_error *err)
{
	const char *digest = mor_kzip_file_digest(kzip, number);
	enum look look = look_at(blobs, digest, mor_kzip_file_size(kzip, number));
	int r = look == GOOD ? 0 : write_blob(blobs, kzip, digest, err);

	blobs->mended += r == 0 && look == ALTERED;
	return r;
}

void mor_blobs_fini(struct mor_blobs *blobs)
{
	blobs->known = mor_free(blobs->known);
	blobs->slots = blobs->count = 0;
}
