/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces and mounts. Unconfined they run in the mount namespace of the runner, which is private. */
#include "attempt.h"

#include <linux/mount.h>
#include <sched.h>
#include <stdio.h>

/* <sys/mount.h> and <linux/mount.h> of bookworm do not go together. */
#define MS_BIND_FLAG    4096
#define MNT_DETACH_FLAG 2
#ifndef OPEN_TREE_CLONE
#define OPEN_TREE_CLONE 1
#endif

static long bind_outside(const struct stage *s)
{
	return syscall(SYS_mount, in(s, "outside"), in(s, "ws/empty"), "", MS_BIND_FLAG, NULL);
}

static struct result k_userns(const struct stage *s)
{
	(void)s;
	return got("unshare", unshare(CLONE_NEWUSER));
}
static struct result k_unshare_net(const struct stage *s)
{
	(void)s;
	return got("unshare", unshare(CLONE_NEWNET));
}

static struct result k_userns_mount(const struct stage *s)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || bind_outside(s) < 0)
		return no("unshare and bind");
	return read_secret("bind", open("empty/secret.txt", O_RDONLY));
}

static struct result k_setns(const struct stage *s)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", s->host);
	fd = open(path, O_RDONLY);
	return got("setns", fd < 0 ? -1 : setns(fd, 0));
}

/* A descriptor that is no namespace: EINVAL says that the kernel looked. */
static struct result k_setns_fd(const struct stage *s)
{
	(void)s;
	return reached("setns of standard input", setns(0, 0));
}

static struct result k_mount(const struct stage *s)
{
	if (bind_outside(s) < 0)
		return no("bind");
	(void)!syscall(SYS_umount2, in(s, "ws/empty"), MNT_DETACH_FLAG);
	return yes("bind");
}

static struct result k_umount(const struct stage *s)
{
	return reached("umount2 of no mount", syscall(SYS_umount2, in(s, "ws/empty"), MNT_DETACH_FLAG));
}

static struct result k_fsopen(const struct stage *s)
{
	(void)s;
	return got("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
}
static struct result k_fspick(const struct stage *s)
{
	(void)s;
	return got("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
}

static struct result k_fsmount(const struct stage *s)
{
	(void)s;
	return reached("fsmount of standard input", syscall(SYS_fsmount, 0, 0, 0));
}

static struct result k_fsconfig(const struct stage *s)
{
	(void)s;
	return reached("fsconfig of standard input", syscall(SYS_fsconfig, 0, 6, NULL, NULL, 0));
}

static struct result k_open_tree(const struct stage *s)
{
	long fd = syscall(SYS_open_tree, AT_FDCWD, in(s, "outside"), OPEN_TREE_CLONE);

	if (fd < 0)
		return no("open_tree");
	return read_secret("open_tree", openat((int)fd, "secret.txt", O_RDONLY));
}

/* Without CLONE it is O_PATH by another name, and needs no privilege. */
static struct result k_open_tree_plain(const struct stage *s)
{
	long fd = syscall(SYS_open_tree, AT_FDCWD, in(s, "outside"), 0);

	if (fd < 0)
		return no("open_tree");
	return read_secret("open_tree", openat((int)fd, "secret.txt", O_RDONLY));
}

static struct result k_move_mount(const struct stage *s)
{
	return reached("move_mount of no mount",
		       syscall(SYS_move_mount, AT_FDCWD, in(s, "ws/empty"), AT_FDCWD, in(s, "ws/sub"), 0));
}

static struct result k_mount_setattr(const struct stage *s)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	return reached("mount_setattr of no mount",
		       syscall(SYS_mount_setattr, AT_FDCWD, in(s, "ws/empty"), 0, &attr, sizeof(attr)));
}

static struct result k_chroot(const struct stage *s)
{
	if (chroot(in(s, "outside")) < 0)
		return no("chroot");
	return read_secret("chroot", open("/secret.txt", O_RDONLY));
}

static struct result k_pivot(const struct stage *s)
{
	return reached("pivot_root to no mount", syscall(SYS_pivot_root, in(s, "ws/empty"), in(s, "ws/empty")));
}

#define K "kernel"
const struct attempt mount_attempts[] = {
	{ "k_userns", K, 66, 'D', 0, 0, 0, k_userns },
	{ "k_unshare_net", K, 66, 'D', 0, 0, 0, k_unshare_net },
	{ "k_userns_mount", K, 66, 'D', 0, 0, 0, k_userns_mount },
	{ "k_setns", K, 67, 'D', 0, 0, 0, k_setns },
	{ "k_setns_fd", K, 67, 'D', 0, 0, REACHES, k_setns_fd },
	{ "k_mount", K, 68, 'D', 0, 0, 0, k_mount },
	{ "k_umount", K, 68, 'D', 0, 0, REACHES, k_umount },
	{ "k_fsopen", K, 68, 'D', 0, 0, 0, k_fsopen },
	{ "k_fspick", K, 68, 'D', 0, 0, 0, k_fspick },
	{ "k_fsmount", K, 68, 'D', 0, 0, REACHES, k_fsmount },
	{ "k_fsconfig", K, 68, 'D', 0, 0, REACHES, k_fsconfig },
	{ "k_open_tree", K, 68, 'D', 0, 0, 0, k_open_tree },
	{ "k_open_tree_plain", K, 68, 'D', 0, 0, 0, k_open_tree_plain },
	{ "k_move_mount", K, 68, 'D', 0, 0, REACHES, k_move_mount },
	{ "k_mount_setattr", K, 68, 'D', 0, 0, REACHES, k_mount_setattr },
	{ "k_chroot", K, 68, 'D', 0, 0, 0, k_chroot },
	{ "k_pivot", K, 68, 'D', 0, 0, REACHES, k_pivot },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
