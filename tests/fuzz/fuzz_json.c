/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is parsed and written reads back as the same value, compact, pretty and on one line; base64 goes round.
 * Byte 0: flags.
 */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "wire/envelope.h"
#include "wire/json.h"

static void check_written(const struct mor_value *root, bool pretty)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *again = NULL;

	CHECK(mor_json_write(root, pretty, &out) == 0);
	CHECK(pretty || !memchr(out.data, '\n', out.len));
	CHECK(mor_doc_parse(mor_buf_view(&out), MOR_JSON_NAN, 0, &again, NULL) == 0);
	CHECK(mor_json_equal(root, mor_doc_root(again)));
}

static void check_one_line(struct mor_slice text, const struct mor_value *root)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *again = NULL;

	CHECK(mor_json_one_line(text, &out) == 0);
	CHECK(!memchr(out.data, '\n', out.len) && !memchr(out.data, '\r', out.len));
	CHECK(mor_doc_parse(mor_buf_view(&out), MOR_JSON_NAN, 0, &again, NULL) == 0);
	CHECK(mor_json_equal(root, mor_doc_root(again)));
}

/* Every accessor on every value: none may read what it should not. */
static void walk(const struct mor_value *value)
{
	struct mor_json_iter it = mor_json_iter(value);
	struct mor_slice raw = mor_json_raw(value);
	size_t n = 0;

	CHECK((mor_json_type(value) == MOR_JSON_NUMBER) == (raw.ptr != NULL));
	CHECK(!raw.ptr || raw.ptr[raw.len] == '\0');
	mor_json_int(value, 0);
	mor_json_double(value, 0);
	mor_json_is_int(value);
	mor_json_text(value, "");
	while (mor_json_next(&it)) {
		if (it.name.ptr)
			CHECK(mor_json_get_slice(value, it.name) != NULL);
		walk(it.value);
		n++;
	}
	CHECK(n == mor_json_size(value));
}

static void check_base64(struct mor_slice bytes)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf back = MOR_BUF_INIT;

	CHECK(mor_base64_encode(bytes, &text) == 0);
	CHECK(mor_base64_decode(mor_buf_view(&text), &back) == 0);
	CHECK(mor_slice_eq(mor_buf_view(&back), bytes));
	mor_buf_reset(&text, 1 << 20);
	mor_buf_reset(&back, 1 << 20);
	/* What is taken for base64 is the one text of its bytes. */
	if (mor_base64_decode(bytes, &back) == 0) {
		CHECK(mor_base64_encode(mor_buf_view(&back), &text) == 0);
		CHECK(mor_slice_eq(mor_buf_view(&text), bytes));
	}
}

static void check_string(struct mor_slice bytes)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	CHECK(mor_buf_json_string(&out, bytes) == 0);
	CHECK(mor_json_valid(mor_buf_view(&out), 0, 0, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error err = { 0 };
	struct mor_slice text;
	int r;

	if (size < 1)
		return 0;
	text = (struct mor_slice){ (const char *)data + 1, size - 1 };
	check_base64(text);
	check_string(text);
	r = mor_doc_parse(text, data[0] & 1 ? MOR_JSON_NAN : 0, 0, &doc, &err);
	CHECK(r == 0 || (r == MORTISE_EPROTO && err.text[0]));
	if (r < 0)
		return 0;
	walk(mor_doc_root(doc));
	check_written(mor_doc_root(doc), false);
	check_written(mor_doc_root(doc), true);
	check_one_line(text, mor_doc_root(doc));
	return 0;
}
