/* SPDX-License-Identifier: Apache-2.0 */
/* A folded stream gives its bytes in whatever pieces, and none makes a reader leave its room. */
#include "leak.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "depot/unfold.h"

static struct mor_unfold *unfold;

static int setup(void **state)
{
	(void)state;
	unfold = mor_unfold_new();
	return unfold ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	unfold = mor_unfold_free(unfold);
	return 0;
}

static void put_number(struct mor_buf *out, size_t number)
{
	for (; number >= 0x80; number >>= 7)
		mor_buf_byte(out, (char)(number | 0x80));
	mor_buf_byte(out, (char)number);
}

/* In pieces of `in` bytes, into a buffer of `out` bytes. */
static void unfold_all(const struct mor_buf *folded, const struct mor_buf *text, size_t in, size_t out)
{
	MOR_CLEAN_TEXT char *buffer = mor_alloc(out);
	size_t done = 0;

	mor_unfold_begin(unfold);
	for (size_t at = 0; at < folded->len; at += in) {
		struct mor_slice piece = { folded->data + at, folded->len - at < in ? folded->len - at : in };
		ssize_t n;

		while ((n = mor_unfold_read(unfold, &piece, buffer, out)) > 0) {
			assert_true(done + (size_t)n <= text->len);
			assert_memory_equal(text->data + done, buffer, (size_t)n);
			done += (size_t)n;
		}
		assert_int_equal(n, 0);
		assert_int_equal(piece.len, 0);
	}
	assert_int_equal(done, text->len);
	assert_true(mor_unfold_whole(unfold));
}

/* New bytes and runs of any length from anywhere, several rooms of them. */
static void test_any(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf folded = MOR_BUF_INIT, text = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *room = mor_alloc(MOR_UNFOLD_ROOM);
	size_t kept = 0;
	unsigned seed = 7;

	(void)state;
	while (kept < 2 * MOR_UNFOLD_ROOM + 1000000) {
		size_t news = (size_t)rand_r(&seed) % 400000, run = (size_t)rand_r(&seed) % 300000, from, end;

		put_number(&folded, news);
		for (size_t i = 0; i < news; i++, kept++) {
			room[kept % MOR_UNFOLD_ROOM] = (char)(i * 31 + kept / 97);
			mor_buf_byte(&folded, room[kept % MOR_UNFOLD_ROOM]);
			mor_buf_byte(&text, room[kept % MOR_UNFOLD_ROOM]);
		}
		end = kept < MOR_UNFOLD_ROOM ? kept : MOR_UNFOLD_ROOM;
		run = run < end ? run : end;
		put_number(&folded, run);
		if (!run)
			continue;
		from = (size_t)rand_r(&seed) % (end - run + 1);
		put_number(&folded, from);
		mor_buf_append(&text, room + from, run);
	}
	unfold_all(&folded, &text, SIZE_MAX / 2, 131072);
	unfold_all(&folded, &text, 777, 131072);
	unfold_all(&folded, &text, 131072, 999);
}

static void test_empty(void **state)
{
	struct mor_buf none = MOR_BUF_INIT, folded = { .data = (char *)"\0\0\0\0", .len = 4 };

	(void)state;
	unfold_all(&none, &none, 1, 1);
	unfold_all(&folded, &none, 1, 1);
}

static void refuse(const char *bytes, size_t len)
{
	struct mor_slice in = { bytes, len };
	char out[100];
	ssize_t n;

	mor_unfold_begin(unfold);
	while ((n = mor_unfold_read(unfold, &in, out, sizeof(out))) > 0)
		;
	assert_true(n == -EBADMSG || !mor_unfold_whole(unfold));
}
#define REFUSE(text) refuse(text, sizeof(text) - 1)

static void test_lies(void **state)
{
	(void)state;
	REFUSE("\0\1\0");                                      /* of an empty room */
	REFUSE("\1x\2\0");                                     /* longer than what is there */
	REFUSE("\1x\1\1");                                     /* behind its end */
	REFUSE("\1x\1\200\200\200\200\200\200\200\200\200\1"); /* a number that is too long */
	REFUSE("\5ab");                                        /* cut */
	REFUSE("\1x\1");
	REFUSE("\200");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_any, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, teardown),
	};

	return mor_run_group("unfold", tests);
}
