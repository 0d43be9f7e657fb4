/* SPDX-License-Identifier: Apache-2.0 */
/* Writes messages. Everything is appended in place; nothing is formatted twice. */
#include "wire/outgoing.h"
#include "wire/scan.h"

#define LITERAL(out, text) mor_buf_append((out), (text), sizeof(text) - 1)
#define NOTE_HEAD          "{\"jsonrpc\":\"2.0\","
#define METHOD_KEY         "\"method\":"
#define PARAMS_KEY         ",\"params\":"
#define RESULT_KEY         ",\"result\":"
#define ERROR_KEY          ",\"error\":"

const char mor_digit_pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

static void put_int(struct mor_buf *out, int64_t number)
{
	char digits[MOR_DIGITS];
	size_t count = mor_digits(number < 0 ? 0 - (uint64_t)number : (uint64_t)number, digits);

	if (number < 0)
		digits[MOR_DIGITS - ++count] = '-';
	mor_buf_append(out, digits + sizeof(digits) - count, count);
}

static int put_call(struct mor_buf *out, struct mor_slice method, struct mor_slice params)
{
	LITERAL(out, METHOD_KEY);
	mor_buf_json_string(out, method);
	if (params.ptr) {
		LITERAL(out, PARAMS_KEY);
		mor_buf_slice(out, params);
	}
	return mor_buf_byte(out, '}');
}

/* ASCII except controls, quote and backslash. */
bool mor_is_plain(struct mor_slice text)
{
	size_t i = 0;

	while (i < text.len && !mor_scan_stop[(unsigned char)text.ptr[i]])
		i++;
	return i == text.len;
}

int mor_write_request(struct mor_buf *out, int64_t id, struct mor_slice method, struct mor_slice params)
{
	struct mor_outgoing request;

	if (id < 0 || !params.ptr || !mor_is_plain(method)) {
		LITERAL(out, MOR_OUTGOING_HEAD);
		put_int(out, id);
		mor_buf_byte(out, ',');
		return put_call(out, method, params);
	}
	mor_outgoing_init(&request, id, method, params);
	if (mor_buf_reserve(out, request.len + MOR_OUTGOING_SLACK) < 0)
		return out->status;
	mor_outgoing_write(out->data + out->len, &request);
	out->len += request.len;
	return 0;
}

int mor_write_note(struct mor_buf *out, struct mor_slice method, struct mor_slice params)
{
	LITERAL(out, NOTE_HEAD);
	return put_call(out, method, params);
}

static void put_reply_head(struct mor_buf *out, struct mor_slice id)
{
	LITERAL(out, MOR_OUTGOING_HEAD);
	mor_buf_slice(out, id.ptr ? id : MOR_SLICE("null"));
}

int mor_write_result(struct mor_buf *out, struct mor_slice id, struct mor_slice result)
{
	put_reply_head(out, id);
	LITERAL(out, RESULT_KEY);
	mor_buf_slice(out, result.ptr ? result : MOR_SLICE("null"));
	return mor_buf_byte(out, '}');
}

int mor_write_error(struct mor_buf *out, struct mor_slice id, int64_t code, const char *message,
		    struct mor_slice data)
{
	put_reply_head(out, id);
	LITERAL(out, ERROR_KEY);
	mor_write_error_object(out, code, message, data);
	return mor_buf_byte(out, '}');
}

int mor_write_error_object(struct mor_buf *out, int64_t code, const char *message, struct mor_slice data)
{
	LITERAL(out, "{\"code\":");
	put_int(out, code);
	LITERAL(out, ",\"message\":");
	mor_buf_json_string(out, mor_slice_of(message ? message : ""));
	if (data.ptr) {
		LITERAL(out, ",\"data\":");
		mor_buf_slice(out, data);
	}
	return mor_buf_byte(out, '}');
}

void mor_envelope_imply(struct mor_message *message)
{
	size_t len = sizeof(NOTE_HEAD METHOD_KEY "\"\"}") - 1 + message->method.len;

	if (message->kind == MOR_MSG_NOTE && message->params.ptr)
		len += sizeof(PARAMS_KEY) - 1 + message->params.len;
	else if (message->kind == MOR_MSG_RESULT)
		len = sizeof(MOR_OUTGOING_HEAD RESULT_KEY "}") - 1 + message->id.len + message->result.len;
	else if (message->kind == MOR_MSG_ERROR)
		len = sizeof(MOR_OUTGOING_HEAD ERROR_KEY "}") - 1 + message->id.len + message->error.len;
	message->whole = (struct mor_slice){ NULL, len };
}

int mor_envelope_copy(struct mor_buf *out, const struct mor_message *message)
{
	if (message->whole.ptr)
		return mor_buf_slice(out, message->whole);
	if (message->kind == MOR_MSG_NOTE)
		return mor_write_note(out, message->method, message->params);
	if (message->kind == MOR_MSG_RESULT)
		return mor_write_result(out, message->id, message->result);
	put_reply_head(out, message->id);
	LITERAL(out, ERROR_KEY);
	mor_buf_slice(out, message->error);
	return mor_buf_byte(out, '}');
}
