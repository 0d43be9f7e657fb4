/* SPDX-License-Identifier: Apache-2.0 */
/* The generated filters, run by a small interpreter of their instructions and compared with the table
 * they come from. */
#include "leak.h"

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "jail/filter/filter.h"

#include "jail/filter/filters.h"

#define SELF   4242u
#define ERR(e) (SECCOMP_RET_ERRNO | (unsigned)(e))

static uint32_t interpret(const struct sock_filter *code, const unsigned short *selves, unsigned self_count,
			  const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (unsigned pc = 0; pc < 4096; pc++) { /* no jump goes back */
		struct sock_filter in = code[pc];

		for (unsigned i = 0; i < self_count; i++)
			if (selves[i] == pc)
				in.k = SELF;
		switch (in.code) {
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)data + in.k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= in.k;
			break;
		case BPF_JMP | BPF_JA:
			pc += in.k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == in.k ? in.jt : in.jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= in.k ? in.jt : in.jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += a & in.k ? in.jt : in.jf;
			break;
		case BPF_RET | BPF_K:
			return in.k;
		default:
			fail_msg("instruction %u is unknown", in.code);
		}
	}
	fail_msg("ran off the end");
	return 0;
}

static uint32_t run(unsigned variant, const struct seccomp_data *data)
{
	const struct mor_filter *filter = &mor_filters[variant];

	return interpret(filter->code, filter->selves, filter->self_count, data);
}

static uint32_t ask(unsigned variant, int nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64, .args = { a0, a1, a2 } };

	return run(variant, &data);
}

static const char *notified_name(int nr)
{
	for (size_t i = 0; i < sizeof(mor_notified) / sizeof(*mor_notified); i++)
		if (mor_notified[i].number == nr)
			return mor_notified[i].name;
	return NULL;
}

