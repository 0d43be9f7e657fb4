/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's structs. For driver*.c only. */
#ifndef MOR_KYTHE_DRIVE_INSIDE_H
#define MOR_KYTHE_DRIVE_INSIDE_H

#include "kythe/drive/driver.h"

enum item_state { ITEM_WAITING, ITEM_OUT, ITEM_SETTLED };

struct item {
	enum item_state state;
	unsigned attempts; /* that failed */
	char *type;        /* of the first offered one; NULL: not read yet */
};

enum worker_state {
	WORKER_DOWN,    /* no process, or one that does nothing yet                          */
	WORKER_WAITS,   /* `request` is open: there was nothing for it                       */
	WORKER_SHOWS,   /* its view is being made; `request` is open                         */
	WORKER_WORKS,   /* a record is handed out                                            */
	WORKER_LEAVES,  /* its stdin is closed; nothing of it counts any more                */
	WORKER_LOST     /* it cannot be started                                              */
};

/* Neighbours often have little in common, but among a few stages there is mostly one that is near, and half as much has to be
 * changed. To make one and remove it costs as much as changing it for a dozen units: in a short run there are fewer. */
#define STAGES 8
#define UNITS_PER_STAGE 32

struct worker {
	struct mor_driver *driver;
	unsigned number;
	mortise_plugin *plugin;
	enum worker_state state;
	bool fresh;           /* its process has been given nothing yet      */
	bool began;           /* a process of it has run                     */
	unsigned idle_ends;   /* processes in a row that were given nothing  */
	enum mor_stream_format form;
	mortise_request *request;
	char *asked;          /* the types of `request`, normal, each with a NUL, "" at the end; NULL: any */
	char *out_dir;
	/* the analysis */
	size_t item;          /* (size_t)-1: none */
	struct mor_unit *unit;
	struct mor_namer *namer;
	struct mor_stage stages[STAGES]; /* one may still be shown while another is made */
	unsigned stage;       /* of the analysis */
	unsigned stage_shown; /* of that which was handed out last */
	bool shown;           /* a view is in force that no analysis needs any more unless one is under way */
	bool shows_stage;     /* and it is stage_shown */
	char *output;
	uint64_t output_inode;
	int last_output;      /* of the analysis before this one: does it still grow? -1: none */
	uint64_t last_size;
	char *last_path;      /* NULL: none */
	int64_t due_ms;       /* of done, or of the next request; 0: no limit */
	mortise_error cause;  /* why the host ends its process, though we did not ask for it; code 0: it does not */
	uint64_t turn;        /* counts analyses: a late answer to a view that is no longer wanted is known by it */
};

struct mor_driver {
	struct mor_driver_options opt;
	struct mor_result *result;
	struct item *items;
	size_t first_waiting, settled;
	struct worker *workers;
	unsigned worker_count;
	bool by_namespace;    /* views; else directories */
	unsigned stages;      /* that a worker uses */
	bool stopping, finished_work;
	unsigned outputs;
	struct mor_unit *read_unit; /* of read_item, NULL: none. Who asks for its type will mostly take it */
	size_t read_item;
	mortise_error failure;
	bool failed;
};

#define NO_ITEM ((size_t)-1)

/* work.c: one analysis, from the request to its end */
void mor_work_offer(struct worker *worker);  /* its request is open: hand something out, if there is something */
void mor_work_done(struct worker *worker);
void mor_work_failed(struct worker *worker, const mortise_error *why); /* this attempt; the record goes back, or is settled */
void mor_work_forget(struct worker *worker); /* frees what belongs to the analysis */
void mor_work_expect(struct worker *worker); /* from now on its time counts */
void mor_work_hide(struct worker *worker);   /* takes a view away that nothing needs any more */
/* All wait: what is left is of types that nobody asks for (settled, failed), or wants a fresh process (it gets one). */
void mor_work_mind_stall(struct mor_driver *driver);
/* output.c */
int mor_output_make(struct worker *worker, mortise_error *err); /* empty, 0600, under a new name: worker->output */
void mor_output_forget(struct worker *worker);
/* Of an analysis that is done: checked and in the result. It is the last one from then on, and still there. */
int mor_output_keep(struct worker *worker, struct mor_unit_output *ret, mortise_error *err);
void mor_output_mind_last(struct worker *worker); /* says so when the last output has grown after its done */
void mor_output_drop_last(struct worker *worker);
/* ask.c: what analyzers say and ask */
void mor_ask_request(mortise_request *request, const char *method, mortise_json params, void *arg);
void mor_ask_log(struct worker *worker, mortise_json params);
/* driver.c */
void mor_driver_warn(struct mor_driver *driver, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mor_driver_fail(struct mor_driver *driver, const mortise_error *error);
void mor_driver_settled(struct mor_driver *driver); /* after each settled record: is it the end? */
void mor_driver_replace(struct worker *worker);     /* its process is not to be trusted any more: a new one */
const char *mor_driver_title(const struct worker *worker);

#endif
