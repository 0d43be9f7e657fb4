/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command: which are arguments, which are flags, and what a flag is worth. */
#include "leak.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "workspace/words.h"

static mortise_error err;

/* "ARGS FLAGS" as JSON, or the error's text. `tail`: what is added by a second call, or NULL. */
static const char *words_of(const char *const *list, const char *const *tail)
{
	static char text[1000];
	struct mor_workspace_words words = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf args = MOR_BUF_INIT, flags = MOR_BUF_INIT;
	struct mor_writer args_to = { .out = &args }, flags_to = { .out = &flags };
	int r;

	err = (mortise_error){ 0 };
	r = mor_workspace_words_add(&words, list, &err);
	if (r == 0)
		r = mor_workspace_words_add(&words, tail, &err);
	assert_int_equal(r, err.code);
	mor_workspace_words_write_args(&words, &args_to);
	mor_workspace_words_write_flags(&words, &flags_to);
	snprintf(text, sizeof(text), "%.*s %.*s", (int)args.len, args.data, (int)flags.len, flags.data);
	mor_workspace_words_fini(&words);
	return r < 0 ? err.text : text;
}
#define WORDS(...) words_of((const char *const[]){ __VA_ARGS__, NULL }, NULL)

static void test_arguments(void **state)
{
	(void)state;
	assert_string_equal(WORDS(NULL), "[] {}");
	assert_string_equal(WORDS("a", "", "b c"), "[\"a\",\"\",\"b c\"] {}");
	assert_string_equal(WORDS("-", "-5", "-x"), "[\"-\",\"-5\",\"-x\"] {}");
}

static void test_flags(void **state)
{
	(void)state;
	assert_string_equal(WORDS("--a=1"), "[] {\"a\":\"1\"}");
	assert_string_equal(WORDS("--a", "1"), "[] {\"a\":\"1\"}");
	assert_string_equal(WORDS("--a="), "[] {\"a\":\"\"}");
	assert_string_equal(WORDS("--a=b=c"), "[] {\"a\":\"b=c\"}");
	assert_string_equal(WORDS("--a"), "[] {\"a\":true}");
	assert_string_equal(WORDS("--a", "--b"), "[] {\"a\":true,\"b\":true}");
	assert_string_equal(WORDS("--a", "-"), "[] {\"a\":\"-\"}"); /* a value, as stdin often is */
	assert_string_equal(WORDS("--a", "-5"), "[\"-5\"] {\"a\":true}");
	assert_string_equal(WORDS("--a", ""), "[] {\"a\":\"\"}");
	assert_string_equal(WORDS("x", "--a", "1", "y"), "[\"x\",\"y\"] {\"a\":\"1\"}");
	assert_string_equal(WORDS("---a"), "[] {\"-a\":true}");
}

/* In the order of its places, at the first of them. */
static void test_a_flag_that_is_repeated(void **state)
{
	(void)state;
	assert_string_equal(WORDS("--a=1", "--b", "--a", "--a=2"), "[] {\"a\":[\"1\",true,\"2\"],\"b\":true}");
	assert_string_equal(WORDS("--a", "--ab", "--a"), "[] {\"a\":[true,true],\"ab\":true}");
}

static void test_after_dashes_all_are_arguments(void **state)
{
	(void)state;
	assert_string_equal(WORDS("--a", "--", "--b", "--", "c"), "[\"--b\",\"--\",\"c\"] {\"a\":true}");
}

/* A flag takes no value from the words of another call, but "--" holds for them. */
static void test_two_calls(void **state)
{
	static const char *const tail[] = { "x", "--b=1", NULL };

	(void)state;
	assert_string_equal(words_of((const char *const[]){ "--a", NULL }, tail),
			    "[\"x\"] {\"a\":true,\"b\":\"1\"}");
	assert_string_equal(words_of((const char *const[]){ "--", NULL }, tail), "[\"x\",\"--b=1\"] {}");
}

static void test_a_flag_without_a_name(void **state)
{
	(void)state;
	assert_string_equal(WORDS("fine", "--=1"), "\"--=1\": a flag needs a name, as in --NAME=VALUE");
	assert_int_equal(err.code, MORTISE_EINVAL);
}

static void test_no_memory(void **state)
{
	static const char *const list[] = { "a", "--b=1", "--c", "d", NULL };

	(void)state;
	for (long n = 0, r = MORTISE_ENOMEM; r == MORTISE_ENOMEM; n++) {
		struct mor_workspace_words words = { 0 };

		err = (mortise_error){ 0 };
		mor_alloc_fail_after(n);
		r = mor_workspace_words_add(&words, list, &err);
		mor_alloc_fail_after(-1);
		assert_int_equal(err.code, r);
		assert_true(r == MORTISE_ENOMEM ? n < 2 : n == 2); /* the arguments; the flags */
		mor_workspace_words_fini(&words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_arguments),
		MOR_TEST(test_flags),
		MOR_TEST(test_a_flag_that_is_repeated),
		MOR_TEST(test_after_dashes_all_are_arguments),
		MOR_TEST(test_two_calls),
		MOR_TEST(test_a_flag_without_a_name),
		MOR_TEST(test_no_memory),
	};

	return mor_run_group("workspace/words", tests);
}
