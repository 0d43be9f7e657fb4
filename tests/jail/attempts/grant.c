/* SPDX-License-Identifier: Apache-2.0 */
/* With workspace_write: what the grant does not cover. Plain attempts on paths outside run with it, too. */
#include "attempt.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>

static struct result w_hardlink_in(const struct stage *s)
{
	if (link(in(s, "outside/secret.txt"), "hard") < 0)
		return no("link");
	return read_secret("link", open("hard", O_RDONLY));
}

static struct result w_hardlink_fd(const struct stage *s)
{
	char path[64];
	int fd = open(in(s, "outside/secret.txt"), O_PATH);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, AT_FDCWD, "hard", AT_SYMLINK_FOLLOW) < 0)
		return no("linkat of a descriptor");
	return read_secret("linkat of a descriptor", open("hard", O_RDONLY));
}

static struct result w_hardlink_out(const struct stage *s)
{
	return got("link outwards", link("data.txt", in(s, "outside/hard")));
}

static struct result w_rename_in(const struct stage *s)
{
	if (rename(in(s, "outside/secret.txt"), "taken") < 0)
		return no("rename");
	return read_secret("rename", open("taken", O_RDONLY));
}

static struct result w_rename_out(const struct stage *s)
{
	return got("rename outwards", rename("data.txt", in(s, "outside/planted")));
}

static struct result w_rename_xchg(const struct stage *s)
{
	return got("exchange", renameat2(AT_FDCWD, "data.txt", AT_FDCWD, in(s, "outside/victim.txt"), 2));
}

static struct result w_symlink_write(const struct stage *s)
{
	int fd;

	if (symlink(in(s, "outside/victim.txt"), "soft") < 0)
		return no("symlink");
	fd = open("soft", O_WRONLY);
	return got("write through a link", fd < 0 ? -1 : write(fd, "x", 1));
}

/* O_CREAT through a dangling link makes the target. */
static struct result w_symlink_create(const struct stage *s)
{
	if (symlink(in(s, "outside/new"), "soft") < 0)
		return no("symlink");
	return got("create through a dangling link", open("soft", O_WRONLY | O_CREAT, 0644));
}

static struct result w_symlink_read(const struct stage *s)
{
	if (symlink(in(s, "outside/secret.txt"), "soft") < 0)
		return no("symlink");
	return read_secret("read through a link", open("soft", O_RDONLY));
}

static struct result w_dir_swap(const struct stage *s)
{
	if (rename("sub", "sub.old") < 0 || symlink(in(s, "outside"), "sub") < 0)
		return no("swap");
	return read_secret("a directory became a link", open("sub/secret.txt", O_RDONLY));
}

/* Each call that changes names or attributes, through the planted links: the broker resolves
 * for all of them. */
static struct result w_linkdir_create(const struct stage *s)
{
	(void)s;
	return got("create through a directory link", open("linkdir/new", O_CREAT | O_WRONLY, 0644));
}

static struct result w_linkdir_mkdir(const struct stage *s)
{
	(void)s;
	return got("mkdir", mkdir("linkdir/dir", 0755));
}
static struct result w_linkdir_unlink(const struct stage *s)
{
	(void)s;
	return got("unlink", unlink("linkdir/victim.txt"));
}
static struct result w_linkdir_symlink(const struct stage *s)
{
	(void)s;
	return got("symlink", symlink("x", "linkdir/soft"));
}
static struct result w_linkdir_rename(const struct stage *s)
{
	(void)s;
	return got("rename", rename("data.txt", "linkdir/victim.txt"));
}
static struct result w_link_chmod(const struct stage *s)
{
	(void)s;
	return got("chmod", chmod("link", 0600));
}
static struct result w_link_truncate(const struct stage *s)
{
	(void)s;
	return got("truncate", truncate("link", 0));
}
static struct result w_link_utimes(const struct stage *s)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	(void)s;
	return got("utimensat", utimensat(AT_FDCWD, "link", times, 0));
}

/* The same through calls that libc no longer makes. */
static struct result w_link_fchmodat(const struct stage *s)
{
	(void)s;
	return got("fchmodat", syscall(SYS_fchmodat, AT_FDCWD, "link", 0600));
}
static struct result w_linkdir_symlinkat(const struct stage *s)
{
	(void)s;
	return got("symlinkat", syscall(SYS_symlinkat, "x", AT_FDCWD, "linkdir/soft-at"));
}
static struct result w_linkdir_mknod(const struct stage *s)
{
	(void)s;
	return got("mknodat of a file", syscall(SYS_mknodat, AT_FDCWD, "linkdir/node", S_IFREG | 0600, 0));
}
#ifdef SYS_utime /* not on newer machines */
static struct result w_link_old_utime(const struct stage *s)
{
	const long times[2] = { 1, 1 };

