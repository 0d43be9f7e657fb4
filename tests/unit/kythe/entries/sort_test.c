/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/entries/sort.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "leak.h"

static int put_buf(const void *bytes, size_t len, void *arg)
{
	return mor_buf_append(arg, bytes, len);
}

static struct mor_entry entry_of(const char *path, const char *signature, const char *fact)
{
	struct mor_entry entry = { .source.set = true, .fact_name = mor_slice_of(fact) };

	entry.source.part[MOR_VNAME_PATH] = mor_slice_of(path);
	entry.source.part[MOR_VNAME_SIGNATURE] = mor_slice_of(signature);
	entry.fact_value = mor_slice_of("v");
	return entry;
}

/* `count` entries, the k-th is number (k * step) % count; written with this much memory. */
static struct mor_buf sorted(size_t count, size_t step, size_t memory, bool unique,
			     struct mor_sorter_stats *ret)
{
	struct mor_buf out = MOR_BUF_INIT;
	struct mor_sorter *sorter = NULL;
	mortise_error err = { 0 };

	assert_int_equal(mor_sorter_new(memory, "/tmp", &sorter, &err), 0);
	for (size_t i = 0; i < count; i++) {
		char path[20], signature[20];
		struct mor_entry entry;

		snprintf(path, sizeof(path), "p%zu", i * step % count / 7);
		snprintf(signature, sizeof(signature), "s%zu", i * step % count % 7);
		entry = entry_of(path, signature, "/kythe/node/kind");
		assert_int_equal(mor_sorter_add(sorter, &entry, &err), 0);
	}
	assert_int_equal(mor_sorter_finish(sorter, unique, put_buf, &out, &err), 0);
	*ret = mor_sorter_stats(sorter);
	mor_sorter_free(sorter);
	return out;
}

static ssize_t read_buf(void *arg, void *buffer, size_t len)
{
	struct mor_slice *left = arg;

	len = len < left->len ? len : left->len;
	memcpy(buffer, left->ptr, len);
	*left = (struct mor_slice){ left->ptr + len, left->len - len };
	return (ssize_t)len;
}

static void test_order(void **state)
{
	static const char *const want[][3] = { { "a", "", "/x" },
					       { "a", "1", "/x" },
					       { "a", "1", "/y" },
					       { "a.c", "", "/x" },
					       { "b", "", "/a" } };
	static const size_t given[] = { 4, 2, 0, 3, 1 };
	struct mor_buf out = MOR_BUF_INIT;
	struct mor_sorter *sorter = NULL;
	struct mor_slice left;
	struct mor_entries entries = { .records = { .read = read_buf, .arg = &left } };
	struct mor_entry entry;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_sorter_new(0, "/tmp", &sorter, &err), 0);
	for (size_t i = 0; i < 5; i++) {
		const char *const *parts = want[given[i]];

		entry = entry_of(parts[0], parts[1], parts[2]);
		assert_int_equal(mor_sorter_add(sorter, &entry, &err), 0);
	}
	assert_int_equal(mor_sorter_finish(sorter, false, put_buf, &out, &err), 0);
	left = mor_buf_view(&out);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(mor_entries_next(&entries, &entry, &err), 1);
		assert_true(mor_slice_is(entry.source.part[MOR_VNAME_PATH], want[i][0]));
		assert_true(mor_slice_is(entry.source.part[MOR_VNAME_SIGNATURE], want[i][1]));
		assert_true(mor_slice_is(entry.fact_name, want[i][2]));
	}
	mor_entries_fini(&entries);
	mor_buf_fini(&out);
	mor_sorter_free(sorter);
}

/* With so little memory that runs are merged before the end, too: the same stream. */
static void test_runs(void **state)
{
	struct mor_sorter_stats stats;
	struct mor_buf whole, runs;

	(void)state;
	whole = sorted(3000, 7919, 0, false, &stats);
	assert_int_equal(stats.runs, 0);
	runs = sorted(3000, 1, 1500, false, &stats);
	assert_true(stats.runs > 2 * MOR_SORT_FAN);
	assert_int_equal(stats.entries, 3000);
	assert_int_equal(runs.len, whole.len);
	assert_memory_equal(runs.data, whole.data, whole.len);
	mor_buf_fini(&runs);
	mor_buf_fini(&whole);
}

static void test_unique(void **state)
{
	struct mor_sorter_stats stats;
	struct mor_buf once = sorted(50, 1, 0, false, &stats);
	struct mor_sorter *sorter = NULL;
	struct mor_buf out = MOR_BUF_INIT;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_sorter_new(600, "/tmp", &sorter, &err), 0);
	for (size_t i = 0; i < 100; i++) {
		char path[20], signature[20];
		struct mor_entry entry;

		snprintf(path, sizeof(path), "p%zu", i % 50 / 7);
		snprintf(signature, sizeof(signature), "s%zu", i % 50 % 7);
		entry = entry_of(path, signature, "/kythe/node/kind");
		assert_int_equal(mor_sorter_add(sorter, &entry, &err), 0);
	}
	assert_int_equal(mor_sorter_finish(sorter, true, put_buf, &out, &err), 0);
	assert_int_equal(mor_sorter_stats(sorter).dropped, 50);
	assert_int_equal(out.len, once.len);
	assert_memory_equal(out.data, once.data, once.len);
	mor_buf_fini(&out);
	mor_buf_fini(&once);
	mor_sorter_free(sorter);
}

static void test_no_place_for_runs(void **state)
{
	struct mor_sorter *sorter = NULL;
	struct mor_entry entry = entry_of("a", "b", "/c");
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_sorter_new(1, "/nowhere", &sorter, &err), 0);
	assert_int_equal(mor_sorter_add(sorter, &entry, &err), MORTISE_ESYSTEM);
	assert_non_null(strstr(err.text, "sorting in /nowhere"));
	mor_sorter_free(sorter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_order),
		MOR_TEST(test_runs),
		MOR_TEST(test_unique),
		MOR_TEST(test_no_place_for_runs),
	};

	return mor_run_group("kythe/entries/sort", tests);
}
