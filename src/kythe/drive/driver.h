/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver: compilation records out of kzips to analyzers, their output to a result. An embedder like any other: it knows
 * mortise.h, not the host behind it.
 *
 * Per worker one analyzer process. It asks for a record (analyze); the driver stages the record's files, shows them to that
 * process alone (the view), and answers. `done` ends the analysis: the view goes, the output is checked, and what
 * is whole goes to the result. A unit whose analyzer died, took too long or wrote half a record is tried again in a
 * fresh process, and at last reported by name; the others go on.
 */
#ifndef MOR_KYTHE_DRIVE_DRIVER_H
#define MOR_KYTHE_DRIVE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "kythe/archive/kzip.h"
#include "kythe/drive/result.h"
#include "kythe/stage/stage.h"
#include "kythe/archive/vnames.h"

enum mor_driver_view { MOR_DRIVER_VIEW_AUTO, MOR_DRIVER_VIEW_NAMESPACE, MOR_DRIVER_VIEW_DIRECTORY };

struct mor_driver;

/* A record, in the order of the input. */
struct mor_record_ref {
	struct mor_kzip *kzip;
	size_t number;
};

/* How one unit ended. Borrowed for the call. */
struct mor_unit_end {
	size_t unit;
	const char *digest, *title, *kzip;
	const char *reason; /* NULL: it is done */
	int code;           /* what it failed with */
	unsigned attempts;
	uint64_t records, bytes;
	bool empty;         /* it is done, and nothing was written for it */
	bool earlier;       /* settled by a run before this one */
};

/* What an analyzer said of its work: log, or a message with done. */
struct mor_unit_log {
	size_t unit;        /* or (size_t)-1: nothing was under way */
	const char *title;  /* of the unit, or of the analyzer */
	const char *file;   /* "": not said */
	uint32_t line, column; /* from 1; 0: not said */
	const char *text;
};

struct mor_driver_events {
	void (*on_unit)(const struct mor_unit_end *end, void *arg);
	void (*on_log)(const struct mor_unit_log *log, void *arg);
	void (*on_warning)(const char *text, void *arg);
	mortise_event_fn *on_event; /* every event of the analyzers, or NULL */
	void *arg;
};

struct mor_driver_options {
	mortise_host *host;
	const mortise_plugin_options *analyzer; /* borrowed; its callbacks and arg are ours */
	const struct mor_record_ref *records;
	size_t record_count;
	unsigned workers;      /* 0: 1 */
	unsigned retries;
	uint32_t unit_ms;      /* from the answer to done, and from done to the next request; 0: no limit */
	enum mor_driver_view view;
	const char *const *types; /* offered, NULL-terminated; NULL: "/kythe/index/" and the unit's language */
	const struct mor_vname_rules *rules;
	struct mor_stager *stager;
	struct mor_driver_events events;
};

/* Everything in the options is borrowed until it is freed. */
int mor_driver_new(const struct mor_driver_options *opt, struct mor_driver **ret, mortise_error *err);
struct mor_driver *mor_driver_free(struct mor_driver *driver); /* kills what runs; NULL is fine; returns NULL */

/* What `result` has already is settled. It is borrowed, too. */
void mor_driver_start(struct mor_driver *driver, struct mor_result *result);
/* After each turn of the host: minds time limits. Returns ms until it wants to be called again, or -1: whenever. */
int mor_driver_step(struct mor_driver *driver);
bool mor_driver_finished(const struct mor_driver *driver); /* all analyzers have ended */
/* Then: removes what lies on the disk for them. Freeing does that, too; but it costs time, which a report should count. */
void mor_driver_tidy(struct mor_driver *driver);
/* No more records are handed out, analyzers get their grace; `now`: they are killed. */
void mor_driver_stop(struct mor_driver *driver, bool now);
/* Why it cannot go on (the result cannot be written; no analyzer starts): NULL or a text. */
const mortise_error *mor_driver_failure(const struct mor_driver *driver);
bool mor_driver_uses_namespace(const struct mor_driver *driver);
uint64_t mor_driver_analyzer_ms(const struct mor_driver *driver); /* processor time of analyzers that have ended */

#endif
