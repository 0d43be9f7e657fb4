/* SPDX-License-Identifier: Apache-2.0 */
/* The same results as a page for people, JSON, TAP and JUnit. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "check/own.h"

static const struct {
	const char *name, *mark;
	enum mor_style style;
} verdicts[MOR_CHECK_VERDICTS] = {
	[MOR_CHECK_PASS] = { "pass", "ok  ", MOR_STYLE_GOOD },
	[MOR_CHECK_FAIL] = { "fail", "FAIL", MOR_STYLE_BAD },
	[MOR_CHECK_WARN] = { "warn", "warn", MOR_STYLE_WARN },
	[MOR_CHECK_UNSEEN] = { "not_observed", "  - ", MOR_STYLE_DIM },
};

const char *mor_check_verdict_name(enum mor_check_verdict verdict)
{
	return verdicts[verdict].name;
}

void mor_check_report_fini(struct mor_check_report *report)
{
	for (size_t i = 0; i < report->count; i++) {
		mor_free(report->item[i].why);
		mor_free(report->item[i].talk);
	}
	mor_free(report->item);
	mor_texts_free(report->stale);
	*report = (struct mor_check_report){ 0 };
}

void mor_check_count(struct mor_check_report *report)
{
	memset(report->sum, 0, sizeof(report->sum));
	report->expected = 0;
	for (size_t i = 0; i < report->count; i++) {
		struct mor_check_result *result = &report->item[i];

		if (report->strict && result->verdict == MOR_CHECK_WARN)
			result->verdict = MOR_CHECK_FAIL;
		report->sum[result->verdict]++;
		report->expected += result->verdict == MOR_CHECK_FAIL && result->expected;
	}
}

/* A host that never started the plugin has shown nothing. */
static bool saw_nothing(const struct mor_check_report *report)
{
	return report->count && report->sum[MOR_CHECK_UNSEEN] == report->count;
}

static const char *first_why(const struct mor_check_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		if (report->item[i].why)
			return report->item[i].why;
	return "it is not known why";
}

static bool is_good(const struct mor_check_report *report)
{
	return !saw_nothing(report) && report->sum[MOR_CHECK_FAIL] == report->expected && !report->stale;
}

int mor_check_exit_code(const struct mor_check_report *report)
{
	return is_good(report) ? 0 : 1;
}

const char *mor_check_clean(const char *text, char out[static MOR_CHECK_CLEAN])
{
	return mor_printable(mor_slice_of(text ? text : ""), out, MOR_CHECK_CLEAN);
}

/* ---- for people ---- */

/* "yams.handshake.name" -> "handshake", by its length. */
static struct mor_slice group_of(const struct mor_check_report *report, const struct mor_check_result *result)
{
	const char *name = strchr(result->id, '.') + 1;

	if (report->host)
		name = strchr(name, '.') + 1;
	return (struct mor_slice){ name, strcspn(name, ".") };
}

#define TALK_TAIL 12 /* the end of a conversation tells most; --json has all of it */

static const char *tail_of(const char *talk)
{
	size_t lines = 0;

	for (const char *c = talk; c && *c; c++)
		lines += *c == '\n';
	for (; lines > TALK_TAIL; lines--)
		talk = strchr(talk, '\n') + 1;
	return talk;
}

static void print_evidence(struct mor_console *console, const struct mor_check_result *result)
{
	struct mor_slice talk = mor_slice_of(tail_of(result->talk));
	char clean[MOR_CHECK_CLEAN];

	mor_outf(console, "       %s\n", mor_check_clean(result->why, clean));
	mor_outf(console, "       specification: %s\n", result->spec);
	while (talk.len)
		mor_outf(console, "         %s%s%s\n", mor_style(console, MOR_STYLE_DIM),
			 mor_printable(mor_slice_cut(&talk, '\n'), clean, sizeof(clean)),
			 mor_style_end(console));
	if (result->advice)
		mor_outf(console, "       what to do: %s\n", result->advice);
}

static void print_line(struct mor_console *console, const struct mor_check_result *result)
{
	bool bad = result->verdict == MOR_CHECK_FAIL || result->verdict == MOR_CHECK_WARN;
	char why[MOR_CHECK_CLEAN];

	mor_outf(console, "  %s%s%s %s: %s%s\n", mor_style(console, verdicts[result->verdict].style),
		 verdicts[result->verdict].mark, mor_style_end(console), result->id, result->title,
		 result->expected && bad ? " (expected)" : "");
	if (bad && !result->expected)
		print_evidence(console, result);
	else if (result->verdict == MOR_CHECK_UNSEEN && console->verbose && result->why)
		mor_outf(console, "       %s\n", mor_check_clean(result->why, why));
}

