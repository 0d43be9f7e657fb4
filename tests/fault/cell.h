/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of fault-matrix: a cell is a row of the table (rows.h) in one phase and one tongue. */
#ifndef TESTS_FAULT_CELL_H
#define TESTS_FAULT_CELL_H

#include "host.h"

enum { /* how the work at hand may end */
       OK = 1 << 0,
       CRASHED = 1 << 1,
       LATE = 1 << 2,
       BREACH = 1 << 3,
       LIMIT = 1 << 4,
       REMOTE = 1 << 5,
       VIOLATED = 1 << 6,
       CLOSED = 1 << 7,
       NOT_FOUND = 1 << 8,
       NO_EXEC = 1 << 9,
       LACKING = 1 << 10,  /* MORTISE_ESYSTEM */
       FINAL = 1 << 12,    /* the plugin is not brought back                                              */
       DIES = 1 << 13,     /* in idle: it ends by itself, or is ended                                     */
       NONE = 1 << 14,     /* there is no such cell                                                       */
       ANSWER = 1 << 15,   /* it spoils an answer: where nobody has asked yet, nothing is spoilt          */
       UNSURE = 1 << 16,   /* it is about to end when the next work comes: that may still be hit          */
       LOOSE = 1 << 17,    /* the first answer of any plugin counts                                       */
       STUBBORN = 1 << 18, /* it takes several calls until it is given up                                */
       UNHEARD = 1 << 19   /* no good answer comes to a greeting, and nobody needs one                   */
};

struct cell {
	const struct tongue *tongue;
	const struct row *row;
	enum phase phase;
	unsigned want;
};

/* What a row does beside what the plugin does. */
struct twist {
	const char *fault; /* that the plugin commits; NULL: the row's name                                */
	/* any may be NULL: before the first work, when the plugin says now, before recovery */
	void (*begin)(struct rig *), (*commit)(struct rig *), (*end)(struct rig *);
	const char *helper;
	bool own_program, confined, big;       /* as in struct rig_options                                */
	bool silent;                           /* nobody says that it has been                            */
	bool orphan;                           /* nobody waits for its end, so that may take a moment      */
	bool (*play)(const struct cell *cell); /* in place of all of it                                    */
};

struct row {
	const char *name;
	unsigned want[PHASES];
	const char *set[3];
	bool bounded;     /* limits.session is five short limits   */
	bool dear;        /* a second of processor time, each cell */
	const char *text; /* what the error says, where it is one  */
	const struct twist *twist;
	const char *none; /* why some of its cells do not exist    */
};

#define LONG_MS 3600000

/* Says why the cell has failed; the first word counts. Returns false. */
bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The cell is played once more, with more time. */
void forgive(void);
/* This machine cannot do it, and why. Returns true. */
bool skip(const char *why);

bool judge(const struct job *job, const struct row *row, unsigned want);
/* One piece of work until its end. */
bool work(struct rig *rig, struct job *job, uint32_t timeout_ms);
bool work_well(struct rig *rig, struct job *job, const struct row *row);
/* The next work is done well, and a polite stop ends it. */
bool end_well(struct rig *rig, const struct row *row);
bool play_usual(const struct cell *cell);

/* scenes.c */
extern const struct twist without_program, not_executable, no_format, no_interpreter, no_descriptors,
	guardian_early, guardian_killed, clock_ahead, clock_back, interrupted, violates, never_reads,
	host_killed, neighbour;
/* signals.c */
extern const struct twist signal_int, signal_term, signal_hup, signal_twice;

#endif
