/* SPDX-License-Identifier: Apache-2.0 */
#include "crew/plan.h"

#define TARGET_MS  16000 /* the most that a batch should take ... */
#define SMALL_MS   1000  /* ... and what is not worth sharing out, even at the end */
#define SHARES     16    /* of what is left: all workers shall end at about the same time */
#define FIRST      4     /* units, as long as nothing is known ... */
#define FIRST_MOST 16    /* ... or, while it is too early to know, up to so many */
#define REMEMBER   4096  /* units */

/* The largest power of two up to `number`; 1 for 0. */
static uint32_t power_of_two(uint64_t number)
{
	uint32_t power = 1;

	while (power < MOR_CREW_PLAN_MOST && (uint64_t)power * 2 <= number)
		power *= 2;
	return power;
}

static uint32_t cut_at_end(const struct mor_crew_plan *plan, uint64_t first, uint32_t size)
{
	return plan->units - first < size ? (uint32_t)(plan->units - first) : size;
}

/* The longest that may begin here. */
static uint32_t aligned_most(uint64_t first)
{
	uint32_t size = MOR_CREW_PLAN_MOST;

	while (first % size)
		size /= 2;
	return size;
}

void mor_crew_plan_learn(struct mor_crew_plan *plan, uint32_t count, uint32_t took_ms)
{
	if (plan->seen > REMEMBER) {
		plan->seen /= 2;
		plan->took_ms /= 2;
	}
	plan->seen += count;
	plan->took_ms += took_ms ? took_ms : 1;
}

/* Units that take `ms`; at least 1. */
static uint32_t units_in(const struct mor_crew_plan *plan, uint32_t ms)
{
	return power_of_two(ms * plan->seen / plan->took_ms);
}

/* The first ones are small, so that something is learned soon. Those behind them will be done when it is: if
 * all were as small, half of a short run would be done in batches that are too small. */
static uint32_t first_size(const struct mor_crew_plan *plan, uint64_t first)
{
	uint32_t size = FIRST;

	while (!plan->slow && size < FIRST_MOST && first - plan->begun >= 4 * (uint64_t)size)
		size *= 2;
	return size;
}

static uint32_t wanted(const struct mor_crew_plan *plan, uint64_t first)
{
	uint32_t share = power_of_two((plan->units - first) / SHARES), size = first_size(plan, first);

	if (plan->seen) {
		size = units_in(plan, TARGET_MS);
		if (share < units_in(plan, SMALL_MS))
			share = units_in(plan, SMALL_MS);
	}
	size = size < share ? size : share;
	return size < plan->most ? size : plan->most;
}

static bool is_light(const struct mor_crew_plan *plan, uint64_t first, uint32_t count)
{
	uint64_t weight = 0;

	for (uint32_t i = 0; plan->weight && i < count; i++)
		weight += plan->weigh(first + i, plan->arg);
	return weight <= plan->weight;
}

/* This batch, or one inside it, is done. Without an earlier run, one look has to do. */
static bool has_done(const struct mor_crew_plan *plan, uint64_t first, uint32_t size)
{
	if (first >= plan->units)
		return false;
	if (plan->found(first, cut_at_end(plan, first, size), plan->arg))
		return true;
	return plan->hit && size > 1 &&
	       (has_done(plan, first, size / 2) || has_done(plan, first + size / 2, size / 2));
}

/* Nothing in it was done before. What begins at `first` was looked for already. */
static uint32_t fresh_size(const struct mor_crew_plan *plan, uint64_t first, uint32_t size)
{
	for (uint32_t half = 1; half < size; half *= 2)
		if (has_done(plan, first + half, half))
			return half;
	return size;
}

static uint32_t find_done(struct mor_crew_plan *plan, uint64_t first)
{
	for (uint32_t size = aligned_most(first); size; size /= 2) {
		uint32_t count = cut_at_end(plan, first, size);

		if (size > 1 && count <= size / 2)
			continue; /* the same as the next one */
		if (plan->found(first, count, plan->arg)) {
			plan->hit = true;
			return count;
		}
	}
	return 0;
}

uint32_t mor_crew_plan_batch(struct mor_crew_plan *plan, uint64_t first)
{
	uint32_t size, count;

	if (plan->fixed)
		return cut_at_end(plan, first, plan->fixed);
	count = find_done(plan, first);
	if (count)
		return count;
	size = wanted(plan, first);
	if (size > aligned_most(first))
		size = aligned_most(first);
	while (size > 1 && !is_light(plan, first, cut_at_end(plan, first, size)))
		size /= 2;
	return cut_at_end(plan, first, fresh_size(plan, first, size));
}

static uint64_t find_begin(const struct mor_crew_plan *plan, uint64_t next)
{
	if (plan->fixed)
		return next - next % plan->fixed;
	for (uint32_t size = MOR_CREW_PLAN_MOST; size > 1 && next < plan->units; size /= 2) {
		uint64_t first = next - next % size;

		if (plan->found(first, cut_at_end(plan, first, size), plan->arg))
			return first;
	}
	return next;
}

uint64_t mor_crew_plan_begin(struct mor_crew_plan *plan, uint64_t next)
{
	plan->begun = find_begin(plan, next);
	return plan->begun;
}

uint32_t mor_crew_plan_split(uint32_t count)
{
	uint32_t power = 1;

	while (power < count - power)
		power *= 2;
	return power;
}
