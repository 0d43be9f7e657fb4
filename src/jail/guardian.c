/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guardian: one per plugin, parent of it (or of its namespace's init) and subreaper of everything it
 * starts. It waits for eight things: an order from the host, the host's death, the plugin's end, the
 * broker's report, something that the broker has refused, a view that is ready, a file that somebody has
 * written, a time limit. It ends when all processes have ended, after one last record. If it is killed itself,
 * the plugin dies with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "jail/confine.h"
#include "jail/denied.h"
#include "jail/group.h"
#include "jail/guard.h"
#include "jail/spent.h"
#include "jail/terminal.h"
#include "jail/view.h"
#include "policy/policy.h"

static const struct mor_grace usual_grace = { .term_ms = 500, .kill_ms = 500 };
enum ladder { HOST_LIVES, HOST_GONE, HOST_GONE_TERM };

struct guard {
	struct mor_plan *plan;
	struct mor_launched child;
	struct mor_record last; /* what EXITED will report */
	struct mor_ended ended; /* of our child; pid 0: it runs */
	enum ladder ladder;
	int64_t ladder_due, wall_due;        /* 0: none                    */
	int host;                            /* pidfd                          */
	bool confined, started, asked, kill; /* asked: to end, before it had started */
	bool mute;                           /* the host waits for a word that could not be sent */
	bool crowded;                        /* it must read before we can go on telling it of denials */
};

static volatile sig_atomic_t child_changed;

static void on_sigchld(int number)
{
	(void)number;
	child_changed = 1;
}

/* ---- set-up ---- */

static _Noreturn void give_up(const struct guard *guard, const struct mor_setup_failure *failure)
{
	mor_subtree_kill(0, NULL);
	mor_groups_remove();
	if (guard->confined) {
		mor_confine_end(false, NULL);
		mor_confine_clean();
	}
	mor_record_failure(failure);
}

/* t0 with a PID namespace, but without the right to make one: the user namespace that gives this right must
 * come before the guardian's own Landlock rules. Under these no process could write its id maps. Where nobody
 * asked for the PID namespace (mor_pidns_wished), a machine that refuses is no failure: then we must know
 * before we enter, since there is no way back. */
static int gain_users(const struct guard *guard, struct mor_setup_failure *failure)
{
	bool asked = guard->plan->level.flags & MOR_JAIL_PIDNS;
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (guard->plan->level.level != MOR_LEVEL_T0 || (uid == 0 && (!asked || mor_has_admin())))
		return 0;
	if (!asked && !(mor_pidns_wished(guard->plan) && mor_users_allowed(uid, gid)))
		return 0;
	if (unshare(CLONE_NEWUSER) < 0)
		return mor_setup_fail(
			failure, MOR_AT_NAMESPACE, errno,
			"the kernel refuses user namespaces; see user.max_user_namespaces and AppArmor");
	return mor_users_map(uid, gid, failure);
}

static void prepare_guard(struct guard *guard)
{
	struct mor_setup_failure failure = { 0 };
	int r = 0;

	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		r = mor_setup_fail(&failure, MOR_AT_GUARD, errno, "PR_SET_CHILD_SUBREAPER refused");
	else if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		r = mor_setup_fail(&failure, MOR_AT_PRIVILEGES, errno, "PR_SET_NO_NEW_PRIVS refused");
	/* Without a list of children (no /proc, or that of another PID namespace) a PID namespace is enough. */
	else if (mor_subtree_open() < 0)
		guard->plan->level.flags |= MOR_JAIL_PIDNS;
	if (r == 0) {
		mor_groups_make(guard->plan);
		if (mor_groups_held() & MOR_CGROUP_CPU)
			mor_spent_begin(guard->plan, mor_clock_ms());
		r = gain_users(guard, &failure);
	}
	if (r == 0 && guard->confined)
		r = mor_confine_prepare(guard->plan, &failure);
	if (r < 0)
		give_up(guard, &failure);
}

#ifdef MOR_SANITIZED
#include <sanitizer/common_interface_defs.h>

/* A report must reach the host's terminal or log, though we let go of it. */
static void keep_reports(void)
{
	int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);

	if (fd >= 0)
		__sanitizer_set_report_fd((void *)(intptr_t)fd);
}
#else
static void keep_reports(void)
{
}
#endif

