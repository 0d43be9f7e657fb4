/* SPDX-License-Identifier: Apache-2.0 */
/* Other processes: the victim, which belongs to the same user, and the guardian above us. */
#include "attempt.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

static struct result h_ptrace(const struct stage *s)
{
	return got("seize", ptrace(PTRACE_SEIZE, s->host, NULL, NULL));
}

static struct result h_traceme(const struct stage *s)
{
	(void)s;
	return got("traceme", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static struct result h_vmread(const struct stage *s)
{
	char buf[64];
	struct iovec mine = { buf, sizeof(buf) }, theirs = { (void *)s->address, sizeof(buf) };
	ssize_t n = process_vm_readv(s->host, &mine, 1, &theirs, 1, 0);

	return n > 0 && contains(buf, (size_t)n, SECRET) ? yes("process_vm_readv") : no("process_vm_readv");
}

/* Puts back the byte that is there: harmless, and as much of a write as any. */
static struct result h_vmwrite(const struct stage *s)
{
	char byte = SECRET[0];
	struct iovec mine = { &byte, 1 }, theirs = { (void *)s->address, 1 };

	return got("process_vm_writev", process_vm_writev(s->host, &mine, 1, &theirs, 1, 0));
}

static struct result h_pidfd_getfd(const struct stage *s)
{
	long pidfd = syscall(SYS_pidfd_open, s->host, 0);

	if (pidfd < 0)
		return no("pidfd_open");
	return read_secret("pidfd_getfd", (int)syscall(SYS_pidfd_getfd, pidfd, s->host_fd, 0));
}

static struct result h_pidfd_open(const struct stage *s)
{
	return got("pidfd_open", syscall(SYS_pidfd_open, s->host, 0));
}

static struct result h_pidfd_signal(const struct stage *s)
{
	long pidfd = syscall(SYS_pidfd_open, s->host, 0);

	return got("pidfd_send_signal",
		   pidfd < 0 ? -1 : syscall(SYS_pidfd_send_signal, pidfd, SIGUSR1, NULL, 0));
}

static struct result h_kcmp(const struct stage *s)
{
	return got("kcmp", syscall(SYS_kcmp, getpid(), s->host, 0, 0, 0));
}
static struct result h_kill(const struct stage *s)
{
	return got("kill", kill(s->host, SIGUSR1));
}
static struct result h_kill_probe(const struct stage *s)
{
	return got("kill 0", kill(s->host, 0));
}
static struct result h_tgkill(const struct stage *s)
{
	return got("tgkill", syscall(SYS_tgkill, s->host, s->host, SIGUSR1));
}
static struct result h_tkill(const struct stage *s)
{
	return got("tkill", syscall(SYS_tkill, s->host, SIGUSR1));
}
static struct result h_sigqueue(const struct stage *s)
{
	return got("sigqueue", sigqueue(s->host, SIGUSR1, (union sigval){ .sival_int = 1 }));
}

/* Signal 0: a real signal here would kill the whole machine. */
static struct result h_kill_all(const struct stage *s)
{
	(void)s;
	return got("kill(-1, 0)", kill(-1, 0));
}

static struct result h_kill_parent(const struct stage *s)
{
	(void)s;
	if (getppid() <= 1) { /* in a PID namespace of our own: its init is the guardian */
		return got("kill(1, 0)", kill(1, 0));
	}
	return got("kill(parent, 0)", kill(getppid(), 0));
}

static struct result h_parent_mem(const struct stage *s)
{
	char path[64];

	(void)s;
	snprintf(path, sizeof(path), "/proc/%d/mem", getppid() ? getppid() : 1);
	return got("memory of the guardian", open(path, O_RDWR));
}

static struct result h_ptrace_parent(const struct stage *s)
{
	(void)s;
	return got("seize the guardian", ptrace(PTRACE_SEIZE, getppid() ? getppid() : 1, NULL, NULL));
}

static int sigio_pipe(const struct stage *s, int command)
{
	const struct f_owner_ex owner = { F_OWNER_PID, s->host };
	int pipefd[2];
	int e;

	if (pipe(pipefd) < 0)
		return -1;
	e = command == F_SETOWN_EX ? fcntl(pipefd[0], F_SETOWN_EX, &owner) :
				     fcntl(pipefd[0], F_SETOWN, s->host);
	(void)fcntl(pipefd[0], F_SETSIG, SIGUSR1);
	(void)fcntl(pipefd[0], F_SETFL, O_ASYNC | O_NONBLOCK);
	if (write(pipefd[1], "x", 1) != 1)
		return -1;
	return e;
}

/* Whether the signal arrives only the victim knows; the runner asks it. */
static struct result h_sigio(const struct stage *s)
{
	(void)!sigio_pipe(s, F_SETOWN);
	return no("F_SETOWN");
}

static struct result h_sigio_ex(const struct stage *s)
{
	(void)!sigio_pipe(s, F_SETOWN_EX);
	return no("F_SETOWN_EX");
}

static struct result h_prlimit(const struct stage *s)
{
	struct rlimit old;

	return got("prlimit", prlimit(s->host, RLIMIT_NOFILE, NULL, &old));
}

/* Registers are 64 bits wide, pids and commands are not. */
static struct result h_kill_high(const struct stage *s)
{
	return got("kill with high bits", syscall(SYS_kill, 0x300000000UL | (uint32_t)s->host, SIGUSR1));
}

static struct result h_prlimit_high(const struct stage *s)
{
	struct rlimit old;

	return got("prlimit with high bits",
		   syscall(SYS_prlimit64, 0x300000000UL | (uint32_t)s->host, RLIMIT_NOFILE, NULL, &old));
}

static struct result h_sigio_high(const struct stage *s)
{
	int pipefd[2];

	if (pipe(pipefd) < 0)
		return no("pipe");
	(void)syscall(SYS_fcntl, pipefd[0], 0x300000000UL | F_SETOWN, s->host);
	(void)syscall(SYS_fcntl, pipefd[0], 0x300000000UL | F_SETSIG, SIGUSR1);
	(void)fcntl(pipefd[0], F_SETFL, O_ASYNC | O_NONBLOCK);
	if (write(pipefd[1], "x", 1) != 1)
		return no("write");
	return no("F_SETOWN with high bits");
}

static struct result h_setprio(const struct stage *s)
{
	return got("setpriority", setpriority(PRIO_PROCESS, (id_t)s->host, 5));
}

static struct result h_affinity(const struct stage *s)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return no("sched_getaffinity");
	return got("sched_setaffinity", sched_setaffinity(s->host, sizeof(set), &set));
}

static struct result h_ioprio(const struct stage *s)
{
	return got("ioprio_set", syscall(SYS_ioprio_set, 1, s->host, 2 << 13 | 4));
}

static struct result h_sched(const struct stage *s)
{
	const struct sched_param param = { 0 };

