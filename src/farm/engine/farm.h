/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine of a farm: who does which batch. docs/design/0010-farm.md says what the verbs mean.
 *
 * Nothing here blocks. A verb is queued; its answer comes in mor_farm_step(), in the order of the questions.
 * Poll mor_farm_fd() for reading, and call mor_farm_step() when it is readable or its time has come. If the
 * connection is lost, it is made again, and what has no answer yet is asked again: every verb can be repeated.
 * Only an answer that cannot be had at all is an error: then the farm is broken for good (mor_farm_failure()).
 */
#ifndef MOR_FARM_FARM_H
#define MOR_FARM_FARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/digest.h"

#define MOR_FARM_GROUP  16 /* batches in one message */
#define MOR_FARM_NAMED  4  /* units by name in one message */
#define MOR_FARM_CLAIMS 5  /* a batch that was claimed so often without a result is poisoned */

struct mor_farm;

/* Consecutive units of a run. */
struct mor_farm_batch {
	uint64_t first;
	uint32_t count;
	char key[MOR_DIGEST_SIZE];
};

enum mor_farm_state { MOR_FARM_WAITS, MOR_FARM_LEASED, MOR_FARM_DONE, MOR_FARM_POISONED };

struct mor_farm_ended {
	struct mor_farm_batch batch;
	enum mor_farm_state state; /* DONE or POISONED */
	uint32_t claims;
	char segment[MOR_DIGEST_SIZE];
	uint32_t took_ms; /* as its worker said; 0: not known */
};

/* A unit by name, for people. Printable, and cut where it is too long: four fit into a message. */
struct mor_farm_unit {
	uint64_t unit;
	char name[200];
	uint32_t ms;   /* a slow one: how long it took */
	char why[200]; /* one that failed */
};

/* What a worker has made of a batch. */
struct mor_farm_made {
	char segment[MOR_DIGEST_SIZE];
	uint32_t took_ms;
	struct mor_farm_unit slowest; /* ms 0: none */
};

struct mor_farm_reply {
	bool claimed; /* claim: `run`, `batch` and `lease_ms` are set. commit: this one was the first */
	char run[MOR_DIGEST_SIZE];
	struct mor_farm_batch batch;
	uint32_t lease_ms;
	struct mor_farm_ended ended[MOR_FARM_GROUP]; /* done */
	size_t count;
	const char *text; /* ask: JSON, or "" */
};
typedef void mor_farm_reply_fn(const struct mor_farm_reply *reply, void *arg);

/* An owner's run. Its lock is held while the farm is open. */
struct mor_farm_run {
	char run[MOR_DIGEST_SIZE];
	char title[200];
	char owner[200]; /* machine and process, for people */
	uint64_t units;
	uint32_t lease_ms;
};

struct mor_farm_options {
	const char *url;
	const struct mor_farm_run *run; /* of an owner; NULL: a worker, or a person */
	bool bare;                      /* the schema need not be there: for MOR_FARM_INIT */
	void (*on_warning)(const char *text, void *arg);
	void *arg;
};

/* What a worker says about itself with each claim and beat. */
struct mor_farm_worker {
	char name[80]; /* unique */
	char machine[80];
	uint32_t jobs;
	uint64_t units, failed; /* since it began */
};

/* MORTISE_EINVAL: the URL, or it has a password in it. The connection itself is made later. */
int mor_farm_open(const struct mor_farm_options *opt, struct mor_farm **ret, mortise_error *err);
struct mor_farm *mor_farm_free(struct mor_farm *farm); /* NULL is fine; returns NULL */
int mor_farm_fd(const struct mor_farm *farm);
/* Does what can be done now. Returns ms until it wants to be called again, or -1: when the descriptor says. */
int mor_farm_step(struct mor_farm *farm);
const mortise_error *mor_farm_failure(const struct mor_farm *farm); /* NULL: none */
bool mor_farm_idle(const struct mor_farm *farm);                    /* every question has its answer */
/* How often the engine has said, unasked, that a batch of the owner's run was committed. It may forget to. */
uint64_t mor_farm_news(const struct mor_farm *farm);

/* ---- the five verbs. 0 or MORTISE_ENOMEM; `fn` may be NULL ---- */

/* At most MOR_FARM_GROUP. `again`: those that are known, too, wait from now on. */
int mor_farm_submit(struct mor_farm *farm, const struct mor_farm_batch *batches, size_t count, bool again,
		    mor_farm_reply_fn *fn, void *arg);
/* `ticket`: another number for each claim. `refused`: runs that this worker cannot do, NULL-terminated. */
int mor_farm_claim(struct mor_farm *farm, const struct mor_farm_worker *worker, uint64_t ticket,
		   const char *const *refused, mor_farm_reply_fn *fn, void *arg);
/* `ms` from now on; 0: gives it back. */
int mor_farm_beat(struct mor_farm *farm, const struct mor_farm_worker *worker, const char *run, uint64_t first,
		  uint32_t ms, mor_farm_reply_fn *fn, void *arg);
int mor_farm_commit(struct mor_farm *farm, const struct mor_farm_worker *worker, const char *run,
		    const struct mor_farm_batch *batch, const struct mor_farm_made *made, mor_farm_reply_fn *fn,
		    void *arg);
/* Units before `next` are in the result. Tells up to MOR_FARM_GROUP that ended, from unit `from` on. */
int mor_farm_done(struct mor_farm *farm, uint64_t next, uint64_t from, uint64_t failed, mor_farm_reply_fn *fn,
		  void *arg);

/* ---- around them ---- */

/* A worker's: why it cannot do what it has claimed, one line. The owner of the run hears it, as a warning. */
int mor_farm_trouble(struct mor_farm *farm, const struct mor_farm_worker *worker, const char *run,
		     const char *text);
/* The worker ends, and has no batch: it is not listed any more. */
int mor_farm_leave(struct mor_farm *farm, const struct mor_farm_worker *worker);

/* The owner's: so many units have failed; up to MOR_FARM_NAMED of them by name. */
int mor_farm_failed(struct mor_farm *farm, uint64_t failed, const struct mor_farm_unit *units, size_t count);

enum mor_farm_question {
	MOR_FARM_INIT,   /* makes the schema, or brings it up to date */
	MOR_FARM_STATUS, /* runs, workers, batches and units that are slow or failed; with a number only who was
			  * seen in these seconds */
	MOR_FARM_RETRY,  /* poisoned and leased batches wait again            */
	MOR_FARM_GC,     /* forgets runs and workers not seen for `number` days */
	MOR_FARM_FINISH, /* the owner's run is complete                         */
	MOR_FARM_QUESTIONS
};
int mor_farm_ask(struct mor_farm *farm, enum mor_farm_question question, uint64_t number, mor_farm_reply_fn *fn,
		 void *arg);

#endif
