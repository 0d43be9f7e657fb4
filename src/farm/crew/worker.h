/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker: takes batches from a farm, runs analyzers, writes segments. It has as many slots as analyzers; each
 * slot has one batch, with a host and a driver of its own. One thread, one loop.
 *
 * A batch that cannot be done here (another analyzer, a store without the run's files) is given back, and its
 * run is not asked for again for some seconds, then for up to half a minute: what is wrong may be mended. A
 * batch whose lease was lost goes on: the commit decides.
 */
#ifndef MOR_CREW_WORKER_H
#define MOR_CREW_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "console/console.h"

struct mor_crew_worker_options {
	struct mor_console *console;
	const char *url, *store;
	const char *cache; /* NULL: the user's */
	uint32_t jobs;     /* 0: one per processor */
	bool confine;      /* analyzers are confined, whatever the run says */
	bool once;         /* ends when there is nothing to claim and every slot is free */
	uint32_t poll_ms;  /* how often it asks while there is nothing to do; 0: 500 */
};

/* Until a signal comes, or the farm fails. Returns the exit code of the command; with `once`, that of
 * MORTISE_EINPUT if it refused all that it was given. */
int mor_crew_work(const struct mor_crew_worker_options *opt);

#endif
