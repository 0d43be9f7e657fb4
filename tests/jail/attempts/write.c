/* SPDX-License-Identifier: Apache-2.0 */
/* Writes without a grant: in the workspace, a declared path, the plugin's own directory and anywhere else. */
#include "attempt.h"

#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

static struct result put(const char *how, int fd)
{
	return got(how, fd < 0 ? -1 : write(fd, "x", 1));
}

static struct result ws_create(const struct stage *s)
{
	(void)s;
	return put("create", open("new", O_CREAT | O_WRONLY, 0644));
}
static struct result ws_creat_old(const struct stage *s)
{
	(void)s;
	return put("creat", creat("new", 0644));
}
static struct result ws_excl(const struct stage *s)
{
	(void)s;
	return put("O_EXCL", open("new", O_CREAT | O_EXCL | O_RDWR, 0600));
}
static struct result ws_append(const struct stage *s)
{
	(void)s;
	return put("append", open("data.txt", O_WRONLY | O_APPEND));
}
static struct result ws_rdwr(const struct stage *s)
{
	(void)s;
	return put("rdwr", open("data.txt", O_RDWR));
}
static struct result ws_otrunc(const struct stage *s)
{
	(void)s;
	return got("O_RDONLY|O_TRUNC", open("data.txt", O_RDONLY | O_TRUNC));
}
static struct result ws_truncate(const struct stage *s)
{
	(void)s;
	return got("truncate", truncate("data.txt", 0));
}
static struct result ws_unlink(const struct stage *s)
{
	(void)s;
	return got("unlink", unlink("data.txt"));
}
static struct result ws_rename(const struct stage *s)
{
	(void)s;
	return got("rename", rename("data.txt", "other.txt"));
}
static struct result ws_mkdir(const struct stage *s)
{
	(void)s;
	return got("mkdir", mkdir("newdir", 0755));
}
static struct result ws_rmdir(const struct stage *s)
{
	(void)s;
	return got("rmdir", rmdir("empty"));
}
static struct result ws_link(const struct stage *s)
{
	(void)s;
	return got("link", link("data.txt", "hard"));
}
static struct result ws_symlink(const struct stage *s)
{
	(void)s;
	return got("symlink", symlink("data.txt", "soft"));
}
static struct result ws_mkfifo(const struct stage *s)
{
	(void)s;
	return got("mkfifo", mkfifo("fifo", 0644));
}
static struct result ws_chmod(const struct stage *s)
{
	(void)s;
	return got("chmod", chmod("data.txt", 0600));
}
static struct result ws_tmpfile(const struct stage *s)
{
	(void)s;
	return put("O_TMPFILE", open(".", O_TMPFILE | O_RDWR, 0600));
}

/* A file without a name may be had; a name outside must not. */
static struct result out_tmpfile(const struct stage *s)
{
	char from[64];
	int fd = open("/tmp", O_TMPFILE | O_RDWR, 0600);

	if (fd < 0)
		return no("O_TMPFILE in /tmp");
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	return got("a name for it", linkat(AT_FDCWD, from, AT_FDCWD, in(s, "outside/made"), AT_SYMLINK_FOLLOW));
}

static struct result ws_fchmod_ro(const struct stage *s)
{
	int fd = open("data.txt", O_RDONLY);

	(void)s;
	return got("fchmod of a read-only descriptor", fd < 0 ? -1 : fchmod(fd, 0600));
}

static struct result ws_utimes(const struct stage *s)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	(void)s;
	return got("utimensat", utimensat(AT_FDCWD, "data.txt", times, 0));
}

static struct result ws_futimens(const struct stage *s)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	int fd = open("data.txt", O_RDONLY);

	(void)s;
	return got("futimens", fd < 0 ? -1 : futimens(fd, times));
}

static struct result ws_chown(const struct stage *s)
{
	(void)s;
	return got("chown", chown("data.txt", getuid() ? 0 : 1, (gid_t)-1));
}

