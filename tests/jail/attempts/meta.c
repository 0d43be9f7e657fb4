/* SPDX-License-Identifier: Apache-2.0 */
/* Existence, size, times, link targets: what Landlock does not hook. */
#include "attempt.h"

#include <sys/stat.h>
#include <sys/xattr.h>

static struct result meta_stat(const struct stage *s)
{
	struct stat st;

	return got("stat", stat(in(s, "outside/secret.txt"), &st));
}

static struct result meta_statx(const struct stage *s)
{
	struct statx st;

	return got("statx", statx(AT_FDCWD, in(s, "outside/secret.txt"), 0, STATX_SIZE, &st));
}

static struct result meta_access(const struct stage *s)
{
	return got("access", access(in(s, "outside/secret.txt"), F_OK));
}

static struct result meta_readlink(const struct stage *s)
{
	char buf[256];

	return got("readlink", readlink(in(s, "outside/pointer"), buf, sizeof(buf)));
}

static struct result meta_xattr(const struct stage *s)
{
	char buf[256];

	return got("getxattr", getxattr(in(s, "outside/secret.txt"), "user.mortise", buf, sizeof(buf)));
}

static struct result meta_opath(const struct stage *s)
{
	struct stat st;
	int fd = open(in(s, "outside/secret.txt"), O_PATH);

	return got("O_PATH and fstat", fd < 0 ? -1 : fstat(fd, &st));
}

static struct result meta_chdir(const struct stage *s)
{
	return got("chdir", chdir(in(s, "outside")));
}

const struct attempt meta_attempts[] = {
	{ "meta_stat", "metadata", 27, 'M', 0, 0, 0, meta_stat },
	{ "meta_statx", "metadata", 27, 'M', 0, 0, 0, meta_statx },
	{ "meta_access", "metadata", 27, 'M', 0, 0, 0, meta_access },
	{ "meta_readlink", "metadata", 27, 'M', 0, 0, 0, meta_readlink },
	{ "meta_xattr", "metadata", 27, 'M', 0, 0, 0, meta_xattr },
	{ "meta_opath", "metadata", 27, 'M', 0, 0, 0, meta_opath },
	{ "meta_chdir", "metadata", 27, 'M', 0, 0, 0, meta_chdir },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
