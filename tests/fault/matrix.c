/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fault-matrix DIALECT [FAULT/PHASE]: see fault.h. Each cell is a host of its own with a real process. What is looked at in
 * all of them: the work at hand ends as the table says, exactly once; the next work is done well, by the same process or a
 * new one; a polite stop ends; no descriptor and no process is left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	FINAL = 1 << 12,  /* the plugin is not brought back                                              */
	DIES = 1 << 13,   /* in idle: it ends by itself, or is ended                                     */
	NONE = 1 << 14,   /* there is no such cell                                                       */
	ANSWER = 1 << 15, /* it spoils an answer: where nobody has asked yet, nothing is spoilt          */
	UNSURE = 1 << 16, /* it is about to end when the next work comes: that may still be hit          */
	LOOSE = 1 << 17,  /* the first answer counts, whoever's it is                                    */
	STUBBORN = 1 << 18 /* it takes several calls until it is given up                               */
};

static const struct word {
	int status;
	unsigned bit;
	const char *name;
} words[] = {
	{ 0, OK, "ok" },
	{ MORTISE_ECRASHED, CRASHED, "crashed" },
	{ MORTISE_ETIMEOUT, LATE, "timeout" },
	{ MORTISE_EPROTO, BREACH, "protocol" },
	{ MORTISE_ELIMIT, LIMIT, "limit" },
	{ MORTISE_EREMOTE, REMOTE, "plugin_error" },
	{ MORTISE_EVIOLATION, VIOLATED, "violation" },
	{ MORTISE_ECLOSED, CLOSED, "closed" },
};

struct row {
	const char *fault;
	unsigned want[PHASES];
	const char *set[3];
	const char *text; /* what the error says, where it is one */
};

#include "rows.h"

#define SHORT_MS 400
#define SHORT "400ms"
#define LONG_MS 600000

static char said[1024]; /* why the cell failed */

static bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool fail(const char *format, ...)
{
	va_list args;

	if (said[0])
		return false;
	va_start(args, format);
	vsnprintf(said, sizeof(said), format, args);
	va_end(args);
	return false;
}

static const struct word *word_of(int status)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].status == status)
			return &words[i];
	return NULL;
}

/* ---- one cell ---- */

static bool judge(const struct job *job, const struct row *row, unsigned want)
{
	const struct word *word = word_of(job->status);

	if (!word || !(word->bit & want))
		return fail("ended with %s: %s", word ? word->name : mortise_status_name(job->status), job->text);
	if (job->status == 0 && !job->right && !(want & LOOSE))
		return fail("somebody else's result");
	if (job->status && row->text && !job->rig->tongue->asks && !strstr(job->text, row->text))
		return fail("does not say \"%s\": %s", row->text, job->text);
	return true;
}

static bool work(struct rig *rig, struct job *job, uint32_t timeout_ms)
{
	int r = job_start(rig, job, timeout_ms);

	if (r < 0)
		return fail("refused: %s", job->text);
	return rig_until_done(job) || fail("never ended");
}

static bool work_well(struct rig *rig, struct job *job, const struct row *row)
{
	return work(rig, job, LONG_MS) && judge(job, row, OK);
}

static void wait_for_the_end(struct rig *rig)
{
	while (mortise_plugin_state(rig->plugin) == MORTISE_DRAINING)
		rig_turn(rig);
}

/* An analyzer has no limit of its own: whoever gave it the work gives it up. */
static bool give_up(struct rig *rig, struct job *job)
{
	if (job_start(rig, job, 0) < 0)
		return fail("refused: %s", job->text);
	if (!rig_until(rig, &rig->committed))
		return fail("no fault came");
	if (!job->finals)
		mortise_plugin_stop(rig->plugin, MORTISE_STOP_POLITE);
	return rig_until_done(job) || fail("never ended");
}

static bool hit_by_work(struct rig *rig, struct job *job, const struct row *row, enum phase phase, unsigned want)
{
	bool done = rig->tongue->asks && phase == AT_CALL && (want & LATE) ? give_up(rig, job)
									   : work(rig, job, want & LATE ? SHORT_MS : LONG_MS);

	return done && judge(job, row, rig->tongue->asks && (want & ~(OK | DIES)) ? want | CRASHED : want);
}

static bool hit_when_idle(struct rig *rig, struct job *job, const struct row *row, unsigned want)
{
	if (rig->tongue->asks ? mortise_plugin_start(rig->plugin, NULL) < 0 : !work_well(rig, job, row))
		return fail("not started");
	if (!rig_until(rig, &rig->committed))
		return fail("no fault came");
	if ((want & DIES) && !rig_until_death(rig))
		return fail("does not end");
	wait_for_the_end(rig);
	return rig->tongue->asks && (want & LATE) ? give_up(rig, job) : hit_by_work(rig, job, row, AT_IDLE, want);
}

static bool hit_at_stop(struct rig *rig, struct job *job, const struct row *row, unsigned want)
{
	if (!(rig->tongue->one_shot ? hit_by_work(rig, job, row, AT_STOP, want) : work_well(rig, job, row)))
		return false;
	mortise_plugin_stop(rig->plugin, MORTISE_STOP_POLITE);
	return rig_until_state(rig, MORTISE_STOPPED) || fail("does not stop");
}

