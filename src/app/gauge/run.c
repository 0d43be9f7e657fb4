/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements, one after the other. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "dialect/dialect.h"
#include "gauge/inside.h"

#define MS                1000000LL
#define STARTS_USUAL      5
#define STARTS_MOST_NS    (1500 * MS) /* then no more starts, unless their number was given */
#define WARMUP_CALLS      100
#define WARMUP_MOST_NS    (300 * MS)
#define TIME_USUAL_MS     2000
#define STEP_LEAST_NS     (100 * MS)
#define IN_FLIGHT_USUALLY 64

/* ---- what the plugin says about itself ---- */

struct counters {
	int pid;
	uint64_t ended_us;
};

static int read_counters(struct mor_gauge *g, struct counters *ret)
{
	struct mor_doc *doc = NULL;
	int r = mor_runner_describe(g->plugin, &doc, &g->failed);

	if (r < 0)
		return r;
	mor_doc_free(g->about);
	g->about = doc;
	*ret = (struct counters){
		.pid = (int)mor_json_int(mor_json_get(mor_doc_root(doc), "pid"), 0),
		.ended_us =
			(uint64_t)mor_json_int(mor_json_at(mor_doc_root(doc), "/counters/cpu_ms"), 0) * 1000,
	};
	if (ret->pid || !*g->level)
		snprintf(g->level, sizeof(g->level), "%s",
			 mor_json_text(mor_json_at(mor_doc_root(doc), "/confinement/level"), ""));
	return 0;
}

static int look_at_use(struct mor_gauge *g, struct mor_usage *usage)
{
	struct counters counters;
	int r = read_counters(g, &counters);

	if (r < 0)
		return r;
	mor_usage_look(counters.pid, counters.ended_us, usage);
	mor_usage_memory_join(&g->host_memory, &usage->host_memory);
	mor_usage_memory_join(&g->guardian_memory, &usage->guardian_memory);
	mor_usage_memory_join(&g->plugin_memory, &usage->plugin_memory);
	return 0;
}

/* ---- life ---- */

/* NO_RESTART: a plugin that dies of a call ends the run. */
int mor_gauge_open(struct mor_gauge *g, struct mor_runner *runner, const char *path, const char *const *argv,
		   struct mor_resolved *resolved, mortise_error *err)
{
	mortise_plugin_options opt;
	struct counters counters;
	int r;

	g->runner = runner;
	g->ready = mor_hist_new();
	g->first = mor_hist_new();
	g->latency = mor_hist_new();
	if (!g->ready || !g->first || !g->latency)
		return mor_fail_memory(err);
	mor_runner_plugin_options(runner, path, argv, &opt);
	opt.flags |= MORTISE_NO_RESTART;
	opt.on_event = mor_gauge_on_event;
	opt.arg = g;
	r = mor_runner_plugin_new(runner, &opt, resolved, &g->plugin, err);
	if (r == 0 && read_counters(g, &counters) < 0) {
		*err = g->failed;
		r = g->failed.code;
	}
	if (r == 0) {
		g->per_call =
			mor_dialect_find(mortise_plugin_dialect(g->plugin))->life.shape != MOR_SHAPE_SESSION;
		g->max_in_flight =
			(uint32_t)mor_json_int(mor_json_get(mor_doc_root(g->about), "max_in_flight"), 0);
	}
	return r;
}

void mor_gauge_close(struct mor_gauge *g)
{
	mortise_plugin_unref(g->plugin);
	mor_doc_free(g->about);
	mor_free(g->ready);
	mor_free(g->first);
	mor_free(g->latency);
	mor_free(g->first_data);
	mor_free(g->failed_data);
}

/* ---- starts ---- */

static int measure_starts(struct mor_gauge *g)
{
	uint32_t wanted = g->plan->starts ? g->plan->starts : STARTS_USUAL;
	int64_t begun = mor_clock_ns();
	struct mor_usage usage;
	int r = 0;

	g->doing = "starts";
	for (uint32_t i = 0; i < wanted && r == 0; i++) {
		struct mor_gauge_batch batch = { .in_flight = 1, .count = 1, .hist = g->first };

		if (i && !g->plan->starts && mor_clock_ns() - begun > STARTS_MOST_NS)
			break;
		if (i)
			mor_runner_stop_plugin(g->runner, g->plugin);
		r = mor_gauge_make_calls(g, &batch);
		if (r == 0)
			r = look_at_use(g, &usage);
	}
	return r;
}

static int warm_up(struct mor_gauge *g)
{
	struct mor_hist *unused;
	struct mor_gauge_batch batch = { .in_flight = 1, .count = (uint64_t)g->plan->warmup, .time_ns = 0 };
	int r;

	if (g->plan->warmup < 0) {
		batch.count = g->per_call ? 0 : WARMUP_CALLS;
		batch.time_ns = WARMUP_MOST_NS;
	}
	if (!batch.count)
		return 0;
	unused = mor_hist_new();
	if (!unused)
		return mor_fail_memory(&g->failed);
	g->doing = "warming up";
	batch.hist = unused;
	r = mor_gauge_make_calls(g, &batch);
	mor_free(unused);
	return r;
}

