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

struct mor_crew_lead_options {
	struct mor_console *console;
	struct mor_depot *depot;
	const char *url, *store; /* as typed */
	const char *run;         /* its name */
	const char *title;       /* of the input, for people */
	bool many;               /* there are more inputs than the title says */
	uint64_t units, next;    /* all; before `next` they are in the result */
	uint32_t batch, window;  /* as typed; 0: the defaults */
	uint32_t most;           /* as in struct mor_crew_owner_options, and the next ones */
	uint64_t weight;
	uint64_t (*weigh)(uint64_t unit, void *arg);
	uint32_t lease_ms;  /* 0: the default */
	const char *report; /* a file for mor_crew_report_write(); or NULL */
	/* as in struct mor_crew_owner_options */
	void (*key)(uint64_t first, uint32_t count, char ret[MOR_DIGEST_SIZE], void *arg);
	const char *(*name)(uint64_t unit, void *arg);
	int (*take)(const struct mor_farm_batch *batch, const struct mor_segment *segment, const char *digest,
		    void *arg, mortise_error *err);
	void (*on_warning)(const char *text, void *arg);
	void *arg;
};

struct mor_crew_led {
	struct mor_crew_owner_stats stats;
	struct mor_pace pace;
	unsigned workers;        /* the most that were seen at once; asked again only for report and terminal */
	struct mor_buf failures; /* units that failed, for the report */
};

/* Whether there is such a farm, and this user may own runs in it: for a command that has written nothing yet.
 * MORTISE_EINVAL: the URL. MORTISE_ECANCELED: a signal came. */
int mor_crew_meet(const char *url, void (*on_warning)(const char *text, void *arg), void *arg,
		  mortise_error *err);

/* Until all units are taken. MORTISE_ECANCELED: a signal came. `ret` is set in any case. A report that cannot
 * be written is a warning. */
int mor_crew_lead(const struct mor_crew_lead_options *opt, struct mor_crew_led *ret, mortise_error *err);

#endif
