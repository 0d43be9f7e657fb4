/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the guardian itself may still call once its plugin runs, in all its threads. An attacker who takes over
 * a broker gets these calls, under Landlock and without capabilities, and nothing else.
 *
 * TO ADD A CALL: write a row below, into the group where it belongs, with a test of its arguments if one
 * argument decides what it can do. A call that is in no row ends the guardian: a release build by
 * SECCOMP_RET_KILL_PROCESS, any other build with the call's name in the error text of its host.
 */
#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include "jail/filter/syscalls.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

/* clang-format off */
/* The plugin's network (enum mor_filter_variant, without spawn), and the same three with sanitizers. */
#define WITH(variant) (1 << (variant) | 1 << ((variant) + MOR_FILTER_SPAWN))
#define NET WITH(MOR_FILTER_NETWORK)
#define PLACES WITH(MOR_FILTER_PLACES)
#define NO_NET (WITH(MOR_FILTER_PLAIN) | PLACES)
#define EVERY (WITH(MOR_FILTER_PLAIN) | NET | PLACES)
#define SANITIZED 0x38

#define MAY(name) { name, 0, EVERY, MOR_ANSWER_ALLOW, 0, 0, NULL }
#define MAY_NEW(name, nr) { name, nr, EVERY, MOR_ANSWER_ALLOW, 0, 0, NULL }
#define MAY_IN(in, name) { name, 0, in, MOR_ANSWER_ALLOW, 0, 0, NULL }
#define MAY_IF(name, tests) { name, 0, EVERY, MOR_ANSWER_DIE, 0, 0, tests }
#define MAY_UNLESS(name, tests) { name, 0, EVERY, MOR_ANSWER_ALLOW, 0, 0, tests }
#define IF(arg, value) { MOR_TEST_EQ, arg, MOR_ANSWER_ALLOW, 0, value, 0 }
#define UNLESS(arg, bits) { MOR_TEST_ANY, arg, MOR_ANSWER_DIE, 0, bits, 0 }
#define T_END { 0 }

/* The first two are made for every open of the plugin. */
static const struct mor_syscall_test ioctl_tests[] = {
	IF(1, (uint32_t)SECCOMP_IOCTL_NOTIF_RECV), IF(1, (uint32_t)SECCOMP_IOCTL_NOTIF_ADDFD),
	IF(1, (uint32_t)SECCOMP_IOCTL_NOTIF_SEND), IF(1, (uint32_t)SECCOMP_IOCTL_NOTIF_ID_VALID),
	IF(1, (uint32_t)SECCOMP_IOCTL_NOTIF_SET_FLAGS),
	IF(1, 0x802c542a /* TCGETS2 */), IF(1, 0x402c542b /* TCSETS2 */), /* terminal.c */
	IF(1, TCGETS), /* isatty(), of a sanitizer that reports */
	IF(1, (uint32_t)FS_IOC_GETFLAGS), /* fold.c: does case count here? */
	T_END
};
static const struct mor_syscall_test fcntl_tests[] = {
	IF(1, F_SETFL), IF(1, F_GETFL), IF(1, F_DUPFD_CLOEXEC), IF(1, F_SETFD), IF(1, F_GETFD),
	IF(1, F_ADD_SEALS), T_END
};
/* No new code: what is not mapped by now is never run. */
static const struct mor_syscall_test code_tests[] = { UNLESS(2, PROT_EXEC), T_END };
/* A process like ours, under the same locks: it removes a scratch directory with many files. */
static const struct mor_syscall_test fork_tests[] = { IF(0, SIGCHLD), T_END };
static const struct mor_syscall_test batch_tests[] = { IF(1, SCHED_BATCH), T_END };

