/* SPDX-License-Identifier: Apache-2.0 */
/* Content outside the workspace, by name. */
#include "attempt.h"

#include <dirent.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>

static struct result read_abs(const struct stage *s)
{
	return read_secret("open", open(in(s, "outside/secret.txt"), O_RDONLY));
}

static struct result read_dotdot(const struct stage *s)
{
	(void)s;
	return read_secret("open ..", open("../outside/secret.txt", O_RDONLY));
}

static struct result read_symlink(const struct stage *s)
{
	(void)s;
	return read_secret("planted link", open("link", O_RDONLY));
}

static struct result read_symlink_dir(const struct stage *s)
{
	(void)s;
	return read_secret("planted directory link", open("linkdir/secret.txt", O_RDONLY));
}

static struct result read_magic_link(const struct stage *s)
{
	(void)s;
	return read_secret("planted link through /proc/self/root", open("magic", O_RDONLY));
}

static struct result read_below(const struct stage *s, const char *prefix)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s%s", prefix, in(s, "outside/secret.txt"));
	return read_secret(prefix, open(path, O_RDONLY));
}

static struct result read_proc_root(const struct stage *s)
{
	return read_below(s, "/proc/self/root");
}
static struct result read_thread_root(const struct stage *s)
{
	return read_below(s, "/proc/thread-self/root");
}
static struct result read_slashes(const struct stage *s)
{
	return read_below(s, "//./usr/..//");
}

static struct result read_task_root(const struct stage *s)
{
	char prefix[64];

	snprintf(prefix, sizeof(prefix), "/proc/%d/task/%d/root", getpid(), getpid());
	return read_below(s, prefix);
}

static struct result read_proc_cwd(const struct stage *s)
{
	(void)s;
	return read_secret("/proc/self/cwd/..", open("/proc/self/cwd/../outside/secret.txt", O_RDONLY));
}

static struct result reopen(const struct stage *s, const char *where)
{
	char path[64];
	int fd = open(in(s, "outside/secret.txt"), O_PATH);

	if (fd < 0)
		return no("O_PATH");
	snprintf(path, sizeof(path), "%s/%d", where, fd);
	return read_secret(where, open(path, O_RDONLY));
}

static struct result read_opath(const struct stage *s)
{
	return reopen(s, "/proc/self/fd");
}
static struct result read_opath_devfd(const struct stage *s)
{
	return reopen(s, "/dev/fd");
}
static struct result read_opath_thread(const struct stage *s)
{
	return reopen(s, "/proc/thread-self/fd");
}

static struct result read_dirfd(const struct stage *s)
{
	int root = open("/", O_PATH | O_DIRECTORY);

	if (root < 0)
		return no("O_PATH /");
	return read_secret("openat from O_PATH /", openat(root, in(s, "outside/secret.txt") + 1, O_RDONLY));
}

static struct result read_wsfd(const struct stage *s)
{
	int ws = open(".", O_RDONLY | O_DIRECTORY);

	(void)s;
	if (ws < 0)
		return no("open .");
	return read_secret("openat .. from a directory", openat(ws, "../outside/secret.txt", O_RDONLY));
}

/* A magic link in the middle of a name. */
static struct result read_fd_middle(const struct stage *s)
{
	char path[64];
	int fd = open(in(s, "outside"), O_PATH | O_DIRECTORY);

	if (fd < 0)
		return no("O_PATH");
	snprintf(path, sizeof(path), "/proc/self/fd/%d/secret.txt", fd);
	return read_secret("below /proc/self/fd", open(path, O_RDONLY));
}

/* The working directory behind a descriptor: the guardian must look up the caller's, not its own. */
static struct result read_fchdir(const struct stage *s)
{
	int fd = open(in(s, "outside"), O_PATH | O_DIRECTORY);

	if (fd < 0 || fchdir(fd) < 0)
		return no("fchdir");
	return read_secret("open after fchdir", open("./secret.txt", O_RDONLY));
}

