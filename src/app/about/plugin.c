/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "about/about.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "console/report.h"
#include "console/signals.h"
#include "console/warned.h"
#include "runner/show.h"

struct inquiry {
	struct mor_console *console;
	const struct mor_about_plan *plan;
	struct mor_runner runner;
	mortise_plugin *plugin;
	int64_t asked_ms; /* when it was ready for the question */
	bool settled;     /* the health call has ended */
	int status;
	int cause; /* why it stopped, as a status */
	mortise_error err;
	char *data; /* of the error */
	struct mor_about_health health;
};

/* ---- health ---- */

/* The dialect's health method; NULL: it has none. */
static const char *ping_method(const struct mor_value *table)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(table, "methods"));

	while (mor_json_next(&it))
		if (strcmp(mor_json_text(mor_json_get(it.value, "role"), ""), "ping") == 0)
			return mor_json_text(mor_json_get(it.value, "name"), NULL);
	return NULL;
}

static bool lists_word(const struct mor_value *words, struct mor_slice word)
{
	struct mor_json_iter it = mor_json_iter(words);

	while (mor_json_next(&it))
		if (mor_slice_eq(mor_json_string(it.value), word))
			return true;
	return false;
}

void mor_about_judge(struct mor_about_health *health, const struct mor_value *rule)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const char *at = mor_json_text(mor_json_get(rule, "at"), "/status");
	struct mor_slice word;

	if (!health->result || mor_doc_parse(mor_slice_of(health->result), MOR_JSON_NAN, 0, &doc, NULL) < 0)
		return;
	if (!mor_json_get(rule, "good")) { /* the dialect has no such words: any answer is a good one */
		health->healthy = 1;
		return;
	}
	word = mor_json_string(mor_json_at(mor_doc_root(doc), at));
	if (!word.ptr)
		return;
	mor_excerpt(word, health->status, sizeof(health->status));
	if (lists_word(mor_json_get(rule, "bad"), word))
		health->healthy = 0;
	else if (lists_word(mor_json_get(rule, "good"), word) || lists_word(mor_json_get(rule, "fair"), word))
		health->healthy = 1;
}

static void on_health(const mortise_reply *reply, void *arg)
{
	struct inquiry *run = arg;

	if (reply->more)
		return;
	run->settled = true;
	run->health.time_ms = mor_clock_ms() - run->asked_ms;
	run->status = reply->status;
	if (reply->status < 0)
		run->err = *reply->error;
	if (reply->error_data.text)
		run->data = mor_strndup(reply->error_data.text, reply->error_data.len);
	if (reply->result.text)
		run->health.result = mor_strndup(reply->result.text, reply->result.len);
}

/* The time of the greeting does not count as time of the health check. The library reports the end of a
 * start as a state, not as an error. */
static void on_event(const mortise_event *event, void *arg)
{
	struct inquiry *run = arg;

	if (event->type == MORTISE_EVENT_STATE && event->state.status)
		run->cause = event->state.status;
	if (event->type == MORTISE_EVENT_STATE && event->state.now == MORTISE_READY)
		run->asked_ms = mor_clock_ms();
	mor_show_event(event, run->console);
}

static bool health_done(void *arg)
{
	struct inquiry *run = arg;

	return run->settled;
}

/* The call starts and greets the plugin. If that fails, the error arrives as the call's error, with its
 * kind.
 * RAW: the method's name comes from the dialect's own table. Without params the host sends its defaults. */
static int ask_health(struct inquiry *run, const char *method)
{
	mortise_call_options opt = {
		.size = sizeof(opt), .flags = MORTISE_RAW, .on_reply = on_health, .arg = run
	};
	int r;

	run->asked_ms = mor_clock_ms();
	r = mortise_call_start(run->plugin, method, (mortise_json){ 0 }, &opt, NULL, &run->err);
	if (r == 0)
		r = mor_runner_run(&run->runner, health_done, run);
	return r < 0 ? r : run->status;
}

/* ---- start without a health method ---- */

/* The plugin is ready, or its start has failed for good. Only then the reason is known. */
static bool started(void *arg)
{
	struct inquiry *run = arg;
	int state = mortise_plugin_state(run->plugin);

	return state != MORTISE_STARTING && state != MORTISE_GREETING && state != MORTISE_DRAINING;
}

/* A plugin in state FAILED gives the reason and its kind to the next call. */
static int why(struct inquiry *run, mortise_error *err)
{
	mortise_call_options opt = { .size = sizeof(opt), .flags = MORTISE_RAW };

	return mortise_call_start(run->plugin, "why", (mortise_json){ 0 }, &opt, NULL, err);
}

static int did_not_start(struct inquiry *run)
{
	MOR_CLEAN(mor_doc) struct mor_doc *about = NULL;
	int status = run->cause ? run->cause : MORTISE_ECRASHED;

	if (mor_runner_describe(run->plugin, &about, &run->err) < 0)
		return run->err.code;
	return mor_fail(&run->err, status, "%s",
			mor_json_text(mor_json_get(mor_doc_root(about), "last_error"), "it did not start"));
}

