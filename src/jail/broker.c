/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's loop: one question in, one answer out. See broker.h. */
#include "jail/broker.h"

#include <linux/filter.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <time.h>
#ifdef __GLIBC__
#include <sys/rseq.h>
#endif

#include "base/fd.h"
#include "base/slice.h"
#include "base/text.h"
#include "jail/direct.h"
#include "jail/filter/filter.h"

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

enum {
	PROCESSES = 64, /* used if the plan has no limit */
	THREADS = 512,
	PATIENCE_S = 2,
	RSEQ_AREA = 32, /* the size that glibc registers */
	STATUS_SIZE = 2048
};

static const struct {
	mor_on_syscall_fn *on_syscall;
	bool at; /* as in struct mor_syscall */
} handlers[MOR_N_FIRST_REFUSED] = {
	[MOR_N_OPEN] = { mor_on_open, false },           [MOR_N_OPENAT] = { mor_on_open, true },
	[MOR_N_OPENAT2] = { mor_on_openat2, false },     [MOR_N_CREAT] = { mor_on_creat, false },
	[MOR_N_TRUNCATE] = { mor_on_truncate, false },   [MOR_N_MKDIR] = { mor_on_mkdir, false },
	[MOR_N_MKDIRAT] = { mor_on_mkdir, true },        [MOR_N_MKNOD] = { mor_on_mknod, false },
	[MOR_N_MKNODAT] = { mor_on_mknod, true },        [MOR_N_RMDIR] = { mor_on_rmdir, false },
	[MOR_N_UNLINK] = { mor_on_unlink, false },       [MOR_N_UNLINKAT] = { mor_on_unlinkat, false },
	[MOR_N_RENAME] = { mor_on_rename, false },       [MOR_N_RENAMEAT] = { mor_on_rename, true },
	[MOR_N_RENAMEAT2] = { mor_on_renameat2, false }, [MOR_N_LINK] = { mor_on_link, false },
	[MOR_N_LINKAT] = { mor_on_linkat, false },       [MOR_N_SYMLINK] = { mor_on_symlink, false },
	[MOR_N_SYMLINKAT] = { mor_on_symlink, true },    [MOR_N_CHMOD] = { mor_on_chmod, false },
	[MOR_N_FCHMOD] = { mor_on_fchmod, false },       [MOR_N_FCHMODAT] = { mor_on_chmod, true },
	[MOR_N_FCHMODAT2] = { mor_on_fchmodat2, false }, [MOR_N_UTIME] = { mor_on_utime, false },
	[MOR_N_UTIMES] = { mor_on_utimes, false },       [MOR_N_FUTIMESAT] = { mor_on_futimesat, false },
	[MOR_N_UTIMENSAT] = { mor_on_utimensat, false }, [MOR_N_FORK] = { mor_on_fork, false },
	[MOR_N_EXECVE] = { mor_on_execve, false },       [MOR_N_SIGNAL] = { mor_on_signal, false },
	[MOR_N_LIMITS] = { mor_on_limits, false },       [MOR_N_INSPECT] = { mor_on_inspect, false },
	[MOR_N_CONNECT] = { mor_on_connect, false },     [MOR_N_SOCKET] = { mor_on_socket, false },
	[MOR_N_PAIR] = { mor_on_socketpair, false },     [MOR_N_BIND] = { mor_on_bind, false },
	[MOR_N_LISTEN] = { mor_on_listen, false },       [MOR_N_CHOWN] = { mor_on_chown, false },
	[MOR_N_FCHOWN] = { mor_on_fchown, false },       [MOR_N_FCHOWNAT] = { mor_on_fchownat, false },
	[MOR_N_IDS] = { mor_on_identity, false },        [MOR_N_GROUP] = { mor_on_group, false },
	[MOR_N_HANDLER] = { mor_on_handler, false },     [MOR_N_IOCTL] = { mor_on_ioctl, false },
};

