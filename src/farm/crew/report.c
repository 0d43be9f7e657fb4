/* SPDX-License-Identifier: Apache-2.0 */
#include "crew/report.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/outfile.h"
#include "base/text.h"

#define PLOT_WIDTH  760
#define PLOT_HEIGHT 220
#define PLOT_LEFT   60
#define PLOT_TOP    20

void mor_crew_report_text(struct mor_buf *out, struct mor_slice text)
{
	char shown[1100];

	for (const char *c = mor_printable(text, shown, sizeof(shown)); *c; c++) {
		if (*c == '<')
			mor_buf_text(out, "&lt;");
		else if (*c == '&')
			mor_buf_text(out, "&amp;");
		else if (*c == '"')
			mor_buf_text(out, "&quot;");
		else
			mor_buf_byte(out, *c);
	}
}

void mor_crew_report_failure(struct mor_buf *rows, const struct mor_segment *segment, size_t unit)
{
	mor_buf_text(rows, "<tr><td>");
	mor_crew_report_text(rows, segment->units[unit].name);
	mor_buf_text(rows, "<td>");
	mor_crew_report_text(rows, segment->units[unit].why);
	for (size_t i = 0; i < segment->log_count; i++) {
		if (segment->logs[i].unit != unit)
			continue;
		mor_buf_text(rows, "<br><code>");
		mor_crew_report_text(rows, segment->logs[i].text);
		mor_buf_text(rows, "</code>");
	}
	mor_buf_text(rows, "\n");
}

/* ---- the plot ---- */

static double rate_between(const struct mor_pace_point *a, const struct mor_pace_point *b)
{
	return b->units > a->units ? 1000.0 * (double)(b->units - a->units) / (double)(b->ms - a->ms) : 0;
}

struct plot {
	const struct mor_pace *pace;
	int64_t ms;
	double rate, workers; /* the greatest */
};

static void scale_plot(struct plot *x)
{
	x->ms = x->pace->points[x->pace->count - 1].ms;
	for (size_t i = 1; i < x->pace->count; i++) {
		const struct mor_pace_point *point = &x->pace->points[i];
		double rate = rate_between(point - 1, point);

		x->rate = rate > x->rate ? rate : x->rate;
		x->workers = point->workers > x->workers ? point->workers : x->workers;
	}
}

/* A line of the plot, in steps: what is known of a piece of time holds for all of it. */
static void draw_line(const struct plot *x, bool workers, const char *color, struct mor_buf *out)
{
	double most = workers ? x->workers : x->rate;

	mor_buf_text(out, "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"");
	mor_buf_printf(out, "%s\" points=\"", color);
	for (size_t i = 1; i < x->pace->count; i++) {
		const struct mor_pace_point *point = &x->pace->points[i], *before = point - 1;
		double value = workers ? point->workers : rate_between(before, point);
		double y = PLOT_TOP + PLOT_HEIGHT * (1 - value / most);

		mor_buf_printf(out, "%.1f,%.1f %.1f,%.1f ",
			       PLOT_LEFT + PLOT_WIDTH * (double)before->ms / (double)x->ms, y,
			       PLOT_LEFT + PLOT_WIDTH * (double)point->ms / (double)x->ms, y);
	}
	mor_buf_text(out, "\"/>\n");
}

void mor_crew_report_plot(const struct mor_pace *pace, struct mor_buf *out)
{
	struct plot x = { .pace = pace };

	scale_plot(&x);
	if (x.ms == 0 || x.rate <= 0) {
		mor_buf_text(out, "<p>The run was too short for a plot.</p>\n");
		return;
	}
	mor_buf_printf(out,
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		       "font-family=\"sans-serif\" font-size=\"12\">\n"
		       "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n"
		       "<text x=\"4\" y=\"%d\">%.1f/s</text><text x=\"4\" y=\"%d\">0</text>\n"
		       "<text x=\"%d\" y=\"%d\">%.1f s</text>\n",
		       PLOT_LEFT + PLOT_WIDTH + 20, PLOT_TOP + PLOT_HEIGHT + 30, PLOT_LEFT, PLOT_TOP,
		       PLOT_WIDTH, PLOT_HEIGHT, PLOT_TOP + 10, x.rate, PLOT_TOP + PLOT_HEIGHT,
		       PLOT_LEFT + PLOT_WIDTH - 50, PLOT_TOP + PLOT_HEIGHT + 18, (double)x.ms / 1000);
	if (x.workers > 0) {
		draw_line(&x, true, "#c80", out);
		mor_buf_printf(out, "<text x=\"%d\" y=\"14\" fill=\"#c80\">workers (up to %.0f)</text>\n",
			       PLOT_LEFT + 160, x.workers);
	}
	draw_line(&x, false, "#06c", out);
	mor_buf_printf(out, "<text x=\"%d\" y=\"14\" fill=\"#06c\">units per second</text>\n</svg>\n",
		       PLOT_LEFT);
}

/* ---- the page ---- */

static void write_rows(const struct mor_crew_led *led, uint64_t units, struct mor_buf *page)
{
	const struct mor_pace_point *last = &led->pace.points[led->pace.count - 1];
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "units", units },
		{ "taken", last->units },
		{ "failed", led->stats.failed },
		{ "batches", led->stats.batches },
		{ "of these found in the store", led->stats.cached },
		{ "segments that were bad or missing", led->stats.again },
		{ "batches that ended workers, and were split", led->stats.split },
		{ "workers at once, at most", led->workers },
	};

	mor_buf_text(page, "<table>\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		mor_buf_printf(page, "<tr><td>%s<td>%" PRIu64 "\n", rows[i].name, rows[i].value);
	mor_buf_printf(page, "<tr><td>seconds<td>%.1f\n</table>\n", (double)last->ms / 1000);
}

int mor_crew_report_write(const char *path, const char *title, uint64_t units, const struct mor_crew_led *led,
			  mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf page = MOR_BUF_INIT;

	mor_buf_text(&page, "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>");
	mor_crew_report_text(&page, mor_slice_of(title));
	mor_buf_text(&page, "</title>\n<style>body{font-family:sans-serif}td{padding:2px 12px 2px 0;"
			    "vertical-align:top}</style>\n<h1>");
	mor_crew_report_text(&page, mor_slice_of(title));
	mor_buf_text(&page, "</h1>\n");
	write_rows(led, units, &page);
	mor_buf_text(&page, "<h2>Pace</h2>\n");
	mor_crew_report_plot(&led->pace, &page);
	if (led->failures.len) {
		mor_buf_text(&page, "<h2>Failed units</h2>\n<table>\n");
		mor_buf_slice(&page, mor_buf_view(&led->failures));
		mor_buf_text(&page, "</table>\n");
	}
	if (mor_buf_failed(&page) || mor_buf_failed(&led->failures))
		return mor_fail_memory(err);
	return mor_outfile_write(path, 0666, mor_buf_view(&page), err);
}
