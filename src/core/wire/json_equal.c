/* SPDX-License-Identifier: Apache-2.0 */
/* Equality of JSON values. Numbers are compared exactly by their digits, not as doubles. */
#include "wire/json.h"

#define HUGE_EXPONENT 1000000000000

/* |number| = 0.DIGITS * 10^exponent, DIGITS without zeros at both ends (the point may be among them). */
struct decimal {
	bool negative, sane;
	const char *first, *last; /* the first digit and the place after the last; equal for zero */
	int64_t exponent;
};

/* The exponent after 'e', kept in a range where no later sum overflows. */
static int64_t exponent_of(const char *p, const char *end)
{
	bool negative = p < end && *p == '-';
	int64_t value = 0;

	if (p < end && (*p == '-' || *p == '+'))
		p++;
	for (; p < end && value < HUGE_EXPONENT; p++)
		value = value * 10 + (*p - '0');
	return negative ? -value : value;
}

static struct decimal decimal_of(struct mor_slice raw)
{
	const char *p = raw.ptr, *end = p + raw.len;
	struct decimal d = { .negative = *p == '-', .sane = true };
	bool point = false;

	for (p += d.negative; p < end && (*p | 0x20) != 'e'; p++) {
		if (*p == '.') {
			point = true;
			continue;
		}
		if (*p != '0') {
			d.first = d.first ? d.first : p;
			d.last = p + 1;
		}
		/* Before the point each significant digit shifts up; after it each leading zero shifts down. */
		if (d.first && !point)
			d.exponent++;
		else if (!d.first && point)
			d.exponent--;
	}
	if (!d.first)
		return (struct decimal){ .sane = true }; /* zero has one form: no sign, no exponent */
	if (p < end) {
		int64_t shift = exponent_of(p + 1, end);

		d.sane = shift < HUGE_EXPONENT && shift > -HUGE_EXPONENT;
		d.exponent += shift;
	}
	return d;
}

static bool digits_equal(const char *a, const char *a_end, const char *b, const char *b_end)
{
	for (;;) {
		if (a < a_end && *a == '.')
			a++;
		if (b < b_end && *b == '.')
			b++;
		if (a == a_end || b == b_end)
			return a == a_end && b == b_end;
		if (*a++ != *b++)
			return false;
	}
}

static bool is_word(struct mor_slice raw)
{
	return raw.ptr[raw.len - 1] > '9'; /* NaN, Infinity */
}

static bool numbers_equal(struct mor_slice a, struct mor_slice b)
{
	struct decimal x, y;

	if (mor_slice_eq(a, b))
		return true;
	if (is_word(a) || is_word(b))
		return false;
	x = decimal_of(a);
	y = decimal_of(b);
	return x.sane && y.sane && x.negative == y.negative && x.exponent == y.exponent &&
	       digits_equal(x.first, x.last, y.first, y.last);
}

static bool arrays_equal(const struct mor_value *a, const struct mor_value *b)
{
	struct mor_json_iter x = mor_json_iter(a), y = mor_json_iter(b);

	while (mor_json_next(&x) && mor_json_next(&y))
		if (!mor_json_equal(x.value, y.value))
			return false;
	return true;
}

/* In the usual case both have the same order, and one walk over both is enough. Only a name that differs is
 * looked up. */
static bool objects_equal(const struct mor_value *a, const struct mor_value *b)
{
	struct mor_json_iter x = mor_json_iter(a), y = mor_json_iter(b);

	while (mor_json_next(&x) && mor_json_next(&y)) {
		const struct mor_value *other =
			mor_slice_eq(x.name, y.name) ? y.value : mor_json_get_slice(b, x.name);

		if (!other || !mor_json_equal(x.value, other))
			return false;
	}
	return true;
}

/* The recursion is limited by the depth limit of the documents. */
bool mor_json_equal(const struct mor_value *a, const struct mor_value *b)
{
	enum mor_json_type type = mor_json_type(a);

	if (type != mor_json_type(b) || mor_json_size(a) != mor_json_size(b))
		return false;
	switch (type) {
	case MOR_JSON_BOOL:
		return mor_json_bool(a, false) == mor_json_bool(b, false);
	case MOR_JSON_NUMBER:
		return numbers_equal(mor_json_raw(a), mor_json_raw(b));
	case MOR_JSON_STRING:
		return mor_slice_eq(mor_json_string(a), mor_json_string(b));
	case MOR_JSON_ARRAY:
		return arrays_equal(a, b);
	case MOR_JSON_OBJECT:
		return objects_equal(a, b);
	default:
		return true;
	}
}