static struct result ws_setxattr(const struct stage *s)
{
	(void)s;
	return got("setxattr", setxattr("data.txt", "user.mortise", "x", 1, 0));
}

static struct result reopen_writable(const char *where, int fd)
{
	char path[64];

	if (fd < 0)
		return no(where);
	snprintf(path, sizeof(path), "%s/%d", where, fd);
	return put(where, open(path, O_RDWR));
}

static struct result ws_reopen_rw(const struct stage *s)
{
	(void)s;
	return reopen_writable("/proc/self/fd", open("data.txt", O_RDONLY));
}

static struct result ws_reopen_opath(const struct stage *s)
{
	(void)s;
	return reopen_writable("/dev/fd", open("data.txt", O_PATH));
}

static struct result decl_write(const struct stage *s)
{
	return put("declared file", open(in(s, "declared/file.txt"), O_WRONLY));
}

static struct result decl_create(const struct stage *s)
{
	return put("file beside a declared one", open(in(s, "declared/new"), O_CREAT | O_WRONLY, 0644));
}

/* A link in a declared directory declares nothing. */
static struct result decl_link(const struct stage *s)
{
	return read_secret("link in a declared directory", open(in(s, "declared/link"), O_RDONLY));
}

/* Attributes and leases need no right to write on the descriptor. */
static struct result ws_setflags(const struct stage *s)
{
	int fd = open("data.txt", O_RDONLY), flags = 0;

	(void)s;
	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0)
		return no("FS_IOC_GETFLAGS");
	flags |= FS_NODUMP_FL;
	return got("FS_IOC_SETFLAGS", ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

static struct result ws_lease(const struct stage *s)
{
	int fd = open("data.txt", O_RDONLY);

	(void)s;
	return got("F_SETLEASE", fd < 0 ? -1 : fcntl(fd, F_SETLEASE, F_RDLCK));
}

static struct result decl_unlink(const struct stage *s)
{
	return got("unlink", unlink(in(s, "declared/file.txt")));
}

static struct result decl_fchmod(const struct stage *s)
{
	int fd = open(in(s, "declared/file.txt"), O_RDONLY);

	return got("fchmod", fd < 0 ? -1 : fchmod(fd, 0666));
}

/* The plugin's own program, for the next start. */
static struct result plugin_write(const struct stage *s)
{
	return put("plugin directory", open(in(s, "plugin/settings.json"), O_WRONLY));
}

static struct result plugin_create(const struct stage *s)
{
	return put("plugin directory", open(in(s, "plugin/sitecustomize.py"), O_CREAT | O_WRONLY, 0644));
}

static struct result out_create(const struct stage *s)
{
	return put("outside", open(in(s, "outside/new"), O_CREAT | O_WRONLY, 0644));
}

static struct result out_write(const struct stage *s)
{
	return put("outside", open(in(s, "outside/victim.txt"), O_WRONLY));
}

static struct result out_tmp(const struct stage *s)
{
	char path[64];
	struct result r;

	snprintf(path, sizeof(path), "/tmp/mortise-attempt-%d", s->host);
	r = put("/tmp", open(path, O_CREAT | O_WRONLY | O_EXCL, 0600));
	if (r.escaped)
		(void)!unlink(path);
	return r;
}

static struct result out_chmod(const struct stage *s)
{
	return got("chmod", chmod(in(s, "outside/victim.txt"), 0600));
}
static struct result out_unlink(const struct stage *s)
{
	return got("unlink", unlink(in(s, "outside/victim.txt")));
}
static struct result out_truncate(const struct stage *s)
{
	return got("truncate", truncate(in(s, "outside/victim.txt"), 0));
}
static struct result out_mkdir(const struct stage *s)
{
	return got("mkdir", mkdir(in(s, "outside/dir"), 0755));
}

static struct result out_utimes(const struct stage *s)
{
	const struct timespec times[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	return got("utimensat", utimensat(AT_FDCWD, in(s, "outside/victim.txt"), times, 0));
}

static struct result devshm_host(const struct stage *s)
{
	return put("/dev/shm", open(s->shm, O_RDWR));
}

/* What is made in one's own /dev/shm stays there; the stage looks whether it is the machine's. */
static struct result only_told_by_stage(const char *how, int fd)
{
	if (fd >= 0)
		(void)!write(fd, "x", 1);
	return no(how);
}
static struct result devshm_new(const struct stage *s)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s-new", s->shm);
	return only_told_by_stage("/dev/shm", open(path, O_CREAT | O_RDWR, 0600));
}
static struct result devshm_dotdot(const struct stage *s)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "/dev/../%s-dots", s->shm);
	return only_told_by_stage("/dev/../dev/shm", open(path, O_CREAT | O_RDWR, 0600));
}
static struct result devshm_unlink(const struct stage *s)
{
	return got("unlink in /dev/shm", unlink(s->shm));
}
static struct result devshm_link(const struct stage *s)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s-link", s->shm);
	return got("a second name in /dev/shm", link(s->shm, path));
}