static void foreign_interfaces_die(void **state)
{
	struct seccomp_data data = { .nr = 1, .arch = AUDIT_ARCH_I386 };

	(void)state;
	for (unsigned v = 0; v < MOR_FILTERS; v++) {
		assert_int_equal(run(v, &data), SECCOMP_RET_KILL_PROCESS);
		assert_int_equal(ask(v, 0x40000000 | SYS_read, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
		assert_int_equal(ask(v, -1, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
	}
}

static void unknown_calls_do_not_exist(void **state)
{
	(void)state;
	for (unsigned v = 0; v < MOR_FILTERS; v++)
		for (int nr = 470; nr < 4000; nr += 7)
			assert_int_equal(ask(v, nr, 0, 0, 0), ERR(ENOSYS));
}

static void plain_answers(void **state)
{
	(void)state;
	for (unsigned v = 0; v < MOR_FILTERS; v++) {
		assert_int_equal(ask(v, SYS_read, 0, 0, 0), SECCOMP_RET_ALLOW);
		assert_int_equal(ask(v, SYS_io_uring_setup, 0, 0, 0), ERR(ENOSYS));
		assert_int_equal(ask(v, SYS_clone3, 0, 0, 0), ERR(ENOSYS));
		assert_int_equal(ask(v, SYS_seccomp, 0, 0, 0), ERR(ENOSYS));
		assert_int_equal(ask(v, SYS_chown, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_setxattr, 0, 0, 0), ERR(EOPNOTSUPP));
		assert_int_equal(ask(v, SYS_setpriority, PRIO_PROCESS, 0, 5), SECCOMP_RET_ALLOW);
		assert_int_equal(ask(v, SYS_setpriority, PRIO_PROCESS, SELF + 1, 5), ERR(EPERM));
		assert_int_equal(ask(v, SYS_setpriority, PRIO_USER, 0, 5), ERR(EPERM));
		assert_int_equal(ask(v, SYS_setsid, 0, 0, 0), ERR(EPERM));
		assert_int_equal(ask(v, SYS_ptrace, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_execveat, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_mount, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_rename, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	}
}

static void opens(void **state)
{
	(void)state;
	assert_int_equal(ask(0, SYS_openat, 0, 0, O_RDONLY), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(0, SYS_openat, 0, 0, O_PATH | O_CLOEXEC), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(0, SYS_open, 0, O_PATH, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(0, SYS_open, O_PATH, O_RDWR, O_PATH), SECCOMP_RET_USER_NOTIF);
}

static void processes(void **state)
{
	uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;

	(void)state;
	for (unsigned v = 0; v < MOR_FILTERS; v++) {
		assert_int_equal(ask(v, SYS_clone, thread, 0, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_clone, SIGCHLD, 0, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_fork, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_vfork, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_clone, thread | CLONE_NEWUSER, 0, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_clone, SIGCHLD | CLONE_PARENT, 0, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_kill, SELF + 1, 9, 0), SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_prlimit64, 0, 7, 0), SECCOMP_RET_ALLOW);
		assert_int_equal(ask(v, SYS_prlimit64, 1, 7, 0), SECCOMP_RET_USER_NOTIF);
	}
	assert_int_equal(ask(0, SYS_kill, SELF, 9, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(0, SYS_setpgid, 0, 0, 0), ERR(EPERM));
	assert_int_equal(ask(MOR_FILTER_SPAWN, SYS_setpgid, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(0, SYS_rt_sigaction, SIGCHLD, 1, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(MOR_FILTER_SPAWN, SYS_rt_sigaction, SIGCHLD, 1, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(MOR_FILTER_SPAWN, SYS_rt_sigaction, SIGCHLD, 0, 1), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(MOR_FILTER_SPAWN, SYS_rt_sigaction, SIGTERM, 1, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(0, SYS_tgkill, SELF, SELF, 6), SECCOMP_RET_ALLOW);
	/* There the number may have become another's. */
	assert_int_equal(ask(MOR_FILTER_SPAWN, SYS_kill, SELF, 9, 0), SECCOMP_RET_USER_NOTIF);
}

/* CVE-2019-10063: the kernel looks at the low half only. */
static void low_halves_count(void **state)
{
	uint64_t high = 1ULL << 32;

	(void)state;
	assert_int_equal(ask(0, SYS_ioctl, 0, TIOCSTI, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(0, SYS_ioctl, 0, TIOCSTI | high, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(0, SYS_ioctl, 0, TIOCLINUX | high, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(0, SYS_ioctl, 0, TCGETS, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(0, SYS_ioctl, 0, 0x40086602 /* FS_IOC_SETFLAGS */, 0), ERR(ENOTTY));
	assert_int_equal(ask(0, SYS_fcntl, 0, F_SETOWN | high, 0), ERR(EPERM));
	assert_int_equal(ask(0, SYS_fcntl, 0, F_SETOWN_EX, 0), ERR(EPERM));
	assert_int_equal(ask(0, SYS_fcntl, 0, F_SETSIG, 0), ERR(EPERM));
	assert_int_equal(ask(0, SYS_fcntl, 0, F_GETFL, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(0, SYS_fcntl, 0, F_SETFL, O_NONBLOCK), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(0, SYS_fcntl, 0, F_SETFL, O_NONBLOCK | O_ASYNC), ERR(EPERM));
	assert_int_equal(ask(0, SYS_ioctl, 0, TCSETSW, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(0, SYS_ioctl, 0, TCSBRK, 0), ERR(ENOTTY));
	assert_int_equal(ask(0, SYS_ioctl, 0, TCSBRK, 1), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(0, SYS_prctl, PR_SET_DUMPABLE | high, 0, 0), ERR(EPERM));
	assert_int_equal(ask(0, SYS_prctl, PR_SET_NAME, 0, 0), SECCOMP_RET_ALLOW);
}

static void sockets(void **state)
{
	static const struct {
		int type, number;
		uint32_t answer;
	} protocols[] = {
		{ SOCK_STREAM, IPPROTO_TCP, SECCOMP_RET_ALLOW },
		{ SOCK_STREAM, 0, SECCOMP_RET_ALLOW },
		{ SOCK_STREAM, 262, ERR(EPROTONOSUPPORT) /* MPTCP */ },
		{ SOCK_STREAM, IPPROTO_SCTP, ERR(EPROTONOSUPPORT) },
		{ SOCK_STREAM, IPPROTO_UDP, ERR(EPROTONOSUPPORT) },
		{ SOCK_DGRAM, IPPROTO_UDP, SECCOMP_RET_ALLOW },
		{ SOCK_DGRAM, 0, SECCOMP_RET_ALLOW },
		{ SOCK_DGRAM, IPPROTO_ICMPV6, SECCOMP_RET_ALLOW },
		{ SOCK_DGRAM, IPPROTO_UDPLITE, ERR(EPROTONOSUPPORT) },
		{ SOCK_DGRAM, 115, ERR(EPROTONOSUPPORT) /* L2TP */ },
		{ SOCK_SEQPACKET, IPPROTO_SCTP, SECCOMP_RET_USER_NOTIF },
		{ SOCK_DCCP, 0, SECCOMP_RET_USER_NOTIF },
	};
	struct seccomp_data to = { .nr = SYS_sendto, .arch = AUDIT_ARCH_X86_64 };

	(void)state;
	assert_int_equal(ask(0, SYS_socket, AF_INET, SOCK_STREAM, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(0, SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(0, SYS_socket, AF_UNIX, SOCK_DGRAM, 0), ERR(EACCES));
	assert_int_equal(ask(0, SYS_socket, AF_NETLINK, SOCK_RAW, 0), ERR(EACCES));
	assert_int_equal(ask(0, SYS_socket, AF_VSOCK, SOCK_STREAM, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(1, SYS_socket, AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(1, SYS_socket, AF_INET6, SOCK_RAW, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(1, SYS_socket, AF_UNIX, SOCK_STREAM, 0), ERR(EACCES));
	assert_int_equal(ask(1, SYS_socket, AF_VSOCK, SOCK_STREAM, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(0, SYS_connect, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(ask(1, SYS_connect, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(1, SYS_bind, 0, 0, 0), SECCOMP_RET_USER_NOTIF);
	for (size_t i = 0; i < sizeof(protocols) / sizeof(*protocols); i++)
		assert_int_equal(ask(1, SYS_socket, AF_INET6, protocols[i].type, protocols[i].number),
				 protocols[i].answer);
	assert_int_equal(run(0, &to), SECCOMP_RET_ALLOW);
	to.args[4] = 8;
	assert_int_equal(run(0, &to), SECCOMP_RET_USER_NOTIF);
	to.args[4] = 1ULL << 40;
	assert_int_equal(run(0, &to), SECCOMP_RET_USER_NOTIF);
}

/* With a list of places a socket does nothing by itself that leads elsewhere. */
static void places(void **state)
{
	static const unsigned variants[] = { MOR_FILTER_PLACES, MOR_FILTER_PLACES + MOR_FILTER_SPAWN };
	static const int asked[] = { SYS_connect, SYS_bind, SYS_listen };
	static const struct {
		int level, option;
	} refused[] = { { IPPROTO_IP, IP_OPTIONS },
			{ IPPROTO_IP, IP_TRANSPARENT },
			{ IPPROTO_IP, IP_UNICAST_IF },
			{ IPPROTO_IP, IP_PKTINFO },
			{ IPPROTO_IPV6, IPV6_RTHDR },
			{ IPPROTO_IPV6, IPV6_PKTINFO },
			{ IPPROTO_IPV6, IPV6_HOPOPTS },
			{ IPPROTO_IPV6, IPV6_ADDRFORM },
			{ IPPROTO_TCP, TCP_FASTOPEN },
			{ IPPROTO_TCP, TCP_FASTOPEN_CONNECT },
			{ IPPROTO_TCP, TCP_ULP },
			{ IPPROTO_TCP, TCP_REPAIR },
			{ SOL_SOCKET, SO_BINDTODEVICE },
			{ SOL_SOCKET, SO_BINDTOIFINDEX },
			{ SOL_SOCKET, SO_MARK },
			{ SOL_SOCKET, SO_ATTACH_FILTER },
			{ IPPROTO_UDP, 1 },
			{ 0xffff, 1 } };

	(void)state;
	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
		unsigned v = variants[i];

		for (size_t k = 0; k < sizeof(asked) / sizeof(*asked); k++)
			assert_int_equal(ask(v, asked[k], 0, 0, 0), SECCOMP_RET_USER_NOTIF);
		for (size_t k = 0; k < sizeof(refused) / sizeof(*refused); k++)
			assert_int_equal(ask(v, SYS_setsockopt, 3, (uint64_t)refused[k].level,
					     (uint64_t)refused[k].option),
					 ERR(ENOPROTOOPT));
		assert_int_equal(ask(v, SYS_setsockopt, 3, IPPROTO_TCP, TCP_NODELAY), SECCOMP_RET_ALLOW);
		assert_int_equal(ask(v, SYS_setsockopt, 3, SOL_SOCKET, SO_KEEPALIVE), SECCOMP_RET_ALLOW);
		assert_int_equal(ask(v, SYS_socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0),
				 SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_socket, AF_INET6, SOCK_STREAM, IPPROTO_TCP),
				 SECCOMP_RET_USER_NOTIF);
		assert_int_equal(ask(v, SYS_socket, AF_INET6, SOCK_STREAM, 262), ERR(EPROTONOSUPPORT));
		assert_int_equal(ask(v, SYS_socket, AF_INET, SOCK_DGRAM, 0), ERR(EACCES));
		assert_int_equal(ask(v, SYS_sendmsg, 3, 0, MSG_FASTOPEN), ERR(EOPNOTSUPP));
		assert_int_equal(ask(v, SYS_sendmsg, 3, 0, MSG_NOSIGNAL), SECCOMP_RET_ALLOW);
		assert_int_equal(ask(v, SYS_ioctl, 3, SIOCGIFCONF, 0), ERR(ENOTTY));
	}
	assert_int_equal(ask(MOR_FILTER_NETWORK, SYS_ioctl, 3, SIOCGIFCONF, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(MOR_FILTER_NETWORK, SYS_setsockopt, 3, IPPROTO_IP, IP_OPTIONS), SECCOMP_RET_ALLOW);
}

/* The guardian's own list: what it needs is open, all else ends it. */
static void guardian(void **state)
{
	static const int needs[] = { SYS_ppoll,        SYS_poll,        SYS_process_vm_readv,
				     SYS_openat2,      SYS_openat,      SYS_readlinkat,
				     SYS_fstat,        SYS_close,       SYS_kill,
				     SYS_pidfd_open,   SYS_pidfd_getfd, SYS_pidfd_send_signal,
				     SYS_waitid,       SYS_unlinkat,    SYS_exit_group,
				     SYS_rt_sigreturn, SYS_sendmsg,     SYS_recvmsg,
				     SYS_renameat2,    SYS_linkat,      SYS_utimensat };
	/* The last ones were open as long as there was a list of what is forbidden. */
	static const int never[] = { SYS_execve,          SYS_execveat, SYS_fork,
				     SYS_clone,           SYS_clone3,   SYS_mount,
				     SYS_setns,           SYS_bpf,      SYS_keyctl,
				     SYS_io_uring_setup,  SYS_setuid,   SYS_shmget,
				     SYS_ptrace,          SYS_prctl,    SYS_rt_sigaction,
				     SYS_process_madvise, SYS_setxattr, SYS_landlock_create_ruleset,
				     SYS_socket,          SYS_connect };
	static const struct {
		unsigned variant;
		int nr;
		bool done;
	} networks[] = { { MOR_FILTER_PLAIN, SYS_bind, true },      { MOR_FILTER_NETWORK, SYS_bind, true },
			 { MOR_FILTER_PLAIN, SYS_listen, true },    { MOR_FILTER_NETWORK, SYS_listen, false },
			 { MOR_FILTER_NETWORK, SYS_socket, false }, { MOR_FILTER_NETWORK, SYS_connect, false },
			 { MOR_FILTER_PLACES, SYS_socket, true },   { MOR_FILTER_PLACES, SYS_connect, true },
			 { MOR_FILTER_PLACES, SYS_bind, true },     { MOR_FILTER_PLACES, SYS_listen, true },
			 { MOR_FILTER_PLACES, SYS_clone, false } };
	struct seccomp_data data = { .arch = AUDIT_ARCH_X86_64 };

	(void)state;
	for (size_t i = 0; i < sizeof(networks) / sizeof(*networks); i++) {
		data.nr = networks[i].nr;
		assert_int_equal(interpret(mor_guardian_filters[networks[i].variant].code, NULL, 0, &data),
				 networks[i].done ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS);
	}
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
		data.nr = needs[i];
		assert_int_equal(interpret(mor_guardian_code_0, NULL, 0, &data), SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++) {
		data.nr = never[i];
		assert_int_equal(interpret(mor_guardian_code_0, NULL, 0, &data), SECCOMP_RET_KILL_PROCESS);
	}
	for (data.nr = 470; data.nr < 4000; data.nr++) /* calls of kernels to come */
		assert_int_equal(interpret(mor_guardian_code_0, NULL, 0, &data), SECCOMP_RET_KILL_PROCESS);
}

static uint32_t guardian_does(int nr, uint64_t a1, uint64_t a2)
{
	struct seccomp_data data = { .arch = AUDIT_ARCH_X86_64, .nr = nr, .args = { 7, a1, a2 } };

	return interpret(mor_guardian_code_0, NULL, 0, &data);
}

static void guardian_arguments(void **state)
{
	(void)state;
	assert_int_equal(guardian_does(SYS_ioctl, SECCOMP_IOCTL_NOTIF_RECV, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(guardian_does(SYS_ioctl, SECCOMP_IOCTL_NOTIF_ADDFD, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(guardian_does(SYS_ioctl, 0x402c542b /* TCSETS2 */, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(guardian_does(SYS_ioctl, TIOCSTI, 0), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(guardian_does(SYS_fcntl, F_SETFL, O_APPEND), SECCOMP_RET_ALLOW);
	assert_int_equal(guardian_does(SYS_fcntl, F_SETOWN, 1), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(guardian_does(SYS_mmap, 4096, PROT_READ | PROT_WRITE), SECCOMP_RET_ALLOW);
	assert_int_equal(guardian_does(SYS_mmap, 4096, PROT_READ | PROT_EXEC), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(guardian_does(SYS_mprotect, 4096, PROT_READ | PROT_EXEC), SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(guardian_does(SYS_mprotect, 4096, PROT_READ), SECCOMP_RET_ALLOW);
}

/* Whatever may be asked has a name and a handler. */
static void every_question_is_known(void **state)
{
	(void)state;
	for (unsigned v = 0; v < MOR_FILTERS; v++)
		for (int nr = 0; nr < 470; nr++)
			for (uint64_t arg = 0; arg < 64; arg++)
				if (ask(v, nr, arg << 20, arg, arg) == SECCOMP_RET_USER_NOTIF)
					assert_non_null(notified_name(nr));
	assert_string_equal(notified_name(SYS_openat), "openat");
	assert_string_equal(notified_name(SYS_ioctl), "ioctl");
}

/* ---- every row, as the table means it ---- */

static uint32_t meant_by(int answer, int error)
{
	return answer == MOR_ANSWER_ALLOW  ? SECCOMP_RET_ALLOW :
	       answer == MOR_ANSWER_NOTIFY ? SECCOMP_RET_USER_NOTIF :
	       answer == MOR_ANSWER_DIE    ? SECCOMP_RET_KILL_PROCESS :
					     ERR(error);
}

static bool holds(const struct mor_syscall_test *t, const struct seccomp_data *data)
{
	uint32_t low = (uint32_t)data->args[t->arg], masked = t->mask ? low & t->mask : low;

	return t->op == MOR_TEST_PTR  ? data->args[t->arg] != 0 :
	       t->op == MOR_TEST_ANY  ? low & t->value :
	       t->op == MOR_TEST_SELF ? masked == SELF :
					masked == t->value;
}

static uint32_t meant(const struct mor_syscall_row *row, const struct seccomp_data *data)
{
	const struct mor_syscall_test *t = row->tests;

	while (t && t->op != MOR_TEST_END) {
		bool all = true;

		for (; t->answer == MOR_ANSWER_AND; t++)
			all &= holds(t, data);
		if (all && holds(t, data))
			return meant_by(t->answer, t->error);
		t++;
	}
	return meant_by(row->answer, row->error);
}

static uint32_t near(const struct mor_syscall_test *t, unsigned which)
{
	uint32_t value = t->op == MOR_TEST_SELF ? SELF : t->value;

	return which == 0 ? 0 : which == 1 ? value : which == 2 ? value + 1 : value | ~t->mask;
}

/* Any two tests of the row at once, with values that they look for and their neighbours. */
static void try_row(const struct mor_filter *filter, const struct mor_syscall_row *row, int nr)
{
	static const struct mor_syscall_test none[] = { { 0 } };
	const struct mor_syscall_test *tests = row->tests ? row->tests : none, *one = tests;
	struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64 };

	do {
		for (const struct mor_syscall_test *other = tests; other <= one; other++)
			for (unsigned which = 0; which < 32; which++) {
				uint64_t high = which & 16 ? 1ULL << 40 : 0;

				memset(data.args, 0, sizeof(data.args));
				data.args[other->arg] = near(other, which & 3);
				data.args[one->arg] = near(one, which >> 2 & 3) | high;
				if (interpret(filter->code, filter->selves, filter->self_count, &data) !=
				    meant(row, &data))
					fail_msg("%s: another answer than its row", row->name);
			}
	} while ((one++)->op != MOR_TEST_END);
}

static void try_table(const struct mor_filter *filter, const struct mor_syscall_row *rows, size_t count,
		      unsigned variant, const struct mor_syscall_row *none)
{
	bool seen[470] = { false };

	for (size_t i = 0; i < count; i++) {
		int nr = seccomp_syscall_resolve_name(rows[i].name);

		if (nr == __NR_SCMP_ERROR)
			nr = rows[i].number;
		if (nr < 0 || nr >= 470 || !(rows[i].variants >> variant & 1))
			continue;
		seen[nr] = true;
		try_row(filter, &rows[i], nr);
	}
	for (int nr = 0; nr < 470; nr++)
		if (!seen[nr])
			try_row(filter, none, nr);
}

static void every_row_is_kept(void **state)
{
	static const struct mor_syscall_row missing = { .name = "in no row",
							.answer = MOR_ANSWER_ERRNO,
							.error = ENOSYS },
					    dies = { .name = "in no row", .answer = MOR_ANSWER_DIE };

	(void)state;
	for (unsigned v = 0; v < MOR_FILTERS; v++)
		try_table(&mor_filters[v], mor_syscall_rows, mor_syscall_row_count, v, &missing);
	for (unsigned v = 0; v < MOR_FILTER_SPAWN; v++)
		try_table(&mor_guardian_filters[v], mor_guardian_rows, mor_guardian_row_count, v, &dies);
}

static void table_is_sane(void **state)
{
	(void)state;
	for (size_t i = 0; i < mor_syscall_row_count; i++) {
		const struct mor_syscall_row *row = &mor_syscall_rows[i];

		assert_true(row->variants && row->variants < 1 << MOR_FILTERS);
		assert_true(row->notify < MOR_N_COUNT);
		for (size_t j = 0; j < i; j++)
			if (strcmp(row->name, mor_syscall_rows[j].name) == 0)
				assert_int_equal(row->variants & mor_syscall_rows[j].variants, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(foreign_interfaces_die),
		MOR_TEST(unknown_calls_do_not_exist),
		MOR_TEST(plain_answers),
		MOR_TEST(opens),
		MOR_TEST(processes),
		MOR_TEST(low_halves_count),
		MOR_TEST(sockets),
		MOR_TEST(places),
		MOR_TEST(guardian),
		MOR_TEST(guardian_arguments),
		MOR_TEST(every_question_is_known),
		MOR_TEST(every_row_is_kept),
		MOR_TEST(table_is_sane),
	};

	return mor_run_group("jail/t0_filter", tests);
}
