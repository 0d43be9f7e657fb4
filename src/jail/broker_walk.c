/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names part by part: what ends in /proc or passes a magic link, because there "self" means us where the
 * plugin means itself.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jail/broker.h"

#define LINKS_MAX 40

enum { KEPT, REPLACED };   /* of a part */
enum { WALKING, ARRIVED }; /* of the walk */

struct name_walk {
	struct mor_syscall *call;
	int at; /* where we stand              */
	int links;
	bool follow;
	int own_fd; /* see struct mor_found        */
	char rest[PATH_MAX * 2];
};

static int stand_on(struct name_walk *walk, int fd)
{
	close(walk->at);
	walk->at = fd;
	walk->own_fd = -1;
	return 0;
}

static int open_root(const struct mor_syscall *call)
{
	int fd = call->broker->root >= 0 ? fcntl(call->broker->root, F_DUPFD_CLOEXEC, 0) :
					   open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Puts text in front of what is left. */
static int prepend(struct name_walk *walk, const char *text)
{
	char rest[PATH_MAX * 2];
	int len = snprintf(rest, sizeof(rest), "%s/%s", text, walk->rest);

	if (len < 0 || (size_t)len >= sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, rest, (size_t)len + 1);
	return 0;
}

/* Is this the number that the caller has in its own PID namespace, in a /proc that shows another one, `outer`?
 * key: as for mor_syscall_inner(). */
static bool is_inner_number(const struct mor_syscall *call, const char *part, const char *key, pid_t outer)
{
	char text[16];
	pid_t inner;

	if (call->broker->root >= 0 || call->broker->who.inside == call->broker->who.main || part[0] < '0' ||
	    part[0] > '9')
		return false;
	inner = mor_syscall_inner(call, key);
	snprintf(text, sizeof(text), "%d", (int)inner);
	return inner != outer && strcmp(part, text) == 0;
}

/* In the root of /proc: what "self" and the caller's own number stand for. KEPT, REPLACED or -errno. */
static int translate(struct name_walk *walk, const char *part)
{
	const struct mor_syscall *call = walk->call;
	bool view = call->broker->root >= 0;
	char text[48];

	if (strcmp(part, "thread-self") == 0)
		snprintf(text, sizeof(text), "%d/task/%d", (int)mor_syscall_number(call),
			 (int)(view ? mor_syscall_inner(call, "\nNSpid:") : call->tid));
	else if (strcmp(part, "self") == 0 || is_inner_number(call, part, "\nNStgid:", call->tgid))
		snprintf(text, sizeof(text), "%d", (int)mor_syscall_number(call));
	else
		return KEPT;
	return prepend(walk, text) < 0 ? -ENAMETOOLONG : REPLACED;
}

/* In /proc/NUMBER/task of ours: the caller's thread by the number that it has in its own
 * namespace. As above. */
static int translate_thread(struct name_walk *walk, const char *where, const char *part)
{
	const struct mor_syscall *call = walk->call;
	char own[40], text[16];

	snprintf(own, sizeof(own), "/proc/%d/task", (int)call->tgid);
	if (strcmp(where, own) != 0 || !is_inner_number(call, part, "\nNSpid:", call->tid))
		return KEPT;
	snprintf(text, sizeof(text), "%d", (int)call->tid);
	return prepend(walk, text) < 0 ? -ENAMETOOLONG : REPLACED;
}

/* The directory of that name in our own view, where there is one. Takes the handle. */
static int leave_view_take(const struct mor_syscall *call, int fd)
{
	char name[PATH_MAX];
	struct stat st;
	int other;

	if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode) || mor_handle_raw(call, fd, name) < 0)
		return fd;
	if ((other = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		return fd;
	close(fd);
	return other;
}

/* A magic link below /proc/NUMBER: only the kernel can follow it, and only the caller's own is followed. */
static int follow_magic(struct name_walk *walk, const char *where, const char *part)
{
	static const char fds[] = "/proc/self/fd";
	char name[PATH_MAX];
	int fd, own = -1;

	memcpy(name, where, strlen(where) + 1);
	mor_name_own(walk->call, name);
	if (strncmp(name, "/proc/self/", 11) != 0 && strcmp(name, "/proc/self") != 0) {
		snprintf(walk->call->about, sizeof(walk->call->about), "%.3000s/%.255s", where, part);
		return mor_syscall_violation(walk->call, walk->call->about, MOR_FORBID_READ);
	}
	if (strcmp(name, fds) == 0 || (strncmp(name, "/proc/self/task/", 16) == 0 && strstr(name, "/fd")))
		own = (int)strtol(part, NULL, 10);
	if ((fd = openat(walk->at, part, O_PATH | O_CLOEXEC)) < 0)
		return -errno;
	if (walk->call->broker->apart && walk->call->broker->root < 0)
		fd = leave_view_take(walk->call, fd);
	stand_on(walk, fd);
	walk->own_fd = own;
	return 0;
}

static int follow_link(struct name_walk *walk, int link)
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
		if ((root = open_root(walk->call)) < 0)
			return root;
		stand_on(walk, root);
	}
	return prepend(walk, text);
}

