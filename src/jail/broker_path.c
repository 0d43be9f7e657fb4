/*
 * Names to handles. The kernel resolves a name in one go (openat2, no magic links); only what ends in /proc or passes
 * a magic link is walked part by part, because there "self" means us where the plugin means itself. What comes out is a
 * handle that no later rename or link can change, and its canonical name is what is judged.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/broker.h"

#define LINKS_MAX 40

const char *mor_fd_text(int fd, char text[16])
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

static bool in_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* By which number the /proc that we look into knows the caller. */
static pid_t number_of(const struct mor_call *call)
{
	return call->broker->root >= 0 ? call->own : call->tgid;
}

/* /proc/NUMBER/rest of the caller -> /proc/self/rest */
static void make_own(const struct mor_call *call, char where[PATH_MAX])
{
	char own[32];
	size_t len = (size_t)snprintf(own, sizeof(own), "/proc/%d", (int)number_of(call));

	if (strncmp(where, own, len) != 0 || (where[len] && where[len] != '/'))
		return;
	if (strlen(where) - len + sizeof("/proc/self") > PATH_MAX)
		return;
	memmove(where + strlen("/proc/self"), where + len, strlen(where + len) + 1);
	memcpy(where, "/proc/self", strlen("/proc/self"));
}

int mor_handle_raw(const struct mor_call *call, int fd, char where[PATH_MAX])
{
	char text[16];
	ssize_t len = readlinkat(call->broker->own_fds, mor_fd_text(fd, text), where, PATH_MAX - 1);

	if (len < 0)
		return -errno;
	if (len == PATH_MAX - 1)
		return -ENAMETOOLONG;
	where[len] = 0;
	return 0;
}

int mor_handle_name(const struct mor_call *call, int fd, char where[PATH_MAX])
{
	int status = mor_handle_raw(call, fd, where);

	if (status == 0 && strncmp(where, "/proc/", 6) == 0)
		make_own(call, where);
	return status;
}

/* Fills what follows from the handle. A removed file keeps its old name, without the kernel's remark. */
static int describe(const struct mor_call *call, struct mor_found *found)
{
	static const char gone[] = " (deleted)";
	int status = mor_handle_name(call, found->fd, found->where);
	size_t len;

	if (status < 0)
		return status;
	if (fstat(found->fd, &found->st) < 0)
		return -errno;
	len = strlen(found->where);
	if (found->st.st_nlink == 0 && len > sizeof(gone) && strcmp(found->where + len - sizeof(gone) + 1, gone) == 0)
		found->where[len - sizeof(gone) + 1] = 0;
	return 0;
}

/* ---- part by part ---- */

struct walk {
	struct mor_call *call;
	int at;               /* where we stand              */
	int links;
	bool follow;
	int own_fd;           /* see struct mor_found        */
	char rest[PATH_MAX * 2];
};

static int stand_on(struct walk *walk, int fd)
{
	close(walk->at);
	walk->at = fd;
	walk->own_fd = -1;
	return 0;
}

