/* SPDX-License-Identifier: Apache-2.0 */
/* The hooks of yams: what plugin.init sends, and which greetings are taken. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "dialect/dialect.h"
#include "json_of.h"

struct test_peer {
	struct mor_peer peer; /* first: the hooks get a pointer to it */
	const char *init_params;
	char warnings[1024];
};

__attribute__((format(printf, 2, 3))) static void on_warn(struct mor_peer *peer, const char *format, ...)
{
	struct test_peer *test = (struct test_peer *)peer;
	size_t used = strlen(test->warnings);
	va_list args;

	if (used)
		used += (size_t)snprintf(test->warnings + used, sizeof(test->warnings) - used, "\n");
	va_start(args, format);
	vsnprintf(test->warnings + used, sizeof(test->warnings) - used, format, args);
	va_end(args);
}

static const char *on_quirk(struct mor_peer *peer, const char *name)
{
	assert_string_equal(name, "init_params");
	return ((struct test_peer *)peer)->init_params;
}

static struct test_peer peer_of(const char *config, const char *init_params)
{
	return (struct test_peer){
		.peer = { .dialect = mor_dialect_find("yams"),
			  .name = "t",
			  .config = mor_slice_of(config),
			  .warn = on_warn,
			  .quirk = on_quirk },
		.init_params = init_params,
	};
}

static const struct mor_method *row(const char *name)
{
	return mor_dialect_method(mor_dialect_find("yams"), MOR_FROM_HOST, mor_slice_of(name));
}

