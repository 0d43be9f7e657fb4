/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From names to handles. The kernel resolves a name in one step (openat2, no magic links). Only names that
 * end in /proc or pass a magic link are walked part by part (broker_walk.c). The result is a handle that no
 * later rename or link can change, and its canonical name is judged.
 */
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/fd.h"
#include "jail/broker.h"
#include "jail/direct.h"

const char *mor_handle_number(int fd, char text[16])
{
	char *at = text + 15;
	unsigned n = (unsigned)fd;

	*at = 0;
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	return at;
}

void mor_found_fini(struct mor_found *found)
{
	mor_fd_close(&found->fd);
	mor_fd_close(&found->parent);
}

bool mor_handle_in_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

pid_t mor_syscall_number(const struct mor_syscall *call)
{
	return call->broker->root >= 0 ? call->own : call->tgid;
}

void mor_name_own(const struct mor_syscall *call, char where[PATH_MAX])
{
	char own[32];
	size_t len = (size_t)snprintf(own, sizeof(own), "/proc/%d", (int)mor_syscall_number(call));

	if (strncmp(where, own, len) != 0 || (where[len] && where[len] != '/'))
		return;
	if (strlen(where) - len + sizeof("/proc/self") > PATH_MAX)
		return;
	memmove(where + strlen("/proc/self"), where + len, strlen(where + len) + 1);
	memcpy(where, "/proc/self", strlen("/proc/self"));
}

int mor_handle_raw(const struct mor_syscall *call, int fd, char where[PATH_MAX])
{
	char text[16];
	ssize_t len = readlinkat(call->broker->own_fds, mor_handle_number(fd, text), where, PATH_MAX - 1);

	if (len < 0)
		return -errno;
	if (len == PATH_MAX - 1)
		return -ENAMETOOLONG;
	where[len] = 0;
	return 0;
}

int mor_handle_name(const struct mor_syscall *call, int fd, char where[PATH_MAX])
{
	int status = mor_handle_raw(call, fd, where);

	if (status == 0 && strncmp(where, "/proc/", 6) == 0)
		mor_name_own(call, where);
	return status;
}

int mor_found_describe(const struct mor_syscall *call, struct mor_found *found)
{
	static const char gone[] = " (deleted)";
	int status = mor_handle_name(call, found->fd, found->where);
	size_t len;

	if (status < 0)
		return status;
	if (fstat(found->fd, &found->st) < 0)
		return -errno;
	len = strlen(found->where);
	if (found->st.st_nlink == 0 && len > sizeof(gone) &&
	    strcmp(found->where + len - sizeof(gone) + 1, gone) == 0)
		found->where[len - sizeof(gone) + 1] = 0;
	return 0;
}

static int find_fast(struct mor_syscall *call, int base, const char *path, unsigned flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | (flags & MOR_FIND_NOFOLLOW ? O_NOFOLLOW : 0),
		.resolve = RESOLVE_NO_MAGICLINKS | resolve,
	};
	long fd;

	if (call->broker->root >= 0 && path[0] == '/') {
		base = call->broker->root;
		how.resolve |= RESOLVE_IN_ROOT;
	}
	do
		fd = syscall(SYS_openat2, base, path, &how, sizeof(how));
	/* another process renamed something while a ".." was resolved */
	while (fd < 0 && errno == EAGAIN && !resolve);
	return fd < 0 ? -errno : (int)fd;
}

/* May the kernel's answer be about our own /proc/self instead of the caller's? */
static bool doubtful(const char *path, int status)
{
	if (status == -ELOOP)
		return true;
	return (status == -ENOENT || status == -EACCES) && (strstr(path, "proc") || strstr(path, "dev/"));
}

/* The start directory of a relative name, as one of our handles. */
static int open_base(struct mor_syscall *call, int dirfd)
{
	char what[24];
	int fd;

	if (dirfd == AT_FDCWD)
		return mor_syscall_proc(call, "cwd", O_PATH);
	snprintf(what, sizeof(what), "fd/%d", dirfd);
	fd = dirfd < 0 ? -EBADF : mor_syscall_proc(call, what, O_PATH);
	if (fd == -ENOENT)
		fd = -EBADF;
	if (fd >= 0 && !mor_syscall_alive(call)) {
		close(fd);
		return MOR_BROKER_SENT;
	}
	return fd;
}