static int open_root(const struct mor_call *call)
{
	int fd = call->broker->root >= 0 ? fcntl(call->broker->root, F_DUPFD_CLOEXEC, 0)
					 : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Puts text in front of what is left. */
static int prepend(struct walk *walk, const char *text)
{
	char rest[PATH_MAX * 2];
	int len = snprintf(rest, sizeof(rest), "%s/%s", text, walk->rest);

	if (len < 0 || (size_t)len >= sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, rest, (size_t)len + 1);
	return 0;
}

/* In the root of /proc: what "self" and the plugin's own number stand for. 1: replaced. */
static int translate(struct walk *walk, const char *part)
{
	const struct mor_call *call = walk->call;
	bool view = call->broker->root >= 0;
	char text[48], inside[16];

	snprintf(inside, sizeof(inside), "%d", (int)call->broker->inside);
	if (strcmp(part, "thread-self") == 0)
		snprintf(text, sizeof(text), "%d/task/%d", (int)number_of(call),
			 (int)(view ? mor_call_inner(call, "\nNSpid:") : call->tid));
	else if (strcmp(part, "self") == 0 ||
		 (!view && call->broker->inside != call->broker->main && strcmp(part, inside) == 0))
		snprintf(text, sizeof(text), "%d", (int)number_of(call));
	else
		return 0;
	return prepend(walk, text) < 0 ? -ENAMETOOLONG : 1;
}

/* In /proc/NUMBER/task of ours: the caller's thread by the number that it has in its own namespace. 1: replaced. */
static int translate_thread(struct walk *walk, const char *where, const char *part)
{
	const struct mor_call *call = walk->call;
	char own[40], inner[16], text[16];

	snprintf(own, sizeof(own), "/proc/%d/task", (int)call->tgid);
	if (!call->broker->apart || call->broker->root >= 0 || strcmp(where, own) != 0)
		return 0;
	snprintf(inner, sizeof(inner), "%d", (int)mor_call_inner(call, "\nNSpid:"));
	if (strcmp(part, inner) != 0 || call->tid == mor_call_inner(call, "\nNSpid:"))
		return 0;
	snprintf(text, sizeof(text), "%d", (int)call->tid);
	return prepend(walk, text) < 0 ? -ENAMETOOLONG : 1;
}

/* The directory of that name in our own view, where there is one. Takes the handle. */
static int leave_view(const struct mor_call *call, int fd)
{
	char name[PATH_MAX];
	struct stat st;
	int other;

	if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode) || mor_handle_raw(call, fd, name) < 0)
		return fd;
	other = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (other < 0)
		return fd;
	close(fd);
	return other;
}

