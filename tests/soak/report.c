/* SPDX-License-Identifier: Apache-2.0 */
/* The table at the end: per seat its calls and how they ended, what was done to it, and what came of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "soak.h"

#define SHARE_MS 60000 /* of longer runs the share of calls that were answered is judged */

static const char *const fault_names[] = { "split",    "stall", "garbage",  "dup-id",
					   "stale-id", "drop",  "truncate", "kill" };
enum { FAULT_NAMES = sizeof(fault_names) / sizeof(fault_names[0]) };

/* From what `mortise chaos` has noted: "< 12 drop id=4". */
static uint64_t count_faults(const struct seat *seat, uint64_t counts[FAULT_NAMES])
{
	FILE *file = fopen(seat->log, "re");
	char line[512], name[32];
	uint64_t sum = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (line[0] == '#' || sscanf(line, "%*c %*u %31s", name) != 1)
			continue;
		for (int i = 0; i < FAULT_NAMES; i++)
			counts[i] += strcmp(name, fault_names[i]) == 0;
		sum++;
	}
	if (file)
		fclose(file);
	return sum;
}

static void print_statuses(const struct seat *seat)
{
	const char *before = "";

	for (int i = 1; i < STATUSES; i++) {
		if (!seat->by_status[i])
			continue;
		printf("%s%s %" PRIu64, before, mortise_status_name(-i), seat->by_status[i]);
		before = ", ";
	}
}

/* Who is not served at all has a fault that no single call shows. Of a few seconds a busy machine
 * may take most. */
static void check_service(const struct seat *seat)
{
	uint64_t ok = seat->by_status[0] + seat->by_status[-MORTISE_EREMOTE];

	if (!seat->kind->frail && soak.end - soak.begin > SHARE_MS && seat->calls > 50 && ok * 4 < seat->calls)
		fault(seat, "only %" PRIu64 " of %" PRIu64 " calls were answered", ok, seat->calls);
	if (!seat->by_status[0])
		fault(seat, "no call succeeded");
}

void report(void)
{
	uint64_t all[FAULT_NAMES] = { 0 };

	printf("\n%-20s %8s %8s %7s %7s %7s %7s  %s\n", "seat", "calls", "ok", "pieces", "starts", "chaos",
	       "dropped", "failed by kind");
	for (size_t i = 0; i < seat_kind_count; i++) {
		const struct seat *seat = &soak.seat[i];
		uint64_t faults = count_faults(seat, all);

		printf("%-20s %8" PRIu64 " %8" PRIu64 " %7" PRIu64 " %7" PRIu64 " %7" PRIu64 " %7" PRIu64 "  ",
		       seat->kind->name, seat->calls, seat->by_status[0], seat->pieces, seat->starts, faults,
		       seat->drops);
		print_statuses(seat);
		putchar('\n');
		check_service(seat);
	}
	printf("\nfaults on the wire:");
	for (int i = 0; i < FAULT_NAMES; i++)
		printf(" %s %" PRIu64, fault_names[i], all[i]);
	printf("\nprocesses killed: %" PRIu64 ", stopped: %" PRIu64 "; calls cancelled: %" PRIu64
	       "; seats made anew: %" PRIu64 "; analyses given up: %" PRIu64 "\n",
	       soak.kills, soak.stops, soak.cancels, soak.renewals, soak.seat[seat_kind_count - 1].given_up);
}
