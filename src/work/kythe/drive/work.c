/* SPDX-License-Identifier: Apache-2.0 */
/* One analysis: chosen, staged, shown, handed out; done, or failed and tried again. */
#include "base/clock.h"
#include "kythe/drive/inside.h"

#include <string.h>

#include <mortise/view.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kythe/drive/atype.h"

void mor_work_expect(struct worker *worker)
{
	uint32_t limit = worker->driver->opt.unit_ms;

	worker->due_ms = limit ? mor_clock_ms() + limit : 0;
}

/* ---- ends ---- */

static void tell_end(struct worker *worker, const mortise_error *why, uint64_t records, uint64_t bytes)
{
	struct mor_driver *driver = worker->driver;
	const struct mor_record_ref *record = &driver->opt.records[worker->item];
	struct mor_unit_end end = { .unit = worker->item,
				    .reason = why ? why->text : NULL,
				    .code = why ? why->code : 0,
				    .records = records,
				    .bytes = bytes,
				    .attempts = driver->items[worker->item].attempts + (why == NULL),
				    .digest = mor_kzip_unit_digest(record->kzip, record->number),
				    .title = worker->unit ? mor_unit_title(worker->unit) : "",
				    .kzip = mor_kzip_path(record->kzip),
				    .empty = !why && bytes == 0 };

	driver->opt.events.on_unit(&end, driver->opt.events.arg);
}

static void settle(struct worker *worker)
{
	struct mor_driver *driver = worker->driver;

	driver->items[worker->item].state = ITEM_SETTLED;
	driver->settled++;
	worker->item = NO_ITEM;
}

/* Final: it will not be tried again. */
static void settle_failed(struct worker *worker, const mortise_error *why)
{
	struct mor_driver *driver = worker->driver;
	mortise_error error = { 0 };

	tell_end(worker, why, 0, 0);
	if (mor_result_failed(driver->result, worker->item, why, &error) < 0)
		mor_driver_fail(driver, &error);
	settle(worker);
}

void mor_work_failed(struct worker *worker, const mortise_error *why)
{
	struct mor_driver *driver = worker->driver;
	struct item *item = &driver->items[worker->item];

	item->attempts++;
	if (item->attempts > driver->opt.retries && !driver->stopping) {
		settle_failed(worker, why);
	} else {
		item->state = ITEM_WAITING;
		if (worker->item < driver->first_waiting)
			driver->first_waiting = worker->item;
		if (!driver->stopping)
			mor_driver_warn(driver, "%s: %s; trying it again", mor_driver_title(worker), why->text);
		worker->item = NO_ITEM;
	}
	mor_driver_settled(driver);
}

void mor_work_forget(struct worker *worker)
{
	worker->turn++;
	worker->namer = mor_namer_free(worker->namer);
	worker->unit = mor_unit_free(worker->unit);
	mor_output_forget(worker);
	worker->due_ms = 0;
	worker->asked = mor_free(worker->asked);
}

/* ---- the choice ---- */

static bool asks_for(const struct worker *worker, const char *offered)
{
	if (!worker->asked)
		return true;
	for (const char *type = worker->asked; *type; type += strlen(type) + 1)
		if (mor_atype_matches(mor_slice_of(type), mor_slice_of(offered)))
			return true;
	return false;
}

static int read_unit(struct mor_driver *driver, size_t number, struct mor_unit **ret, mortise_error *err)
{
	const struct mor_record_ref *record = &driver->opt.records[number];

	if (driver->read_unit && driver->read_item == number) {
		*ret = mor_take(&driver->read_unit);
		return 0;
	}
	return mor_kzip_unit_read(record->kzip, record->number, ret, err);
}

/* The type that the unit is offered as; read once. A unit that cannot be read is offered to every worker:
 * there it fails, with its name. */
static bool fits_unit(struct worker *worker, size_t number)
{
	struct mor_driver *driver = worker->driver;
	struct item *item = &driver->items[number];
	struct mor_unit *unit = NULL;

	if (!worker->asked)
		return true;
	for (const char *const *type = driver->opt.types; type && *type; type++)
		if (asks_for(worker, *type))
			return true;
	if (driver->opt.types && driver->opt.types[0])
		return false;
	if (!item->type && read_unit(driver, number, &unit, NULL) == 0) {
		item->type = mor_text_format("/kythe/index/%s", unit->vname.language);
		mor_unit_free(driver->read_unit);
		driver->read_unit = unit;
		driver->read_item = number;
	}
	return !item->type || asks_for(worker, item->type);
}