static struct result openat2_with(const struct stage *s, uint64_t flags)
{
	struct open_how how = { .flags = flags };
	long fd = syscall(SYS_openat2, AT_FDCWD, in(s, "outside/secret.txt"), &how, sizeof(how));
	char path[64];

	if (fd < 0 || !(flags & O_PATH))
		return read_secret("openat2", (int)fd);
	snprintf(path, sizeof(path), "/proc/self/fd/%ld", fd);
	return read_secret("openat2 O_PATH, then /proc/self/fd", open(path, O_RDONLY));
}

static struct result read_openat2(const struct stage *s)
{
	return openat2_with(s, O_RDONLY);
}
static struct result read_openat2_opath(const struct stage *s)
{
	return openat2_with(s, O_PATH);
}

static struct result read_open_old(const struct stage *s)
{
#ifdef SYS_open
	return read_secret("old open", (int)syscall(SYS_open, in(s, "outside/secret.txt"), O_RDONLY));
#else
	return read_abs(s);
#endif
}

static struct result read_chdir(const struct stage *s)
{
	if (chdir(in(s, "outside")) < 0)
		return no("chdir");
	return read_secret("open after chdir", open("secret.txt", O_RDONLY));
}

static struct result read_mmap(const struct stage *s)
{
	int fd = open(in(s, "outside/secret.txt"), O_RDONLY);
	char *p = fd < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_PRIVATE, fd, 0);

	if (p == MAP_FAILED)
		return no("mmap");
	return memcmp(p, SECRET, strlen(SECRET)) == 0 ? yes("mmap") : no("mmap");
}

/* A path as long as a path may be: a broker that copies less of it than the kernel judges another file. */
static struct result read_long(const struct stage *s)
{
	char path[4096] = "/";
	const char *rest = in(s, "outside/secret.txt");
	size_t room = sizeof(path) - strlen(rest) - 8, at = 1;

	for (; at + 2 < room; at += 2)
		memcpy(path + at, "./", 2);
	snprintf(path + at, sizeof(path) - at, "%s", rest + 1);
	return read_secret("path of nearly 4096 bytes", open(path, O_RDONLY));
}

static struct result any_content(const char *how, const char *path)
{
	char buf[512];
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));

	return n > 0 ? yes(how) : no(how);
}

/* The file that is shown has root, the user and nobody. Anybody else comes from the machine's own. */
static struct result strangers(const char *how, int fd)
{
	unsigned id;
	char line[512];
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	bool seen = false;

	if (!file)
		return no(how);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "%*[^:]:%*[^:]:%u", &id) == 1)
			seen = seen || (id != 0 && id != 65534 && id != getuid() && id != getgid());
	fclose(file);
	errno = 0;
	return seen ? yes(how) : no(how);
}

static struct result read_passwd(const struct stage *s)
{
	(void)s;
	return strangers("passwd", open("/etc/passwd", O_RDONLY));
}
static struct result read_group(const struct stage *s)
{
	(void)s;
	return strangers("group", open("/etc/../etc/./group", O_RDONLY));
}
static struct result read_passwd_chdir(const struct stage *s)
{
	(void)s;
	return chdir("/etc") < 0 ? no("chdir") : strangers("passwd, relative", open("passwd", O_RDONLY));
}
static struct result read_passwd_opath(const struct stage *s)
{
	char name[64];
	int fd = open("/etc/passwd", O_PATH);

	(void)s;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	return fd < 0 ? no("O_PATH") : strangers("passwd, opened again", open(name, O_RDONLY));
}
static struct result read_passwd_symlink(const struct stage *s)
{
	(void)s;
	if (symlink("/etc/passwd", "who") < 0)
		return no("symlink");
	return strangers("passwd by a link", open("who", O_RDONLY));
}
static struct result read_shadow(const struct stage *s)
{
	(void)s;
	return any_content("shadow", "/etc/shadow");
}
static struct result read_kmsg(const struct stage *s)
{
	(void)s;
	return any_content("kmsg", "/dev/kmsg");
}
static struct result read_kallsyms(const struct stage *s)
{
	(void)s;
	return any_content("kallsyms", "/proc/kallsyms");
}
static struct result read_usr_share(const struct stage *s)
{
	(void)s;
	return any_content("an installed file that is no runtime", "/usr/share/common-licenses/GPL-3");
}

