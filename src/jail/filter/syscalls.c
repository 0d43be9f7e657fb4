/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table. A call that is in no row gets ENOSYS, so new calls of newer kernels open nothing. Comments name
 * the attack that a row stops, if it has a name.
 */
#include "jail/filter/syscalls.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* clang-format off */
#define EVERY 0x3f
#define NET 0x12    /* all of the network */
#define NO_NET 0x2d /* none of it, or places only */
#define NONE 0x09
#define PLACES 0x24
#define NO_SPAWN 0x07
#define SPAWN 0x38

#define ALLOW(name) { name, 0, EVERY, MOR_ANSWER_ALLOW, 0, 0, NULL }
#define ALLOW_NEW(name, nr) { name, nr, EVERY, MOR_ANSWER_ALLOW, 0, 0, NULL }
#define ALLOW_IN(in, name) { name, 0, in, MOR_ANSWER_ALLOW, 0, 0, NULL }
#define QUIET(name, error) { name, 0, EVERY, MOR_ANSWER_ERRNO, 0, error, NULL }
#define QUIET_NEW(name, nr, error) { name, nr, EVERY, MOR_ANSWER_ERRNO, 0, error, NULL }
#define QUIET_IN(in, name, error) { name, 0, in, MOR_ANSWER_ERRNO, 0, error, NULL }
#define ASK(name, what) { name, 0, EVERY, MOR_ANSWER_NOTIFY, what, 0, NULL }
#define ASK_NEW(name, nr, what) { name, nr, EVERY, MOR_ANSWER_NOTIFY, what, 0, NULL }
#define ASK_IN(in, name, what) { name, 0, in, MOR_ANSWER_NOTIFY, what, 0, NULL }
#define TESTED(in, name, answer, what, error, tests) { name, 0, in, answer, what, error, tests }

#define T_ALLOW(what, arg, value) { what, arg, MOR_ANSWER_ALLOW, 0, value, 0 }
#define T_NOTIFY(what, arg, value) { what, arg, MOR_ANSWER_NOTIFY, 0, value, 0 }
#define T_ERRNO(what, arg, value, error) { what, arg, MOR_ANSWER_ERRNO, error, value, 0 }
#define T_AND(arg, value) { MOR_TEST_EQ, arg, MOR_ANSWER_AND, 0, value, 0 }
#define T_END { 0 }
#define EQ MOR_TEST_EQ
#define ANY MOR_TEST_ANY
/* clang-format on */

/* SOCK_CLOEXEC and SOCK_NONBLOCK ride on the type. */
/* clang-format off */
#define T_TYPE(type, answer, error) { MOR_TEST_EQ, 1, answer, error, type, 0xf }
/* clang-format on */

/* A handle without rights: the flag is in a register, and stat() would tell as much. */
static const struct mor_syscall_test open_tests[] = { T_ALLOW(ANY, 1, O_PATH), T_END };
static const struct mor_syscall_test openat_tests[] = { T_ALLOW(ANY, 2, O_PATH), T_END };

/* clang-format off */
/* Without network a stream socket reaches nothing: connect, bind and listen ask the broker. */
static const struct mor_syscall_test socket_tests[] = {
	T_AND(0, AF_UNIX), T_TYPE(SOCK_STREAM, MOR_ANSWER_ALLOW, 0),
	T_AND(0, AF_UNIX), T_TYPE(SOCK_DGRAM, MOR_ANSWER_ERRNO, EACCES),
	T_AND(0, AF_NETLINK), T_ERRNO(EQ, 2, 0, EACCES), T_END
};
#define T_INTERNET(family, type, protocol) \
	T_AND(0, family), T_TYPE(type, MOR_ANSWER_AND, 0), T_ALLOW(EQ, 2, protocol)
#define T_INTERNET_ASK(family, protocol) \
	T_AND(0, family), T_TYPE(SOCK_STREAM, MOR_ANSWER_AND, 0), T_NOTIFY(EQ, 2, protocol)
#define T_NO_OTHER(family, type) T_AND(0, family), T_TYPE(type, MOR_ANSWER_ERRNO, EPROTONOSUPPORT)
/* With network connect() is open, so no unix socket may exist that a race could connect to docker.sock. TCP,
 * UDP and the echoes of ping; other protocols (MPTCP, SCTP, UDP-Lite, L2TP) are as in a kernel without them. */
