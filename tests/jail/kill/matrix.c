/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill-matrix TREE [nobody]: trees that do not want to die, against four ways to end: the host stops its
 * plugin, the host is killed, host and guardian are killed, the guardian alone is killed. With the subreaper
 * the first two leave nothing; with a PID namespace all four. Guarded, and confined with permission to spawn.
 *
 * Each cell runs in a PID namespace (and under a limit of processes) of its own: whatever a broken guardian
 * leaves is gone with it, and no signal can reach anybody else. The oracle is the plugin's stdout, which its
 * whole tree holds.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "policy/policy.h"
#include "policy/probe.h"
#include "proc/proc.h"

/* LIMIT_MS: until a tree that must die is dead, and until anything else that must happen. ASIDE_MS: for a look
 * at what is not promised, whose answer is no verdict. CELL_S ends what hangs. */
enum { LIMIT_MS = 120000, ASIDE_MS = 500, GRACE_MS = 200, CELL_S = 400, PIDS = 400, NOBODY = 65534 };
enum column { STOP, HOST_KILLED, BOTH_KILLED, GUARDIAN_KILLED, COLUMNS };
enum verdict { DEAD, ALIVE, BROKEN, REFUSED };

static const char *const trees[] = { "simple", "ignores-term", "double-fork", "main-exits",  "wide",
				     "bomb",   "stopped",      "hopper",      "fast-hopper", "thread-exec" };
static const char *const columns[] = { "normal stop", "host killed", "host and guardian killed",
				       "guardian killed" };
enum { TREES = sizeof(trees) / sizeof(trees[0]) };

