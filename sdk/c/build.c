/* SPDX-License-Identifier: Apache-2.0 */
/* Answers made piece by piece: tenon_object(), tenon_put_...(), tenon_done(). */
#include "answer.h"

#define BUILD_DEPTH 64 /* what struct mor_writer can keep track of */

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
		return tn_answer_refuse(call, "the plugin's answer is built wrongly or too large");
	return tenon_reply_json(call, call->built.data, call->built.len);
}

int tenon_fail_built(tenon_call *call, int64_t code, const char *message)
{
	if (call->answered)
		return -1;
	if (!well_built(call))
		return tn_answer_refuse(call, "the plugin's error data is built wrongly or too large");
	return tn_answer_fail(call, code, message, mor_buf_view(&call->built));
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