const struct mor_syscall_row mor_guardian_rows[] = {
	/* ---- descriptors ---- */
	MAY("read"), MAY("write"), MAY("pread64"), MAY("pwrite64"), MAY("readv"), MAY("writev"),
	MAY("pwritev2"), MAY("lseek"), MAY("close"), MAY("poll"), MAY("ppoll"), MAY("flock"),
	MAY("timerfd_settime"), MAY("ftruncate"), MAY("copy_file_range"), MAY("fsync"), MAY("fdatasync"),
	MAY("memfd_create"),
	MAY("inotify_add_watch"), MAY("inotify_rm_watch"), MAY_IF("fcntl", fcntl_tests),
	MAY_IF("ioctl", ioctl_tests),

	/* ---- names: what may be reached is Landlock's to say ---- */
	MAY("open"), MAY("openat"), MAY("openat2"), MAY("stat"), MAY("fstat"), MAY("lstat"),
	MAY("newfstatat"), MAY("statx"), MAY("fstatfs"), MAY("statfs"), MAY("readlink"), MAY("readlinkat"),
	MAY("getdents64"), MAY("access"), MAY("faccessat"), MAY("faccessat2"), MAY("umask"), MAY("mkdir"),
	MAY("mkdirat"), MAY("mknodat"), MAY("unlink"), MAY("unlinkat"), MAY("rmdir"), MAY("rename"),
	MAY("renameat"), MAY("renameat2"), MAY("link"), MAY("linkat"), MAY("symlink"), MAY("symlinkat"),
	MAY("chmod"), MAY("fchmod"), MAY("fchmodat"), MAY_NEW("fchmodat2", 452), MAY("fchownat"),
	MAY("utimensat"),

	/* ---- the plugin's processes ---- */
	MAY("kill"), MAY("pidfd_open"), MAY("pidfd_getfd"), MAY("pidfd_send_signal"),
	MAY("process_vm_readv"), MAY("process_vm_writev"), MAY("waitid"), MAY("getsid"),

	/* ---- messages: to the host and to the maker of views ---- */
	MAY("sendto"), MAY("recvfrom"), MAY("sendmsg"), MAY("recvmsg"),

	/* ---- sockets: made or named for the plugin ---- */
	MAY_IN(PLACES, "socket"), MAY_IN(PLACES, "connect"), MAY("bind"), MAY_IN(NO_NET, "listen"),
	MAY("getsockopt"),

	/* ---- ourselves: memory, threads, signals, time ---- */
	MAY("brk"), MAY("munmap"), MAY("mremap"), MAY("madvise"), MAY_UNLESS("mmap", code_tests),
	MAY_UNLESS("mprotect", code_tests), MAY("futex"), MAY("set_robust_list"), MAY("rseq"),
	MAY("gettid"), MAY("exit"), MAY("exit_group"), MAY("sched_yield"), MAY("sched_getscheduler"),
	MAY_IF("sched_setscheduler", batch_tests), MAY_IF("clone", fork_tests), MAY("rt_sigprocmask"),
	MAY("rt_sigtimedwait"), MAY("rt_sigreturn"), MAY("restart_syscall"), MAY("getpid"),
	MAY("getppid"), MAY("getuid"), MAY("geteuid"), MAY("getgid"), MAY("getegid"),
	MAY("getresuid"), MAY("getresgid"), MAY("getgroups"), MAY("getrandom"),
	MAY("clock_gettime"), MAY("gettimeofday"), MAY("clock_nanosleep"), MAY("nanosleep"),

	/* ---- what the sanitizers' run-time needs to print a report, and to end ---- */
	MAY_IN(SANITIZED, "sigaltstack"), MAY_IN(SANITIZED, "rt_sigaction"),
	MAY_IN(SANITIZED, "getrusage"), MAY_IN(SANITIZED, "getrlimit"), MAY_IN(SANITIZED, "prlimit64"),
	MAY_IN(SANITIZED, "prctl"), MAY_IN(SANITIZED, "uname"), MAY_IN(SANITIZED, "sysinfo"),
	MAY_IN(SANITIZED, "mincore"), MAY_IN(SANITIZED, "tgkill"), MAY_IN(SANITIZED, "arch_prctl"),
	MAY_IN(SANITIZED, "sched_getaffinity"),
};
/* clang-format on */
const size_t mor_guardian_row_count = sizeof(mor_guardian_rows) / sizeof(*mor_guardian_rows);
