/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command that owns a run: opens the farm, runs the owner until everything is taken, and shows a person what
 * goes on. The command says what its units are, and what becomes of their bytes.
 */
#ifndef MOR_CREW_LEAD_H
#define MOR_CREW_LEAD_H

#include "base/buf.h"
#include "console/console.h"
#include "crew/owner.h"
#include "crew/pace.h"
#include "crew/spec.h"

struct mor_extract_args;
struct mor_index_args;

/* What a user says about a farm. */
struct mor_crew_farm {
	const char *url, *store, *lease, *report; /* as typed; report: a file for mor_crew_report_write() */
	uint32_t batch, window;                   /* as typed; 0: the defaults */
	uint32_t lease_ms;                        /* 0: the default */
	bool resume;                              /* of a command that has no --resume without a farm */
};

struct mor_crew_led {
	struct mor_crew_owner_stats stats;
	struct mor_pace pace;
	unsigned workers;        /* the most that were seen at once; asked again only for report and terminal */
	struct mor_buf failures; /* units that failed, for the report */
};

/* A run, by its owner: all zeros, but for the farm and the console. */
struct mor_crew_lead {
	const struct mor_crew_farm *farm;
	struct mor_console *console;
	const char *title;         /* of the input, for people */
	bool many;                 /* there are more inputs than the title says */
	struct mor_depot *depot;   /* since open */
	struct mor_crew_spec spec; /* kind, own, argv, retries and inputs: to be set before put */
	char run[MOR_DIGEST_SIZE]; /* its name, since put */
	/* to be set before run: from units to weigh, digest, name, take, and both args */
	struct mor_crew_owner_options owner;
	struct mor_crew_led led; /* since run */
};

/* Before anything is written: whether there is such a farm, and this user may own runs in it; and its store.
 * MORTISE_EINVAL: the URL. MORTISE_ECANCELED: a signal came. */
int mor_crew_lead_open(struct mor_crew_lead *x, mortise_error *err);
/* One of its programs, absolute. */
int mor_crew_lead_program(struct mor_crew_lead *x, const char *path, mortise_error *err);
/* What the run is goes into the store. The runner knows the options of the plugin. */
int mor_crew_lead_put(struct mor_crew_lead *x, const struct mor_runner *runner, mortise_error *err);
/* Until all units are taken. MORTISE_ECANCELED: a signal came. A report that cannot be written is a warning. */
int mor_crew_lead_run(struct mor_crew_lead *x, mortise_error *err);
void mor_crew_lead_close(struct mor_crew_lead *x);

/* The whole run of a command, as mor_extract_run() and mor_index_run(). */
int mor_crew_extract(struct mor_console *console, const struct mor_extract_args *want,
		     const struct mor_crew_farm *farm);
int mor_crew_index(struct mor_console *console, const struct mor_index_args *want,
		   const struct mor_crew_farm *farm, bool manifest);

#endif