static const struct mor_syscall_test socket_net_tests[] = {
	T_ERRNO(EQ, 0, AF_UNIX, EACCES),
	T_INTERNET(AF_INET, SOCK_STREAM, 0), T_INTERNET(AF_INET, SOCK_STREAM, IPPROTO_TCP),
	T_INTERNET(AF_INET6, SOCK_STREAM, 0), T_INTERNET(AF_INET6, SOCK_STREAM, IPPROTO_TCP),
	T_INTERNET(AF_INET, SOCK_DGRAM, 0), T_INTERNET(AF_INET, SOCK_DGRAM, IPPROTO_UDP),
	T_INTERNET(AF_INET, SOCK_DGRAM, IPPROTO_ICMP),
	T_INTERNET(AF_INET6, SOCK_DGRAM, 0), T_INTERNET(AF_INET6, SOCK_DGRAM, IPPROTO_UDP),
	T_INTERNET(AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6),
	T_NO_OTHER(AF_INET, SOCK_STREAM), T_NO_OTHER(AF_INET, SOCK_DGRAM),
	T_NO_OTHER(AF_INET6, SOCK_STREAM), T_NO_OTHER(AF_INET6, SOCK_DGRAM),
	T_AND(0, AF_NETLINK), T_ALLOW(EQ, 2, 0), T_END
};
/* With places the broker makes TCP sockets, and nobody makes others. A refused datagram socket is no violation:
 * the C library opens one to sort the addresses that it has found in /etc/hosts. */
static const struct mor_syscall_test socket_places_tests[] = {
	T_AND(0, AF_UNIX), T_TYPE(SOCK_STREAM, MOR_ANSWER_ALLOW, 0),
	T_AND(0, AF_UNIX), T_TYPE(SOCK_DGRAM, MOR_ANSWER_ERRNO, EACCES),
	T_AND(0, AF_INET), T_TYPE(SOCK_DGRAM, MOR_ANSWER_ERRNO, EACCES),
	T_AND(0, AF_INET6), T_TYPE(SOCK_DGRAM, MOR_ANSWER_ERRNO, EACCES),
	T_INTERNET_ASK(AF_INET, 0), T_INTERNET_ASK(AF_INET, IPPROTO_TCP),
	T_INTERNET_ASK(AF_INET6, 0), T_INTERNET_ASK(AF_INET6, IPPROTO_TCP),
	T_NO_OTHER(AF_INET, SOCK_STREAM), T_NO_OTHER(AF_INET6, SOCK_STREAM),
	T_AND(0, AF_NETLINK), T_ERRNO(EQ, 2, 0, EACCES), T_END
};
static const struct mor_syscall_test pair_tests[] = {
	T_AND(0, AF_UNIX), T_TYPE(SOCK_STREAM, MOR_ANSWER_ALLOW, 0),
	T_AND(0, AF_UNIX), T_TYPE(SOCK_DGRAM, MOR_ANSWER_ERRNO, EACCES), T_END
};
/* TCP fast open connects while it sends; Landlock does not see it. */
static const struct mor_syscall_test sendto_tests[] = {
	T_NOTIFY(MOR_TEST_PTR, 4, 0), T_ERRNO(ANY, 3, MSG_FASTOPEN, EOPNOTSUPP), T_END
};
static const struct mor_syscall_test sendmsg_tests[] = { T_ERRNO(ANY, 2, MSG_FASTOPEN, EOPNOTSUPP), T_END };
static const struct mor_syscall_test sendmmsg_tests[] = { T_ERRNO(ANY, 3, MSG_FASTOPEN, EOPNOTSUPP), T_END };

/* What a client sets. Not in the list, and therefore refused: source routes (IP_OPTIONS, IPV6_RTHDR), which
 * lead packets through other places; devices and marks; TCP_FASTOPEN_CONNECT, TCP_REPAIR, TCP_ULP; filters. */
