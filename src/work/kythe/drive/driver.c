/* SPDX-License-Identifier: Apache-2.0 */
/* Workers: their processes, from start to end. The analysis itself is in work.c. */
#include "kythe/drive/inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "wire/json.h"

#define IDLE_ENDS 5 /* after so many processes in a row that ended without a request, we give up */

void mor_driver_warn(struct mor_driver *driver, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	driver->opt.events.on_warning(text, driver->opt.events.arg);
}

void mor_driver_fail(struct mor_driver *driver, const mortise_error *error)
{
	if (!driver->failed)
		driver->failure = *error;
	driver->failed = true;
	mor_driver_stop(driver, false);
}

const char *mor_driver_title(const struct worker *worker)
{
	return worker->unit ? mor_unit_title(worker->unit) : mortise_plugin_name(worker->plugin);
}

/* ---- the end of the work ---- */

void mor_driver_close_input(struct worker *worker)
{
	if (worker->state == WORKER_LOST || worker->state == WORKER_LEAVES)
		return;
	worker->state = WORKER_LEAVES;
	worker->request = NULL; /* never answered: the end of its stdin is the answer */
	mortise_plugin_stop(worker->plugin, MORTISE_STOP_INPUT, NULL);
}

void mor_driver_settled(struct mor_driver *driver)
{
	if (driver->settled < driver->opt.record_count || driver->finished_work || driver->opt.keep)
		return;
	driver->finished_work = true;
	for (unsigned i = 0; i < driver->worker_count; i++)
		mor_driver_close_input(&driver->workers[i]);
}

void mor_driver_stop(struct mor_driver *driver, bool now)
{
	driver->stopping = true;
	for (unsigned i = 0; i < driver->worker_count; i++) {
		mor_driver_close_input(&driver->workers[i]);
		if (now)
			mortise_plugin_stop(driver->workers[i].plugin, MORTISE_STOP_NOW, NULL);
	}
}

static bool has_ended(const struct worker *worker)
{
	int state = worker->plugin ? mortise_plugin_state(worker->plugin) : MORTISE_STOPPED;

	return state == MORTISE_STOPPED || state == MORTISE_FAILED;
}

bool mor_driver_finished(const struct mor_driver *driver)
{
	for (unsigned i = 0; i < driver->worker_count; i++)
		if (!has_ended(&driver->workers[i]))
			return false;
	return driver->stopping || driver->finished_work;
}

/* ---- processes ---- */

/* The analyzer broke the protocol or its sandbox. It would do that again, and its exit status says
 * nothing about it. */
static bool broke_rules(const mortise_error *why)
{
	return why->code == MORTISE_EPROTO || why->code == MORTISE_ELIMIT || why->code == MORTISE_EVIOLATION;
}

/* No analyzer is left, so all remaining units have failed. */
static void give_up(struct mor_driver *driver, const mortise_error *why)
{
	mortise_error error = { 0 };
	bool began = false;

	for (unsigned i = 0; i < driver->worker_count; i++) {
		if (driver->workers[i].state != WORKER_LOST)
			return;
		began = began || driver->workers[i].began;
	}
	if (driver->stopping || driver->finished_work)
		return;
	mor_fail(&error,
		 broke_rules(why) ? why->code :
		 began            ? MORTISE_ECRASHED :
				    MORTISE_EEXEC,
		 "no analyzer is left: %s", why->text);
	mor_driver_fail(driver, &error);
}

static void lose(struct worker *worker, const mortise_error *why)
{
	worker->state = WORKER_LOST;
	give_up(worker->driver, why);
}

static void start_worker(struct worker *worker)
{
	mortise_error error = { 0 };

	worker->state = WORKER_DOWN;
	worker->fresh = true;
	worker->cause.code = 0;
	if (mortise_plugin_start(worker->plugin, &error) < 0)
		lose(worker, &error);
}

static void fall_back(struct mor_driver *driver, const char *why);