static const volatile char constant[16] = "constant";

static struct result self_task_mem(const struct stage *s)
{
	char path[64];

	(void)s;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", getpid(), getpid());
	return got("mem by numbers", open(path, O_RDWR));
}

/* A write through /proc/self/mem ignores page protection: it is how a program patches what was checked. */
static struct result self_mem(const struct stage *s)
{
	int fd = open("/proc/self/mem", O_RDWR);

	(void)s;
	if (fd < 0 || pwrite(fd, "K", 1, (off_t)(uintptr_t)constant) != 1)
		return no("/proc/self/mem");
	return constant[0] == 'K' ? yes("/proc/self/mem") : no("/proc/self/mem");
}

/* Opened for writing, never written: a real write would change the machine. */
static struct result open_for_write(const char *path)
{
	return got(path, open(path, O_WRONLY));
}
static struct result core_pattern(const struct stage *s)
{
	(void)s;
	return open_for_write("/proc/sys/kernel/core_pattern");
}
static struct result sysrq(const struct stage *s)
{
	(void)s;
	return open_for_write("/proc/sysrq-trigger");
}
static struct result oom_adj(const struct stage *s)
{
	(void)s;
	return open_for_write("/proc/self/oom_score_adj");
}
static struct result uid_map(const struct stage *s)
{
	(void)s;
	return open_for_write("/proc/self/uid_map");
}

static struct result cgroup_procs(const struct stage *s)
{
	static const char *const places[] = {
		"/sys/fs/cgroup/cgroup.procs",
		"/sys/fs/cgroup/unified/cgroup.procs",
		"/sys/fs/cgroup/pids/cgroup.procs",
	};
	struct result r = no("cgroup.procs");

	(void)s;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]) && !r.escaped; i++)
		r = open_for_write(places[i]);
	return r;
}

