/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in a file tree of the plugin's own (level t1). They are resolved there and nowhere else: its mounts are
 * the plugin's, read-only where they should be, and a directory that it gets has no ".." that leads out. What
 * is not there is looked for on the host, only to tell an attempt from a mistake.
 */
#include <errno.h>
#include <string.h>

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
			       mor_syscall_violation(call, "its file tree", MOR_FORBID_HIDING) :
			       MOR_BROKER_SENT;
	}
	broker->locked = true;
	return 0;
}

/* Does a rule allow what was found on the host? Then the name led there through something that the plugin
 * does not have: in its own tree there is nothing of that name. */
static bool is_allowed(struct mor_syscall *call, const char *where)
{
	return mor_paths_read(call->broker->paths, where).kind == MOR_RULING_PERFORM ||
	       mor_paths_write(call->broker->paths, where, MOR_WRITE_INSIDE).kind == MOR_RULING_PERFORM;
}

/* What is not in the plugin's tree may be in ours. It is found only to be judged, never to be used. What the
 * plugin hears is either the judgement or `inside`, the answer of its own tree: nothing else that depends on
 * ours, or ENOTDIR and ".." would tell which names exist here. */
static int find_outside(struct mor_syscall *call, const char *path, unsigned flags, int inside,
			struct mor_found *found)
{
	int root = call->broker->root, status;

	call->broker->root = -1;
	status = mor_find_from(call, AT_FDCWD, path, flags, 0, found);
	call->broker->root = root;
	/* EACCES: a directory that is closed to us is not one that does not exist. */
	if (mor_broker_decided(status) || status == -EACCES ||
	    (status == 0 && !is_allowed(call, found->where))) {
		call->inside = inside;
		return status;
	}
	if (status == 0)
		mor_found_fini(found);
	return inside;
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
		status = find_outside(call, whole, flags, status, found);
	return status;
}
