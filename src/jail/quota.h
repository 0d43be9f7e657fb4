/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a scratch directory on the host's file system may hold (t0, and named ones). Nobody asks before each
 * write, so it is counted: when the plugin has opened something there to write, and from then on by a timer.
 * When it is full, the broker refuses to open and to make files there (ENOSPC); a quarter above the limit,
 * which only open files can reach, the guardian ends the plugin.
 */
#ifndef MOR_JAIL_QUOTA_H
#define MOR_JAIL_QUOTA_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mor_quota {
	uint64_t limit; /* bytes; 0: none */
	int dir, timer;
	unsigned interval; /* ms between two counts; the guardian's main thread only */
	uint64_t last;     /* bytes at the last one */
	atomic_bool stirred, full, met;
};
/* clang-format off */
#define MOR_QUOTA_INIT { .dir = -1, .timer = -1 }
/* clang-format on */

/* 0 or -errno. */
int mor_quota_begin(struct mor_quota *quota, const char *path, uint64_t limit);
/* The broker: is there room for something new? */
bool mor_quota_has_room(struct mor_quota *quota);
/* The timer is readable. `proc` shows the processes of the plugin: those of the session, or only `main`.
 * true: it holds far too much. */
struct mor_quota_users {
	int proc;
	pid_t main, session; /* session 0: there is only `main` */
};
bool mor_quota_count(struct mor_quota *quota, const struct mor_quota_users *users);
void mor_quota_end(struct mor_quota *quota);

#endif