/* The plugin's descriptors must not stay open here, or nobody would see their end. The directory must not
 * stay open either, or it could not be unmounted. Numbers 0 to 2 stay in use, because a broker will open
 * files. */
static void let_go_take(int null)
{
	for (int fd = 0; null >= 0 && fd < 3; fd++)
		dup2(null, fd);
	if (null >= 0)
		close(null);
	close_range(null >= 0 ? MOR_PLAN_FD : 0, MOR_PLAN_FD, 0);
	if (chdir("/") < 0)
		return; /* then it stays open; there is no other harm */
}

/* From here on only SIGKILL ends us, and SIGCHLD is received only in ppoll(). */
static void hear_signals(void)
{
	static const struct {
		void (*handler)(int);
		unsigned long none[3];
	} ignored = { .handler = SIG_IGN }; /* as the kernel has it */
	struct sigaction act = { .sa_handler = on_sigchld };
	sigset_t all;

	sigaction(SIGCHLD, &act, NULL);
	/* Not sigfillset() and sigprocmask(): they leave out the C library's own signals, 32 to 34, which would
	 * end us. musl lets them through whenever it makes a thread: so they are ignored, too. */
	memset(&all, 0xff, sizeof(all));
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	for (int number = 32; number <= 34; number++)
		syscall(SYS_rt_sigaction, number, &ignored, NULL, 8);
}

static int watch_host(struct guard *guard, struct mor_setup_failure *failure)
{
	guard->host = (int)syscall(SYS_pidfd_open, guard->plan->host, 0);
	if (guard->host < 0 && errno != ESRCH)
		return mor_setup_fail(failure, MOR_AT_GUARD, errno, "pidfd_open of the host failed");
	/* Checked after the pidfd is open: our parent still has the number, so the pidfd is right. */
	if (guard->host < 0 || getppid() != guard->plan->host)
		guard->kill = true;
	return 0;
}

/* A host that cannot be told must see the plugin end. */
static void tell_record(struct guard *guard, struct mor_record *record)
{
	if (mor_record_send(record) < 0)
		guard->kill = guard->mute = true;
}

static void tell_started(struct guard *guard)
{
	struct mor_record record = { .kind = MOR_RECORD_STARTED };

	guard->started = true;
	record.pid = mor_launch_visible(&guard->child);
	record.level = (uint8_t)guard->plan->level.level;
	record.rung = (uint8_t)guard->child.rung;
	record.held = (uint8_t)mor_groups_held();
	if (guard->confined)
		snprintf(record.text, sizeof(record.text), "%s", mor_confine_scratch());
	tell_record(guard, &record);
}

static void start_plugin(struct guard *guard)
{
	struct mor_setup_failure failure = { 0 };
	int null = guard->confined ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;

	prepare_guard(guard);
	if (mor_view_begin(guard->plan, &failure) < 0)
		give_up(guard, &failure);
	if (mor_launch(guard->plan, &guard->child) < 0)
		give_up(guard, &guard->child.launch->failure);
	hear_signals();
	keep_reports();
	if (guard->confined)
		mor_terminal_hold();
	let_go_take(null);
	if (watch_host(guard, &failure) < 0 || (guard->confined && mor_confine_guard(&failure) < 0))
		give_up(guard, &failure);
	if (guard->child.channel < 0)
		tell_started(guard);
	if (guard->plan->wall_ms)
		guard->wall_due = mor_clock_ms() + guard->plan->wall_ms;
}

/* ---- events ---- */

/* To the group, as a terminal would; to the plugin alone if it has left the group we gave it. A stopped process
 * gets nothing until it is continued. */
static void send_signal(const struct guard *guard, int signal)
{
	pid_t pid = guard->child.pid;

	if (guard->child.rung == MOR_TREE_PIDNS && !guard->child.keeper) {
		kill(pid, signal); /* the init passes it on */
		return;
	}
	mor_subtree_signal(pid, signal);
}

static void ask_to_end(struct guard *guard)
{
	if (guard->ended.pid)
		return;
	/* It may already run without our knowledge: the init of a namespace closes the channel only when it
	 * next gets the CPU. */
	if (!guard->started)
		guard->asked = true;
	else
		send_signal(guard, SIGTERM);
}

static const struct mor_grace *grace(const struct guard *guard)
{
	const struct mor_grace *given = &guard->plan->grace;

	return given->term_ms || given->kill_ms ? given : &usual_grace;
}

