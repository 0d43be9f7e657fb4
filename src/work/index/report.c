/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run of mortise index: one line per failure and a summary on stderr, or everything as JSON. */
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "console/report.h"
#include "console/signals.h"
#include "console/warned.h"
#include "index/index.h"

#define MESSAGES_LIMIT ((size_t)16 << 20) /* in the report; --log has all of them */

bool mor_index_to_file(const struct mor_index_args *args)
{
	return args->output && strcmp(args->output, "-") != 0;
}

static void begin_element(struct mor_buf *array)
{
	if (array->len)
		mor_buf_byte(array, ',');
}

static const char *printable_title(const struct mor_unit_end *end, char *out, size_t size)
{
	return mor_printable(mor_slice_of(*end->title ? end->title : end->digest), out, size);
}

static void begin_unit(struct mor_writer *w, const struct mor_unit_end *end)
{
	begin_element(w->out);
	mor_w_object(w);
	mor_w_pair(w, "unit", end->digest);
	mor_w_pair(w, "name", end->title);
	mor_w_pair(w, "kzip", end->kzip);
}

void mor_index_note_empty(struct mor_index *x, const struct mor_unit_end *end)
{
	struct mor_writer w = { .out = &x->empties };
	char title[300];

	mor_note(x->console, "warning: %s: the analyzer wrote nothing%s",
		 printable_title(end, title, sizeof(title)), end->earlier ? " (in an earlier run)" : "");
	begin_unit(&w, end);
	mor_w_pair_bool(&w, "earlier", end->earlier);
	mor_w_end(&w);
}

void mor_index_note_failure(struct mor_index *x, const struct mor_unit_end *end)
{
	struct mor_writer w = { .out = &x->failures };
	char title[300], reason[800];

	mor_printable(mor_slice_of(end->reason), reason, sizeof(reason));
	mor_note(x->console, "%sfailed%s: %s: %s%s", mor_style_err(x->console, MOR_STYLE_BAD),
		 mor_style_err_end(x->console), printable_title(end, title, sizeof(title)), reason,
		 end->earlier ? " (in an earlier run)" : "");
	x->breaches += end->code == MORTISE_EPROTO || end->code == MORTISE_EVIOLATION;
	begin_unit(&w, end);
	mor_w_pair(&w, "reason", end->reason);
	mor_w_pair(&w, "kind", mortise_status_kind(end->code));
	mor_w_pair_int(&w, "attempts", end->attempts);
	mor_w_pair_bool(&w, "earlier", end->earlier);
	mor_w_end(&w);
}

void mor_index_note_message(struct mor_index *x, const struct mor_unit_log *log)
{
	struct mor_writer w = { .out = &x->messages };

	if (!x->console->json || x->messages.len > MESSAGES_LIMIT)
		return;
	begin_element(&x->messages);
	mor_w_object(&w);
	mor_w_pair(&w, "unit", log->title);
	mor_w_pair(&w, "file", log->file);
	mor_w_pair_int(&w, "line", log->line);
	mor_w_pair_int(&w, "column", log->column);
	mor_w_pair(&w, "text", log->text);
	mor_w_end(&w);
}