#define T_OPTION(level, option) T_AND(1, level), T_ALLOW(EQ, 2, option)
static const struct mor_syscall_test setsockopt_tests[] = {
	T_OPTION(SOL_SOCKET, SO_REUSEADDR), T_OPTION(SOL_SOCKET, SO_REUSEPORT),
	T_OPTION(SOL_SOCKET, SO_KEEPALIVE), T_OPTION(SOL_SOCKET, SO_LINGER),
	T_OPTION(SOL_SOCKET, SO_OOBINLINE), T_OPTION(SOL_SOCKET, SO_BROADCAST),
	T_OPTION(SOL_SOCKET, SO_SNDBUF), T_OPTION(SOL_SOCKET, SO_RCVBUF), T_OPTION(SOL_SOCKET, SO_RCVLOWAT),
	T_OPTION(SOL_SOCKET, SO_RCVTIMEO), T_OPTION(SOL_SOCKET, SO_SNDTIMEO),
	T_OPTION(SOL_SOCKET, 66 /* SO_RCVTIMEO_NEW */), T_OPTION(SOL_SOCKET, 67 /* SO_SNDTIMEO_NEW */),
	T_OPTION(SOL_SOCKET, SO_PRIORITY), T_OPTION(SOL_SOCKET, SO_TIMESTAMP),
	T_OPTION(SOL_SOCKET, SO_BUSY_POLL), T_OPTION(SOL_SOCKET, SO_PASSCRED),
	T_OPTION(SOL_SOCKET, SO_ZEROCOPY), T_OPTION(SOL_SOCKET, SO_MAX_PACING_RATE),
	T_OPTION(IPPROTO_TCP, TCP_NODELAY), T_OPTION(IPPROTO_TCP, TCP_CORK),
	T_OPTION(IPPROTO_TCP, TCP_MAXSEG), T_OPTION(IPPROTO_TCP, TCP_KEEPIDLE),
	T_OPTION(IPPROTO_TCP, TCP_KEEPINTVL), T_OPTION(IPPROTO_TCP, TCP_KEEPCNT),
	T_OPTION(IPPROTO_TCP, TCP_SYNCNT), T_OPTION(IPPROTO_TCP, TCP_LINGER2),
	T_OPTION(IPPROTO_TCP, TCP_WINDOW_CLAMP), T_OPTION(IPPROTO_TCP, TCP_QUICKACK),
	T_OPTION(IPPROTO_TCP, TCP_CONGESTION), T_OPTION(IPPROTO_TCP, TCP_USER_TIMEOUT),
	T_OPTION(IPPROTO_TCP, TCP_NOTSENT_LOWAT), T_OPTION(IPPROTO_TCP, TCP_THIN_LINEAR_TIMEOUTS),
	T_OPTION(IPPROTO_IP, IP_TOS), T_OPTION(IPPROTO_IP, IP_TTL), T_OPTION(IPPROTO_IP, IP_MTU_DISCOVER),
	T_OPTION(IPPROTO_IP, IP_RECVERR), T_OPTION(IPPROTO_IP, IP_RECVTOS),
	T_OPTION(IPPROTO_IP, 24 /* IP_BIND_ADDRESS_NO_PORT */), T_OPTION(IPPROTO_IPV6, IPV6_V6ONLY),
	T_OPTION(IPPROTO_IPV6, IPV6_TCLASS), T_OPTION(IPPROTO_IPV6, IPV6_UNICAST_HOPS),
	T_OPTION(IPPROTO_IPV6, IPV6_MTU_DISCOVER), T_OPTION(IPPROTO_IPV6, IPV6_RECVERR),
	T_OPTION(IPPROTO_IPV6, IPV6_RECVTCLASS), T_END
};

static const struct mor_syscall_test self_tests[] = { T_ALLOW(MOR_TEST_SELF, 0, 0), T_END };
static const struct mor_syscall_test self_limit_tests[] = {
	T_ALLOW(EQ, 0, 0), T_ALLOW(MOR_TEST_SELF, 0, 0), T_END
};
static const struct mor_syscall_test zero_limit_tests[] = { T_ALLOW(EQ, 0, 0), T_END };
static const struct mor_syscall_test personality_tests[] = { T_ALLOW(EQ, 0, 0xffffffff), T_END };

/* The caller's own niceness, by 0: without capabilities it can only become nicer. */
static const struct mor_syscall_test nice_tests[] = {
	T_AND(0, PRIO_PROCESS), T_ALLOW(EQ, 1, 0), T_END
};
/* See mor_on_handler(). */
static const struct mor_syscall_test handler_tests[] = {
	T_AND(0, SIGCHLD), T_NOTIFY(MOR_TEST_PTR, 1, 0), T_END
};

/* Signals to a foreign owner, and leases that make the host wait, need no right on the file. */
static const struct mor_syscall_test fcntl_tests[] = {
	T_ERRNO(EQ, 1, F_SETOWN, EPERM), T_ERRNO(EQ, 1, F_SETOWN_EX, EPERM), T_ERRNO(EQ, 1, F_SETSIG, EPERM),
	T_ERRNO(EQ, 1, F_SETLEASE, EPERM), T_ERRNO(EQ, 1, F_NOTIFY, EPERM),
	/* on a terminal this alone makes its foreground group the owner, whom input then ends by SIGIO */
	T_AND(1, F_SETFL), T_ERRNO(ANY, 2, O_ASYNC, EPERM), T_END
};

/* A list of what is allowed: FS_IOC_SETFLAGS, verity and the like write through a descriptor opened for
 * reading. */
