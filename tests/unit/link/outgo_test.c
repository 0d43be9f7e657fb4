/* SPDX-License-Identifier: Apache-2.0 */
/* What waits to be written: the same bytes, whether a part is in the queue, borrowed or owned. */
#include "link/outgo.h"

#include <string.h>

#include "leak.h"

#define HEAD "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":"

/* The embedder's memory; it is gone when the test overwrites it. */
static char params[] = "[\"a large part, in memory of its own\"]";

/* Takes `step` bytes at a time, as a pipe may. `own_after`: how many bytes before the memory goes. */
static void drain(struct mor_outgo *out, size_t step, size_t own_after, struct mor_buf *ret)
{
	bool owned = false;

	while (!mor_outgo_is_empty(out)) {
		struct mor_slice next = mor_outgo_next(out);
		size_t n = next.len < step ? next.len : step;

		assert_true(n > 0);
		assert_int_equal(mor_buf_append(ret, next.ptr, n), 0);
		mor_outgo_written(out, n);
		if (!owned && ret->len >= own_after) {
			assert_int_equal(mor_outgo_own(out), 0);
			memset(params, '?', sizeof(params) - 1);
			owned = true;
		}
	}
	mor_outgo_reset(out, 0);
}

static void play(enum mor_framing framing, bool large, size_t step, size_t own_after, struct mor_buf *ret)
{
	static const char text[] = "[\"a large part, in memory of its own\"]";
	struct mor_link_options opt = { .framing = framing };
	struct mor_outgo out = { .opt = &opt };
	struct mor_large part = { .bytes = { params, sizeof(params) - 1 } };
	uint64_t bytes, sum = 0;

	memcpy(params, text, sizeof(params));
	assert_int_equal(mor_outgo_add(&out, MOR_SLICE("{\"first\":1}"), &bytes), 0);
	sum += bytes;
	assert_true(mor_outgo_takes_large(&out));
	if (large) {
		assert_int_equal(mor_outgo_add_large(&out, MOR_SLICE(HEAD), &part, &bytes), 0);
		assert_false(mor_outgo_takes_large(&out));
	} else {
		assert_int_equal(mor_outgo_add(&out,
					       MOR_SLICE(HEAD "[\"a large part, in memory of its own\"]}"),
					       &bytes),
				 0);
	}
	sum += bytes;
	assert_int_equal(mor_outgo_add(&out, MOR_SLICE("{\"last\":1}"), &bytes), 0);
	drain(&out, step, own_after, ret);
	assert_int_equal(ret->len, sum + bytes);
}

static void same_bytes(void **state)
{
	(void)state;
	for (int framing = 0; framing < MOR_FRAMINGS; framing++) {
		struct mor_buf want = MOR_BUF_INIT;

		play((enum mor_framing)framing, false, 1000, SIZE_MAX, &want);
		for (size_t step = 1; step < 7; step++) {
			for (size_t own_after = 0; own_after <= want.len; own_after++) {
				struct mor_buf got = MOR_BUF_INIT;

				/* Before that many bytes nobody asks, so the memory must not go. */
				play((enum mor_framing)framing, true, step, own_after, &got);
				assert_int_equal(got.len, want.len);
				assert_memory_equal(got.data, want.data, want.len);
				mor_buf_fini(&got);
			}
		}
		mor_buf_fini(&want);
	}
}

static void limits(void **state)
{
	struct mor_link_options opt = { .framing = MOR_FRAMING_LINES, .send_limit = 100, .queue_limit = 120 };
	struct mor_outgo out = { .opt = &opt };
	struct mor_large part = { .bytes = { params, sizeof(params) - 1 } };
	uint64_t bytes;

	(void)state;
	assert_int_equal(mor_outgo_check(&out, 100), 0);
	assert_int_equal(mor_outgo_check(&out, 101), MORTISE_ELIMIT);
	assert_int_equal(mor_outgo_add_large(&out, MOR_SLICE(HEAD), &part, &bytes), 0);
	assert_int_equal(mor_outgo_check(&out, 120 - (size_t)bytes), 0);
	assert_int_equal(mor_outgo_check(&out, 121 - (size_t)bytes), MORTISE_EOVERLOAD);
	mor_outgo_reset(&out, 0);
	assert_true(mor_outgo_is_empty(&out));
}

/* A part that is given away is freed once, written or not. */
static void owned_part(void **state)
{
	struct mor_link_options opt = { .framing = MOR_FRAMING_LINES };
	struct mor_outgo out = { .opt = &opt };
	struct mor_large part = { .owned = MOR_BUF_INIT };
	uint64_t bytes;

	(void)state;
	assert_int_equal(mor_buf_text(&part.owned, "[1]"), 0);
	part.bytes = mor_buf_view(&part.owned);
	assert_int_equal(mor_outgo_add_large(&out, MOR_SLICE(HEAD), &part, &bytes), 0);
	assert_null(part.owned.data);
	assert_int_equal(mor_outgo_own(&out), 0);
	mor_outgo_reset(&out, 0);
	assert_null(out.owned);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(same_bytes), MOR_TEST(limits), MOR_TEST(owned_part) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