struct row {
	const char *name, *rung;
	struct mor_policy policy;
	int promised; /* columns */
	bool apart;   /* needs all namespaces: may be refused where the kernel has none to give */
};
static const struct row rows[] = {
	{ "guarded", "subreaper", { .level = MOR_LEVEL_GUARDED }, BOTH_KILLED, false },
	{ "guarded+pidns", "pidns", { .level = MOR_LEVEL_GUARDED, .pidns = true }, COLUMNS, false },
	/* with spawn it gets the PID namespace without asking */
	{ "t0", "pidns", { .level = MOR_LEVEL_T0, .spawn = true }, COLUMNS, false },
	{ "t0+pidns", "pidns", { .level = MOR_LEVEL_T0, .spawn = true, .pidns = true }, COLUMNS, false },
	{ "t1", "pidns", { .level = MOR_LEVEL_T1, .spawn = true }, COLUMNS, true },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

struct cell {
	const char *program, *tree;
	const struct row *row;
	enum column column;
	uid_t uid;
	gid_t gid;
	char scratch[PATH_MAX];
};

static bool is_promised(const struct cell *cell)
{
	return (int)cell->column < cell->row->promised;
}

static _Noreturn void broken(const char *what)
{
	printf("# broken: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(BROKEN);
}

/* ---- the host: one plugin, then as it is told ---- */

struct host {
	bool started, ended;
	struct mor_exec_failure failure;
};

static void on_started(void *arg, int pid)
{
	(void)pid;
	((struct host *)arg)->started = true;
}

static void on_exec_failed(void *arg, const struct mor_exec_failure *failure)
{
	struct host *host = arg;

	host->ended = true;
	host->failure = *failure;
}

static void on_exited(void *arg, const struct mor_proc_exit *how)
{
	(void)how;
	((struct host *)arg)->ended = true;
}

static struct mor_proc *start(struct cell *cell, struct mor_loop *loop, struct host *host)
{
	static const struct mor_proc_events events = { .on_started = on_started,
						       .on_exec_failed = on_exec_failed,
						       .on_exited = on_exited };
	struct mor_policy policy = cell->row->policy;
	const char *const argv[] = { cell->program, cell->tree, NULL };
	struct mor_command command = { .argv = argv, .helper = MORTISE_JAIL, .policy = &policy };
	struct mor_proc *proc = NULL;

	policy.grace = (struct mor_grace){ GRACE_MS / 2, GRACE_MS / 2 };
	/* Ours, because a guardian that is killed cannot remove one of its own. */
	policy.scratch = cell->scratch;
	if (mor_proc_start(loop, &command, &events, host, &proc, &host->failure) < 0)
		return NULL;
	while (!host->started && !host->ended)
		mor_loop_wait(loop, 1000);
	if (host->started && strcmp(mor_proc_rung(proc), cell->row->rung) != 0)
		broken(mor_proc_rung(proc));
	return host->started ? proc : mor_proc_free(proc);
}

static void wait_ready(struct mor_proc *proc)
{
	struct pollfd pfd = { .fd = mor_proc_out(proc), .events = POLLIN };
	char byte;

	if (poll(&pfd, 1, LIMIT_MS) != 1 || read(pfd.fd, &byte, 1) != 1)
		broken("the tree does not stand");
}

/* The ladder: end of input, SIGTERM, SIGKILL. */
static void stop(struct mor_loop *loop, struct mor_proc *proc, struct host *host)
{
	int64_t from = mor_clock_ms();

	mor_proc_close_in(proc);
	mor_proc_order(proc, MOR_ORDER_TERM);
	while (!host->ended && mor_clock_ms() - from < GRACE_MS)
		mor_loop_wait(loop, 10);
	mor_proc_order(proc, MOR_ORDER_KILL);
	while (!host->ended)
		mor_loop_wait(loop, 1000);
	mor_proc_free(proc);
}

/* As the user, and in the containment, of this cell. */
static bool namespaces_work(void)
{
	struct mor_probe_namespaces can;

	mor_probe_namespaces(&can);
	return !can.user && !can.pid && !can.mount && !can.net && !can.ipc && !can.uts && !can.minimal_root;
}

static _Noreturn void be_host(struct cell *cell, int tell)
{
	struct host host = { 0 };
	struct mor_loop *loop;
	struct mor_proc *proc;
	char go;
	int out;

	if (mor_loop_new(0, &loop) < 0)
		broken("loop");
	proc = start(cell, loop, &host);
	if (!proc) {
		printf("# %s\n", host.failure.text);
		fflush(stdout);
		_exit(cell->row->apart && !namespaces_work() ? REFUSED : BROKEN);
	}
	wait_ready(proc);
	out = mor_proc_out(proc);
	if (write(tell, &out, sizeof(out)) != (ssize_t)sizeof(out) || read(tell, &go, 1) != 1)
		broken("tell");
	if (cell->column != STOP) {
		for (;;)
			pause();
	}
	stop(loop, proc, &host);
	_exit(0);
}

/* ---- one cell: the init of its namespace ---- */

/* The host's only child. */
static pid_t guardian_of(pid_t host)
{
	char path[64];
	FILE *file;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", host, host);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%d", &pid) != 1)
		broken("no guardian");
	fclose(file);
	return pid;
}

