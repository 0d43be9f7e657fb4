/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a method sees of its call: the parameters in, one answer out. Nothing here reads or writes a
 * descriptor; the answer is appended to a buffer that run.c sends.
 */
#include "call.h"

#include <string.h>

#include "base/alloc.h"
#include "wire/envelope.h"

#define BUILD_DEPTH 64 /* what struct mor_writer can keep track of */

void tenon_call_init(tenon_call *call, const tenon_plugin *plugin, struct mor_buf *out)
{
	*call = (tenon_call){ .plugin = plugin, .out = out, .out_start = out->len };
	call->writer.out = &call->built;
}

void tenon_call_fini(tenon_call *call)
{
	struct tenon_bytes *next;

	for (struct tenon_bytes *bytes = call->bytes; bytes; bytes = next) {
		next = bytes->next;
		mor_buf_fini(&bytes->buf);
		mor_free(bytes);
	}
	call->bytes = NULL;
	call->params = mor_doc_free(call->params);
	mor_buf_fini(&call->built);
}

const tenon_plugin *tenon_plugin_of(const tenon_call *call)
{
	return call->plugin;
}

int tenon_is_note(const tenon_call *call)
{
	return call->id.ptr == NULL;
}

/* ---- Parameters. tenon_value is the public name of mor_value: the same pointer, two types. ---- */

static const struct mor_value *inner(const tenon_value *value)
{
	return (const struct mor_value *)value;
}

static const tenon_value *outer(const struct mor_value *value)
{
	return (const tenon_value *)value;
}

const tenon_value *tenon_params(const tenon_call *call)
{
	return call->params ? outer(mor_doc_root(call->params)) : NULL;
}

const char *tenon_params_json(const tenon_call *call, size_t *ret_len)
{
	if (call->params_text.ptr)
		*ret_len = call->params_text.len;
	return call->params_text.ptr;
}

const tenon_value *tenon_get(const tenon_value *object, const char *key)
{
	return outer(mor_json_get(inner(object), key));
}

const tenon_value *tenon_at(const tenon_value *value, const char *pointer)
{
	return outer(mor_json_at(inner(value), pointer));
}

size_t tenon_size(const tenon_value *value)
{
	return mor_json_size(inner(value));
}

enum tenon_type tenon_type_of(const tenon_value *value)
{
	_Static_assert((int)TENON_OBJECT == (int)MOR_JSON_OBJECT && (int)TENON_BOOL == (int)MOR_JSON_BOOL,
		       "the public types are numbered as the inner ones");
	return (enum tenon_type)mor_json_type(inner(value));
}

const char *tenon_as_text(const tenon_value *value, size_t *ret_len)
{
	struct mor_slice text = mor_json_string(inner(value));

	if (text.ptr)
		*ret_len = text.len;
	return text.ptr;
}

const char *tenon_as_str(const tenon_value *value, const char *fallback)
{
	struct mor_slice text = mor_json_string(inner(value));

	/* "a\u0000b" would silently become "a": a way to smuggle a path past whoever looks at all of it. */
	return text.ptr && !memchr(text.ptr, '\0', text.len) ? text.ptr : fallback;
}

int64_t tenon_as_int(const tenon_value *value, int64_t fallback)
{
	return mor_json_int(inner(value), fallback);
}

double tenon_as_double(const tenon_value *value, double fallback)
{
	return mor_json_double(inner(value), fallback);
}

int tenon_as_bool(const tenon_value *value, int fallback)
{
	return mor_json_type(inner(value)) == MOR_JSON_BOOL ? mor_json_bool(inner(value), false) : fallback;
}

const void *tenon_as_bytes(tenon_call *call, const tenon_value *value, size_t *ret_len)
{
	struct mor_slice text = mor_json_string(inner(value));
	struct tenon_bytes *bytes = text.ptr ? mor_zalloc(sizeof(*bytes)) : NULL;

	if (!bytes)
		return NULL;
	/* The extra byte makes a block even for no bytes: NULL is kept for "no base64". */
	if (mor_base64_decode(text, &bytes->buf) < 0 || mor_buf_reserve(&bytes->buf, 1) < 0) {
		mor_buf_fini(&bytes->buf);
		mor_free(bytes);
		return NULL;
	}
	bytes->next = call->bytes;
	call->bytes = bytes;
	*ret_len = bytes->buf.len;
	return bytes->buf.data;
}

