/* SPDX-License-Identifier: Apache-2.0 */
/* Programs, signals, limits and sockets: decided by registers, or refused with a name. */
#include <asm/ioctls.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "jail/broker.h"
#include "jail/terminal.h"

/* ---- members ---- */

/* Processes of the plugin cannot call setsid, so every process in the session is in the jail,
 * except its keeper. */
static bool is_member(const struct mor_broker *broker, pid_t pid)
{
	return pid != broker->who.self && pid != broker->who.init && getsid(pid) == broker->who.session;
}

typedef bool choose_fn(pid_t pid, int arg);
typedef void visit_fn(struct mor_syscall *call, pid_t pid);

/* How many members are chosen (NULL: all), each of which is visited (NULL: only counted). -errno: unknown. */
static int each_member(struct mor_syscall *call, choose_fn *choose, int arg, visit_fn *visit)
{
	const struct mor_broker *broker = call->broker;
	char batch[2048] __attribute__((aligned(8)));
	int dir = openat(broker->proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), count = 0;
	long got;

	if (dir < 0)
		return -errno;
	while ((got = syscall(SYS_getdents64, dir, batch, sizeof(batch))) > 0) {
		for (long at = 0; at < got;) {
			const struct dirent64 *entry = (const struct dirent64 *)(batch + at);
			pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

			at += entry->d_reclen;
			if (pid <= 0 || !is_member(broker, pid) || (choose && !choose(pid, arg)))
				continue;
			count++;
			if (visit)
				visit(call, pid);
		}
	}
	close(dir);
	return got < 0 ? -EIO : count;
}

/* ---- fork ---- */

static unsigned threads_seen; /* by the broker's only thread */

/* One that cannot be read has just ended, or has at least one thread. */
static void count_threads(struct mor_syscall *call, pid_t pid)
{
	static struct mor_syscall other;
	long threads = 1;

	other.broker = call->broker;
	other.tid = pid;
	mor_syscall_status(&other, "\nThreads:", 10, &threads);
	threads_seen += threads > 0 ? (unsigned)threads : 1;
}

static unsigned places(unsigned limit, unsigned taken)
{
	return taken < limit ? limit - taken : 0;
}

/* What cannot be counted counts as full. */
static void count_places(struct mor_syscall *call)
{
	struct mor_broker *broker = call->broker;
	int members = 1;

	threads_seen = 0;
	if (broker->spawn)
		members = each_member(call, NULL, 0, count_threads);
	else
		count_threads(call, broker->who.main);
	broker->limits.budget = members < 0 ? 0 : places(broker->limits.processes, (unsigned)members);
	broker->limits.thread_budget = members < 0 ? 0 : places(broker->limits.threads, threads_seen);
}

/* Counting is expensive, so we count only when the free places are used up. Threads that were allowed but are
 * not made yet are not seen: so many, at most, can be too many for a moment. */
static int take_place(struct mor_syscall *call, bool thread)
{
	struct mor_broker *broker = call->broker;

	if (broker->limits.thread_budget == 0 || (!thread && broker->limits.budget == 0))
		count_places(call);
	if (broker->limits.thread_budget == 0)
		broker->limits.threads_met = true;
	else if (!thread && broker->limits.budget == 0)
		broker->limits.processes_met = true;
	if (broker->limits.thread_budget == 0 || (!thread && broker->limits.budget == 0))
		return -EAGAIN;
	broker->limits.thread_budget--;
	broker->limits.budget -= !thread;
	return MOR_BROKER_CONTINUE;
}

/* Flags are in a register: no race. */
int mor_on_fork(struct mor_syscall *call)
{
	uint64_t spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
			  CLONE_NEWPID | CLONE_NEWNET,
		 flags = strcmp(call->name, "clone") == 0 ? mor_syscall_arg(call, 0) : 0;
	bool thread = flags & CLONE_THREAD;
	/* CLONE_PARENT would make the child the guardian's own. */
	uint64_t unfit = thread ? spaces : spaces | CLONE_PARENT;

	if (!thread && !call->broker->spawn)
		return mor_syscall_violation(call, "", MOR_FORBID_SPAWN);
	if (flags & unfit)
		return mor_syscall_violation(call, "", MOR_FORBID_NAMESPACE);
	if (!thread && call->broker->spawn_needed)
		mor_syscall_needed(call, "", MOR_FORBID_SPAWN, false);
	return take_place(call, thread);
}