/* The first record that waits. One that has failed before goes only to a process that has done nothing yet. */
static size_t choose_record(struct worker *worker)
{
	struct mor_driver *driver = worker->driver;

	while (driver->first_waiting < driver->opt.record_count &&
	       driver->items[driver->first_waiting].state != ITEM_WAITING)
		driver->first_waiting++;
	for (size_t i = driver->first_waiting; i < driver->opt.record_count; i++)
		if (driver->items[i].state == ITEM_WAITING &&
		    (driver->items[i].attempts == 0 || worker->fresh) && fits_unit(worker, i))
			return i;
	return NO_ITEM;
}

/* ---- the answer ---- */

static void hand_out(struct worker *worker)
{
	MOR_CLEAN(mor_buf) struct mor_buf reply = MOR_BUF_INIT;
	struct mor_writer w = { .out = &reply };
	mortise_request *request = mor_take(&worker->request);

	mor_unit_reply_json(worker->unit, worker->stages[worker->stage].working_dir, worker->output, &w);
	worker->state = WORKER_WORKS;
	worker->stage_shown = worker->stage;
	worker->shows_stage = worker->shown;
	worker->fresh = false;
	mor_work_expect(worker);
	/* If it did not reach the process, a STATE event will follow. */
	mortise_request_reply(request, (mortise_json){ reply.data, reply.len }, NULL);
}

/* ---- before the answer ---- */

static int prepare_unit(struct worker *worker, mortise_error *err)
{
	struct mor_driver *driver = worker->driver;
	const struct mor_record_ref *record = &driver->opt.records[worker->item];
	enum mor_stage_mode mode = driver->by_namespace ? MOR_STAGE_ROOT : MOR_STAGE_DIR;
	int r = read_unit(driver, worker->item, &worker->unit, err);

	worker->stage = worker->stage_shown;
	if (r == 0)
		r = mor_stage_fit_nearest(driver->opt.stager, record->kzip, worker->unit, mode, worker->stages,
					  driver->stages, &worker->stage, err);
	if (r == 0)
		r = mor_namer_new(worker->unit, worker->stages[worker->stage].working_dir, driver->opt.rules,
				  &worker->namer, err);
	return r < 0 ? r : mor_output_make(worker, err);
}

struct showing { /* a view that was requested */
	struct worker *worker;
	uint64_t turn;
};

/* The fault of the record or our own, but not of the analyzer: it is not tried again. */
static void refuse_unit(struct worker *worker, const mortise_error *why)
{
	char *asked = mor_take(&worker->asked);

	settle_failed(worker, why);
	mor_work_forget(worker);
	worker->asked = asked;
}

static void view_shown(mortise_plugin *plugin, int status, const mortise_error *error, void *arg)
{
	struct showing showing = *(struct showing *)arg;
	struct worker *worker = showing.worker;
	mortise_error unsaid;

	(void)plugin;
	mor_free(arg);
	if (worker->turn != showing.turn || worker->state != WORKER_SHOWS)
		return; /* its process has ended meanwhile; that was reported */
	if (status == MORTISE_OK) {
		hand_out(worker);
		return;
	}
	worker->state = WORKER_WAITS;
	if (!error)
		mor_fail(&unsaid, status, "%s", mortise_status_text(status));
	refuse_unit(worker, error ? error : &unsaid);
	mor_driver_settled(worker->driver);
	mor_work_offer(worker);
}

static int show_stage(struct worker *worker, mortise_error *err)
{
	const char *writable[] = { worker->out_dir, NULL };
	const struct mor_stage *stage = &worker->stages[worker->stage];
	mortise_view view = { .size = sizeof(view),
			      .stage = stage->path,
			      .writable = writable,
			      .directories = stage->directories };
	struct showing *showing = mor_alloc(sizeof(*showing));
	int r;

	if (!showing)
		return mor_fail_memory(err);
	*showing = (struct showing){ worker, worker->turn };
	worker->state = WORKER_SHOWS;
	worker->shown = true;
	worker->shows_stage = false;
	if ((r = mortise_plugin_set_view(worker->plugin, &view, view_shown, showing, err)) < 0)
		mor_free(showing);
	return r;
}

