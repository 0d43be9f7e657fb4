/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as one value. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/near.h"
#include "base/text.h"
#include "pb/scalar.h"

static bool is_signed(enum mor_pb_kind kind)
{
	return kind != MOR_PB_UINT32 && kind != MOR_PB_FIX32 && kind != MOR_PB_UINT64 && kind != MOR_PB_FIX64;
}

static bool is_wide(enum mor_pb_kind kind)
{
	return kind == MOR_PB_INT64 || kind == MOR_PB_SINT64 || kind == MOR_PB_SFIX64 ||
	       kind == MOR_PB_UINT64 || kind == MOR_PB_FIX64;
}

static bool fits_kind(enum mor_pb_kind kind, uint64_t bits)
{
	if (is_wide(kind))
		return true;
	return is_signed(kind) ? (int64_t)bits >= INT32_MIN && (int64_t)bits <= INT32_MAX : bits <= UINT32_MAX;
}

static bool integer_in_text(enum mor_pb_kind kind, struct mor_slice text, uint64_t *ret)
{
	int64_t number;

	if (!is_signed(kind))
		return mor_parse_u64(text, ret) && fits_kind(kind, *ret);
	if (!mor_parse_i64(text, &number))
		return false;
	*ret = (uint64_t)number;
	return fits_kind(kind, *ret);
}

/* A whole number, or one in a string; a number may be written as 2.0 or 1e3. */
static bool integer_of(enum mor_pb_kind kind, const struct mor_value *value, uint64_t *ret)
{
	struct mor_slice text = mor_json_string(value);
	int64_t number;

	if (integer_in_text(kind, text.ptr ? text : mor_json_raw(value), ret))
		return true;
	number = mor_json_int(value, INT64_MAX);
	*ret = (uint64_t)number;
	return number != INT64_MAX && (is_signed(kind) || number >= 0) && fits_kind(kind, *ret);
}

static int read_integer(struct mor_pb_where *where, const struct mor_value *value,
			const struct mor_pb_field *field, struct mor_pb_scalar *ret)
{
	char why[80];

	if (integer_of(field->kind, value, &ret->bits))
		return 0;
	snprintf(why, sizeof(why), "expected a whole number of %d bits%s", is_wide(field->kind) ? 64 : 32,
		 is_signed(field->kind) ? "" : ", not negative");
	return mor_pb_refuse(where, why);
}

/* "1.5" in a string, "NaN", "Infinity", "-Infinity". */
static bool real_in_text(struct mor_slice text, double *ret)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	if (mor_text_in(text, "NaN|Infinity|-Infinity")) {
		*ret = text.ptr[0] == 'N' ? (double)NAN :
		       text.ptr[0] == '-' ? -(double)INFINITY :
					    (double)INFINITY;
		return true;
	}
	if (mor_slice_trim(text, " \t\r\n").len != text.len || mor_doc_parse(text, 0, 1, &doc, NULL) < 0)
		return false;
	*ret = mor_json_double(mor_doc_root(doc), NAN);
	return isfinite(*ret);
}

static int read_real(struct mor_pb_where *where, const struct mor_value *value,
		     const struct mor_pb_field *field, struct mor_pb_scalar *ret)
{
	struct mor_slice text = mor_json_string(value);
	double number = mor_json_double(value, NAN);
	float narrow;
	uint32_t bits;

	if (text.ptr ? !real_in_text(text, &number) : !isfinite(number))
		return mor_pb_refuse(where, "expected a number, \"NaN\", \"Infinity\" or \"-Infinity\"");
	if (field->kind == MOR_PB_DOUBLE) {
		memcpy(&ret->bits, &number, sizeof(number));
		return 0;
	}
	if (isfinite(number) && fabs(number) > (double)FLT_MAX)
		return mor_pb_refuse(where, "the number does not fit 32 bits");
	narrow = (float)number;
	memcpy(&bits, &narrow, sizeof(bits));
	ret->bits = bits;
	return 0;
}

