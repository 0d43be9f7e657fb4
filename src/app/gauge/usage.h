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
	uint64_t pss;      /* bytes now, shared pages divided by those who share; 0: it may not be read */
};

#define MOR_USAGE_THREADS 64 /* of the plugin; more are not looked at */
struct mor_usage_thread {
	pid_t id;
	int64_t cpu;                 /* processor time */
	int64_t delay;               /* ready to run, without a processor */
	int64_t switches, preempted; /* times it lost its processor; of these, while it computed */
};

struct mor_usage {
	int64_t host, guardian, plugin; /* processor time */
	int64_t host_delay;             /* of the thread that calls: ready to run, without a processor */
	struct mor_usage_thread threads[MOR_USAGE_THREADS]; /* of the plugin, without those that have ended */
	size_t threads_count;
	struct mor_usage_memory host_memory, guardian_memory, plugin_memory;
};

/* pid: of the plugin's first process, 0: none runs. ended_us: processor time of plugin processes that have
 * ended (counters.cpu_ms of mortise_plugin_describe()). */
void mor_usage_look(pid_t pid, uint64_t ended_us, struct mor_usage *ret);
/* The larger of the two, member by member. */
void mor_usage_memory_join(struct mor_usage_memory *sum, const struct mor_usage_memory *other);
/* Our own processor time, without the rest: fast. */
int64_t mor_usage_host(void);
/* Processor time of one process with all its threads; 0: it is gone. */
int64_t mor_usage_process(pid_t pid);
/* How long our first thread was ready to run, but had no processor; 0: the kernel does not count it. */
int64_t mor_usage_host_delay(void);
/* What the plugin's busiest thread between two looks has used between them: the thread that a call waits for.
 * The delays of other threads pass while that one works or sleeps, so they are no time of a call. All 0: there
 * is no thread. */
struct mor_usage_thread mor_usage_busiest(const struct mor_usage *before, const struct mor_usage *after);
/* How much of its delay came from losing a processor while it computed, and is in every call. With fewer losses
 * than calls it is nothing: some call had none. The kernel counts delays and losses, but not the delay of each
 * loss: an estimate. */
int64_t mor_usage_preempted(const struct mor_usage_thread *thread, uint64_t calls);

#endif
