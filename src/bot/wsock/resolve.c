/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From names to addresses. glibc looks them up in its own thread (getaddrinfo_a) and then runs
 * `on_looked_up` in another one. That function only writes to an eventfd, and does not use the look-up after
 * that. A look-up cannot be stopped: if nobody waits for it any more, it is freed there.
 */
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "wsock/inside.h"

/* Shared with the thread. Not from mor_alloc(): tests that count allocations must not count another
 * thread's. */
enum { UNDER_WAY, LOOKED_UP, ABANDONED };

struct lookup {
	atomic_int state;
	bool has_thread;
	int eventfd;
	struct gaicb request;
	struct addrinfo hints;
	char host[MOR_URL_HOST], port[8];
};

struct mor_resolve {
	struct mor_loop *loop;
	struct mor_watch watch;
	struct mor_task task; /* used if the answer is known at once */
	struct lookup *lookup;
	int error;
	mor_resolve_fn *fn;
	void *arg;
};

static void free_lookup(struct lookup *lookup)
{
	if (lookup->request.ar_result)
		freeaddrinfo(lookup->request.ar_result);
	close(lookup->eventfd);
	free(lookup);
}

/* Runs in another thread, with all signals blocked. */
static void on_looked_up(union sigval value)
{
	struct lookup *lookup = value.sival_ptr;

	if (atomic_exchange(&lookup->state, LOOKED_UP) == ABANDONED)
		free_lookup(lookup);
	else
		(void)!write(lookup->eventfd, &(uint64_t){ 1 }, sizeof(uint64_t));
}

/* The thread may be between its two steps. Then we wait for it, which takes almost no time. */
static void abandon(struct lookup *lookup)
{
	if (lookup->has_thread && atomic_exchange(&lookup->state, ABANDONED) != LOOKED_UP)
		return;
	if (lookup->has_thread)
		poll(&(struct pollfd){ .fd = lookup->eventfd, .events = POLLIN }, 1, -1);
	free_lookup(lookup);
}

static void tell_found(struct mor_resolve *resolve)
{
	struct addrinfo *list = NULL;

	if (!resolve->error) /* otherwise the thread may still use it */
		list = mor_take(&resolve->lookup->request.ar_result);
	resolve->fn(resolve->arg, list, resolve->error ? gai_strerror(resolve->error) : NULL);
}

static void on_ready(struct mor_watch *watch, unsigned events)
{
	struct mor_resolve *resolve = mor_container_of(watch, struct mor_resolve, watch);

	(void)events;
	mor_watch_stop(watch);
	resolve->error = gai_error(&resolve->lookup->request);
	tell_found(resolve);
}

static void on_known(struct mor_task *task)
{
	tell_found(mor_container_of(task, struct mor_resolve, task));
}

static struct lookup *new_lookup(const char *host, uint16_t port)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));

	if (!lookup)
		return NULL;
	lookup->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (lookup->eventfd < 0) {
		free(lookup);
		return NULL;
	}
	lookup->hints = (struct addrinfo){ .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	snprintf(lookup->host, sizeof(lookup->host), "%s", host);
	snprintf(lookup->port, sizeof(lookup->port), "%u", port);
	lookup->request.ar_name = lookup->host;
	lookup->request.ar_service = lookup->port;
	lookup->request.ar_request = &lookup->hints;
	return lookup;
}

/* An address needs no look-up, and no thread. */
static bool is_known(struct lookup *lookup)
{
	struct addrinfo hints = lookup->hints;

	hints.ai_flags |= AI_NUMERICHOST;
	return getaddrinfo(lookup->host, lookup->port, &hints, &lookup->request.ar_result) == 0;
}

static void begin_lookup(struct mor_resolve *resolve)
{
	struct lookup *lookup = resolve->lookup;
	struct gaicb *list[] = { &lookup->request };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD,
				  .sigev_value.sival_ptr = lookup,
				  .sigev_notify_function = on_looked_up };

	resolve->error = getaddrinfo_a(GAI_NOWAIT, list, 1, &event);
	lookup->has_thread = !resolve->error;
	if (lookup->has_thread &&
	    mor_watch_start(resolve->loop, &resolve->watch, lookup->eventfd, MOR_READABLE, on_ready) == 0)
		return;
	if (lookup->has_thread)
		resolve->error = EAI_MEMORY;
	mor_loop_post(resolve->loop, &resolve->task, on_known);
}

struct mor_resolve *mor_resolve(struct mor_loop *loop, const char *host, uint16_t port, mor_resolve_fn *fn,
				void *arg)
{
	struct mor_resolve *resolve = mor_zalloc(sizeof(*resolve));

	if (!resolve)
		return NULL;
	*resolve = (struct mor_resolve){ .loop = loop, .lookup = new_lookup(host, port), .fn = fn, .arg = arg };
	if (!resolve->lookup) {
		mor_free(resolve);
		return NULL;
	}
	if (is_known(resolve->lookup))
		mor_loop_post(loop, &resolve->task, on_known);
	else
		begin_lookup(resolve);
	return resolve;
}

void mor_resolve_free(struct mor_resolve *resolve)
{
	if (!resolve)
		return;
	mor_watch_stop(&resolve->watch);
	mor_task_stop(&resolve->task);
	abandon(resolve->lookup);
	mor_free(resolve);
}