static int kill_one(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	return pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

static void act(const struct cell *cell, pid_t host)
{
	/* With main-exits the guardian may be gone already, which is as good as killed. */
	pid_t guardian =
		cell->column >= BOTH_KILLED && strcmp(cell->tree, "main-exits") ? guardian_of(host) : 0;

	if (guardian && kill_one(guardian) < 0)
		broken("killing the guardian");
	if (cell->column != STOP && cell->column != GUARDIAN_KILLED && kill_one(host) < 0)
		broken("killing the host");
}

/* 0 when nobody holds the other end any more, in time. */
static int wait_end(int fd, int limit_ms, int64_t *ret_ms)
{
	struct pollfd pfd = { .fd = fd };
	int64_t from = mor_clock_ms();

	while (mor_clock_ms() - from < limit_ms) {
		*ret_ms = mor_clock_ms() - from;
		if (poll(&pfd, 1, 5) > 0 && (pfd.revents & POLLHUP))
			return 0;
		while (waitpid(-1, NULL, WNOHANG) > 0) /* we are init here: orphans of the tree come to us */
			;
	}
	return -1;
}

static void write_line(const char *path, unsigned id)
{
	FILE *file = fopen(path, "we");

	if (!file || (id == ~0u ? fprintf(file, "deny") : fprintf(file, "%u %u 1", id, id)) < 0 ||
	    fclose(file) != 0)
		broken(path);
}

/* A user who is not root stays the same one in the user namespace that the others cost him. */
static void stay_who_we_are(const struct cell *cell)
{
	if (cell->uid == 0)
		return;
	write_line("/proc/self/uid_map", cell->uid);
	write_line("/proc/self/setgroups", ~0u);
	write_line("/proc/self/gid_map", cell->gid);
}

/* A copy of the host's end of the plugin's stdout; it must outlive the host. -1: it could not
 * start the plugin. */
static int borrow_stdout(pid_t host, int told)
{
	struct pollfd pfd = { .fd = told, .events = POLLIN };
	int theirs = -1, pidfd = (int)syscall(SYS_pidfd_open, host, 0), ours;

	if (pidfd < 0 || poll(&pfd, 1, 2 * LIMIT_MS) != 1)
		broken("the host is not ready");
	if (read(told, &theirs, sizeof(theirs)) != (ssize_t)sizeof(theirs))
		return -1;
	ours = (int)syscall(SYS_pidfd_getfd, pidfd, theirs, 0);
	if (ours < 0 || write(told, "g", 1) != 1)
		broken("pidfd_getfd");
	close(pidfd);
	return ours;
}

static _Noreturn void be_cell(struct cell *cell)
{
	int tell[2], out, status;
	int64_t ms = 0;
	pid_t host;

	alarm(CELL_S);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		broken("prctl");
	stay_who_we_are(cell);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0)
		broken("/proc");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, tell) < 0)
		broken("socketpair");
	host = fork();
	if (host == 0) {
		close(tell[0]);
		be_host(cell, tell[1]);
	}
	close(tell[1]);
	out = host > 0 ? borrow_stdout(host, tell[0]) : -1;
	if (out < 0)
		_exit(waitpid(host, &status, 0) == host && WIFEXITED(status) ? WEXITSTATUS(status) : BROKEN);
	act(cell, host);
	if (wait_end(out, is_promised(cell) ? LIMIT_MS : ASIDE_MS, &ms) < 0)
		_exit(ALIVE);
	printf("# %-12s %-25s %-13s %lld ms\n", cell->tree, columns[cell->column], cell->row->name,
	       (long long)ms);
	fflush(stdout);
	_exit(DEAD);
}

/* Where others of this run have theirs; nobody may have no right there. */
static bool make_scratch(struct cell *cell)
{
	const char *dir = getenv("TMPDIR");

	if (!dir || access(dir, W_OK | X_OK) < 0)
		dir = "/tmp";
	snprintf(cell->scratch, sizeof(cell->scratch), "%s/mortise-kill-XXXXXX", dir);
	return mkdtemp(cell->scratch) != NULL;
}

static enum verdict run_cell(struct cell *cell)
{
	unsigned long namespaces = CLONE_NEWPID | CLONE_NEWNS | (geteuid() ? CLONE_NEWUSER : 0);
	int status;
	pid_t pid;