/* Above null in the enum: all that is a value. */
int tenon_has(const tenon_call *call, const char *key)
{
	return tenon_type_of(tenon_get(tenon_params(call), key)) > TENON_NULL;
}

const char *tenon_str(const tenon_call *call, const char *key, const char *fallback)
{
	return tenon_as_str(tenon_get(tenon_params(call), key), fallback);
}

int64_t tenon_int(const tenon_call *call, const char *key, int64_t fallback)
{
	return tenon_as_int(tenon_get(tenon_params(call), key), fallback);
}

double tenon_double(const tenon_call *call, const char *key, double fallback)
{
	return tenon_as_double(tenon_get(tenon_params(call), key), fallback);
}

int tenon_bool(const tenon_call *call, const char *key, int fallback)
{
	return tenon_as_bool(tenon_get(tenon_params(call), key), fallback);
}

/* ---- Answering ---- */

/* Takes back a half-written answer, so that the error that replaces it still goes out with its id. */
static void retract(tenon_call *call)
{
	call->out->len = call->out_start;
	call->out->status = 0;
}

/* Settles the call, whatever happens: a notification silently, a request with this error. */
static int write_error(tenon_call *call, int64_t code, const char *message, struct mor_slice data)
{
	struct mor_buf line = MOR_BUF_INIT;
	int r = 0;

	call->answered = true;
	if (tenon_is_note(call))
		return 0;
	if (data.ptr)
		r = mor_json_one_line(data, &line);
	if (r == 0)
		r = mor_write_error(call->out, call->id, code, message, mor_buf_view(&line));
	mor_buf_fini(&line);
	return r;
}

/* The method made a mistake. The host learns that at once, instead of waiting for its time limit; the
 * method learns it from the result. */
static int refuse(tenon_call *call, const char *why)
{
	write_error(call, TENON_EINTERNAL, why, (struct mor_slice){ NULL, 0 });
	return -1;
}

static int fail(tenon_call *call, int64_t code, const char *message, struct mor_slice data)
{
	if (call->answered)
		return -1;
	if (data.ptr && !mor_json_valid(data, 0, 0, NULL))
		return refuse(call, "the plugin's error data is no JSON");
	return write_error(call, code, message, data);
}

int tenon_fail(tenon_call *call, int64_t code, const char *message)
{
	return fail(call, code, message, (struct mor_slice){ NULL, 0 });
}

int tenon_fail_data(tenon_call *call, int64_t code, const char *message, const char *data_json)
{
	return fail(call, code, message, mor_slice_of(data_json));
}

/* Checked even for notifications: a method that answers nonsense should be found out by its first test. */
int tenon_reply_json(tenon_call *call, const char *json, size_t len)
{
	struct mor_slice text = { json, len };
	struct mor_buf line = MOR_BUF_INIT;
	int r = 0;

	if (call->answered)
		return -1;
	if (!json || !mor_json_valid(text, 0, 0, NULL))
		return refuse(call, "the plugin's answer is no JSON");
	call->answered = true;
	if (tenon_is_note(call))
		return 0;
	/* Newlines between tokens are legal JSON and would still cut the message in two on the wire. */
	if (memchr(json, '\n', len) || memchr(json, '\r', len)) {
		r = mor_json_one_line(text, &line);
		text = mor_buf_view(&line);
	}
	if (r == 0)
		r = mor_write_result(call->out, call->id, text);
	mor_buf_fini(&line);
	if (r == 0)
		return 0;
	retract(call);
	return refuse(call, "the plugin's answer is too large");
}

int tenon_reply_null(tenon_call *call)
{
	return tenon_reply_json(call, "null", 4);
}