/* The plugin's stdin has ended with the host, so it may already be ending. */
static void on_host_gone(struct guard *guard)
{
	if (guard->ladder != HOST_LIVES)
		return;
	guard->ladder = HOST_GONE;
	/* never earlier, not even by part of a millisecond */
	guard->ladder_due = mor_clock_ms() + 1 + grace(guard)->term_ms;
}

static void refuse_view(struct guard *guard, int error, const char *text)
{
	struct mor_setup_failure failure = { 0 };
	struct mor_record record = { .kind = MOR_RECORD_VIEW };

	mor_setup_fail(&failure, MOR_AT_GUARD, error, "%s", text);
	record.step = failure.step;
	record.error = error;
	memcpy(record.text, failure.text, sizeof(record.text));
	tell_record(guard, &record);
}

static void on_view_order(struct guard *guard, const struct mor_guard_order *order, size_t size)
{
	int r = 0;

	if (order->version != MOR_PLAN_VERSION || ((const char *)order)[size - 1])
		refuse_view(guard, EPROTO, "mortise-jail does not understand the order");
	else
		r = mor_view_order(order, size);
	if (r == -ENOTCONN)
		refuse_view(guard, EINVAL, "it was not started with sandbox.view");
	else if (r < 0)
		refuse_view(guard, -r, "the order could not be passed on");
}

/* The report of the maker of views. Without it nobody knows what the plugin sees: then it must not go on. */
static void on_view(struct guard *guard)
{
	static struct mor_view_answer answer;
	struct mor_record record = { .kind = MOR_RECORD_VIEW };
	int r = mor_view_receive(&answer);

	if (r < 0 || (r > 0 && answer.changed && guard->confined && mor_confine_view(&answer.grants) < 0))
		guard->kill = true;
	if (r <= 0)
		return;
	record.step = answer.failure.step;
	record.error = answer.failure.step ? answer.failure.error : 0;
	memcpy(record.text, answer.failure.text, sizeof(record.text));
	tell_record(guard, &record);
}

static void on_order(struct guard *guard)
{
	static union {
		struct mor_guard_order head;
		char bytes[MOR_PLAN_ORDER_MAX];
	} order;
	ssize_t n = recv(MOR_GUARD_FD, &order, sizeof(order), MSG_DONTWAIT);

	if (n == (ssize_t)sizeof(order.head) && order.head.kind == MOR_GUARD_TERM)
		ask_to_end(guard);
	else if (n == (ssize_t)sizeof(order.head) && order.head.kind == MOR_GUARD_KILL)
		guard->kill = true;
	else if (n > (ssize_t)sizeof(order.head) && order.head.kind == MOR_GUARD_SWITCH_VIEW)
		on_view_order(guard, &order.head, (size_t)n);
	else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		on_host_gone(guard); /* also if it has become another program by execve */
}

static pid_t init_of(const struct mor_launched *child)
{
	if (child->rung != MOR_TREE_PIDNS)
		return 0;
	return child->keeper ? child->keeper : child->pid;
}

/* Not before STARTED. A slow host must not hold us up: what is left is told of when it has read. */
static void tell_denied(struct guard *guard)
{
	struct mor_denied *denied = mor_confine_denied();
	struct mor_record record;

	guard->crowded = false;
	while (guard->started && !guard->crowded && mor_denied_next(denied, false, &record)) {
		guard->crowded = !mor_record_offer(&record);
		if (!guard->crowded)
			mor_denied_sent(denied, &record);
	}
}

/* A message from the launcher: a listener, or the end of the channel. */
static void on_channel(struct guard *guard)
{
	struct mor_setup_failure failure = { 0 };
	int listener = -1, r = mor_launch_receive(&guard->child, &listener);

	if (r > 0 && mor_confine_adopt(guard->plan, listener, init_of(&guard->child), &failure) < 0)
		give_up(guard, &failure);
	if (r != 0)
		return;
	if (guard->child.launch->failure.step)
		give_up(guard, &guard->child.launch->failure);
	tell_started(guard);
	if (guard->confined)
		tell_denied(guard);
	if (guard->asked)
		ask_to_end(guard);
}

