/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of a run: keeps a window of batches in the farm, and takes their segments in order. See "Owner" in
 * docs/design/0010-farm.md. It does not know what a unit is.
 */
#ifndef MOR_CREW_OWNER_H
#define MOR_CREW_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "console/console.h"
#include "crew/spec.h"
#include "depot/segment.h"
#include "engine/farm.h"

struct mor_crew_owner;

struct mor_crew_owner_options {
	struct mor_depot *depot;
	struct mor_farm *farm;
	uint64_t units;
	uint64_t next;  /* units before it are in the result */
	uint32_t batch; /* units in each; 0: it is learned (crew/plan.h), up to `most` */
	uint32_t most;
	uint64_t weight; /* of units in one batch, as weigh() tells; 0: no limit */
	uint32_t window, lease_ms;
	uint32_t poll_ms;                              /* the farm is not asked more often than this */
	const char *work;                              /* as in mor_crew_key(), and the next one */
	mor_crew_digest_fn *digest;                    /* of a unit */
	uint64_t (*weigh)(uint64_t unit, void *arg);   /* or NULL: weight is 0 */
	const char *(*name)(uint64_t unit, void *arg); /* of a unit, for people */
	/* The next segment, whole and with the right key. It may have units that were taken before: after a
	 * failure, or at the beginning of a run that goes on. MORTISE_EINPUT: its content is wrong, it is asked
	 * for again. Other errors end the run. */
	int (*take)(const struct mor_farm_batch *batch, const struct mor_segment *segment, const char *digest,
		    void *take_arg, mortise_error *err);
	void *take_arg, *arg;
	struct mor_console *console; /* for warnings */
};

int mor_crew_owner_new(const struct mor_crew_owner_options *opt, struct mor_crew_owner **ret,
		       mortise_error *err);
struct mor_crew_owner *mor_crew_owner_free(struct mor_crew_owner *owner); /* NULL is fine; returns NULL */
/* Call it after each turn of the farm. *ret_wait: ms until the next call, or -1. Failures that end the run. */
int mor_crew_owner_step(struct mor_crew_owner *owner, int *ret_wait, mortise_error *err);
bool mor_crew_owner_finished(const struct mor_crew_owner *owner);

struct mor_crew_owner_stats {
	uint64_t batches, cached; /* taken; of these, found in the store without asking */
	uint64_t cached_units;    /* in the cached batches */
	uint64_t again;           /* segments that were bad or missing */
	uint64_t split;           /* batches that were poisoned */
	uint64_t failed;          /* units that have failed */
};
struct mor_crew_owner_stats mor_crew_owner_stats(const struct mor_crew_owner *owner);

#endif
