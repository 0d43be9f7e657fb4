/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `mortise bench`: measures one method of one plugin, through the public API, as any program would call it.
 *
 * In this order: several starts, each up to the first answer; the last of these processes stays. A few
 * calls that do not count. Calls one after the other: latency, and what host, guardian and plugin use for
 * them. Calls with more in flight.
 *
 * If each call has a process of its own (sunscreen), a call's time is from the start of its
 * process to the answer.
 */
#ifndef MOR_GAUGE_GAUGE_H
#define MOR_GAUGE_GAUGE_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "gauge/hist.h"
#include "gauge/usage.h"
#include "runner/runner.h"
#include "wire/json.h"

#define MOR_GAUGE_IN_FLIGHT 1024 /* the most at a time */
#define MOR_GAUGE_STEPS     16   /* different numbers in flight */

/* What the user wants. Numbers that are 0 are not given. */
struct mor_gauge_plan {
	const char *method;
	mortise_json params;
	uint64_t flags;  /* of the calls */
	uint32_t starts; /* default: 5, fewer if they take long */
	int64_t warmup;  /* calls that do not count; below 0: 100, but no longer than 0.3 s */
	uint64_t count;  /* calls of each measurement; then time_ms is not looked at */
	/* of the latency measurement; an eighth of it for each number in flight; default: 2 s */
	uint32_t time_ms;
	uint32_t in_flight[MOR_GAUGE_STEPS]; /* rising; default: 1, 2, 4, ..., 64 */
	size_t steps;
};

struct mor_gauge_step {
	uint32_t in_flight;
	uint64_t calls, errors;
	double seconds, rate; /* calls per second */
	double p50, p99;      /* us */
};

/* Microseconds of one call: from its beginning to its end, and the processor time in it. */
struct mor_gauge_cost {
	double wall, host, guardian, plugin;
};

struct mor_gauge_slot {
	struct mor_gauge *gauge;
	int64_t begun_ns;
};

struct mor_gauge_batch;

struct mor_gauge {
	const struct mor_gauge_plan *plan;
	struct mor_runner *runner;
	mortise_plugin *plugin;
	struct mor_doc *about;  /* the last description (docs/reference/describe.md) */
	bool per_call;          /* each call has a process of its own */
	uint32_t max_in_flight; /* 0: no limit */
	char level[12];         /* of its sandbox, in force */

	/* the results; times in nanoseconds */
	struct mor_hist *ready, *first; /* from each start until it was ready, and to the first answer */
	struct mor_hist *latency;
	struct mor_gauge_step steps[MOR_GAUGE_STEPS + 1]; /* the first is the latency measurement */
	size_t steps_count;
	struct mor_usage_memory host_memory, guardian_memory, plugin_memory;
	struct mor_gauge_cost cost; /* host is 0: not known */
	uint64_t errors;            /* calls that the plugin answered with an error, in all measurements */
	mortise_error first_error;
	char *first_data; /* of the first error; or NULL */

	/* why it ended early; code 0: it did not */
	mortise_error failed;
	char *failed_data;
	bool interrupted;

	/* now */
	const char *doing; /* for the progress line */
	struct mor_gauge_batch *batch;
	int64_t started_ns, drawn_ns;
	struct mor_gauge_slot slots[MOR_GAUGE_IN_FLIGHT];
};

/* The plugin, not started yet, as it was resolved (NULL: not yet). plan->method may be set later. */
int mor_gauge_open(struct mor_gauge *gauge, struct mor_runner *runner, const char *path,
		   const char *const *argv, struct mor_resolved *resolved, mortise_error *err);
/* After the runner was closed. Also if opening has failed. */
void mor_gauge_close(struct mor_gauge *gauge);

/* Measures and stops the plugin. What was measured until a failure or a signal is kept. A failure that is not
 * an answer of the plugin ends the run; so does "method not found" as the first answer. 0, a status with
 * gauge->failed set, or MORTISE_ECANCELED after a signal, with `interrupted` set. */
int mor_gauge_run(struct mor_gauge *gauge, const struct mor_gauge_plan *plan);

/* method.c: a method that does no harm, for plugins of this dialect: its name on the wire. MORTISE_EINVAL: none
 * is known, and the text says so; `offers`: names that can be called, one per line, for that text. */
struct mor_gauge_method {
	const char *name;
	const char *params; /* JSON, or NULL */
};
int mor_gauge_method(const char *dialect, const char *plugin, struct mor_slice offers,
		     struct mor_gauge_method *ret, mortise_error *err);
/* MORTISE_EUNSUPPORTED: plugins of this dialect are not called. */
int mor_gauge_is_called(const char *dialect, mortise_error *err);

/* Prints what was measured: a page for people; members of an open JSON object. */
void mor_gauge_page(const struct mor_gauge *gauge, struct mor_console *console);
void mor_gauge_json(const struct mor_gauge *gauge, struct mor_writer *w);

#endif
