/* SPDX-License-Identifier: Apache-2.0 */
/* The results for machines. docs/guide/bench.md lists the members. */
#include "gauge/gauge.h"

#define HIST_ROWS 64

static void write_double(struct mor_writer *w, const char *name, double number)
{
	mor_w_key(w, name);
	mor_w_double(w, number);
}

static void write_uint(struct mor_writer *w, const char *name, uint64_t number)
{
	mor_w_key(w, name);
	mor_w_uint(w, number);
}

/* ---- starts ---- */

static void write_span(struct mor_writer *w, const char *name, const struct mor_hist *hist)
{
	mor_w_key(w, name);
	if (!hist->count) {
		mor_w_null(w);
		return;
	}
	mor_w_object(w);
	write_double(w, "median", (double)mor_hist_at(hist, 0.5) / 1e6);
	write_double(w, "least", (double)hist->least / 1e6);
	write_double(w, "most", (double)hist->largest / 1e6);
	mor_w_end(w);
}

static void write_starts(const struct mor_gauge *g, struct mor_writer *w)
{
	mor_w_key(w, "start");
	mor_w_object(w);
	write_uint(w, "count", g->first->count);
	write_span(w, "ready_ms", g->ready);
	write_span(w, "first_answer_ms", g->first);
	mor_w_end(w);
}

/* ---- calls ---- */

static void write_rows(struct mor_writer *w, const struct mor_hist *hist)
{
	struct mor_hist_row rows[HIST_ROWS];
	size_t count = mor_hist_rows(hist, rows, HIST_ROWS);

	mor_w_key(w, "histogram");
	mor_w_array(w);
	for (size_t i = 0; i < count; i++) {
		mor_w_object(w);
		write_double(w, "from_us", (double)rows[i].from / 1000);
		write_double(w, "below_us", (double)rows[i].to / 1000);
		write_uint(w, "count", rows[i].count);
		mor_w_end(w);
	}
	mor_w_end(w);
}

static void write_latency(const struct mor_gauge *g, struct mor_writer *w)
{
	static const struct {
		const char *name;
		double part;
	} parts[] = { { "min", 0 },    { "p50", 0.5 },     { "p90", 0.9 },
		      { "p99", 0.99 }, { "p99.9", 0.999 }, { "max", 1 } };

	mor_w_key(w, "latency");
	if (!g->steps_count) {
		mor_w_null(w);
		return;
	}
	mor_w_object(w);
	write_uint(w, "calls", g->steps[0].calls);
	write_uint(w, "errors", g->steps[0].errors);
	write_double(w, "seconds", g->steps[0].seconds);
	mor_w_key(w, "us");
	mor_w_object(w);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		write_double(w, parts[i].name, (double)mor_hist_at(g->latency, parts[i].part) / 1000);
	write_double(w, "mean", mor_hist_mean(g->latency) / 1000);
	mor_w_end(w);
	write_rows(w, g->latency);
	mor_w_end(w);
}

static void write_steps(const struct mor_gauge *g, struct mor_writer *w)
{
	mor_w_key(w, "throughput");
	mor_w_array(w);
	for (size_t i = 0; i < g->steps_count; i++) {
		const struct mor_gauge_step *step = &g->steps[i];

		mor_w_object(w);
		write_uint(w, "in_flight", step->in_flight);
		write_uint(w, "calls", step->calls);
		write_uint(w, "errors", step->errors);
		write_double(w, "seconds", step->seconds);
		write_double(w, "calls_per_second", step->rate);
		write_double(w, "p50_us", step->p50);
		write_double(w, "p99_us", step->p99);
		mor_w_end(w);
	}
	mor_w_end(w);
}

/* ---- use ---- */

static void write_memory(struct mor_writer *w, const char *name, const struct mor_usage_memory *memory)
{
	mor_w_key(w, name);
	mor_w_object(w);
	write_uint(w, "processes", memory->processes);
	write_uint(w, "rss_peak_bytes", memory->rss_peak);
	mor_w_key(w, "pss_bytes");
	if (memory->pss)
		mor_w_uint(w, memory->pss);
	else
		mor_w_null(w);
	mor_w_end(w);
}

static void write_cost(struct mor_writer *w, const char *name, const struct mor_judgement_cost *cost)
{
	mor_w_key(w, name);
	if (cost->host <= 0) { /* not measured */
		mor_w_null(w);
		return;
	}
	mor_w_object(w);
	write_double(w, "wall", cost->wall);
	write_double(w, "host", cost->host);
	write_double(w, "guardian", cost->guardian);
	write_double(w, "plugin", cost->plugin);
	write_double(w, "busy", cost->busy);
	write_double(w, "preempted", cost->preempted);
	mor_w_end(w);
}

static void write_use(const struct mor_gauge *g, struct mor_writer *w)
{
	write_cost(w, "cpu_us_per_call", &g->cost);
	write_cost(w, "floor_us_per_call", &g->floor);
	mor_w_key(w, "memory");
	mor_w_object(w);
	write_memory(w, "host", &g->host_memory);
	write_memory(w, "guardian", &g->guardian_memory);
	write_memory(w, "plugin", &g->plugin_memory);
	mor_w_end(w);
	mor_w_key(w, "bytes_per_call");
	mor_w_object(w);
	write_double(w, "request", g->request_bytes);
	write_double(w, "answer", g->answer_bytes);
	write_double(w, "stderr", g->stderr_bytes);
	write_double(w, "noise", g->noise_bytes);
	mor_w_end(w);
}

/* ---- the verdict ---- */

static void write_sentence(struct mor_writer *w, const struct mor_judgement_text *text)
{
	mor_w_object(w);
	mor_w_pair(w, "kind", text->kind);
	mor_w_pair(w, "text", text->text);
	mor_w_pair(w, "advice", *text->advice ? text->advice : NULL);
	mor_w_end(w);
}

static void write_verdict(const struct mor_gauge *g, struct mor_writer *w)
{
	const struct mor_judgement *v = &g->verdict;

	mor_w_key(w, "verdict");
	if (v->main.kind)
		write_sentence(w, &v->main);
	else
		mor_w_null(w);
	mor_w_key(w, "notes");
	mor_w_array(w);
	for (size_t i = 0; i < v->notes_count; i++)
		write_sentence(w, &v->notes[i]);
	mor_w_end(w);
	mor_w_key(w, "where");
	mor_w_array(w);
	for (int i = 0; v->main.kind && i < MOR_PORTIONS; i++) {
		mor_w_object(w);
		mor_w_pair(w, "kind", mor_portion_name((enum mor_portion)i));
		write_double(w, "us", v->us[i]);
		write_double(w, "share", v->share[i]);
		mor_w_end(w);
	}
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
	write_uint(w, "max_in_flight", g->max_in_flight);
	write_starts(g, w);
	write_latency(g, w);
	write_steps(g, w);
	write_use(g, w);
	write_uint(w, "errors", g->errors);
	mor_w_pair(w, "first_error", g->errors ? g->first_error.text : NULL);
	write_verdict(g, w);
}
