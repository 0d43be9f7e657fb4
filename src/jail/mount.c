/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts that the trees of plugins are made of: see root.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/root.h"

int mor_mount_open(int root, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, root, name, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int mor_mount_copy(int from, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes };
	int copy = open_tree(from, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH),
	    status;

	if (copy < 0)
		return -errno;
	if (mount_setattr(copy, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) == 0)
		return copy;
	status = -errno;
	close(copy);
	return status;
}

/* Files take memory of the kernel even if they are empty: so many, as fit if each has one page. */
int mor_mount_tmpfs(uint64_t size)
{
	const uint64_t page = 4096, least = 1024;
	int maker = fsopen("tmpfs", FSOPEN_CLOEXEC), made = -1;
	char bytes[24], files[24];

	if (maker < 0)
		return -errno;
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)size);
	snprintf(files, sizeof(files), "%llu", (unsigned long long)(size / page > least ? size / page : least));
	if (fsconfig(maker, FSCONFIG_SET_STRING, "size", bytes, 0) == 0 &&
	    fsconfig(maker, FSCONFIG_SET_STRING, "nr_inodes", files, 0) == 0 &&
	    fsconfig(maker, FSCONFIG_SET_STRING, "mode", "0700", 0) == 0 &&
	    fsconfig(maker, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		made = fsmount(maker, FSMOUNT_CLOEXEC, MOR_MOUNT_SAFE);
	if (made < 0)
		made = -errno;
	close(maker);
	return made;
}
