/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/json.h"

#include <math.h>
#include <stdio.h>
#include <yyjson.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "wire/scan.h"

/* A mor_doc is a yyjson_doc and a mor_value a yyjson_val under another name; nothing is wrapped. Numbers are
 * read as raw text: yyjson would turn long ones into doubles, but ids must go back unchanged. */

/* yyjson's readers take pointers to non-const values, but do not write through them. */
static yyjson_val *val_of(const struct mor_value *value)
{
	return (yyjson_val *)(uintptr_t)value;
}

static const struct mor_value *value_of(const yyjson_val *val)
{
	return (const struct mor_value *)val;
}

static void *alc_malloc(void *ctx, size_t size)
{
	(void)ctx;
	return mor_alloc(size);
}

static void *alc_realloc(void *ctx, void *memory, size_t old_size, size_t size)
{
	(void)ctx;
	(void)old_size;
	return mor_realloc(memory, size);
}

static void alc_free(void *ctx, void *memory)
{
	(void)ctx;
	mor_free(memory);
}

static const yyjson_alc allocator = { alc_malloc, alc_realloc, alc_free, NULL };

/* ---- Parsing ---- */

/* '[' and '{' differ in one bit only, and so do ']' and '}'. */
static bool opens_nesting(char c)
{
	return (c | 0x20) == '{';
}

/* Counts opening brackets in the text, also in strings, up to about `enough`. Fixed blocks, so that the
 * compiler uses 16 bytes at a time. */
static size_t count_brackets(struct mor_slice text, size_t enough)
{
	size_t count = 0, i = 0;

	for (; text.len - i >= 128 && count <= enough; i += 128) {
		unsigned char block = 0;

		for (size_t j = 0; j < 128; j++)
			block += opens_nesting(text.ptr[i + j]);
		count += block;
	}
	for (; i < text.len && count <= enough; i++)
		count += opens_nesting(text.ptr[i]);
	return count;
}

bool mor_json_depth_ok(struct mor_slice text, unsigned max_depth)
{
	const char *p = text.ptr, *end = p + text.len;
	unsigned depth = 0;

	/* Most texts have fewer brackets than allowed levels, and counting is much faster. */
	if (text.len <= max_depth || count_brackets(text, max_depth) <= max_depth)
		return true;
	while (p < end) {
		char c = *p++;

		if (c == '"')
			p = mor_scan_skip_string(p, end);
		else if (opens_nesting(c) && ++depth > max_depth)
			return false;
		else if ((c | 0x20) == '}' && depth > 0)
			depth--;
	}
	return true;
}

