/* SPDX-License-Identifier: Apache-2.0 */
#include "crew/pace.h"

#define STEP_MS   500
#define RECENT_MS 30000

void mor_pace_begin(struct mor_pace *pace, int64_t now_ms, uint64_t units)
{
	pace->begun_ms = now_ms;
	pace->step_ms = STEP_MS;
	pace->points[0] = (struct mor_pace_point){ .units = units };
	pace->count = 1;
}

static void thin_out(struct mor_pace *pace)
{
	size_t kept = 1;

	/* the beginning stays, and the last one is always the newest of its step */
	for (size_t i = 2; i < pace->count; i += 2)
		pace->points[kept++] = pace->points[i];
	pace->count = kept;
	pace->step_ms *= 2;
}

void mor_pace_note(struct mor_pace *pace, int64_t now_ms, uint64_t units, uint64_t failed, unsigned workers)
{
	struct mor_pace_point point = { now_ms - pace->begun_ms, units, failed, workers };
	const struct mor_pace_point *last = &pace->points[pace->count - 1];

	/* of one step, the last word counts */
	if (pace->count > 1 && point.ms / pace->step_ms == last->ms / pace->step_ms)
		pace->count--;
	else if (pace->count == MOR_PACE_POINTS)
		thin_out(pace);
	pace->points[pace->count++] = point;
}

double mor_pace_rate(const struct mor_pace *pace)
{
	const struct mor_pace_point *last = &pace->points[pace->count - 1], *from = last;

	while (from > pace->points && last->ms - from->ms < RECENT_MS)
		from--;
	if (last->ms == from->ms || last->units <= from->units)
		return 0;
	return 1000.0 * (double)(last->units - from->units) / (double)(last->ms - from->ms);
}

int64_t mor_pace_left_ms(const struct mor_pace *pace, uint64_t total)
{
	uint64_t done = pace->points[pace->count - 1].units;
	double rate = mor_pace_rate(pace);

	if (done >= total)
		return 0;
	return rate > 0 ? (int64_t)(1000.0 * (double)(total - done) / rate) : -1;
}
