/* SPDX-License-Identifier: Apache-2.0 */
/* See spent.h. */
#include "jail/spent.h"

#include <string.h>

#include "jail/group.h"

/* Close to the limit the looks come no closer than this while it is busy. A plugin that rests is looked at less
 * and less often: up to a second of each processor is what a limit may be late. */
enum { BUSY_MS = 50, RESTING_MS = 1000, GRACE_MS = 1000 };

static struct {
	int64_t limit_us, used_us;
	int64_t processors;
	int64_t looked, due, pause; /* ms */
	bool told, reached;
} spent;

static void look_again(int64_t now, int64_t used)
{
	int64_t earliest = (spent.limit_us - used) / spent.processors / 1000 + 1;
	bool busy = used - spent.used_us > (now - spent.looked) * 1000 / 10;

	spent.pause = busy ? BUSY_MS : spent.pause * 2;
	if (spent.pause > RESTING_MS)
		spent.pause = RESTING_MS;
	spent.used_us = used;
	spent.looked = now;
	spent.due = now + (earliest > spent.pause ? earliest : spent.pause);
}

void mor_spent_begin(const struct mor_plan *plan, int64_t now)
{
	memset(&spent, 0, sizeof(spent));
	spent.processors = 1;
	for (const struct mor_plan_op *op = NULL; (op = mor_plan_next(plan, MOR_OP_GROUP, op));) {
		const struct mor_op_group *group = mor_plan_payload(op);

		if (!group->cpu_s)
			continue;
		spent.limit_us = group->cpu_s * INT64_C(1000000);
		spent.processors = group->processors ? group->processors : 1;
	}
	spent.pause = BUSY_MS;
	spent.looked = now;
	look_again(now, 0);
}

int64_t mor_spent_due(void)
{
	return spent.due;
}

enum mor_spent mor_spent_look(int64_t now)
{
	int64_t used;

	if (!spent.due || now < spent.due)
		return MOR_SPENT_NOT;
	if (spent.told)
		return MOR_SPENT_OVER;
	used = mor_groups_cpu_us();
	if (used < spent.limit_us) {
		look_again(now, used);
		return MOR_SPENT_NOT;
	}
	spent.told = spent.reached = true;
	spent.due = now + GRACE_MS;
	return MOR_SPENT_ALL;
}

bool mor_spent_reached(void)
{
	return spent.reached || (spent.due && mor_groups_cpu_us() >= spent.limit_us);
}

bool mor_spent_alone(const struct mor_plan *plan, const struct rusage *usage)
{
	const struct mor_plan_op *op = NULL;

	while ((op = mor_plan_next(plan, MOR_OP_LIMIT, op))) {
		const struct mor_op_limit *limit = mor_plan_payload(op);

		if (limit->resource == RLIMIT_CPU)
			return (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) + 1 > limit->value;
	}
	return false;
}