/* The worker's process is gone, or never started. */
static void ended(struct worker *worker, const mortise_event *event)
{
	struct mor_driver *driver = worker->driver;
	mortise_error why = worker->cause;

	/* The reason why the host ended it says more than its exit status. */
	if (!why.code)
		mor_fail(&why, event->state.status ? event->state.status : MORTISE_ECRASHED, "%s", event->text);
	worker->cause.code = 0;
	worker->request = NULL;
	mor_output_mind_last(worker);
	mor_output_drop_last(worker);
	worker->idle_ends = worker->fresh ? worker->idle_ends + 1 : 0;
	if (worker->item != NO_ITEM) {
		mortise_error reason = why;

		if (why.code == MORTISE_EPROTO)
			mor_fail_prefix(&reason, "protocol");
		mor_work_failed(worker, &reason);
	}
	mor_work_forget(worker);
	worker->fresh = true;
	worker->shown = worker->shows_stage = false;
	if (!worker->began && event->state.now == MORTISE_FAILED && driver->by_namespace &&
	    driver->opt.view == MOR_DRIVER_VIEW_AUTO) {
		fall_back(driver, why.text);
		return;
	}
	if (driver->stopping || driver->finished_work)
		return;
	if (event->state.now == MORTISE_FAILED || worker->idle_ends >= IDLE_ENDS) {
		lose(worker, &why);
		return;
	}
	/* it never asked for anything: without this message nobody would know why nothing happens */
	if (worker->idle_ends)
		mor_driver_warn(driver, "%s; starting it again", why.text);
	if (event->state.now == MORTISE_STOPPED)
		start_worker(worker);
	else
		worker->state = WORKER_DOWN; /* BACKOFF: the host starts it again */
}

static void on_state(struct worker *worker, const mortise_event *event)
{
	switch ((int)event->state.now) {
	case MORTISE_GREETING:
	case MORTISE_READY:
		worker->began = true;
		mor_work_expect(worker);
		break;
	case MORTISE_DRAINING:
		if (worker->state != WORKER_LEAVES)
			mor_fail(&worker->cause, event->state.status ? event->state.status : MORTISE_ECRASHED,
				 "%s", event->text);
		break;
	case MORTISE_STOPPED:
	case MORTISE_BACKOFF:
	case MORTISE_FAILED:
		ended(worker, event);
		break;
	default:
		break;
	}
}

/* As our answer to "init" says it. */
static enum mor_stream_format output_form(mortise_json answer)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	if (!answer.text || mor_doc_parse((struct mor_slice){ answer.text, answer.len }, 0, 0, &doc, NULL) < 0)
		return MOR_STREAM_PROTOBUF;
	return strcmp(mor_json_text(mor_json_get(mor_doc_root(doc), "outputEncoding"), ""), "json") == 0 ?
		       MOR_STREAM_JSON :
		       MOR_STREAM_PROTOBUF;
}

static void on_note(struct worker *worker, const mortise_event *event)
{
	if (strcmp(event->note.method, "init") == 0)
		worker->form = output_form(event->note.params);
	else if (strcmp(event->note.method, "done") == 0 && worker->state == WORKER_WORKS) {
		mor_ask_log(worker, event->note.params);
		mor_work_done(worker);
	}
}

static void on_event(const mortise_event *event, void *arg)
{
	struct worker *worker = arg;
	struct mor_driver *driver = worker->driver;

	if (driver->opt.events.on_event)
		driver->opt.events.on_event(event, driver->opt.events.arg);
	if (event->type == MORTISE_EVENT_STATE)
		on_state(worker, event);
	else if (event->type == MORTISE_EVENT_NOTE)
		on_note(worker, event);
	else if (event->type == MORTISE_EVENT_LOG)
		mor_ask_log(worker, event->log.params);
}

/* ---- making them ---- */

static int make_plugin(struct worker *worker, mortise_error *err)
{
	const mortise_plugin_options *given = worker->driver->opt.analyzer;
	mortise_plugin_options opt = *given;
	size_t count = 0;
	const char **set;
	int r;

	while (given->set && given->set[count])
		count++;
	set = mor_zalloc((count + 2) * sizeof(*set));
	if (!set)
		return mor_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		set[i] = given->set[i];
	if (worker->driver->by_namespace)
		set[count] = "sandbox.view=true";
	opt.set = set;
	opt.on_event = on_event;
	opt.on_request = mor_ask_request;
	opt.arg = worker;
	r = mortise_plugin_new(worker->driver->opt.host, &opt, &worker->plugin, err);
	mor_free(set);
	return r;
}

