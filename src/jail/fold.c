/* SPDX-License-Identifier: Apache-2.0 */
/* See fold.h. */
#include "jail/fold.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#ifndef FS_CASEFOLD_FL
#define FS_CASEFOLD_FL 0x40000000
#endif

/* Letters outside ASCII that fold to letters of ASCII. All other bytes outside ASCII are left out, because the
 * character may be one of those that a file system ignores. */
static const struct {
	const char *letter, *folded;
} letters[] = {
	{ "\u212a", "k" },   { "\u017f", "s" },  { "\u00df", "ss" }, { "\u1e9e", "ss" },
	{ "\ufb00", "ff" },  { "\ufb01", "fi" }, { "\ufb02", "fl" }, { "\ufb03", "ffi" },
	{ "\ufb04", "ffl" }, { "\ufb05", "st" }, { "\ufb06", "st" },
};

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* One character outside ASCII: its bytes, and what it stands for. */
static size_t foreign_letter(const char *at, size_t left, const char **folded)
{
	size_t len = 1;

	*folded = "";
	for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++) {
		size_t size = strlen(letters[i].letter);

		if (size <= left && memcmp(at, letters[i].letter, size) == 0) {
			*folded = letters[i].folded;
			return size;
		}
	}
	while (len < left && ((unsigned char)at[len] & 0xc0) == 0x80)
		len++;
	return len;
}

static bool folds_to(const char *name, size_t len, const char *plain, size_t plain_len)
{
	const char *end = plain + plain_len;

	for (size_t at = 0; at < len;) {
		const char *folded = NULL;
		size_t size, step;

		if ((unsigned char)name[at] < 0x80) {
			if (plain == end || lower(name[at]) != lower(*plain))
				return false;
			plain++, at++;
			continue;
		}
		step = foreign_letter(name + at, len - at, &folded);
		size = strlen(folded);
		if ((size_t)(end - plain) < size)
			return false;
		for (size_t i = 0; i < size; i++)
			if (lower(plain[i]) != folded[i])
				return false;
		plain += size;
		at += step;
	}
	return plain == end;
}

/* FAT and NTFS also know ".git" as "GIT~1", or as "GI1A2B~1": the first letters, a tilde, a number. */
static bool is_short_form(const char *name, size_t len, const char *plain, size_t plain_len)
{
	const char *tilde = memchr(name, '~', len);

	while (plain_len && *plain == '.')
		plain++, plain_len--;
	return tilde && len <= 12 && tilde + 1 < name + len && tilde[1] >= '0' && tilde[1] <= '9' &&
	       tilde - name >= 2 && plain_len >= 2 && lower(name[0]) == lower(plain[0]) &&
	       lower(name[1]) == lower(plain[1]);
}

static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

bool mor_fold_alike(const char *name, size_t len, const char *plain, size_t plain_len)
{
	if (!is_ascii(plain, plain_len)) /* there are too many ways to write it */
		return !is_ascii(name, len);
	return folds_to(name, len, plain, plain_len) || is_short_form(name, len, plain, plain_len);
}

/* File systems that fold only in directories with a flag that says so. */
static bool has_flag(long type)
{
	static const long known[] = { EXT4_SUPER_MAGIC,  F2FS_SUPER_MAGIC,      TMPFS_MAGIC,
				      BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, 0xca451a4e /* bcachefs */ };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (type == known[i])
			return true;
	return false;
}

bool mor_fold_in(const char *path, size_t len)
{
	char dir[PATH_MAX];
	struct statfs fs;
	int fd, flags = 0;
	bool plain;

	if (len >= sizeof(dir))
		return true;
	memcpy(dir, path, len);
	dir[len] = 0;
	fd = open(len ? dir : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return true;
	/* ENOTTY: a file system that is built without such flags */
	plain = fstatfs(fd, &fs) == 0 && has_flag(fs.f_type) &&
		(ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 ? !(flags & FS_CASEFOLD_FL) : errno == ENOTTY);
	close(fd);
	return !plain;
}
