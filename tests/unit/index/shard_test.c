/* SPDX-License-Identifier: Apache-2.0 */
/* One shard of a run: its words, its records, what makes it the same run as another, and the
 * list of its part. */
#include "heard.h"
#include "top.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "index/index.h"

#define UNITS 10

static const struct mor_plugin_args plugin;

static struct mor_index_args args_of(const char *shard)
{
	return (struct mor_index_args){
		.shard = shard, .format = "entries", .analyzer = "analyzer", .plugin = &plugin
	};
}

/* Refused before any file is opened, as a mistake of who typed it. */
static void test_words(void **state)
{
	static const char *const wrong[] = { "", "3", "0/3", "4/3", "1/", "/3", "1/3x", "-1/3", "1/0" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct mor_index_args args = args_of(wrong[i]);

		assert_int_equal(mor_index_run(&console, &args), mortise_status_exit_code(MORTISE_EINVAL));
		assert_non_null(strstr(heard_err(), "--shard"));
		assert_string_equal(heard_out(), "");
	}
}

static void test_type_words(void **state)
{
	const char *types[] = { "/kythe/index/java", "java" };
	struct mor_index_args args = args_of("1/2");
	const char *said;

	(void)state;
	args.types = (struct mor_text_list){ .item = types, .count = 2 };
	assert_int_equal(mor_index_run(&console, &args), mortise_status_exit_code(MORTISE_EINVAL));
	said = heard_err();
	assert_non_null(strstr(said, "--type java: expected words after slashes"));
}

/* Ten records, without an archive: only their places in the list matter. */
static struct mor_record_ref refs[UNITS];

static struct mor_index shard_of(const struct mor_index_args *args)
{
	struct mor_index x = { .console = &console, .args = args, .all = refs, .all_count = UNITS };
	struct sha256_ctx sha;
	mortise_error err;

	assert_int_equal(mor_shard_parse(args->shard, &x.shard, &err), 0);
	mor_digest_begin(&sha);
	mor_digest_add(&sha, "records", 7);
	assert_int_equal(mor_index_take_shard(&x, &sha, &err), 0);
	return x;
}

static void test_shards_are_the_whole(void **state)
{
	static const char *const shards[] = { "1/3", "2/3", "3/3" };
	size_t next = 0;

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct mor_index_args args = args_of(shards[i]);
		struct mor_index x = shard_of(&args);

		assert_ptr_equal(x.refs, refs + next);
		next += x.ref_count;
		mor_index_shard_free(&x);
	}
	assert_int_equal(next, UNITS);
}

static void test_without_shard(void **state)
{
	struct mor_index_args args = args_of(NULL);
	struct mor_index x = shard_of(&args);
	MOR_CLEAN(mor_buf) struct mor_buf list = MOR_BUF_INIT;

	(void)state;
	assert_ptr_equal(x.refs, refs);
	assert_int_equal(x.ref_count, UNITS);
	assert_true(mor_digest_valid(x.identity));
	assert_string_equal(x.run, "");
	mor_index_shard_note(&x, &(struct mor_unit_end){ .unit = 3, .title = "a.c" });
	mor_index_shard_list(&x, &list);
	assert_int_equal(list.len, 0);
	mor_index_shard_free(&x);
}

/* Parts of one run have one name; what may be resumed is only the same shard of it. */
static void test_identity(void **state)
{
	struct mor_index_args args[] = { args_of("1/3"), args_of("2/3"), args_of("1/3") };
	struct mor_index x[3];

	(void)state;
	args[2].analyzer = "another";
	for (int i = 0; i < 3; i++)
		x[i] = shard_of(&args[i]);
	assert_string_equal(x[0].run, x[1].run);
	assert_string_not_equal(x[0].run, x[2].run);
	assert_string_not_equal(x[0].identity, x[1].identity);
	assert_string_not_equal(x[0].identity, x[2].identity);
	for (int i = 0; i < 3; i++)
		mor_index_shard_free(&x[i]);
}

/* A unit that failed is in the list by its title; without a title, by its digest. */
static void test_list(void **state)
{
	struct mor_index_args args = args_of("1/5");
	struct mor_index x = shard_of(&args);
	struct mor_unit_end ends[] = { { .unit = 0, .title = "a.c", .digest = "d0" },
				       { .unit = 1, .title = "", .digest = "d1" } };
	MOR_CLEAN(mor_buf) struct mor_buf list = MOR_BUF_INIT;
	mortise_error err, why = { 0 };

	(void)state;
	assert_int_equal(x.ref_count, 2);
	assert_int_equal(top_make("index"), 0);
	assert_int_equal(mor_result_open(&(struct mor_result_options){ .fd = STDOUT_FILENO,
								       .units = 2,
								       .identity = x.identity,
								       .spool_dir = top },
					 &x.result, &err),
			 0);
	mor_fail(&why, MORTISE_ECRASHED, "it crashed");
	for (int i = 0; i < 2; i++) {
		mor_index_shard_note(&x, &ends[i]);
		assert_int_equal(mor_result_failed(x.result, (size_t)i, &why, &err), 0);
	}
	ends[0].title = "late.c"; /* the first name stays */
	mor_index_shard_note(&x, &ends[0]);
	mor_index_shard_list(&x, &list);
	mor_buf_byte(&list, '\0');
	assert_non_null(strstr(list.data, "mortise-part 1 index "));
	assert_non_null(strstr(list.data, " a.c\tit crashed\n"));
	assert_non_null(strstr(list.data, " d1\tit crashed\n"));
	assert_null(strstr(list.data, "late.c"));
	mor_result_free(x.result);
	mor_index_shard_free(&x);
	top_drop(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEARD_TEST(test_words),
		HEARD_TEST(test_type_words),
		HEARD_TEST(test_shards_are_the_whole),
		HEARD_TEST(test_without_shard),
		HEARD_TEST(test_identity),
		HEARD_TEST(test_list),
	};

	return mor_run_group("index/shard", tests);
}
