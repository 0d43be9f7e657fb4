/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and messages of analyzers: analyze, vname, log. */
#include "kythe/drive/inside.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "kythe/drive/atype.h"

#define INVALID_PARAMS (-32602)
#define PROTOCOL_ERROR (-1)

static void refuse_request(mortise_request *request, int64_t code, const char *text)
{
	mortise_request_fail(request, code, text, (mortise_json){ 0 }, NULL);
}

/* ---- analyze ---- */

/* Appends one type, normalized, NUL-terminated. MORTISE_EINPUT if it is not a type. */
static int add_type(struct mor_slice type, struct mor_buf *out)
{
	size_t start = out->len;

	mor_atype_normal(type, out);
	if (!mor_buf_failed(out) && !mor_atype_valid((struct mor_slice){ out->data + start, out->len - start }))
		return MORTISE_EINPUT;
	return mor_buf_byte(out, '\0');
}

/* {"types":[...]}, or {"language":"x"} of the older protocol. No type means any. */
static int read_types(const struct mor_value *params, struct mor_buf *out, mortise_error *err)
{
	const struct mor_value *types = mor_json_get(params, "types");
	struct mor_json_iter it = mor_json_iter(types);
	struct mor_slice language = mor_json_string(mor_json_get(params, "language"));
	int r = 0;

	while (r == 0 && mor_json_size(types) && mor_json_next(&it)) {
		r = add_type(mor_json_string(it.value), out);
		if (r == MORTISE_EINPUT)
			return mor_fail(err, r,
					"\"%.100s\" is not an analysis type: use words after slashes, such as "
					"/kythe/index/java",
					mor_json_text(it.value, ""));
	}
	if (r == 0 && mor_json_size(types) == 0 && language.len) {
		MOR_CLEAN(mor_buf) struct mor_buf type = MOR_BUF_INIT;

		mor_buf_text(&type, "/kythe/index/");
		mor_buf_slice(&type, language);
		r = add_type(mor_buf_view(&type), out);
		if (r == MORTISE_EINPUT)
			return mor_fail(err, r, "\"%.100s\" is not a language", language.ptr);
	}
	return r;
}

static void ask_analyze(struct worker *worker, mortise_request *request, const struct mor_value *params)
{
	struct mor_buf types = MOR_BUF_INIT;
	mortise_error error = { 0 };

	if (read_types(params, &types, &error) < 0) {
		mor_buf_fini(&types);
		refuse_request(request, INVALID_PARAMS, error.text);
		return;
	}
	mor_output_mind_last(worker);
	mor_free(worker->asked);
	worker->asked = types.len ? mor_buf_detach(&types) : NULL; /* its NUL ends the list */
	worker->request = request;
	worker->state = WORKER_WAITS;
	mor_work_offer(worker);
}

/* ---- vname ---- */

static void ask_vname(struct worker *worker, mortise_request *request, const struct mor_value *params)
{
	MOR_CLEAN(mor_buf) struct mor_buf reply = MOR_BUF_INIT;
	struct mor_vname_own name = { 0 };
	mortise_error error = { 0 };
	const char *path = mor_json_text(mor_json_get(params, "path"), "");
	const char *signature = mor_json_text(mor_json_get(params, "signature"), "");
	int r = worker->namer ?
			mor_namer_ask(worker->namer, path, signature, &name, &error) :
			mor_vname_without_unit(worker->driver->opt.rules, path, signature, &name, &error);

	if (r < 0) {
		/* Nothing is being analysed and no rule knows the path: an error, but the channel stays
		 * open. */
		refuse_request(request, PROTOCOL_ERROR,
			       error.text[0] ? error.text : "no analysis is under way");
		return;
	}
	mor_vname_reply_json(&name.vname, &reply);
	mor_vname_own_fini(&name);
	mortise_request_reply(request, (mortise_json){ reply.data, reply.len }, NULL);
}

void mor_ask_request(mortise_request *request, const char *method, mortise_json params, void *arg)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct worker *worker = arg;

	if (params.text && mor_doc_parse((struct mor_slice){ params.text, params.len }, 0, 0, &doc, NULL) < 0) {
		refuse_request(request, -32603, mortise_status_text(MORTISE_ENOMEM));
		return;
	}
	if (strcmp(method, "vname") == 0)
		ask_vname(worker, request, mor_doc_root(doc));
	else
		ask_analyze(worker, request, mor_doc_root(doc)); /* the dialect lets no other method through */
}

/* ---- log ---- */

static uint32_t count_of(const struct mor_value *point, const char *camel, const char *snake)
{
	const struct mor_value *value = mor_json_get(point, camel);
	int64_t number = mor_json_int(value ? value : mor_json_get(point, snake), -1);

	return number >= 0 && number < INT32_MAX ? (uint32_t)number + 1 : 0;
}

void mor_unit_log_write(const struct mor_unit_log *log, struct mor_buf *out)
{
	mor_buf_printf(out, "%s: ", log->title);
	if (*log->file || log->line)
		mor_buf_text(out, *log->file ? log->file : log->title);
	if (log->line)
		mor_buf_printf(out, ":%u", log->line);
	if (log->column)
		mor_buf_printf(out, ":%u", log->column);
	if (*log->file || log->line)
		mor_buf_text(out, ": ");
	mor_buf_text(out, log->text);
}

/* kythe.proto.common.Diagnostic, in both spellings of its names, or a text alone. There lines count from 1,
 * columns from 0. */
void mor_ask_log(struct worker *worker, mortise_json params)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *message, *start;
	struct mor_unit_log log = { .unit = worker->item, .title = mor_driver_title(worker) };

	if (!params.text || mor_doc_parse((struct mor_slice){ params.text, params.len }, 0, 0, &doc, NULL) < 0)
		return;
	message = mor_json_get(mor_doc_root(doc), "message");
	start = mor_json_at(message, "/span/start");
	log.text = mor_json_text(message, mor_json_text(mor_json_get(message, "message"), NULL));
	if (!log.text || !*log.text)
		return;
	log.file = mor_json_text(mor_json_get(message, "contextUrl"),
				 mor_json_text(mor_json_get(message, "context_url"), ""));
	log.line = count_of(start, "lineNumber", "line_number");
	log.line = log.line ? log.line - 1 : 0;
	log.column = log.line ? count_of(start, "columnOffset", "column_offset") : 0;
	worker->driver->opt.events.on_log(&log, worker->driver->opt.events.arg);
}
