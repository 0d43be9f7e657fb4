/* SPDX-License-Identifier: Apache-2.0 */
/* mortise check --host: runs the host once for each scene, and judges what it sent to the played plugin. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "check/host_own.h"
#include "console/signals.h"

#define HOST_MS      20000 /* how long the host's command may take */
#define RECORD_BYTES ((size_t)64 << 20)
#define PLUGIN_NAME  "plugin"

/* ---- the record ---- */

static void take_line(struct mor_check_heard *heard, struct mor_slice line)
{
	struct mor_check_message m = { .taken = false };

	if (line.len < 2)
		return;
	heard->noise += line.ptr[0] == '!';
	heard->eager += line.ptr[0] == '+';
	heard->eof |= line.ptr[0] == '.';
	heard->term |= line.ptr[0] == 'T';
	if (line.ptr[0] != '>')
		return;
	if (mor_doc_parse((struct mor_slice){ line.ptr + 2, line.len - 2 }, 0, 0, &m.doc, NULL) < 0) {
		heard->broken++;
		return;
	}
	m.root = mor_doc_root(m.doc);
	m.id = mor_json_get(m.root, "id");
	m.method = mor_json_get(m.root, "method");
	if (mor_grow(&heard->message, heard->count, &heard->cap, sizeof(m)) == 0)
		heard->message[heard->count++] = m;
	else
		mor_doc_free(m.doc);
}

static void read_record(const char *path, struct mor_check_heard *heard)
{
	size_t len = 0;
	const char *at;

	if (mor_fd_read_file(path, RECORD_BYTES, &heard->talk, &len) < 0)
		return;
	heard->started = true;
	for (at = heard->talk; len;) {
		const char *end = memchr(at, '\n', len);
		size_t line = end ? (size_t)(end - at) : len;

		take_line(heard, (struct mor_slice){ at, line });
		line += end != NULL;
		at += line;
		len -= line;
	}
}

static void heard_fini(struct mor_check_heard *heard)
{
	for (size_t i = 0; i < heard->count; i++)
		mor_check_message_fini(&heard->message[i]);
	mor_free(heard->message);
	mor_free(heard->talk);
	*heard = (struct mor_check_heard){ 0 };
}

/* ---- one scene ---- */

/* A file that can be named wherever a host wants a plugin. */
static int put_plugin(struct mor_check_run *run, const char *scene)
{
	char self[PATH_MAX] = "";
	MOR_CLEAN_TEXT char *text = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return MORTISE_ESYSTEM;
	text = mor_text_format(
		"#!/bin/sh\nMORTISE_CHECK_PLAY='%s/%s' MORTISE_CHECK_RECORD='%s/record' exec '%s' check\n",
		run->dialect->name, scene, run->scratch.path, self);
	if (!text)
		return MORTISE_ENOMEM;
	unlinkat(run->scratch.dir, "record", 0);
	if (mor_check_put_file(run, PLUGIN_NAME, text) < 0 ||
	    fchmodat(run->scratch.dir, PLUGIN_NAME, 0700, 0) < 0)
		return MORTISE_ESYSTEM;
	return 0;
}

/* "{}" is the plugin, also inside a word. */
static int put_words(struct mor_check_run *run, mortise_error *err)
{
	bool found = false;

	run->argv = mor_texts_free(run->argv);
	for (const char *const *word = run->opt->argv; word && *word; word++) {
		const char *place = strstr(*word, "{}");
		char *text = place ? mor_text_format("%.*s%s/" PLUGIN_NAME "%s", (int)(place - *word), *word,
						     run->scratch.path, place + 2) :
				     mor_strdup(*word);

		found |= place != NULL;
		if (mor_texts_push(&run->argv, text) < 0)
			return mor_fail_memory(err);
	}
	return found ? 0 : mor_fail(err, MORTISE_EINVAL, "write {} where COMMAND takes the plugin");
}

