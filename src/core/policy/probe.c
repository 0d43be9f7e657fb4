/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock, seccomp, namespaces: we try them and do not guess from a version number. */
#include "policy/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/text.h"

/* ---- Landlock ---- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif
#define LANDLOCK_VERSION 1U /* LANDLOCK_CREATE_RULESET_VERSION */

const struct mor_landlock_abi mor_landlock_abis[] = {
	{ 1, "5.13", "reading, writing, making, removing and running files", "the broker" },
	{ 2, "5.19", "moving and linking files between directories", "the broker" },
	{ 3, "6.2", "truncating files", "the broker, which sees truncate() and O_TRUNC" },
	{ 4, "6.7", "TCP connect and bind", "the filter: there is no socket to connect" },
	{ 5, "6.10", "ioctl on devices",
	  "the filter and the broker: no device but null, zero, full and random can be opened" },
	{ 6, "6.12", "signals and abstract sockets out of the sandbox",
	  "the filter: kill, F_SETOWN and socket are refused" },
	{ 7, "6.15", "records of denials in the audit log", "the guardian's own records" },
	{ 0 },
};

int mor_probe_landlock(int *ret_errno)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);

	if (abi > 0) {
		*ret_errno = 0;
		return (int)abi;
	}
	*ret_errno = abi < 0 ? errno : ENOSYS;
	return 0;
}

/* ---- children ---- */

typedef int child_fn(void *arg);

/* Runs fn in a child with new namespaces and returns its result (an errno below 256). -errno if no child
 * could be made. No exit signal: SIGCHLD belongs to the embedder. */
static int in_child(unsigned long namespaces, child_fn *fn, void *arg)
{
	long pid = syscall(SYS_clone, namespaces, NULL, NULL, NULL, NULL);
	int status = 0, r;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(fn ? fn(arg) & 0xff : 0);
	do
		r = waitpid((pid_t)pid, &status, __WALL);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

/* ---- seccomp ---- */

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_ADDFD_FLAG_SEND
#define SECCOMP_ADDFD_FLAG_SEND (1UL << 1)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define SYNC_WAKE_UP 1UL

enum { GOT_KILLABLE = 1, GOT_SEND = 2, GOT_SYNC = 4, GOT_LISTENER = 8 };

static int install(unsigned long flags)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = { .len = 1, .filter = &allow };

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* Uses a notification that does not exist: ENOENT if the flag is known, EINVAL if it is not. */
static int features_of(int listener)
{
	struct seccomp_notif_addfd add = { .id = 1, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = STDERR_FILENO };
	int got = GOT_LISTENER;

	/* srcfd must exist, or EBADF comes first. */
	add.srcfd = (unsigned)listener;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 && errno == ENOENT)
		got |= GOT_SEND;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) == 0)
		got |= GOT_SYNC;
	return got;
}

/* Bits on success; 128 + errno on failure (all possible errors are below 128). */
static int try_seccomp(void *arg)
{
	int listener, got = GOT_KILLABLE;

	(void)arg;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 128 + errno;
	listener = install(SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	if (listener < 0 && errno == EINVAL) {
		got = 0;
		listener = install(SECCOMP_FILTER_FLAG_NEW_LISTENER);
	}
	return listener < 0 ? 128 + errno : got | features_of(listener);
}

void mor_probe_seccomp(struct mor_probe_seccomp *ret)
{
	int got = in_child(0, try_seccomp, NULL);

	*ret = (struct mor_probe_seccomp){ 0 };
	if (got < 0 || got >= 128) {
		ret->filter = got < 0 ? -got : got - 128;
		return;
	}
	/* Neither bits nor an error: the child was killed, perhaps by a filter above us. */
	if (!(got & GOT_LISTENER))
		ret->filter = EIO;
	ret->killable = got & GOT_KILLABLE;
	ret->add_fd_send = got & GOT_SEND;
	ret->sync_wake = got & GOT_SYNC;
}

/* ---- namespaces ---- */

static int namespace_error(unsigned long flags, child_fn *fn)
{
	int r = in_child(flags, fn, NULL);

	return r < 0 ? -r : r;
}

/* Written before the child is made: the child must not call anything that takes a lock. */
struct id_map {
	char uid[40], gid[40];
};

static int write_all(const char *path, const char *text)
{
	ssize_t len = (ssize_t)strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC), saved = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, (size_t)len) != len)
		saved = errno ? errno : EIO;
	close(fd);
	return saved;
}

