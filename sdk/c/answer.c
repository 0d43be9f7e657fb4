/* SPDX-License-Identifier: Apache-2.0 */
/* One answer out of a call, in the shape of its dialect. Responses are appended to a buffer that
 * the loop sends. */
#include "answer.h"

#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "wire/envelope.h"

static const struct mor_slice no_data = { NULL, 0 };

/* ---- JSON-RPC's own shape ---- */

static int rpc_result(tenon_call *call, struct mor_slice json)
{
	return tenon_is_note(call) ? 0 : mor_write_result(call->out, call->id, json);
}

static int rpc_error(tenon_call *call, const struct tn_fault *fault)
{
	return tenon_is_note(call) ?
		       0 :
		       mor_write_error(call->out, call->id, fault->code, fault->message, fault->data);
}

const struct tn_shape tn_shape_rpc = { rpc_result, rpc_error, TENON_EINTERNAL };

/* ---- Errors ---- */

/* Takes back a half-written answer, so that the error that replaces it still goes out with its id. */
static void retract(tenon_call *call)
{
	call->out->len = call->out_start;
	call->out->status = 0;
}

/* Settles the call, whatever happens. */
static int write_error(tenon_call *call, const struct tn_shape *shape, struct tn_fault fault)
{
	struct mor_buf line = MOR_BUF_INIT;
	int r = 0;

	call->answered = true;
	if (fault.code == TENON_EFAILED)
		fault.code = shape->failed;
	if (fault.data.ptr) {
		r = mor_json_one_line(fault.data, &line);
		fault.data = mor_buf_view(&line);
	}
	if (r == 0)
		r = shape->error(call, &fault);
	mor_buf_fini(&line);
	return r;
}

int tn_answer_refuse(tenon_call *call, const char *why)
{
	write_error(call, call->shape, (struct tn_fault){ TENON_EINTERNAL, why, no_data });
	return -1;
}

int tn_answer_fail(tenon_call *call, int64_t code, const char *message, struct mor_slice data)
{
	if (call->answered)
		return -1;
	if (data.ptr && !mor_json_valid(data, 0, 0, NULL))
		return tn_answer_refuse(call, "the plugin's error data is no JSON");
	return write_error(call, call->shape, (struct tn_fault){ code, message ? message : "", data });
}

int tenon_fail(tenon_call *call, int64_t code, const char *message)
{
	return tn_answer_fail(call, code, message, no_data);
}

int tenon_fail_data(tenon_call *call, int64_t code, const char *message, const char *data_json)
{
	return tn_answer_fail(call, code, message, mor_slice_of(data_json));
}

/* The text without memory for it is still an error of this code. */
static int fail_format(tenon_call *call, const struct tn_shape *shape, int64_t code, const char *format,
		       va_list args) __attribute__((format(printf, 4, 0)));
static int fail_format(tenon_call *call, const struct tn_shape *shape, int64_t code, const char *format,
		       va_list args)
{
	struct mor_buf text = MOR_BUF_INIT;
	int r;

	mor_buf_vprintf(&text, format, args);
	mor_buf_byte(&text, '\0');
	r = write_error(call, shape,
			(struct tn_fault){ code, mor_buf_failed(&text) ? "out of memory" : text.data,
					   no_data });
	mor_buf_fini(&text);
	return r;
}

int tenon_fail_text(tenon_call *call, int64_t code, const char *format, ...)
{
	va_list args;
	int r;

	if (call->answered)
		return -1;
	va_start(args, format);
	r = fail_format(call, call->shape, code, format, args);
	va_end(args);
	return r;
}

int tn_refuse(tenon_call *call, int64_t code, const char *message, struct mor_slice data)
{
	return write_error(call, &tn_shape_rpc, (struct tn_fault){ code, message, data });
}

int tn_refuse_text(tenon_call *call, int64_t code, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = fail_format(call, &tn_shape_rpc, code, format, args);
	va_end(args);
	return r;
}

int tn_refuse_name(tenon_call *call, const char *what, struct mor_slice name)
{
	MOR_CLEAN(mor_buf) struct mor_buf data = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_writer w = { .out = &data };

	mor_w_object(&w);
	mor_w_key(&w, what);
	mor_w_slice(&w, name);
	mor_w_end(&w);
	mor_buf_text(&text, "Method not found: ");
	mor_buf_slice(&text, name);
	mor_buf_byte(&text, '\0');
	if (mor_buf_failed(&data) || mor_buf_failed(&text))
		return tn_refuse(call, TENON_EMETHOD, "Method not found", no_data);
	return tn_refuse(call, TENON_EMETHOD, text.data, mor_buf_view(&data));
}

/* ---- Results ---- */

static int send_result(tenon_call *call, struct mor_slice json)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;
	int r = 0;

	call->answered = true;
	/* Newlines between tokens are legal JSON and would still cut the message in two on the wire. */
	if (memchr(json.ptr, '\n', json.len) || memchr(json.ptr, '\r', json.len)) {
		r = mor_json_one_line(json, &line);
		json = mor_buf_view(&line);
	}
	if (r == 0)
		r = call->shape->result(call, json);
	if (r == 0)
		return 0;
	retract(call);
	return tn_answer_refuse(call, "the plugin's answer is too large");
}

/* Checked even for notifications: a function that answers nonsense should be found out by its first test. */
int tenon_reply_json(tenon_call *call, const char *json, size_t len)
{
	struct mor_slice text = { json, len };

	if (call->answered)
		return -1;
	if (!json || !mor_json_valid(text, 0, 0, NULL))
		return tn_answer_refuse(call, "the plugin's answer is no JSON");
	return send_result(call, text);
}

int tenon_reply_null(tenon_call *call)
{
	return tenon_reply_json(call, "null", 4);
}

int tenon_reply_text(tenon_call *call, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	va_list args;

	if (call->answered)
		return -1;
	va_start(args, format);
	mor_buf_vprintf(&text, format, args);
	va_end(args);
	mor_buf_json_string(&json, mor_buf_view(&text));
	if (mor_buf_failed(&text) || mor_buf_failed(&json))
		return tn_answer_refuse(call, "out of memory");
	return send_result(call, mor_buf_view(&json));
}

/* ---- Texts with the pieces in front ---- */

bool tn_is_text(struct mor_slice json)
{
	return json.len > 0 && json.ptr[0] == '"';
}

void tn_put_pieced(struct mor_writer *w, tenon_call *call, struct mor_slice json)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	if (tn_is_text(json) && call->pieces.len == 0) {
		mor_w_raw(w, json);
		return;
	}
	if (tn_is_text(json) && mor_doc_parse(json, 0, 0, &doc, NULL) == 0)
		mor_buf_slice(&call->pieces, mor_json_string(mor_doc_root(doc)));
	mor_w_slice(w, call->pieces.len ? mor_buf_view(&call->pieces) : MOR_SLICE(""));
}
