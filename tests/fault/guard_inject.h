/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls of mortise-jail that can be made to fail. mortise-jail-inject is the same program, compiled with
 * guard_calls.h before every file: a call that can fail asks first whether it is to. What is to fail lies in a
 * file that test and guardian share, INJECT_FILE in the directory of the guardian's host.
 */
#ifndef TESTS_FAULT_GUARD_INJECT_H
#define TESTS_FAULT_GUARD_INJECT_H

#include <stdbool.h>

/*
 * name, errno: what may fail, and how it would on a machine that lacks something. Left out is what cannot fail
 * so: close, kill and waitid of our own children, answers to a caller that waits for one, clocks, ids, masks.
 */
/* clang-format off */
#define GUARD_KINDS(X) \
	X(malloc, ENOMEM) X(calloc, ENOMEM) X(realloc, ENOMEM) X(mmap, ENOMEM) X(vfork, EAGAIN) \
	X(clone, EAGAIN) X(pthread_create, EAGAIN) X(open, EMFILE) X(openat, EMFILE) X(openat2, EMFILE) \
	X(pidfd_open, EMFILE) X(pidfd_getfd, EMFILE) X(socketpair, EMFILE) X(eventfd, EMFILE) \
	X(inotify_init1, EMFILE) X(inotify_add_watch, ENOSPC) X(dup2, EBUSY) X(fcntl, EMFILE) \
	X(close_range, ENOMEM) X(pread, EIO) X(read, EINTR) X(write, ENOSPC) X(pwrite, ENOSPC) \
	X(send, ENOBUFS) X(sendmsg, ENOBUFS) X(recv, ENOMEM) X(recvmsg, ENOMEM) X(recv_again, EINTR) \
	X(ppoll, ENOMEM) X(ppoll_again, EINTR) X(poll, ENOMEM) X(process_vm_readv, ENOMEM) \
	X(fstat, ENOMEM) X(stat, ENOMEM) X(fstatat, ENOMEM) X(statx, ENOMEM) X(fstatfs, ENOMEM) \
	X(readlink, ENOMEM) X(readlinkat, ENOMEM) X(getdents64, ENOMEM) X(lseek, EOVERFLOW) \
	X(chdir, ENOMEM) X(fchdir, ENOMEM) X(mkdirat, ENOSPC) X(unlinkat, EBUSY) X(symlinkat, ENOSPC) \
	X(mknodat, ENOSPC) X(flock, ENOLCK) X(ftruncate, EIO) X(prctl, ENOMEM) X(setsid, EPERM) \
	X(setpgid, EPERM) X(getrlimit, EINVAL) X(setrlimit, EPERM) X(unshare, ENOSPC) X(setns, ENOMEM) \
	X(mount, ENOMEM) X(umount2, EBUSY) X(open_tree, EMFILE) X(move_mount, ENOMEM) \
	X(mount_setattr, ENOMEM) X(fsopen, EMFILE) X(fsconfig, ENOMEM) X(fsmount, EMFILE) \
	X(pivot_root, EBUSY) X(sethostname, EPERM) X(capset, EPERM) X(seccomp, ENOMEM) \
	X(landlock_create_ruleset, EMFILE) X(landlock_add_rule, ENOMEM) \
	X(landlock_restrict_self, ENOMEM) X(execve, ENOMEM)
/* clang-format on */

enum guard_kind {
#define X(name, error) GUARD_##name,
	GUARD_KINDS(X)
#undef X
		GUARD_KINDS_COUNT
};

#define INJECT_FILE "inject"

/* The file: all zero, nothing fails and nothing is counted. */
struct guard_plan {
	int armed, kind, on; /* on: the n-th and all after it, else that one alone */
	unsigned n;          /* 0: none, they are counted */
	unsigned count[GUARD_KINDS_COUNT];
};

/* In mortise-jail-inject: whether this one fails, with errno. */
bool guard_fails(enum guard_kind kind);
bool guard_syscall_fails(long number);

#endif
