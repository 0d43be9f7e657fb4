/* SPDX-License-Identifier: Apache-2.0 */
/* What is written from the tables: explain, JSON, OpenRPC. */
#include <string.h>

#include "base/alloc.h"
#include "dialect/json_of.h"
#include "explain/explain.h"

typedef int text_fn(const struct mor_dialect *dialect, struct mor_buf *out);

static char *text_of(text_fn *make, const char *name)
{
	struct mor_buf out = MOR_BUF_INIT;

	assert_int_equal(make(mor_dialect_find(name), &out), 0);
	return mor_buf_detach(&out);
}

static void test_explain_fits(void **state)
{
	(void)state;
	for (size_t i = 0; mor_dialects()[i]; i++) {
		char *text = text_of(mor_explain_text, mor_dialects()[i]->name);

		for (const char *line = text; *line;) {
			size_t len = strcspn(line, "\n");

			if (len > 100 || (len && line[len - 1] == ' '))
				fail_msg("%s: too long, or a blank at the end: %.*s", mor_dialects()[i]->name,
					 (int)len, line);
			line += len + 1;
		}
		mor_free(text);
	}
}

/* Options belong to the command: an embedder reads of settings. Examples are lines for a shell. */
static void test_explain_words(void **state)
{
	static const struct {
		text_fn *make;
		bool options;
	} rows[] = { { mor_explain_text, false },
		     { mor_explain_command, true },
		     { mor_explain_json, false },
		     { mor_explain_openrpc, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t k = 0; mor_dialects()[k]; k++) {
			const char *example = mor_dialects()[k]->example;
			char *text = text_of(rows[i].make, mor_dialects()[k]->name),
			     *shown = example ? strstr(text, example) : NULL;

			if (shown)
				memset(shown, ' ', strlen(example));
			if (!strstr(text, " --set ") != !rows[i].options)
				fail_msg("%s, form %zu: it speaks of --set, or ought to",
					 mor_dialects()[k]->name, i);
			for (const char *at = text; !rows[i].options && (at = strstr(at, "--")); at += 2)
				if (at[2] >= 'a' && at[2] <= 'z')
					fail_msg("%s, form %zu: an option: %.40s", mor_dialects()[k]->name, i,
						 at);
			mor_free(text);
		}
}

static void test_explain_tells(void **state)
{
	static const char *const wanted[] = {
		"plugin.init  configuration  within 30 s",
		"before the first call, after a time-out, every 30 s while idle",
		"SIGTERM 5 s after the stop began",
		"-32003  Not initialized",
		"Needs interface content_extractor_v1",
		"string, if type=path",
		"default 100",
		"init_params = both|spec|raw (default both)",
		"also spelled text",
		"has 5 s to answer late",
	};
	char *text = text_of(mor_explain_text, "yams");

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!strstr(text, wanted[i]))
			fail_msg("explain does not say: %s", wanted[i]);
	mor_free(text);
}

static void test_json(void **state)
{
	char *text = text_of(mor_explain_json, "yams");
	struct mor_doc *doc = json_of(text);
	const struct mor_value *root = mor_doc_root(doc);

	(void)state;
	assert_string_equal(mor_json_text(mor_json_at(root, "/methods/0/name"), ""), "handshake.manifest");
	assert_string_equal(mor_json_text(mor_json_at(root, "/methods/4/params/0/fields/1/when"), ""),
			    "type=path");
	assert_int_equal(mor_json_int(mor_json_at(root, "/methods/4/timeout_ms"), 0), 30000);
	assert_int_equal(mor_json_int(mor_json_at(root, "/stop/term_ms"), 0), 5000);
	assert_int_equal(mor_json_size(mor_json_at(root, "/codes")), 9);
	assert_string_equal(mor_json_text(mor_json_at(root, "/quirks/0/one_of/1"), ""), "spec");
	assert_string_equal(mor_json_text(mor_json_at(root, "/health/good/1"), ""), "healthy");
	mor_doc_free(doc);
	mor_free(text);
}

static void test_openrpc(void **state)
{
	char *text = text_of(mor_explain_openrpc, "yams");
	struct mor_doc *doc = json_of(text);
	const struct mor_value *root = mor_doc_root(doc), *methods = mor_json_get(root, "methods");
	struct mor_json_iter it = mor_json_iter(methods);

	(void)state;
	assert_string_equal(mor_json_text(mor_json_get(root, "openrpc"), ""), "1.2.6");
	assert_non_null(mor_json_at(root, "/info/title"));
	assert_non_null(mor_json_at(root, "/info/version"));
	assert_int_equal(mor_json_size(methods), 7); /* the "*" rows are no methods */
	while (mor_json_next(&it)) {
		assert_int_equal(mor_json_type(mor_json_get(it.value, "params")), MOR_JSON_ARRAY);
		assert_non_null(mor_json_at(it.value, "/result/name"));
		assert_non_null(mor_json_at(it.value, "/result/schema"));
		assert_int_equal(mor_json_size(mor_json_get(it.value, "errors")), 9);
	}
	assert_string_equal(mor_json_text(mor_json_at(methods, "/4/params/0/schema/properties/type/enum/1"),
					  ""),
			    "bytes");
	assert_string_equal(mor_json_text(mor_json_at(methods, "/4/params/0/schema/required/0"), ""), "type");
	assert_null(mor_json_at(methods, "/4/params/0/schema/required/1"));
	assert_string_equal(mor_json_text(mor_json_at(methods, "/5/result/schema/properties/nodes/items/type"),
					  ""),
			    "object");
	mor_doc_free(doc);
	mor_free(text);
}

static void test_plain(void **state)
{
	char *text = text_of(mor_explain_openrpc, "plain");
	struct mor_doc *doc = json_of(text);

	(void)state;
	assert_int_equal(mor_json_type(mor_json_at(mor_doc_root(doc), "/methods")), MOR_JSON_ARRAY);
	assert_int_equal(mor_json_size(mor_json_at(mor_doc_root(doc), "/methods")), 0);
	mor_doc_free(doc);
	mor_free(text);
}

/* A buffer with a limit stands for any failing allocation. */
static void test_failure_is_told(void **state)
{
	static text_fn *const makers[] = { mor_explain_text, mor_explain_json, mor_explain_openrpc };

	(void)state;
	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++) {
		struct mor_buf out = { .limit = 500 };

		assert_int_equal(makers[i](mor_dialect_find("yams"), &out), MORTISE_ELIMIT);
		mor_buf_fini(&out);
	}
}

/* Each allocation fails in turn: a status, or the whole text; never a part of it. */
static void test_allocations(void **state)
{
	static text_fn *const makers[] = { mor_explain_text, mor_explain_json, mor_explain_openrpc };

	(void)state;
	for (size_t i = 0; i < sizeof(makers) / sizeof(*makers); i++) {
		int r = -1;

		for (long n = 0; r < 0; n++) {
			struct mor_buf out = MOR_BUF_INIT;

			assert_true(n < 2000);
			mor_alloc_fail_after(n);
			r = makers[i](mor_dialect_find("yams"), &out);
			mor_alloc_fail_after(-1);
			assert_true(r == 0 || r == MORTISE_ENOMEM);
			mor_buf_fini(&out);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_explain_fits),    MOR_TEST(test_explain_tells),
		MOR_TEST(test_explain_words),   MOR_TEST(test_json),
		MOR_TEST(test_openrpc),         MOR_TEST(test_plain),
		MOR_TEST(test_failure_is_told), MOR_TEST(test_allocations),
	};

	return mor_run_group("explain/text", tests);
}