static int just_start(struct inquiry *run)
{
	int r = mortise_plugin_start(run->plugin, &run->err), state;

	if (r == 0)
		r = mor_runner_run(&run->runner, started, run);
	state = mortise_plugin_state(run->plugin);
	if (r < 0 || state == MORTISE_READY)
		return r;
	if (state == MORTISE_FAILED)
		r = why(run, &run->err);
	if (r < 0)
		return r;
	return did_not_start(run);
}

static int start(struct inquiry *run)
{
	MOR_CLEAN(mor_doc)
	struct mor_doc *table = mor_runner_dialect_table(mortise_plugin_dialect(run->plugin));
	const char *method = ping_method(mor_doc_root(table));
	int r = method ? ask_health(run, method) : just_start(run);

	mor_about_judge(&run->health, mor_json_get(mor_doc_root(table), "health"));

	/* The greeting worked. A missing health method or a bad health answer is part of the page, not an
	 * error. */
	if (r == MORTISE_EREMOTE && mortise_plugin_state(run->plugin) == MORTISE_READY) {
		run->health.error = run->err.text;
		return 0;
	}
	return r;
}

/* ---- the run ---- */

/* The same members as the library's, and the answer itself. */
static void write_health(struct mor_writer *w, const struct mor_about_health *health)
{
	mor_w_object(w);
	mor_w_pair_maybe(w, "healthy", health->healthy);
	mor_w_pair(w, "status", *health->status ? health->status : NULL);
	mor_w_pair(w, "reason", health->error);
	mor_w_pair_int(w, "since_ms_ago", 0);
	mor_w_pair_int(w, "time_ms", health->time_ms);
	if (health->result)
		mor_w_pair_raw(w, "result", mor_slice_of(health->result));
	mor_w_end(w);
}

/* The warnings about the plugin's files, then what was found while it ran. */
static void write_warnings(struct inquiry *run, struct mor_writer *w, const struct mor_value *of_files)
{
	struct mor_json_iter it = mor_json_iter(of_files);

	mor_w_array(w);
	while (mor_json_next(&it))
		mor_w_value(w, it.value);
	mor_warned_write_items(run->console, w);
	mor_w_end(w);
}

/* The library's description, with the health that we have just asked for. */
static void show_json(struct inquiry *run, const struct mor_value *describe)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct mor_json_iter it = mor_json_iter(describe);

	mor_w_object(&w);
	while (mor_json_next(&it)) {
		mor_w_key_slice(&w, it.name);
		if (mor_slice_is(it.name, "health") && (run->health.result || run->health.error))
			write_health(&w, &run->health);
		else if (mor_slice_is(it.name, "warnings"))
			write_warnings(run, &w, it.value);
		else
			mor_w_value(&w, it.value);
	}
	mor_w_end(&w);
	mor_out_json(run->console, mor_buf_view(&json));
}

static int show_plugin(struct inquiry *run)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error err = { 0 };

	if (mor_runner_describe(run->plugin, &doc, &err) < 0)
		return mor_report_error(run->console, &err);
	if (run->console->json)
		show_json(run, mor_doc_root(doc));
	else
		mor_about_plugin_page(run->console, mor_doc_root(doc), &run->health);
	return 0;
}

/* NO_RESTART: if the plugin dies while it starts, that is what we report. */
static int prepare(struct inquiry *run)
{
	mortise_plugin_options opt;
	int r = mor_runner_open(&run->runner, run->console, run->plan->plugin, NULL, &run->err);

	if (r == 0 && run->runner.timeout_ms)
		r = mor_fail(&run->err, MORTISE_EINVAL,
			     "info makes several calls: say which one with --timeout METHOD=DURATION");
	if (r < 0)
		return r;
	mor_runner_plugin_options(&run->runner, run->plan->path, run->plan->argv, &opt);
	opt.flags |= MORTISE_NO_RESTART;
	opt.on_event = on_event;
	opt.arg = run;
	return mor_runner_plugin_new(&run->runner, &opt, NULL, &run->plugin, &run->err);
}

/* The page is printed even if the plugin did not start. The error follows it. */
static int start_and_show(struct inquiry *run)
{
	int r = run->plan->no_start ? 0 : start(run), exit_code = 0;

	if (mor_signals_count() == 0 && (r == 0 || !run->console->json))
		exit_code = show_plugin(run);
	if (!run->plan->no_start)
		mor_runner_stop_plugin(&run->runner, run->plugin);
	if (mor_signals_count())
		return mor_report_interrupted(run->console, mor_signals_exit_code());
	if (r < 0) {
		mortise_json data = { run->data, run->data ? strlen(run->data) : 0 };

		return mor_report_fail(run->console, &(struct mor_report){ .error = &run->err, .data = data });
	}
	return exit_code;
}

int mor_about_plugin(struct mor_console *console, const struct mor_about_plan *plan)
{
	struct inquiry run = { .console = console, .plan = plan, .health.healthy = -1 };
	int exit_code, r = prepare(&run);

	if (r == 0)
		exit_code = start_and_show(&run);
	else
		exit_code = mor_report_cause(console, &run.err);
	mortise_plugin_unref(run.plugin);
	mor_runner_close(&run.runner);
	mor_free(run.data);
	mor_free(run.health.result);
	return exit_code;
}
