/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of mortise index: records out of archives go to analyzers, and become one stream of entries.
 *
 *	run.c     the run
 *	shard.c   one shard of it: which records, and the list of its part
 *	report.c  what is said about it, as lines or as JSON
 */
#ifndef MOR_INDEX_INDEX_H
#define MOR_INDEX_INDEX_H

#include <stdio.h>

#include "base/digest.h"
#include "kythe/drive/driver.h"
#include "part/part.h"
#include "runner/runner.h"

struct mor_index;

/* Others than the analyzers of this process do the records: a farm. */
struct mor_index_elsewhere {
	/* Before anything is written. */
	int (*open)(struct mor_index *x, void *arg, mortise_error *err);
	/* All records that are open in x->result. MORTISE_ECANCELED: a signal came. */
	int (*work)(struct mor_index *x, void *arg, mortise_error *err);
	void (*report)(struct mor_writer *w, void *arg); /* members for --json */
	bool keeps; /* the entries stay there: they are checked, and the output is not ours to write */
	void *arg;
};

/* What the user wants; texts as typed. */
struct mor_index_args {
	const char *const *kzips;
	size_t kzip_count;
	const char *analyzer;                                     /* or NULL ... */
	const char *const *command;                               /* ... and this command line, or NULL */
	const char *output, *vnames, *view, *cache, *log, *shard; /* or NULL */
	const char *format;                                       /* "entries", "json" or "raw" */
	uint32_t jobs;                                            /* 0: one analyzer per processor */
	uint32_t retries;
	struct mor_text_list types;
	bool resume, lenient;
	const struct mor_plugin_args *plugin;
	const struct mor_index_elsewhere *elsewhere; /* NULL: here */
};

/* The whole run; what happened is printed. Returns the exit code. */
int mor_index_run(struct mor_console *console, const struct mor_index_args *args);

/* ---- for who does records elsewhere ---- */

struct mor_index {
	struct mor_console *console;
	const struct mor_index_args *args;
	struct mor_runner runner;
	mortise_plugin_options analyzer;
	struct mor_kzip **kzips;
	struct mor_record_ref *all; /* all records, and their number ... */
	size_t all_count;
	struct mor_record_ref *refs; /* ... and those of this shard */
	size_t ref_count;
	struct mor_shard shard;
	char run[MOR_DIGEST_SIZE]; /* of a shard: equal for all shards of a run */
	char **titles;             /* of a shard's units: of those that failed; else NULL */
	struct mor_vname_rules *rules;
	struct mor_stager *stager;
	struct mor_result *result;
	struct mor_driver *driver;
	FILE *log;
	char identity[MOR_DIGEST_SIZE];
	int signals; /* signals that were handled */
	int64_t begun_ms;
	mortise_error failure; /* why the result could not be finished; code 0: none */
	uint64_t records;
	uint64_t stored; /* units that were done before, elsewhere */
	size_t breaches; /* failed units whose analyzer broke the protocol or its sandbox */
	struct mor_buf failures, empties, messages; /* elements of JSON arrays, for --json */
};

/* What the driver tells: how a unit ended; a line of a log. */
void mor_index_on_unit(const struct mor_unit_end *end, void *index);
void mor_index_on_line(struct mor_index *x, struct mor_slice line);
/* --view MODE; NULL: auto. */
enum mor_driver_view mor_index_view(const char *name);
uint32_t mor_index_unit_ms(const struct mor_index *x);

/* ---- inside ---- */

/* report.c */
/* A record has failed and is not tried again: prints one line and adds one element to the report. */
void mor_index_note_failure(struct mor_index *x, const struct mor_unit_end *end);
/* A record is done, but its analyzer wrote nothing for it. */
void mor_index_note_empty(struct mor_index *x, const struct mor_unit_end *end);
void mor_index_note_message(struct mor_index *x, const struct mor_unit_log *log);
int mor_index_report(struct mor_index *x);                 /* the exit code */
bool mor_index_to_file(const struct mor_index_args *args); /* the output is no stdout */

/* shard.c */
/* Takes the shard's records out of all. `sha` has everything that makes two runs the same; identity and run are
 * made from it. */
int mor_index_take_shard(struct mor_index *x, struct sha256_ctx *sha, mortise_error *err);
void mor_index_shard_note(struct mor_index *x, const struct mor_unit_end *end);
/* The list at the end of a part; without --shard nothing is added. */
void mor_index_shard_list(const struct mor_index *x, struct mor_buf *list);
void mor_index_shard_free(struct mor_index *x);

#endif