/* Without namespaces we use directories, for all workers. None has been given a record yet. */
static void fall_back(struct mor_driver *driver, const char *why)
{
	mortise_error error = { 0 };

	mor_driver_warn(driver, "no view of the file system (%s): files are shown in directories instead", why);
	driver->by_namespace = false;
	for (unsigned i = 0; i < driver->worker_count; i++) {
		struct worker *worker = &driver->workers[i];

		mortise_plugin_unref(worker->plugin);
		worker->plugin = NULL;
		if (make_plugin(worker, &error) < 0) {
			mor_driver_fail(driver, &error);
			return;
		}
		start_worker(worker);
	}
}

static unsigned stages_for(size_t units)
{
	size_t stages = units / UNITS_PER_STAGE;

	return stages < 2 ? 2 : stages > STAGES ? STAGES : (unsigned)stages;
}

int mor_driver_new(const struct mor_driver_options *opt, struct mor_driver **ret, mortise_error *err)
{
	struct mor_driver *driver = mor_zalloc(sizeof(*driver));
	unsigned wanted = opt->workers ? opt->workers : 1;
	int r = 0;

	if (!driver)
		return mor_fail_memory(err);
	driver->opt = *opt;
	driver->by_namespace = opt->view != MOR_DRIVER_VIEW_DIRECTORY;
	driver->stages = stages_for((opt->expected ? opt->expected : opt->record_count) / wanted);
	driver->items = mor_zalloc((opt->record_count + 1) * sizeof(struct item));
	driver->workers = mor_zalloc(wanted * sizeof(struct worker));
	if (!driver->items || !driver->workers) {
		mor_driver_free(driver);
		return mor_fail_memory(err);
	}
	while (r == 0 && driver->worker_count < wanted) {
		struct worker *worker = &driver->workers[driver->worker_count];

		*worker = (struct worker){
			.driver = driver, .number = driver->worker_count++, .item = NO_ITEM, .last_output = -1
		};
		r = mor_stage_dir(opt->stager, &worker->out_dir, err);
		r = r ? r : make_plugin(worker, err);
	}
	if (r == 0)
		*ret = driver;
	else
		mor_driver_free(driver);
	return r;
}

void mor_driver_tidy(struct mor_driver *driver)
{
	for (unsigned i = 0; driver->workers && i < driver->worker_count; i++) {
		struct worker *worker = &driver->workers[i];
		struct mor_stage outputs = { 0 };

		mor_work_forget(worker);
		mor_output_drop_last(worker);
		for (unsigned k = 0; k < STAGES; k++)
			mor_stage_drop(driver->opt.stager, &worker->stages[k]);
		outputs.path = mor_take(&worker->out_dir);
		mor_stage_drop(driver->opt.stager, &outputs);
	}
}

static void forget_items(struct mor_driver *driver)
{
	for (size_t i = 0; driver->items && i < driver->opt.record_count; i++)
		mor_free(driver->items[i].type);
	driver->items = mor_free(driver->items);
	driver->read_unit = mor_unit_free(driver->read_unit);
}

struct mor_driver *mor_driver_free(struct mor_driver *driver)
{
	if (!driver)
		return NULL;
	for (unsigned i = 0; driver->workers && i < driver->worker_count; i++)
		driver->workers[i].plugin = mortise_plugin_unref(driver->workers[i].plugin);
	mor_driver_tidy(driver);
	forget_items(driver);
	mor_free(driver->workers);
	return mor_free(driver);
}

/* Units that an earlier run settled stay settled. The journal has no names, so for a failed or empty unit
 * its record is read again. */