static struct result list(const char *how, const char *path, const char *needle)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	bool seen = false;

	if (!dir)
		return no(how);
	while ((e = readdir(dir)))
		seen = seen || !strcmp(e->d_name, needle);
	closedir(dir);
	errno = 0;
	return seen ? yes(how) : no(how);
}

static struct result list_dir(const struct stage *s)
{
	return list("readdir", in(s, "outside"), "secret.txt");
}
static struct result list_parent(const struct stage *s)
{
	(void)s;
	return list("readdir ..", "..", "outside");
}
static struct result list_root(const struct stage *s)
{
	(void)s;
	return list("readdir /", "/", "boot");
}

static struct result list_opath(const struct stage *s)
{
	char buf[4096];
	int fd = open(in(s, "outside"), O_PATH | O_DIRECTORY);
	int dir = fd < 0 ? -1 : openat(fd, ".", O_RDONLY | O_DIRECTORY);
	long n = dir < 0 ? -1 : syscall(SYS_getdents64, dir, buf, sizeof(buf));

	return n > 0 && contains(buf, (size_t)n, "secret.txt") ? yes("getdents") : no("getdents");
}

/* Anything the host left open. */
static struct result inherited_fd(const struct stage *s)
{
	char buf[256];

	(void)s;
	for (int fd = 3; fd < 1024; fd++) {
		ssize_t n = pread(fd, buf, sizeof(buf), 0);

		if (n > 0 && contains(buf, (size_t)n, SECRET))
			return yes("pread");
	}
	return no("pread");
}

static struct result env_secret(const struct stage *s)
{
	(void)s;
	return getenv("MORTISE_TEST_TOKEN") ? yes("getenv") : no("getenv");
}

static struct result fhandle(const struct stage *s)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = { .h.handle_bytes = MAX_HANDLE_SZ };
	int mount, at = open(".", O_RDONLY | O_DIRECTORY);

	if (name_to_handle_at(AT_FDCWD, in(s, "outside/secret.txt"), &u.h, &mount, 0) < 0)
		return no("name_to_handle_at");
	return read_secret("open_by_handle_at", open_by_handle_at(at, &u.h, O_RDONLY));
}

static struct result inotify_out(const struct stage *s)
{
	int fd = inotify_init1(IN_CLOEXEC);

	return fd < 0 ? no("inotify_init1") :
			got("inotify_add_watch", inotify_add_watch(fd, in(s, "outside"), IN_ALL_EVENTS));
}

static struct result uring_open(const struct stage *s)
{
	const struct io_uring_sqe sqe = {
		.opcode = IORING_OP_OPENAT,
		.fd = AT_FDCWD,
		.addr = (uintptr_t)in(s, "outside/secret.txt"),
		.open_flags = O_RDONLY,
	};
	long fd = uring_one(&sqe);

	errno = fd < 0 ? (int)-fd : 0;
	return read_secret("IORING_OP_OPENAT", (int)fd);
}

static struct result int80_open(const struct stage *s)
{
	char *path = low_page();
	long fd;

	if (!path)
		return no("no page below 4 GiB");
	snprintf(path, 4096, "%s", in(s, "outside/secret.txt"));
	fd = int80(5, (long)path, O_RDONLY, 0);
	errno = fd < 0 ? (int)-fd : 0;
	return read_secret("int 0x80 open", (int)fd);
}

static struct result x32_open(const struct stage *s)
{
	return read_secret("x32 open", (int)syscall(0x40000000 + 2, in(s, "outside/secret.txt"), O_RDONLY));
}

