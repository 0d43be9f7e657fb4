/* SPDX-License-Identifier: Apache-2.0 */
/* One run of mortise index: index.c runs it, index_report.c reports the result. */
#ifndef MOR_CLI_INDEX_H
#define MOR_CLI_INDEX_H

#include <stdio.h>

#include "base/digest.h"
#include "cli/cli.h"
#include "cli/farming.h"
#include "crew/lead.h"
#include "kythe/drive/driver.h"
#include "part/part.h"
#include "runner/runner.h"

struct mor_index_args {
	const char *analyzer, *output, *format, *vnames, *view, *cache, *log, *shard;
	uint32_t jobs;
	struct mor_opt_count retries;
	struct mor_text_list types;
	bool resume, lenient, manifest;
	struct mor_farming farm;
	struct mor_plugin_args plugin;
	struct mor_common_args common;
};

struct mor_index {
	struct mor_cli *cli;
	const struct mor_index_args *args;
	const struct mor_index_by_farm *by_farm;
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
	struct mor_depot *depot; /* --farm */
	struct mor_crew_led led; /* --farm */
	size_t breaches;         /* failed units whose analyzer broke the protocol or its sandbox */
	struct mor_buf failures, empties, messages; /* elements of JSON arrays, for --json */
};

/* A record has failed and is not tried again: prints one line and adds one element to the report. */
void mor_index_note_failure(struct mor_index *x, const struct mor_unit_end *end);
/* A record is done, but its analyzer wrote nothing for it. */
void mor_index_note_empty(struct mor_index *x, const struct mor_unit_end *end);
void mor_index_note_message(struct mor_index *x, const struct mor_unit_log *log);
int mor_index_report(struct mor_index *x); /* the exit code */

/* index.c: what the driver tells, for the farm too */
void mor_index_on_unit(const struct mor_unit_end *end, void *index);
void mor_index_on_warning(const char *text, void *index);
void mor_index_on_line(struct mor_index *x, struct mor_slice line); /* of a log */
uint32_t mor_index_retries(const struct mor_index *x);
uint32_t mor_index_unit_ms(const struct mor_index *x);

/* index_farm.c: how --farm is done. */
struct mor_index_by_farm {
	/* before anything is written: is there such a farm, and its store? */
	int (*open)(struct mor_index *x, mortise_error *err);
	/* instead of the driver. x->failure has what went wrong. */
	void (*work)(struct mor_index *x);
};
/* index.c: the command. by_farm: NULL: the program mortise-farm does --farm. */
int mor_index_run(struct mor_cli *cli, const struct mor_index_by_farm *by_farm);

/* index_shard.c */
/* Takes the shard's records out of all. `sha` has everything that makes two runs the same; identity and run are
 * made from it. */
int mor_index_take_shard(struct mor_index *x, struct sha256_ctx *sha, mortise_error *err);
void mor_index_shard_note(struct mor_index *x, const struct mor_unit_end *end);
/* The list at the end of a part; without --shard nothing is added. */
void mor_index_shard_list(const struct mor_index *x, struct mor_buf *list);
void mor_index_shard_free(struct mor_index *x);
void mor_index_report_free(struct mor_index *x);

#endif