#define T_IOCTLS \
	T_NOTIFY(EQ, 1, TIOCSTI),    /* CVE-2017-5226 */ \
	T_NOTIFY(EQ, 1, TIOCLINUX),  /* CVE-2023-28100 */ \
	T_ERRNO(EQ, 1, TIOCSCTTY, EPERM), \
	T_ALLOW(EQ, 1, TCGETS), T_ALLOW(EQ, 1, 0x802c542a /* TCGETS2 */), T_NOTIFY(EQ, 1, TCSETS), \
	T_NOTIFY(EQ, 1, TCSETSW), T_NOTIFY(EQ, 1, TCSETSF), T_NOTIFY(EQ, 1, 0x402c542b /* TCSETS2 */), \
	T_NOTIFY(EQ, 1, 0x402c542c /* TCSETSW2 */), T_NOTIFY(EQ, 1, 0x402c542d /* TCSETSF2 */), \
	/* drain, flush; not TCSBRK with 0, a break, which is SysRq on a serial console */ \
	T_AND(1, TCSBRK), T_ALLOW(ANY, 2, 0xffffffff), T_ALLOW(EQ, 1, TCFLSH), \
	T_ALLOW(EQ, 1, TIOCGWINSZ), T_ALLOW(EQ, 1, TIOCGPGRP), T_ALLOW(EQ, 1, TIOCGSID), T_ALLOW(EQ, 1, \
	TIOCOUTQ), \
	T_ALLOW(EQ, 1, FIONREAD), T_ALLOW(EQ, 1, FIONBIO), T_ALLOW(EQ, 1, FIOCLEX), T_ALLOW(EQ, 1, FIONCLEX), \
	T_ALLOW(EQ, 1, FIOQSIZE), T_ALLOW(EQ, 1, 0x40049409 /* FICLONE */), \
	T_ALLOW(EQ, 1, 0x4020940d /* FICLONERANGE */), T_ALLOW(EQ, 1, 0x80086601 /* FS_IOC_GETFLAGS */),
static const struct mor_syscall_test ioctl_tests[] = { T_IOCTLS T_END };
/* Names and addresses of the interfaces: with all of the network granted only. */
static const struct mor_syscall_test ioctl_net_tests[] = {
	T_IOCTLS
	T_ALLOW(EQ, 1, SIOCGIFNAME), T_ALLOW(EQ, 1, SIOCGIFCONF), T_ALLOW(EQ, 1, SIOCGIFFLAGS),
	T_ALLOW(EQ, 1, SIOCGIFADDR), T_ALLOW(EQ, 1, SIOCGIFBRDADDR), T_ALLOW(EQ, 1, SIOCGIFNETMASK),
	T_ALLOW(EQ, 1, SIOCGIFMTU), T_ALLOW(EQ, 1, SIOCGIFHWADDR), T_ALLOW(EQ, 1, SIOCGIFINDEX), T_END
};

/* PR_SET_DUMPABLE is missing on purpose: it would hide the process from the guardian. */
static const struct mor_syscall_test prctl_tests[] = {
	T_ALLOW(EQ, 0, PR_SET_NAME), T_ALLOW(EQ, 0, PR_GET_NAME), T_ALLOW(EQ, 0, PR_GET_DUMPABLE),
	/* Its guardian's death must stay its own: it may only ask for what it has. */
	T_AND(0, PR_SET_PDEATHSIG), T_ALLOW(EQ, 1, SIGKILL), T_ALLOW(EQ, 0, PR_GET_PDEATHSIG), T_ALLOW(EQ, 0,
	PR_CAPBSET_READ),
	T_ALLOW(EQ, 0, PR_SET_NO_NEW_PRIVS), T_ALLOW(EQ, 0, PR_GET_NO_NEW_PRIVS), T_ALLOW(EQ, 0,
	PR_GET_SECCOMP),
	T_ALLOW(EQ, 0, PR_SET_VMA), T_ALLOW(EQ, 0, PR_SET_THP_DISABLE), T_ALLOW(EQ, 0, PR_GET_THP_DISABLE),
	T_ALLOW(EQ, 0, PR_SET_TIMERSLACK), T_ALLOW(EQ, 0, PR_GET_TIMERSLACK),
	T_ALLOW(EQ, 0, PR_GET_SPECULATION_CTRL), T_ALLOW(EQ, 0, PR_GET_KEEPCAPS),
	T_ALLOW(EQ, 0, PR_SET_KEEPCAPS), T_ALLOW(EQ, 0,
	PR_GET_SECUREBITS),
	T_ALLOW(EQ, 0, PR_GET_CHILD_SUBREAPER), T_ALLOW(EQ, 0, PR_GET_TSC), T_ALLOW(EQ, 0, PR_GET_TID_ADDRESS),
	T_END
};

