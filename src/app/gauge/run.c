/* SPDX-License-Identifier: Apache-2.0 */
/* The measurements, one after the other. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "gauge/floor.h"
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
	double stderr_bytes, noise_bytes, bytes_in, bytes_out;
};

static double counter(const struct mor_gauge *g, const char *name)
{
	const struct mor_value *all = mor_json_get(mor_doc_root(g->about), "counters");

	return (double)mor_json_int(mor_json_get(all, name), 0);
}

static int read_counters(struct mor_gauge *g, struct counters *ret)
{
	struct mor_doc *doc = NULL;
	char *json = NULL;
	int r = mortise_plugin_describe(g->plugin, &json, NULL);

	if (r == 0)
		r = mor_doc_parse(mor_slice_of(json), MOR_JSON_NAN, 0, &doc, NULL);
	mortise_free(json);
	if (r < 0)
		return mor_fail(&g->failed, r, "describe: %s", mortise_status_text(r));
	mor_doc_free(g->about);
	g->about = doc;
	*ret = (struct counters){
		.pid = (int)mor_json_int(mor_json_get(mor_doc_root(doc), "pid"), 0),
		.ended_us = (uint64_t)counter(g, "cpu_ms") * 1000,
		.stderr_bytes = counter(g, "stderr_bytes"),
		.noise_bytes = counter(g, "noise_bytes"),
		.bytes_in = counter(g, "bytes_in"),
		.bytes_out = counter(g, "bytes_out"),
	};
	if (ret->pid || !*g->level)
		snprintf(g->level, sizeof(g->level), "%s",
			 mor_json_text(mor_json_at(mor_doc_root(doc), "/confinement/level"), ""));
	return 0;
}

static int look_at_use(struct mor_gauge *g, struct counters *counters, struct mor_usage *usage)
{
	int r = read_counters(g, counters);

	if (r < 0)
		return r;
	mor_usage_look(counters->pid, counters->ended_us, usage);
	mor_usage_memory_join(&g->host_memory, &usage->host_memory);
	mor_usage_memory_join(&g->guardian_memory, &usage->guardian_memory);
	mor_usage_memory_join(&g->plugin_memory, &usage->plugin_memory);
	return 0;
}

static int look_at_memory(struct mor_gauge *g)
{
	struct counters counters;
	struct mor_usage usage;

	return look_at_use(g, &counters, &usage);
}

/* ---- life ---- */

/* NO_RESTART: a plugin that dies of a call ends the run. */
int mor_gauge_open(struct mor_gauge *g, struct mor_runner *runner, const char *path, const char *const *argv,
		   struct mor_resolved *resolved, mortise_error *err)
{
	mortise_plugin_options opt;
	struct counters counters;
	const char *shape;
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
		MOR_CLEAN(mor_doc)
		struct mor_doc *table = mor_runner_dialect_table(mortise_plugin_dialect(g->plugin));

		shape = mor_json_text(mor_json_get(mor_doc_root(table), "shape"), "session");
		g->per_call = strcmp(shape, "session") != 0;
		g->max_in_flight =
			(uint32_t)mor_json_int(mor_json_get(mor_doc_root(g->about), "max_in_flight"), 0);
	}
	return r;
}

void mor_gauge_close(struct mor_gauge *g)
{
	mortise_plugin_unref(g->plugin);
	mor_doc_free(g->about);
	mor_hist_free(g->ready);
	mor_hist_free(g->first);
	mor_hist_free(g->latency);
	mor_free(g->first_data);
	mor_free(g->failed_data);
}

/* ---- starts ---- */

