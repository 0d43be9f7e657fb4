/* SPDX-License-Identifier: Apache-2.0 */
/* Turns an answer into output: the text itself, or one JSON line. */
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "console/report.h"
#include "console/warned.h"
#include "extract/extract.h"

/* ---- success ---- */

/* The members of a result that we use; their values are texts, because a content may have megabytes. */
enum { CONTENT, TEXT, METADATA, STATS, SUCCESS, FAILURE, MEMBERS };

struct result {
	struct mor_json_pick member[MEMBERS + 1];
	struct mor_slice content; /* a string with its quotes; ptr NULL: the answer has no content */
};

static struct result result_of(struct mor_slice json)
{
	struct result result = { .member = { [CONTENT] = { .name = "content" },
					     [TEXT] = { .name = "text" },
					     [METADATA] = { .name = "metadata" },
					     [STATS] = { .name = "stats" },
					     [SUCCESS] = { .name = "success" },
					     [FAILURE] = { .name = "error" } } };
	const struct mor_json_pick *found;

	mor_json_pick(json, result.member);
	for (found = &result.member[CONTENT]; !result.content.ptr && found <= &result.member[TEXT]; found++)
		if (found->value.ptr && *found->value.ptr == '"')
			result.content = found->value;
	return result;
}

/* A member as a tree, for all but the content. NULL: the answer has no such member. */
static struct mor_doc *tree_of(const struct result *result, int member)
{
	struct mor_slice text = result->member[member].value;
	struct mor_doc *doc = NULL;

	if (text.ptr)
		mor_doc_parse(text, MOR_JSON_NAN, 0, &doc, NULL);
	return doc;
}

static void pair_or_null(struct mor_writer *w, const struct result *result, int member)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = tree_of(result, member);

	mor_w_key(w, result->member[member].name);
	mor_w_value(w, mor_doc_root(doc));
}

/* Every member is always there, null if the plugin gave none, so that columns do not move. */
static void json_row(struct mor_extract_job *job, const mortise_reply *reply, const struct result *result)
{
	struct mor_writer w = { .out = &job->row };

	mor_w_object(&w);
	mor_w_pair(&w, "file", job->path);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair(&w, "plugin", mortise_plugin_name(reply->plugin));
	mor_w_pair(&w, "mime_type", job->mime);
	mor_w_pair(&w, "extension", job->extension);
	mor_w_key(&w, "content");
	mor_w_string_again(&w, result->content);
	pair_or_null(&w, result, METADATA);
	pair_or_null(&w, result, STATS);
	mor_w_pair_int(&w, "time_ms", mor_clock_ms() - job->begun_ms);
	mor_warned_write(job->extract->console, &w);
	mor_w_end(&w);
	mor_buf_byte(&job->row, '\n');
}

static void metadata_lines(struct mor_extract_job *job, const struct result *result)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = tree_of(result, METADATA);
	struct mor_json_iter it = mor_json_iter(mor_doc_root(doc));

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
static void text_row(struct mor_extract_job *job, const struct result *result)
{
	size_t before;

	if (job->extract->args->metadata)
		metadata_lines(job, result);
	before = job->row.len;
	mor_json_string_plain(result->content, &job->row);
	if (job->row.len > before && job->row.data[job->row.len - 1] != '\n')
		mor_buf_byte(&job->row, '\n');
}

/* ---- failure inside a result: "success": false, or real plugins' "error" ---- */

static bool result_says_failure(struct mor_extract_job *job, const struct result *result)
{
	MOR_CLEAN(mor_doc) struct mor_doc *error = tree_of(result, FAILURE);
	MOR_CLEAN(mor_doc) struct mor_doc *success = tree_of(result, SUCCESS);
	char shown[300];

	if (mor_json_type(mor_doc_root(error)) > MOR_JSON_NULL) {
		mor_extract_job_fail(job, MORTISE_EREMOTE, "extraction failed: %s",
				     mor_printable_value(mor_doc_root(error), shown, sizeof(shown)));
		return true;
	}
	if (mor_json_bool(mor_doc_root(success), true))
		return false;
	mor_extract_job_fail(job, MORTISE_EREMOTE, "extraction failed, and the plugin does not say why");
	return true;
}

static void take_result(struct mor_extract_job *job, const mortise_reply *reply)
{
	struct result result = result_of((struct mor_slice){ reply->result.text, reply->result.len });

	if (result_says_failure(job, &result))
		return;
	if (!result.content.ptr) {
		mor_extract_job_fail(job, MORTISE_EPROTO, "%s answered without \"content\"",
				     mortise_plugin_name(reply->plugin));
		return;
	}
	if (job->extract->args->json)
		json_row(job, reply, &result);
	else
		text_row(job, &result);
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
void mor_extract_job_heading(const struct mor_extract_job *job, bool first, struct mor_buf *out)
{
	const struct mor_extract *x = job->extract;

	if (job->err.code || x->args->json || x->args->file_count <= 1)
		return;
	if (!first && !x->args->shard.shards)
		mor_buf_byte(out, '\n');
	mor_buf_printf(out, "%s==> %s <==%s\n", mor_style(x->console, MOR_STYLE_TITLE),
		       mor_extract_job_name(job), mor_style_end(x->console));
}

/* A failure is printed on stderr in both formats. With --json there is also a row for it. */
void mor_extract_job_tell(struct mor_extract_job *job)
{
	struct mor_extract *x = job->extract;
	struct mor_report report = {
		.error = &job->err,
		.data = { job->err_data, job->err_data ? strlen(job->err_data) : 0 },
		.subject = mor_extract_job_name(job),
	};

	mor_report_line(x->console, &report);
	mor_buf_reset(&job->row, SIZE_MAX);
	if (x->args->json)
		failed_row(job, &report);
}

void mor_extract_job_print(struct mor_extract_job *job)
{
	struct mor_extract *x = job->extract;
	MOR_CLEAN(mor_buf) struct mor_buf head = MOR_BUF_INIT;

	if (job->err.code)
		mor_extract_job_tell(job);
	mor_extract_job_heading(job, !x->headed, &head);
	x->headed = x->headed || head.len;
	mor_out(x->console, mor_buf_view(&head));
	mor_out(x->console, mor_buf_view(&job->row));
	mor_extract_shard_note(job, mor_buf_view(&head));
}
