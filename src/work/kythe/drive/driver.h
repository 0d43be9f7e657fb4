/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The driver: gives compilation records from kzips to analyzers, and their output to a result. It uses the
 * library like any other program: it knows mortise.h, not the host behind it.
 *
 * Each worker has one analyzer process. The process asks for a record (analyze). The driver stages the
 * record's files, shows them to that process alone (the view), and answers. `done` ends the analysis: the
 * view is removed, the output is checked, and complete records go to the result. If an analyzer died, took
 * too long or wrote half a record, its unit is tried again in a fresh process. If that also fails, it is
 * reported by name, and the others go on.
 */
#ifndef MOR_KYTHE_DRIVE_DRIVER_H
#define MOR_KYTHE_DRIVE_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "kythe/archive/kzip.h"
#include "kythe/archive/vnames.h"
#include "kythe/stage/stage.h"
#include "result/result.h"

/* What an index can be written as, and what is checked on the way: each unit is made of complete records. */
enum mor_driver_format {
	MOR_DRIVER_ENTRIES, /* valid entries, on the wire */
	MOR_DRIVER_JSON,    /* the same in JSON, one per line */
	MOR_DRIVER_RAW,     /* any records, as they are */
	MOR_DRIVER_FORMATS
};
/* The form of an output is an enum mor_stream_format. */
extern const struct mor_result_check mor_driver_checks[MOR_DRIVER_FORMATS];

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
	const char *reason; /* NULL: no error */
	int code;           /* the status of its failure */
	unsigned attempts;
	uint64_t records, bytes;
	bool empty;   /* it is done, but nothing was written for it */
	bool earlier; /* settled by an earlier run */
};

/* A message of an analyzer about its work: log, or a message with done. */
struct mor_unit_log {
	size_t unit;           /* or (size_t)-1: no unit */
	const char *title;     /* of the unit, or of the analyzer */
	const char *file;      /* "": not given */
	uint32_t line, column; /* from 1; 0: not given */
	const char *text;
};

/* "title: file:line:column: text", as far as they are given. */
void mor_unit_log_write(const struct mor_unit_log *log, struct mor_buf *out);

struct mor_driver_events {
	void (*on_unit)(const struct mor_unit_end *end, void *arg);
	void (*on_log)(const struct mor_unit_log *log, void *arg);
	void (*on_warning)(const char *text, void *arg);
	mortise_event_fn *on_event; /* every event of the analyzers, or NULL */
	void *arg;
};

struct mor_driver_options {
	mortise_host *host;
	const mortise_plugin_options *analyzer; /* borrowed; we set its callbacks and arg */
	const struct mor_record_ref *records;
	size_t record_count;
	size_t expected;  /* records in all, if more follow (mor_driver_next()); 0: record_count */
	bool keep;        /* analyzers stay when all records are settled: more may follow */
	unsigned workers; /* 0: 1 */
	unsigned retries;
	uint32_t unit_ms; /* from the answer to done, and from done to the next request; 0: no limit */
	enum mor_driver_view view;
	/* types to offer, NULL-terminated; NULL: "/kythe/index/" and the unit's language */
	const char *const *types;
	const struct mor_vname_rules *rules;
	struct mor_stager *stager;
	struct mor_driver_events events;
};

/* Everything in the options is borrowed until the driver is freed. */
int mor_driver_new(const struct mor_driver_options *opt, struct mor_driver **ret, mortise_error *err);
/* kills running processes; NULL is fine; returns NULL */
struct mor_driver *mor_driver_free(struct mor_driver *driver);

/* Units that `result` has already are settled, and told. It is borrowed too. For a driver that is never
 * started: others do its work. */
void mor_driver_adopt(struct mor_driver *driver, struct mor_result *result);
/* The same, and its analyzers start. */
void mor_driver_start(struct mor_driver *driver, struct mor_result *result);
/* Call it after each turn of the host: it checks time limits. Returns ms until the next call, or -1: any
 * time. */
int mor_driver_step(struct mor_driver *driver);
bool mor_driver_finished(const struct mor_driver *driver); /* all analyzers have ended */
/* All records are settled, and its analyzers were kept: they wait for mor_driver_next(), or mor_driver_stop().
 * Go on calling mor_driver_step(). */
bool mor_driver_rests(const struct mor_driver *driver);
/* For a driver that rests: other records, and their result, for the same analyzers. All is borrowed.
 * The records and the result of before are not used since it rests. MORTISE_ENOMEM: it rests as
 * before, without any. */
int mor_driver_next(struct mor_driver *driver, const struct mor_record_ref *records, size_t count,
		    struct mor_result *result, mortise_error *err);
/* Then: removes their files from the disk. Freeing does that too, but the time should count in the report. */
void mor_driver_tidy(struct mor_driver *driver);
/* Hands out no more records and stops the analyzers politely; `now`: kills them. */
void mor_driver_stop(struct mor_driver *driver, bool now);
/* Why the run cannot go on (the result cannot be written; no analyzer starts), or NULL. */
const mortise_error *mor_driver_failure(const struct mor_driver *driver);
bool mor_driver_uses_namespace(const struct mor_driver *driver);
/* processor time of analyzers that have ended */
uint64_t mor_driver_analyzer_ms(const struct mor_driver *driver);

#endif
