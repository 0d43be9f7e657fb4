/* SPDX-License-Identifier: Apache-2.0 */
/* The results for people. */
#include <stdio.h>

#include "base/text.h"
#include "console/console.h"
#include "gauge/gauge.h"

/* "61.2 us", "1.53 ms", "12 s": three digits. */
static const char *format_us(double us, char out[32])
{
	double value = us < 1000 ? us : us < 1000000 ? us / 1000 : us / 1000000;
	const char *unit = us < 1000 ? "us" : us < 1000000 ? "ms" : "s";

	snprintf(out, 32, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, unit);
	return out;
}

static const char *format_ns(double ns, char out[32])
{
	return format_us(ns / 1000, out);
}

static void show_head(struct mor_console *console, const struct mor_gauge *g)
{
	char name[100], method[100];

	mor_printable(mor_slice_of(mortise_plugin_name(g->plugin)), name, sizeof(name));
	mor_printable(mor_slice_of(g->plan->method), method, sizeof(method));
	mor_outf(console, "%s%s%s: %s, %s, %s\n", mor_style(console, MOR_STYLE_TITLE), name,
		 mor_style_end(console), method, mortise_plugin_dialect(g->plugin), g->level);
}

static void show_span(struct mor_console *console, const char *label, const struct mor_hist *hist)
{
	char middle[32], least[32], most[32];

	mor_outf(console, "  %-18s%9s", label, format_ns((double)mor_hist_at(hist, 0.5), middle));
	if (hist->count > 1)
		mor_outf(console, "  (%s to %s)", format_ns((double)hist->least, least),
			 format_ns((double)hist->largest, most));
	mor_out_text(console, "\n");
}

static void show_starts(struct mor_console *console, const struct mor_gauge *g)
{
	uint64_t count = g->first->count ? g->first->count : g->ready->count;
	char title[80] = "Start (once)";

	if (count > 1)
		snprintf(title, sizeof(title), "Start (median of %llu)", (unsigned long long)count);
	mor_out_title(console, title);
	if (g->ready->count)
		show_span(console, "until ready", g->ready);
	if (g->first->count)
		show_span(console, "until first answer", g->first);
	else
		mor_out_text(console, "  the first call was not answered\n");
}

static void show_latency(struct mor_console *console, const struct mor_gauge *g)
{
	static const double parts[] = { 0.5, 0.9, 0.99, 0.999, 1 };
	const struct mor_gauge_step *one = g->steps;
	char text[120];

	snprintf(text, sizeof(text), "Latency (%llu call%s in %.2f s, one at a time)",
		 (unsigned long long)one->calls, one->calls == 1 ? "" : "s", one->seconds);
	mor_out_title(console, text);
	mor_outf(console, "%s%11s%11s%11s%11s%11s%11s%s\n", mor_style(console, MOR_STYLE_LABEL), "p50", "p90",
		 "p99", "p99.9", "max", "mean", mor_style_end(console));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		mor_outf(console, "%11s", format_ns((double)mor_hist_at(g->latency, parts[i]), text));
	mor_outf(console, "%11s\n", format_ns(mor_hist_mean(g->latency), text));
}

static void show_steps(struct mor_console *console, const struct mor_gauge *g)
{
	char p50[32], p99[32];

	mor_out_title(console, "Throughput");
	mor_outf(console, "  %9s %10s %9s %9s\n", "in flight", "calls/s", "p50", "p99");
	for (size_t i = 0; i < g->steps_count; i++) {
		const struct mor_gauge_step *step = &g->steps[i];

		mor_outf(console, "  %9u %10.*f %9s %9s\n", step->in_flight, step->rate < 100 ? 1 : 0,
			 step->rate, format_us(step->p50, p50), format_us(step->p99, p99));
	}
}

static void show_memory(struct mor_console *console, const struct mor_gauge *g)
{
	const struct mor_usage_memory *of[] = { &g->host_memory, &g->guardian_memory, &g->plugin_memory };
	char text[32];

	mor_out_title(console, "Memory");
	mor_outf(console, "  %-18s%12s%12s%12s\n  %-18s", "", "host", "guardian", "plugin", "at most");
	for (size_t i = 0; i < 3; i++)
		mor_outf(console, "%12s", of[i]->rss_peak ? mor_format_bytes(of[i]->rss_peak, text) : "-");
	mor_outf(console, "\n  %-18s%12u%12u%12u\n", "processes", of[0]->processes, of[1]->processes,
		 of[2]->processes);
}

static void show_where(struct mor_console *console, const struct mor_gauge *g)
{
	const struct mor_gauge_cost *cost = &g->cost;
	double waiting = cost->wall - cost->host - cost->guardian - cost->plugin;
	const struct {
		const char *label;
		double us;
	} parts[] = { { "plugin computing", cost->plugin },
		      { "guardian", cost->guardian },
		      { "host", cost->host },
		      { "waiting", waiting > 0 ? waiting : 0 } };
	char text[32];

	mor_out_title(console, "Where the time of a call goes");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		mor_outf(console, "  %-18s%9s %4.0f %%\n", parts[i].label, format_us(parts[i].us, text),
			 100 * parts[i].us / cost->wall);
}

static void show_errors(struct mor_console *console, const struct mor_gauge *g)
{
	char shown[500];

	mor_outf(console,
		 "\n%llu call%s answered with an error, and these times count as well; the first: %s\n",
		 (unsigned long long)g->errors, g->errors == 1 ? " was" : "s were",
		 mor_printable(mor_slice_of(g->first_error.text), shown, sizeof(shown)));
}

void mor_gauge_page(const struct mor_gauge *g, struct mor_console *console)
{
	if (!g->first->count && !(g->interrupted && g->ready->count)) /* else the error says it all */
		return;
	show_head(console, g);
	show_starts(console, g);
	if (!g->steps_count)
		return;
	show_latency(console, g);
	show_steps(console, g);
	show_memory(console, g);
	if (g->cost.host > 0)
		show_where(console, g);
	if (g->errors)
		show_errors(console, g);
}
