/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through the rows: one process for each that needs one, then the rows about the whole run. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "check/host_own.h"
#include "console/signals.h"

#define ANSWER_MS 5000
#define TOTAL_MS  300000
#define FIRST_ID  9000 /* of the requests that rows do not number themselves */

/* ---- which rows ---- */

static bool is_wanted(const char *id, const char *const *only)
{
	size_t len;

	for (; only && *only; only++) {
		len = strlen(*only);
		if (strncmp(id, *only, len) == 0 && (id[len] == '\0' || id[len] == '.'))
			return true;
		/* without the dialect's name */
		if (strchr(id, '.') && strcmp(strchr(id, '.') + 1, *only) == 0)
			return true;
	}
	return false;
}

/* Nothing is added for a dialect in neither mask. */
static int add_result(struct mor_check_report *report, const struct mor_check_tongue *tongue,
		      struct mor_check_result result, unsigned must, unsigned should)
{
	if (!((must | should) & tongue->dialect))
		return 0;
	result.level = must & tongue->dialect ? MOR_CHECK_MUST : MOR_CHECK_SHOULD;
	result.verdict = MOR_CHECK_UNSEEN;
	if (mor_grow(&report->item, report->count, &report->cap, sizeof(*report->item)) < 0)
		return MORTISE_ENOMEM;
	report->item[report->count++] = result;
	return 0;
}

static int add_row(struct mor_check_report *report, const struct mor_check_tongue *tongue,
		   const struct mor_check_row *row)
{
	struct mor_check_result result = { .title = row->title, .spec = row->spec, .advice = row->advice };

	if (!row->spec)
		result.spec = tongue->wire;
	else if (strcmp(row->spec, "%S") == 0)
		result.spec = tongue->stop;
	snprintf(result.id, sizeof(result.id), "%s.%s", tongue->name, row->name);
	return add_result(report, tongue, result, row->must, row->should);
}

static int add_host_row(struct mor_check_report *report, const struct mor_check_tongue *tongue,
			const struct mor_check_host_row *row)
{
	struct mor_check_result result = { .title = row->title, .spec = row->spec, .advice = row->advice };

	snprintf(result.id, sizeof(result.id), "%s.host.%s", tongue->name, row->name);
	return add_result(report, tongue, result, row->must, row->should);
}

static int add_rows(struct mor_check_report *report, const struct mor_check_tongue *tongue, bool host)
{
	const struct mor_check_row *const tables[] = { mor_check_common_rows, tongue->rows };
	int r = 0;

	for (size_t i = 0; i < 2 && !host; i++)
		for (const struct mor_check_row *row = tables[i]; r == 0 && row->name; row++)
			r = add_row(report, tongue, row);
	for (const struct mor_check_host_row *const *table = mor_check_host_tables; host && *table; table++)
		for (const struct mor_check_host_row *row = *table; r == 0 && row->name; row++)
			r = add_host_row(report, tongue, row);
	return r;
}

int mor_check_list(const char *dialect, bool host, struct mor_check_report *report, mortise_error *err)
{
	int r = 0;

	if (dialect && !mor_check_tongue(dialect))
		return mor_fail(err, MORTISE_EUNSUPPORTED, "there are no checks for the dialect %s", dialect);
	for (const struct mor_check_tongue *const *t = mor_check_tongues; r == 0 && *t; t++)
		if (!dialect || strcmp((*t)->name, dialect) == 0)
			r = add_rows(report, *t, host);
	return r < 0 ? mor_fail_memory(err) : 0;
}

static const struct mor_check_row *check_row_of(const struct mor_check_tongue *tongue,
						const struct mor_check_result *result)
{
	const struct mor_check_row *const tables[] = { mor_check_common_rows, tongue->rows };
	const char *name = result->id + strlen(tongue->name) + 1;

	for (size_t i = 0; i < 2; i++)
		for (const struct mor_check_row *row = tables[i]; row->name; row++)
			if ((row->must | row->should) & tongue->dialect && strcmp(row->name, name) == 0)
				return row;
	return NULL;
}

int mor_check_keep_only(struct mor_check_report *report, const char *const *only, mortise_error *err)
{
	size_t kept = 0;

	if (!only || !*only)
		return 0;
	for (const char *const *word = only; *word; word++) {
		const char *one[] = { *word, NULL };
		size_t found = 0;

		for (size_t i = 0; i < report->count; i++)
			found += is_wanted(report->item[i].id, one);
		if (!found)
			return mor_fail(err, MORTISE_EINVAL,
					"--only %s: there is no such check; --list shows all", *word);
	}
	for (size_t i = 0; i < report->count; i++)
		if (is_wanted(report->item[i].id, only))
			report->item[kept++] = report->item[i];
	report->count = kept;
	return 0;
}

/* ---- one row ---- */

static void finish_case(struct mor_check_case *at, struct mor_check_result *result)
{
	result->verdict = at->verdict;
	if (at->verdict == MOR_CHECK_FAIL && result->level == MOR_CHECK_SHOULD)
		result->verdict = MOR_CHECK_WARN;
	if (at->s && at->verdict != MOR_CHECK_PASS && at->s->talk.data)
		result->talk = mor_strndup(at->s->talk.data, at->s->talk.len);
	if (at->verdict != MOR_CHECK_PASS)
		result->why = mor_buf_detach(&at->why);
	if (at->s)
		mor_check_session_close(at->s);
	mor_buf_fini(&at->why);
}

