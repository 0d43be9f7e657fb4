/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's structs. Only for the files of the driver. */
#ifndef MOR_KYTHE_DRIVE_INSIDE_H
#define MOR_KYTHE_DRIVE_INSIDE_H

#include "kythe/drive/driver.h"
#include "kythe/entries/entries.h"

enum item_state { ITEM_WAITING, ITEM_OUT, ITEM_SETTLED };

struct item {
	enum item_state state;
	unsigned attempts; /* attempts that failed */
	char *type;        /* of the first offered type; NULL: not read yet */
};

enum worker_state {
	WORKER_DOWN,   /* no process, or one that has not asked yet */
	WORKER_WAITS,  /* `request` is open: no record fits it now */
	WORKER_SHOWS,  /* its view is being made; `request` is open                         */
	WORKER_WORKS,  /* it works on a record */
	WORKER_LEAVES, /* its stdin is closed; its output does not count any more */
	WORKER_LOST    /* it cannot be started                                              */
};

/* Neighbouring units may differ much, but one of a few stages is usually similar, and only half as much must
 * be changed. Making and removing a stage costs as much as changing it for a dozen units, so a short run has
 * fewer. */
#define STAGES          8
#define UNITS_PER_STAGE 32

struct worker {
	struct mor_driver *driver;
	unsigned number;
	mortise_plugin *plugin;
	enum worker_state state;
	bool fresh;         /* its process has not been given a record yet */
	bool began;         /* it has had a process before */
	unsigned idle_ends; /* processes in a row that got no record */
	enum mor_stream_format form;
	mortise_request *request;
	/* the types of `request`, normalized, each with a NUL, "" at the end; NULL: any */
	char *asked;
	char *out_dir;
	/* the analysis */
	size_t item; /* (size_t)-1: none */
	struct mor_unit *unit;
	struct mor_namer *namer;
	struct mor_stage stages[STAGES]; /* one stage may still be shown while another is made */
	unsigned stage;                  /* of the analysis */
	unsigned stage_shown;            /* the stage of the last record handed out */
	bool shown;                      /* a view is in force; only a running analysis needs it */
	bool shows_stage;                /* and it shows stage_shown */
	char *output;
	uint64_t output_inode;
	int last_output; /* output of the analysis before, to see whether it still grows; -1: none */
	uint64_t last_size;
	char *last_path;     /* NULL: none */
	int64_t due_ms;      /* deadline for done, or for the next request; 0: no limit */
	mortise_error cause; /* why the host ends its process without our order; code 0: it does not */
	uint64_t turn;       /* counts analyses, to recognize a late answer to an old view */
};

struct mor_driver {
	struct mor_driver_options opt;
	struct mor_result *result;
	struct item *items;
	size_t first_waiting, settled;
	struct worker *workers;
	unsigned worker_count;
	bool by_namespace; /* true: views; false: directories */
	unsigned stages;   /* stages of one worker */
	bool stopping, finished_work;
	unsigned outputs;
	/* unit of read_item, NULL: none. A worker that asks for its type will probably take it */
	struct mor_unit *read_unit;
	size_t read_item;
	mortise_error failure;
	bool failed;
};

#define NO_ITEM ((size_t)-1)

/* work.c: one analysis, from the request to its end */
void mor_work_offer(struct worker *worker); /* its request is open: hands out a record, if there is one */
void mor_work_offer_all(struct mor_driver *driver);
void mor_work_done(struct worker *worker);
/* this attempt failed: the record waits again, or is settled */
void mor_work_failed(struct worker *worker, const mortise_error *why);
void mor_work_forget(struct worker *worker); /* frees what belongs to the analysis */
void mor_work_expect(struct worker *worker); /* starts its time limit */
void mor_work_hide(struct worker *worker);   /* removes a view that nothing needs any more */
/* All workers wait. The remaining records have types that nobody asks for (they are settled as failed), or
 * need a fresh process (one is started). */
void mor_work_mind_stall(struct mor_driver *driver);
/* output.c */
/* empty, 0600, under a new name: worker->output */
int mor_output_make(struct worker *worker, mortise_error *err);
void mor_output_forget(struct worker *worker);
/* For an analysis that is done: checks its output and adds it to the result. The file stays as the last
 * output. */
int mor_output_keep(struct worker *worker, struct mor_result_output *ret, mortise_error *err);
void mor_output_mind_last(struct worker *worker); /* warns if the last output has grown after its done */
void mor_output_drop_last(struct worker *worker);
/* ask.c: what analyzers say and ask */
void mor_ask_request(mortise_request *request, const char *method, mortise_json params, void *arg);
void mor_ask_log(struct worker *worker, mortise_json params);
/* driver.c */
void mor_driver_warn(struct mor_driver *driver, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mor_driver_fail(struct mor_driver *driver, const mortise_error *error);
/* called after each settled record: ends the run after the last one */
void mor_driver_settled(struct mor_driver *driver);
void mor_driver_close_input(struct worker *worker); /* its process is not trusted any more: starts a new one */
const char *mor_driver_title(const struct worker *worker);

#endif
