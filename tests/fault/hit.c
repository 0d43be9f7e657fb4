/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The usual cell: a host of its own with a real process. What is looked at in all of them: the work at hand
 * ends as the table says, exactly once; the next work is done well, by the same process or a new one; a polite
 * stop ends; no descriptor and no process is left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/jail.h>

#include "cell.h"

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
	{ MORTISE_ENOTFOUND, NOT_FOUND, "not_found" },
	{ MORTISE_EEXEC, NO_EXEC, "exec" },
	{ MORTISE_ESYSTEM, LACKING, "system" },
};

static const struct word *word_of(int status)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].status == status)
			return &words[i];
	return NULL;
}

/* ---- one cell ---- */

bool judge(const struct job *job, const struct row *row, unsigned want)
{
	const struct word *word = word_of(job->status);

	if (!word || !(word->bit & want))
		return fail("ended with %s: %s", word ? word->name : mortise_status_name(job->status),
			    job->text);
	if (job->status == 0 && !job->right && !(want & LOOSE))
		return fail("somebody else's result");
	if (job->status && row->text && !job->rig->tongue->asks && !strstr(job->text, row->text))
		return fail("does not say \"%s\": %s", row->text, job->text);
	return true;
}

bool work(struct rig *rig, struct job *job, uint32_t timeout_ms)
{
	int r = job_start(rig, job, timeout_ms);

	/* A start that fails is known at once, or later: that is no difference here. */
	return r < 0 || rig_until_done(job) || fail("never ended");
}

bool work_well(struct rig *rig, struct job *job, const struct row *row)
{
	return work(rig, job, LONG_MS) && judge(job, row, OK);
}

static void wait_for_the_end(struct rig *rig)
{
	while (mortise_plugin_state(rig->plugin) == MORTISE_DRAINING)
		rig_turn(rig);
}

/* An analyzer has no limit of its own: the caller gives the work up. */
static bool give_up(struct rig *rig, struct job *job)
{
	if (job_start(rig, job, 0) < 0)
		return fail("refused: %s", job->text);
	if (!rig_until(rig, &rig->committed))
		return fail("no fault came");
	if (!job->finals)
		mortise_plugin_stop(rig->plugin, MORTISE_STOP_POLITE, NULL);
	return rig_until_done(job) || fail("never ended");
}

static bool hit_by_work(struct rig *rig, struct job *job, const struct row *row, enum phase phase,
			unsigned want)
{
	bool done;

	rig->big = rig->opt.big && phase != AT_CALL;
	done = rig->tongue->asks && phase == AT_CALL && (want & LATE) ?
		       give_up(rig, job) :
		       work(rig, job, want & LATE ? short_ms : LONG_MS);
	rig->too_soon = (want & LATE) && job->status && !rig->committed;
	return done && !rig->too_soon &&
	       judge(job, row, rig->tongue->asks && (want & ~(OK | DIES)) ? want | CRASHED : want);
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
	return rig->tongue->asks && (want & LATE) ? give_up(rig, job) :
						    hit_by_work(rig, job, row, AT_IDLE, want);
}

