/* SPDX-License-Identifier: Apache-2.0 */
/* See dial.h. */
#include "jail/dial.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { STACK_SIZE = 64 * 1024 };

static struct mor_dial_job next_job(struct mor_dial_queue *queue)
{
	struct mor_dial_job job;

	pthread_mutex_lock(&queue->lock);
	while (queue->count == 0)
		pthread_cond_wait(&queue->more, &queue->lock);
	job = queue->jobs[queue->first];
	queue->first = (queue->first + 1) % MOR_DIAL_QUEUE;
	queue->count--;
	pthread_mutex_unlock(&queue->lock);
	return job;
}

/* Our descriptor goes first: from its answer on the plugin may close its own, and expects that
 * to be the last. */
static void *dial_all(void *arg)
{
	struct mor_dial_queue *queue = arg;

	for (;;) {
		struct mor_dial_job job = next_job(queue);
		struct seccomp_notif_resp resp = { .id = job.id };

		if (connect(job.fd, (const struct sockaddr *)&job.to, job.size) < 0)
			resp.error = -errno;
		close(job.fd);
		/* ENOENT: the caller is gone. No other error can be corrected here. */
		(void)ioctl(queue->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
	}
	return NULL;
}

static int start_threads(struct mor_dial_queue *queue, unsigned count)
{
	pthread_attr_t attr;
	pthread_t thread;
	int error = pthread_attr_init(&attr);

	if (error)
		return -error;
	error = pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (!error)
		error = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (unsigned i = 0; !error && i < count; i++)
		error = pthread_create(&thread, &attr, dial_all, queue);
	pthread_attr_destroy(&attr);
	return -error;
}

static void queue_init(struct mor_dial_queue *queue, int listener)
{
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->more, NULL);
	queue->listener = listener;
}

int mor_dial_begin(struct mor_dial *dial, int listener)
{
	int own = fcntl(listener, F_DUPFD_CLOEXEC, 0), status;

	if (own < 0)
		return -errno;
	queue_init(&dial->instant, own);
	queue_init(&dial->patient, own);
	status = start_threads(&dial->instant, 1);
	return status < 0 ? status : start_threads(&dial->patient, MOR_DIAL_WAITERS);
}

int mor_dial_pass(struct mor_dial *dial, const struct mor_dial_job *job)
{
	int flags = fcntl(job->fd, F_GETFL);
	struct mor_dial_queue *queue = flags >= 0 && flags & O_NONBLOCK ? &dial->instant : &dial->patient;
	bool room;

	pthread_mutex_lock(&queue->lock);
	room = queue->count < MOR_DIAL_QUEUE;
	if (room) {
		queue->jobs[(queue->first + queue->count++) % MOR_DIAL_QUEUE] = *job;
		pthread_cond_signal(&queue->more);
	}
	pthread_mutex_unlock(&queue->lock);
	if (!room)
		close(job->fd);
	return room ? 0 : -EAGAIN;
}