	return got("sched_setscheduler", sched_setscheduler(s->host, SCHED_BATCH, &param));
}

static struct result h_setsid(const struct stage *s)
{
	(void)s;
	return got("setsid", setsid());
}
static struct result h_setpgid(const struct stage *s)
{
	(void)s;
	return got("setpgid", setpgid(0, 0));
}

#define H "host"
const struct attempt host_attempts[] = {
	{ "h_ptrace", H, 56, 'D', 0, 'R', 0, h_ptrace },
	{ "h_traceme", H, 57, 'B', 0, 0, 0, h_traceme },
	{ "h_vmread", H, 58, 'D', 0, 'R', 0, h_vmread },
	{ "h_vmwrite", H, 58, 'D', 0, 'R', 0, h_vmwrite },
	{ "h_pidfd_open", H, 59, 'D', 0, 'E', 0, h_pidfd_open },
	{ "h_pidfd_getfd", H, 59, 'D', 0, 'E', 0, h_pidfd_getfd },
	{ "h_pidfd_signal", H, 60, 'D', 0, 'E', 0, h_pidfd_signal },
	{ "h_kcmp", H, 59, 'D', 0, 'R', 0, h_kcmp },
	{ "h_kill", H, 60, 'D', 0, 0, 0, h_kill },
	{ "h_kill_probe", H, 60, 'D', 0, 0, 0, h_kill_probe },
	{ "h_tgkill", H, 60, 'D', 0, 0, 0, h_tgkill },
	{ "h_tkill", H, 60, 'B', 0, 0, 0, h_tkill },
	{ "h_sigqueue", H, 60, 'D', 0, 0, 0, h_sigqueue },
	{ "h_kill_all", H, 61, 'D', 0, 0, 0, h_kill_all },
	{ "h_kill_parent", H, 60, 'D', 0, 0, 0, h_kill_parent },
	{ "h_parent_mem", H, 17, 'D', 0, 0, NOT_BARE, h_parent_mem },
	{ "h_ptrace_parent", H, 56, 'D', 0, 0, NOT_BARE, h_ptrace_parent },
	{ "h_sigio", H, 62, 'B', 0, 0, 0, h_sigio },
	{ "h_sigio_ex", H, 62, 'B', 0, 0, 0, h_sigio_ex },
	{ "h_sigio_high", H, 62, 'B', 0, 0, 0, h_sigio_high },
	{ "h_kill_high", H, 60, 'D', 0, 0, 0, h_kill_high },
	{ "h_prlimit_high", H, 63, 'D', 0, 0, 0, h_prlimit_high },
	{ "h_prlimit", H, 63, 'D', 0, 0, 0, h_prlimit },
	{ "h_setprio", H, 64, 'B', 0, 0, 0, h_setprio },
	{ "h_affinity", H, 64, 'B', 0, 0, 0, h_affinity },
	{ "h_ioprio", H, 64, 'B', 0, 0, 0, h_ioprio },
	{ "h_sched", H, 64, 'B', 0, 0, 0, h_sched },
	{ "h_setsid", H, 65, 'B', 0, '?', 0, h_setsid },
	{ "h_setpgid", H, 65, 'B', 0, '?', 0, h_setpgid },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