static int64_t cpu_ms(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

/* The kernel gives us only the sum for all children. What the analyzers did not use, their guardians used. */
static void write_cpu(const struct mor_index *x, struct mor_writer *w)
{
	int64_t analyzers = (int64_t)mor_driver_analyzer_ms(x->driver), children = cpu_ms(RUSAGE_CHILDREN);

	mor_w_pair_object(w, "cpu_ms");
	mor_w_pair_int(w, "analyzers", analyzers);
	mor_w_pair_int(w, "driver", cpu_ms(RUSAGE_SELF));
	mor_w_pair_int(w, "guardians", children > analyzers ? children - analyzers : 0);
	mor_w_end(w);
}

static void write_array(struct mor_writer *w, const char *name, struct mor_buf *elements)
{
	MOR_CLEAN(mor_buf) struct mor_buf array = MOR_BUF_INIT;

	mor_buf_byte(&array, '[');
	mor_buf_slice(&array, mor_buf_view(elements));
	mor_buf_byte(&array, ']');
	mor_w_pair_raw(w, name, mor_buf_view(&array));
}

static const mortise_error *failure_of(const struct mor_index *x)
{
	return x->failure.code ? &x->failure : mor_driver_failure(x->driver);
}

/* What --resume found. */
static void write_resumed(const struct mor_index *x, struct mor_writer *w)
{
	struct mor_result_stats result = mor_result_stats(x->result);
	const char *damage = mor_result_damage(x->result);

	if (!x->args->resume)
		return;
	mor_w_pair_object(w, "resumed");
	mor_w_pair_int(w, "kept", (int64_t)result.kept);
	mor_w_pair_int(w, "dropped", (int64_t)result.dropped);
	if (damage)
		mor_w_pair(w, "damage", damage);
	mor_w_end(w);
}

static void report_json(struct mor_index *x, bool ok)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct mor_result_stats result = mor_result_stats(x->result);
	struct mor_stager_stats staging = mor_stager_stats(x->stager);
	const mortise_error *failure = failure_of(x);

	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", ok);
	mor_w_pair_int(&w, "units", (int64_t)x->ref_count);
	mor_w_pair_int(&w, "done", (int64_t)result.done);
	mor_w_pair_int(&w, "failed", (int64_t)result.failed);
	mor_w_pair_int(&w, "left", (int64_t)(x->ref_count - result.done - result.failed));
	mor_w_pair_int(&w, "empty", (int64_t)result.empty);
	mor_w_pair_int(&w, "entries", (int64_t)x->records);
	mor_w_pair_int(&w, "bytes", (int64_t)result.bytes);
	mor_w_pair(&w, "view", mor_driver_uses_namespace(x->driver) ? "namespace" : "directory");
	mor_w_pair_object(&w, "staging");
	mor_w_pair_int(&w, "written", (int64_t)staging.written);
	mor_w_pair_int(&w, "written_bytes", (int64_t)staging.written_bytes);
	mor_w_pair_int(&w, "mended", (int64_t)staging.mended);
	mor_w_pair_int(&w, "linked", (int64_t)staging.linked);
	mor_w_end(&w);
	write_resumed(x, &w);
	if (x->args->elsewhere)
		x->args->elsewhere->report(&w, x->args->elsewhere->arg);
	mor_w_pair_int(&w, "elapsed_ms", mor_clock_ms() - x->begun_ms);
	write_cpu(x, &w);
	write_array(&w, "failures", &x->failures);
	write_array(&w, "empty_units", &x->empties);
	write_array(&w, "messages", &x->messages);
	if (failure) {
		mor_w_pair(&w, "error", failure->text);
		mor_w_pair(&w, "kind", mortise_status_kind(failure->code));
	}
	mor_warned_write(x->console, &w);
	mor_w_end(&w);
	/* The result itself may go to stdout. Then the report goes to stderr. */
	if (mor_index_to_file(x->args))
		mor_out_json(x->console, mor_buf_view(&json));
	else
		mor_note_slice(x->console, mor_buf_view(&json));
}

static void report_text(struct mor_index *x)
{
	struct mor_result_stats result = mor_result_stats(x->result);
	int64_t ms = mor_clock_ms() - x->begun_ms;
	size_t settled = result.done + result.failed;
	size_t left = x->ref_count - settled;
	char bytes[32], empty[40] = "", stored[60] = "";

	if (result.empty)
		snprintf(empty, sizeof(empty), " (%zu empty)", result.empty);
	if (x->stored)
		snprintf(stored, sizeof(stored), ", %" PRIu64 " from the store", x->stored);
	mor_note(x->console, "%zu of %zu units%s%s, %zu failed, %" PRIu64 " entries, %s in %.1f s", result.done,
		 x->ref_count, empty, stored, result.failed, x->records, mor_format_bytes(result.bytes, bytes),
		 (double)ms / 1000);
	if (settled < x->ref_count && mor_index_to_file(x->args))
		mor_note(x->console, "%zu %s left: run the same command with --resume to go on%s%s%s", left,
			 left == 1 ? "unit is" : "units are", settled ? "; the finished units are in " : "",
			 settled ? x->args->output : "", settled ? ".partial" : "");
}

int mor_index_report(struct mor_index *x)
{
	const mortise_error *failure = failure_of(x);
	struct mor_result_stats result = mor_result_stats(x->result);
	uint64_t mended = mor_stager_stats(x->stager).mended;
	bool ok = !failure && !x->signals && result.done == x->ref_count;

	if (mended)
		mor_note(x->console,
			 "warning: %" PRIu64 " %s in %s had been changed: written again from the archive",
			 mended, mended == 1 ? "content" : "contents", mor_stager_path(x->stager));
	if (x->console->json)
		report_json(x, ok);
	else if (!x->args->elsewhere || !failure || x->signals || result.done + result.failed)
		report_text(x); /* a farm that refuses at once: the error alone says everything */
	if (x->signals)
		return mor_signals_exit_code();
	if (failure) {
		mor_report_line(x->console, &(struct mor_report){ .error = failure });
		return mortise_status_exit_code(failure->code);
	}
	return ok ? 0 : x->breaches ? mortise_status_exit_code(MORTISE_EPROTO) : 1;
}
