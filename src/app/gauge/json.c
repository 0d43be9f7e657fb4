/* SPDX-License-Identifier: Apache-2.0 */
/* The results for machines. docs/guide/bench.md lists the members. */
#include "gauge/gauge.h"

static void write_double(struct mor_writer *w, const char *name, double number)
{
	mor_w_key(w, name);
	mor_w_double(w, number);
}

/* false: null was written, and there is nothing to end. */
static bool begin_object(struct mor_writer *w, const char *name, bool known)
{
	mor_w_key(w, name);
	if (known)
		mor_w_object(w);
	else
		mor_w_null(w);
	return known;
}

static void write_span(struct mor_writer *w, const char *name, const struct mor_hist *hist)
{
	if (!begin_object(w, name, hist->count))
		return;
	write_double(w, "median", (double)mor_hist_at(hist, 0.5) / 1e6);
	write_double(w, "least", (double)hist->least / 1e6);
	write_double(w, "most", (double)hist->largest / 1e6);
	mor_w_end(w);
}

static void write_starts(const struct mor_gauge *g, struct mor_writer *w)
{
	begin_object(w, "start", true);
	mor_w_pair_int(w, "count", (int64_t)g->first->count);
	write_span(w, "ready_ms", g->ready);
	write_span(w, "first_answer_ms", g->first);
	mor_w_end(w);
}

static void write_latency(const struct mor_gauge *g, struct mor_writer *w)
{
	static const struct {
		const char *name;
		double part;
	} parts[] = { { "min", 0 },    { "p50", 0.5 },     { "p90", 0.9 },
		      { "p99", 0.99 }, { "p99.9", 0.999 }, { "max", 1 } };

	if (!begin_object(w, "latency", g->steps_count))
		return;
	mor_w_pair_int(w, "calls", (int64_t)g->steps[0].calls);
	mor_w_pair_int(w, "errors", (int64_t)g->steps[0].errors);
	write_double(w, "seconds", g->steps[0].seconds);
	begin_object(w, "us", true);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		write_double(w, parts[i].name, (double)mor_hist_at(g->latency, parts[i].part) / 1000);
	write_double(w, "mean", mor_hist_mean(g->latency) / 1000);
	mor_w_end(w);
	mor_w_end(w);
}

static void write_steps(const struct mor_gauge *g, struct mor_writer *w)
{
	mor_w_pair_array(w, "throughput");
	for (size_t i = 0; i < g->steps_count; i++) {
		const struct mor_gauge_step *step = &g->steps[i];

		mor_w_object(w);
		mor_w_pair_int(w, "in_flight", step->in_flight);
		mor_w_pair_int(w, "calls", (int64_t)step->calls);
		mor_w_pair_int(w, "errors", (int64_t)step->errors);
		write_double(w, "seconds", step->seconds);
		write_double(w, "calls_per_second", step->rate);
		write_double(w, "p50_us", step->p50);
		write_double(w, "p99_us", step->p99);
		mor_w_end(w);
	}
	mor_w_end(w);
}

static void write_memory(struct mor_writer *w, const char *name, const struct mor_usage_memory *memory)
{
	begin_object(w, name, true);
	mor_w_pair_int(w, "processes", memory->processes);
	mor_w_pair_int(w, "rss_peak_bytes", (int64_t)memory->rss_peak);
	mor_w_end(w);
}

static void write_use(const struct mor_gauge *g, struct mor_writer *w)
{
	if (begin_object(w, "cpu_us_per_call", g->cost.host > 0)) {
		write_double(w, "wall", g->cost.wall);
		write_double(w, "host", g->cost.host);
		write_double(w, "guardian", g->cost.guardian);
		write_double(w, "plugin", g->cost.plugin);
		mor_w_end(w);
	}
	begin_object(w, "memory", true);
	write_memory(w, "host", &g->host_memory);
	write_memory(w, "guardian", &g->guardian_memory);
	write_memory(w, "plugin", &g->plugin_memory);
	mor_w_end(w);
}

void mor_gauge_json(const struct mor_gauge *g, struct mor_writer *w)
{
	mor_w_pair(w, "plugin", mortise_plugin_name(g->plugin));
	mor_w_pair(w, "dialect", mortise_plugin_dialect(g->plugin));
	mor_w_pair(w, "method", g->plan->method);
	mor_w_pair(w, "level", g->level);
	mor_w_pair_bool(w, "interrupted", g->interrupted);
	mor_w_pair_bool(w, "process_per_call", g->per_call);
	mor_w_pair_int(w, "max_in_flight", g->max_in_flight);
	write_starts(g, w);
	write_latency(g, w);
	write_steps(g, w);
	write_use(g, w);
	mor_w_pair_int(w, "errors", (int64_t)g->errors);
	mor_w_pair(w, "first_error", g->errors ? g->first_error.text : NULL);
}