bool mor_check_begin(struct mor_check_case *at, bool bare)
{
	struct mor_check_run *run = at->run;
	mortise_error err = { 0 };

	if (at->s)
		return true;
	if (!bare && run->no_greeting[0]) {
		mor_check_unseen(at, "the greeting does not work: see %s.%s", run->tongue->name,
				 run->tongue->greet_id);
		return false;
	}
	if (mor_check_session_open(run, &at->session, &err) < 0) {
		mor_check_unseen(at, "it could not be started: %s", err.text);
		return false;
	}
	at->s = &at->session;
	if (!bare && run->tongue->greet)
		mor_check_script(at, run->tongue->greet);
	if (!bare && at->verdict == MOR_CHECK_FAIL)
		at->verdict = MOR_CHECK_UNSEEN; /* the row itself was not reached */
	return mor_check_goes_on(at);
}

static void check_row(struct mor_check_run *run, const struct mor_check_row *row,
		      struct mor_check_result *result)
{
	struct mor_check_case at = { .run = run, .row = row, .next_id = FIRST_ID };
	int64_t begun = mor_clock_ms();

	if (mor_signals_count())
		mor_check_unseen(&at, "the run was interrupted");
	else if (begun >= run->deadline)
		mor_check_unseen(&at, "the time of the whole run was over");
	else if (row->fn)
		row->fn(&at);
	else
		mor_check_script(&at, row->script);
	finish_case(&at, result);
	result->ms = mor_clock_ms() - begun;
}

/* ---- rows about everything that was seen ---- */

static void judge_fault(struct mor_check_run *run, const struct mor_check_row *row,
			struct mor_check_result *result)
{
	const struct mor_check_seen *seen = &run->seen[row->fault];

	if (seen->count) {
		result->verdict = result->level == MOR_CHECK_MUST ? MOR_CHECK_FAIL : MOR_CHECK_WARN;
		result->why = seen->count > 1 ?
				      mor_text_format("%s (and %u times more)", seen->text, seen->count - 1) :
				      mor_strdup(seen->text);
		result->talk = mor_strdup(seen->talk);
	} else if (row->fault == MOR_CHECK_BAD_ERROR && !run->errors) {
		result->why = mor_strdup("the plugin answered nothing with an error");
	} else if (!run->frames) {
		result->why = mor_strdup("the plugin sent no message");
	} else {
		result->verdict = MOR_CHECK_PASS;
	}
}

/* ---- the run ---- */

/* Can it be started at all, and does it greet? */
static int try_greeting(struct mor_check_run *run, mortise_error *err)
{
	struct mor_check_case at = { .run = run, .next_id = FIRST_ID };
	bool exec_failed;
	int r = 0;

	if (!mor_check_begin(&at, false))
		snprintf(run->no_greeting, sizeof(run->no_greeting), "%.*s", (int)at.why.len, at.why.data);
	exec_failed = !at.s || at.s->exec_failed;
	if (exec_failed)
		r = mor_fail(err, MORTISE_EEXEC, "%s", at.s ? at.s->failure : run->no_greeting);
	else
		snprintf(run->level, sizeof(run->level), "%s", mor_proc_level(at.s->proc));
	if (at.s)
		mor_check_session_close(at.s);
	mor_buf_fini(&at.why);
	return r;
}

static void run_rows(struct mor_check_run *run, bool faults)
{
	struct mor_check_report *report = run->report;

	for (size_t i = 0; i < report->count; i++) {
		const struct mor_check_row *row = check_row_of(run->tongue, &report->item[i]);

		if (!row || (row->fault != MOR_CHECK_NO_FAULT) != faults)
			continue;
		if (faults)
			judge_fault(run, row, &report->item[i]);
		else
			check_row(run, row, &report->item[i]);
		if (run->opt->on_result)
			run->opt->on_result(&report->item[i], run->opt->arg);
	}
}

static int run_all(struct mor_check_run *run, mortise_error *err)
{
	int r = mor_check_setup(run, err);

	if (r == 0)
		r = try_greeting(run, err);
	if (r == 0) {
		run_rows(run, false);
		run_rows(run, true);
		if (mor_signals_count())
			r = mor_fail(err, MORTISE_ECANCELED, "interrupted");
	}
	return r;
}

int mor_check_run(const struct mor_check_options *opt, struct mor_check_report *report, mortise_error *err)
{
	struct mor_check_run run = { .opt = opt,
				     .report = report,
				     .answer_ms = opt->answer_ms ? opt->answer_ms : ANSWER_MS,
				     .deadline = mor_clock_ms() + (opt->total_ms ? opt->total_ms : TOTAL_MS),
				     .scratch = MOR_SCRATCH_INIT };
	int r = mor_dialect_require(opt->dialect, &run.dialect, err);

	if (r < 0 || (r = mor_check_list(opt->dialect, false, report, err)) < 0 ||
	    (r = mor_check_keep_only(report, opt->only, err)) < 0)
		return r;
	run.tongue = mor_check_tongue(opt->dialect);
	report->dialect = run.dialect->name;
	report->strict = opt->strict;
	r = run_all(&run, err);
	mor_check_setup_fini(&run);
	mor_check_count(report);
	return r;
}