const struct attempt read_attempts[] = {
	{ "read_abs", "read", 1, 'D', 0, 0, 0, read_abs },
	{ "read_slashes", "read", 1, 'D', 0, 0, 0, read_slashes },
	{ "read_open_old", "read", 1, 'D', 0, 0, 0, read_open_old },
	{ "read_long", "read", 1, 'D', 0, 0, 0, read_long },
	{ "read_mmap", "read", 1, 'D', 0, 0, 0, read_mmap },
	{ "read_dotdot", "read", 2, 'D', 0, 0, 0, read_dotdot },
	{ "read_symlink", "read", 3, 'D', 0, 0, 0, read_symlink },
	{ "read_symlink_dir", "read", 4, 'D', 0, 0, 0, read_symlink_dir },
	{ "read_magic_link", "read", 5, 'D', 0, 0, 0, read_magic_link },
	{ "read_proc_root", "read", 5, 'D', 0, 0, 0, read_proc_root },
	{ "read_thread_root", "read", 5, 'D', 0, 0, 0, read_thread_root },
	{ "read_task_root", "read", 5, 'D', 0, 0, 0, read_task_root },
	{ "read_proc_cwd", "read", 6, 'D', 0, 0, 0, read_proc_cwd },
	{ "read_opath", "read", 7, 'D', 0, 0, 0, read_opath },
	{ "read_opath_thread", "read", 7, 'D', 0, 0, 0, read_opath_thread },
	{ "read_opath_devfd", "read", 8, 'D', 0, 0, 0, read_opath_devfd },
	{ "read_dirfd", "read", 9, 'D', 0, 0, 0, read_dirfd },
	{ "read_wsfd", "read", 9, 'D', 0, 0, 0, read_wsfd },
	{ "read_openat2", "read", 10, 'D', 0, 0, 0, read_openat2 },
	{ "read_openat2_opath", "read", 10, 'B', 0, 0, 0, read_openat2_opath },
	{ "read_chdir", "read", 11, 'D', 0, 0, 0, read_chdir },
	{ "read_fchdir", "read", 11, 'D', 0, 0, 0, read_fchdir },
	{ "read_fd_middle", "read", 7, 'D', 0, 0, 0, read_fd_middle },
	{ "read_passwd", "read", 12, 'B', 0, 0, 0, read_passwd },
	{ "read_group", "read", 12, 'B', 0, 0, 0, read_group },
	{ "read_passwd_chdir", "read", 12, 'B', 0, 0, 0, read_passwd_chdir },
	{ "read_passwd_opath", "read", 12, 'B', 0, 0, 0, read_passwd_opath },
	{ "read_passwd_symlink", "read", 12, 'B', 0, 0, NEEDS_WRITE, read_passwd_symlink },
	{ "read_shadow", "read", 12, 'D', 0, 0, 0, read_shadow },
	{ "read_usr_share", "read", 0, 'D', 0, 'E', 0, read_usr_share },
	{ "list_dir", "read", 13, 'D', 0, 0, 0, list_dir },
	{ "list_parent", "read", 13, 'D', 0, 0, 0, list_parent },
	{ "list_opath", "read", 13, 'D', 0, 0, 0, list_opath },
	{ "list_root", "read", 13, 'D', 0, 0, 0, list_root },
	{ "inherited_fd", "read", 14, 'B', 0, 0, 0, inherited_fd },
	{ "env_secret", "read", 15, 'B', 0, 0, 0, env_secret },
	{ "read_kmsg", "read", 21, 'D', 0, 0, 0, read_kmsg },
	{ "read_kallsyms", "read", 21, 'D', 0, 0, 0, read_kallsyms },
	{ "fhandle", "read", 22, 'D', 0, 0, 0, fhandle },
	{ "inotify_out", "read", 23, 'B', 0, 0, 0, inotify_out },
	{ "uring_open", "read", 24, 'B', 0, 0, 0, uring_open },
	{ "int80_open", "read", 25, 'D', 0, 0, 0, int80_open },
	{ "x32_open", "read", 25, 'D', 0, 0, 0, x32_open },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