static void test_init_params(void **state)
{
	static const struct {
		const char *quirk, *config, *params;
	} cases[] = {
		{ "both", "{\"a\":1,\"b\":{\"c\":2}}",
		  "{\"config\":{\"a\":1,\"b\":{\"c\":2}},\"a\":1,\"b\":{\"c\":2}}" },
		{ "both", NULL, "{\"config\":{}}" },
		{ "both", "{}", "{\"config\":{}}" },
		{ "both", "{\"config\":{\"a\":1}}", "{\"config\":{\"a\":1}}" },
		{ "both", "{\"config\":{\"a\":1},\"x\":2}", "{\"config\":{\"a\":1},\"x\":2}" },
		{ "both", "{\"config\":\"f\",\"a\":1}", "{\"config\":{\"config\":\"f\",\"a\":1},\"a\":1}" },
		{ "both", "{\n \"a\": 1\n}", "{\"config\":{\"a\":1},\"a\":1}" },
		{ "both", "{\"n\":12345678901234567890123}",
		  "{\"config\":{\"n\":12345678901234567890123},\"n\":12345678901234567890123}" },
		{ NULL, "{\"a\":1}", "{\"config\":{\"a\":1},\"a\":1}" },
		{ "spec", "{\"a\":1}", "{\"config\":{\"a\":1}}" },
		{ "spec", NULL, "{\"config\":{}}" },
		{ "raw", "{\"a\":1}", "{\"a\":1}" },
		{ "raw", NULL, "{}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct test_peer test = peer_of(cases[i].config, cases[i].quirk);
		struct mor_buf params = MOR_BUF_INIT;
		char *text;

		assert_int_equal(test.peer.dialect->hooks->greet(&test.peer, row("plugin.init"), &params), 0);
		text = mor_buf_detach(&params);
		assert_string_equal(text, cases[i].params);
		mor_free(text);
	}
}

static void test_no_params(void **state)
{
	static const char *const names[] = { "handshake.manifest", "plugin.health", "plugin.shutdown" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct test_peer test = peer_of("{\"a\":1}", "both");
		struct mor_buf params = MOR_BUF_INIT;

		assert_int_equal(test.peer.dialect->hooks->greet(&test.peer, row(names[i]), &params), 0);
		assert_int_equal(params.len, 0);
		mor_buf_fini(&params);
	}
}

struct greeting {
	const char *answer;
	bool strict;
	const char *manifest;
	int status;
	const char *text; /* of the error, else the warnings */
};

static void check_greeting(const char *method, const struct greeting *g)
{
	struct test_peer test = peer_of(NULL, "both");
	struct mor_doc *answer = json_of(g->answer), *manifest = g->manifest ? json_of(g->manifest) : NULL;
	mortise_error err = { 0 };
	int r;

	test.peer.strict = g->strict;
	test.peer.manifest = manifest ? mor_doc_root(manifest) : NULL;
	r = test.peer.dialect->hooks->greeted(&test.peer, row(method), mor_doc_root(answer), &err);
	if (r != g->status)
		fail_msg("%s: %d, not %d: %s", g->answer, r, g->status, err.text);
	assert_string_equal(r < 0 ? err.text : test.warnings, g->text);
	mor_doc_free(answer);
	mor_doc_free(manifest);
}

static void test_init_answer(void **state)
{
	static const struct greeting cases[] = {
		{ "{\"status\":\"initialized\"}", false, NULL, 0, "" },
		{ "{\"status\":\"ok\"}", false, NULL, 0, "" },
		{ "null", false, NULL, 0, "" },
		{ "{\"status\":\"error\"}", false, NULL, MORTISE_EREMOTE,
		  "plugin.init answered status \"error\" and gave no reason" },
		{ "{\"status\":\"error\",\"message\":\"no\\nghidra\"}", false, NULL, MORTISE_EREMOTE,
		  "plugin.init answered status \"error\": no\\x0aghidra" },
		{ "{\"status\":\"error\",\"error\":{\"message\":\"deep\"}}", false, NULL, MORTISE_EREMOTE,
		  "plugin.init answered status \"error\": deep" },
		{ "{\"status\":\"error\",\"error\":\"first\",\"message\":\"second\"}", false, NULL,
		  MORTISE_EREMOTE, "plugin.init answered status \"error\": first" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_greeting("plugin.init", &cases[i]);
}

#define CHARS " has other characters than letters, digits and underscore"

static void test_hello_answer(void **state)
{
	static const struct greeting cases[] = {
		{ "{\"name\":\"a_1\",\"version\":\"1.0.0\",\"interfaces\":[]}", true, NULL, 0, "" },
		{ "{\"name\":\"a-b\",\"version\":\"1.0.0\"}", false, NULL, 0, "" },
		{ "{\"name\":\"a-b\",\"version\":\"1.0.0\"}", true, NULL, MORTISE_EPROTO,
		  "handshake.manifest: /name \"a-b\"" CHARS },
		{ "{\"name\":\"a b\",\"version\":\"1.0.0\"}", false, NULL, 0,
		  "handshake.manifest: /name \"a b\"" CHARS },
		{ "{\"name\":\"a b\",\"version\":\"1.0.0\"}", true, NULL, MORTISE_EPROTO,
		  "handshake.manifest: /name \"a b\"" CHARS },
		{ "{\"name\":\"\",\"version\":\"1.0.0\"}", false, NULL, 0,
		  "handshake.manifest: /name \"\"" CHARS },
		{ "{\"status\":\"ok\"}", false, NULL, 0,
		  "handshake.manifest: /name is missing\nhandshake.manifest: /version is missing" },
		{ "{\"name\":\"a\",\"version\":\"1.0\"}", false, NULL, 0, "" },
		{ "{\"name\":\"a\",\"version\":\"1.0\"}", true, NULL, MORTISE_EPROTO,
		  "handshake.manifest: /version \"1.0\" is not a semantic version (1.0.0)" },
		{ "{\"name\":\"a\",\"version\":\"1.0.0-rc.1+5\"}", true, NULL, 0, "" },
		{ "{\"name\":\"a\",\"version\":\"1.0.0.\"}", true, NULL, MORTISE_EPROTO,
		  "handshake.manifest: /version \"1.0.0.\" is not a semantic version (1.0.0)" },
		{ "null", false, NULL, MORTISE_EPROTO,
		  "handshake.manifest answered null, not an object with name, version and interfaces" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_greeting("handshake.manifest", &cases[i]);
}

static void test_disk_wins(void **state)
{
	static const char hello[] = "{\"name\":\"a\",\"version\":\"1.0.0\",\"interfaces\":[\"x\",\"y\"]}";
	static const struct greeting cases[] = {
		{ hello, false, "{\"name\":\"a\",\"version\":\"1.0.0\",\"interfaces\":[{\"id\":\"y\"},\"x\"]}",
		  0, "" },
		{ hello, false, "{}", 0, "" },
		{ hello, false, "{\"name\":\"b\"}", 0,
		  "handshake.manifest: /name is \"a\", but yams-plugin.json says \"b\": the file wins" },
		{ hello, false, "{\"version\":\"2.0.0\"}", 0,
		  "handshake.manifest: /version is \"1.0.0\", but yams-plugin.json says \"2.0.0\": the file "
		  "wins" },
		{ hello, false, "{\"interfaces\":[\"x\"]}", 0,
		  "handshake.manifest: /interfaces is [\"x\",\"y\"], but yams-plugin.json says [\"x\"]: the "
		  "file wins" },
		{ hello, false, "{\"interfaces\":[\"x\",\"y\",\"z\"]}", 0,
		  "handshake.manifest: /interfaces is [\"x\",\"y\"], but yams-plugin.json says "
		  "[\"x\",\"y\",\"z\"]: the file wins" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_greeting("handshake.manifest", &cases[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_init_params),  MOR_TEST(test_no_params), MOR_TEST(test_init_answer),
		MOR_TEST(test_hello_answer), MOR_TEST(test_disk_wins),
	};

	return mor_run_group("dialect/yams", tests);
}
