/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out by trying what this kernel and this user's session allow. No probe leaves anything behind. Those
 * that would change the process run in a child made with clone (no handlers and no exit functions run in
 * it), which is reaped before the probe returns. Any thread may call them.
 */
#ifndef MOR_POLICY_PROBE_H
#define MOR_POLICY_PROBE_H

#include <stdbool.h>
#include <stdint.h>

/* Landlock's ABI, from 1; 0: the kernel was built without it or it is switched off; *ret_errno says which
 * (ENOSYS, EOPNOTSUPP). */
int mor_probe_landlock(int *ret_errno);
/* What each ABI added, and what else stops the same thing. Ends with abi 0. */
struct mor_landlock_abi {
	int abi;
	const char *kernel, *adds, *otherwise;
};
extern const struct mor_landlock_abi mor_landlock_abis[];

struct mor_probe_seccomp {
	/* 0: a filter with a listener can be installed; else the errno (EBUSY: a process above us listens) */
	int filter;
	bool killable;    /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19 */
	bool add_fd_send; /* SECCOMP_ADDFD_FLAG_SEND, Linux 5.14 */
	bool sync_wake;   /* SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, Linux 6.6 */
};
void mor_probe_seccomp(struct mor_probe_seccomp *ret);

/* Each 0, or the errno of the refusal. */
struct mor_probe_namespaces {
	int user, pid, mount, net, ipc;
	int uts; /* with a host name of its own */
	/* inside: make mounts private, mount a tmpfs, write the id map: the first steps of t1 */
	int minimal_root;
	int proc; /* inside, with a PID namespace: a /proc of its own; refused where ours is masked */
};
void mor_probe_namespaces(struct mor_probe_namespaces *ret);

/* pidfd_getfd: 0, or the errno of the refusal. Docker allows it with CAP_SYS_PTRACE only. */
int mor_probe_getfd(void);

enum { MOR_CONTAINER_NAME = 24 };
/* "docker", "podman", "kubernetes", or how another manager calls itself; "": none is known. By the files that
 * they leave below `root` (""; a test has another) and by the environment. */
void mor_probe_container(const char *root, char name[MOR_CONTAINER_NAME]);

/* The number in a file of /proc/sys; -1: it does not exist. */
int64_t mor_probe_sysctl(const char *path);

#endif
