/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the command line, and what JSON they become. */
#include "leak.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "console/args.h"
#include "top.h"
#include "typed.h"

static mortise_error err;

static void put_file(const char *name, const void *bytes, size_t len)
{
	FILE *file = fopen(at(name), "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static int make_files(void **state)
{
	(void)state;
	if (top_make("args") < 0)
		return -1;
	put_file("params.json", "{\"a\": 1}", 8);
	put_file("list.json", "[1]", 3);
	put_file("bad.json", "{\"a\": }", 7);
	put_file("text", "two\nlines", 9);
	put_file("bytes", "\xff\0\x01", 3);
	put_file("empty", "", 0);
	put_file("own.toml", "b = 2\n[a]\nx = 1.5\n", 18);
	put_file("bad.toml", "b = \n", 5);
	return mkfifo(at("fifo"), 0600) | mkdir(at("dir"), 0700) | chdir(top);
}

/* The object that the words make, or NULL with `err`. Good until the next call. */
static const char *object_of(const char *const *words)
{
	static char text[4096];
	MOR_CLEAN(mor_tree) struct mor_tree tree = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	int r = 0;

	err = (mortise_error){ 0 };
	for (; r == 0 && *words; words++)
		r = mor_args_pair(&tree, "argument", *words, &err);
	assert_int_equal(r, err.code);
	if (r < 0)
		return NULL;
	assert_int_equal(mor_tree_write(&tree, &json), 0);
	assert_true(json.len < sizeof(text));
	memcpy(text, json.data, json.len);
	text[json.len] = '\0';
	return text;
}
#define OBJECT(...) object_of((const char *const[]){ __VA_ARGS__, NULL })

/* ---- key=value ---- */

static void test_what_a_value_is(void **state)
{
	static const char *const rows[][2] = {
		{ "n=1", "1" },
		{ "n=-2.5e3", "-2.5e3" },
		{ "n=true", "true" },
		{ "n=null", "null" },
		{ "n=one", "\"one\"" },
		{ "n=", "\"\"" },
		{ "n=\"1\"", "\"1\"" },
		{ "n=01", "\"01\"" },
		{ "n=1x", "\"1x\"" },
		{ "n=[1]", "\"[1]\"" },
		{ "n={}", "\"{}\"" },
		{ "n=True", "\"True\"" },
		{ "n= 1", "1" },
		{ "n=\xc3\xa4", "\"\xc3\xa4\"" },
		{ "n=a=b", "\"a=b\"" },
		{ "n=NaN", "\"NaN\"" },
		{ "n=say \"hi\"\n", "\"say \\\"hi\\\"\\n\"" },
		{ "n=12345678901234567890123", "12345678901234567890123" },
		{ "n=0.1000", "0.1000" },
		{ "n:=[1, 2]", "[1,2]" },
		{ "n:={\"a\":{}}", "{\"a\":{}}" },
		{ "n:=7", "7" },
		{ "n:=\"5\"", "\"5\"" },
		{ "n=@text", "\"two\\nlines\"" },
		{ "n=@empty", "\"\"" },
		{ "n:=@params.json", "{\"a\":1}" },
		{ "n=@base64:bytes", "\"/wAB\"" },
		{ "n=@base64:empty", "\"\"" },
	};
	char wanted[200];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *json = OBJECT(rows[i][0]);

		snprintf(wanted, sizeof(wanted), "{\"n\":%s}", rows[i][1]);
		assert_string_equal(json ? json : err.text, wanted);
	}
}

static void test_what_is_a_pair(void **state)
{
	static const char *const pairs[] = { "a=", "a:=", "a.b-c_d$9=x", "a\\ b=1", "a\\==1", "\\{=1", "-=1" };
	static const char *const others[] = { "",          "a",     "=1",   ":=1",   "a:1",
					      "{\"a\"=1}", "@a=1",  "/x=1", "a b=1", "\xc3\xa4=1",
					      "a\\",       "a\\=1", "[=1",  "a:b=1", "a: =1" };

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (!mor_args_is_pair(pairs[i]))
			fail_msg("%s is one", pairs[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (mor_args_is_pair(others[i]))
			fail_msg("%s is none", others[i]);
}

static void test_dots_make_objects(void **state)
{
	(void)state;
	assert_string_equal(OBJECT("a.b=1", "a.c.d=x", "e=2", "a.b=3"),
			    "{\"a\":{\"b\":3,\"c\":{\"d\":\"x\"}},\"e\":2}");
	assert_string_equal(OBJECT("a\\.b=1", "c-d_e$=2"), "{\"a.b\":1,\"c-d_e$\":2}");
	assert_string_equal(OBJECT("a..b=1"), "{\"a\":{\"\":{\"b\":1}}}");
	assert_string_equal(OBJECT("a\\\"b=1"), "{\"a\\\"b\":1}");
}

/* The later word wins; objects are merged. */
static void test_the_same_key_again(void **state)
{
	(void)state;
	assert_string_equal(OBJECT("a=1", "b=2", "a=3"), "{\"a\":3,\"b\":2}");
	assert_string_equal(OBJECT("a=1", "a.b=2"), "{\"a\":{\"b\":2}}");
	assert_string_equal(OBJECT("a.b=2", "a=1"), "{\"a\":1}");
	assert_string_equal(OBJECT("a:={\"b\":1,\"c\":2}", "a.b=5"), "{\"a\":{\"b\":5,\"c\":2}}");
	assert_string_equal(OBJECT("a.b=5", "a:={\"c\":2}"), "{\"a\":{\"b\":5,\"c\":2}}");
	assert_string_equal(OBJECT("a.b=5", "a:={}"), "{\"a\":{}}");
	assert_string_equal(OBJECT("a:={}", "a.b=5"), "{\"a\":{\"b\":5}}");
	assert_string_equal(OBJECT("a:=[1]", "a:=[2]"), "{\"a\":[2]}");
}

static void test_deeper_than_a_parser_goes(void **state)
{
	static char word[2003], wanted[12000];
	char *end = wanted;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		memcpy(word + 2 * i, "k.", 2);
		end += sprintf(end, "{\"k\":");
	}
	memcpy(word + 1999, "=1", 3);
	*end++ = '1';
	memset(end, '}', 1000);
	{
		MOR_CLEAN(mor_tree) struct mor_tree tree = { 0 };
		MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

		assert_int_equal(mor_args_pair(&tree, "argument", word, &err), 0);
		assert_int_equal(mor_tree_write(&tree, &json), 0);
		assert_int_equal(json.len, strlen(wanted));
		assert_memory_equal(json.data, wanted, json.len);
	}
}

static void test_wrong_words(void **state)
{
	static const struct {
		const char *word, *text;
		int code;
	} rows[] = {
		{ "word", "argument \"word\": expected KEY=VALUE or a JSON object", MORTISE_EINPUT },
		{ "=1", "argument \"=1\": expected KEY=VALUE or a JSON object", MORTISE_EINPUT },
		{ "", "argument \"\": expected KEY=VALUE or a JSON object", MORTISE_EINPUT },
		{ "w\x1b[2J", "argument \"w\\x1b[2J\": expected KEY=VALUE or a JSON object", MORTISE_EINPUT },
		{ "k:=[", "argument \"k\" is not JSON: ", MORTISE_EINPUT },
		{ "k:=", "argument \"k\" is not JSON: ", MORTISE_EINPUT },
		{ "k:=@bad.json", "argument \"k\": bad.json is not JSON: ", MORTISE_EINPUT },
		{ "k=@bytes", "argument \"k\": bytes is not UTF-8 text; send its bytes with KEY=@base64:bytes",
		  MORTISE_EINPUT },
		{ "k=\xff", "argument \"k\": the value is not UTF-8 text", MORTISE_EINPUT },
		{ "k=@dir", "dir: is a directory, not a file", MORTISE_EINPUT },
		{ "k=@fifo", "fifo: not a regular file", MORTISE_EINPUT },
		{ "k=@missing", "missing: no such file", MORTISE_ENOTFOUND },
		{ "k=@text/below", "text/below: no such file", MORTISE_ENOTFOUND },
		{ "k=@", ": no such file", MORTISE_ENOTFOUND },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_null(OBJECT(rows[i].word));
		assert_int_equal(err.code, rows[i].code);
		assert_int_equal(strncmp(err.text, rows[i].text, strlen(rows[i].text)), 0);
	}
}

/* The place in the text is cut, not the buffer that it is put into. */
static void test_a_long_key_is_cut_in_the_text(void **state)
{
	char word[5000];

	(void)state;
	memset(word, 'k', sizeof(word));
	memcpy(word + sizeof(word) - 4, ":=[", 4);
	assert_null(OBJECT(word));
	assert_int_equal(err.code, MORTISE_EINPUT);
	assert_int_equal(strspn(strchr(err.text, '"') + 1, "k"), 60);
}

/* ---- whole objects ---- */

static int read_json(const char *word, struct mor_buf *json, struct mor_doc **doc)
{
	err = (mortise_error){ 0 };
	return mor_args_json("params", word, json, doc, &err);
}

/* The plugin gets it as it was typed. */
static void test_json_is_kept_as_it_is(void **state)
{
	static const char *const words[] = { "{\n\"a\":\n1.00}", "[1, 2]", "@params.json" };
	static const char *const texts[] = { "{\n\"a\":\n1.00}", "[1, 2]", "{\"a\": 1}" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
		MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

		assert_int_equal(read_json(words[i], &json, &doc), 0);
		assert_true(mor_slice_is(mor_buf_view(&json), texts[i]));
		assert_non_null(mor_doc_root(doc));
	}
}

static void test_what_is_not_json(void **state)
{
	static const char *const rows[][2] = {
		{ "{bad", "params is not JSON: " },
		{ "@bad.json", "params: bad.json is not JSON: " },
		{ "@empty", "params: empty is not JSON: " },
		{ "@bytes", "params: bytes is not JSON: " },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
		MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

		assert_int_equal(read_json(rows[i][0], &json, &doc), MORTISE_EINPUT);
		assert_int_equal(strncmp(err.text, rows[i][1], strlen(rows[i][1])), 0);
		assert_null(doc);
	}
	assert_null(strstr(err.text, "quote it for the shell")); /* of a file */
}

static void test_stdin(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT, limited = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	(void)state;
	typed_begin("[1]");
	assert_int_equal(read_json("-", &json, &doc), 0);
	assert_int_equal(mor_json_size(mor_doc_root(doc)), 1);
	typed_end();
	typed_begin("typed");
	assert_string_equal(OBJECT("t=@-"), "{\"t\":\"typed\"}");
	typed_end();
	mor_buf_reset(&json, SIZE_MAX);
	mor_doc_fini(&doc);
	typed_begin("nonsense");
	assert_int_equal(read_json("-", &json, &doc), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "params: stdin is not JSON"));
	typed_end();
	typed_begin("12345");
	assert_int_equal(mor_args_read("-", 5, &limited, &err), 0);
	typed_end();
	typed_begin("123456");
	mor_buf_reset(&limited, SIZE_MAX);
	assert_int_equal(mor_args_read("-", 5, &limited, &err), MORTISE_EINPUT);
	assert_string_equal(err.text, "stdin: more than 5 bytes");
	typed_end();
}

static void test_a_limit_of_a_file(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	assert_int_equal(mor_args_read("text", 9, &out, &err), 0);
	assert_true(mor_slice_is(mor_buf_view(&out), "two\nlines"));
	assert_int_equal(mor_args_read("text", 8, &out, &err), MORTISE_EINPUT);
	assert_string_equal(err.text, "text: larger than 8 bytes");
	assert_true(mor_slice_is(mor_buf_view(&out), "two\nlines")); /* unchanged */
}

/* ---- --config ---- */

static const char *config_of(const char *const *words)
{
	static char text[1000];
	MOR_CLEAN(mor_tree) struct mor_tree tree = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	int r = 0;

	err = (mortise_error){ 0 };
	for (; r == 0 && *words; words++)
		r = mor_args_config(&tree, *words, &err);
	assert_int_equal(r, err.code);
	if (r == 0)
		r = mor_tree_write(&tree, &json);
	snprintf(text, sizeof(text), "%.*s", (int)json.len, json.data);
	return r < 0 ? NULL : text;
}
#define CONFIG(...) config_of((const char *const[]){ __VA_ARGS__, NULL })

static void test_config(void **state)
{
	(void)state;
	assert_string_equal(CONFIG("a=1"), "{\"a\":1}");
	assert_string_equal(CONFIG(" {\"a\":1}"), "{\"a\":1}");
	assert_string_equal(CONFIG("params.json"), "{\"a\":1}");
	assert_string_equal(CONFIG("@params.json"), "{\"a\":1}");
	assert_string_equal(CONFIG("own.toml", "a.x=2"), "{\"a\":{\"x\":2},\"b\":2}");
	assert_string_equal(CONFIG("own.toml", "params.json"), "{\"a\":1,\"b\":2}");
	assert_string_equal(CONFIG("{}"), "{}");
	typed_begin("{\"a\":5}");
	assert_string_equal(CONFIG("-"), "{\"a\":5}");
	typed_end();
}

static void test_wrong_config(void **state)
{
	static const struct {
		const char *word, *text;
		int code;
	} rows[] = {
		{ "nowhere", "--config \"nowhere\" is not a file here, not a JSON object and not KEY=VALUE",
		  MORTISE_ENOTFOUND },
		{ "", "--config \"\" is not a file here", MORTISE_ENOTFOUND },
		{ "nowhere.toml", "nowhere.toml: no such file", MORTISE_ENOTFOUND },
		{ "[1]", "--config: expected a JSON object, got array", MORTISE_EINPUT },
		{ "list.json", "--config: expected a JSON object, got array", MORTISE_EINPUT },
		{ "{bad", "--config is not JSON: ", MORTISE_EINPUT },
		{ "bad.json", "--config: bad.json is not JSON: ", MORTISE_EINPUT },
		{ "bad.toml", "bad.toml:", MORTISE_EMANIFEST },
		{ "a:=x", "--config \"a\" is not JSON: ", MORTISE_EINPUT },
		{ "dir", "dir: is a directory, not a file", MORTISE_EINPUT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_null(CONFIG(rows[i].word));
		if (strncmp(err.text, rows[i].text, strlen(rows[i].text)) != 0)
			assert_string_equal(err.text, rows[i].text);
		assert_int_equal(err.code, rows[i].code);
	}
}

/* A key may have any characters in a file, also one that ends a text in C. */
static void test_a_key_with_a_nul(void **state)
{
	(void)state;
	assert_string_equal(CONFIG("{\"a\\u0000b\":1}", "a=2", "{\"a\\u0000b\":3}"),
			    "{\"a\\u0000b\":3,\"a\":2}");
}

/* ---- memory ---- */

/* Whatever fails, it is said, and the tree can be written and freed. */
static void test_no_memory(void **state)
{
	static const char *const words[] = { "a.b=1", "a.c=@text", "d=@base64:bytes",
					     "e:={\"f\":{\"g\":[1]}}" };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		for (long n = 0, r = MORTISE_ENOMEM; r == MORTISE_ENOMEM; n++) {
			MOR_CLEAN(mor_tree) struct mor_tree tree = { 0 };
			MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;

			err = (mortise_error){ 0 };
			mor_alloc_fail_after(n);
			r = mor_args_pair(&tree, "argument", words[i], &err);
			mor_alloc_fail_after(-1);
			assert_int_equal(err.code, r);
			assert_true(r == MORTISE_ENOMEM || (r == 0 && n > 1));
			assert_int_equal(mor_tree_write(&tree, &json), 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_what_a_value_is),
		MOR_TEST(test_what_is_a_pair),
		MOR_TEST(test_dots_make_objects),
		MOR_TEST(test_the_same_key_again),
		MOR_TEST(test_deeper_than_a_parser_goes),
		MOR_TEST(test_wrong_words),
		MOR_TEST(test_a_long_key_is_cut_in_the_text),
		MOR_TEST(test_json_is_kept_as_it_is),
		MOR_TEST(test_what_is_not_json),
		MOR_TEST(test_stdin),
		MOR_TEST(test_a_limit_of_a_file),
		MOR_TEST(test_config),
		MOR_TEST(test_wrong_config),
		MOR_TEST(test_a_key_with_a_nul),
		MOR_TEST(test_no_memory),
	};

	return mor_run_group_in("console/args", tests, make_files, top_drop);
}
