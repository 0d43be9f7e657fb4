/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in a file tree of the plugin's own (level t1). What is there is found there, and acted on there: its
 * mounts are the plugin's, read-only where they should be, and a directory that it gets has no ".." that leads
 * out. What is not there is looked for on the host, only to tell an attempt from a mistake.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/broker.h"

/* Before its execve the plugin is a copy of the init, which is closed to us (and to it). Without a handle on
 * its tree nothing may go on. */
int mor_syscall_enter_view(struct mor_syscall *call)
{
	struct mor_broker *broker = call->broker;

	broker->root = mor_syscall_proc(call, "root", O_PATH | O_DIRECTORY);
	if (broker->root < 0) {
		broker->root = -1;
		return mor_syscall_alive(call) ?
			       mor_syscall_violation(call, "", "its file tree is closed to the guardian") :
			       MOR_BROKER_SENT;
	}
	broker->locked = true;
	return 0;
}

/* A canonical name in the plugin's tree. */
static int open_in_view(const struct mor_syscall *call, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, call->broker->root, name, &how, sizeof(how));
}

/* By its true name the thing may be in the plugin's tree after all (a link is not). Then that is the handle to
 * act on; else what was found is there to be judged, and nothing must be done with it. */
static int back_to_view(struct mor_syscall *call, unsigned flags, struct mor_found *found)
{
	bool parent = flags & MOR_FIND_PARENT;
	char name[PATH_MAX], *slash;
	int fd;

	memcpy(name, found->where, strlen(found->where) + 1);
	slash = strrchr(name, '/');
	if (parent && slash)
		slash[slash == name] = 0;
	fd = name[0] == '/' ? open_in_view(call, name) : -1;
	if (fd < 0) {
		if (mor_paths_read(call->broker->paths, found->where).kind == MOR_RULING_PERFORM ||
		    mor_paths_write(call->broker->paths, found->where, MOR_WRITE_INSIDE).kind ==
			    MOR_RULING_PERFORM)
			return -ENOENT;
		return 0;
	}
	mor_found_fini(found);
	if (parent)
		found->parent = fd;
	else
		found->fd = fd;
	return !parent && fstat(fd, &found->st) < 0 ? -errno : 0;
}

/* What is not in the plugin's tree may be in ours: then to ask for it was no mistake. */
static int find_outside(struct mor_syscall *call, const char *path, unsigned flags, struct mor_found *found)
{
	int root = call->broker->root, status;

	call->broker->root = -1;
	status = mor_find_from(call, AT_FDCWD, path, flags, 0, found);
	call->broker->root = root;
	if (status < 0)
		return status;
	status = back_to_view(call, flags, found);
	if (status < 0)
		mor_found_fini(found);
	return status;
}

/* The plugin's names are made whole first: an absolute link must end in its tree, not in ours. */
int mor_find_in_view(struct mor_syscall *call, int base, const char *path, unsigned flags,
		     struct mor_found *found)
{
	char whole[PATH_MAX];
	size_t len = 0;
	int status = path[0] == '/' ? 0 : mor_handle_raw(call, base, whole);

	if (status < 0)
		return status;
	if (path[0] != '/') {
		len = strlen(whole);
		if (whole[0] != '/' || len + strlen(path) + 2 > sizeof(whole))
			return whole[0] == '/' ? -ENAMETOOLONG : -ENOTDIR;
		whole[len++] = '/';
	}
	memcpy(whole + len, path, strlen(path) + 1);
	status = mor_find_from(call, AT_FDCWD, whole, flags, 0, found);
	if (status == -ENOENT || status == -ENOTDIR || status == -EACCES)
		status = find_outside(call, whole, flags, found);
	return status;
}