/* Only devices without a number can be a /proc; the last one seen that is not a /proc is remembered. */
static bool of_proc(struct mor_syscall *call, int fd, const char *where, const struct stat *st)
{
	if (strncmp(where, "/proc", 5) == 0)
		return true;
	if (major(st->st_dev) || st->st_dev == call->broker->plain)
		return false;
	if (mor_handle_in_proc(fd))
		return true;
	call->broker->plain = st->st_dev;
	return false;
}

bool mor_handle_is_plain(struct mor_syscall *call, int fd, const char *where)
{
	struct stat st = { 0 }; /* the static analyzer does not see that the kernel writes to it */

	/* Not glibc's fstat(), which makes the kernel resolve an empty name. */
	return mor_direct(SYS_fstat, fd, (long)&st, 0, 0) == 0 && st.st_nlink && where[0] == '/' &&
	       (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)) && !of_proc(call, fd, where, &st);
}

int mor_find_open(struct mor_syscall *call, int dirfd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = { .flags = flags | O_CLOEXEC | O_NOCTTY,
				.resolve = RESOLVE_NO_MAGICLINKS | resolve };
	int base = AT_FDCWD, fd;

	if (call->broker->root >= 0) {
		if (path[0] != '/')
			return MOR_BROKER_UNDECIDED;
		how.resolve |= RESOLVE_IN_ROOT;
		fd = (int)mor_direct(SYS_openat2, call->broker->root, (long)path, (long)&how, sizeof(how));
		return fd < 0 ? MOR_BROKER_UNDECIDED : fd; /* missing there, it may exist here */
	}
	if (path[0] != '/') {
		if ((base = open_base(call, dirfd)) < 0)
			return MOR_BROKER_UNDECIDED;
	}
	fd = (int)mor_direct(SYS_openat2, base, (long)path, (long)&how, sizeof(how));
	if (base >= 0)
		close(base);
	if (fd == -ENOENT && !doubtful(path, fd))
		return fd;
	return fd < 0 ? MOR_BROKER_UNDECIDED : fd;
}

/* The directory of a rule as the plugin sees it; -1: none that stays the same. */
static int near_of(struct mor_syscall *call, struct mor_path_rule *rule)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int root = call->broker->root;

	if (rule->near == 0 && root >= 0)
		how.resolve |= RESOLVE_IN_ROOT;
	if (rule->near == 0)
		rule->near = rule->directory && rule->len && call->broker->steady ?
				     (int)syscall(SYS_openat2, root >= 0 ? root : AT_FDCWD, rule->path, &how,
						  sizeof(how)) :
				     -1;
	return rule->near;
}

int mor_find_open_under(struct mor_syscall *call, struct mor_path_rule *rule, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC | O_NOCTTY,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int near = rule && path[rule->len] ? near_of(call, rule) : -1, fd;

	if (near < 0)
		return mor_find_open(call, AT_FDCWD, path, flags, RESOLVE_NO_SYMLINKS);
	fd = (int)mor_direct(SYS_openat2, near, (long)(path + rule->len + 1), (long)&how, sizeof(how));
	if (fd == -ENOENT && call->broker->root < 0)
		return fd;
	return fd < 0 ? MOR_BROKER_UNDECIDED : fd;
}

bool mor_name_is_clean(const char *path)
{
	if (path[0] != '/')
		return false;
	for (; *path; path++)
		if (path[0] == '/' && (path[1] == '/' || path[1] == '.' || path[1] == 0))
			return false;
	return true;
}

static int find_thing(struct mor_syscall *call, int base, const char *path, unsigned flags, uint64_t resolve,
		      struct mor_found *found)
{
	int fd = find_fast(call, base, path, flags, resolve), status;

	if (fd < 0) {
		if (resolve || !doubtful(path, fd))
			return fd;
		return mor_walk(call, base, path, flags, found);
	}
	found->fd = fd;
	if ((status = mor_found_describe(call, found)) < 0)
		return status;
	if (!of_proc(call, fd, found->where, &found->st))
		return 0;
	mor_fd_close(&found->fd);
	return resolve ? -ENOSYS : mor_walk(call, base, path, flags, found);
}