/* ---- execve ---- */

/* The launcher's own execve comes first, from our code and with one thread: no race. Any further one needs
 * spawn. Then the kernel's Landlock rules hold, even if a second thread changes the name. */
int mor_on_execve(struct mor_syscall *call)
{
	struct mor_broker *broker = call->broker;
	char path[PATH_MAX];
	struct mor_found found;
	int status;

	if (!broker->who.main) {
		broker->who.main = call->tid;
		broker->who.session = getsid(call->tid);
		broker->who.inside = mor_syscall_inner(call, "\nNSpid:");
		broker->limits.budget = broker->limits.processes - 1;
		broker->limits.thread_budget = broker->limits.threads - 1;
		return MOR_BROKER_CONTINUE;
	}
	status = mor_syscall_text(call, mor_syscall_arg(call, 0), path);
	if (!broker->spawn)
		return mor_syscall_violation(call, status == 0 ? path : "", MOR_FORBID_SPAWN);
	if (status < 0)
		return status;
	if ((status = mor_find(call, AT_FDCWD, path, 0, 0, &found)) < 0)
		return mor_find_failed(call, AT_FDCWD, path, false, status);
	status = mor_syscall_ruling(call, found.where, mor_paths_execute(broker->paths, found.where));
	if (status == 0 && broker->spawn_needed)
		mor_syscall_needed(call, "", MOR_FORBID_SPAWN, false);
	mor_found_fini(&found);
	return status < 0 ? status : MOR_BROKER_CONTINUE;
}

/* ---- signals and limits ---- */

/* Signal 0 only asks whether somebody is there: programs do that with numbers from old lock files. */
static int foreign(struct mor_syscall *call, int pid, int sig)
{
	if (pid == -1)
		snprintf(call->about, sizeof(call->about), "every process");
	else
		snprintf(call->about, sizeof(call->about), pid < 0 ? "group %d" : "process %d",
			 pid < 0 ? -pid : pid);
	return mor_syscall_violation(call, call->about, sig ? MOR_FORBID_SIGNAL : MOR_FORBID_PROBE);
}

/* We send it ourselves: between the check and a CONTINUE the number could get another owner. */
static int signal_member(struct mor_syscall *call, pid_t pid, int sig)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), status = 0;

	if (pidfd < 0)
		return errno == EINVAL || errno == ENOENT ? foreign(call, pid, sig) : -errno;
	if (!is_member(call->broker, pid))
		status = foreign(call, pid, sig);
	else if (syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0) < 0)
		status = -errno;
	close(pidfd);
	return status;
}

static bool in_group(pid_t pid, int group)
{
	return getpgid(pid) == group;
}

static void pass_signal(struct mor_syscall *call, pid_t pid)
{
	/* one that has ended meanwhile is no error */
	(void)signal_member(call, pid, (int)mor_syscall_arg(call, 1));
}

/* One by one, for the same reason. A group belongs to one session as a whole. */
static int signal_group(struct mor_syscall *call, pid_t group)
{
	int count = each_member(call, in_group, group, pass_signal);

	return count > 0 ? 0 : count < 0 ? count : foreign(call, -group, (int)mor_syscall_arg(call, 1));
}

/* kill and tgkill, if the filter has not seen that the caller means itself. Those that carry a value
 * (rt_sigqueueinfo) reach only the caller: we could not pass the value on. */