/* A magic link below /proc/NUMBER: only the kernel can follow it, and only the caller's own is followed. */
static int follow_magic(struct walk *walk, const char *where, const char *part)
{
	static const char fds[] = "/proc/self/fd";
	char name[PATH_MAX];
	int fd, own = -1;

	memcpy(name, where, strlen(where) + 1);
	make_own(walk->call, name);
	if (strncmp(name, "/proc/self/", 11) != 0 && strcmp(name, "/proc/self") != 0) {
		snprintf(walk->call->about, sizeof(walk->call->about), "%.3000s/%.255s", where, part);
		return mor_call_violation(walk->call, walk->call->about, MOR_RULE_READ);
	}
	if (strcmp(name, fds) == 0 || (strncmp(name, "/proc/self/task/", 16) == 0 && strstr(name, "/fd")))
		own = (int)strtol(part, NULL, 10);
	fd = openat(walk->at, part, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (walk->call->broker->apart && walk->call->broker->root < 0)
		fd = leave_view(walk->call, fd);
	stand_on(walk, fd);
	walk->own_fd = own;
	return 0;
}

static int follow_link(struct walk *walk, int link)
{
	char text[PATH_MAX];
	ssize_t len = readlinkat(link, "", text, sizeof(text) - 1);
	int root;

	if (len < 0)
		return -errno;
	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	text[len] = 0;
	if (text[0] == '/') {
		root = open_root(walk->call);
		if (root < 0)
			return root;
		stand_on(walk, root);
	}
	return prepend(walk, text);
}

/* An ordinary part. */
static int enter(struct walk *walk, const char *part, bool last)
{
	char where[PATH_MAX] = "";
	bool proc = in_proc(walk->at);
	struct stat st;
	int fd, status = proc ? mor_handle_raw(walk->call, walk->at, where) : 0;

	if (status == 0 && proc && strcmp(where, "/proc") == 0)
		status = translate(walk, part);
	else if (status == 0 && proc)
		status = translate_thread(walk, where, part);
	if (status != 0)
		return status < 0 ? status : 0;
	fd = openat(walk->at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISLNK(st.st_mode) || (last && !walk->follow))
		return stand_on(walk, fd);
	if (proc && strncmp(where, "/proc/", 6) == 0 && where[6] >= '0' && where[6] <= '9')
		status = follow_magic(walk, where, part);
	else
		status = follow_link(walk, fd);
	close(fd);
	return status;
}

static int step_up(struct walk *walk)
{
	struct stat here, root;
	int fd;

	if (walk->call->broker->root >= 0 && fstat(walk->at, &here) == 0 &&
	    fstat(walk->call->broker->root, &root) == 0 && here.st_dev == root.st_dev && here.st_ino == root.st_ino)
		return 0;
	fd = openat(walk->at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : stand_on(walk, fd);
}

/* One part of the rest. 1: there was none left. */
static int walk_part(struct walk *walk)
{
	char part[NAME_MAX + 1];
	size_t skip = strspn(walk->rest, "/"), len = strcspn(walk->rest + skip, "/");
	char *tail = walk->rest + skip + len;
	bool last = tail[strspn(tail, "/")] == 0, slash = *tail == '/';

	if (len == 0)
		return 1;
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(part, walk->rest + skip, len);
	part[len] = 0;
	memmove(walk->rest, tail, strlen(tail) + 1);
	if (strcmp(part, ".") == 0)
		return 0;
	if (strcmp(part, "..") == 0)
		return step_up(walk);
	return enter(walk, part, last && !slash);
}

/* Takes `base`. */
static int walk_all(struct mor_call *call, int base, const char *path, unsigned flags, struct mor_found *found)
{
	struct walk walk = { .call = call, .at = base, .follow = !(flags & MOR_FIND_NOFOLLOW), .own_fd = -1 };
	int status = 0;

	memcpy(walk.rest, path, strlen(path) + 1);
	while (status == 0)
		status = walk_part(&walk);
	if (status < 0) {
		close(walk.at);
		return status;
	}
	found->fd = walk.at;
	found->own_fd = walk.own_fd;
	return describe(call, found);
}

/* ---- in one go ---- */

static int find_fast(struct mor_call *call, int base, const char *path, unsigned flags, uint64_t resolve)
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
	while (fd < 0 && errno == EAGAIN && !resolve); /* a rename elsewhere raced with a ".." */
	return fd < 0 ? -errno : (int)fd;
}

/* Whether the kernel's answer may be about our own /proc/self instead of the caller's. */
static bool doubtful(const char *path, int status)
{
	if (status == -ELOOP)
		return true;
	return (status == -ENOENT || status == -EACCES) && (strstr(path, "proc") || strstr(path, "dev/"));
}

/* The directory that a relative name starts from, as a handle of ours. */
static int open_base(struct mor_call *call, int dirfd)
{
	char what[24];
	int fd;

	if (dirfd == AT_FDCWD)
		return mor_call_proc(call, "cwd", O_PATH);
	snprintf(what, sizeof(what), "fd/%d", dirfd);
	fd = dirfd < 0 ? -EBADF : mor_call_proc(call, what, O_PATH);
	if (fd == -ENOENT)
		fd = -EBADF;
	if (fd >= 0 && !mor_call_alive(call)) {
		close(fd);
		return MOR_CALL_SENT;
	}
	return fd;
}

/* Only devices without a number of their own can be a /proc; the last one seen that is none is remembered. */
static bool of_proc(struct mor_call *call, const struct mor_found *found, int fd)
{
	if (strncmp(found->where, "/proc", 5) == 0)
		return true;
	if (major(found->st.st_dev) || found->st.st_dev == call->broker->plain)
		return false;
	if (in_proc(fd))
		return true;
	call->broker->plain = found->st.st_dev;
	return false;
}

/* Whether a whole name, if no link is met on the way, is canonical as it stands. */
static bool is_clean(const char *path)
{
	if (path[0] != '/')
		return false;
	for (; *path; path++)
		if (path[0] == '/' && (path[1] == '/' || path[1] == '.' || path[1] == 0))
			return false;
	return true;
}

static int open_direct(struct mor_call *call, int dirfd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, .resolve = RESOLVE_NO_MAGICLINKS | resolve,
	};
	int base = AT_FDCWD, fd;

	if (call->broker->root >= 0) {
		if (path[0] != '/')
			return -1;
		how.resolve |= RESOLVE_IN_ROOT;
		fd = (int)syscall(SYS_openat2, call->broker->root, path, &how, sizeof(how));
		return fd < 0 ? -1 : fd; /* absent there, it may be here */
	}
	if (path[0] != '/') {
		base = open_base(call, dirfd);
		if (base < 0)
			return -1;
	}
	fd = (int)syscall(SYS_openat2, base, path, &how, sizeof(how));
	if (fd < 0 && errno == ENOENT && !doubtful(path, -ENOENT))
		fd = -ENOENT;
	if (base >= 0)
		close(base);
	return fd;
}