static int measure_starts(struct mor_gauge *g)
{
	uint32_t wanted = g->plan->starts ? g->plan->starts : STARTS_USUAL;
	int64_t begun = mor_clock_ns();
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
			r = look_at_memory(g);
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
	mor_hist_free(unused);
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

static void keep_cost(struct mor_gauge *g, const struct mor_gauge_batch *batch, const struct mor_usage *before,
		      const struct mor_usage *after)
{
	struct mor_usage_thread thread = mor_usage_busiest(before, after);

	g->cost = (struct mor_judgement_cost){
		.wall = (double)batch->wall_ns / 1000 / (double)batch->calls,
		.host = per_call(after->host, before->host, batch),
		.guardian = per_call(after->guardian, before->guardian, batch),
		.plugin = per_call(after->plugin, before->plugin, batch),
		.busy = per_call(after->host_delay + thread.delay, before->host_delay, batch),
	};
	g->cost.preempted = per_call(mor_usage_preempted(&thread, batch->calls), 0, batch);
}

static void keep_bytes(struct mor_gauge *g, const struct mor_gauge_batch *batch, const struct counters *before,
		       const struct counters *after)
{
	double calls = (double)batch->calls;

	g->request_bytes = (after->bytes_out - before->bytes_out) / calls;
	g->answer_bytes = (after->bytes_in - before->bytes_in) / calls;
}

/* What a plugin prints is read when there is time for it, so it is counted when the plugin has ended. */
static int keep_chatter(struct mor_gauge *g)
{
	struct counters end;
	uint64_t calls = 0;
	int r = read_counters(g, &end);

	for (size_t i = 0; i < g->steps_count; i++)
		calls += g->steps[i].calls;
	if (r < 0 || !calls)
		return r;
	g->stderr_bytes = (end.stderr_bytes - g->stderr_before) / (double)calls;
	g->noise_bytes = (end.noise_bytes - g->noise_before) / (double)calls;
	return 0;
}

static int64_t time_of(const struct mor_gauge_plan *plan, int64_t divisor)
{
	int64_t time = (plan->time_ms ? plan->time_ms : TIME_USUAL_MS) * MS / divisor;

	if (plan->count)
		return 0;
	return divisor > 1 && time < STEP_LEAST_NS ? STEP_LEAST_NS : time;
}

/* The host's times are read last before and first behind the calls: looking takes time too, and it may have to
 * wait for a processor. What a failed run has measured is kept, but not what it has used: its processes are
 * gone. */
static int measure_latency(struct mor_gauge *g)
{
	struct mor_gauge_batch batch = {
		.in_flight = 1, .count = g->plan->count, .time_ns = time_of(g->plan, 1), .hist = g->latency
	};
	struct mor_usage before, after;
	struct counters told_before, told_after;
	int64_t host, host_delay;
	int r = look_at_use(g, &told_before, &before), done;

	if (r < 0)
		return r;
	g->doing = "latency";
	g->stderr_before = told_before.stderr_bytes;
	g->noise_before = told_before.noise_bytes;
	done = mor_gauge_make_calls(g, &batch);
	host = mor_usage_host();
	host_delay = mor_usage_host_delay();
	keep_step(g, &batch);
	if (!batch.calls)
		return done;
	g->cost.wall = (double)batch.wall_ns / 1000 / (double)batch.calls;
	if (done < 0 && !g->interrupted)
		return done;
	if (g->per_call)
		mor_runner_stop_plugin(g->runner, g->plugin);
	r = look_at_use(g, &told_after, &after);
	if (r < 0)
		return r;
	after.host = host;
	after.host_delay = host_delay;
	keep_cost(g, &batch, &before, &after);
	keep_bytes(g, &batch, &told_before, &told_after);
	return done;
}

static int measure_step(struct mor_gauge *g, uint32_t in_flight)
{
	struct mor_gauge_batch batch = { .in_flight = in_flight,
					 .count = g->plan->count,
					 .time_ns = time_of(g->plan, 8),
					 .hist = mor_hist_new() };
	char doing[40];
	int r;

	if (!batch.hist)
		return mor_fail_memory(&g->failed);
	snprintf(doing, sizeof(doing), "%u in flight", in_flight);
	g->doing = doing;
	r = mor_gauge_make_calls(g, &batch);
	g->doing = "";
	keep_step(g, &batch);
	mor_hist_free(batch.hist);
	return r < 0 ? r : look_at_memory(g);
}

static bool is_allowed(const struct mor_gauge *g, uint32_t in_flight)
{
	return in_flight > 1 && (!g->max_in_flight || in_flight <= g->max_in_flight);
}

/* The calls that were asked for cannot all be in flight. */
static bool are_too_few(const struct mor_gauge *g, uint32_t in_flight)
{
	return g->plan->count && g->plan->count < in_flight;
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

	for (uint32_t n = 2; !plan->steps && n <= IN_FLIGHT_USUALLY && is_allowed(g, n) && r == 0; n *= 2) {
		g->too_slow = is_too_slow(g);
		g->too_few = are_too_few(g, n);
		if (g->too_slow || g->too_few)
			break;
		r = measure_step(g, n);
	}
	for (size_t i = 0; i < plan->steps && r == 0 && !g->too_few; i++) {
		if (!is_allowed(g, plan->in_flight[i]))
			continue;
		g->too_few = are_too_few(g, plan->in_flight[i]);
		if (!g->too_few)
			r = measure_step(g, plan->in_flight[i]);
	}
	return r;
}

/* ---- the whole ---- */

/* The best rate and the second best, as in the table of the page, and the fewest calls of a row. */
static void compare_steps(const struct mor_gauge *g, struct mor_judgement_input *in)
{
	const struct mor_gauge_step *one = g->steps;

	in->best = 1;
	in->gain = in->gain_beside = 1;
	in->fewest = one->calls;
	for (size_t i = 1; i < g->steps_count && one->rate > 0; i++) {
		double gain = g->steps[i].rate / one->rate;

		if (g->steps[i].calls < in->fewest)
			in->fewest = g->steps[i].calls;
		if (gain > in->gain) {
			in->best = g->steps[i].in_flight;
			in->gain_beside = in->gain;
			in->gain = gain;
		} else if (gain > in->gain_beside) {
			in->gain_beside = gain;
		}
	}
	if (g->steps_count == 2)
		in->gain_beside = in->gain;
}

static void judge_run(struct mor_gauge *g)
{
	const struct mor_gauge_step *one = g->steps, *last = &g->steps[g->steps_count - 1];
	struct mor_judgement_input in = {
		.dialect = mortise_plugin_dialect(g->plugin),
		.micro = mor_gauge_micro(g->runner->console),
		.call = g->cost,
		.floor = g->floor,
		.calls = one->calls,
		.errors = one->errors,
		.least = (double)g->latency->least / 1000,
		.p50 = one->p50,
		.p999 = (double)mor_hist_at(g->latency, 0.999) / 1000,
		.start = (double)mor_hist_at(g->first, 0.5) / 1000,
		.per_call = g->per_call,
		.ready = mor_hist_mean(g->ready) / 1000,
		.max_in_flight = g->max_in_flight,
		.tried = last->in_flight,
		.too_slow = g->too_slow,
		.too_few = g->too_few,
		.stderr_bytes = g->stderr_bytes,
		.noise_bytes = g->noise_bytes,
		.noise_before = g->noise_before,
		.bytes = g->request_bytes + g->answer_bytes,
	};

	compare_steps(g, &in);
	mor_judgement_find(&in, &g->verdict);
}

int mor_gauge_run(struct mor_gauge *g, const struct mor_gauge_plan *plan)
{
	int r;

	g->plan = plan;
	r = measure_starts(g);
	if (r == 0)
		r = warm_up(g);
	if (r == 0)
		r = measure_latency(g);
	if (r == 0)
		r = measure_steps(g);
	mor_runner_stop_plugin(g->runner, g->plugin);
	if (r == 0)
		r = keep_chatter(g);
	if (g->cost.host > 0 && !g->per_call)
		mor_floor_measure((size_t)((g->request_bytes + g->answer_bytes) / 2), &g->floor);
	if (g->cost.host > 0) /* else it died before that was known */
		judge_run(g);
	mor_progress_said(&g->runner->console->progress);
	return r;
}