/* ---- Building ---- */

/* True when a value may stand here, its key already written. A mistake is kept for tenon_done(). */
static bool begin(tenon_call *call, const char *key)
{
	struct mor_writer *w = &call->writer;
	bool in_object = w->depth > 0 && !(w->arrays >> (w->depth - 1) & 1);

	if (in_object != (key != NULL) || (w->depth == 0 && call->built.len > 0))
		call->misbuilt = true;
	if (call->misbuilt)
		return false;
	if (key)
		mor_w_key(w, key);
	return true;
}

static void open_level(tenon_call *call, const char *key, bool array)
{
	if (call->writer.depth >= BUILD_DEPTH)
		call->misbuilt = true;
	if (!begin(call, key))
		return;
	if (array)
		mor_w_array(&call->writer);
	else
		mor_w_object(&call->writer);
}

void tenon_object(tenon_call *call, const char *key)
{
	open_level(call, key, false);
}

void tenon_array(tenon_call *call, const char *key)
{
	open_level(call, key, true);
}

void tenon_end(tenon_call *call)
{
	if (call->writer.depth == 0)
		call->misbuilt = true;
	if (!call->misbuilt)
		mor_w_end(&call->writer);
}

void tenon_put_str(tenon_call *call, const char *key, const char *text)
{
	if (begin(call, key))
		mor_w_string(&call->writer, text);
}

void tenon_put_text(tenon_call *call, const char *key, const char *text, size_t len)
{
	if (begin(call, key))
		mor_w_slice(&call->writer, (struct mor_slice){ text, len });
}

void tenon_put_int(tenon_call *call, const char *key, int64_t number)
{
	if (begin(call, key))
		mor_w_int(&call->writer, number);
}

void tenon_put_double(tenon_call *call, const char *key, double number)
{
	if (begin(call, key))
		mor_w_double(&call->writer, number);
}

void tenon_put_bool(tenon_call *call, const char *key, int on)
{
	if (begin(call, key))
		mor_w_bool(&call->writer, on != 0);
}

void tenon_put_null(tenon_call *call, const char *key)
{
	if (begin(call, key))
		mor_w_null(&call->writer);
}

void tenon_put_json(tenon_call *call, const char *key, const char *json, size_t len)
{
	if (begin(call, key))
		mor_w_raw(&call->writer, (struct mor_slice){ json, len });
}

/* Balanced, and something there at all. Whether it is JSON, tenon_put_json() included, is checked when it
 * is sent. */
static bool well_built(const tenon_call *call)
{
	return !call->misbuilt && call->writer.depth == 0 && call->built.len > 0 &&
	       !mor_buf_failed(&call->built);
}

int tenon_done(tenon_call *call)
{
	if (call->answered)
		return -1;
	if (!well_built(call))
		return refuse(call, "the plugin's answer is built wrongly or too large");
	return tenon_reply_json(call, call->built.data, call->built.len);
}

int tenon_fail_built(tenon_call *call, int64_t code, const char *message)
{
	if (call->answered)
		return -1;
	if (!well_built(call))
		return refuse(call, "the plugin's error data is built wrongly or too large");
	return fail(call, code, message, mor_buf_view(&call->built));
}

static void put_pair(tenon_call *call, const tenon_pair *pair)
{
	switch (pair->kind) {
	case TENON_PAIR_STR:
		tenon_put_str(call, pair->key, pair->text);
		break;
	case TENON_PAIR_INT:
		tenon_put_int(call, pair->key, pair->integer);
		break;
	case TENON_PAIR_DOUBLE:
		tenon_put_double(call, pair->key, pair->real);
		break;
	case TENON_PAIR_BOOL:
		tenon_put_bool(call, pair->key, pair->integer != 0);
		break;
	}
}

int tenon_reply_pairs(tenon_call *call, const tenon_pair *pairs, size_t count)
{
	tenon_object(call, NULL);
	for (size_t i = 0; i < count; i++)
		put_pair(call, &pairs[i]);
	tenon_end(call);
	return tenon_done(call);
}
