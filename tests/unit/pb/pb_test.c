/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers field by field (src/remote/pb/pb.h). */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "pb/pb.h"

static void test_varints(void **state)
{
	static const uint64_t numbers[] = { 0,         1, 127, 128, 16383, 16384, UINT32_MAX, UINT64_MAX >> 1,
					    UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		uint64_t back = 0;

		mor_pb_put_varint(&out, numbers[i]);
		assert_int_equal(mor_pb_varint(out.data, out.len, &back), out.len);
		assert_true(back == numbers[i]);
		assert_int_equal(mor_pb_varint(out.data, out.len - 1, &back), 0);
	}
}

static void test_base64(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
	} cases[] = {
		{ "", "" },
		{ "YQ==", "a" },
		{ "YQ", "a" },
		{ "YWI=", "ab" },
		{ "YWI", "ab" },
		{ "YWJj", "abc" },
		{ "_-_-", "\xff\xef\xfe" },
		{ "/+/+", "\xff\xef\xfe" },
		{ "Y", NULL },
		{ "Y===", NULL },
		{ "YQ=", NULL },
		{ "=", NULL },
		{ "====", NULL },
		{ "YR", NULL },
		{ "Y Q=", NULL },
		{ "YQ==YQ==", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		int r = mor_pb_base64(mor_slice_of(cases[i].text), &out);

		assert_int_equal(r, cases[i].want ? 0 : MORTISE_EINPUT);
		if (cases[i].want)
			assert_true(mor_slice_is(mor_buf_view(&out), cases[i].want));
	}
}

/* A reader that meets what is no protocol buffer says so, and reads nothing past it. */
static void test_refused_fields(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} cases[] = {
		{ "\x00\x01", 2 },                 /* field 0 */
		{ "\x0b", 1 },                     /* a group */
		{ "\x0e\x01", 2 },                 /* no such wire type */
		{ "\x08", 1 },                     /* no number */
		{ "\x08\x80", 2 },                 /* a number cut short */
		{ "\x09\x01\x02", 3 },             /* eight bytes wanted */
		{ "\x0d\x01\x02", 3 },             /* four bytes wanted */
		{ "\x0a\x02x", 3 },                /* longer than what is there */
		{ "\x0a\xff\xff\xff\xff\x0f", 6 }, /* much longer */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_pb pb = { .left = { cases[i].bytes, cases[i].len } };

		assert_int_equal(mor_pb_next(&pb), MORTISE_EINPUT);
	}
}

static void test_fields(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_pb pb;

	(void)state;
	mor_pb_put_number(&out, 1, 300);
	mor_pb_put_text(&out, 2, "");
	mor_pb_put_text(&out, 0x1fffffff, "ab");
	pb = (struct mor_pb){ .left = mor_buf_view(&out) };
	assert_int_equal(mor_pb_next(&pb), 1);
	assert_true(pb.field == 1 && pb.wire == MOR_PB_VARINT && pb.number == 300);
	assert_int_equal(mor_pb_next(&pb), 1);
	assert_true(pb.field == 0x1fffffff && pb.wire == MOR_PB_BYTES && mor_slice_is(pb.bytes, "ab"));
	assert_int_equal(mor_pb_next(&pb), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_varints),
		MOR_TEST(test_base64),
		MOR_TEST(test_refused_fields),
		MOR_TEST(test_fields),
	};

	return mor_run_group("pb/pb", tests);
}
