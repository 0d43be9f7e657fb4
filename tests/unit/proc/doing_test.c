/* SPDX-License-Identifier: Apache-2.0 */
/* What a process is doing: a child for each thing, looked at until it does it. */
#include "leak.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/doing_inside.h"

/* In the child: stdin, stdout and stderr are pipes that nobody else uses. */
static void reads(void)
{
	char byte;

	(void)!read(0, &byte, 1);
}

static void reads_a_copy(void)
{
	char byte;

	(void)!read(dup(0), &byte, 1);
}

static void fills(int fd)
{
	static char block[65536];

	while (write(fd, block, sizeof(block)) > 0)
		;
}

static void fills_stdout(void)
{
	fills(1);
}

static void fills_stderr(void)
{
	fills(2);
}

static void fills_another(void)
{
	int ends[2];

	(void)!pipe(ends);
	fills(ends[1]);
}

static void waits_for_socket(void)
{
	int ends[2];
	char byte;

	(void)!socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	(void)!read(ends[0], &byte, 1);
}

static void polls(void)
{
	struct pollfd fds[] = { { .fd = 2, .events = POLLPRI }, { .fd = 0, .events = POLLIN } };

	poll(fds, 2, -1);
}

static void selects(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(0, &set);
	select(1, &set, NULL, NULL, NULL);
}

static void waits_in_epoll(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	epoll_ctl(fd, EPOLL_CTL_ADD, 0, &event);
	epoll_wait(fd, &event, 1, -1);
}

static void sleeps(void)
{
	sleep(600);
}

static void spins(void)
{
	volatile unsigned count = 0;

	for (;;)
		count++;
}

static void stops(void)
{
	raise(SIGSTOP);
}

static void is_traced(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
}

static void locks(void)
{
	int word = 1;

	syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
}

static void waits_for_child(void)
{
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sleeps();
	}
	wait(NULL);
}

static pid_t start(void (*what)(void), int ends[3][2])
{
	pid_t pid;

	for (int i = 0; i < 3; i++)
		assert_int_equal(pipe(ends[i]), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (int i = 0; i < 3; i++) {
			dup2(ends[i][i == 0 ? 0 : 1], i);
			close(ends[i][0]);
			close(ends[i][1]);
		}
		what();
		leak_exit(0);
	}
	return pid;
}

static void end(pid_t pid, int ends[3][2])
{
	int status;

	kill(pid, SIGKILL);
	do /* one that is traced tells its stop first */
		assert_int_equal(waitpid(pid, &status, 0), pid);
	while (!WIFSIGNALED(status));
	for (int i = 0; i < 3; i++) {
		close(ends[i][0]);
		close(ends[i][1]);
	}
}

/* Looks until it is there; a run that never gets there is ended by the time limit of the tests. */
static struct mor_doing look_until(pid_t pid, enum mor_doing_what wanted)
{
	struct mor_doing doing;

	for (mor_doing_look(pid, &doing); doing.what != wanted; mor_doing_look(pid, &doing))
		sched_yield();
	return doing;
}

static void test_each(void **state)
{
	static const struct {
		void (*what)(void);
		enum mor_doing_what wanted;
		int fd;
		bool events;
	} table[] = {
		{ reads, MOR_DOING_READS, 0, false },         { reads_a_copy, MOR_DOING_READS, 0, false },
		{ polls, MOR_DOING_READS, 0, true },          { selects, MOR_DOING_READS, 0, false },
		{ waits_in_epoll, MOR_DOING_READS, 0, true }, { fills_stdout, MOR_DOING_WRITES, 1, false },
		{ fills_stderr, MOR_DOING_WRITES, 2, false }, { waits_for_socket, MOR_DOING_WAITS, -1, false },
		{ sleeps, MOR_DOING_SLEEPS, -1, false },      { spins, MOR_DOING_RUNS, -1, false },
		{ stops, MOR_DOING_STOPPED, -1, false },      { locks, MOR_DOING_LOCKED, -1, false },
		{ is_traced, MOR_DOING_TRACED, -1, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		int ends[3][2];
		pid_t pid = start(table[i].what, ends);
		struct mor_doing doing = look_until(pid, table[i].wanted);

		assert_int_equal(doing.pid, pid);
		assert_int_equal(doing.fd, table[i].fd);
		assert_int_equal(doing.events, table[i].events);
		assert_true(*doing.name);
		end(pid, ends);
	}
}

static void test_target(void **state)
{
	int ends[3][2];
	pid_t pid = start(fills_another, ends);
	struct mor_doing doing = look_until(pid, MOR_DOING_WRITES);

	(void)state;
	assert_true(doing.fd > 2);
	assert_memory_equal(doing.target, "pipe:[", 6);
	end(pid, ends);
}

/* The child tells more than the parent that waits for it. */
static void test_tree(void **state)
{
	int ends[3][2];
	pid_t pid = start(waits_for_child, ends);
	struct mor_doing doing = look_until(pid, MOR_DOING_SLEEPS);

	(void)state;
	assert_int_not_equal(doing.pid, pid);
	end(pid, ends);
}

/* Of a process that we may not trace the kernel still names the place. */
static void test_places(void **state)
{
	static const struct {
		const char *place;
		enum mor_doing_what what;
		int fd;
	} table[] = {
		{ "anon_pipe_read", MOR_DOING_READS, 0 },         { "pipe_write", MOR_DOING_WRITES, -1 },
		{ "hrtimer_nanosleep", MOR_DOING_SLEEPS, -1 },    { "futex_wait_queue", MOR_DOING_LOCKED, -1 },
		{ "do_wait", MOR_DOING_WAITS_CHILD, -1 },         { "ep_poll", MOR_DOING_WAITS, -1 },
		{ "poll_schedule_timeout", MOR_DOING_WAITS, -1 }, { "0", MOR_DOING_UNKNOWN, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct mor_doing doing = { .fd = -1 };

		mor_doing_place(table[i].place, &doing);
		assert_int_equal(doing.what, table[i].what);
		assert_int_equal(doing.fd, table[i].fd);
	}
}

static void test_nobody(void **state)
{
	struct mor_doing doing;
	int ends[3][2];
	pid_t pid = start(sleeps, ends);

	(void)state;
	end(pid, ends);
	mor_doing_look(pid, &doing);
	assert_int_equal(doing.what, MOR_DOING_UNKNOWN);
	mor_doing_look(0, &doing);
	assert_int_equal(doing.what, MOR_DOING_UNKNOWN);
	assert_int_equal(doing.pid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_each),   MOR_TEST(test_target), MOR_TEST(test_tree),
		MOR_TEST(test_places), MOR_TEST(test_nobody),
	};

	return mor_run_group("proc/doing", tests);
}