/* ---- calls ---- */

static void keep_step(struct mor_gauge *g, const struct mor_gauge_batch *batch)
{
	double seconds = (double)batch->wall_ns / 1e9;

	if (!batch->calls || batch->calls < batch->in_flight) /* there never were so many in flight */
		return;
	g->steps[g->steps_count++] = (struct mor_gauge_step){
		.in_flight = batch->in_flight,
		.calls = batch->calls,
		.errors = batch->errors,
		.seconds = seconds,
		.rate = seconds > 0 ? (double)batch->calls / seconds : 0,
		.p50 = (double)mor_hist_at(batch->hist, 0.5) / 1000,
		.p99 = (double)mor_hist_at(batch->hist, 0.99) / 1000,
	};
}

static double per_call(int64_t after, int64_t before, const struct mor_gauge_batch *batch)
{
	return after > before ? (double)(after - before) / 1000 / (double)batch->calls : 0;
}

static int64_t time_of(const struct mor_gauge_plan *plan, int64_t divisor)
{
	int64_t time = (plan->time_ms ? plan->time_ms : TIME_USUAL_MS) * MS / divisor;

	if (plan->count)
		return 0;
	return divisor > 1 && time < STEP_LEAST_NS ? STEP_LEAST_NS : time;
}

/* The host's time is read last before and first behind the calls: looking takes time too. What a failed run has
 * measured is kept, but not what it has used: its processes are gone. */
static int measure_latency(struct mor_gauge *g)
{
	struct mor_gauge_batch batch = {
		.in_flight = 1, .count = g->plan->count, .time_ns = time_of(g->plan, 1), .hist = g->latency
	};
	struct mor_usage before, after;
	int64_t host;
	int r = look_at_use(g, &before), done;

	if (r < 0)
		return r;
	g->doing = "latency";
	done = mor_gauge_make_calls(g, &batch);
	host = mor_usage_host();
	keep_step(g, &batch);
	if (!batch.calls)
		return done;
	g->cost.wall = (double)batch.wall_ns / 1000 / (double)batch.calls;
	if (done < 0 && !g->interrupted)
		return done;
	if (g->per_call)
		mor_runner_stop_plugin(g->runner, g->plugin);
	if ((r = look_at_use(g, &after)) < 0)
		return r;
	g->cost.host = per_call(host, before.host, &batch);
	g->cost.guardian = per_call(after.guardian, before.guardian, &batch);
	g->cost.plugin = per_call(after.plugin, before.plugin, &batch);
	return done;
}

static int measure_step(struct mor_gauge *g, uint32_t in_flight)
{
	struct mor_gauge_batch batch = { .in_flight = in_flight,
					 .count = g->plan->count,
					 .time_ns = time_of(g->plan, 8),
					 .hist = mor_hist_new() };
	struct mor_usage usage;
	char doing[40];
	int r;

	if (!batch.hist)
		return mor_fail_memory(&g->failed);
	snprintf(doing, sizeof(doing), "%u in flight", in_flight);
	g->doing = doing;
	r = mor_gauge_make_calls(g, &batch);
	g->doing = "";
	keep_step(g, &batch);
	mor_free(batch.hist);
	return r < 0 ? r : look_at_use(g, &usage);
}

/* The plugin may have so many, and the calls that were asked for can all be in flight. */
static bool is_allowed(const struct mor_gauge *g, uint32_t in_flight)
{
	return in_flight > 1 && (!g->max_in_flight || in_flight <= g->max_in_flight) &&
	       (!g->plan->count || in_flight <= g->plan->count);
}

/* Where calls take long, each further step would keep us waiting for the last of them. */
static bool is_too_slow(const struct mor_gauge *g)
{
	const struct mor_gauge_step *last = &g->steps[g->steps_count - 1];

	return !g->plan->count && last->p50 * 1000 * 2 > (double)time_of(g->plan, 8);
}

static int measure_steps(struct mor_gauge *g)
{
	const struct mor_gauge_plan *plan = g->plan;
	int r = 0;

	if (!plan->steps)
		for (uint32_t n = 2; n <= IN_FLIGHT_USUALLY && is_allowed(g, n) && !is_too_slow(g) && r == 0;
		     n *= 2)
			r = measure_step(g, n);
	for (size_t i = 0; i < plan->steps && r == 0; i++)
		if (is_allowed(g, plan->in_flight[i]))
			r = measure_step(g, plan->in_flight[i]);
	return r;
}

int mor_gauge_run(struct mor_gauge *g, const struct mor_gauge_plan *plan)
{
	int r;

	g->plan = plan;
	if ((r = measure_starts(g)) == 0 && (r = warm_up(g)) == 0 && (r = measure_latency(g)) == 0)
		r = measure_steps(g);
	mor_runner_stop_plugin(g->runner, g->plugin);
	mor_progress_said(&g->runner->console->progress);
	return r;
}
