/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processor time and memory of host, guardian and plugin at one moment, from /proc and getrusage().
 *
 * All processes below ours that have not ended are looked at. The guardian is what stands between the plugin's
 * first process and us; everything else is the plugin: its children, and those that lost their parent and hang
 * below the guardian. Times are in nanoseconds since the start of each, and count what has ended too: subtract
 * two looks. Of processes that have ended before anybody looked, and of those that the plugin has waited for,
 * the kernel keeps only ticks (10 ms).
 */
#ifndef MOR_GAUGE_USAGE_H
#define MOR_GAUGE_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mor_usage_memory {
	unsigned processes;
	uint64_t rss_peak; /* bytes: the sum of the peaks of all its processes */
};

struct mor_usage {
	int64_t host, guardian, plugin; /* processor time */
	struct mor_usage_memory host_memory, guardian_memory, plugin_memory;
};

/* pid: of the plugin's first process, 0: none runs. ended_us: processor time of plugin processes that have
 * ended (counters.cpu_ms of mortise_plugin_describe()). */
void mor_usage_look(pid_t pid, uint64_t ended_us, struct mor_usage *ret);
/* The larger of the two, member by member. */
void mor_usage_memory_join(struct mor_usage_memory *sum, const struct mor_usage_memory *other);
/* Our own processor time, without the rest: fast. */
int64_t mor_usage_host(void);

#endif
