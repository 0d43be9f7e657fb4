/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A directory that is to be moved takes along all that is in it. Something protected there would then be
 * found under another name, beside other files: a hook that is named by "../hooks" would be another hook.
 * So the broker looks through it first. Nobody but others on this machine can change it meanwhile: the
 * plugin waits for us.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/broker.h"

enum { DEPTH_MAX = 64 };

struct tree_walk {
	struct mor_syscall *call;
	char path[PATH_MAX];
};

static int judge_directory(struct tree_walk *walk, int dir, size_t len, int depth);

static bool is_directory(int dir, const struct dirent64 *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

static int judge_entry(struct tree_walk *walk, int dir, size_t len, const struct dirent64 *entry, int depth)
{
	size_t size = strlen(entry->d_name);
	int sub, status;

	if (len + size + 2 > sizeof(walk->path) || depth == DEPTH_MAX)
		return -EBUSY; /* too deep to be looked through */
	walk->path[len] = '/';
	memcpy(walk->path + len + 1, entry->d_name, size + 1);
	status = mor_syscall_judge_write(walk->call, walk->path, MOR_WRITE_REMOVE);
	if (status < 0 || !is_directory(dir, entry))
		return status;
	if ((sub = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return errno == ENOENT ? 0 : -errno;
	status = judge_directory(walk, sub, len + 1 + size, depth + 1);
	close(sub);
	return status;
}

static int judge_directory(struct tree_walk *walk, int dir, size_t len, int depth)
{
	char batch[2048] __attribute__((aligned(8)));
	int status = 0;
	long got = 0;

	while (status == 0 && (got = syscall(SYS_getdents64, dir, batch, sizeof(batch))) > 0) {
		for (long at = 0; status == 0 && at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(batch + at);

			at += entry->d_reclen;
			if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
				status = judge_entry(walk, dir, len, entry, depth);
		}
	}
	return status == 0 && got < 0 ? -errno : status;
}

/* ".", ".." and one more. */
bool mor_found_is_full(const struct mor_syscall *call, const struct mor_found *found)
{
	char batch[2048] __attribute__((aligned(8)));
	int dir, count = 0;
	long got;

	if (!mor_paths_searched(call->broker->paths, found->where))
		return false;
	dir = openat(found->parent, found->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	got = dir < 0 ? 0 : syscall(SYS_getdents64, dir, batch, sizeof(batch));
	for (long at = 0; at < got; count++)
		at += ((const struct dirent64 *)(batch + at))->d_reclen;
	if (dir >= 0)
		close(dir);
	return count > 2;
}

int mor_found_judge_tree(struct mor_syscall *call, const struct mor_found *found)
{
	struct tree_walk walk = { .call = call };
	size_t len = strlen(found->where);
	int dir, status;

	if (!mor_paths_searched(call->broker->paths, found->where))
		return 0;
	memcpy(walk.path, found->where, len + 1);
	if ((dir = openat(found->parent, found->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return -errno;
	status = judge_directory(&walk, dir, len, 0);
	close(dir);
	return status;
}
