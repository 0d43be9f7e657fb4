/* SPDX-License-Identifier: Apache-2.0 */
/* Shards share the units out without a gap; a list is read as it was written, and no other. */
#include "leak.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/sum.h"
#include "part/part.h"
#include "tmp.h"

#define RUN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char path[TMP_ROOM];

static void put(struct mor_slice bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, file), bytes.len);
	fclose(file);
}

static int setup(void **state)
{
	int fd;

	(void)state;
	tmp_name(path, "part");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static void test_ranges(void **state)
{
	static const size_t units[] = { 0, 1, 2, 7, 1000, SIZE_MAX };
	static const uint32_t shards[] = { 1, 2, 3, 8, 999999, MOR_PART_SHARDS_LIMIT };

	(void)state;
	for (size_t u = 0; u < sizeof(units) / sizeof(*units); u++)
		for (size_t s = 0; s < sizeof(shards) / sizeof(*shards); s++) {
			size_t next = 0, first, count, most = units[u] / shards[s];

			for (uint32_t k = 1; k <= shards[s]; k++) {
				mor_shard_range((struct mor_shard){ k, shards[s] }, units[u], &first, &count);
				assert_int_equal(first, next);
				assert_true(count >= most && count - most <= 1);
				next += count;
			}
			assert_true(next == units[u]);
		}
}

static void test_the_whole(void **state)
{
	size_t first, count;

	(void)state;
	mor_shard_range((struct mor_shard){ 0, 0 }, 12, &first, &count);
	assert_int_equal(first, 0);
	assert_int_equal(count, 12);
}

/* A part with two units: one is done, one has failed with awkward texts. */
static void write_part(struct mor_buf *out)
{
	struct mor_buf list = MOR_BUF_INIT;
	struct mor_part_head head = {
		.command = "index", .run = RUN, .shard = { 2, 3 }, .units = 6, .gap = true
	};
	struct mor_part_piece done = { .bytes = 5, .sum = mor_sum("hello", 5, 0) };
	struct mor_part_piece failed = { .sum = mor_sum("", 0, 0),
					 .code = MORTISE_ECRASHED,
					 .name = mor_slice_of("a\tb\nc"),
					 .why = mor_slice_of("two\nlines\t\xff") };

	mor_buf_text(out, "hello");
	mor_part_list_begin(&head, &list);
	mor_part_list_add(&done, &list);
	mor_part_list_add(&failed, &list);
	mor_part_list_end(&list);
	mor_buf_slice(out, mor_buf_view(&list));
	mor_buf_fini(&list);
}

static void test_read_again(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
	struct mor_part *part = NULL;
	mortise_error err = { 0 };

	(void)state;
	write_part(&bytes);
	put(mor_buf_view(&bytes));
	assert_int_equal(mor_part_open(path, &part, &err), 0);
	assert_string_equal(part->head.command, "index");
	assert_string_equal(part->head.run, RUN);
	assert_int_equal(part->head.shard.shard, 2);
	assert_int_equal(part->head.shard.shards, 3);
	assert_int_equal(part->head.units, 6);
	assert_true(part->head.gap);
	assert_int_equal(part->count, 2);
	assert_int_equal(part->bytes, 5);
	assert_int_equal(part->pieces[0].code, 0);
	assert_int_equal(part->pieces[1].code, MORTISE_ECRASHED);
	assert_null(memchr(part->pieces[1].name.ptr, '\n', part->pieces[1].name.len));
	assert_memory_equal(part->pieces[1].why.ptr, "two\\x0alines", 12);
	mor_part_free(part);
}

/* Every bit of it, and every cut: refused when it is opened, or when it is copied. */
static void test_every_damage(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;

	(void)state;
	write_part(&bytes);
	for (size_t i = 0; i < bytes.len * 9; i++) {
		struct mor_slice some = { bytes.data, i < bytes.len ? i : bytes.len };
		size_t bit = i - bytes.len;
		struct mor_part *part = NULL;
		mortise_error err = { 0 };
		bool first = true;
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC), r;

		if (i >= bytes.len)
			bytes.data[bit / 8] ^= (char)(1 << bit % 8);
		put(some);
		r = mor_part_open(path, &part, &err);
		if (r == 0)
			r = mor_part_copy(part, null, &first, &err);
		assert_int_equal(r, MORTISE_EINPUT);
		mor_part_free(part);
		close(null);
		if (i >= bytes.len)
			bytes.data[bit / 8] ^= (char)(1 << bit % 8);
	}
}

/* Lists with a right checksum that lie. */
static void refuse_list(const char *text)
{
	MOR_CLEAN(mor_buf) struct mor_buf list = MOR_BUF_INIT;
	struct mor_part *part = NULL;
	mortise_error err = { 0 };

	mor_buf_text(&list, text);
	mor_part_list_end(&list);
	put(mor_buf_view(&list));
	assert_int_equal(mor_part_open(path, &part, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "damaged"));
}

static void test_lies(void **state)
{
	(void)state;
	refuse_list("");
	refuse_list("mortise-part 2 index " RUN " 1 1 0 0\n");
	refuse_list("mortise-part 1 index short 1 1 0 0\n");
	refuse_list("mortise-part 1 an-endless-name-of-a-command " RUN " 1 1 0 0\n");
	refuse_list("mortise-part 1 index " RUN " 0 1 0 0\n");
	refuse_list("mortise-part 1 index " RUN " 2 1 0 0\n");
	refuse_list("mortise-part 1 index " RUN " 1 4294967295 0 0\n");
	refuse_list("mortise-part 1 index " RUN " 1 1 18446744073709551615 0\n");
	refuse_list("mortise-part 1 index " RUN " 1 1 1 0\n");
	refuse_list("mortise-part 1 index " RUN " 1 1 1 0\ndone 1 0000000000000000\n");
	refuse_list("mortise-part 1 index " RUN " 1 1 1 0\ndone 0 00\n");
	refuse_list("mortise-part 1 index " RUN " 1 1 1 0\nfailed 0 0000000000000000 0 a\tb\n");
	refuse_list("mortise-part 1 index " RUN " 1 1 1 0\nfailed 0 0000000000000000 5 a b\n");
	refuse_list("mortise-part 1 index " RUN " 1 1 1 0\nother 0 0000000000000000\n");
	refuse_list("mortise-part 1 index " RUN " 1 1 2 0\ndone 18446744073709551615 0000000000000000\n"
		    "done 2 0000000000000000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_the_whole),
		cmocka_unit_test_setup_teardown(test_read_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_every_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, teardown),
	};

	return mor_run_group("part", tests);
}