static bool hit_at_stop(struct rig *rig, struct job *job, const struct row *row, unsigned want)
{
	if (!(rig->tongue->one_shot ? hit_by_work(rig, job, row, AT_STOP, want) : work_well(rig, job, row)))
		return false;
	if (rig->tongue->one_shot && (want & FINAL))
		return true; /* its work was its end */
	mortise_plugin_stop(rig->plugin, MORTISE_STOP_POLITE, NULL);
	return rig_until_state(rig, want & FINAL ? MORTISE_FAILED : MORTISE_STOPPED) || fail("does not stop");
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

static bool stop_well(struct rig *rig)
{
	mortise_plugin_stop(rig->plugin, MORTISE_STOP_POLITE, NULL);
	return rig_until_state(rig, MORTISE_STOPPED) || fail("does not stop in the end");
}

bool end_well(struct rig *rig, const struct row *row)
{
	struct job job;

	return work_well(rig, &job, row) && stop_well(rig);
}

/* What follows every fault. */
static bool recover(struct rig *rig, const struct row *row, unsigned want)
{
	struct job next;

	if ((want & LATE) && rig->tongue->patient)
		mortise_plugin_stop(rig->plugin, MORTISE_STOP_POLITE, NULL);
	wait_for_the_end(rig);
	if (want & FINAL) { /* a caller who asks by name gets a fresh start */
		if (mortise_plugin_state(rig->plugin) != MORTISE_FAILED ||
		    mortise_plugin_start(rig->plugin, NULL) < 0)
			return fail("is not given up");
	}
	for (int i = 0; (want & STUBBORN) && !rig->tongue->patient && i < 3; i++)
		if (!work(rig, &next, short_ms))
			return false;
	if (!work(rig, &next, LONG_MS))
		return false;
	if ((want & UNSURE) && next.status && !work(rig, &next, LONG_MS))
		return false;
	if (!judge(&next, row, OK))
		return false;
	return stop_well(rig);
}

static const char *const *settings(const struct tongue *tongue, const struct row *row, enum phase phase,
				   unsigned want)
{
	static char limits[5][96];
	static const char *set[9];
	/* A busy machine may need long for a greeting, or until one dies in the middle of it. Only
	 * silence needs a limit: where nobody needs the answer, that of the first question, whose answer
	 * alone is spoilt. */
	uint32_t first = phase == AT_START && (want & (LATE | UNHEARD)) ? short_ms : LONG_MS;
	uint32_t rest = want & UNHEARD ? LONG_MS : first;
	size_t n = 0;

	memset(set, 0, sizeof(set));
	for (size_t i = 0; i < 3 && row->set[i]; i++)
		set[n++] = row->set[i];
	for (size_t i = 0; i < 3 && tongue->greeting[i]; i++) {
		snprintf(limits[i], sizeof(limits[i]), "timeouts.%s=%ums", tongue->greeting[i],
			 i ? rest : first);
		set[n++] = limits[i];
	}
	snprintf(limits[3], sizeof(limits[3]), "timeouts.init=%ums", first);
	if (tongue->asks)
		set[n++] = limits[3];
	snprintf(limits[4], sizeof(limits[4]), "limits.session=%ums", 5 * short_ms);
	if (row->bounded)
		set[n++] = limits[4];
	return set;
}

static bool play_open(struct rig *rig, const struct cell *cell, struct job *job)
{
	static const struct twist none;
	const struct twist *twist = cell->row->twist ? cell->row->twist : &none;
	bool good;

	if (twist->begin)
		twist->begin(rig);
	good = hit(rig, job, cell->row, cell->phase, cell->want);
	if (twist->end)
		twist->end(rig);
	good = good && recover(rig, cell->row, cell->want);
	if (good && !rig->committed && !twist->silent)
		good = fail("no fault came at all");
	if (good && rig->escaped)
		good = fail("it got what it may not have");
	if (good && twist->orphan)
		wait_until_gone(rig->mark);
	if (good && !is_gone(rig->mark))
		good = fail("something of it lives on");
	return good;
}

/* NULL: plugins can be confined here. */
static const char *why_not_confined(void)
{
	static const char *const argv[] = { "/bin/true", NULL }, *const policy[] = { "level=t0", NULL };
	mortise_jail_options opt = { .size = sizeof(opt), .argv = argv, .policy = policy };
	mortise_jail_result *result = NULL;
	int r;
	static mortise_error err;

	r = mortise_jail_run(&opt, &result, &err);
	mortise_free(result);
	return r == MORTISE_EJAIL ? err.text : NULL;
}

/* A host that stood still finds the answer there before it looks at its limit: the answer was not late. */
static bool was_in_time(const struct rig *rig, const struct job *job, unsigned want)
{
	return strcmp(rig->opt.fault, "late") == 0 && (want & LATE) && job->status == 0;
}

/* ret_unmet: it has failed, and the fault did not come, or too late, or did no harm. */
static bool play_once(const struct cell *cell, bool *ret_unmet)
{
	const struct row *row = cell->row;
	struct rig_options opt = { .fault = row->name,
				   .phase = cell->phase,
				   .set = settings(cell->tongue, row, cell->phase, cell->want) };
	mortise_error err = { 0 };
	struct rig rig;
	struct job job = { 0 };
	bool good;

	if (row->twist) {
		opt.fault = row->twist->fault ? row->twist->fault : row->name;
		opt.on_commit = row->twist->commit;
		opt.helper = row->twist->helper;
		opt.own_program = row->twist->own_program;
		opt.confined = row->twist->confined;
		opt.big = row->twist->big;
	}
	good = rig_open(&rig, cell->tongue, &opt, &err) == 0 ? play_open(&rig, cell, &job) :
							       fail("%s", err.text);
	*ret_unmet = !good && (rig.too_soon || !rig.committed || was_in_time(&rig, &job, cell->want));
	rig_close(&rig);
	return job.finals <= 1 ? good : fail("ended %d times", job.finals);
}

bool play_usual(const struct cell *cell)
{
	char late[16];
	bool good, unmet;

	if (cell->row->twist && cell->row->twist->confined && why_not_confined())
		return skip(why_not_confined());
	for (short_ms = SHORT_MS;; short_ms *= 4) {
		snprintf(late, sizeof(late), "%u", 4 * short_ms);
		setenv(LATE_VARIABLE, late, 1);
		good = play_once(cell, &unmet);
		if (!unmet || short_ms == SHORT_MOST)
			return good;
		forgive();
	}
}
