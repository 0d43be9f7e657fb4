/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that can have the baton. */
#ifndef TENON_HANDS_H
#define TENON_HANDS_H

#include <pthread.h>
#include <stdbool.h>

struct tn_session;

struct tn_hand {
	struct tn_session *session;
	struct tn_hand *next;       /* of all */
	struct tn_hand *next_spare; /* of those that may lead */
	pthread_t thread;
	pthread_cond_t given; /* the baton, or s->quit */
	bool first;           /* the thread that called tenon_run() */
	bool looping;         /* waits in its own loop, not in the middle of a function */
};

#endif
