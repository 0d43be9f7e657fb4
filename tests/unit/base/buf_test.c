/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers, allocation that fails on demand, and lists. */
#include "leak.h"

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/list.h"

static void buf_appends_and_detaches(void **state)
{
	struct mor_buf buf = MOR_BUF_INIT;
	char *text;

	(void)state;
	assert_int_equal(mor_buf_text(&buf, "one"), 0);
	assert_int_equal(mor_buf_byte(&buf, ' '), 0);
	assert_int_equal(mor_buf_printf(&buf, "%d %s", 2, "three"), 0);
	assert_int_equal(mor_buf_append(&buf, "\0x", 2), 0);
	text = mor_buf_detach(&buf);
	assert_memory_equal(text, "one 2 three\0x", 14);
	assert_null(buf.data);
	assert_int_equal(buf.len, 0);
	mor_free(text);
	text = mor_buf_detach(&buf);
	assert_string_equal(text, "");
	mor_free(text);
}

static void buf_limit_sticks(void **state)
{
	struct mor_buf buf = { .limit = 5 };

	(void)state;
	assert_int_equal(mor_buf_text(&buf, "12345"), 0);
	assert_int_equal(mor_buf_byte(&buf, '6'), MORTISE_ELIMIT);
	assert_true(mor_buf_failed(&buf));
	mor_buf_consume(&buf, 5);
	assert_int_equal(mor_buf_byte(&buf, '6'), MORTISE_ELIMIT);
	assert_null(mor_buf_detach(&buf));
	mor_buf_reset(&buf, 4096);
	assert_non_null(buf.data);
	assert_int_equal(mor_buf_printf(&buf, "%05d", 7), 0);
	assert_int_equal(mor_buf_printf(&buf, "%d", 7), MORTISE_ELIMIT);
	mor_buf_reset(&buf, 0);
	assert_null(buf.data);
	assert_int_equal(buf.limit, 5);
	/* A limit that was lowered below what is held already. */
	assert_int_equal(mor_buf_text(&buf, "123"), 0);
	buf.limit = 2;
	assert_int_equal(mor_buf_append(&buf, "", 0), MORTISE_ELIMIT);
	mor_buf_fini(&buf);
}

static void buf_refuses_absurd_sizes(void **state)
{
	struct mor_buf buf = MOR_BUF_INIT;

	(void)state;
	assert_int_equal(mor_buf_byte(&buf, 'x'), 0);
	assert_int_equal(mor_buf_reserve(&buf, SIZE_MAX), MORTISE_ENOMEM);
	mor_buf_fini(&buf);
}

static void buf_consumes_from_the_front(void **state)
{
	struct mor_buf buf = MOR_BUF_INIT;

	(void)state;
	for (int i = 0; i < 3000; i++)
		mor_buf_printf(&buf, "%04d", i);
	assert_int_equal(buf.len, 12000);
	mor_buf_consume(&buf, 8);
	assert_memory_equal(buf.data, "00020003", 8);
	assert_int_equal(buf.len, 11992);
	mor_buf_consume(&buf, 0);
	mor_buf_consume(&buf, 99999);
	assert_int_equal(buf.len, 0);
	mor_buf_fini(&buf);
}

static void check_string(struct mor_slice text, const char *expected)
{
	MOR_CLEAN(mor_buf) struct mor_buf buf = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *got = NULL;

	assert_int_equal(mor_buf_json_string(&buf, text), 0);
	got = mor_buf_detach(&buf);
	assert_string_equal(got, expected);
}

static void buf_writes_json_strings(void **state)
{
	(void)state;
	check_string((struct mor_slice){ NULL, 0 }, "\"\"");
	check_string(MOR_SLICE("plain"), "\"plain\"");
	check_string(MOR_SLICE("a\"b\\c\n\r\t\b\f\x01\x1f\x7f/"),
		     "\"a\\\"b\\\\c\\n\\r\\t\\b\\f\\u0001\\u001f\x7f/\"");
	check_string(MOR_SLICE("\0"), "\"\\u0000\"");
	check_string(MOR_SLICE("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"),
		     "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
	check_string(MOR_SLICE("a\xff\xc3"), "\"a\xef\xbf\xbd\xef\xbf\xbd\"");
	check_string(MOR_SLICE("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

static void allocation_fails_from_the_nth_on(void **state)
{
	long before = mor_alloc_count();
	void *a, *b;

	(void)state;
	mor_alloc_fail_after(2);
	a = mor_alloc(0);
	b = mor_zalloc(10);
	assert_non_null(a);
	assert_non_null(b);
	assert_null(mor_alloc(1));
	assert_null(mor_realloc(a, 100));
	assert_null(mor_strdup("x"));
	mor_alloc_fail_after(-1);
	assert_null(mor_strdup(NULL));
	assert_int_equal(mor_alloc_count() - before, 5);
	a = mor_realloc(a, 100);
	assert_non_null(a);
	mor_free(a);
	mor_free(b);
}

static void buf_survives_failing_memory(void **state)
{
	struct mor_buf buf = MOR_BUF_INIT;

	(void)state;
	mor_buf_text(&buf, "kept");
	mor_alloc_fail_after(0);
	assert_int_equal(mor_buf_reserve(&buf, 100000), MORTISE_ENOMEM);
	mor_alloc_fail_after(-1);
	assert_int_equal(mor_buf_text(&buf, "x"), MORTISE_ENOMEM);
	assert_memory_equal(buf.data, "kept", 4);
	mor_buf_fini(&buf);
	assert_int_equal(mor_buf_text(&buf, "again"), 0);
	mor_buf_fini(&buf);
}

struct number {
	int value;
	struct mor_list node;
};

static void list_keeps_order(void **state)
{
	struct mor_list head;
	struct number n[4] = { { .value = 1 }, { .value = 2 }, { .value = 3 }, { .value = 0 } };
	int expected = 0;

	(void)state;
	mor_list_init(&head);
	assert_null(mor_list_pop(&head));
	for (int i = 0; i < 3; i++)
		mor_list_append(&head, &n[i].node);
	mor_list_prepend(&head, &n[3].node);
	MOR_LIST_EACH(node, after, &head) {
		assert_int_equal(mor_container_of(node, struct number, node)->value, expected++);
		if (expected == 2)
			mor_list_remove(node);
	}
	assert_int_equal(expected, 4);
	mor_list_remove(&n[0].node);
	assert_ptr_equal(mor_list_pop(&head), &n[3].node);
	assert_false(mor_list_empty(&head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(buf_appends_and_detaches),    MOR_TEST(buf_limit_sticks),
		MOR_TEST(buf_refuses_absurd_sizes),    MOR_TEST(buf_consumes_from_the_front),
		MOR_TEST(buf_writes_json_strings),     MOR_TEST(allocation_fails_from_the_nth_on),
		MOR_TEST(buf_survives_failing_memory), MOR_TEST(list_keeps_order),
	};

	return mor_run_group("base/buf", tests);
}