/* True: the request is handled. False: this record is settled, look for another. */
static bool give(struct worker *worker, size_t number)
{
	struct mor_driver *driver = worker->driver;
	mortise_error error = { 0 };
	int r;

	worker->item = number;
	driver->items[number].state = ITEM_OUT;
	r = prepare_unit(worker, &error);
	/* The same files as the record before, and the view is still in force: they are there already. */
	if (r == 0 && driver->by_namespace && !(worker->shows_stage && worker->stage == worker->stage_shown))
		r = show_stage(worker, &error);
	else if (r == 0)
		hand_out(worker);
	if (r == 0)
		return true;
	worker->state = WORKER_WAITS;
	refuse_unit(worker, &error);
	return false;
}

void mor_work_offer(struct worker *worker)
{
	struct mor_driver *driver = worker->driver;
	size_t number;

	while (worker->request && worker->state == WORKER_WAITS && !driver->stopping) {
		number = choose_record(worker);
		if (number == NO_ITEM || give(worker, number))
			break;
	}
	mor_driver_settled(driver);
}

/* ---- when nothing moves any more ---- */

/* The waiting worker gives its name: no process was involved. */
static void nobody_asks(struct worker *worker, size_t number)
{
	struct mor_driver *driver = worker->driver;
	const struct mor_record_ref *record = &driver->opt.records[number];
	const char *type = driver->opt.types ? driver->opt.types[0] : NULL;
	mortise_error why;

	type = type ? type : driver->items[number].type;
	mor_fail(&why, MORTISE_EUNSUPPORTED, "no analyzer asks for %.200s", type ? type : "its type");
	worker->item = number;
	mor_kzip_unit_read(record->kzip, record->number, &worker->unit, NULL); /* for its title */
	refuse_unit(worker, &why);
}

/* A record that failed before needs a fresh process. The new process after that failure may have taken
 * another record. */
static bool renew_one(struct mor_driver *driver)
{
	for (size_t i = driver->first_waiting; i < driver->opt.record_count; i++)
		for (unsigned w = 0; driver->items[i].state == ITEM_WAITING && w < driver->worker_count; w++) {
			struct worker *worker = &driver->workers[w];

			if (worker->state == WORKER_WAITS && !worker->fresh && fits_unit(worker, i)) {
				mor_driver_close_input(worker);
				return true;
			}
		}
	return false;
}

void mor_work_mind_stall(struct mor_driver *driver)
{
	struct worker *waits = NULL;

	for (unsigned i = 0; i < driver->worker_count; i++) {
		if (driver->workers[i].state == WORKER_WAITS)
			waits = &driver->workers[i];
		else if (driver->workers[i].state != WORKER_LOST)
			return;
	}
	if (!waits || driver->stopping || driver->finished_work || renew_one(driver))
		return;
	for (size_t i = driver->first_waiting; i < driver->opt.record_count; i++)
		if (driver->items[i].state == ITEM_WAITING)
			nobody_asks(waits, i);
	mor_driver_settled(driver);
}

/* A record that failed elsewhere, or a new one, may be work for a waiting worker. */
void mor_work_offer_all(struct mor_driver *driver)
{
	for (unsigned i = 0; i < driver->worker_count; i++)
		mor_work_offer(&driver->workers[i]);
}

/* ---- done ---- */

/* The view ends before the next record is handed out: orders to one plugin stay in order. If the plugin asks
 * for the next record at once, the next view replaces this one. */
void mor_work_hide(struct worker *worker)
{
	if (!worker->shown || worker->item != NO_ITEM)
		return;
	worker->shown = worker->shows_stage = false;
	if (worker->driver->by_namespace)
		mortise_plugin_set_view(worker->plugin, NULL, NULL, NULL, NULL);
}

void mor_work_done(struct worker *worker)
{
	struct mor_result_output output = { .fd = -1 };
	mortise_error error = { 0 };
	int r = mor_output_keep(worker, &output, &error);

	worker->state = WORKER_DOWN;
	worker->idle_ends = 0;
	if (r == 0) {
		tell_end(worker, NULL, output.records, output.bytes);
		settle(worker);
	} else {
		if (r == MORTISE_ELIMIT)
			error.code = MORTISE_EINPUT; /* limit for a record in its output, not for a frame */
		mor_work_failed(worker, &error);
		/* our own error; all others come from its output */
		if (r == MORTISE_ESYSTEM || r == MORTISE_ENOMEM)
			mor_driver_fail(worker->driver, &error);
		mor_driver_close_input(worker);
	}
	mor_work_forget(worker);
	mor_work_expect(worker);
	mor_driver_settled(worker->driver);
	mor_work_offer_all(worker->driver);
}
