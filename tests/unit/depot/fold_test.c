/* SPDX-License-Identifier: Apache-2.0 */
/* What is folded is unfolded to the same bytes, in whatever pieces; long repetitions are gone; and no folded
 * stream makes a reader leave its room. */
#include "leak.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "depot/fold.h"

static struct mor_folding *fold;
static struct mor_unfold *unfold;
static struct mor_buf folded;

static int setup(void **state)
{
	(void)state;
	fold = mor_folding_new();
	unfold = mor_unfold_new();
	folded = (struct mor_buf)MOR_BUF_INIT;
	return fold && unfold ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	fold = mor_folding_free(fold);
	unfold = mor_unfold_free(unfold);
	mor_buf_fini(&folded);
	return 0;
}

static int put(const void *bytes, size_t len, void *arg, mortise_error *err)
{
	(void)err;
	mor_buf_append(arg, bytes, len);
	return 0;
}

static void fold_all(const struct mor_buf *text, size_t piece)
{
	struct mor_pack_sink sink = { put, &folded };

	mor_buf_reset(&folded, SIZE_MAX);
	mor_folding_begin(fold);
	for (size_t at = 0; at < text->len; at += piece)
		assert_int_equal(mor_folding_add(fold, text->data + at,
						 text->len - at < piece ? text->len - at : piece, &sink, NULL),
				 0);
	assert_int_equal(mor_folding_flush(fold, &sink, NULL), 0);
	assert_false(mor_buf_failed(&folded));
}

/* In pieces of `in` bytes, into a buffer of `out` bytes. */
static void unfold_all(const struct mor_buf *text, size_t in, size_t out)
{
	MOR_CLEAN_TEXT char *buffer = mor_alloc(out);
	size_t done = 0;

	mor_unfold_begin(unfold);
	for (size_t at = 0; at < folded.len; at += in) {
		struct mor_slice piece = { folded.data + at, folded.len - at < in ? folded.len - at : in };
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

/* Lines that nobody has said before. */
static void add_lines(struct mor_buf *text, unsigned *seed, size_t bytes)
{
	size_t end = text->len + bytes;

	while (text->len < end) {
		unsigned a = (unsigned)rand_r(seed), b = (unsigned)rand_r(seed);

		mor_buf_printf(text, "\n%u of %u, and then %u; or else %u and %u", a, b, a ^ b, a + b, a * 3);
	}
}

static void test_headers(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf headers = MOR_BUF_INIT, text = MOR_BUF_INIT;
	unsigned seed = 7;

	(void)state;
	add_lines(&headers, &seed, 1 << 20);
	for (int unit = 0; unit < 20; unit++) {
		add_lines(&text, &seed, 1000);
		mor_buf_append(&text, headers.data, headers.len);
	}
	fold_all(&text, 100000);
	assert_true(folded.len < headers.len + 20 * 20000);
	unfold_all(&text, 4096, 65536);
}

/* Pieces of any size, of text that repeats itself at any distance, several rooms long. */
static void test_any(void **state)
{
	static const size_t pieces[] = { 1, 63, 1000, 65536, 262144, 40000000 };
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	unsigned seed = 11;

	(void)state;
	add_lines(&text, &seed, 3000);
	while (text.len < 3 * MOR_FOLDING_ROOM) {
		size_t len = (size_t)rand_r(&seed) % (text.len < 400000 ? text.len : 400000);
		size_t far = len + (size_t)rand_r(&seed) % (text.len - len + 1);

		assert_int_equal(mor_buf_reserve(&text, len), 0);
		mor_buf_append(&text, text.data + text.len - far, len);
		add_lines(&text, &seed, (size_t)rand_r(&seed) % 100000);
	}
	for (size_t i = 0; i < sizeof(pieces) / sizeof(*pieces); i++) {
		struct mor_buf part = { .data = text.data, .len = pieces[i] < 1000 ? 300000 : text.len };

		fold_all(&part, pieces[i]);
		assert_true(folded.len < part.len);
		unfold_all(&part, i % 2 ? 777 : 131072, i % 2 ? 131072 : 999);
	}
}

static void test_edges(void **state)
{
	static const char *const texts[] = { "", "x", "\n", "\n\n\n\n\n\n\n\n" };
	MOR_CLEAN(mor_buf) struct mor_buf zeros = MOR_BUF_INIT;
	MOR_CLEAN_TEXT char *lines = mor_zalloc(300000);

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct mor_buf text = { .data = (char *)texts[i], .len = strlen(texts[i]) };

		fold_all(&text, 3);
		unfold_all(&text, 1, 1);
	}
	memset(lines, '\n', 300000); /* everything is the same as everything */
	mor_buf_append(&zeros, lines, 300000);
	fold_all(&zeros, 70000);
	unfold_all(&zeros, 65536, 65536);
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
		cmocka_unit_test_setup_teardown(test_headers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_any, setup, teardown),
		cmocka_unit_test_setup_teardown(test_edges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, teardown),
	};

	return mor_run_group("fold", tests);
}