const struct mor_syscall_row mor_syscall_rows[] = {
	/* ---- files: the broker acts for the plugin ---- */
	TESTED(EVERY, "open", MOR_ANSWER_NOTIFY, MOR_N_OPEN, 0, open_tests),
	TESTED(EVERY, "openat", MOR_ANSWER_NOTIFY, MOR_N_OPENAT, 0, openat_tests),
	ASK("openat2", MOR_N_OPENAT2), ASK("creat", MOR_N_CREAT), ASK("truncate", MOR_N_TRUNCATE),
	ASK("mkdir", MOR_N_MKDIR), ASK("mkdirat", MOR_N_MKDIRAT), ASK("mknod", MOR_N_MKNOD),
	ASK("mknodat", MOR_N_MKNODAT), ASK("rmdir", MOR_N_RMDIR), ASK("unlink", MOR_N_UNLINK),
	ASK("unlinkat", MOR_N_UNLINKAT), ASK("rename", MOR_N_RENAME), ASK("renameat", MOR_N_RENAMEAT),
	ASK("renameat2", MOR_N_RENAMEAT2), ASK("link", MOR_N_LINK), ASK("linkat", MOR_N_LINKAT),
	ASK("symlink", MOR_N_SYMLINK), ASK("symlinkat", MOR_N_SYMLINKAT), ASK("chmod", MOR_N_CHMOD),
	ASK("fchmod", MOR_N_FCHMOD), ASK("fchmodat", MOR_N_FCHMODAT), ASK_NEW("fchmodat2", 452,
	MOR_N_FCHMODAT2),
	ASK("utime", MOR_N_UTIME), ASK("utimes", MOR_N_UTIMES), ASK("futimesat", MOR_N_FUTIMESAT),
	ASK("utimensat", MOR_N_UTIMENSAT),
	ASK("chown", MOR_N_CHOWN), ASK("lchown", MOR_N_CHOWN), ASK("fchown", MOR_N_FCHOWN),
	ASK("fchownat", MOR_N_FCHOWNAT),
	/* as a file system without them: cp, tar and install then do without */
	QUIET("setxattr", EOPNOTSUPP), QUIET("lsetxattr", EOPNOTSUPP), QUIET("fsetxattr", EOPNOTSUPP),
	QUIET("removexattr", EOPNOTSUPP), QUIET("lremovexattr", EOPNOTSUPP), QUIET("fremovexattr", EOPNOTSUPP),
	QUIET_NEW("setxattrat", 463, EOPNOTSUPP), QUIET_NEW("removexattrat", 466, EOPNOTSUPP),
	QUIET("sync", EPERM), QUIET("syncfs", EPERM),
	QUIET("inotify_add_watch", ENOSYS),

	/* ---- files: by descriptors, or only names and attributes ---- */
	ALLOW("read"), ALLOW("write"), ALLOW("pread64"), ALLOW("pwrite64"), ALLOW("readv"), ALLOW("writev"),
	ALLOW("preadv"), ALLOW("pwritev"), ALLOW("preadv2"), ALLOW("pwritev2"), ALLOW("lseek"), ALLOW("close"),
	ALLOW("close_range"), ALLOW("dup"), ALLOW("dup2"), ALLOW("dup3"), ALLOW("pipe"), ALLOW("pipe2"),
	ALLOW("poll"), ALLOW("ppoll"), ALLOW("select"), ALLOW("pselect6"), ALLOW("epoll_create"),
	ALLOW("epoll_create1"), ALLOW("epoll_ctl"), ALLOW("epoll_wait"), ALLOW("epoll_pwait"),
	ALLOW("epoll_pwait2"),
	ALLOW("eventfd"), ALLOW("eventfd2"), ALLOW("timerfd_create"), ALLOW("timerfd_settime"),
	ALLOW("timerfd_gettime"), ALLOW("signalfd"), ALLOW("signalfd4"), ALLOW("inotify_init"),
	ALLOW("inotify_init1"), ALLOW("inotify_rm_watch"), ALLOW("flock"), ALLOW("fsync"), ALLOW("fdatasync"),
	ALLOW("sync_file_range"), ALLOW("ftruncate"), ALLOW("fallocate"), ALLOW("fadvise64"),
	ALLOW("readahead"),
	ALLOW("sendfile"), ALLOW("splice"), ALLOW("tee"), ALLOW("vmsplice"), ALLOW("copy_file_range"),
	TESTED(EVERY, "fcntl", MOR_ANSWER_ALLOW, 0, 0, fcntl_tests),
	TESTED(NO_NET, "ioctl", MOR_ANSWER_ERRNO, MOR_N_IOCTL, ENOTTY, ioctl_tests),
	TESTED(NET, "ioctl", MOR_ANSWER_ERRNO, MOR_N_IOCTL, ENOTTY, ioctl_net_tests),
	ALLOW("stat"), ALLOW("fstat"), ALLOW("lstat"), ALLOW("newfstatat"), ALLOW("statx"), ALLOW("access"),
	ALLOW("faccessat"), ALLOW("faccessat2"), ALLOW("readlink"), ALLOW("readlinkat"), ALLOW("getdents"),
	ALLOW("getdents64"), ALLOW("getcwd"), ALLOW("chdir"), ALLOW("fchdir"), ALLOW("statfs"),
	ALLOW("fstatfs"),
	ALLOW("getxattr"), ALLOW("lgetxattr"), ALLOW("fgetxattr"), ALLOW("listxattr"), ALLOW("llistxattr"),
	ALLOW("flistxattr"), ALLOW_NEW("getxattrat", 464), ALLOW_NEW("listxattrat", 465), ALLOW("umask"),

	/* ---- memory ---- */
	ALLOW("mmap"), ALLOW("mprotect"), ALLOW("munmap"), ALLOW("mremap"), ALLOW("madvise"), ALLOW("brk"),
	ALLOW("msync"), ALLOW("mincore"), ALLOW("mlock"), ALLOW("mlock2"), ALLOW("mlockall"), ALLOW("munlock"),
	ALLOW("munlockall"), ALLOW("pkey_alloc"), ALLOW("pkey_free"), ALLOW("pkey_mprotect"),
	ALLOW("memfd_create"),
	ALLOW_NEW("mseal", 462), QUIET("memfd_secret", ENOSYS), QUIET("process_madvise", ENOSYS),
	QUIET("process_mrelease", ENOSYS), QUIET("remap_file_pages", ENOSYS), QUIET("mbind", ENOSYS),
	QUIET("get_mempolicy", ENOSYS), QUIET("set_mempolicy", ENOSYS), QUIET("set_mempolicy_home_node",
	ENOSYS),
	QUIET("migrate_pages", ENOSYS), QUIET("move_pages", ENOSYS),

	/* ---- threads, time, signals to oneself ---- */
	ALLOW("futex"), ALLOW("futex_waitv"), ALLOW_NEW("futex_wake", 454), ALLOW_NEW("futex_wait", 455),
	ALLOW_NEW("futex_requeue", 456), ALLOW("set_robust_list"), ALLOW("rseq"), ALLOW("set_tid_address"),
	ALLOW("membarrier"), ALLOW("arch_prctl"), ALLOW("gettid"), ALLOW("exit"), ALLOW("exit_group"),
	ALLOW("restart_syscall"), QUIET("get_robust_list", ENOSYS),
	ALLOW("clock_gettime"), ALLOW("clock_getres"), ALLOW("clock_nanosleep"), ALLOW("nanosleep"),
	ALLOW("gettimeofday"), ALLOW("time"), ALLOW("times"), ALLOW("getitimer"), ALLOW("setitimer"),
	ALLOW("alarm"),
	ALLOW("timer_create"), ALLOW("timer_settime"), ALLOW("timer_gettime"), ALLOW("timer_getoverrun"),
	ALLOW("timer_delete"), ALLOW("pause"),
	ALLOW_IN(NO_SPAWN, "rt_sigaction"),
	TESTED(SPAWN, "rt_sigaction", MOR_ANSWER_ALLOW, MOR_N_HANDLER, 0, handler_tests),
	ALLOW("rt_sigprocmask"), ALLOW("rt_sigpending"), ALLOW("rt_sigsuspend"),
	ALLOW("rt_sigtimedwait"), ALLOW("rt_sigreturn"), ALLOW("sigaltstack"),
	/* With spawn our own number may be another's after we are gone: always ask there. */
	TESTED(NO_SPAWN, "kill", MOR_ANSWER_NOTIFY, MOR_N_SIGNAL, 0, self_tests), ASK_IN(SPAWN, "kill",
	MOR_N_SIGNAL),
	TESTED(NO_SPAWN, "tgkill", MOR_ANSWER_NOTIFY, MOR_N_SIGNAL, 0, self_tests),
	ASK_IN(SPAWN, "tgkill", MOR_N_SIGNAL),
	QUIET("tkill", EPERM), ASK("rt_sigqueueinfo", MOR_N_SIGNAL), ASK("rt_tgsigqueueinfo", MOR_N_SIGNAL),

	/* ---- who and where we are ---- */
	ALLOW("getpid"), ALLOW("getppid"), ALLOW("getpgrp"), ALLOW("getpgid"), ALLOW("getsid"), ALLOW("getuid"),
	ALLOW("geteuid"), ALLOW("getgid"), ALLOW("getegid"), ALLOW("getresuid"), ALLOW("getresgid"),
	ALLOW("getgroups"), ALLOW("capget"), ALLOW("uname"), ALLOW("sysinfo"), ALLOW("getrusage"),
	ALLOW("getrlimit"),
	ALLOW("setrlimit"), ALLOW("getcpu"), ALLOW("getrandom"), ALLOW("getpriority"), ALLOW("ioprio_get"),
	ALLOW("sched_yield"), ALLOW("sched_getaffinity"), ALLOW("sched_getparam"), ALLOW("sched_getscheduler"),
	ALLOW("sched_getattr"), ALLOW("sched_get_priority_max"), ALLOW("sched_get_priority_min"),
	ALLOW("sched_rr_get_interval"),
	TESTED(NO_SPAWN, "prlimit64", MOR_ANSWER_NOTIFY, MOR_N_LIMITS, 0, self_limit_tests),
	TESTED(SPAWN, "prlimit64", MOR_ANSWER_NOTIFY, MOR_N_LIMITS, 0, zero_limit_tests),
	TESTED(EVERY, "personality", MOR_ANSWER_ERRNO, 0, EPERM, personality_tests),
	TESTED(EVERY, "prctl", MOR_ANSWER_ERRNO, 0, EPERM, prctl_tests),
	/* They are counted and found by their session. */
	QUIET("setsid", EPERM), QUIET_IN(NO_SPAWN, "setpgid", EPERM), ASK_IN(SPAWN, "setpgid", MOR_N_GROUP),
	TESTED(EVERY, "setpriority", MOR_ANSWER_ERRNO, 0, EPERM, nice_tests), QUIET("ioprio_set", EPERM),
	QUIET("sched_setaffinity", EPERM), QUIET("sched_setparam", EPERM), QUIET("sched_setscheduler", EPERM),
	QUIET("sched_setattr", EPERM),
	ASK("setuid", MOR_N_IDS), ASK("setgid", MOR_N_IDS), ASK("setreuid", MOR_N_IDS),
	ASK("setregid", MOR_N_IDS), ASK("setresuid", MOR_N_IDS), ASK("setresgid", MOR_N_IDS),
	ASK("setfsuid", MOR_N_IDS), ASK("setfsgid", MOR_N_IDS), ASK("setgroups", MOR_N_IDENTITY),
	ASK("capset", MOR_N_IDS),
	ALLOW("landlock_create_ruleset"), ALLOW("landlock_add_rule"), ALLOW("landlock_restrict_self"),

	/* ---- processes ---- */
	ASK("execve", MOR_N_EXECVE), ASK("execveat", MOR_N_SPAWN),
	ASK("fork", MOR_N_FORK), ASK("vfork", MOR_N_FORK), /* with spawn they are counted */
	ASK("clone", MOR_N_FORK), /* ... and threads always */
	QUIET("clone3", ENOSYS), /* its flags are in memory (CVE-2021-41133); C libraries fall back to clone */
	ALLOW("wait4"), ALLOW("waitid"),
	ASK("ptrace", MOR_N_INSPECT), ASK("process_vm_readv", MOR_N_INSPECT), ASK("process_vm_writev",
	MOR_N_INSPECT),
	ASK("pidfd_getfd", MOR_N_INSPECT), ASK("kcmp", MOR_N_INSPECT),
	ASK_IN(NO_SPAWN, "pidfd_open", MOR_N_INSPECT), QUIET_IN(SPAWN, "pidfd_open", ENOSYS),
	ASK_IN(NO_SPAWN, "pidfd_send_signal", MOR_N_INSPECT), QUIET_IN(SPAWN, "pidfd_send_signal", ENOSYS),

	/* ---- sockets ---- */
	TESTED(NONE, "socket", MOR_ANSWER_NOTIFY, MOR_N_SOCKET, 0, socket_tests),
	TESTED(NET, "socket", MOR_ANSWER_NOTIFY, MOR_N_SOCKET, 0, socket_net_tests),
	TESTED(PLACES, "socket", MOR_ANSWER_NOTIFY, MOR_N_SOCKET, 0, socket_places_tests),
	TESTED(EVERY, "socketpair", MOR_ANSWER_NOTIFY, MOR_N_PAIR, 0, pair_tests),
	ASK_IN(NO_NET, "connect", MOR_N_CONNECT), ALLOW_IN(NET, "connect"),
	ASK("bind", MOR_N_BIND),
	ASK_IN(NO_NET, "listen", MOR_N_LISTEN), ALLOW_IN(NET, "listen"),
	ALLOW("accept"), ALLOW("accept4"), /* of a socket that listens; which does is decided above */
	TESTED(NO_NET, "sendto", MOR_ANSWER_ALLOW, MOR_N_NETWORK, 0, sendto_tests), ALLOW_IN(NET, "sendto"),
	TESTED(NO_NET, "sendmsg", MOR_ANSWER_ALLOW, 0, 0, sendmsg_tests), ALLOW_IN(NET, "sendmsg"),
	TESTED(NO_NET, "sendmmsg", MOR_ANSWER_ALLOW, 0, 0, sendmmsg_tests), ALLOW_IN(NET, "sendmmsg"),
	TESTED(PLACES, "setsockopt", MOR_ANSWER_ERRNO, 0, ENOPROTOOPT, setsockopt_tests),
	ALLOW_IN(EVERY & ~PLACES, "setsockopt"), ALLOW("recvfrom"), ALLOW("recvmsg"), ALLOW("recvmmsg"),
	ALLOW("shutdown"), ALLOW("getsockopt"), ALLOW("getsockname"), ALLOW("getpeername"),

	/* ---- other channels between processes ---- */
	ASK("shmget", MOR_N_IPC), ASK("shmat", MOR_N_IPC), ASK("shmdt", MOR_N_IPC), ASK("shmctl", MOR_N_IPC),
	ASK("msgget", MOR_N_IPC), ASK("msgsnd", MOR_N_IPC), ASK("msgrcv", MOR_N_IPC), ASK("msgctl", MOR_N_IPC),
	ASK("semget", MOR_N_IPC), ASK("semop", MOR_N_IPC), ASK("semtimedop", MOR_N_IPC), ASK("semctl",
	MOR_N_IPC),
	ASK("mq_open", MOR_N_IPC), ASK("mq_unlink", MOR_N_IPC),
	ASK("add_key", MOR_N_KEYS), ASK("request_key", MOR_N_KEYS), ASK("keyctl", MOR_N_KEYS),

	/* ---- mounts and namespaces ---- */
	ASK("mount", MOR_N_MOUNT), ASK("umount2", MOR_N_MOUNT), ASK("pivot_root", MOR_N_MOUNT),
	ASK("chroot", MOR_N_NAMESPACE), ASK("open_tree", MOR_N_MOUNT), ASK("move_mount", MOR_N_MOUNT),
	ASK("fsopen", MOR_N_MOUNT), ASK("fsconfig", MOR_N_MOUNT), ASK("fsmount", MOR_N_MOUNT),
	ASK("fspick", MOR_N_MOUNT), ASK("mount_setattr", MOR_N_MOUNT), ASK_NEW("open_tree_attr", 467,
	MOR_N_MOUNT),
	ASK("unshare", MOR_N_NAMESPACE), ASK("setns", MOR_N_MOUNT), ASK("name_to_handle_at", MOR_N_HANDLE),
	ASK("open_by_handle_at", MOR_N_MOUNT), /* "shocker": a handle has no parents */
	QUIET_NEW("statmount", 457, ENOSYS), QUIET_NEW("listmount", 458, ENOSYS),

	/* ---- the kernel itself ---- */
	QUIET("io_uring_setup", ENOSYS), QUIET("io_uring_enter", ENOSYS), /* runs calls that no filter sees; */
	QUIET("io_uring_register", ENOSYS),
	/* never a kill: libuv asks for it unconditionally (CVE-2024-22017) */
	QUIET("io_setup", ENOSYS), QUIET("io_submit", ENOSYS), QUIET("seccomp", ENOSYS),
	ASK("bpf", MOR_N_KERNEL), ASK("perf_event_open", MOR_N_SYSTEM), ASK("userfaultfd", MOR_N_SYSTEM),
	ASK("fanotify_init", MOR_N_SYSTEM), ASK("fanotify_mark", MOR_N_SYSTEM), ASK("init_module",
	MOR_N_KERNEL),
	ASK("finit_module", MOR_N_KERNEL), ASK("delete_module", MOR_N_KERNEL), ASK("kexec_load", MOR_N_KERNEL),
	ASK("kexec_file_load", MOR_N_KERNEL), ASK("reboot", MOR_N_KERNEL), ASK("swapon", MOR_N_KERNEL),
	ASK("swapoff", MOR_N_KERNEL), ASK("acct", MOR_N_KERNEL), ASK("settimeofday", MOR_N_SYSTEM),
	ASK("clock_settime", MOR_N_SYSTEM), ASK("clock_adjtime", MOR_N_SYSTEM), ASK("adjtimex", MOR_N_SYSTEM),
	ASK("sethostname", MOR_N_SYSTEM), ASK("setdomainname", MOR_N_SYSTEM), ASK("syslog", MOR_N_SYSTEM),
	ASK("quotactl", MOR_N_KERNEL), ASK("quotactl_fd", MOR_N_KERNEL), ASK("vhangup", MOR_N_SYSTEM),
	ASK("iopl", MOR_N_KERNEL), ASK("ioperm", MOR_N_KERNEL), ASK("modify_ldt", MOR_N_SYSTEM),
	ASK("uselib", MOR_N_SYSTEM),
};
/* clang-format on */
const size_t mor_syscall_row_count = sizeof(mor_syscall_rows) / sizeof(*mor_syscall_rows);
