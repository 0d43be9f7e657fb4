/* SPDX-License-Identifier: Apache-2.0 */
/* Turns an answer into output: the text itself, or one JSON line. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "console/report.h"
#include "console/warned.h"
#include "extract/extract.h"

/* ---- success ---- */

static void pair_or_null(struct mor_writer *w, const char *name, const struct mor_value *value)
{
	mor_w_key(w, name);
	if (value)
		mor_w_value(w, value);
	else
		mor_w_null(w);
}

/* Every member is always there, null if the plugin gave none, so that columns do not move. */
static void json_row(struct mor_extract_job *job, const mortise_reply *reply, const struct mor_value *result,
		     struct mor_slice content)
{
	struct mor_writer w = { .out = &job->row };

	mor_w_object(&w);
	mor_w_pair(&w, "file", job->path);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair(&w, "plugin", mortise_plugin_name(reply->plugin));
	mor_w_pair(&w, "mime_type", job->mime);
	mor_w_pair(&w, "extension", job->extension);
	mor_w_key(&w, "content");
	mor_w_slice(&w, content);
	pair_or_null(&w, "metadata", mor_json_get(result, "metadata"));
	pair_or_null(&w, "stats", mor_json_get(result, "stats"));
	mor_w_pair_int(&w, "time_ms", mor_clock_ms() - job->begun_ms);
	mor_warned_write(job->extract->console, &w);
	mor_w_end(&w);
	mor_buf_byte(&job->row, '\n');
}

static void metadata_lines(struct mor_extract_job *job, const struct mor_value *metadata)
{
	struct mor_json_iter it = mor_json_iter(metadata);

	while (mor_json_next(&it)) {
		struct mor_slice text = mor_json_string(it.value);

		mor_buf_slice(&job->row, it.name);
		mor_buf_text(&job->row, ": ");
		if (text.ptr)
			mor_buf_slice(&job->row, text);
		else
			mor_json_write(it.value, false, &job->row);
		mor_buf_byte(&job->row, '\n');
	}
	if (job->row.len)
		mor_buf_byte(&job->row, '\n');
}

/* The content as it is. We only end its last line, for the next heading. */
static void text_row(struct mor_extract_job *job, const struct mor_value *result, struct mor_slice content)
{
	if (job->extract->args->metadata)
		metadata_lines(job, mor_json_get(result, "metadata"));
	mor_buf_slice(&job->row, content);
	if (content.len && content.ptr[content.len - 1] != '\n')
		mor_buf_byte(&job->row, '\n');
}

/* ---- failure inside a result: "success": false, or real plugins' "error" ---- */

static bool result_says_failure(struct mor_extract_job *job, const struct mor_value *result)
{
	const struct mor_value *error = mor_json_get(result, "error");
	enum mor_json_type type = mor_json_type(error);
	char shown[300];

	if (type != MOR_JSON_MISSING && type != MOR_JSON_NULL) {
		mor_extract_job_fail(job, MORTISE_EREMOTE, "extraction failed: %s",
				     mor_printable_value(error, shown, sizeof(shown)));
		return true;
	}
	if (mor_json_bool(mor_json_get(result, "success"), true))
		return false;
	mor_extract_job_fail(job, MORTISE_EREMOTE, "extraction failed, and the plugin does not say why");
	return true;
}

static void take_result(struct mor_extract_job *job, const mortise_reply *reply)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice json = { reply->result.text, reply->result.len }, content;
	const struct mor_value *result;

	if (json.ptr)
		mor_doc_parse(json, MOR_JSON_NAN, 0, &doc, NULL);
	result = mor_doc_root(doc);
	if (result_says_failure(job, result))
		return;
	content = mor_json_string(mor_json_get(result, "content"));
	if (!content.ptr)
		content = mor_json_string(mor_json_get(result, "text"));
	if (!content.ptr) {
		mor_extract_job_fail(job, MORTISE_EPROTO, "%s answered without \"content\"",
				     mortise_plugin_name(reply->plugin));
		return;
	}
	if (job->extract->console->json)
		json_row(job, reply, result, content);
	else
		text_row(job, result, content);
	if (mor_buf_failed(&job->row))
		mor_extract_job_fail(job, MORTISE_ENOMEM, "%s", mortise_status_text(MORTISE_ENOMEM));
}

void mor_extract_job_take_reply(struct mor_extract_job *job, const mortise_reply *reply)
{
	if (reply->status == MORTISE_OK) {
		take_result(job, reply);
		return;
	}
	job->err = *reply->error;
	if (reply->error_data.text)
		job->err_data = mor_strndup(reply->error_data.text, reply->error_data.len);
}

/* ---- printing, in the order of the command line ---- */

static void failed_row(struct mor_extract_job *job, const struct mor_report *report)
{
	struct mor_writer w = { .out = &job->row };

	mor_w_object(&w);
	mor_w_pair(&w, "file", job->path);
	mor_w_pair_bool(&w, "ok", false);
	mor_report_members(&w, report);
	mor_warned_write(job->extract->console, &w);
	mor_w_end(&w);
	mor_buf_byte(&job->row, '\n');
}

/* A blank line before each but the first; in a part mortise join adds it. */
static void heading(struct mor_extract_job *job, struct mor_buf *out)
{
	struct mor_extract *x = job->extract;

	if (x->headed && !x->args->shard.shards)
		mor_buf_byte(out, '\n');
	mor_buf_printf(out, "%s==> %s <==%s\n", mor_style(x->console, MOR_STYLE_TITLE),
		       mor_extract_job_name(job), mor_style_end(x->console));
	x->headed = true;
}

/* A failure is printed on stderr in both formats. With --json there is also a row for it. */
void mor_extract_job_print(struct mor_extract_job *job)
{
	struct mor_extract *x = job->extract;
	struct mor_report report = {
		.error = &job->err,
		.data = { job->err_data, job->err_data ? strlen(job->err_data) : 0 },
		.subject = mor_extract_job_name(job),
	};
	MOR_CLEAN(mor_buf) struct mor_buf head = MOR_BUF_INIT;

	if (job->err.code) {
		mor_report_line(x->console, &report);
		mor_buf_reset(&job->row, SIZE_MAX);
		if (x->console->json)
			failed_row(job, &report);
	} else if (!x->console->json && x->args->file_count > 1) {
		heading(job, &head);
	}
	mor_out(x->console, mor_buf_view(&head));
	mor_out(x->console, mor_buf_view(&job->row));
	mor_extract_shard_note(job, mor_buf_view(&head));
}
