/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical form, comparisons that leave something out, and differences between two scripts. */
#include "leak.h"

#include "base/alloc.h"
#include "talk/talk.h"

static void canonical_form(void **state)
{
	static const char before[] = "talk  1\tplain   framing=lines \r\n"
				     "\n\n# kept  \n"
				     "> {\"a\" : [1, 2],  \"b c\":\"d  \\\" e\", \"n\": $x , ... }\n"
				     "~ 1.5s\n"
				     "<b a\\tb\\x7f \\101\n"
				     ">s SIGTERM\n"
				     "= signal 9\n"
				     "\n\n";
	static const char after[] = "talk 1 plain framing=lines\n"
				    "\n# kept\n"
				    "> {\"a\":[1,2],\"b c\":\"d  \\\" e\",\"n\":$x,...}\n"
				    "~ 1500ms\n"
				    "<b a\\x09b\\x7f A\n"
				    ">s TERM\n"
				    "= signal KILL\n";
	MOR_CLEAN(mor_buf) struct mor_buf once = MOR_BUF_INIT, twice = MOR_BUF_INIT;

	(void)state;
	assert_int_equal(mor_talk_format(MOR_SLICE(before), &once, NULL), 0);
	assert_true(mor_slice_eq(mor_buf_view(&once), MOR_SLICE(after)));
	assert_int_equal(mor_talk_format(mor_buf_view(&once), &twice, NULL), 0);
	assert_true(mor_slice_eq(mor_buf_view(&once), mor_buf_view(&twice)));
}

static void bad_lines_are_named(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_talk_format(MOR_SLICE("talk 1 plain\n>s NOSIGNAL\n"), &out, &err),
			 MORTISE_EMANIFEST);
	assert_string_equal(err.text, "line 2: expected the name of a signal, such as TERM");
	assert_int_equal(mor_talk_format(MOR_SLICE("talk 2 plain\n"), &out, &err), MORTISE_EMANIFEST);
}

static void count_difference(void *arg, struct mor_slice pointer, struct mor_slice expected,
			     struct mor_slice actual)
{
	(void)pointer;
	(void)expected;
	(void)actual;
	++*(int *)arg;
}

static void some_values_do_not_matter(void **state)
{
	static const char *const ignored[] = { "/a", "/list/*/time", "/none/of/it", NULL };
	struct mor_slice pattern = MOR_SLICE("{\"a\":1,\"list\":[{\"time\":1,\"x\":1}],\"b\":$b}");
	struct mor_talk_compare how = { .ignored = ignored };
	struct mor_talk_vars vars = { NULL };
	int count = 0;

	(void)state;
	assert_int_equal(mor_talk_match_with(pattern,
					     MOR_SLICE("{\"list\":[{\"x\":1,\"time\":\"now\"}],\"b\":[]}"),
					     &vars, &how, NULL),
			 0);
	mor_talk_vars_fini(&vars);
	assert_int_equal(mor_talk_match_with(pattern, MOR_SLICE("{\"list\":[{\"x\":2}],\"b\":[]}"), &vars, &how,
					     NULL),
			 MORTISE_EPROTO);
	how.on_difference = count_difference;
	how.arg = &count;
	assert_int_equal(mor_talk_match_with(pattern, MOR_SLICE("{\"list\":[{\"x\":2},3],\"c\":1}"), &vars,
					     &how, NULL),
			 MORTISE_EPROTO);
	assert_int_equal(count, 4); /* x, the second element, b, c */
	assert_null(vars.first);
}

static void what_stands_in_a_message(void **state)
{
	struct mor_talk_head head;

	(void)state;
	mor_talk_look(MOR_SLICE("{\"id\":$call,\"method\":\"m\",...}"), &head);
	assert_string_equal(head.id, "$call");
	assert_string_equal(head.method, "m");
	mor_talk_look(MOR_SLICE("{\"id\":\"a\",\"error\":{}}"), &head);
	assert_string_equal(head.id, "\"a\"");
	assert_true(head.error && !head.method[0]);
	mor_talk_look(MOR_SLICE("{\"id\":1,\"error\":null}"), &head);
	assert_false(head.error);
	mor_talk_look(MOR_SLICE("no JSON"), &head);
	assert_true(!head.id[0] && !head.method[0]);
}

struct changes {
	int only_a, only_b, both, values;
};

static void on_change(void *arg, const struct mor_talk_step *a, const struct mor_talk_step *b)
{
	struct changes *changes = arg;

	changes->only_a += !b;
	changes->only_b += !a;
	changes->both += a && b;
}

static void on_value(void *arg, struct mor_slice pointer, struct mor_slice a, struct mor_slice b)
{
	(void)pointer;
	(void)a;
	(void)b;
	((struct changes *)arg)->values++;
}

static int diff_texts(const char *a, const char *b, bool ids, struct changes *ret)
{
	static const char *const only_id[] = { "/id", NULL };
	struct mor_talk_diff_options opt = {
		.ids = ids, .ignored = ids ? NULL : only_id, .on_change = on_change, .on_difference = on_value
	};
	struct mor_talk x, y;
	int r;

	*ret = (struct changes){ 0 };
	opt.arg = ret;
	assert_int_equal(mor_talk_parse(mor_slice_of(a), &x, NULL), 0);
	assert_int_equal(mor_talk_parse(mor_slice_of(b), &y, NULL), 0);
	r = mor_talk_diff(&x, &y, &opt);
	mor_talk_fini(&x);
	mor_talk_fini(&y);
	return r;
}

#define HEAD "talk 1 plain\n"
#define ASK  "> {\"id\":1,\"method\":\"a\"}\n"

static void differences_between_scripts(void **state)
{
	struct changes c;

	(void)state;
	assert_int_equal(diff_texts(HEAD ASK "< {\"id\":1,\"result\":{\"x\":1,\"y\":2}}\n",
				    HEAD "# other\n> {\"method\":\"a\",\"id\":7}\n~ 5ms\n2 noise\n"
					 "< {\"result\":{\"y\":2,\"x\":1},\"id\":7}\n",
				    false, &c),
			 0);
	assert_int_equal(diff_texts(HEAD ASK, HEAD "> {\"id\":2,\"method\":\"a\"}\n", true, &c), 1);
	assert_int_equal(c.values, 1);
	assert_int_equal(diff_texts(HEAD ASK "< {\"id\":1,\"result\":1}\n= exit 0\n",
				    HEAD ASK
				    "> {\"id\":2,\"method\":\"b\"}\n< {\"id\":1,\"result\":3}\n= exit 1\n",
				    false, &c),
			 3);
	assert_int_equal(c.only_a + c.only_b, 1);
	assert_int_equal(c.both, 2);
	assert_int_equal(diff_texts(HEAD ASK ASK, HEAD ASK, false, &c), 1);
	assert_int_equal(c.only_a, 1);
}

static void no_memory(void **state)
{
	int r = MORTISE_ENOMEM;

	(void)state;
	for (long n = 0; r == MORTISE_ENOMEM; n++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

		mor_alloc_fail_after(n);
		r = mor_talk_format(MOR_SLICE(HEAD ASK "~ 3s\n"), &out, NULL);
		mor_alloc_fail_after(-1);
		assert_true(r == 0 || r == MORTISE_ENOMEM);
		assert_true(n < 100);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(canonical_form),
		MOR_TEST(bad_lines_are_named),
		MOR_TEST(some_values_do_not_matter),
		MOR_TEST(what_stands_in_a_message),
		MOR_TEST(differences_between_scripts),
		MOR_TEST(no_memory),
	};

	return mor_run_group("talk/format", tests);
}
