/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's structs. Only for worker.c, slot.c, known.c and the kinds of work. */
#ifndef MOR_CREW_INSIDE_H
#define MOR_CREW_INSIDE_H

#include "crew/spec.h"
#include "crew/worker.h"
#include "depot/segment.h"
#include "engine/farm.h"
#include "kythe/stage/stage.h"

struct crew_worker;
struct worker_slot;

/* What the runs of each kind have of their own: spec->own. */
struct mor_crew_index_spec {
	const char *view; /* as typed, or NULL */
	bool lenient;
	uint32_t unit_ms;
	char vnames[MOR_DIGEST_SIZE]; /* of the file with rules, in the store as a spec; "": none */
	struct mor_text_list types;
};
struct mor_crew_extract_spec {
	const char *source; /* "bytes" or "path" */
	bool picked, metadata, json;
	struct mor_text_list options;
};

/* A run that this worker has seen: what it is, and its inputs, opened when they are needed. */
struct known {
	char run[MOR_DIGEST_SIZE];
	struct mor_crew_spec spec;
	void *own; /* the kind's: what it opens */
	unsigned users;
	int64_t used_ms;
};

/* A member of the first line of a run that only this kind has, and where its own struct has it. */
struct mor_crew_member {
	const char *name; /* NULL: the end */
	size_t offset;
};

/* What the runs of one command are, and how their units are done: spec.c, known.c and slot.c do the rest. */
struct mor_crew_kind {
	const char *command;
	const char *program;  /* what one of its programs is called ... */
	const char *programs; /* ... and the member that has their paths, or the path of the only one */
	size_t own_size;      /* of spec->own */
	const struct mor_crew_member *members;
	/* MORTISE_EINPUT: no run can have such fields. NULL: any are good. */
	int (*check)(const void *own, mortise_error *err);
	/* What all batches of the run need; and its end, also of half of it. */
	int (*load)(struct crew_worker *worker, struct known *known, mortise_error *err);
	void (*unload)(struct known *known);
	/* Begins the slot's batch; slot->own may be that of the batch before, which was kept. MORTISE_EINPUT:
	 * its units are not those that its key names. Any failure: the run cannot be done here. */
	int (*begin)(struct worker_slot *slot, mortise_error *err);
	/* Also between batches, while something is kept. ms until the next call, or -1. */
	int (*step)(struct worker_slot *slot);
	bool (*finished)(const struct worker_slot *slot);
	const mortise_error *(*failure)(const struct worker_slot *slot); /* NULL: all units have ended */
	void (*stop)(struct worker_slot *slot, bool now);
	/* What the segment has of a unit: `unit` is all zeros. Its bytes were put into the slot's writer
	 * before, at unit->at. */
	void (*unit)(struct worker_slot *slot, size_t number, struct mor_segment_unit *unit);
	/* Of the batch; also if it never began. Nothing is left in slot->own, unless true: its plugin is kept
	 * for the next batch of the run, until drop(); stop() and finished() are asked about it before. */
	bool (*end)(struct worker_slot *slot);
	void (*drop)(struct worker_slot *slot);
};
extern const struct mor_crew_kind mor_crew_kind_index, mor_crew_kind_extract;

enum slot_phase {
	SLOT_IDLE,      /* asks again at `next_ms` */
	SLOT_CLAIMS,    /* has asked                           */
	SLOT_WORKS,     /* its driver runs                         */
	SLOT_COMMITS,   /* its segment is written                      */
	SLOT_GIVES_BACK /* it could not be done                            */
};

struct slot_log {
	size_t unit;
	char *text;
};

struct worker_slot {
	struct crew_worker *worker;
	enum slot_phase phase;
	int64_t next_ms; /* idle: when it asks. Working: when it beats */
	/* the batch */
	char run[MOR_DIGEST_SIZE];
	struct mor_farm_batch batch;
	uint32_t lease_ms;
	struct known *known;
	struct known *kept; /* between batches: the run whose plugin was kept. Ours, as `known` is */
	int64_t kept_ms;    /* until when */
	bool leaving;       /* what is kept was stopped */
	struct mor_segment_writer *writer;
	mortise_error broken; /* the first failure of writing; code 0: none */
	void *own;            /* the kind's: the batch, and what is kept of it */
	struct slot_log *logs;
	size_t log_count, log_cap;
	size_t failed;                /* units that may do better in a later run */
	int64_t begun_ms, ended_ms;   /* the batch; the unit that ended last */
	struct mor_farm_unit slowest; /* of the batch */
	bool stopping;
};

/* A run that this worker cannot do: what was wrong may be mended, so it is tried again, less and less often. */
struct refused {
	char run[MOR_DIGEST_SIZE];
	char why[400];
	uint32_t wait_ms;
	int64_t until_ms;
};

struct crew_worker {
	struct mor_crew_worker_options opt;
	struct mor_farm_worker who;
	struct mor_farm *farm;
	struct mor_depot *depot;
	struct mor_stager *stager;
	struct worker_slot *slots;
	uint32_t count;
	struct known **known;
	size_t known_count, known_cap;
	struct refused *refused; /* runs */
	size_t refused_count, refused_cap;
	const char **refused_now; /* for mor_refused_now() */
	uint64_t refusals;        /* since it began */
	uint64_t ticket;
	int epoll;
	int signals;
	bool ending;     /* no more claims */
	bool waited;     /* it was said that there is nothing to do */
	bool dry;        /* the last claim got nothing: one slot asks for all ... */
	int64_t dry_ms;  /* ... and not before this time */
	unsigned asking; /* claims without an answer */
	bool moved;      /* an answer came: a slot may have something to do */
	mortise_error failure;
};

/* known.c */
int mor_known_get(struct crew_worker *worker, const char *run, struct known **ret, mortise_error *err);
void mor_known_release(struct known *known);
void mor_known_free_all(struct crew_worker *worker);
/* refused.c */
/* This run cannot be done here, for now. True: it was not said before, or for another reason. */
bool mor_refused_add(struct crew_worker *worker, const char *run, const char *why);
/* This run can be done here again. */
void mor_refused_remove(struct crew_worker *worker, const char *run);
/* The runs that are not to be asked for now, NULL-terminated; valid until the next call. */
const char *const *mor_refused_now(struct crew_worker *worker);
void mor_refused_free(struct crew_worker *worker);
/* slot.c */
void mor_slot_claim(struct worker_slot *slot);
/* Does what is due. Returns ms until the next call, or -1. */
int mor_slot_step(struct worker_slot *slot);
void mor_slot_stop(struct worker_slot *slot, bool now);
void mor_slot_fini(struct worker_slot *slot);
/* For kinds: the worker's loop turns when this host has something to do. */
int mor_slot_watch(struct worker_slot *slot, mortise_host *host, mortise_error *err);
/* A unit has ended, and the next one begins. */
void mor_slot_ended(struct worker_slot *slot, size_t unit, const char *name);
/* One line about a unit, which the owner shows. */
void mor_slot_log(struct worker_slot *slot, size_t unit, const char *text);

#endif