static int parse_fail(mortise_error *err, struct mor_slice text, size_t at, const char *what)
{
	size_t line = 1, column = 1;

	if (at > text.len)
		at = text.len;
	for (size_t i = 0; i < at; i++) {
		if (text.ptr[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)text.ptr[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	return mor_fail(err, MORTISE_EPROTO, "%s at byte %zu (line %zu, column %zu)", what, at, line, column);
}

/* yyjson has no depth limit, and accepts more spellings of NaN and Infinity than we do. */
static int check_before(struct mor_slice text, unsigned flags, unsigned max_depth, mortise_error *err)
{
	size_t at;

	if (max_depth == 0)
		max_depth = MOR_JSON_DEPTH;
	if (max_depth > MOR_JSON_DEPTH_MAX)
		max_depth = MOR_JSON_DEPTH_MAX;
	if (text.len == 0)
		return mor_fail(err, MORTISE_EPROTO, "empty text at byte 0 (line 1, column 1)");
	if (!mor_json_depth_ok(text, max_depth))
		return mor_fail(err, MORTISE_EPROTO, "nested deeper than %u levels", max_depth);
	if (flags & MOR_JSON_NAN && !mor_json_valid(text, MOR_ENV_NAN, max_depth, &at))
		return parse_fail(err, text, at, "unexpected character");
	return 0;
}

int mor_doc_parse(struct mor_slice text, unsigned flags, unsigned max_depth, struct mor_doc **ret,
		  mortise_error *err)
{
	yyjson_read_flag how = YYJSON_READ_NUMBER_AS_RAW;
	yyjson_read_err fault;
	yyjson_doc *doc;
	int r = check_before(text, flags, max_depth, err);

	if (r < 0)
		return r;
	if (flags & MOR_JSON_NAN)
		how |= YYJSON_READ_ALLOW_INF_AND_NAN;
	/* Without YYJSON_READ_INSITU the text is copied first and never written to. */
	doc = yyjson_read_opts((char *)(uintptr_t)text.ptr, text.len, how, &allocator, &fault);
	if (doc) {
		*ret = (struct mor_doc *)doc;
		return 0;
	}
	if (fault.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory for a JSON text of %zu bytes", text.len);
	return parse_fail(err, text, fault.pos, fault.msg);
}

struct mor_doc *mor_doc_free(struct mor_doc *doc)
{
	yyjson_doc_free((yyjson_doc *)doc);
	return NULL;
}

const struct mor_value *mor_doc_root(const struct mor_doc *doc)
{
	return value_of(yyjson_doc_get_root((yyjson_doc *)(uintptr_t)doc));
}

/* ---- Looking ---- */

enum mor_json_type mor_json_type(const struct mor_value *value)
{
	switch (yyjson_get_type(val_of(value))) {
	case YYJSON_TYPE_NULL:
		return MOR_JSON_NULL;
	case YYJSON_TYPE_BOOL:
		return MOR_JSON_BOOL;
	case YYJSON_TYPE_RAW:
	case YYJSON_TYPE_NUM:
		return MOR_JSON_NUMBER;
	case YYJSON_TYPE_STR:
		return MOR_JSON_STRING;
	case YYJSON_TYPE_ARR:
		return MOR_JSON_ARRAY;
	case YYJSON_TYPE_OBJ:
		return MOR_JSON_OBJECT;
	default:
		return MOR_JSON_MISSING;
	}
}

const char *mor_json_type_name(enum mor_json_type type)
{
	static const char *const names[] = {
		"missing", "null", "boolean", "number", "string", "array", "object"
	};

	return (size_t)type < sizeof(names) / sizeof(names[0]) ? names[type] : "unknown";
}

const struct mor_value *mor_json_get_slice(const struct mor_value *object, struct mor_slice name)
{
	return value_of(yyjson_obj_getn(val_of(object), name.ptr, name.len));
}

const struct mor_value *mor_json_get(const struct mor_value *object, const char *name)
{
	return mor_json_get_slice(object, mor_slice_of(name));
}

const struct mor_value *mor_json_at(const struct mor_value *value, const char *pointer)
{
	return value_of(yyjson_ptr_get(val_of(value), pointer));
}

const struct mor_value *mor_json_item(const struct mor_value *array, size_t index)
{
	return value_of(yyjson_arr_get(val_of(array), index));
}

size_t mor_json_size(const struct mor_value *value)
{
	return yyjson_is_ctn(val_of(value)) ? yyjson_get_len(val_of(value)) : 0;
}

/* state: the next value or key, how many are left, whether it is an object */
struct mor_json_iter mor_json_iter(const struct mor_value *value)
{
	struct mor_json_iter iter = { .value = NULL };
	size_t size = mor_json_size(value);

	if (size) {
		iter.state[0] = unsafe_yyjson_get_first(val_of(value));
		iter.state[1] = (void *)(uintptr_t)size;
		iter.state[2] = (void *)(uintptr_t)yyjson_is_obj(val_of(value));
	}
	return iter;
}

bool mor_json_next(struct mor_json_iter *iter)
{
	yyjson_val *val = iter->state[0];

	if (iter->state[1] == NULL) {
		iter->name = (struct mor_slice){ NULL, 0 };
		iter->value = NULL;
		return false;
	}
	if (iter->state[2]) {
		iter->name = mor_json_string(value_of(val));
		val++; /* a key's value is the next cell, as in yyjson.h's own iterators */
	}
	iter->value = value_of(val);
	iter->state[0] = unsafe_yyjson_get_next(val);
	iter->state[1] = (void *)((uintptr_t)iter->state[1] - 1);
	return true;
}

struct mor_slice mor_json_string(const struct mor_value *value)
{
	yyjson_val *val = val_of(value);

	if (!yyjson_is_str(val))
		return (struct mor_slice){ NULL, 0 };
	return (struct mor_slice){ yyjson_get_str(val), yyjson_get_len(val) };
}

const char *mor_json_text(const struct mor_value *value, const char *fallback)
{
	const char *text = yyjson_get_str(val_of(value));

	return text ? text : fallback;
}

bool mor_json_bool(const struct mor_value *value, bool fallback)
{
	return yyjson_is_bool(val_of(value)) ? yyjson_get_bool(val_of(value)) : fallback;
}

struct mor_slice mor_json_raw(const struct mor_value *number)
{
	yyjson_val *val = val_of(number);

	if (!yyjson_is_raw(val))
		return (struct mor_slice){ NULL, 0 };
	return (struct mor_slice){ yyjson_get_raw(val), yyjson_get_len(val) };
}

bool mor_json_is_int(const struct mor_value *value)
{
	struct mor_slice raw = mor_json_raw(value);

	for (size_t i = raw.len && raw.ptr[0] == '-'; i < raw.len; i++)
		if (raw.ptr[i] < '0' || raw.ptr[i] > '9')
			return false;
	return raw.len > 0;
}

/* yyjson reads numbers the same way in every locale; strtod() does not. Beyond a double's range it gives
 * infinity, as in C: the flag allows that. */
double mor_json_double(const struct mor_value *value, double fallback)
{
	struct mor_slice raw = mor_json_raw(value);
	yyjson_val number;

	if (!raw.ptr)
		return fallback;
	if (!yyjson_read_number(raw.ptr, &number, YYJSON_READ_ALLOW_INF_AND_NAN, NULL, NULL))
		return fallback;
	return yyjson_get_num(&number);
}

int64_t mor_json_int(const struct mor_value *value, int64_t fallback)
{
	int64_t number;
	double real;

	if (mor_parse_i64(mor_json_raw(value), &number))
		return number;
	/* 2.0 and 1e3 are integral too. Above 2^53, where doubles have gaps, we would only guess. */
	if (mor_json_is_int(value))
		return fallback;
	real = mor_json_double(value, NAN);
	if (!(fabs(real) <= 9007199254740992.0) || real != (double)(int64_t)real)
		return fallback;
	return (int64_t)real;
}

/* ---- Writing ---- */

/* The recursion is limited by the document's depth limit. yyjson 0.10 has a pretty form too, but it forgets
 * the indentation of raw values, and all our numbers are raw. */
static void write_pretty(const struct mor_value *value, unsigned level, struct mor_buf *out)
{
	bool object = mor_json_type(value) == MOR_JSON_OBJECT;
	struct mor_json_iter it = mor_json_iter(value);
	const char *before = object ? "{\n" : "[\n";

	if (mor_json_size(value) == 0) {
		mor_json_write(value, false, out);
		return;
	}
	while (mor_json_next(&it)) {
		mor_buf_printf(out, "%s%*s", before, (int)(level + 1) * 2, "");
		before = ",\n";
		if (object) {
			mor_buf_json_string(out, it.name);
			mor_buf_text(out, ": ");
		}
		write_pretty(it.value, level + 1, out);
	}
	mor_buf_printf(out, "\n%*s%c", (int)level * 2, "", object ? '}' : ']');
}

int mor_json_write(const struct mor_value *value, bool pretty, struct mor_buf *out)
{
	size_t len;
	char *text;
	int r;

	if (!value)
		return mor_buf_text(out, "null");
	if (pretty) {
		write_pretty(value, 0, out);
		return out->status;
	}
	text = yyjson_val_write_opts(val_of(value), YYJSON_WRITE_NOFLAG, &allocator, &len, NULL);
	if (!text) {
		if (!out->status)
			out->status = MORTISE_ENOMEM;
		return out->status;
	}
	r = mor_buf_append(out, text, len);
	mor_free(text);
	return r;
}

const char *mor_json_format_double(double number, char out[MOR_JSON_DOUBLE])
{
	yyjson_val val = { 0 };
	yyjson_alc pool;
	char memory[512], *text;
	size_t len = 0;

	/* On the stack: a single number must not fail for lack of memory. */
	yyjson_alc_pool_init(&pool, memory, sizeof(memory));
	val.tag = YYJSON_TYPE_NUM | YYJSON_SUBTYPE_REAL;
	yyjson_set_real(&val, number);
	text = yyjson_val_write_opts(&val, YYJSON_WRITE_NOFLAG, &pool, &len, NULL);
	snprintf(out, MOR_JSON_DOUBLE, "%s", text ? text : "null");
	return out;
}