	(void)s;
	return got("utime", syscall(SYS_utime, "link", times));
}
static struct result w_link_old_utimes(const struct stage *s)
{
	const struct timeval times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	(void)s;
	return got("utimes", syscall(SYS_utimes, "link", times));
}
static struct result w_link_old_futimesat(const struct stage *s)
{
	const struct timeval times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	(void)s;
	return got("futimesat", syscall(SYS_futimesat, AT_FDCWD, "link", times));
}
static struct result w_linkdir_old_mknod(const struct stage *s)
{
	(void)s;
	return got("mknod of a file", syscall(SYS_mknod, "linkdir/old-node", S_IFREG | 0600, 0));
}
#endif

/* By a descriptor without rights. */
static struct result w_opath_chmod(const struct stage *s)
{
	char path[64];
	int fd = open(in(s, "outside/victim.txt"), O_PATH);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return got("chmod of /proc/self/fd", chmod(path, 0600));
}

static struct result w_opath_chmodat2(const struct stage *s)
{
	int fd = open(in(s, "outside/victim.txt"), O_PATH);

	return got("fchmodat2 of a descriptor", syscall(452, fd, "", 0600, AT_EMPTY_PATH));
}

static struct result w_opath_link(const struct stage *s)
{
	int fd = open(in(s, "outside/secret.txt"), O_PATH);

	if (linkat(fd, "", AT_FDCWD, "hard", AT_EMPTY_PATH) < 0)
		return no("linkat of a descriptor");
	return read_secret("linkat of a descriptor", open("hard", O_RDONLY));
}

/* A directory that we hold open moves below another; its ".." is then elsewhere. */
static struct result w_dir_move(const struct stage *s)
{
	int fd = open("sub/deep", O_RDONLY | O_DIRECTORY);

	(void)s;
	if (fd < 0 || rename("sub/deep", "deep") < 0)
		return no("move");
	return read_secret(".. of a moved directory", openat(fd, "../../outside/secret.txt", O_RDONLY));
}

static struct result w_suid(const struct stage *s)
{
	struct stat st;

	(void)s;
	if (chmod("data.txt", 04755) < 0 || stat("data.txt", &st) < 0)
		return no("chmod 04755");
	errno = 0;
	return st.st_mode & 04000 ? yes("chmod 04755") : no("chmod 04755");
}

static struct result w_suid_create(const struct stage *s)
{
	struct stat st;
	int fd = open("suid", O_CREAT | O_WRONLY, 06755);

	(void)s;
	if (fd < 0 || fstat(fd, &st) < 0)
		return no("create 06755");
	errno = 0;
	return st.st_mode & 06000 ? yes("create 06755") : no("create 06755");
}

static struct result w_mknod(const struct stage *s)
{
	(void)s;
	return got("mknod of a device", mknod("dev", S_IFCHR | 0666, makedev(1, 3)));
}

static struct result plant(const char *path)
{
	return got(path, open(path, O_CREAT | O_WRONLY, 0755));
}

static struct result w_githook(const struct stage *s)
{
	(void)s;
	return plant(".git/hooks/post-checkout");
}
static struct result w_gitconfig(const struct stage *s)
{
	(void)s;
	return got(".git/config", open(".git/config", O_WRONLY | O_APPEND));
}
static struct result w_githook_move(const struct stage *s)
{
	(void)s;
	return got("rename .git/hooks", rename(".git/hooks", "hooks"));
}

/* The way round: exchange the directory above. */
static struct result w_git_move(const struct stage *s)
{
	(void)s;
	if (rename(".git", "git.old") < 0)
		return no("rename .git");
	return plant("git.old/hooks/post-checkout");
}

static struct result w_githook_link(const struct stage *s)
{
	(void)s;
	if (symlink(".git/hooks", "h") < 0)
		return no("symlink");
	return plant("h/post-checkout");
}

static struct result w_githook_rename(const struct stage *s)
{
	(void)s;
	return got("rename into .git/hooks", rename("data.txt", ".git/hooks/post-checkout"));
}

static struct result w_fillfile(const struct stage *s)
{
	int fd = open("big", O_CREAT | O_RDWR, 0644);

	(void)s;
	signal(SIGXFSZ, SIG_IGN);
	return got("a byte behind the limit", fd < 0 ? -1 : pwrite(fd, "x", 1, 64 << 20)); /* runner: 16 MiB */
}