void mor_driver_adopt(struct mor_driver *driver, struct mor_result *result)
{
	driver->result = result;
	for (size_t i = 0; i < driver->opt.record_count; i++) {
		const struct mor_record_ref *record = &driver->opt.records[i];
		MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
		const char *reason;
		enum mor_result_end state = mor_result_state(driver->result, i, &reason);
		struct mor_unit_end end = { .unit = i,
					    .reason = reason,
					    .earlier = true,
					    .title = "",
					    .code = mor_result_code(driver->result, i),
					    .digest = mor_kzip_unit_digest(record->kzip, record->number),
					    .kzip = mor_kzip_path(record->kzip),
					    .empty = mor_result_empty(driver->result, i) };

		if (state == MOR_RESULT_OPEN)
			continue;
		driver->items[i].state = ITEM_SETTLED;
		driver->settled++;
		if ((reason || end.empty) && mor_kzip_unit_read(record->kzip, record->number, &unit, NULL) == 0)
			end.title = mor_unit_title(unit);
		driver->opt.events.on_unit(&end, driver->opt.events.arg);
	}
}

void mor_driver_start(struct mor_driver *driver, struct mor_result *result)
{
	mor_driver_adopt(driver, result);
	if (driver->settled == driver->opt.record_count) {
		driver->finished_work = true;
		return;
	}
	for (unsigned i = 0; i < driver->worker_count; i++)
		start_worker(&driver->workers[i]);
}

bool mor_driver_rests(const struct mor_driver *driver)
{
	return driver->opt.keep && !driver->stopping && driver->settled == driver->opt.record_count;
}

int mor_driver_next(struct mor_driver *driver, const struct mor_record_ref *records, size_t count,
		    struct mor_result *result, mortise_error *err)
{
	forget_items(driver);
	driver->first_waiting = driver->settled = 0;
	driver->opt.records = records;
	driver->opt.record_count = 0;
	driver->items = mor_zalloc((count + 1) * sizeof(struct item));
	if (!driver->items)
		return mor_fail_memory(err);
	driver->opt.record_count = count;
	mor_driver_adopt(driver, result);
	mor_work_offer_all(driver);
	return 0;
}

/* ---- time ---- */

static void too_late(struct worker *worker, bool working)
{
	double limit = worker->driver->opt.unit_ms / 1000.0;
	mortise_error why;

	if (working) {
		mor_fail(&why, MORTISE_ETIMEOUT, "timeout: no \"done\" within %g s", limit);
		mor_work_failed(worker, &why);
	} else {
		mor_fail(&worker->cause, MORTISE_ETIMEOUT, "%s: asked for nothing within %g s",
			 mortise_plugin_name(worker->plugin), limit);
		if (!worker->fresh) /* otherwise its end is reported with this cause */
			mor_driver_warn(worker->driver, "%s", worker->cause.text);
	}
	mor_driver_close_input(worker);
}

int mor_driver_step(struct mor_driver *driver)
{
	int64_t now = mor_clock_ms(), next = -1;

	mor_work_mind_stall(driver);
	for (unsigned i = 0; i < driver->worker_count; i++) {
		struct worker *worker = &driver->workers[i];
		bool working = worker->state == WORKER_WORKS;

		mor_work_hide(worker);
		if ((!working && worker->state != WORKER_DOWN) || !worker->due_ms)
			continue;
		if (now >= worker->due_ms) {
			too_late(worker, working);
		} else if (next < 0 || worker->due_ms - now < next) {
			next = worker->due_ms - now;
		}
	}
	return (int)(next > 1000000 ? 1000000 : next);
}

const mortise_error *mor_driver_failure(const struct mor_driver *driver)
{
	return driver->failed ? &driver->failure : NULL;
}

uint64_t mor_driver_analyzer_ms(const struct mor_driver *driver)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < driver->worker_count; i++) {
		MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
		char *json = NULL;

		if (mortise_plugin_describe(driver->workers[i].plugin, &json, NULL) == 0 &&
		    mor_doc_parse(mor_slice_of(json), 0, 0, &doc, NULL) == 0)
			sum += (uint64_t)mor_json_int(mor_json_at(mor_doc_root(doc), "/counters/cpu_ms"), 0);
		mortise_free(json);
	}
	return sum;
}

bool mor_driver_uses_namespace(const struct mor_driver *driver)
{
	return driver->by_namespace;
}
