/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Level t1: protected paths in a writable workspace, held by the kernel. In the plugin's tree they are
 * read-only mounts. But a tricked broker could still move away a directory above them and make it again,
 * because a mount in the plugin's namespace is not a mount in the guardian's. So the guardian also gets a
 * mount namespace, the same as the host's with one difference: each protected path, and each directory above
 * it within the workspace, is a mount there. The kernel lets nobody rename, replace or remove a mount of his
 * own namespace (EBUSY).
 */
#include "jail/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "jail/guard.h"

/* The length of the path of the writable rule that the name lies in; 0: none. Sorted: the
 * longest comes first. */
static size_t writable_above(const struct mor_paths *paths, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < paths->count; i++) {
		const struct mor_path_rule *rule = &paths->rules[i];

		if (rule->len < len && mor_path_is_within(name, rule->path, rule->len))
			return rule->access & MOR_MAY_WRITE ? rule->len : 0;
	}
	return 0;
}

/* All that could have to stay in its place, in one list: what is protected, then what has a rule of its own.
 * NULL: there are no more; "": this one need not be held. */
static const char *nth(const struct mor_paths *paths, size_t n)
{
	const struct mor_protects *protects = &paths->protects;
	bool held;

	if (n >= protects->count + paths->count)
		return NULL;
	if (n < protects->count) {
		held = mor_protect_is_whole(protects, &protects->list[n]) &&
		       writable_above(paths, protects->list[n].text);
		return held ? protects->list[n].text : "";
	}
	n -= protects->count;
	held = !(paths->rules[n].access & MOR_MAY_WRITE) && writable_above(paths, paths->rules[n].path);
	return held ? paths->rules[n].path : "";
}

static bool any(const struct mor_paths *paths)
{
	const char *name;

	for (size_t i = 0; (name = nth(paths, i)); i++)
		if (*name)
			return true;
	return false;
}

/* Mounts it over itself. A missing path or a link cannot be held: there the broker decides. */
static int pin(const char *name)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof(how)), copy, status = 0;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? 0 : -errno;
	if (fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode)) {
		copy = open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH);
		if (copy < 0 ||
		    move_mount(copy, "", fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
			status = -errno;
		if (copy >= 0)
			close(copy);
	}
	close(fd);
	return status;
}

static bool pinned_before(const struct mor_paths *paths, size_t before, const char *name, size_t len)
{
	for (size_t i = 0; i < before; i++)
		if (mor_path_is_within(nth(paths, i), name, len))
			return true;
	return false;
}

/* From the workspace down to the name. */
static int pin_all(const struct mor_paths *paths, size_t which)
{
	const char *name = nth(paths, which);
	char part[PATH_MAX];
	int status = 0;

	for (size_t at = writable_above(paths, name) + 1; *name && status == 0; at++) {
		if (name[at] && name[at] != '/')
			continue;
		memcpy(part, name, at);
		part[at] = 0;
		if (!pinned_before(paths, which, part, at))
			status = pin(part);
		if (!name[at])
			break;
	}
	return status;
}

int mor_hold_protected(const struct mor_paths *paths, struct mor_setup_failure *failure)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int status = 0;

	if (!any(paths))
		return 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return mor_setup_fail(failure, MOR_AT_NAMESPACE, errno,
				      "level t1: the kernel refuses a mount namespace to the guardian");
	if (mor_users_map(uid, gid, failure) < 0)
		return -1;
	for (size_t i = 0; status == 0 && nth(paths, i); i++)
		status = pin_all(paths, i);
	if (status < 0)
		return mor_setup_fail(failure, MOR_AT_NAMESPACE, -status,
				      "level t1: the kernel refuses to hold a protected path");
	return 0;
}
