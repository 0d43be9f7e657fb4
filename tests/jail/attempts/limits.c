/* SPDX-License-Identifier: Apache-2.0 */
/* Taking more than the limits of run.py allow. All of it is small: unconfined, each of them succeeds. */
#include "attempt.h"

#include <limits.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define L "limits"

enum { THREADS = 192, STACK = 64 * 1024 }; /* of 128 that run.py allows */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *wait_at_gate(void *arg)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return arg;
}

static struct result limit_threads(const struct stage *s)
{
	pthread_t threads[THREADS];
	pthread_attr_t attr;
	int count = 0, e = 0;

	(void)s;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_mutex_lock(&gate);
	while (count < THREADS && (e = pthread_create(&threads[count], &attr, wait_at_gate, NULL)) == 0)
		count++;
	pthread_mutex_unlock(&gate);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	errno = e;
	return count == THREADS ? yes("threads") : no("pthread_create");
}

static int wait_for_word(void *end)
{
	char byte;

	while (syscall(SYS_read, *(int *)end, &byte, 1) < 0)
		;
	syscall(SYS_exit, 0);
	return 0;
}

/* Without the C library, and so without its second thoughts. */
static struct result limit_threads_raw(const struct stage *s)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, count = 0;
	char *stacks =
		mmap(NULL, (size_t)THREADS * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ends[2], e;

	(void)s;
	if (stacks == MAP_FAILED || pipe(ends) < 0)
		return no("mmap, pipe");
	while (count < THREADS &&
	       clone(wait_for_word, stacks + (size_t)(count + 1) * STACK, flags, &ends[0]) > 0)
		count++;
	e = errno;
	close(ends[1]);
	errno = e;
	return count == THREADS ? yes("threads by clone") : no("clone");
}

const struct attempt limit_attempts[] = {
	{ "limit_threads", L, 0, 'B', 0, 0, 0, limit_threads },
	{ "limit_threads_raw", L, 0, 'B', 0, 0, 0, limit_threads_raw },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