#define W "write"
const struct attempt grant_attempts[] = {
	{ "w_hardlink_in", "read", 39, 'D', 0, 0, NEEDS_WRITE, w_hardlink_in },
	{ "w_hardlink_fd", "read", 39, 'D', 0, 0, NEEDS_WRITE, w_hardlink_fd },
	{ "w_hardlink_out", W, 39, 'D', 0, 0, NEEDS_WRITE, w_hardlink_out },
	{ "w_rename_in", "read", 40, 'D', 0, 0, NEEDS_WRITE, w_rename_in },
	{ "w_rename_out", W, 40, 'D', 0, 0, NEEDS_WRITE, w_rename_out },
	{ "w_rename_xchg", W, 40, 'D', 0, 0, NEEDS_WRITE, w_rename_xchg },
	{ "w_symlink_write", W, 41, 'D', 0, 0, NEEDS_WRITE, w_symlink_write },
	{ "w_symlink_create", W, 41, 'D', 0, 0, NEEDS_WRITE, w_symlink_create },
	{ "w_symlink_read", "read", 41, 'D', 0, 0, NEEDS_WRITE, w_symlink_read },
	{ "w_dir_swap", "read", 41, 'D', 0, 0, NEEDS_WRITE, w_dir_swap },
	{ "w_linkdir_create", W, 41, 'D', 0, 0, NEEDS_WRITE, w_linkdir_create },
	{ "w_linkdir_mkdir", W, 41, 'D', 0, 0, NEEDS_WRITE, w_linkdir_mkdir },
	{ "w_linkdir_unlink", W, 41, 'D', 0, 0, NEEDS_WRITE, w_linkdir_unlink },
	{ "w_linkdir_symlink", W, 41, 'D', 0, 0, NEEDS_WRITE, w_linkdir_symlink },
	{ "w_linkdir_rename", W, 40, 'D', 0, 0, NEEDS_WRITE, w_linkdir_rename },
	{ "w_link_chmod", W, 41, 'D', 0, 0, NEEDS_WRITE, w_link_chmod },
	{ "w_link_truncate", W, 41, 'D', 0, 0, NEEDS_WRITE, w_link_truncate },
	{ "w_link_utimes", W, 41, 'D', 0, 0, NEEDS_WRITE, w_link_utimes },
	{ "w_link_fchmodat", W, 41, 'D', 0, 0, NEEDS_WRITE, w_link_fchmodat },
	{ "w_linkdir_symlinkat", W, 41, 'D', 0, 0, NEEDS_WRITE, w_linkdir_symlinkat },
	{ "w_linkdir_mknod", W, 41, 'D', 0, 0, NEEDS_WRITE, w_linkdir_mknod },
#ifdef SYS_utime
	{ "w_link_old_utime", W, 41, 'D', 0, 0, NEEDS_WRITE, w_link_old_utime },
	{ "w_link_old_utimes", W, 41, 'D', 0, 0, NEEDS_WRITE, w_link_old_utimes },
	{ "w_link_old_futimesat", W, 41, 'D', 0, 0, NEEDS_WRITE, w_link_old_futimesat },
	{ "w_linkdir_old_mknod", W, 41, 'D', 0, 0, NEEDS_WRITE, w_linkdir_old_mknod },
#endif
	{ "w_opath_chmod", W, 35, 'D', 0, 0, NEEDS_WRITE, w_opath_chmod },
	{ "w_opath_chmodat2", W, 35, 'D', 0, 0, NEEDS_WRITE, w_opath_chmodat2 },
	{ "w_opath_link", "read", 39, 'E', 0, 0, NEEDS_WRITE, w_opath_link },
	{ "w_dir_move", "read", 41, 'D', 0, 0, NEEDS_WRITE, w_dir_move },
	{ "w_suid", W, 42, 'B', 0, 0, NEEDS_WRITE, w_suid },
	{ "w_suid_create", W, 42, 'B', 0, 0, NEEDS_WRITE, w_suid_create },
	{ "w_mknod", W, 0, 'E', 0, 0, NEEDS_WRITE, w_mknod },
	{ "w_githook", W, 42, 'D', 0, 0, NEEDS_WRITE, w_githook },
	{ "w_gitconfig", W, 42, 'D', 0, 0, NEEDS_WRITE, w_gitconfig },
	{ "w_githook_move", W, 42, 'D', 0, 0, NEEDS_WRITE, w_githook_move },
	{ "w_git_move", W, 42, 'D', 0, 0, NEEDS_WRITE, w_git_move },
	{ "w_githook_link", W, 42, 'D', 0, 0, NEEDS_WRITE, w_githook_link },
	{ "w_githook_rename", W, 42, 'D', 0, 0, NEEDS_WRITE, w_githook_rename },
	{ "w_fillfile", W, 42, 'B', 0, 0, NEEDS_WRITE, w_fillfile },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
