/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a silent plugin is doing at this moment: computing, stopped, blocked on a pipe that nobody reads,
 * waiting for its stdin. Read from /proc, once, when a call has got no answer. Nothing is waited for and
 * nothing is changed.
 *
 * The whole tree below `pid` counts: the plugin may be a shell that waits for the program that matters. Of all
 * processes and threads in it the most telling one is chosen, in the order of enum mor_doing_what. Among equals
 * a process without children wins: its parents only pass things on.
 *
 * The cost has a limit: at most MOR_DOING_SEEN processes are looked at to find the tree, those with numbers
 * above the plugin's; MOR_DOING_TREE of them, with MOR_DOING_TASKS threads each, are looked into. What may not
 * be read (another user's process) is MOR_DOING_UNKNOWN.
 */
#ifndef MOR_PROC_DOING_H
#define MOR_PROC_DOING_H

#include <stdbool.h>
#include <stdint.h>

#define MOR_DOING_SEEN  256
#define MOR_DOING_TREE  32
#define MOR_DOING_TASKS 32

/* A later one tells more. */
enum mor_doing_what {
	MOR_DOING_UNKNOWN,
	MOR_DOING_WAITS_CHILD,
	MOR_DOING_LOCKED, /* waits for a lock: another thread of it */
	MOR_DOING_WAITS,  /* for something else; `target` if that is a descriptor */
	MOR_DOING_SLEEPS, /* until a time */
	MOR_DOING_DISK,   /* cannot be interrupted: a disk, a network file system */
	MOR_DOING_READS,  /* waits for bytes on its stdin */
	MOR_DOING_RUNS,
	MOR_DOING_WRITES, /* blocked: the pipe `fd` is full */
	MOR_DOING_TRACED, /* a debugger holds it */
	MOR_DOING_STOPPED
};

struct mor_doing {
	enum mor_doing_what what;
	int pid;         /* who; 0 with UNKNOWN */
	char name[16];   /* its name in /proc */
	unsigned tasks;  /* its threads, as far as they were looked at */
	bool events;     /* READS: among other things, as an event loop does */
	int fd;          /* READS: 0; WRITES: 1 or 2 if it is that pipe, else the number; else -1 */
	char target[64]; /* WAITS, WRITES: the descriptor as /proc shows it: "socket:[123]"; or "" */
	uint64_t cpu_ms; /* processor time of the whole tree since its start */
};

void mor_doing_look(int pid, struct mor_doing *ret);

#endif
