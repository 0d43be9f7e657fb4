/* SPDX-License-Identifier: Apache-2.0 */
/* One value as JSON. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "pb/scalar.h"

static void write_base64(struct mor_writer *w, struct mor_slice bytes)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	mor_base64_encode(bytes, &text);
	mor_w_slice(w, (struct mor_slice){ text.data ? text.data : "", text.len });
	if (mor_buf_failed(&text))
		w->out->status = text.status;
}

static void write_double(struct mor_writer *w, double number)
{
	if (isfinite(number))
		mor_w_double(w, number);
	else
		mor_w_string(w, isnan(number) ? "NaN" : number < 0 ? "-Infinity" : "Infinity");
}

/* The shortest decimal that is this float, as a double: 0.1, not 0.10000000149. */
static double widen_float(float number)
{
	char text[40];

	for (int digits = FLT_DIG; isfinite(number) && digits <= FLT_DECIMAL_DIG; digits++) {
		double wide;

		snprintf(text, sizeof(text), "%.*g", digits, (double)number);
		wide = strtod(text, NULL);
		if ((float)wide == number)
			return wide;
	}
	return (double)number;
}

/* A number of up to 64 bits in decimal. */
static const char *decimal(enum mor_pb_kind kind, uint64_t bits, char out[24])
{
	bool minus = kind == MOR_PB_INT64 || kind == MOR_PB_SINT64 || kind == MOR_PB_SFIX64;

	if (kind == MOR_PB_INT32 || kind == MOR_PB_SINT32 || kind == MOR_PB_SFIX32)
		snprintf(out, 24, "%d", (int32_t)(uint32_t)bits);
	else
		snprintf(out, 24, minus ? "%lld" : "%llu", (unsigned long long)bits);
	return out;
}

static void write_enum(struct mor_writer *w, const struct mor_pb_enum *values, int32_t number)
{
	const struct mor_pb_choice *choice = mor_pb_enum_choice(values, number);

	if (values->is_null)
		mor_w_null(w);
	else if (choice)
		mor_w_slice(w, choice->name);
	else
		mor_w_int(w, number);
}

static int refuse_text(const struct mor_pb_field *field, mortise_error *err)
{
	return mor_fail(err, MORTISE_EPROTO, "%s is not UTF-8", field->name.ptr);
}

static float float_of(uint32_t bits)
{
	float number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

int mor_pb_scalar_write(struct mor_writer *w, const struct mor_pb_field *field,
			const struct mor_pb_scalar *value, mortise_error *err)
{
	char text[24];

	switch (field->kind) {
	case MOR_PB_DOUBLE:
		write_double(w, mor_pb_scalar_double(value));
		break;
	case MOR_PB_FLOAT:
		write_double(w, widen_float(float_of((uint32_t)value->bits)));
		break;
	case MOR_PB_INT32:
	case MOR_PB_SINT32:
	case MOR_PB_SFIX32:
		mor_w_int(w, (int32_t)(uint32_t)value->bits);
		break;
	case MOR_PB_UINT32:
	case MOR_PB_FIX32:
		mor_w_uint(w, value->bits);
		break;
	case MOR_PB_INT64:
	case MOR_PB_SINT64:
	case MOR_PB_SFIX64:
	case MOR_PB_UINT64:
	case MOR_PB_FIX64:
		mor_w_string(w, decimal(field->kind, value->bits, text));
		break;
	case MOR_PB_BOOL:
		mor_w_bool(w, value->bits != 0);
		break;
	case MOR_PB_ENUM:
		write_enum(w, field->values, (int32_t)(uint32_t)value->bits);
		break;
	case MOR_PB_STRING:
		if (!mor_utf8_valid(value->bytes))
			return refuse_text(field, err);
		mor_w_slice(w, value->bytes.ptr ? value->bytes : MOR_SLICE(""));
		break;
	default:
		write_base64(w, value->bytes);
	}
	return w->out->status;
}

int mor_pb_scalar_write_key(struct mor_writer *w, const struct mor_pb_field *key,
			    const struct mor_pb_scalar *value, mortise_error *err)
{
	char text[24];

	switch (key->kind) {
	case MOR_PB_STRING:
		if (!mor_utf8_valid(value->bytes))
			return refuse_text(key, err);
		mor_w_key_slice(w, value->bytes.ptr ? value->bytes : MOR_SLICE(""));
		return 0;
	case MOR_PB_BOOL:
		mor_w_key(w, value->bits ? "true" : "false");
		return 0;
	default:
		mor_w_key(w, decimal(key->kind, value->bits, text));
		return 0;
	}
}
