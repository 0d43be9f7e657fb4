/* SPDX-License-Identifier: Apache-2.0 */
/* The results for people: 80 columns, or what the terminal or COLUMNS has, from 40 to 120. Where there is
 * little room, bars and some figures are left out, and lines are broken. */
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "console/console.h"
#include "gauge/inside.h"

#define ROWS      16 /* of the histogram */
#define LEAST_BAR 6  /* columns: a shorter one says nothing */

/* How it is printed. */
struct page {
	struct mor_console *console;
	size_t columns;
	bool blocks;       /* the terminal can show them */
	const char *micro; /* "us", with a Greek letter where that can be shown */
};

static bool can_show(const struct mor_console *console)
{
	return console->out_terminal && !console->json && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

const char *mor_gauge_micro(const struct mor_console *console)
{
	return can_show(console) ? "µs" : "us";
}

static size_t count_columns(const struct mor_console *console)
{
	const char *wanted = getenv("COLUMNS");
	struct winsize size = { 0 };
	uint32_t columns = 0;

	if (!wanted || !mor_parse_u32(mor_slice_of(wanted), &columns))
		columns = 0;
	if (!columns && console->out_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		columns = size.ws_col;
	if (!columns)
		columns = 80;
	return columns > 120 ? 120 : columns < 40 ? 40 : columns;
}

static struct page open_page(struct mor_console *console)
{
	return (struct page){ .console = console,
			      .columns = count_columns(console),
			      .blocks = can_show(console),
			      .micro = mor_gauge_micro(console) };
}

static const char *format_micros(const struct page *page, double us, char out[32])
{
	return mor_judgement_us(us, page->micro, out);
}

static const char *format_nanos(const struct page *page, double ns, char out[32])
{
	return format_micros(page, ns / 1000, out);
}

/* Right-aligned. The Greek letter has two bytes and one column, which printf does not know. */
static void out_right(const struct page *page, const char *text, int width)
{
	int extra = (int)strlen(text) - (int)strcspn(text, "\xc2") > 0 ? 1 : 0;

	mor_outf(page->console, "%*s", width + extra, text);
}

/* Ends a line of so many columns with two blanks and a bar, in eighths where there are blocks. What is there at
 * all is shown, if only as a dot. */
static void out_bar(const struct page *page, double part, size_t used)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	size_t units = page->blocks ? 8 : 1, width = page->columns - used;
	size_t length = (size_t)(part * (double)(width * units) + 0.5);

	if (page->columns < used + LEAST_BAR) {
		mor_out_text(page->console, "\n");
		return;
	}
	if (part > 0 && length == 0 && page->blocks)
		length = 1;
	mor_outf(page->console, "%s%s", part > 0 ? "  " : "", mor_style(page->console, MOR_STYLE_LABEL));
	for (size_t i = 0; i < length / units; i++)
		mor_out_text(page->console, page->blocks ? "█" : "#");
	mor_out_text(page->console, page->blocks ? eighths[length % 8] : part > 0 && !length ? "." : "");
	mor_out_text(page->console, mor_style_end(page->console));
	mor_out_text(page->console, "\n");
}

/* Text broken between words; further lines begin with so many blanks. */
static void out_wrapped(const struct page *page, const char *text, size_t indent)
{
	size_t at = indent;

	for (const char *word = text; *word;) {
		size_t len = strcspn(word, " ");

		if (at > indent && at + 1 + len > page->columns) {
			mor_outf(page->console, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			mor_out_text(page->console, " ");
			at++;
		}
		mor_outf(page->console, "%.*s", (int)len, word);
		at += len;
		word += len + strspn(word + len, " ");
	}
	mor_out_text(page->console, "\n");
}

/* ---- the parts ---- */

static void show_head(const struct page *page, const struct mor_gauge *g)
{
	char name[100], method[100];

	mor_printable(mor_slice_of(mortise_plugin_name(g->plugin)), name, sizeof(name));
	mor_printable(mor_slice_of(g->plan->method), method, sizeof(method));
	mor_outf(page->console, "%s%s%s: %s, %s, %s\n", mor_style(page->console, MOR_STYLE_TITLE), name,
		 mor_style_end(page->console), method, mortise_plugin_dialect(g->plugin), g->level);
}

static void show_span(const struct page *page, const char *label, const struct mor_hist *hist)
{
	char middle[32], least[32], most[32];

	mor_outf(page->console, "  %-18s", label);
	out_right(page, format_nanos(page, (double)mor_hist_at(hist, 0.5), middle), 9);
	if (hist->count > 1)
		mor_outf(page->console, "%s  (%s to %s)", page->columns < 56 ? "\n" : "",
			 format_nanos(page, (double)hist->least, least),
			 format_nanos(page, (double)hist->largest, most));
	mor_out_text(page->console, "\n");
}

static void show_starts(const struct page *page, const struct mor_gauge *g)
{
	uint64_t count = g->first->count ? g->first->count : g->ready->count;
	char title[80];

	if (count > 1)
		snprintf(title, sizeof(title), "Start (median of %llu)", (unsigned long long)count);
	else
		snprintf(title, sizeof(title), "Start (once)");
	mor_out_title(page->console, title);
	if (g->ready->count)
		show_span(page, "until ready", g->ready);
	if (g->first->count)
		show_span(page, "until first answer", g->first);
	else
		mor_out_text(page->console, "  the first call was not answered\n");
}

static void show_row(const struct page *page, const struct mor_hist *hist, const struct mor_hist_row *row,
		     double part)
{
	uint64_t to = row->to > hist->largest ? hist->largest : row->to;
	char text[32];

	mor_out_text(page->console, "  ");
	out_right(page, format_nanos(page, (double)row->from, text), 9);
	mor_out_text(page->console, " - ");
	out_right(page, format_nanos(page, (double)to, text), 9);
	mor_outf(page->console, " %9llu", (unsigned long long)row->count);
	if (page->columns >= 44)
		mor_outf(page->console, " %5.1f %%", 100 * (double)row->count / (double)hist->count);
	out_bar(page, part, 44);
}

/* Of three and more empty rows in a row, only dots are shown. */
static void show_rows(const struct page *page, const struct mor_hist *hist)
{
	struct mor_hist_row rows[ROWS];
	size_t count = mor_hist_rows(hist, rows, ROWS);
	uint64_t most = 1;

	for (size_t i = 0; i < count; i++)
		most = rows[i].count > most ? rows[i].count : most;
	for (size_t i = 0; i < count; i++) {
		size_t empty = i;

		while (empty < count && !rows[empty].count)
			empty++;
		if (empty - i >= 3) {
			mor_outf(page->console, "  %9s\n", "...");
			i = empty - 1;
		} else {
			show_row(page, hist, &rows[i], (double)rows[i].count / (double)most);
		}
	}
}

#define CENTILES 6

/* Labels, and the values below them: as many beside each other as there is room for. */
static void show_centiles(const struct page *page, const struct mor_hist *hist)
{
	static const char *const labels[CENTILES] = { "p50", "p90", "p99", "p99.9", "max", "mean" };
	const double values[CENTILES] = { (double)mor_hist_at(hist, 0.5),  (double)mor_hist_at(hist, 0.9),
					  (double)mor_hist_at(hist, 0.99), (double)mor_hist_at(hist, 0.999),
					  (double)mor_hist_at(hist, 1),    mor_hist_mean(hist) };
	size_t beside = page->columns < 11 * CENTILES ? CENTILES / 2 : CENTILES;
	char text[32];

	for (size_t first = 0; first < CENTILES; first += beside) {
		mor_out_text(page->console, mor_style(page->console, MOR_STYLE_LABEL));
		for (size_t i = first; i < first + beside; i++)
			mor_outf(page->console, " %10s", labels[i]);
		mor_outf(page->console, "%s\n", mor_style_end(page->console));
		for (size_t i = first; i < first + beside; i++) {
			mor_out_text(page->console, " ");
			out_right(page, format_nanos(page, values[i], text), 10);
		}
		mor_out_text(page->console, "\n");
	}
}

static void show_latency(const struct page *page, const struct mor_gauge *g)
{
	const struct mor_gauge_step *one = g->steps;
	char text[120];

	snprintf(text, sizeof(text), "Latency (%llu call%s in %.2f s%s)", (unsigned long long)one->calls,
		 one->calls == 1 ? "" : "s", one->seconds, page->columns < 60 ? "" : ", one at a time");
	mor_out_title(page->console, text);
	show_centiles(page, g->latency);
	mor_out_text(page->console, "\n");
	show_rows(page, g->latency);
}

static void show_steps(const struct page *page, const struct mor_gauge *g)
{
	const char *indent = page->columns < 44 ? "" : "  ";
	double most = 0;
	char p50[32], p99[32];

	for (size_t i = 0; i < g->steps_count; i++)
		most = g->steps[i].rate > most ? g->steps[i].rate : most;
	mor_out_title(page->console, "Throughput");
	mor_outf(page->console, "%s%9s %10s %9s %9s\n", indent, "in flight", "calls/s", "p50", "p99");
	for (size_t i = 0; i < g->steps_count; i++) {
		const struct mor_gauge_step *step = &g->steps[i];

		mor_outf(page->console, "%s%9u %10.*f ", indent, step->in_flight, step->rate < 100 ? 1 : 0,
			 step->rate);
		out_right(page, format_micros(page, step->p50, p50), 9);
		mor_out_text(page->console, " ");
		out_right(page, format_micros(page, step->p99, p99), 9);
		out_bar(page, most > 0 ? step->rate / most : 0, 46);
	}
}

static const char *bytes_or_dash(uint64_t bytes, char out[32])
{
	return bytes ? mor_format_bytes(bytes, out) : "-";
}

/* Widths of the labels and the columns of this part. */
static int use_label(const struct page *page)
{
	return page->columns < 62 ? 9 : 22;
}

static int use_width(const struct page *page)
{
	return page->columns < 62 ? 9 : 12;
}

static void out_use_label(const struct page *page, const char *label, const char *brief)
{
	mor_outf(page->console, "%-*s", use_label(page), page->columns < 62 ? brief : label);
}

static void out_use_text(const struct page *page, const char *text)
{
	mor_out_text(page->console, " ");
	out_right(page, text, use_width(page));
}

static void show_memory_row(const struct page *page, const char *label, const char *brief,
			    const uint64_t bytes[3])
{
	char text[32];

	out_use_label(page, label, brief);
	for (size_t i = 0; i < 3; i++)
		out_use_text(page, bytes_or_dash(bytes[i], text));
	mor_out_text(page->console, "\n");
}

static void show_use(const struct page *page, const struct mor_gauge *g)
{
	static const char *const who[] = { "host", "guardian", "plugin" };
	const double cpu[] = { g->cost.host, g->cost.guardian, g->cost.plugin };
	const struct mor_usage_memory *memory[] = { &g->host_memory, &g->guardian_memory, &g->plugin_memory };
	char text[32];

	mor_out_title(page->console, "What it uses");
	out_use_label(page, "", "");
	for (size_t i = 0; i < 3; i++)
		out_use_text(page, who[i]);
	mor_out_text(page->console, "\n");
	out_use_label(page, "  processor per call", "CPU/call");
	for (size_t i = 0; i < 3; i++)
		out_use_text(page, g->verdict.main.kind ? format_micros(page, cpu[i], text) : "-");
	mor_out_text(page->console, "\n");
	show_memory_row(page, "  memory at most", "memory",
			(uint64_t[]){ memory[0]->rss_peak, memory[1]->rss_peak, memory[2]->rss_peak });
	show_memory_row(page, "    shared once (PSS)", "PSS",
			(uint64_t[]){ memory[0]->pss, memory[1]->pss, memory[2]->pss });
	out_use_label(page, "  processes", "processes");
	for (size_t i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%u", memory[i]->processes);
		out_use_text(page, text);
	}
	mor_out_text(page->console, "\n");
}

static void show_where(const struct page *page, const struct mor_gauge *g)
{
	const struct mor_judgement *v = &g->verdict;
	char text[32];

	mor_out_title(page->console, "Where the time of a call goes");
	for (int i = 0; i < MOR_PORTIONS; i++) {
		if (v->share[i] < 0.005)
			continue;
		mor_outf(page->console, "  %-18s ", mor_portion_label((enum mor_portion)i));
		out_right(page, format_micros(page, v->us[i], text), 9);
		mor_outf(page->console, " %4.0f %%", 100 * v->share[i]);
		out_bar(page, v->share[i], 40);
	}
}

static void show_sentence(const struct page *page, const struct mor_judgement_text *text)
{
	mor_out_text(page->console, "  * ");
	out_wrapped(page, text->text, 4);
	if (!*text->advice)
		return;
	mor_out_text(page->console, "    > ");
	out_wrapped(page, text->advice, 6);
}

static void show_verdict(const struct page *page, const struct mor_gauge *g)
{
	char text[600], shown[500];

	mor_out_title(page->console, "Verdict");
	show_sentence(page, &g->verdict.main);
	for (size_t i = 0; i < g->verdict.notes_count; i++)
		show_sentence(page, &g->verdict.notes[i]);
	if (!g->errors)
		return;
	snprintf(text, sizeof(text), "first error: %s",
		 mor_printable(mor_slice_of(g->first_error.text), shown, sizeof(shown)));
	mor_out_text(page->console, "  * ");
	out_wrapped(page, text, 4);
}

void mor_gauge_page(const struct mor_gauge *g, struct mor_console *console)
{
	struct page page = open_page(console);

	if (!g->first->count && !(g->interrupted && g->ready->count)) /* else the error says it all */
		return;
	show_head(&page, g);
	show_starts(&page, g);
	if (!g->steps_count)
		return;
	show_latency(&page, g);
	show_steps(&page, g);
	show_use(&page, g);
	if (!g->verdict.main.kind)
		return;
	show_where(&page, g);
	show_verdict(&page, g);
}