static void print_sum(struct mor_console *console, const struct mor_check_report *report)
{
	bool good = is_good(report);
	char subject[MOR_CHECK_CLEAN], why[MOR_CHECK_CLEAN];

	for (char **id = report->stale; id && *id; id++)
		mor_outf(console, "%sstale%s: %s is in the baseline, but does not fail any more: remove it\n",
			 mor_style(console, MOR_STYLE_BAD), mor_style_end(console), *id);
	if (saw_nothing(report))
		mor_outf(console, "nothing was observed: %s\n", mor_check_clean(first_why(report), why));
	mor_outf(console, "%s%s%s: %s: %zu passed, %zu failed",
		 mor_style(console, good ? MOR_STYLE_GOOD : MOR_STYLE_BAD), good ? "good" : "bad",
		 mor_style_end(console), mor_check_clean(report->subject, subject), report->sum[MOR_CHECK_PASS],
		 report->sum[MOR_CHECK_FAIL]);
	if (report->expected)
		mor_outf(console, " (%zu expected)", report->expected);
	mor_outf(console, ", %zu warned, %zu not observed (%s)\n", report->sum[MOR_CHECK_WARN],
		 report->sum[MOR_CHECK_UNSEEN], report->dialect);
}

static void print_group(struct mor_console *console, const struct mor_check_report *report, size_t first)
{
	struct mor_slice group = group_of(report, &report->item[first]);
	char title[64];

	snprintf(title, sizeof(title), "%.*s", (int)group.len, group.ptr);
	mor_out_title(console, title);
	for (size_t i = first; i < report->count; i++)
		if (mor_slice_eq(group, group_of(report, &report->item[i])))
			print_line(console, &report->item[i]);
}

void mor_check_print_people(struct mor_console *console, const struct mor_check_report *report)
{
	for (size_t i = 0; i < report->count; i++) {
		struct mor_slice group = group_of(report, &report->item[i]);
		size_t j = 0;

		while (j < i && !mor_slice_eq(group, group_of(report, &report->item[j])))
			j++;
		if (j == i)
			print_group(console, report, i);
	}
	mor_out_text(console, "\n");
	print_sum(console, report);
}

void mor_check_print_list(struct mor_console *console, const struct mor_check_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		mor_outf(console, "%-36s %-6s %s\n", report->item[i].id,
			 report->item[i].level == MOR_CHECK_MUST ? "must" : "should", report->item[i].title);
}

/* ---- JSON ---- */

static void write_result(struct mor_writer *w, const struct mor_check_result *result, bool list)
{
	mor_w_object(w);
	mor_w_pair(w, "id", result->id);
	mor_w_pair(w, "title", result->title);
	mor_w_pair(w, "spec", result->spec);
	mor_w_pair(w, "level", result->level == MOR_CHECK_MUST ? "must" : "should");
	mor_w_pair(w, "advice", result->advice);
	if (!list) {
		mor_w_pair(w, "result", mor_check_verdict_name(result->verdict));
		mor_w_pair_bool(w, "expected", result->expected);
		mor_w_pair(w, "why", result->why);
		mor_w_pair_int(w, "ms", result->ms);
		mor_w_pair_array(w, "talk");
		for (struct mor_slice talk = mor_slice_of(result->talk); talk.len;)
			mor_w_slice(w, mor_slice_cut(&talk, '\n'));
		mor_w_end(w);
	}
	mor_w_end(w);
}

static void write_sum(struct mor_writer *w, const struct mor_check_report *report)
{
	mor_w_pair_object(w, "summary");
	for (unsigned i = 0; i < MOR_CHECK_VERDICTS; i++)
		mor_w_pair_int(w, verdicts[i].name, (int64_t)report->sum[i]);
	mor_w_pair_int(w, "expected", (int64_t)report->expected);
	mor_w_end(w);
	mor_w_pair_array(w, "stale");
	for (char **id = report->stale; id && *id; id++)
		mor_w_string(w, *id);
	mor_w_end(w);
}

void mor_check_write_json(const struct mor_check_report *report, bool list, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	if (!list) {
		mor_w_pair_bool(&w, "ok", is_good(report));
		mor_w_pair(&w, "subject", report->subject);
		mor_w_pair(&w, "dialect", report->dialect);
		mor_w_pair_bool(&w, "strict", report->strict);
		write_sum(&w, report);
	}
	mor_w_pair_array(&w, "checks");
	for (size_t i = 0; i < report->count; i++)
		write_result(&w, &report->item[i], list);
	mor_w_end(&w);
	mor_w_end(&w);
}