static void on_clock(struct guard *guard)
{
	int64_t now = mor_clock_ms();
	enum mor_spent spent;

	if (guard->wall_due && now >= guard->wall_due) {
		guard->last.wall = 1;
		guard->kill = true;
	}
	spent = mor_spent_look(now);
	if (spent == MOR_SPENT_ALL && guard->started && !guard->ended.pid)
		send_signal(guard, SIGXCPU);
	if (spent == MOR_SPENT_OVER)
		guard->kill = true;
	if (!guard->ladder_due || now < guard->ladder_due)
		return;
	if (guard->ladder == HOST_GONE_TERM) {
		guard->kill = true;
		return;
	}
	guard->ladder = HOST_GONE_TERM;
	guard->ladder_due = now + grace(guard)->kill_ms;
	ask_to_end(guard);
}

/* Orphans are reaped when they end. The plugin's end is only noted, so that its group can be killed while
 * the number is surely its own. */
static void on_child(struct guard *guard)
{
	struct mor_ended ended;

	child_changed = 0;
	while (!guard->ended.pid && mor_wait_child(-1, WNOHANG | WNOWAIT, &ended) > 0) {
		if (ended.pid == guard->child.pid)
			guard->ended = ended;
		else
			mor_wait_child(ended.pid, WNOHANG, &ended);
	}
}

/* ---- waiting ---- */

/* 0: never */
static int64_t next_due(const struct guard *guard)
{
	const int64_t times[] = { guard->wall_due, guard->ladder_due, mor_spent_due() };
	int64_t due = 0;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (times[i] && (!due || times[i] < due))
			due = times[i];
	return due;
}

static struct timespec *until_due(const struct guard *guard, struct timespec *wait)
{
	int64_t due = next_due(guard), left;

	if (!due)
		return NULL;
	if ((left = due - mor_clock_ms()) < 0)
		left = 0;
	*wait = (struct timespec){ left / 1000, left % 1000 * 1000000 };
	return wait;
}

static void wait_once(struct guard *guard)
{
	enum { ORDER, HOST, CHANNEL, BROKER, DENIED, VIEW, WATCH, QUOTA, COUNT };
	struct pollfd fds[COUNT] = {
		[ORDER] = { .fd = guard->ladder == HOST_LIVES ? MOR_GUARD_FD : -1,
			    .events = guard->crowded ? POLLIN | POLLOUT : POLLIN },
		[HOST] = { .fd = guard->ladder == HOST_LIVES ? guard->host : -1, .events = POLLIN },
		[CHANNEL] = { .fd = guard->child.channel, .events = POLLIN },
		[BROKER] = { .fd = guard->confined ? mor_confine_fd() : -1, .events = POLLIN },
		[DENIED] = { .fd = guard->confined ? mor_confine_denied()->told : -1, .events = POLLIN },
		[VIEW] = { .fd = mor_view_fd(), .events = POLLIN },
		[WATCH] = { .fd = guard->confined ? mor_confine_watch_fd() : -1, .events = POLLIN },
		[QUOTA] = { .fd = guard->confined ? mor_confine_quota_fd() : -1, .events = POLLIN },
	};
	struct timespec wait;
	sigset_t but_child;
	int ready;

	memset(&but_child, 0xff, sizeof(but_child));
	sigdelset(&but_child, SIGCHLD);
	ready = ppoll(fds, COUNT, until_due(guard, &wait), &but_child);
	if (ready < 0 && errno != EINTR)
		guard->kill = true; /* nobody would hear an order any more */
	if (ready > 0) {
		if (fds[BROKER].revents && mor_confine_ended(&guard->last) > 0)
			guard->kill = true;
		if (fds[CHANNEL].revents)
			on_channel(guard);
		if (fds[WATCH].revents)
			mor_confine_hear();
		if (fds[QUOTA].revents && mor_confine_too_full())
			guard->kill = true;
		if (fds[DENIED].revents) {
			mor_denied_hear(mor_confine_denied());
			tell_denied(guard);
		}
		if (fds[VIEW].revents)
			on_view(guard);
		if (fds[ORDER].revents & POLLOUT)
			tell_denied(guard);
		if (fds[ORDER].revents & ~POLLOUT)
			on_order(guard);
		if (fds[HOST].revents)
			on_host_gone(guard);
	}
	if (next_due(guard))
		on_clock(guard);
	if (child_changed)
		on_child(guard);
}

/* ---- the end ---- */