static int play_scene(struct mor_check_run *run, const char *scene, struct mor_check_heard *heard,
		      mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_text_format("%s/record", run->scratch.path);
	struct mor_check_session s;
	int r = put_plugin(run, scene);

	*heard = (struct mor_check_heard){ .status = -1 };
	if (r < 0 || !path)
		return mor_fail(err, r < 0 ? r : MORTISE_ENOMEM, "the played plugin cannot be made");
	r = mor_check_session_open(run, &s, err);
	if (r < 0)
		return r;
	mor_check_end_input(&s);
	mor_check_wait_exit(&s, run->opt->answer_ms ? run->opt->answer_ms : HOST_MS);
	if (s.exec_failed)
		r = mor_fail(err, MORTISE_EEXEC, "%s", s.failure);
	if (s.ended && !s.how.how.by_signal)
		heard->status = s.how.how.status;
	snprintf(heard->text, sizeof(heard->text), "the host %s%s%.120s", s.ended ? s.how.text : "did not end",
		 *mor_proc_last_stderr(s.proc) ? ": " : "", mor_proc_last_stderr(s.proc));
	run->lingers = true;
	mor_check_session_close(&s);
	read_record(path, heard);
	return r;
}

/* ---- rows ---- */

static void judge_row(struct mor_check_run *run, const struct mor_check_host_row *row,
		      const struct mor_check_heard *heard, struct mor_check_result *result)
{
	const char *fault;

	if (!heard->started) {
		result->why = mor_text_format("the host did not start the plugin: %s", heard->text);
		return;
	}
	fault = row->judge(run, heard);
	result->verdict = !fault                          ? MOR_CHECK_PASS :
			  result->level == MOR_CHECK_MUST ? MOR_CHECK_FAIL :
							    MOR_CHECK_WARN;
	if (fault) {
		result->why = mor_text_format("%s (%s)", fault, heard->text);
		result->talk = mor_strdup(heard->talk);
	}
}

static const struct mor_check_host_row *host_row_of(const struct mor_check_result *result)
{
	const char *name = strstr(result->id, ".host.") + strlen(".host.");
	const struct mor_check_host_row *row = mor_check_host_rows;

	while (row->name && strcmp(row->name, name) != 0)
		row++;
	return row;
}

/* Rows of one scene stand together, so that the host runs once for each scene. */
static int run_scenes(struct mor_check_run *run, mortise_error *err)
{
	struct mor_check_report *report = run->report;
	struct mor_check_heard heard = { 0 };
	const char *scene = "";
	int r = 0;

	for (size_t i = 0; r == 0 && i < report->count; i++) {
		const struct mor_check_host_row *row = host_row_of(&report->item[i]);

		if (mor_signals_count())
			r = mor_fail(err, MORTISE_ECANCELED, "interrupted");
		if (r == 0 && strcmp(scene, row->scene) != 0) {
			heard_fini(&heard);
			r = play_scene(run, row->scene, &heard, err);
			scene = row->scene;
		}
		if (r == 0)
			judge_row(run, row, &heard, &report->item[i]);
	}
	heard_fini(&heard);
	return r;
}

int mor_check_host(const struct mor_check_options *opt, struct mor_check_report *report, mortise_error *err)
{
	struct mor_check_run run = { .opt = opt,
				     .report = report,
				     .answer_ms = HOST_MS,
				     .deadline = mor_clock_ms() + (opt->total_ms ? opt->total_ms : 300000),
				     .scratch = MOR_SCRATCH_INIT };
	int r = mor_dialect_require(opt->dialect, &run.dialect, err);

	if (r < 0 || (r = mor_check_list(opt->dialect, true, report, err)) < 0 ||
	    (r = mor_check_keep_only(report, opt->only, err)) < 0)
		return r;
	if (!report->count)
		return mor_fail(err, MORTISE_EUNSUPPORTED, "there are no checks of hosts for the dialect %s",
				opt->dialect);
	run.tongue = mor_check_tongue(opt->dialect);
	report->dialect = run.dialect->name;
	report->strict = opt->strict;
	report->host = true;
	r = mor_check_setup(&run, err);
	if (r == 0)
		r = put_words(&run, err);
	if (r == 0)
		r = run_scenes(&run, err);
	mor_check_setup_fini(&run);
	mor_check_count(report);
	return r;
}
