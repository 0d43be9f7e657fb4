/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill-tree KIND: makes a tree of processes that does not want to die. All of them hold stdout, so its reader
 * sees the end of the last. Says "r" there when the tree stands. Bounded: at most 128 processes at a time, and
 * after LIFE_S seconds every one of them ends by itself.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LIFE_S = 500, WIDE = 60, BOMB = 128 }; /* it must outlive all that matrix.c waits for */

static time_t born;

static void ready(void)
{
	if (write(1, "r", 1) != 1)
		_exit(1);
}

static void stay(void)
{
	alarm(LIFE_S);
	for (;;)
		pause();
}

/* ---- trees ---- */

static void simple(void)
{
	ready();
	stay();
}

static void ignores_term(void)
{
	for (int number = 1; number < 32; number++) {
		if (number != SIGALRM)
			signal(number, SIG_IGN);
	}
	ready();
	stay();
}

/* A daemon by the book; returns in the one that started it, when the daemon is one. */
static void daemonise(void)
{
	int done[2];
	char byte;

	if (pipe(done) < 0)
		_exit(1);
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			close(done[0]);
			close(done[1]);
			close(0);
			stay();
		}
		_exit(0);
	}
	close(done[1]);
	if (read(done[0], &byte, 1) != 0)
		_exit(1);
	close(done[0]);
}

static void double_fork(void)
{
	daemonise();
	ready();
	stay();
}

static void main_exits(void)
{
	daemonise();
	ready();
	_exit(0);
}

static void wide(void)
{
	for (int i = 0; i < WIDE; i++) {
		if (fork() == 0) {
			setsid();
			stay();
		}
	}
	ready();
	stay();
}

/* Everybody forks until there are enough, each in a session of its own. */
static void bomb(void)
{
	int *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t first = getpid();

	if (count == MAP_FAILED)
		_exit(1);
	while (__atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST) < BOMB) {
		if (fork() == 0)
			setsid();
	}
	if (getpid() == first)
		ready();
	stay();
}

static void stopped(void)
{
	pid_t child = fork();

	if (child == 0) {
		setsid();
		raise(SIGSTOP);
		stay();
	}
	ready();
	raise(SIGSTOP);
	stay();
}

/* Never the same pid for long: a process that was seen is gone when the signal comes. */
static void hop(useconds_t rest)
{
	if (fork() == 0) {
		setsid();
		while (time(NULL) - born < LIFE_S) {
			if (rest)
				usleep(rest);
			if (fork() != 0)
				_exit(0);
			setsid();
		}
		_exit(0);
	}
	ready();
	stay();
}

static void hopper(void)
{
	hop(300);
}

static void fast_hopper(void)
{
	hop(0);
}

/* execve in a second thread takes that thread's death signal along, and it has none. */
static void *become_simple(void *program)
{
	char name[] = "kill-tree", kind[] = "simple", *argv[] = { name, kind, NULL };

	execv(program, argv);
	_exit(1);
}

static const char *self;

static void thread_exec(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, become_simple, (void *)(uintptr_t)self) != 0)
		_exit(1);
	stay();
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = {
		{ "simple", simple },
		{ "ignores-term", ignores_term },
		{ "double-fork", double_fork },
		{ "main-exits", main_exits },
		{ "wide", wide },
		{ "bomb", bomb },
		{ "stopped", stopped },
		{ "hopper", hopper },
		{ "fast-hopper", fast_hopper },
		{ "thread-exec", thread_exec },
	};

	born = time(NULL);
	self = argv[0];
	for (size_t i = 0; argc == 2 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].name, argv[1]) == 0)
			kinds[i].run();
	}
	return 2;
}
