/* SPDX-License-Identifier: Apache-2.0 */
/* Words of a command line through a table: what is stored, what stays a word, and what is refused
 * with which text. */
#include "leak.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/options.h"

struct inner {
	bool loud;
	struct mor_text_list names;
};

struct args {
	const char *color;
	uint32_t jobs;
	struct mor_opt_count retries;
	uint64_t size;
	struct mor_opt_rate drop;
	struct inner inner;
};

#define FIELD(name) offsetof(struct args, name)
static const struct mor_option own[] = {
	{ "color", 'c', "WHEN", "when", MOR_OPT_TEXT, FIELD(color), "never|always" },
	{ "jobs", 'j', "N", "how many", MOR_OPT_UINT, FIELD(jobs), NULL },
	{ "retries", 0, "N", "how often", MOR_OPT_COUNT, FIELD(retries), NULL },
	{ "size", 0, "SIZE", "how much", MOR_OPT_BYTES, FIELD(size), NULL },
	{ "drop", 0, "[=RATE]", "how likely", MOR_OPT_RATE, FIELD(drop), NULL },
	{ 0 },
};
static const struct mor_option shared[] = {
	{ "loud", 'l', NULL, "louder", MOR_OPT_FLAG, offsetof(struct inner, loud), NULL },
	{ "name", 'n', "NAME", "a name", MOR_OPT_LIST, offsetof(struct inner, names), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Own:", own, 0 },
	{ "Shared:", shared, FIELD(inner) },
	{ 0 },
};

static struct args args;
static struct mor_words words;
static mortise_error err;

static int parse_as(bool loose, const char *const *line)
{
	args = (struct args){ 0 };
	words = (struct mor_words){ .loose = loose, .hint = loose ? "; a hint" : NULL };
	err = (mortise_error){ 0 };
	return mor_options_parse(groups, (char **)line, &args, &words, &err);
}

#define parse(...)       parse_as(false, (const char *const[]){ __VA_ARGS__, NULL })
#define parse_loose(...) parse_as(true, (const char *const[]){ __VA_ARGS__, NULL })

static void done(void)
{
	mor_options_free(groups, &args, &words);
	assert_null(words.item);
}

static void refused(int r, const char *text)
{
	assert_int_equal(r, MORTISE_EINVAL);
	assert_string_equal(err.text, text);
	done();
}

static void stored(void **state)
{
	(void)state;
	assert_int_equal(parse("--color=never", "-j4", "--retries", "0", "--size", "64KiB", "--drop=1%"), 0);
	assert_string_equal(args.color, "never");
	assert_int_equal(args.jobs, 4);
	assert_true(args.retries.given && args.retries.value == 0);
	assert_int_equal(args.size, 65536);
	assert_true(args.drop.given && args.drop.valued);
	assert_int_equal(args.drop.value, 10000000);
	assert_int_equal(words.count, 0);
	assert_null(words.tail);
	done();
}

static void nothing_is_nothing(void **state)
{
	(void)state;
	assert_int_equal(parse_as(false, (const char *const[]){ NULL }), 0);
	assert_false(args.retries.given || args.drop.given || args.inner.loud || args.inner.names.item ||
		     args.color);
	done();
}

static void the_last_text_wins_and_lists_grow(void **state)
{
	(void)state;
	assert_int_equal(parse("-c", "never", "--color", "always", "-na", "--name", "b", "--name="), 0);
	assert_string_equal(args.color, "always");
	assert_int_equal(args.inner.names.count, 3);
	assert_string_equal(args.inner.names.item[0], "a");
	assert_string_equal(args.inner.names.item[1], "b");
	assert_string_equal(args.inner.names.item[2], "");
	assert_null(args.inner.names.item[3]);
	done();
}

static void letters_stand_together(void **state)
{
	(void)state;
	assert_int_equal(parse("-lj", "2"), 0);
	assert_true(args.inner.loud);
	assert_int_equal(args.jobs, 2);
	done();
	assert_int_equal(parse("-lnll"), 0); /* what follows a letter that wants something is its value */
	assert_string_equal(args.inner.names.item[0], "ll");
	done();
}

static void words_stand_anywhere(void **state)
{
	(void)state;
	assert_int_equal(parse("one", "-l", "-", "two", "--", "-l", "three"), 0);
	assert_int_equal(words.count, 3);
	assert_string_equal(words.item[0], "one");
	assert_string_equal(words.item[1], "-"); /* stdin is a word */
	assert_string_equal(words.item[2], "two");
	assert_null(words.item[3]);
	assert_string_equal(words.tail[0], "-l"); /* somebody else's */
	assert_string_equal(words.tail[1], "three");
	assert_null(words.tail[2]);
	done();
	assert_int_equal(parse("--"), 0);
	assert_non_null(words.tail);
	assert_null(words.tail[0]);
	done();
}

static void an_optional_value_is_attached(void **state)
{
	(void)state;
	assert_int_equal(parse("--drop", "0.5"), 0);
	assert_true(args.drop.given && !args.drop.valued);
	assert_string_equal(words.item[0], "0.5"); /* a word as any other */
	done();
}

static void options_of_somebody_else(void **state)
{
	(void)state;
	assert_int_equal(parse_loose("run", "--force", "--jobs=3", "--deep=1"), 0);
	assert_string_equal(words.unknown, "--force");
	assert_int_equal(words.count, 3);
	assert_string_equal(words.item[2], "--deep=1");
	assert_int_equal(args.jobs, 3);
	done();
	refused(parse_loose("-x"), "unknown option -x; a hint");
}

static void refusals_name_the_offender(void **state)
{
	(void)state;
	refused(parse("--jbos=1"), "unknown option --jbos; did you mean --jobs?");
	refused(parse("--nothing-like-it"), "unknown option --nothing-like-it");
	refused(parse("-lx"), "unknown option -x");
	refused(parse("--jobs"), "--jobs needs N");
	refused(parse("-j"), "--jobs needs N");
	refused(parse("--loud=1"), "--loud takes no argument");
	refused(parse("--color", "red"), "--color takes one of never|always, not \"red\"");
	refused(parse("--jobs", "0"), "--jobs must be at least 1");
	refused(parse("--jobs", "-1"), "--jobs wants a whole number, not \"-1\"");
	refused(parse("--retries", "4294967296"), "--retries wants a whole number, not \"4294967296\"");
	refused(parse("--size", "much"), "--size wants a size such as 64K or 10M, not \"much\"");
	refused(parse("--drop=2"), "--drop wants a rate from 0 to 1, such as 0.01 or 1%, not \"2\"");
	refused(parse("--job", "1"), "unknown option --job; did you mean --jobs?"); /* none is abbreviated */
}

static void memory(void **state)
{
	int r = MORTISE_ENOMEM;

	(void)state;
	for (long n = 0; r != 0; n++) {
		mor_alloc_fail_after(n);
		r = parse("-na", "-nb", "word");
		mor_alloc_fail_after(-1);
		assert_true(r == 0 || r == MORTISE_ENOMEM);
		done();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(stored),
		MOR_TEST(nothing_is_nothing),
		MOR_TEST(the_last_text_wins_and_lists_grow),
		MOR_TEST(letters_stand_together),
		MOR_TEST(words_stand_anywhere),
		MOR_TEST(an_optional_value_is_attached),
		MOR_TEST(options_of_somebody_else),
		MOR_TEST(refusals_name_the_offender),
		MOR_TEST(memory),
	};

	return mor_run_group("cli/options", tests);
}