/* Ubuntu's AppArmor allows making the namespace, but nothing inside it. So we try the first steps of t1. */
static int try_root(void *arg)
{
	const struct id_map *ids = arg;
	int r = write_all("/proc/self/setgroups", "deny");

	if (r == 0)
		r = write_all("/proc/self/uid_map", ids->uid);
	if (r == 0)
		r = write_all("/proc/self/gid_map", ids->gid);
	if (r == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		r = errno;
	if (r == 0 && mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") < 0)
		r = errno;
	return r;
}

/* In a namespace of its own: no other program sees it. Podman's profile refuses it. */
static int try_name(void *arg)
{
	(void)arg;
	return sethostname("mortise", 7) < 0 ? errno : 0;
}

/* Such a mount must not show more than the /proc that is there: one that a container has masked in parts is an
 * obstacle that no other probe meets. */
static int try_proc(void *arg)
{
	int r = try_root(arg);

	return r == 0 && mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ? errno : r;
}

/* A root with all capabilities could make the others without a user namespace. t1 never does that, so we do
 * not either. */
void mor_probe_namespaces(struct mor_probe_namespaces *ret)
{
	struct id_map ids;
	int r;

	snprintf(ids.uid, sizeof(ids.uid), "%u %u 1\n", (unsigned)geteuid(), (unsigned)geteuid());
	snprintf(ids.gid, sizeof(ids.gid), "%u %u 1\n", (unsigned)getegid(), (unsigned)getegid());
	ret->user = namespace_error(CLONE_NEWUSER, NULL);
	ret->pid = namespace_error(CLONE_NEWUSER | CLONE_NEWPID, NULL);
	ret->mount = namespace_error(CLONE_NEWUSER | CLONE_NEWNS, NULL);
	ret->net = namespace_error(CLONE_NEWUSER | CLONE_NEWNET, NULL);
	ret->ipc = namespace_error(CLONE_NEWUSER | CLONE_NEWIPC, NULL);
	ret->uts = namespace_error(CLONE_NEWUSER | CLONE_NEWUTS, try_name);
	r = in_child(CLONE_NEWUSER | CLONE_NEWNS, try_root, &ids);
	ret->minimal_root = r < 0 ? -r : r;
	r = in_child(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, try_proc, &ids);
	ret->proc = r < 0 ? -r : r;
}

/* ---- descriptors of others ---- */

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

int mor_probe_getfd(void)
{
	/* There is no such process: EBADF is what a kernel says that would do it. */
	return syscall(SYS_pidfd_getfd, -1, -1, 0) < 0 && errno != EBADF ? errno : 0;
}

/* ---- containers ---- */

/* Kubernetes first: below it is an engine that leaves its own marks. */
void mor_probe_container(const char *root, char name[MOR_CONTAINER_NAME])
{
	static const struct {
		const char *path, *name;
	} marks[] = {
		{ "/var/run/secrets/kubernetes.io", "kubernetes" },
		{ "/.dockerenv", "docker" },
		{ "/run/.containerenv", "podman" },
	};
	char whole[256];
	const char *told = getenv("container"); /* systemd.io/CONTAINER_INTERFACE: managers set it */

	name[0] = '\0';
	if (getenv("KUBERNETES_SERVICE_HOST"))
		told = "kubernetes";
	else
		for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
			if (snprintf(whole, sizeof(whole), "%s%s", root, marks[i].path) >= (int)sizeof(whole) ||
			    access(whole, F_OK) < 0)
				continue;
			told = marks[i].name;
			break;
		}
	if (told)
		mor_printable(mor_slice_of(told), name, MOR_CONTAINER_NAME);
}

/* ---- numbers ---- */

int64_t mor_probe_sysctl(const char *path)
{
	MOR_CLEAN_TEXT char *text = NULL;
	int64_t number = -1;
	size_t len;

	if (mor_fd_read_file(path, 4096, &text, &len) < 0)
		return -1;
	while (len && text[len - 1] == '\n')
		len--;
	return mor_parse_i64((struct mor_slice){ text, len }, &number) ? number : -1;
}
