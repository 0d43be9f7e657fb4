/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections that the guardian makes for the plugin (network = [...]). The connect is done on the plugin's own
 * socket, of which we hold a second descriptor meanwhile: so it blocks, or is in progress, or times out exactly
 * as the plugin's own call would. That can take minutes, so the broker never does it itself. It judges the
 * address, then passes the question on to one of these threads, which answers it.
 *
 * Sockets that do not block have a thread of their own: no connection that waits can hold them up.
 */
#ifndef MOR_JAIL_DIAL_H
#define MOR_JAIL_DIAL_H

#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>

struct mor_dial_job {
	uint64_t id; /* of the question */
	int fd;      /* ours; closed when it is done */
	socklen_t size;
	struct sockaddr_storage to; /* a copy that nobody else can change */
};

enum { MOR_DIAL_WAITERS = 8, MOR_DIAL_QUEUE = 64 };
struct mor_dial_queue {
	pthread_mutex_t lock;
	pthread_cond_t more;
	unsigned first, count;
	int listener;
	struct mor_dial_job jobs[MOR_DIAL_QUEUE];
};

struct mor_dial {
	struct mor_dial_queue instant, patient;
};

/* Makes the threads, which live as long as the process. They use a descriptor of their own of the listener.
 * 0 or -errno. */
int mor_dial_begin(struct mor_dial *dial, int listener);
/* Takes job->fd in any case. 0, or -EAGAIN: too many wait already. */
int mor_dial_pass(struct mor_dial *dial, const struct mor_dial_job *job);

#endif