#define W "write"
const struct attempt write_attempts[] = {
	{ "ws_create", W, 28, 'D', 0, 0, 0, ws_create },
	{ "ws_creat_old", W, 28, 'D', 0, 0, 0, ws_creat_old },
	{ "ws_excl", W, 28, 'D', 0, 0, 0, ws_excl },
	{ "ws_append", W, 28, 'D', 0, 0, 0, ws_append },
	{ "ws_rdwr", W, 28, 'D', 0, 0, 0, ws_rdwr },
	{ "ws_otrunc", W, 29, 'D', 0, 0, 0, ws_otrunc },
	{ "ws_truncate", W, 29, 'D', 0, 0, 0, ws_truncate },
	{ "ws_unlink", W, 30, 'D', 0, 0, 0, ws_unlink },
	{ "ws_rename", W, 30, 'D', 0, 0, 0, ws_rename },
	{ "ws_mkdir", W, 30, 'D', 0, 0, 0, ws_mkdir },
	{ "ws_rmdir", W, 30, 'D', 0, 0, 0, ws_rmdir },
	{ "ws_link", W, 30, 'D', 0, 0, 0, ws_link },
	{ "ws_symlink", W, 30, 'D', 0, 0, 0, ws_symlink },
	{ "ws_mkfifo", W, 30, 'D', 0, 0, 0, ws_mkfifo },
	{ "ws_tmpfile", W, 31, 'D', 0, 0, 0, ws_tmpfile },
	{ "out_tmpfile", W, 31, 'E', 0, 0, 0, out_tmpfile },
	{ "ws_chmod", W, 32, 'D', 0, 0, 0, ws_chmod },
	{ "ws_fchmod_ro", W, 32, 'D', 0, 0, 0, ws_fchmod_ro },
	{ "ws_utimes", W, 32, 'D', 0, 0, 0, ws_utimes },
	{ "ws_futimens", W, 32, 'D', 0, 0, 0, ws_futimens },
	{ "ws_chown", W, 0, 'B', 0, 0, 0, ws_chown },
	{ "ws_setxattr", W, 0, 'B', 0, 0, 0, ws_setxattr },
	{ "ws_setflags", W, 0, 'B', 0, 0, 0, ws_setflags },
	{ "ws_lease", W, 0, 'B', 0, 0, 0, ws_lease },
	{ "ws_reopen_rw", W, 33, 'D', 0, 0, 0, ws_reopen_rw },
	{ "ws_reopen_opath", W, 33, 'D', 0, 0, 0, ws_reopen_opath },
	{ "decl_write", W, 34, 'D', 0, 0, 0, decl_write },
	{ "decl_create", W, 34, 'D', 0, 0, 0, decl_create },
	{ "decl_link", "read", 34, 'D', 0, 0, 0, decl_link },
	{ "decl_unlink", W, 34, 'D', 0, 0, 0, decl_unlink },
	{ "decl_fchmod", W, 34, 'D', 0, 0, 0, decl_fchmod },
	{ "plugin_write", W, 0, 'D', 0, 0, 0, plugin_write },
	{ "plugin_create", W, 0, 'D', 0, 0, 0, plugin_create },
	{ "out_create", W, 35, 'D', 0, 0, 0, out_create },
	{ "out_write", W, 35, 'D', 0, 0, 0, out_write },
	{ "out_tmp", W, 35, 'D', 0, 0, 0, out_tmp },
	{ "out_chmod", W, 35, 'D', 0, 0, 0, out_chmod },
	{ "out_unlink", W, 35, 'D', 0, 0, 0, out_unlink },
	{ "out_truncate", W, 35, 'D', 0, 0, 0, out_truncate },
	{ "out_mkdir", W, 35, 'D', 0, 0, 0, out_mkdir },
	{ "out_utimes", W, 35, 'D', 0, 0, 0, out_utimes },
	{ "devshm_host", W, 36, 'B', 0, 0, 0, devshm_host },
	{ "devshm_new", W, 36, 'B', 0, 0, 0, devshm_new },
	{ "devshm_dotdot", W, 36, 'E', 0, 0, 0, devshm_dotdot },
	{ "devshm_unlink", W, 36, 'B', 0, 0, 0, devshm_unlink },
	{ "devshm_link", W, 36, 'B', 0, 0, 0, devshm_link },
	{ "self_mem", W, 37, 'D', 0, 0, 0, self_mem },
	{ "self_task_mem", W, 37, 'D', 0, 0, 0, self_task_mem },
	{ "core_pattern", W, 38, 'D', 0, 0, 0, core_pattern },
	{ "cgroup_procs", W, 38, 'D', 0, 0, 0, cgroup_procs },
	{ "oom_adj", W, 38, 'D', 0, 0, 0, oom_adj },
	{ "sysrq", W, 0, 'E', 0, 0, 0, sysrq },
	{ "uid_map", W, 0, 'D', 0, 0, 0, uid_map },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