int mor_on_signal(struct mor_syscall *call)
{
	const struct mor_broker *broker = call->broker;
	bool thread = strstr(call->name, "tg") != NULL, apart = broker->who.inside != broker->who.main;
	bool valued = strncmp(call->name, "rt_", 3) == 0;
	int pid = (int)mor_syscall_arg(call, 0), sig = (int)mor_syscall_arg(call, thread ? 2 : 1);
	pid_t self = apart && !broker->spawn ? broker->who.inside : call->tgid;

	if (pid == -1 || pid == 1)
		return foreign(call, pid, sig);
	/* Group 0 is the caller's own, and nobody else is in its session. */
	if (pid == 0 && !thread)
		return MOR_BROKER_CONTINUE;
	if (pid == self || (!thread && pid == -broker->who.inside))
		return MOR_BROKER_CONTINUE;
	if (!broker->spawn || valued)
		return foreign(call, pid, sig);
	if (apart) /* every number in its PID namespace is its own */
		return MOR_BROKER_CONTINUE;
	return pid < 0 ? signal_group(call, -pid) : signal_member(call, pid, sig);
}

/* Groups of members only: a process in the guardian's own group could signal it by the number 0. */
int mor_on_group(struct mor_syscall *call)
{
	const struct mor_broker *broker = call->broker;
	int pid = (int)mor_syscall_arg(call, 0), group = (int)mor_syscall_arg(call, 1);
	bool apart = broker->who.inside != broker->who.main;

	if (group == 0 || group == pid || apart)
		return MOR_BROKER_CONTINUE;
	return each_member(call, in_group, group, NULL) > 0 ? MOR_BROKER_CONTINUE : -EPERM;
}

/* A call that waits for us is interrupted by a signal until we have taken it up, and then fails with EINTR,
 * unless the handler has SA_RESTART. The kernel's own fork and open never do that, and shells are not prepared
 * for it: dash ends with "Cannot fork" when a child's end comes then. So its handler of SIGCHLD restarts. What
 * waits for events, signals or time is still interrupted, since that never restarts; read and wait go on. */
int mor_on_handler(struct mor_syscall *call)
{
	unsigned long action[2]; /* handler, flags */
	uint64_t at = mor_syscall_arg(call, 1) + sizeof(action[0]);
	struct iovec here = { &action[1], sizeof(action[1]) },
		     there = { (void *)(uintptr_t)at, sizeof(action[1]) };

	if (mor_syscall_read(call, mor_syscall_arg(call, 1), action, sizeof(action)) == 0 && action[0] > 1 &&
	    !(action[1] & SA_RESTART)) {
		action[1] |= SA_RESTART;
		(void)process_vm_writev(call->tid, &here, 1, &there, 1, 0); /* constant memory stays as it is */
	}
	return MOR_BROKER_CONTINUE;
}

int mor_on_limits(struct mor_syscall *call)
{
	int pid = (int)mor_syscall_arg(call, 0);

	if (pid == mor_syscall_inner(call, "\nNStgid:"))
		return MOR_BROKER_CONTINUE;
	snprintf(call->about, sizeof(call->about), "process %d", pid);
	return mor_syscall_violation(call, call->about, MOR_FORBID_LIMITS);
}

/* ---- looking into processes ---- */

/* The caller itself, or one of its threads. */
static bool is_own_thread(const struct mor_syscall *call, int pid)
{
	int root = call->broker->root;
	char name[64];

	if (pid == (call->broker->who.inside == call->broker->who.main || call->broker->apart ?
			    call->own :
			    call->broker->who.inside))
		return true;
	snprintf(name, sizeof(name), "%s%d/task/%d", root >= 0 ? "proc/" : "", (int)mor_syscall_number(call),
		 pid);
	return faccessat(root >= 0 ? root : call->broker->proc, name, F_OK, 0) == 0;
}

/* In a PID namespace every number but the init's is of the jail, or nobody's. */
static bool is_of_jail(const struct mor_syscall *call, int pid)
{
	const struct mor_broker *broker = call->broker;

	if (pid <= 1)
		return false;
	if (is_own_thread(call, pid))
		return true;
	return broker->spawn && (broker->who.inside != broker->who.main || is_member(broker, pid));
}

/* The registers with a pid, by call; -1: none. A pidfd can only be that of a process of the jail: others
 * cannot be opened. */
