/* SPDX-License-Identifier: Apache-2.0 */
/* Existence, size, times, link targets: what Landlock does not hook. */
#include "attempt.h"

#include <stdio.h>
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

/* ---- what a name says of another on its way ---- */

/* The name ends where everybody may read. Only what lies on the way does not exist in there. */
static struct result tell_dotdot(const struct stage *s)
{
	return got("open through a directory outside", open(in(s, "outside/../ws/data.txt"), O_RDONLY));
}

static struct result tell_dotdot_system(const struct stage *s)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/../../../../../../../../etc/os-release", in(s, "outside"));
	return got("open through a directory outside", open(path, O_RDONLY));
}

static struct result tell_dotdot_pid(const struct stage *s)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/../self/status", (int)s->host);
	return got("open through a process outside", open(path, O_RDONLY));
}

static struct result tell_dotdot_make(const struct stage *s)
{
	return got("mkdir through a directory outside", mkdir(in(s, "outside/../ws/made"), 0755));
}

/* Two names that do not exist: below a file that does, and below one that does not. */
static struct result differs(const char *how, const char *below_file, const char *below_nothing)
{
	int first, second;

	errno = 0;
	open(below_file, O_RDONLY);
	first = errno;
	errno = 0;
	open(below_nothing, O_RDONLY);
	second = errno;
	errno = first;
	return first == second ? no(how) : yes(how);
}

static struct result tell_notdir(const struct stage *s)
{
	return differs("ENOTDIR against ENOENT", in(s, "outside/secret.txt/x"), in(s, "outside/none.txt/x"));
}

static struct result tell_notdir_pid(const struct stage *s)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat/x", (int)s->host);
	return differs("ENOTDIR against ENOENT of a process", path, "/proc/4194304/stat/x");
}

const struct attempt meta_attempts[] = {
	{ "meta_stat", "metadata", 27, 'M', 0, 0, 0, meta_stat },
	{ "meta_statx", "metadata", 27, 'M', 0, 0, 0, meta_statx },
	{ "meta_access", "metadata", 27, 'M', 0, 0, 0, meta_access },
	{ "meta_readlink", "metadata", 27, 'M', 0, 0, 0, meta_readlink },
	{ "meta_xattr", "metadata", 27, 'M', 0, 0, 0, meta_xattr },
	{ "meta_opath", "metadata", 27, 'M', 0, 0, 0, meta_opath },
	{ "meta_chdir", "metadata", 27, 'M', 0, 0, 0, meta_chdir },
	{ "tell_dotdot", "metadata", 86, 'M', 0, 0, 0, tell_dotdot },
	{ "tell_dotdot_system", "metadata", 86, 'M', 0, 0, 0, tell_dotdot_system },
	{ "tell_dotdot_pid", "metadata", 86, 'M', 0, 0, 0, tell_dotdot_pid },
	{ "tell_dotdot_make", "metadata", 86, 'M', 0, 0, NEEDS_WRITE, tell_dotdot_make },
	{ "tell_notdir", "metadata", 86, 'M', 0, 0, 0, tell_notdir },
	{ "tell_notdir_pid", "metadata", 86, 'M', 0, 0, 0, tell_notdir_pid },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