/* ---- TAP ---- */

/* An expected failure is "not ok ... # TODO", what was not observed "ok ... # SKIP". */
static void write_tap_line(struct mor_buf *out, const struct mor_check_result *result, size_t number)
{
	bool bad = result->verdict == MOR_CHECK_FAIL;
	char why[MOR_CHECK_CLEAN];

	mor_buf_printf(out, "%sok %zu - %s: %s", bad ? "not " : "", number, result->id, result->title);
	if (bad && result->expected)
		mor_buf_text(out, " # TODO expected");
	else if (result->verdict == MOR_CHECK_UNSEEN)
		mor_buf_printf(out, " # SKIP %s",
			       result->why ? mor_check_clean(result->why, why) : "not observed");
	mor_buf_byte(out, '\n');
	if (result->verdict != MOR_CHECK_WARN && !bad)
		return;
	mor_buf_printf(out, "  # %s: %s\n  # specification: %s\n", mor_check_verdict_name(result->verdict),
		       mor_check_clean(result->why, why), result->spec);
	if (result->advice)
		mor_buf_printf(out, "  # what to do: %s\n", result->advice);
}

void mor_check_write_tap(const struct mor_check_report *report, struct mor_buf *out)
{
	mor_buf_printf(out, "TAP version 13\n1..%zu\n", report->count);
	for (size_t i = 0; i < report->count; i++)
		write_tap_line(out, &report->item[i], i + 1);
	for (char **id = report->stale; id && *id; id++)
		mor_buf_printf(out, "Bail out! %s is in the baseline, but does not fail any more\n", *id);
}

/* ---- JUnit ---- */

/* XML 1.0, section 2.2: no control characters except tab and newline, not U+FFFE and U+FFFF. */
static bool is_xml(struct mor_slice c)
{
	return (unsigned char)c.ptr[0] >= ' ' ?
		       !mor_slice_is(c, "\xef\xbf\xbe") && !mor_slice_is(c, "\xef\xbf\xbf") :
		       c.ptr[0] == '\n' || c.ptr[0] == '\t';
}

/* What cannot be in a document at all, and bytes that are not UTF-8, are U+FFFD. */
static void write_xml(struct mor_buf *out, const char *text)
{
	size_t left = text ? strlen(text) : 0, len;

	for (; left; text += len, left -= len) {
		struct mor_slice c = { text, len = mor_utf8_sequence(text, left) };

		if (!len) {
			len = 1;
			mor_buf_text(out, "\xef\xbf\xbd");
		} else if (*text == '&')
			mor_buf_text(out, "&amp;");
		else if (*text == '<')
			mor_buf_text(out, "&lt;");
		else if (*text == '>')
			mor_buf_text(out, "&gt;");
		else if (*text == '"')
			mor_buf_text(out, "&quot;");
		else
			mor_buf_slice(out, is_xml(c) ? c : MOR_SLICE("\xef\xbf\xbd"));
	}
}

static void write_junit_case(struct mor_buf *out, const struct mor_check_report *report,
			     const struct mor_check_result *result)
{
	const char *tag = NULL;

	if (result->verdict == MOR_CHECK_FAIL && !result->expected)
		tag = "failure";
	else if (result->verdict == MOR_CHECK_UNSEEN || result->expected)
		tag = "skipped";
	mor_buf_printf(out, "    <testcase classname=\"%s\" name=\"%s\" time=\"%lld.%03lld\">\n",
		       report->dialect, result->id, (long long)result->ms / 1000, (long long)result->ms % 1000);
	if (tag) {
		mor_buf_printf(out, "      <%s message=\"", tag);
		write_xml(out, result->why);
		mor_buf_text(out, "\">");
		write_xml(out, tag[0] == 'f' ? result->talk : "");
		mor_buf_printf(out, "</%s>\n", tag);
	}
	if (result->verdict == MOR_CHECK_WARN) {
		mor_buf_text(out, "      <system-out>warning: ");
		write_xml(out, result->why);
		mor_buf_text(out, "</system-out>\n");
	}
	mor_buf_text(out, "    </testcase>\n");
}

void mor_check_write_junit(const struct mor_check_report *report, struct mor_buf *out)
{
	mor_buf_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"");
	write_xml(out, report->subject);
	mor_buf_printf(out, "\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n", report->count,
		       report->sum[MOR_CHECK_FAIL] - report->expected,
		       report->sum[MOR_CHECK_UNSEEN] + report->expected);
	for (size_t i = 0; i < report->count; i++)
		write_junit_case(out, report, &report->item[i]);
	mor_buf_text(out, "  </testsuite>\n</testsuites>\n");
}
