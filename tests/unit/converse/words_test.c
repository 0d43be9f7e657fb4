/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a line of a chat, and the arguments that they make. */
#include "leak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "converse/functions.h"
#include "converse/once.h"
#include "converse/words.h"
#include "top.h"

static mortise_error err;

static struct mor_doc *parse(const char *json)
{
	struct mor_doc *doc = NULL;

	if (json)
		assert_int_equal(mor_doc_parse(mor_slice_of(json), 0, 0, &doc, NULL), 0);
	return doc;
}

/* ---- words ---- */

/* The words with a bar behind each, or the error's text. */
static const char *split(const char *line)
{
	static char text[1000];
	const char *words[MOR_CONVERSE_WORDS], *rest[MOR_CONVERSE_WORDS];
	MOR_CLEAN(mor_buf) struct mor_buf store = MOR_BUF_INIT;
	size_t count = 0, len = 0;

	err = (mortise_error){ 0 };
	if (mor_converse_split(line, &store, words, rest, &count, &err) < 0)
		return err.text;
	for (size_t i = 0; i < count; i++) {
		assert_true(rest[i] >= line && rest[i] < line + strlen(line));
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s|", words[i]);
	}
	text[len] = '\0';
	return text;
}

static void test_words_as_a_shell_sees_them(void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ " \t ", "" },
		{ "a  b\tc ", "a|b|c|" },
		{ "a='x y' b=\"it's\" c=d\\ e", "a=x y|b=it's|c=d e|" },
		{ "''", "|" },
		{ "a''b", "ab|" },
		{ "'a\\b'", "a\\b|" },
		{ "\"a\\\"b\"", "a\"b|" },
		{ "\\'a", "'a|" },
		{ "a\\", "a\\|" }, /* nothing follows it */
		{ "\xc3\xa4 \xe4\xb8\xad", "\xc3\xa4|\xe4\xb8\xad|" },
		{ "a='x", "a quote is not closed: a='x" },
		{ "b \"x\\\"", "a quote is not closed: \"x\\\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(split(rows[i][0]), rows[i][1]);
}

static void test_the_rest_is_as_it_was_typed(void **state)
{
	const char *words[MOR_CONVERSE_WORDS], *rest[MOR_CONVERSE_WORDS];
	MOR_CLEAN(mor_buf) struct mor_buf store = MOR_BUF_INIT;
	size_t count;

	(void)state;
	assert_int_equal(mor_converse_split("say  'a  b'  c\\d", &store, words, rest, &count, &err), 0);
	assert_int_equal(count, 3);
	assert_string_equal(rest[1], "'a  b'  c\\d");
	assert_string_equal(rest[2], "c\\d");
}

static void test_too_many_words(void **state)
{
	char line[2 * MOR_CONVERSE_WORDS + 3];

	(void)state;
	for (size_t i = 0; i <= MOR_CONVERSE_WORDS; i++)
		memcpy(line + 2 * i, "w ", 2);
	line[2 * MOR_CONVERSE_WORDS + 2] = '\0';
	assert_string_equal(split(line), "more than 64 words in one line");
	line[2 * MOR_CONVERSE_WORDS] = '\0';
	assert_int_equal(strlen(split(line)), 2 * MOR_CONVERSE_WORDS);
}

/* ---- arguments ---- */

#define ONE "{\"name\":\"f\",\"parameters\":{\"properties\":{\"text\":{\"type\":\"string\"}}}}"
#define NUM "{\"name\":\"f\",\"parameters\":{\"properties\":{\"to\":{\"type\":\"integer\"}}}}"
#define TWO \
	"{\"name\":\"f\",\"parameters\":{\"properties\":{\"text\":{\"type\":\"string\"}," \
	"\"times\":{\"type\":\"integer\"}}}}"
#define FREE \
	"{\"name\":\"f\",\"passthrough\":true,\"parameters\":{\"properties\":{\"n\":{\"type\":\"integer\"}," \
	"\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}}}}"

/* What a line behind the function's name makes; or the error's text. */
static const char *arguments(const char *function, const char *line)
{
	static char text[1000];
	const char *words[MOR_CONVERSE_WORDS], *rest[MOR_CONVERSE_WORDS];
	MOR_CLEAN(mor_buf) struct mor_buf store = MOR_BUF_INIT, json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(function);
	size_t count = 0;
	int r;

	err = (mortise_error){ 0 };
	assert_int_equal(mor_converse_split(line, &store, words, rest, &count, &err), 0);
	r = mor_converse_arguments(words, count ? rest[0] : "", count, mor_doc_root(doc), &json, &err);
	assert_int_equal(r, err.code);
	snprintf(text, sizeof(text), "%.*s", (int)json.len, json.data ? json.data : "");
	return r < 0 ? err.text : text;
}