/* Directory and last part. "." and ".." cannot be made or removed. */
static int find_parent(struct mor_syscall *call, int base, char *path, struct mor_found *found)
{
	size_t len = strlen(path);
	char *name;
	int status;

	while (len > 1 && path[len - 1] == '/') {
		path[--len] = 0;
		found->slash = true;
	}
	name = strrchr(path, '/');
	name = name ? name + 1 : path;
	len = strlen(name);
	if (len == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EINVAL;
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(found->name, name, len + 1);
	if (name == path)
		name[0] = '.', name[1] = 0;
	else
		*name = 0;
	if ((status = find_thing(call, base, path, 0, 0, found)) < 0)
		return status;
	found->parent = found->fd;
	found->fd = -1;
	if (!S_ISDIR(found->st.st_mode))
		return -ENOTDIR;
	if (strlen(found->where) + len + 2 > PATH_MAX)
		return -ENAMETOOLONG;
	if (strcmp(found->where, "/") != 0)
		memcpy(found->where + strlen(found->where), "/", 2);
	memcpy(found->where + strlen(found->where), found->name, len + 1);
	return 0;
}

int mor_find_from(struct mor_syscall *call, int base, const char *path, unsigned flags, uint64_t resolve,
		  struct mor_found *found)
{
	char text[PATH_MAX];
	int status;

	found->fd = found->parent = found->own_fd = -1;
	found->slash = false;
	if (!*path)
		return -ENOENT;
	if (flags & MOR_FIND_PARENT) {
		memcpy(text, path, strlen(path) + 1);
		status = find_parent(call, base, text, found);
	} else {
		status = find_thing(call, base, path, flags, resolve, found);
	}
	if (status < 0)
		mor_found_fini(found);
	return status;
}

/* Only the name is exchanged, before anything is looked up or judged: so it grants nothing that the other name
 * would not. A plugin that comes to /dev/shm by another way is judged there. */
static const char *private_name(struct mor_broker *broker, const char *path, char other[PATH_MAX])
{
	static const char shm[] = "/dev/shm";
	const size_t len = sizeof(shm) - 1;

	if (!broker->shm[0] || strncmp(path, shm, len) != 0 || (path[len] && path[len] != '/') ||
	    snprintf(other, PATH_MAX, "%s%s", broker->shm, path + len) >= PATH_MAX)
		return path;
	(void)mkdir(broker->shm, 0700); /* it is there already, or what follows fails */
	return other;
}

int mor_find_at(struct mor_syscall *call, int base, const char *path, unsigned flags, uint64_t resolve,
		struct mor_found *found)
{
	char other[PATH_MAX];

	found->fd = found->parent = found->own_fd = -1;
	if (!*path)
		return -ENOENT;
	path = private_name(call->broker, path, other);
	if (call->broker->root >= 0)
		return resolve ? -ENOSYS : mor_find_in_view(call, base, path, flags, found);
	return mor_find_from(call, base, path, flags, resolve, found);
}

int mor_find(struct mor_syscall *call, int dirfd, const char *path, unsigned flags, uint64_t resolve,
	     struct mor_found *found)
{
	int base, status;

	found->fd = found->parent = found->own_fd = -1;
	if (!*path)
		return -ENOENT;
	if (path[0] == '/' && !resolve)
		return mor_find_at(call, AT_FDCWD, path, flags, 0, found);
	if ((base = open_base(call, dirfd)) < 0)
		return base;
	status = mor_find_at(call, base, path, flags, resolve, found);
	close(base);
	return status;
}

int mor_find_fd(struct mor_syscall *call, int fd, struct mor_found *found)
{
	int status;

	found->parent = -1;
	found->fd = open_base(call, fd == AT_FDCWD ? -1 : fd);
	if (found->fd < 0) {
		status = found->fd;
		found->fd = -1;
		return status;
	}
	found->own_fd = fd;
	if ((status = mor_found_describe(call, found)) < 0)
		mor_found_fini(found);
	return status;
}

/* The nearest reachable parent shows whether the closed directory is under our rules. */
int mor_find_failed(struct mor_syscall *call, int dirfd, const char *path, bool write, int error)
{
	char text[PATH_MAX], *slash;
	struct mor_found found;
	struct mor_ruling ruling;
	int status = error;

	if (error == -ENOENT)
		call->broker->absent++;
	if (error != -EACCES)
		return error;
	memcpy(text, path, strlen(path) + 1);
	while (status == -EACCES && (slash = strrchr(text, '/')) && slash != text) {
		*slash = 0;
		status = mor_find(call, dirfd, text, 0, 0, &found);
	}
	if (mor_broker_decided(status))
		return status;
	if (status < 0)
		return mor_syscall_violation(call, path, write ? MOR_FORBID_WRITE : MOR_FORBID_READ);
	ruling = write ? mor_paths_write(call->broker->paths, found.where, MOR_WRITE_CONTENT) :
			 mor_paths_read(call->broker->paths, found.where);
	mor_found_fini(&found);
	ruling.needs = 0; /* the kernel refuses it whatever we allow */
	status = mor_syscall_ruling(call, path, ruling);
	return status == 0 ? error : status;
}
