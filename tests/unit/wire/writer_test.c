/* SPDX-License-Identifier: Apache-2.0 */
/* The writer, one-line copies, base64. */
#include "leak.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "wire/envelope.h"
#include "wire/json.h"

static void check_text(struct mor_buf *out, const char *expected)
{
	assert_int_equal(mor_buf_byte(out, '\0'), 0);
	assert_string_equal(out->data, expected);
	mor_buf_reset(out, 65536);
}

static void commas_and_brackets(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_writer w = { .out = &out };

	(void)state;
	mor_w_object(&w);
	mor_w_pair(&w, "a", "x\"");
	mor_w_pair(&w, "none", NULL);
	mor_w_pair_int(&w, "i", INT64_MIN);
	mor_w_pair_bool(&w, "t", true);
	mor_w_pair_raw(&w, "r", MOR_SLICE("{\"q\":1}"));
	mor_w_key(&w, "l");
	mor_w_array(&w);
	mor_w_array(&w);
	mor_w_end(&w);
	mor_w_object(&w);
	mor_w_end(&w);
	mor_w_uint(&w, UINT64_MAX);
	mor_w_double(&w, 0.1);
	mor_w_bool(&w, false);
	mor_w_null(&w);
	mor_w_slice(&w, MOR_SLICE("s"));
	mor_w_value(&w, NULL);
	mor_w_end(&w);
	mor_w_key_slice(&w, MOR_SLICE("k\n"));
	mor_w_string(&w, "v");
	mor_w_end(&w);
	assert_int_equal(w.depth, 0);
	assert_true(mor_json_valid(mor_buf_view(&out), 0, 0, NULL));
	check_text(&out, "{\"a\":\"x\\\"\",\"none\":null,\"i\":-9223372036854775808,\"t\":true,\"r\":{\"q\":1},"
			 "\"l\":[[],{},18446744073709551615,0.1,false,null,\"s\",null],\"k\\n\":\"v\"}");
}

static void scalar_by_itself(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_writer w = { .out = &out };

	(void)state;
	mor_w_int(&w, 5);
	check_text(&out, "5");
	assert_int_equal(mor_doc_parse(MOR_SLICE("[1, {\"a\": 2}]"), 0, 0, &doc, NULL), 0);
	mor_w_value(&w, mor_doc_root(doc));
	check_text(&out, "[1,{\"a\":2}]");
}

static void sixty_four_levels_and_no_more(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_writer w = { .out = &out };

	(void)state;
	for (int i = 0; i < 64; i++)
		mor_w_array(&w);
	for (int i = 0; i < 64; i++)
		mor_w_end(&w);
	assert_int_equal(out.len, 128);
	assert_true(mor_json_valid(mor_buf_view(&out), 0, 0, NULL));
	for (int i = 0; i < 65; i++)
		mor_w_object(&w);
	for (int i = 0; i < 65; i++)
		mor_w_end(&w);
	assert_int_equal(out.status, MORTISE_ELIMIT);
	assert_int_equal(w.depth, 0);
}

static void doubles_read_back_the_same(void **state)
{
	static const double rows[] = { 0,     -0.0,   1,       1.5,
				       0.1,   1e100,  5e-324,  1.7976931348623157e308,
				       1e21,  123456, 1.0 / 3, -2e-7,
				       1e-10, 3.0e15 };
	char text[MOR_JSON_DOUBLE];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		mor_json_format_double(rows[i], text);
		assert_true(strtod(text, NULL) == rows[i]);
		assert_true(mor_json_valid(mor_slice_of(text), 0, 0, NULL));
	}
}

static void no_number_is_null(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_writer w = { .out = &out };

	(void)state;
	mor_w_array(&w);
	mor_w_double(&w, NAN);
	mor_w_double(&w, -INFINITY);
	mor_w_end(&w);
	check_text(&out, "[null,null]");
}

static void errors_stick(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = { .limit = 4 };
	struct mor_writer w = { .out = &out };

	(void)state;
	mor_w_array(&w);
	mor_w_string(&w, "long text");
	mor_w_int(&w, 1);
	mor_w_end(&w);
	assert_int_equal(out.status, MORTISE_ELIMIT);
}

static void one_line(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	mor_buf_text(&out, "kept\n");
	assert_int_equal(mor_json_one_line(MOR_SLICE("{\r\n\t\"a\\n\": 1\n}"), &out), 0);
	check_text(&out, "kept\n{  \t\"a\\n\": 1 }");
	assert_int_equal(mor_json_one_line(MOR_SLICE("[ 1 ]"), &out), 0);
	check_text(&out, "[ 1 ]");
	assert_int_equal(mor_json_one_line((struct mor_slice){ NULL, 0 }, &out), 0);
	assert_int_equal(out.len, 0);
}

static void base64_vectors(void **state)
{
	/* RFC 4648, section 10 */
	static const char *const rows[][2] = { { "", "" },
					       { "f", "Zg==" },
					       { "fo", "Zm8=" },
					       { "foo", "Zm9v" },
					       { "foob", "Zm9vYg==" },
					       { "fooba", "Zm9vYmE=" },
					       { "foobar", "Zm9vYmFy" } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

		assert_int_equal(mor_base64_encode(mor_slice_of(rows[i][0]), &out), 0);
		check_text(&out, rows[i][1]);
		assert_int_equal(mor_base64_decode(mor_slice_of(rows[i][1]), &out), 0);
		check_text(&out, rows[i][0]);
	}
}

static void base64_of_every_byte(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf back = MOR_BUF_INIT;
	char bytes[256];

	(void)state;
	for (int i = 0; i < 256; i++)
		bytes[i] = (char)i;
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		struct mor_slice in = { bytes + 256 - n, n };

		mor_buf_reset(&text, 4096);
		mor_buf_reset(&back, 4096);
		assert_int_equal(mor_base64_encode(in, &text), 0);
		assert_int_equal(mor_base64_decode(mor_buf_view(&text), &back), 0);
		assert_true(mor_slice_eq(mor_buf_view(&back), in));
	}
}

static void base64_refuses(void **state)
{
	static const char *const bad[] = { "Z",    "Zg",   "Zg=",  "Zg==Zg==", "Z===", "====",      "Zm9v\n",
					   "Zm 9", "Zh==", "Zm9=", "Zm-_",     "Zg=a", "Z\xc3\xa9g" };
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	mor_buf_text(&out, "kept");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(mor_base64_decode(mor_slice_of(bad[i]), &out), MORTISE_EPROTO);
	check_text(&out, "kept");
	out.limit = 4;
	assert_int_equal(mor_base64_encode(MOR_SLICE("1234"), &out), MORTISE_ELIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(commas_and_brackets),
		MOR_TEST(scalar_by_itself),
		MOR_TEST(sixty_four_levels_and_no_more),
		MOR_TEST(doubles_read_back_the_same),
		MOR_TEST(no_number_is_null),
		MOR_TEST(errors_stick),
		MOR_TEST(one_line),
		MOR_TEST(base64_vectors),
		MOR_TEST(base64_of_every_byte),
		MOR_TEST(base64_refuses),
	};

	return mor_run_group("wire/writer", tests);
}
