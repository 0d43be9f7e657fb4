/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of calls: each answer starts the next call, from its own callback. So with one in flight the time
 * between two calls is ours alone, and does not count as latency.
 */
#include "base/alloc.h"
#include "base/clock.h"
#include "gauge/inside.h"
#include "runner/show.h"

#define METHOD_NOT_FOUND (-32601)
#define REDRAW_NS        200000000

/* The first one is kept. */
static void keep_error(mortise_error *error, char **ret_data, const mortise_error *came, mortise_json data)
{
	if (error->code)
		return;
	*error = *came;
	if (data.text)
		*ret_data = mor_strndup(data.text, data.len);
}

static void send_call(struct mor_gauge *g, struct mor_gauge_slot *slot);

/* ---- answers ---- */

/* An error that the plugin has answered: the call is over, and the next one may be better. A method that is not
 * there is a mistake of the user's. */
static bool is_answer(const struct mor_gauge *g, const mortise_reply *reply)
{
	return reply->status == MORTISE_EREMOTE &&
	       (g->first->count || reply->error->rpc_code != METHOD_NOT_FOUND);
}

/* Below 0: not known. */
static double part_done(const struct mor_gauge_batch *batch, int64_t now)
{
	double by_count = batch->count > 1 ? (double)batch->calls / (double)batch->count : 0;
	double by_time = batch->time_ns ? (double)(now - batch->begun_ns) / (double)batch->time_ns : 0;
	double part = by_count > by_time ? by_count : by_time;

	return batch->count == 1 ? -1 : part > 1 ? 1 : part;
}

static void draw_progress(struct mor_gauge *g, int64_t now)
{
	struct mor_console *console = g->runner->console;

	if (!console->err_terminal || console->json || now - g->drawn_ns < REDRAW_NS)
		return;
	g->drawn_ns = now;
	mor_progress_say(&console->progress, part_done(g->batch, now), g->doing);
}

static bool is_enough(const struct mor_gauge_batch *batch, int64_t now)
{
	return (batch->count && batch->sent >= batch->count) ||
	       (batch->time_ns && now - batch->begun_ns >= batch->time_ns);
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct mor_gauge_slot *slot = arg;
	struct mor_gauge *g = slot->gauge;
	int64_t now = mor_clock_ns();
	int64_t begun = slot->begun_ns;

	if (reply->more || !g->batch) /* a piece; or the run has ended, and nobody waits for it */
		return;
	if (reply->status < 0 && !is_answer(g, reply)) {
		keep_error(&g->failed, &g->failed_data, reply->error, reply->error_data);
		return;
	}
	if (reply->status < 0) {
		g->batch->errors++;
		g->errors++;
		keep_error(&g->first_error, &g->first_data, reply->error, reply->error_data);
	}
	if (g->per_call && g->started_ns > begun)
		begun = g->started_ns;
	mor_hist_add(g->batch->hist, (uint64_t)(now - begun));
	g->batch->calls++;
	draw_progress(g, now);
	if (!g->failed.code && !is_enough(g->batch, now))
		send_call(g, slot);
}

static void send_call(struct mor_gauge *g, struct mor_gauge_slot *slot)
{
	mortise_call_options opt = {
		.size = sizeof(opt),
		.timeout_ms = g->runner->timeout_ms,
		.flags = g->plan->flags,
		.on_reply = on_reply,
		.arg = slot,
	};
	mortise_error err = { 0 };

	*slot = (struct mor_gauge_slot){ g, mor_clock_ns() };
	g->batch->sent++;
	if (mortise_call_start(g->plugin, g->plan->method, g->plan->params, &opt, NULL, &err) < 0)
		keep_error(&g->failed, &g->failed_data, &err, (mortise_json){ 0 });
}

/* The plugin's start and greeting are measured where they happen. */
void mor_gauge_on_event(const mortise_event *event, void *arg)
{
	struct mor_gauge *g = arg;

	if (event->type == MORTISE_EVENT_STATE && event->state.now == MORTISE_STARTING)
		g->started_ns = mor_clock_ns();
	if (event->type == MORTISE_EVENT_STATE && event->state.now == MORTISE_READY && g->started_ns)
		mor_hist_add(g->ready, (uint64_t)(mor_clock_ns() - g->started_ns));
	mor_show_event(event, g->runner->console);
}

/* ---- the window ---- */

static bool batch_is_over(void *arg)
{
	struct mor_gauge *g = arg;

	return g->failed.code || g->batch->calls == g->batch->sent;
}

int mor_gauge_make_calls(struct mor_gauge *g, struct mor_gauge_batch *batch)
{
	uint64_t window = batch->count && batch->count < batch->in_flight ? batch->count : batch->in_flight;
	int r;

	g->batch = batch;
	batch->begun_ns = mor_clock_ns();
	for (uint64_t i = 0; i < window && !g->failed.code; i++)
		send_call(g, &g->slots[i]);
	r = mor_runner_run(g->runner, batch_is_over, g);
	batch->wall_ns = mor_clock_ns() - batch->begun_ns;
	g->batch = NULL;
	if (r < 0)
		g->interrupted = true;
	return r < 0 ? r : g->failed.code;
}