int mor_find_open(struct mor_call *call, int dirfd, const char *path, uint64_t flags, struct mor_found *found)
{
	bool clean = is_clean(path);
	int fd = clean ? open_direct(call, dirfd, path, flags, RESOLVE_NO_SYMLINKS) : -1;

	if (fd >= 0) {
		memcpy(found->where, path, strlen(path) + 1);
	} else if (fd == -1) {
		fd = open_direct(call, dirfd, path, flags, 0);
		if (fd >= 0 && mor_handle_raw(call, fd, found->where) < 0)
			found->where[0] = 0;
	}
	if (fd < 0)
		return fd;
	/* Not glibc's fstat(), which asks the kernel to resolve an empty name. */
	if (syscall(SYS_fstat, fd, &found->st) == 0 && found->st.st_nlink && found->where[0] == '/' && !of_proc(call, found, fd))
		return fd;
	close(fd);
	return -1;
}

static int walk_from(struct mor_call *call, int base, const char *path, unsigned flags, struct mor_found *found)
{
	int from = path[0] == '/' ? open_root(call) : fcntl(base, F_DUPFD_CLOEXEC, 0);

	if (from < 0)
		return path[0] == '/' ? from : -errno;
	return walk_all(call, from, path, flags, found);
}

static int find_thing(struct mor_call *call, int base, const char *path, unsigned flags, uint64_t resolve,
		      struct mor_found *found)
{
	int fd = find_fast(call, base, path, flags, resolve), status;

	if (fd < 0) {
		if (resolve || !doubtful(path, fd))
			return fd;
		return walk_from(call, base, path, flags, found);
	}
	found->fd = fd;
	status = describe(call, found);
	if (status < 0)
		return status;
	if (!of_proc(call, found, fd))
		return 0;
	mor_fd_close(&found->fd);
	return resolve ? -ENOSYS : walk_from(call, base, path, flags, found);
}

/* Directory and last part. "." and ".." are no names that one could make or remove. */
static int find_parent(struct mor_call *call, int base, char *path, struct mor_found *found)
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
	status = find_thing(call, base, path, 0, 0, found);
	if (status < 0)
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

int mor_find_from(struct mor_call *call, int base, const char *path, unsigned flags, uint64_t resolve,
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

int mor_find_at(struct mor_call *call, int base, const char *path, unsigned flags, uint64_t resolve,
		struct mor_found *found)
{
	found->fd = found->parent = found->own_fd = -1;
	if (!*path)
		return -ENOENT;
	if (call->broker->root >= 0)
		return resolve ? -ENOSYS : mor_find_in_view(call, base, path, flags, found);
	return mor_find_from(call, base, path, flags, resolve, found);
}

int mor_find(struct mor_call *call, int dirfd, const char *path, unsigned flags, uint64_t resolve,
	     struct mor_found *found)
{
	int base, status;

	found->fd = found->parent = found->own_fd = -1;
	if (!*path)
		return -ENOENT;
	if (path[0] == '/' && !resolve)
		return mor_find_at(call, AT_FDCWD, path, flags, 0, found);
	base = open_base(call, dirfd);
	if (base < 0)
		return base;
	status = mor_find_at(call, base, path, flags, resolve, found);
	close(base);
	return status;
}

int mor_find_fd(struct mor_call *call, int fd, struct mor_found *found)
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
	status = describe(call, found);
	if (status < 0)
		mor_found_fini(found);
	return status;
}

/* The nearest parent that can be reached tells whether the closed door is one of ours. */
int mor_find_failed(struct mor_call *call, int dirfd, const char *path, bool write, int error)
{
	char text[PATH_MAX], *slash;
	struct mor_found found;
	struct mor_verdict verdict;
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
	if (mor_call_decided(status))
		return status;
	if (status < 0)
		return mor_call_violation(call, path, write ? "outside what it may write" : MOR_RULE_READ);
	verdict = write ? mor_paths_write(call->broker->paths, found.where, MOR_WRITE_CONTENT)
			: mor_paths_read(call->broker->paths, found.where);
	mor_found_fini(&found);
	status = mor_call_verdict(call, path, verdict);
	return status == 0 ? error : status;
}
