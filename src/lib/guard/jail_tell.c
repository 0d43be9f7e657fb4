/* SPDX-License-Identifier: Apache-2.0 */
/* From records to results and texts. See jail_tell.h. */
#include "guard/jail_tell.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "wire/json.h"

void mor_jail_tale_fini(struct mor_jail_tale *tale)
{
	mor_denials_fini(&tale->denials);
	mor_buf_fini(&tale->violation);
}

static void hand_over(struct mor_jail_tale *tale, const struct mor_buf *json)
{
	if (tale->opt->on_record && !mor_buf_failed(json))
		tale->opt->on_record((mortise_json){ json->data, json->len }, tale->opt->arg);
}

void mor_jail_tell_denied(struct mor_jail_tale *tale, const struct mor_record *record)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	const struct mor_denial *item;
	struct mor_violation what;

	if (mor_denials_take(&tale->denials, record) <= 0) /* known, or no memory: then it is only counted */
		return;
	item = &tale->denials.items[tale->denials.count - 1];
	what = mor_denials_violation(item, tale->name, tale->source);
	if (item->allowed)
		mor_denials_need_json(item, tale->name, tale->source, &json);
	else
		mor_violation_json(&what, &json);
	hand_over(tale, &json);
}

static int violated(struct mor_jail_tale *tale, const struct mor_record *record, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_jail_outcome *ret = tale->ret;
	char rule[sizeof(record->rule) + 1];
	struct mor_violation what = { .plugin = tale->name,
				      .syscall = ret->syscall,
				      .path = ret->path,
				      .rule = rule,
				      .source = tale->source };

	if (record->forbidden < MOR_FORBIDDEN_COUNT)
		what.row = &mor_forbidden_rows[record->forbidden];
	mor_text_keep(rule, sizeof(rule), record->rule, sizeof(record->rule));
	mor_text_keep(ret->syscall, sizeof(ret->syscall), record->syscall, sizeof(record->syscall));
	mor_text_keep(ret->path, sizeof(ret->path), record->path, sizeof(record->path));
	snprintf(ret->rule, sizeof(ret->rule), "%s", mor_violation_rule(what.source, rule));
	ret->exit_code = mortise_status_exit_code(MORTISE_EVIOLATION);
	tale->end = MOR_TALE_BY_VIOLATION;
	mor_violation_json(&what, &tale->violation);
	hand_over(tale, &tale->violation);
	if (mor_violation_text(&what, &text) < 0)
		return mor_fail(err, MORTISE_EVIOLATION, "%s did something that its permissions do not allow",
				tale->name);
	return mor_fail(err, MORTISE_EVIOLATION, "%.*s", (int)text.len, text.data);
}

/* ", "-separated, in the result. */
static void name_limits(struct mor_jail_tale *tale, unsigned limits)
{
	static const char *const names[] = {
		[MOR_LIMIT_WALL] = "wall",           [MOR_LIMIT_CPU] = "cpu",
		[MOR_LIMIT_FILE_SIZE] = "file_size", [MOR_LIMIT_PROCESSES] = "processes",
		[MOR_LIMIT_THREADS] = "threads",     [MOR_LIMIT_MEMORY] = "memory",
		[MOR_LIMIT_SCRATCH] = "scratch_size"
	};
	char *to = tale->ret->limits;
	size_t size = sizeof(tale->ret->limits), len = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (limits >> i & 1)
			len += (size_t)snprintf(to + len, size - len, "%s%s", len ? ", " : "", names[i]);
}

static void sum_up_denials(struct mor_jail_tale *tale, const struct mor_record *record)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	mor_denials_take(&tale->denials, record);
	tale->ret->denied = tale->denials.total;
	if (mor_denials_text(&tale->denials, tale->name, tale->source, &text) == 0 && text.len)
		mor_printable(mor_buf_view(&text), tale->ret->denied_text, sizeof(tale->ret->denied_text));
}

int mor_jail_tell_exited(struct mor_jail_tale *tale, const struct mor_record *record, mortise_error *err)
{
	struct mor_jail_outcome *ret = tale->ret;

	ret->timed_out = record->wall != 0;
	name_limits(tale, record->limits);
	sum_up_denials(tale, record);
	if (record->violated)
		return violated(tale, record, err);
	tale->end = ret->timed_out ? MOR_TALE_BY_LIMIT : MOR_TALE_BY_PROGRAM;
	if (!record->known)
		return mor_fail(err, MORTISE_ESYSTEM, "%s ended, but it is not known how", tale->name);
	ret->signal = record->by_signal ? record->status : 0;
	ret->exit_code = record->by_signal ? 128 + record->status : record->status;
	if (ret->signal && strstr(ret->limits, "cpu"))
		tale->end = MOR_TALE_BY_LIMIT;
	if (ret->timed_out)
		ret->exit_code = MOR_TALE_EXIT_TIMED_OUT;
	return 0;
}

/* ---- the last record ---- */

static void write_limits(const char *limits, struct mor_writer *w)
{
	mor_w_pair_array(w, "limits");
	for (size_t len; *limits; limits += len, limits += strspn(limits, ", ")) {
		len = strcspn(limits, ",");
		mor_w_slice(w, (struct mor_slice){ limits, len });
	}
	mor_w_end(w);
}

/* A program can print lines that look like ours, and end with our status. It cannot write this one. */
void mor_jail_tell_end(struct mor_jail_tale *tale, int status, const mortise_error *err)
{
	static const char *const ends[] = { [MOR_TALE_NOT_RUN] = "not_run",
					    [MOR_TALE_BY_PROGRAM] = "program",
					    [MOR_TALE_BY_VIOLATION] = "violation",
					    [MOR_TALE_BY_LIMIT] = "limit" };
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT, denied = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct mor_jail_outcome *ret = tale->ret;

	if (tale->end == MOR_TALE_NOT_RUN && (status == MORTISE_ENOTFOUND || status == MORTISE_EEXEC))
		ret->exit_code = status == MORTISE_EEXEC ? MOR_TALE_EXIT_CANNOT_RUN : MOR_TALE_EXIT_NOT_FOUND;
	if (mor_denials_json(&tale->denials, tale->name, tale->source, &denied) < 0)
		return; /* no memory */
	mor_w_object(&w);
	mor_w_pair(&w, "event", "jail_end");
	mor_w_pair(&w, "program", *tale->name ? tale->name : NULL);
	mor_w_pair_int(&w, "exit_code", ret->exit_code);
	mor_w_pair_int(&w, "signal", ret->signal);
	mor_w_pair(&w, "ended_by", ends[tale->end]);
	mor_w_pair(&w, "level", *ret->level ? ret->level : NULL);
	mor_w_pair(&w, "rung", *ret->rung ? ret->rung : NULL);
	write_limits(ret->limits, &w);
	mor_w_pair(&w, "error", status < 0 && *err->text ? err->text : NULL);
	mor_w_pair_raw(&w, "violation",
		       tale->violation.len ? mor_buf_view(&tale->violation) : mor_slice_of("null"));
	mor_w_pair_raw(&w, "denied", mor_buf_view(&denied));
	mor_w_end(&w);
	hand_over(tale, &json);
}