	if (!make_scratch(cell))
		return BROKEN;
	cell->uid = geteuid();
	cell->gid = getegid();
	fflush(stdout);
	pid = (pid_t)syscall(SYS_clone, namespaces | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		be_cell(cell);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	rmdir(cell->scratch);
	return status >= 0 && WIFEXITED(status) ? (enum verdict)WEXITSTATUS(status) : BROKEN;
}

/* ---- the matrix ---- */

/* A limit of our own: a group of processes where we may make one, else the user's limit, which root has not. */
static char group[96];
#define GROUPS "/sys/fs/cgroup/pids/mortise-kill-"

static pid_t maker;

static void leave_group(void)
{
	FILE *back;

	if (getpid() != maker) /* a child that ends */
		return;
	back = fopen("/sys/fs/cgroup/pids/cgroup.procs", "we");
	if (back) {
		fprintf(back, "%d", getpid());
		fclose(back);
	}
	rmdir(group);
}

static bool put_number(const char *name, int number)
{
	char path[128];
	FILE *file;
	bool done;

	snprintf(path, sizeof(path), "%s/%s", group, name);
	file = fopen(path, "we");
	done = file && fprintf(file, "%d", number) > 0;
	if (file && fclose(file) != 0)
		done = false;
	return done;
}

/* Groups of runs that were killed. One that has processes stays. */
static void remove_left(void)
{
	glob_t found;

	if (glob(GROUPS "*", 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		rmdir(found.gl_pathv[i]);
	globfree(&found);
}

static void bound(void)
{
	struct rlimit limit = { 4000, 4000 };

	remove_left();
	snprintf(group, sizeof(group), GROUPS "%d", getpid());
	if (mkdir(group, 0755) == 0) {
		if (put_number("pids.max", PIDS) && put_number("cgroup.procs", getpid())) {
			maker = getpid();
			atexit(leave_group);
			return;
		}
		rmdir(group);
	}
	setrlimit(RLIMIT_NPROC, &limit);
}

static int number; /* of the test */

static int try_cell(struct cell cell)
{
	static const char *const words[] = { "", ": lives", ": broken", ": refused" };
	bool promised = is_promised(&cell);
	enum verdict verdict = run_cell(&cell);
	bool fine = verdict == DEAD || (verdict == ALIVE && !promised) || verdict == REFUSED;

	printf("%s %d - %s: %s, %s%s%s%s\n", fine ? "ok" : "not ok", ++number, cell.row->name, cell.tree,
	       columns[cell.column], verdict <= REFUSED ? words[verdict] : words[BROKEN],
	       verdict == ALIVE && !promised ? " (not promised)" : "",
	       verdict == REFUSED ? " # SKIP no user namespace can be made here" : "");
	fflush(stdout);
	return fine ? 0 : 1;
}

/* What each cell needs for its own safety. Not to be had in a chroot, where / is no mount. */
static bool can_contain(void)
{
	unsigned flags = CLONE_NEWNS | CLONE_NEWPID | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(unshare((int)flags) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static int matrix(const char *program)
{
	int failed = 0;

	if (!can_contain()) {
		puts("1..0 # SKIP no mount and PID namespace can be made here to hold what a broken guardian "
		     "would leave");
		return 0;
	}
	printf("1..%d\n", ROWS * COLUMNS * TREES);
	for (int row = 0; row < ROWS; row++) {
		for (int column = 0; column < COLUMNS; column++) {
			for (int tree = 0; tree < TREES; tree++)
				failed += try_cell((struct cell){ .program = program,
								  .tree = trees[tree],
								  .row = &rows[row],
								  .column = (enum column)column });
		}
	}
	return failed != 0;
}

/* In a child, because the process that made the group must also remove it. */
static int as_nobody(const char *program)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		/* Dumpable again, or /proc/self would stay root's. */
		if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
		    setresuid(NOBODY, NOBODY, NOBODY) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0)
			_exit(1);
		if (access(program, X_OK) < 0) {
			puts("1..0 # SKIP nobody cannot reach the build directory");
			exit(0);
		}
		exit(matrix(program));
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}

int main(int argc, char **argv)
{
	bool nobody = argc == 3 && strcmp(argv[2], "nobody") == 0;

	if (argc != 2 && !nobody)
		return 2;
	if (nobody && geteuid() != 0) {
		puts("1..0 # SKIP only root can become nobody");
		return 0;
	}
	bound();
	return nobody ? as_nobody(argv[1]) : matrix(argv[1]);
}