static bool hit(struct rig *rig, struct job *job, const struct row *row, enum phase phase, unsigned want)
{
	switch (phase) {
	case AT_IDLE:
		return hit_when_idle(rig, job, row, want);
	case AT_STOP:
		return hit_at_stop(rig, job, row, want);
	default:
		return hit_by_work(rig, job, row, phase, want);
	}
}

/* What follows every fault. */
static bool recover(struct rig *rig, const struct row *row, unsigned want)
{
	struct job next;

	if ((want & LATE) && rig->tongue->patient)
		mortise_plugin_stop(rig->plugin, MORTISE_STOP_POLITE);
	wait_for_the_end(rig);
	if (want & FINAL) { /* whoever asks by name gets a fresh start */
		if (mortise_plugin_state(rig->plugin) != MORTISE_FAILED || mortise_plugin_start(rig->plugin, NULL) < 0)
			return fail("is not given up");
	}
	for (int i = 0; (want & STUBBORN) && !rig->tongue->patient && i < 3; i++)
		if (!work(rig, &next, SHORT_MS))
			return false;
	if (!work(rig, &next, LONG_MS))
		return false;
	if ((want & UNSURE) && next.status && !work(rig, &next, LONG_MS))
		return false;
	if (!judge(&next, row, OK))
		return false;
	mortise_plugin_stop(rig->plugin, MORTISE_STOP_POLITE);
	return rig_until_state(rig, MORTISE_STOPPED) || fail("does not stop in the end");
}

static const char *const *settings(const struct tongue *tongue, const struct row *row, enum phase phase, unsigned want)
{
	static char limits[3][96];
	static const char *set[8];
	size_t n = 0;

	memset(set, 0, sizeof(set));
	for (size_t i = 0; i < 3 && row->set[i]; i++)
		set[n++] = row->set[i];
	for (size_t i = 0; phase == AT_START && (want & LATE) && i < 3 && tongue->greeting[i]; i++) {
		snprintf(limits[i], sizeof(limits[i]), "timeouts.%s=%s", tongue->greeting[i], SHORT);
		set[n++] = limits[i];
	}
	if (phase == AT_START && (want & LATE) && tongue->asks)
		set[n++] = "timeouts.init=" SHORT;
	return set;
}

static bool run_cell(const struct tongue *tongue, const struct row *row, enum phase phase, unsigned want)
{
	unsigned before = count_descriptors();
	mortise_error err = { 0 };
	struct rig rig;
	struct job job = { 0 };
	bool good;

	said[0] = '\0';
	good = rig_open(&rig, tongue, row->fault, phase, settings(tongue, row, phase, want), &err) == 0 || fail("%s", err.text);
	good = good && hit(&rig, &job, row, phase, want) && recover(&rig, row, want);
	if (good && !rig.committed)
		good = fail("no fault came at all");
	if (good && !is_gone(rig.mark))
		good = fail("something of it lives on");
	rig_close(&rig);
	if (job.finals > 1)
		good = fail("ended %d times", job.finals);
	if (count_descriptors() != before)
		good = fail("%u descriptors before, %u after", before, count_descriptors());
	if (has_children())
		good = fail("left a child");
	return good;
}

/* ---- all of them ---- */

static unsigned wanted(const struct tongue *tongue, const struct row *row, enum phase phase)
{
	unsigned want = row->want[phase];

	for (size_t i = 0; i < sizeof(exceptions) / sizeof(exceptions[0]); i++) {
		const struct exception *e = &exceptions[i];

		if (strncmp(e->tongue, tongue->name, strlen(e->tongue)) == 0 && strcmp(e->fault, row->fault) == 0 && (e->phases & 1 << phase))
			want = e->want;
	}
	if (tongue->one_shot && phase == AT_IDLE)
		return NONE; /* it has ended by then */
	if (!tongue->greets && phase == AT_START && (want & ANSWER))
		return OK | (want & (LIMIT | LOOSE));
	return want;
}

int main(int argc, char **argv)
{
	const struct tongue *tongue = argc > 1 ? tongue_find(argv[1]) : NULL;
	unsigned cells = 0, failed = 0, none = 0;
	char name[64];

	if (!tongue)
		return 2;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int phase = 0; phase < PHASES; phase++) {
			unsigned want = wanted(tongue, &rows[i], (enum phase)phase);

			snprintf(name, sizeof(name), "%s/%s", rows[i].fault, phase_names[phase]);
			if (argc > 2 && strcmp(argv[2], name) != 0)
				continue;
			if (want & NONE) {
				none++;
				continue;
			}
			if (!run_cell(tongue, &rows[i], (enum phase)phase, want)) {
				failed++;
				printf("not ok %u - %s: %s\n# %s\n", ++cells, tongue->name, name, said);
			} else {
				printf("ok %u - %s: %s\n", ++cells, tongue->name, name);
			}
			fflush(stdout);
		}
	}
	printf("# %s: %u cells, %u that do not exist\n1..%u\n", tongue->name, cells, none, cells);
	return failed != 0;
}