static void test_arguments(void **state)
{
	static const char *const rows[][3] = {
		{ NULL, "", "{}" },
		{ NULL, "a=1 b='x y'", "{\"a\":1,\"b\":\"x y\"}" },
		{ NULL, "{\"g\": {\"h\": 1}}", "{\"g\": {\"h\": 1}}" }, /* as it was typed */
		{ NULL, "'{\"a\": \"b c\"}'", "{\"a\": \"b c\"}" },     /* as a shell wants it */
		{ NULL, "@params.json", "{\"a\": 1}" },
		{ NULL, "word", "argument \"word\": expected KEY=VALUE or a JSON object" },
		{ NULL, "@list.json", "arguments must be KEY=VALUE or a JSON object" },
		/* the text itself, for the only parameter */
		{ ONE, "hello", "{\"text\":\"hello\"}" },
		{ ONE, "what \\is  up? ", "{\"text\":\"what \\\\is  up? \"}" },
		{ ONE, "'a b'", "{\"text\":\"a b\"}" },
		{ ONE, "5", "{\"text\":\"5\"}" },
		{ ONE, "text=5", "{\"text\":\"5\"}" },
		{ ONE, "--text 5", "{\"text\":\"5\"}" },
		{ ONE, "--other 5", "{\"text\":\"--other 5\"}" }, /* a text may begin so */
		{ ONE, "txt=5",
		  "\"f\" has no argument \"txt\": did you mean \"text\"? Usage: f [text=string]" },
		{ NUM, "5", "{\"to\":5}" },
		{ NUM, "x", "argument \"to\" must be integer, not string: x; usage: f [to=integer]" },
		/* several: by their places */
		{ TWO, "a 2", "{\"text\":\"a\",\"times\":2}" },
		{ TWO, "a 2 b", "\"b\" is a value too many; usage: f [text=string] [times=integer]" },
		/* one that takes free text: its first text */
		{ FREE, "y z", "{\"a\":\"y z\"}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(arguments(rows[i][0], rows[i][1]), rows[i][2]);
	assert_non_null(strstr(arguments(FREE, "a=y z"), "argument \"n\" must be integer"));
	assert_non_null(strstr(arguments(NULL, "{a"), "argument is not JSON: "));
	assert_int_equal(err.code, MORTISE_EINPUT);
}

/* Which parameter a text without a name is for. */
static void test_the_parameter_for_a_text(void **state)
{
	static const char *const rows[][2] = {
		{ ONE, "text" },
		{ NUM, "to" },
		{ TWO, NULL },
		{ FREE, "a" },
		{ "{\"passthrough\":true,\"parameters\":{\"properties\":{\"a\":{\"type\":\"string\"},"
		  "\"b\":{\"type\":\"string\"}},\"required\":[\"b\"]}}",
		  "b" },
		{ "{\"passthrough\":true,\"parameters\":{\"properties\":{\"a\":{\"type\":\"string\"},"
		  "\"b\":{\"type\":\"string\"}},\"required\":[\"b\",\"a\"]}}",
		  "a" },
		{ "{\"passthrough\":true,\"parameters\":{\"properties\":{\"a\":{},\"b\":{}}}}", NULL },
		{ "{\"passthrough\":true}", NULL },
		{ "{}", NULL },
		{ "5", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(rows[i][0]);
		const char *found = mor_converse_function_text_parameter(mor_doc_root(doc));

		if (rows[i][1])
			assert_string_equal(found, rows[i][1]);
		else
			assert_null(found);
	}
}

/* ---- a text that no parameter takes ---- */

static void test_a_text_is_the_last_message(void **state)
{
	static const char *const rows[][2] = {
		{ NULL, "{\"context\":[{\"role\":\"user\",\"content\":\"hi \\\"you\\\"\"}]}" },
		{ "{\"system_info\":\"PC\",\"context\":[{\"role\":\"x\"},5]}",
		  "{\"system_info\":\"PC\",\"context\":[{\"role\":\"x\"},5,"
		  "{\"role\":\"user\",\"content\":\"hi \\\"you\\\"\"}]}" },
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		mortise_json extra = { rows[i][0], rows[i][0] ? strlen(rows[i][0]) : 0 };

		assert_int_equal(mor_converse_context(extra, "hi \"you\"", &out, &err), 0);
		mor_buf_byte(&out, '\0');
		assert_string_equal(out.data, rows[i][1]);
	}
}

/* ---- options of such plugins ---- */

static const char *extra_of(const struct mor_converse_extra *args)
{
	static char text[400];
	MOR_CLEAN(mor_buf) struct mor_buf extra = MOR_BUF_INIT;
	struct mor_runner runner = { 0 };
	int r;

	err = (mortise_error){ 0 };
	r = mor_converse_prepare(&runner, args, &extra, &err);
	assert_int_equal(r, err.code);
	snprintf(text, sizeof(text), "%.*s%s", (int)extra.len, extra.data ? extra.data : "",
		 runner.set.count ? runner.set.item[0] : "");
	mor_text_list_free_texts(&runner.owned);
	mor_free(runner.set.item);
	return r < 0 ? err.text : text;
}
#define EXTRA(...) extra_of(&(struct mor_converse_extra){ __VA_ARGS__ })

static void test_context_and_system_info(void **state)
{
	(void)state;
	assert_string_equal(EXTRA(0), "");
	assert_string_equal(EXTRA(.context = "[1, 2]"), "{\"context\":[1, 2]}");
	assert_string_equal(EXTRA(.context = "@list.json", .system_info = "a \"PC\""),
			    "{\"context\":[1],\"system_info\":\"a \\\"PC\\\"\"}");
	assert_string_equal(EXTRA(.system_info = "@params.json"), "{\"system_info\":\"{\\\"a\\\": 1}\"}");
	assert_non_null(strstr(EXTRA(.context = "{}"), "--context must be a JSON array"));
	assert_non_null(strstr(EXTRA(.context = "@params.json"), "--context must be a JSON array"));
	assert_non_null(strstr(EXTRA(.context = "[1"), "--context is not JSON"));
	assert_int_equal(err.code, MORTISE_EINPUT);
	assert_string_equal(EXTRA(.system_info = "@nowhere"), "nowhere: no such file");
	assert_int_equal(err.code, MORTISE_ENOTFOUND);
}

static void test_session_limit(void **state)
{
	(void)state;
	assert_string_equal(EXTRA(.session_limit = "5m"), "limits.session=5m");
	assert_string_equal(EXTRA(.session_limit = "0"), "limits.session=0");
	assert_string_equal(EXTRA(.session_limit = "soon"),
			    "--session-limit \"soon\": expected a duration such as 5m or 90s, or 0");
	assert_int_equal(err.code, MORTISE_EINVAL);
}

static void test_no_memory(void **state)
{
	static const char *const words[] = { "a=1", "b=x" };
	MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(ONE);

	(void)state;
	for (int which = 0; which < 3; which++)
		for (long n = 0, r = MORTISE_ENOMEM; r == MORTISE_ENOMEM; n++) {
			MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

			err = (mortise_error){ 0 };
			mor_alloc_fail_after(n);
			r = which == 0 ? mor_converse_arguments(words, NULL, 2, NULL, &json, &err) :
			    which == 1 ? mor_converse_arguments(&words[1], "x y", 1, mor_doc_root(doc), &json,
								&err) :
					 mor_converse_context((mortise_json){ 0 }, "t", &json, &err);
			mor_alloc_fail_after(-1);
			assert_int_equal(err.code, r);
			assert_true(r == MORTISE_ENOMEM || n > 0);
		}
}

static int make_files(void **state)
{
	FILE *file;

	(void)state;
	if (top_make("words") < 0 || chdir(top) < 0)
		return -1;
	file = fopen("params.json", "w");
	fputs("{\"a\": 1}", file);
	fclose(file);
	file = fopen("list.json", "w");
	fputs("[1]", file);
	return fclose(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_words_as_a_shell_sees_them),
		MOR_TEST(test_the_rest_is_as_it_was_typed),
		MOR_TEST(test_too_many_words),
		MOR_TEST(test_arguments),
		MOR_TEST(test_the_parameter_for_a_text),
		MOR_TEST(test_a_text_is_the_last_message),
		MOR_TEST(test_context_and_system_info),
		MOR_TEST(test_session_limit),
		MOR_TEST(test_no_memory),
	};

	return mor_run_group_in("converse/words", tests, make_files, top_drop);
}
