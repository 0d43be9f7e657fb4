/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The soak: pools and single plugins of all dialects, for minutes or hours, under the faults of
 * `mortise chaos`, of signals to whatever process of theirs, and of an embedder that cancels, frees and makes
 * anew. Every call goes into a history, and the history must add up: exactly one last callback, with the call's
 * own token, within its time.
 *
 * It sees the library as an embedder does: through <mortise/mortise.h>.
 */
#ifndef TESTS_SOAK_SOAK_H
#define TESTS_SOAK_SOAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mortise/mortise.h>

#include "kit/look.h"
#include "kit/tongue.h"

#define STATUSES 32 /* 0 to -31 */

struct seat;

/* ---- history (history.c) ---- */

enum record_state { RECORD_FREE, RECORD_OPEN, RECORD_SETTLED, RECORD_REFUSED };

/* One call. Records are used round and round: an old one is known long enough to notice a second
 * last callback. */
#define RECORDS 65536
#define TOKEN   32
struct record {
	struct seat *seat;
	mortise_call *call; /* while it may be cancelled; NULL in a pool */
	enum record_state state;
	int pieces, finals;
	int64_t start_ms, limit_ms; /* limit: when the watchdog speaks */
	bool fails;                 /* it was ordered to fail */
	char token[TOKEN];
};

struct history {
	struct record *record; /* RECORDS of them */
	uint64_t begun, settled, refused;
	uint64_t faults;     /* of the library: what the soak looks for */
	uint64_t of_another; /* among them: answers that were another's */
};
extern struct history history;

void history_open(void);
void history_close(void);
/* A new record. NULL: so many calls are open that none is free, which is a fault by itself. */
struct record *record_begin(struct seat *seat, uint32_t limit_ms);
/* mortise_call_start() and the like said no: no callback may come. */
void record_refuse(struct record *record, int status);
/* For calls, with the record as argument. */
void record_reply(const mortise_reply *reply, void *arg);
/* Where there is no reply of the library's: the analyzer's unit is done (0) or lost. */
void record_settle(struct record *record, int status);
/* Tells every call that is open for too long, once. Returns how many are open. */
unsigned history_watch(int64_t now);
/* Prints and counts. */
void fault(const struct seat *seat, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- seats (seats.c): a plugin or a pool, and who keeps it busy ---- */

/* What kind of seat: a row of the table. */
struct seat_kind {
	const char *name, *tongue;
	unsigned workers, retries; /* workers 0: no pool */
	unsigned every_ms;         /* a call so often, on average */
	unsigned open_max;         /* calls that may be under way */
	bool frail;                /* the restart limits that everybody has by default */
	const char *const *faults; /* options of mortise chaos */
};
extern const struct seat_kind seat_kinds[];
extern const size_t seat_kind_count;

struct seat {
	const struct seat_kind *kind;
	const struct tongue *tongue;
	mortise_plugin *plugin;
	mortise_pool *pool;
	unsigned open;
	uint64_t calls, by_status[STATUSES], pieces, starts, made;
	uint64_t drops, noise; /* events of those kinds */
	int64_t next_call, next_renewal, busy_until;
	bool leaving;                        /* it was told to stop, and will be freed     */
	struct record *doomed;               /* will be cancelled */
	char dir[144], log[160], count[160]; /* of its own */
	/* an analyzer (analyzer.c) */
	struct record *unit;
	mortise_request *asked; /* "analyze" that waits for an answer */
	bool down;              /* to be started again */
	int64_t sign_ms;        /* of life */
	uint64_t given_up;
};

struct soak {
	mortise_host *host;
	struct seat *seat; /* seat_kind_count of them */
	bool lie;          /* the plugins do: the soak itself is tried */
	uint64_t seed;
	uint64_t random; /* state */
	int64_t begin, end;
	char dir[128]; /* for logs and manifests */
	uint64_t kills, stops, cancels, renewals;
};
extern struct soak soak;

uint64_t pick(uint64_t below); /* a random number */
int64_t now_ms(void);

void seats_open(void);
void seats_close(void);
/* Does what is due. Returns ms until the next. */
int seats_turn(int64_t now);
void seat_event(const mortise_event *event, void *arg);
int seat_make(struct seat *seat);
void seat_free(struct seat *seat);

/* analyzer.c: a plugin that asks */
void analyzer_request(mortise_request *request, const char *method, mortise_json params, void *arg);
void analyzer_event(struct seat *seat, const mortise_event *event);
void analyzer_turn(struct seat *seat, int64_t now);
void analyzer_lost(struct seat *seat); /* the process that had a record has ended */

/* ---- nemesis.c: signals to processes that we have started ---- */

void nemesis_strike(int64_t now);
void nemesis_end(void); /* processes that are stopped go on */
/* Processes below us that live, told as faults where `tell`. */
unsigned descendants(bool tell);

/* ---- measure.c ---- */

struct slope {
	double per_minute, error; /* KiB; error: of the slope, one sigma */
	double window_min;
	unsigned samples;
};

size_t heap_in_use(void);
void measure_sample(int64_t now);
struct slope measure_rss(void), measure_heap(void);
bool measure_is_meaningful(void); /* not under sanitizers */

/* ---- report.c ---- */

void report(void);

#endif