static const struct {
	const char *name;
	int pid, other;
} inspectors[] = {
	{ "ptrace", 1, -1 },
	{ "process_vm_readv", 0, -1 },
	{ "process_vm_writev", 0, -1 },
	{ "kcmp", 0, 1 },
	{ "pidfd_open", 0, -1 },
	{ "pidfd_getfd", -1, -1 },
	{ "pidfd_send_signal", -1, -1 },
};

static int inspect_process(struct mor_syscall *call, int arg)
{
	int pid = arg < 0 ? 0 : (int)mor_syscall_arg(call, arg);

	if (arg < 0 || is_of_jail(call, pid))
		return 0;
	snprintf(call->about, sizeof(call->about), "process %d", pid);
	return mor_syscall_violation(call, call->about, MOR_FORBID_INSPECT);
}

int mor_on_inspect(struct mor_syscall *call)
{
	int status = 0;

	for (size_t i = 0; i < sizeof(inspectors) / sizeof(*inspectors) && status == 0; i++) {
		if (strcmp(call->name, inspectors[i].name) != 0)
			continue;
		if (inspectors[i].pid == 1 && mor_syscall_arg(call, 0) == PTRACE_TRACEME)
			break; /* it names nobody */
		status = inspect_process(call, inspectors[i].pid);
		if (status == 0)
			status = inspect_process(call, inspectors[i].other);
	}
	return status < 0 ? status : mor_syscall_violation(call, "", MOR_FORBID_TRACE);
}

/* ---- the terminal ---- */

/* Settings of a terminal, or what types into one. Decided by a register. */
int mor_on_ioctl(struct mor_syscall *call)
{
	unsigned request = (unsigned)mor_syscall_arg(call, 1);

	if (request == TIOCSTI || request == TIOCLINUX)
		return mor_syscall_refuse(call, MOR_N_TERMINAL);
	mor_terminal_remember();
	return MOR_BROKER_CONTINUE;
}

/* ---- sockets ---- */

static bool begins_with_one(const char *path, const char *const *starts)
{
	for (; *starts; starts++)
		if (strncmp(path, *starts, strlen(*starts)) == 0)
			return true;
	return false;
}

/* Services that C libraries try to use. They also work without. */
static const char *const quiet_services[] = {
	"/run/nscd/",
	"/var/run/nscd/",
	"/dev/log",
	"/run/systemd/userdb/",
	"/var/run/systemd/userdb/",
	"/run/systemd/journal/",
	"/var/lib/sss/pipes/",
	NULL,
};
/* Services that look up host names (nss_resolve, nss_mdns). */
static const char *const resolvers[] = {
	"/run/systemd/resolve/",
	"/var/run/systemd/resolve/",
	"/run/avahi-daemon/",
	"/var/run/avahi-daemon/",
	NULL,
};

int mor_on_connect(struct mor_syscall *call)
{
	struct {
		struct sockaddr_un address;
		char end;
	} to = { 0 };
	uint64_t size = mor_syscall_arg(call, 2);
	int status;

	if (size > sizeof(to.address))
		size = sizeof(to.address);
	if (size < sizeof(to.address.sun_family))
		return -EINVAL;
	if ((status = mor_syscall_read(call, mor_syscall_arg(call, 1), &to.address, size)) < 0)
		return status;
	if (to.address.sun_family != AF_UNIX && call->broker->net.places)
		return mor_connect_place(call);
	if (to.address.sun_family != AF_UNIX)
		return mor_syscall_violation(call, "", MOR_FORBID_NETWORK);
	if (begins_with_one(to.address.sun_path, quiet_services))
		return -ENOENT;
	/* With places, names are in /etc/hosts: no program needs to know that there is no other service. */
	if (begins_with_one(to.address.sun_path, resolvers) && call->broker->net.places)
		return -ENOENT;
	if (begins_with_one(to.address.sun_path, resolvers))
		return mor_syscall_violation(call, to.address.sun_path, MOR_FORBID_NETWORK);
	if (to.address.sun_path[0] == 0)
		to.address.sun_path[0] = '@';
	return mor_syscall_violation(call, to.address.sun_path, MOR_FORBID_UNIX);
}