/* Calls that are forbidden whatever their arguments. arg: the register to report, -1: none. */
static const struct {
	enum mor_forbidden what;
	const char *noun;
	int arg;
} refused[MOR_N_COUNT - MOR_N_FIRST_REFUSED] = {
	[MOR_N_SPAWN - MOR_N_FIRST_REFUSED] = { MOR_FORBID_SPAWN, "", -1 },
	[MOR_N_NETWORK - MOR_N_FIRST_REFUSED] = { MOR_FORBID_NETWORK, "", -1 },
	[MOR_N_NAMESPACE - MOR_N_FIRST_REFUSED] = { MOR_FORBID_NAMESPACE, "", -1 },
	[MOR_N_HANDLE - MOR_N_FIRST_REFUSED] = { MOR_FORBID_HANDLE, "", -1 },
	[MOR_N_MOUNT - MOR_N_FIRST_REFUSED] = { MOR_FORBID_MOUNT, "", -1 },
	[MOR_N_SYSTEM - MOR_N_FIRST_REFUSED] = { MOR_FORBID_SYSTEM, "", -1 },
	[MOR_N_KERNEL - MOR_N_FIRST_REFUSED] = { MOR_FORBID_KERNEL, "", -1 },
	[MOR_N_KEYS - MOR_N_FIRST_REFUSED] = { MOR_FORBID_KEYS, "", -1 },
	[MOR_N_IDENTITY - MOR_N_FIRST_REFUSED] = { MOR_FORBID_IDENTITY, "to id", 0 },
	[MOR_N_IPC - MOR_N_FIRST_REFUSED] = { MOR_FORBID_IPC, "", -1 },
	[MOR_N_TERMINAL - MOR_N_FIRST_REFUSED] = { MOR_FORBID_TERMINAL, "", -1 },
};

/* ---- the caller's memory and /proc ---- */