/* An ordinary part. */
static int enter_part(struct name_walk *walk, const char *part, bool last)
{
	char where[PATH_MAX] = "";
	bool proc = mor_handle_in_proc(walk->at);
	struct stat st;
	int fd, status = proc ? mor_handle_raw(walk->call, walk->at, where) : 0, what = KEPT;

	if (status == 0 && proc && strcmp(where, "/proc") == 0)
		what = translate(walk, part);
	else if (status == 0 && proc)
		what = translate_thread(walk, where, part);
	if (status < 0 || what != KEPT)
		return status < 0 ? status : what == REPLACED ? 0 : what;
	if ((fd = openat(walk->at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC)) < 0)
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

static int step_up(struct name_walk *walk)
{
	struct stat here, root;
	int fd;

	if (walk->call->broker->root >= 0 && fstat(walk->at, &here) == 0 &&
	    fstat(walk->call->broker->root, &root) == 0 && here.st_dev == root.st_dev &&
	    here.st_ino == root.st_ino)
		return 0;
	fd = openat(walk->at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : stand_on(walk, fd);
}

/* One part of the rest. WALKING, ARRIVED: no part was left, or what decides it. */
static int walk_part(struct name_walk *walk)
{
	char part[NAME_MAX + 1];
	size_t skip = strspn(walk->rest, "/"), len = strcspn(walk->rest + skip, "/");
	char *tail = walk->rest + skip + len;
	bool last = tail[strspn(tail, "/")] == 0, slash = *tail == '/';

	if (len == 0)
		return ARRIVED;
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(part, walk->rest + skip, len);
	part[len] = 0;
	memmove(walk->rest, tail, strlen(tail) + 1);
	if (strcmp(part, ".") == 0)
		return WALKING;
	if (strcmp(part, "..") == 0)
		return step_up(walk);
	return enter_part(walk, part, last && !slash);
}

/* Takes `base`. */
static int walk_all_take(struct mor_syscall *call, int base, const char *path, unsigned flags,
			 struct mor_found *found)
{
	struct name_walk walk = {
		.call = call, .at = base, .follow = !(flags & MOR_FIND_NOFOLLOW), .own_fd = -1
	};
	int status = WALKING;

	memcpy(walk.rest, path, strlen(path) + 1);
	while (status == WALKING)
		status = walk_part(&walk);
	if (status < 0) {
		close(walk.at);
		return status;
	}
	found->fd = walk.at;
	found->own_fd = walk.own_fd;
	return mor_found_describe(call, found);
}

int mor_walk(struct mor_syscall *call, int base, const char *path, unsigned flags, struct mor_found *found)
{
	int from = path[0] == '/' ? open_root(call) : fcntl(base, F_DUPFD_CLOEXEC, 0);

	if (from < 0)
		return path[0] == '/' ? from : -errno;
	return walk_all_take(call, from, path, flags, found);
}
