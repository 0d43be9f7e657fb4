/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that this worker cannot do. A try costs the farm a claim and a beat. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "crew/inside.h"

#define FIRST_MS  3000  /* a person who has just mended it looks on */
#define MOST_MS   30000 /* nobody does */
#define RUNS_MOST 100   /* the oldest is forgotten: it is tried again, and refused again */

static struct refused *find_refused(struct crew_worker *worker, const char *run)
{
	for (size_t i = 0; i < worker->refused_count; i++)
		if (strcmp(worker->refused[i].run, run) == 0)
			return &worker->refused[i];
	return NULL;
}

static void drop_refused(struct crew_worker *worker, struct refused *refused)
{
	size_t after = worker->refused_count-- - (size_t)(refused - worker->refused) - 1;

	memmove(refused, refused + 1, after * sizeof(*refused));
}

bool mor_refused_add(struct crew_worker *worker, const char *run, const char *why)
{
	struct refused *refused = find_refused(worker, run);
	bool news;

	if (!refused) {
		if (worker->refused_count == RUNS_MOST)
			drop_refused(worker, worker->refused);
		if (mor_grow(&worker->refused, worker->refused_count, &worker->refused_cap, sizeof(*refused)) <
		    0)
			return true;
		refused = &worker->refused[worker->refused_count++];
		*refused = (struct refused){ 0 };
		snprintf(refused->run, sizeof(refused->run), "%s", run);
	}
	news = !refused->wait_ms || strncmp(refused->why, why, sizeof(refused->why) - 1) != 0;
	snprintf(refused->why, sizeof(refused->why), "%s", why);
	/* another slot may have asked for the same run at the same time: one try */
	if (news)
		refused->wait_ms = FIRST_MS;
	else if (mor_clock_ms() >= refused->until_ms)
		refused->wait_ms = 2 * refused->wait_ms < MOST_MS ? 2 * refused->wait_ms : MOST_MS;
	refused->until_ms = mor_clock_ms() + refused->wait_ms;
	return news;
}

void mor_refused_remove(struct crew_worker *worker, const char *run)
{
	struct refused *refused = find_refused(worker, run);

	if (refused)
		drop_refused(worker, refused);
}

const char *const *mor_refused_now(struct crew_worker *worker)
{
	const char **now = mor_zalloc((worker->refused_count + 1) * sizeof(*now));
	size_t count = 0;

	mor_free(worker->refused_now);
	worker->refused_now = now;
	for (size_t i = 0; now && i < worker->refused_count; i++)
		if (mor_clock_ms() < worker->refused[i].until_ms)
			now[count++] = worker->refused[i].run;
	return now;
}

void mor_refused_free(struct crew_worker *worker)
{
	mor_free(worker->refused);
	mor_free(worker->refused_now);
}