static int refuse_choice(struct mor_pb_where *where, const struct mor_pb_enum *values, struct mor_slice text)
{
	char why[300], typed[100];
	struct mor_nearest near = { .word = mor_excerpt(text, typed, sizeof(typed)) };
	const char *best;

	for (size_t i = 0; i < values->count; i++)
		mor_nearest_offer(&near, values->choices[i].name.ptr);
	best = mor_nearest_best(&near);
	snprintf(why, sizeof(why), "%s has no value \"%s\"%s%s%s", values->name.ptr, typed,
		 best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
	return mor_pb_refuse(where, why);
}

static int read_enum(struct mor_pb_where *where, const struct mor_value *value,
		     const struct mor_pb_enum *values, struct mor_pb_scalar *ret)
{
	struct mor_slice text = mor_json_string(value);

	if (values->is_null && mor_json_type(value) == MOR_JSON_NULL)
		return 0;
	for (size_t i = 0; text.ptr && i < values->count; i++)
		if (mor_slice_eq(values->choices[i].name, text)) {
			ret->bits = (uint64_t)(int64_t)values->choices[i].number;
			return 0;
		}
	if (integer_of(MOR_PB_INT32, value, &ret->bits) &&
	    (!values->closed || mor_pb_enum_choice(values, (int32_t)(int64_t)ret->bits)))
		return 0;
	return text.ptr ? refuse_choice(where, values, text) :
			  mor_pb_refuse(where, "expected the name or the number of a value of the enum");
}

static int read_bytes(struct mor_pb_where *where, const struct mor_value *value, struct mor_buf *keep,
		      struct mor_pb_scalar *ret)
{
	struct mor_slice text = mor_json_string(value);

	if (!text.ptr)
		return mor_pb_refuse_type(where, "base64 in a string", value);
	if (mor_pb_base64(text, keep) == MORTISE_EINPUT)
		return mor_pb_refuse(where, "the text is not base64");
	ret->bytes = mor_buf_view(keep);
	return keep->status;
}

int mor_pb_scalar_read(struct mor_pb_where *where, const struct mor_value *value,
		       const struct mor_pb_field *field, struct mor_buf *keep, struct mor_pb_scalar *ret)
{
	switch (field->kind) {
	case MOR_PB_DOUBLE:
	case MOR_PB_FLOAT:
		return read_real(where, value, field, ret);
	case MOR_PB_BOOL:
		ret->bits = mor_json_bool(value, false);
		return mor_json_type(value) == MOR_JSON_BOOL ?
			       0 :
			       mor_pb_refuse_type(where, "true or false", value);
	case MOR_PB_ENUM:
		return read_enum(where, value, field->values, ret);
	case MOR_PB_STRING:
		ret->bytes = mor_json_string(value);
		return ret->bytes.ptr ? 0 : mor_pb_refuse_type(where, "a string", value);
	case MOR_PB_BLOB:
		return read_bytes(where, value, keep, ret);
	case MOR_PB_GROUP:
		return mor_pb_refuse(where, "the field is a group, which is not supported");
	default:
		return read_integer(where, value, field, ret);
	}
}

int mor_pb_scalar_read_key(struct mor_pb_where *where, struct mor_slice name, enum mor_pb_kind kind,
			   struct mor_pb_scalar *ret)
{
	*ret = (struct mor_pb_scalar){ 0 };
	if (kind == MOR_PB_STRING) {
		ret->bytes = name;
		return 0;
	}
	if (kind == MOR_PB_BOOL) {
		ret->bits = mor_slice_is(name, "true");
		return mor_text_in(name, "true|false") ? 0 :
							 mor_pb_refuse(where, "the key must be true or false");
	}
	return integer_in_text(kind, name, &ret->bits) ? 0 :
							 mor_pb_refuse(where, "the key must be a whole number");
}