/* The kernel has a signal for these two. At the end of the second one without a handler it is SIGKILL. */
static uint8_t limits_reached(const struct guard *guard)
{
	const struct mor_record *last = &guard->last;
	int sig = last->by_signal ? last->status : 0;
	unsigned limits = last->wall ? 1u << MOR_LIMIT_WALL : 0;

	if (sig == SIGXFSZ)
		limits |= 1u << MOR_LIMIT_FILE_SIZE;
	if (sig == SIGXCPU || last->reached & MOR_CGROUP_CPU ||
	    (sig == SIGKILL && !guard->kill && mor_spent_alone(guard->plan, &guard->ended.usage)))
		limits |= 1u << MOR_LIMIT_CPU;
	if (last->reached & MOR_CGROUP_PIDS)
		limits |= 1u << MOR_LIMIT_THREADS;
	if (last->reached & MOR_CGROUP_MEMORY)
		limits |= 1u << MOR_LIMIT_MEMORY;
	if (last->reached & MOR_REACHED_SCRATCH)
		limits |= 1u << MOR_LIMIT_SCRATCH;
	if (guard->confined && mor_confine_was_full_of_processes())
		limits |= 1u << MOR_LIMIT_PROCESSES;
	return (uint8_t)limits;
}

static void note_end(struct guard *guard)
{
	const struct mor_launch *launch = guard->child.launch;
	struct mor_ended *ended = &guard->ended;
	struct mor_record *last = &guard->last;

	/* With a namespace the init's end says nothing, unless it was killed with all the others. */
	if (guard->child.rung == MOR_TREE_PIDNS && launch->ended) {
		ended->status = launch->status;
		ended->code = launch->code;
		ended->usage = launch->usage;
	}
	last->kind = MOR_RECORD_EXITED;
	last->known = ended->pid != 0;
	last->status = ended->status;
	last->by_signal = last->known && ended->code != CLD_EXITED;
	last->core = ended->code == CLD_DUMPED;
	mor_record_usage(last, &ended->usage);
	last->reached = (uint8_t)(mor_groups_reached() | (mor_spent_reached() ? MOR_CGROUP_CPU : 0) |
				  (guard->confined && mor_confine_was_full() ? MOR_REACHED_SCRATCH : 0) |
				  (guard->confined && mor_confine_was_crowded() ? MOR_CGROUP_PIDS : 0));
	last->limits = limits_reached(guard);
	if (guard->confined && last->by_signal && last->status == SIGSYS && !last->violated)
		mor_confine_sigsys(last);
}

/* Everything, with the final counts. 0 or -errno: the host would not know all. */
static int tell_all_denied(struct guard *guard)
{
	struct mor_denied *denied = mor_confine_denied();
	struct mor_record record;
	int status = 0;

	while (guard->started && status == 0 && mor_denied_next(denied, true, &record)) {
		status = mor_record_send(&record);
		if (status == 0)
			mor_denied_sent(denied, &record);
	}
	guard->last.count = mor_denied_total(denied);
	return status;
}

static _Noreturn void end(struct guard *guard)
{
	pid_t pid = guard->child.pid;

	/* Not reaped yet, so the group is its own. One signal for all: processes that keep forking in the
	 * group cannot escape. */
	if (guard->child.rung == MOR_TREE_SUBREAPER || guard->child.keeper)
		kill(-pid, SIGKILL);
	mor_groups_kill();
	guard->last.left = !mor_subtree_kill(pid, &guard->ended);
	/* With its processes, their end of the channel is gone: STARTED, or the failure, is reported before
	 * the end. */
	while (guard->child.channel >= 0 && !guard->last.left)
		on_channel(guard);
	if (guard->confined)
		mor_confine_end(guard->ladder != HOST_LIVES, &guard->last);
	note_end(guard);
	mor_groups_remove();
	mor_terminal_restore();
	if (guard->confined && tell_all_denied(guard) < 0)
		guard->mute = true;
	if (guard->mute || mor_record_send(&guard->last) < 0)
		mor_be_lost();
	if (guard->confined)
		mor_confine_clean();
	_exit(0);
}

_Noreturn void mor_guardian(struct mor_plan *plan)
{
	struct guard guard = { .plan = plan, .host = -1, .confined = plan->level.level != MOR_LEVEL_GUARDED };

	start_plugin(&guard);
	on_child(&guard); /* it may have ended before we received signals */
	while (!guard.kill && !guard.ended.pid)
		wait_once(&guard);
	end(&guard);
}
