/* SPDX-License-Identifier: Apache-2.0 */
/* The results for people: at most 80 columns, or what the terminal has up to 120. */
#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "console/console.h"
#include "gauge/inside.h"

#define ROWS 16 /* of the histogram */

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

static struct page open_page(struct mor_console *console)
{
	struct page page = { .console = console, .columns = 80, .micro = "us" };
	struct winsize size = { 0 };

	if (!console->out_terminal)
		return page;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
		page.columns = size.ws_col > 120 ? 120 : size.ws_col < 60 ? 60 : size.ws_col;
	page.blocks = can_show(console);
	page.micro = mor_gauge_micro(console);
	return page;
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

/* Two blanks and a bar of so many columns, in eighths where there are blocks. What is there at all is shown, if
 * only as a dot. */
static void out_bar(const struct page *page, double part, size_t width)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	size_t units = page->blocks ? 8 : 1, length = (size_t)(part * (double)(width * units) + 0.5);

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
		mor_outf(page->console, "  (%s to %s)", format_nanos(page, (double)hist->least, least),
			 format_nanos(page, (double)hist->largest, most));
	mor_out_text(page->console, "\n");
}

static void show_starts(const struct page *page, const struct mor_gauge *g)
{
	uint64_t count = g->first->count ? g->first->count : g->ready->count;
	char title[80];

	snprintf(title, sizeof(title), "Start (median of %llu)", (unsigned long long)count);
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
	mor_outf(page->console, " %9llu %5.1f %%", (unsigned long long)row->count,
		 100 * (double)row->count / (double)hist->count);
	out_bar(page, part, page->columns - 44);
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

static void show_latency(const struct page *page, const struct mor_gauge *g)
{
	static const struct {
		const char *label;
		double part;
	} parts[] = { { "p50", 0.5 }, { "p90", 0.9 }, { "p99", 0.99 }, { "p99.9", 0.999 }, { "max", 1 } };
	const struct mor_gauge_step *one = g->steps;
	char text[120];

	snprintf(text, sizeof(text), "Latency (%llu calls in %.2f s, one at a time)",
		 (unsigned long long)one->calls, one->seconds);
	mor_out_title(page->console, text);
	mor_out_text(page->console, mor_style(page->console, MOR_STYLE_LABEL));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		mor_outf(page->console, " %10s", parts[i].label);
	mor_outf(page->console, " %10s%s\n", "mean", mor_style_end(page->console));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		mor_out_text(page->console, " ");
		out_right(page, format_nanos(page, (double)mor_hist_at(g->latency, parts[i].part), text), 10);
	}
	mor_out_text(page->console, " ");
	out_right(page, format_nanos(page, mor_hist_mean(g->latency), text), 10);
	mor_out_text(page->console, "\n\n");
	show_rows(page, g->latency);
}

static void show_steps(const struct page *page, const struct mor_gauge *g)
{
	double most = 0;
	char p50[32], p99[32];

	for (size_t i = 0; i < g->steps_count; i++)
		most = g->steps[i].rate > most ? g->steps[i].rate : most;
	mor_out_title(page->console, "Throughput");
	mor_outf(page->console, "  %9s %10s %9s %9s\n", "in flight", "calls/s", "p50", "p99");
	for (size_t i = 0; i < g->steps_count; i++) {
		const struct mor_gauge_step *step = &g->steps[i];

		mor_outf(page->console, "  %9u %10.*f ", step->in_flight, step->rate < 100 ? 1 : 0, step->rate);
		out_right(page, format_micros(page, step->p50, p50), 9);
		mor_out_text(page->console, " ");
		out_right(page, format_micros(page, step->p99, p99), 9);
		out_bar(page, most > 0 ? step->rate / most : 0, page->columns - 46);
	}
}

static const char *bytes_or_dash(uint64_t bytes, char out[32])
{
	return bytes ? mor_format_bytes(bytes, out) : "-";
}

static void show_memory_row(const struct page *page, const char *label, uint64_t host, uint64_t guardian,
			    uint64_t plugin)
{
	char a[32], b[32], c[32];

	mor_outf(page->console, "  %-20s %12s %12s %12s\n", label, bytes_or_dash(host, a),
		 bytes_or_dash(guardian, b), bytes_or_dash(plugin, c));
}

static void show_use(const struct page *page, const struct mor_gauge *g)
{
	const double cpu[] = { g->cost.host, g->cost.guardian, g->cost.plugin };
	char text[32];

	mor_out_title(page->console, "What it uses");
	mor_outf(page->console, "  %-20s %12s %12s %12s\n", "", "host", "guardian", "plugin");
	mor_outf(page->console, "  %-20s", "processor per call");
	for (size_t i = 0; i < 3; i++) {
		mor_out_text(page->console, " ");
		out_right(page, g->verdict.main.kind ? format_micros(page, cpu[i], text) : "-", 12);
	}
	mor_out_text(page->console, "\n");
	show_memory_row(page, "memory at most", g->host_memory.rss_peak, g->guardian_memory.rss_peak,
			g->plugin_memory.rss_peak);
	show_memory_row(page, "  not shared (PSS)", g->host_memory.pss, g->guardian_memory.pss,
			g->plugin_memory.pss);
	mor_outf(page->console, "  %-20s %12u %12u %12u\n", "processes", g->host_memory.processes,
		 g->guardian_memory.processes, g->plugin_memory.processes);
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
		out_bar(page, v->share[i], page->columns - 40);
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