bool mor_syscall_alive(const struct mor_syscall *call)
{
	uint64_t id = call->asked->id;

	return ioctl(call->broker->worker.listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* Without spawn there is one address space from the plugin's execve to its end. A descriptor of it saves the
 * kernel the search for the process and its checks. Bytes or -errno. */
static ssize_t read_memory(struct mor_syscall *call, uint64_t address, void *to, size_t size)
{
	struct iovec here = { to, size }, there = { (void *)(uintptr_t)address, size };
	struct mor_broker *broker = call->broker;
	ssize_t got;

	if (broker->mem == MOR_MEM_UNOPENED && broker->who.main && !broker->spawn)
		broker->mem = mor_syscall_proc(call, "mem", O_RDONLY);
	if (broker->mem >= 0)
		return mor_direct(SYS_pread64, broker->mem, (long)to, (long)size, (long)address);
	got = process_vm_readv(call->tid, &here, 1, &there, 1, 0);
	return got < 0 ? -errno : got;
}

/* Bytes read, at least one; else like mor_syscall_read. */
static ssize_t read_some(struct mor_syscall *call, uint64_t address, void *to, size_t size)
{
	ssize_t got = read_memory(call, address, to, size);

	if (got > 0)
		return got;
	/* gone: nobody will see the answer */
	if (got == 0 || got == -EFAULT || got == -EIO || got == -ESRCH || got == -EINVAL)
		return -EFAULT;
	return mor_syscall_violation(call, "", MOR_FORBID_HIDING);
}

int mor_syscall_read(struct mor_syscall *call, uint64_t address, void *to, size_t size)
{
	ssize_t got = read_some(call, address, to, size);

	if (got < 0)
		return (int)got;
	return (size_t)got == size ? 0 : -EFAULT;
}

/* Page by page: the next page need not exist. */
int mor_syscall_text(struct mor_syscall *call, uint64_t address, char text[PATH_MAX])
{
	const size_t page = 4096;

	for (size_t len = 0; len < PATH_MAX;) {
		size_t part = page - (address + len) % page;
		ssize_t got;

		if (part > PATH_MAX - len)
			part = PATH_MAX - len;
		if (len == 0 && part > 256) /* most names are short */
			part = 256;
		if ((got = read_some(call, address + len, text + len, part)) < 0)
			return (int)got;
		if (memchr(text + len, 0, (size_t)got))
			return 0;
		len += (size_t)got;
	}
	return -ENAMETOOLONG;
}

int mor_syscall_path(struct mor_syscall *call, uint64_t address, char text[PATH_MAX])
{
	int status = mor_syscall_text(call, address, text);

	return status < 0 || mor_syscall_alive(call) ? status : MOR_BROKER_SENT;
}

int mor_syscall_proc(const struct mor_syscall *call, const char *what, int flags)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "%d/%s", (int)call->tid, what);
	fd = openat(call->broker->proc, name, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* What follows a key in the caller's status file, to the end of its line. Users can be in thousands of groups,
 * and these stand before the numbers in PID namespaces: the file is read piece by piece. */
static bool find_status(const struct mor_syscall *call, const char *key, char line[STATUS_SIZE])
{
	int fd = mor_syscall_proc(call, "status", O_RDONLY);
	size_t kept = 0, len = strlen(key);
	char *at = NULL, *end = NULL;
	ssize_t got;

	if (fd < 0)
		return false;
	while (!end && (got = read(fd, line + kept, STATUS_SIZE - 1 - kept)) > 0) {
		kept += (size_t)got;
		line[kept] = 0;
		at = strstr(line, key);
		end = at ? strchr(at + len, '\n') : NULL;
		if (!at) /* the key may be cut by the end of this piece */
			at = line + (kept > len ? kept - len : 0);
		kept -= (size_t)(at - line);
		memmove(line, at, kept + 1);
	}
	close(fd);
	if (end)
		memmove(line, line + len, kept - len + 1);
	return end;
}

bool mor_syscall_status(const struct mor_syscall *call, const char *key, int base, long *ret)
{
	char line[STATUS_SIZE];
	bool found = find_status(call, key, line);

	if (found)
		*ret = strtol(line, NULL, base);
	return found;
}

/* The last number of the line belongs to the innermost namespace. */
pid_t mor_syscall_inner(const struct mor_syscall *call, const char *key)
{
	char line[STATUS_SIZE], *end;
	long pid = call->tid;

	if (!find_status(call, key, line))
		return (pid_t)pid;
	for (char *at = line; *at == '\t'; at = end) {
		pid = 0;
		for (end = at + 1; *end >= '0' && *end <= '9'; end++)
			pid = pid * 10 + *end - '0';
	}
	return (pid_t)pid;
}

void mor_syscall_borrow_umask(const struct mor_syscall *call)
{
	long mask = 077;

	mor_syscall_status(call, "\nUmask:", 8, &mask);
	umask((mode_t)mask & 0777);
}

/* ---- answers ---- */

int mor_syscall_violation(struct mor_syscall *call, const char *about, enum mor_forbidden what)
{
	if (about != call->about)
		snprintf(call->about, sizeof(call->about), "%s", about);
	call->what = what;
	return MOR_BROKER_VIOLATION;
}

void mor_syscall_needed(struct mor_syscall *call, const char *about, enum mor_forbidden what, bool with_spawn)
{
	mor_denied_note(&call->broker->denied, &(struct mor_denied_deed){ .syscall = call->name,
									  .path = about,
									  .what = what,
									  .allowed = true,
									  .with_spawn = with_spawn });
}

/* A file that was only read is named; of what was written, the workspace that it lies in. */
static void tell_needs(struct mor_syscall *call, const char *about, const struct mor_ruling *ruling)
{
	if (ruling->under)
		about = ruling->under->path;
	for (enum mor_forbidden what = 0; what < MOR_FORBIDDEN_COUNT; what++)
		if (ruling->needs >> what & 1)
			mor_syscall_needed(call, about, what, ruling->with_spawn);
}

int mor_syscall_ruling(struct mor_syscall *call, const char *about, struct mor_ruling ruling)
{
	if (ruling.kind == MOR_RULING_PERFORM && ruling.needs)
		tell_needs(call, about, &ruling);
	if (ruling.kind == MOR_RULING_PERFORM)
		return 0;
	if (ruling.kind == MOR_RULING_QUIET)
		return -ruling.error;
	call->lenient = ruling.lenient;
	return mor_syscall_violation(call, about, ruling.what);
}

int mor_syscall_inject(struct mor_syscall *call, int fd, bool cloexec)
{
	struct seccomp_notif_addfd add = {
		.id = call->asked->id,
		.flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};
	long status = mor_direct(SYS_ioctl, call->broker->worker.listener, (long)SECCOMP_IOCTL_NOTIF_ADDFD,
				 (long)&add, 0);

	mor_direct(SYS_close, fd, 0, 0, 0);
	/* ENOENT: the caller is gone */
	return status >= 0 || status == -ENOENT ? MOR_BROKER_SENT : (int)status;
}

static void send_answer(struct mor_syscall *call, int result)
{
	struct seccomp_notif_resp resp = { .id = call->asked->id };

	if (result == MOR_BROKER_SENT)
		return;
	if (result == MOR_BROKER_CONTINUE)
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	else if (result < 0)
		resp.error = result;
	else
		resp.val = result;
	/* ENOENT: the caller is gone or was interrupted. No other error can be corrected here. */
	(void)ioctl(call->broker->worker.listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

int mor_syscall_refuse(struct mor_syscall *call, enum mor_notify kind)
{
	int arg = refused[kind - MOR_N_FIRST_REFUSED].arg;

	call->about[0] = 0;
	/* Two calls that are refused for the same reason have no number there. */
	if (arg >= 0 && strcmp(call->name, "capset") != 0 && strcmp(call->name, "setgroups") != 0)
		snprintf(call->about, sizeof(call->about), "%s %d", refused[kind - MOR_N_FIRST_REFUSED].noun,
			 (int)mor_syscall_arg(call, arg));
	return mor_syscall_violation(call, call->about, refused[kind - MOR_N_FIRST_REFUSED].what);
}

static void tell_violation(const struct mor_syscall *call, struct mor_record *violation)
{
	char shown[160];

	violation->violated = 1;
	violation->forbidden = (uint8_t)call->what;
	snprintf(violation->syscall, sizeof(violation->syscall), "%s", call->name);
	snprintf(violation->path, sizeof(violation->path), "%.*s", (int)sizeof(violation->path) - 1,
		 call->about);
	snprintf(violation->rule, sizeof(violation->rule), "%s", mor_forbidden_rows[call->what].rule);
	mor_printable(mor_slice_of(violation->path), shown, sizeof(shown));
	snprintf(violation->text, sizeof(violation->text), "%s%s%s: %s", call->name, shown[0] ? " " : "", shown,
		 violation->rule);
}

/* A forbidden call. Its errno; MOR_BROKER_VIOLATION: it kills; MOR_BROKER_SENT: it was not the caller's. */
static int answer_forbidden(struct mor_syscall *call)
{
	struct mor_broker *broker = call->broker;
	int error = mor_forbidden_error(call->what, broker->deny || call->lenient);

	if (call->doubtful && !mor_syscall_alive(call))
		return MOR_BROKER_SENT;
	if (!error) {
		tell_violation(call, &broker->worker.violation);
		return MOR_BROKER_VIOLATION;
	}
	mor_denied_note(&broker->denied, &(struct mor_denied_deed){ .syscall = call->name,
								    .path = call->about,
								    .what = call->what });
	/* Its own tree has no such thing, and must not show what ours has. */
	return call->inside && error == EACCES ? call->inside : -error;
}

static const struct mor_notified *notified(int nr)
{
	static const struct mor_notified *last; /* usually the same again */
	size_t low = 0, high = mor_notified_count;

	if (last && last->number == nr)
		return last;
	while (low < high) {
		size_t half = (low + high) / 2;

		if (mor_notified[half].number == nr)
			return last = &mor_notified[half];
		if (mor_notified[half].number < nr)
			low = half + 1;
		else
			high = half;
	}
	return NULL;
}

/* Without spawn there is one thread group only. */
static pid_t group_of(struct mor_syscall *call)
{
	long tgid = 0;

	if (!call->broker->spawn || !call->broker->who.main)
		return call->broker->who.main ? call->broker->who.main : call->tid;
	mor_syscall_status(call, "\nTgid:", 10, &tgid);
	return tgid > 0 ? (pid_t)tgid : call->tid;
}

/* The same in its own PID namespace. */
static pid_t own_of(struct mor_syscall *call)
{
	if (!call->broker->apart)
		return call->tgid;
	return call->broker->spawn && call->broker->who.main ? mor_syscall_inner(call, "\nNStgid:") :
							       call->broker->who.inside;
}

static int handle(struct mor_syscall *call)
{
	const struct mor_notified *what = notified(call->asked->data.nr);
	int status = 0;

	if (!what) /* cannot happen: the filter and the table come from one source */
		return -ENOSYS;
	call->name = what->name;
	call->tgid = group_of(call);
	call->own = own_of(call);
	if (what->notify >= MOR_N_FIRST_REFUSED)
		return mor_syscall_refuse(call, what->notify);
	if (call->broker->apart && call->broker->who.main && call->broker->root < 0)
		status = mor_syscall_enter_view(call);
	if (status < 0)
		return status;
	call->at = handlers[what->notify].at;
	return handlers[what->notify].on_syscall(call);
}

static bool still_waits(void *call)
{
	return mor_syscall_alive(call);
}

/* false: there are no more questions. */
static bool answer_one(struct mor_broker *broker)
{
	static struct mor_syscall call; /* 4 KiB that are not cleared each time */
	union {
		struct seccomp_notif asked;
		char room[256]; /* a newer kernel's structure may be longer: checked in init */
	} in;
	int result;

	memset(&in, 0, sizeof(in.asked));
	if (mor_direct(SYS_ioctl, broker->worker.listener, (long)SECCOMP_IOCTL_NOTIF_RECV, (long)&in, 0) < 0) {
		struct pollfd ready = { .fd = broker->worker.listener };

		/* nobody is left who could ask, or the caller was killed or interrupted meanwhile */
		return poll(&ready, 1, 0) <= 0 || !(ready.revents & POLLHUP);
	}
	broker->asked++;
	call.broker = broker;
	call.asked = &in.asked;
	call.tid = (pid_t)in.asked.pid;
	call.about[0] = 0;
	call.doubtful = call.lenient = false;
	call.inside = 0;
	if (broker->undo) {
		broker->undo->wanted = still_waits;
		broker->undo->arg = &call;
	}
	if (!broker->steady)
		pthread_mutex_lock(&broker->worker.gate);
	result = handle(&call);
	if (!broker->steady)
		pthread_mutex_unlock(&broker->worker.gate);
	if (result == MOR_BROKER_VIOLATION)
		result = answer_forbidden(&call);
	if (result == MOR_BROKER_VIOLATION)
		return false;
	send_answer(&call, result);
	return true;
}

/* ---- the thread ---- */

/* Only for speed. The plugin and we take turns: handing over a descriptor wakes the plugin, and it wakes us
 * when it has it. That must not push it off its core (a batch task never does that). And the kernel need not
 * update glibc's rseq area for us. */
static void take_turns(void)
{
	struct sched_param none = { 0 };

	if (sched_getscheduler(0) == SCHED_OTHER) /* a user who sets a priority wants it */
		(void)sched_setscheduler(0, SCHED_BATCH, &none);
#ifdef __GLIBC__ /* musl has none */
	(void)syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset, RSEQ_AREA,
		      RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
#endif
}

static void *answer_all(void *arg)
{
	struct mor_broker *broker = arg;
	uint64_t one = 1;

	take_turns();
	pthread_mutex_lock(&broker->worker.gate);
	pthread_mutex_unlock(&broker->worker.gate);
	while (answer_one(broker))
		;
	return write(broker->worker.told, &one, sizeof(one)) < 0 ? arg : NULL;
}

static int start_thread(struct mor_broker *broker)
{
	pthread_attr_t attr;
	int error;

	pthread_mutex_lock(&broker->worker.gate);
	error = pthread_attr_init(&attr);
	if (error)
		return -error;
	/* A chain of links is followed by recursion, some 10 KiB each. Stack that is not used costs nothing. */
	error = pthread_attr_setstacksize(&attr, 1024 * 1024);
	if (!error)
		error = pthread_create(&broker->worker.thread, &attr, answer_all, broker);
	pthread_attr_destroy(&attr);
	broker->worker.running = !error;
	return -error;
}

/* ---- beginning and end ---- */

int mor_broker_init(struct mor_broker *broker, struct mor_paths *paths, const struct mor_op_level *level)
{
	struct seccomp_notif_sizes sizes;

	*broker = (struct mor_broker){
		.paths = paths,
		.worker = { .listener = -1, .told = -1, .gate = PTHREAD_MUTEX_INITIALIZER },
		.proc = -1,
		.own_fds = -1,
		.root = -1,
		.mem = MOR_MEM_UNOPENED,
		.who.self = getpid(),
		.spawn = level->flags & (MOR_JAIL_SPAWN | MOR_JAIL_LEARN),
		.spawn_needed = (level->flags & (MOR_JAIL_SPAWN | MOR_JAIL_LEARN)) == MOR_JAIL_LEARN,
		.deny = level->flags & MOR_JAIL_DENY,
		.denied = MOR_DENIED_INIT,
		.steady = !(level->flags & MOR_JAIL_VIEW),
		.denied.learn = level->flags & MOR_JAIL_LEARN,
		.limits.processes = level->processes ? level->processes : PROCESSES,
		.limits.threads = level->threads ? level->threads : THREADS,
	};
	broker->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	broker->own_fds = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (broker->proc < 0 || broker->own_fds < 0 ||
	    syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return -errno;
	return sizes.seccomp_notif > 256 || sizes.seccomp_notif_resp > sizeof(struct seccomp_notif_resp) ?
		       -E2BIG :
		       0;
}

int mor_broker_take_listener(struct mor_broker *broker, int listener)
{
	int status;

	broker->worker.listener = listener;
	broker->worker.told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	broker->denied.told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (broker->worker.told < 0 || broker->denied.told < 0)
		return -errno;
	/* Linux 6.6: both sides take turns on one core, so wake the other there. Only for speed. */
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	status = broker->net.places ? mor_dial_begin(broker->net.dial, listener) : 0;
	return status < 0 ? status : start_thread(broker);
}

void mor_broker_begin(struct mor_broker *broker)
{
	pthread_mutex_unlock(&broker->worker.gate);
}

int mor_broker_ended(struct mor_broker *broker, struct mor_record *violation)
{
	mor_fd_close(&broker->worker.told);
	if (!broker->worker.violation.violated)
		return 0;
	violation->violated = 1;
	violation->forbidden = broker->worker.violation.forbidden;
	memcpy(violation->text, broker->worker.violation.text, sizeof(violation->text));
	memcpy(violation->syscall, broker->worker.violation.syscall, sizeof(violation->syscall));
	memcpy(violation->path, broker->worker.violation.path, sizeof(violation->path));
	memcpy(violation->rule, broker->worker.violation.rule, sizeof(violation->rule));
	return 1;
}

bool mor_broker_fini(struct mor_broker *broker)
{
	struct timespec until;

	/* A process that hangs in the kernel may still hold the filter: then the thread ends with our
	 * process. */
	if (broker->worker.running && clock_gettime(CLOCK_REALTIME, &until) == 0) {
		until.tv_sec += PATIENCE_S;
		if (pthread_timedjoin_np(broker->worker.thread, NULL, &until) != 0)
			return false;
	}
	broker->worker.running = false;
	mor_fd_close(&broker->worker.told);
	mor_fd_close(&broker->denied.told);
	mor_fd_close(&broker->mem);
	mor_fd_close(&broker->worker.listener);
	mor_fd_close(&broker->proc);
	mor_fd_close(&broker->own_fds);
	mor_fd_close(&broker->root);
	return true;
}
