/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "dialect/dialect.h"
#include "json_of.h"

static const struct mor_method *row(const char *name)
{
	return mor_dialect_method(mor_dialect_find("yams"), MOR_FROM_HOST, mor_slice_of(name));
}

/* "!" before a fatal text; one per line. */
static void collect(const struct mor_finding *finding, void *arg)
{
	struct mor_buf *out = arg;

	mor_buf_printf(out, "%s%s%s", out->len ? "\n" : "", finding->fatal ? "!" : "", finding->text);
}

static void expect(const struct mor_field *fields, const char *json, const char *wanted)
{
	struct mor_doc *doc = json_of(json);
	struct mor_buf out = MOR_BUF_INIT;
	char *text;

	mor_validate(fields, mor_doc_root(doc), collect, &out);
	text = mor_buf_detach(&out);
	assert_string_equal(text, wanted);
	mortise_free(text);
	mor_doc_free(doc);
}

static void test_handshake(void **state)
{
	const struct mor_field *f = row("handshake.manifest")->result;

	(void)state;
	expect(f, "{\"name\":\"a\",\"version\":\"1.0.0\",\"interfaces\":[\"x\"],\"more\":1}", "");
	expect(f, "{\"name\":\"a\",\"version\":\"1.0.0\",\"interfaces\":[\"x\",{\"id\":\"y\",\"version\":1}]}",
	       "/interfaces/1: must be string, not object");
	expect(f, "{\"name\":\"a\",\"version\":\"1\"}", "/interfaces: required (array) but missing");
	expect(f, "{\"name\":5,\"version\":\"1\",\"interfaces\":[7]}",
	       "/name: must be string, not number\n"
	       "/interfaces/0: must be string, not number");
	expect(f, "null", "must be an object, not null");
	expect(f,
	       "{\"name\":\"a\",\"version\":\"1\",\"interfaces\":[],\"capabilities\":{\"content_extraction\":{\"formats\":[1]}}}",
	       "/capabilities/content_extraction/formats/0: must be string, not number");
}

static void test_supports(void **state)
{
	(void)state;
	expect(row("extractor.supports")->params, "{\"extension\":\".elf\"}", "");
	expect(row("extractor.supports")->params, "{}", "!at least one of mime_type, extension is required");
	expect(row("extractor.supports")->result, "{}", "!/supported: required (boolean) but missing");
	expect(row("extractor.supports")->result, "{\"supported\":1}",
	       "!/supported: must be boolean, not number");
	expect(row("extractor.supports")->result, "{\"supported\":true,\"confidence\":1}", "");
	expect(row("extractor.supports")->result, "{\"supported\":true,\"confidence\":1.5}",
	       "!/confidence: 1.5 is outside 0..1");
	expect(row("extractor.supports")->result, "{\"supported\":true,\"method\":null}",
	       "/method: must be string, not null");
	expect(row("extractor.supports")->result, "true", "!must be an object, not boolean");
}

static void test_extract_params(void **state)
{
	const struct mor_field *f = row("extractor.extract")->params;

	(void)state;
	expect(f, "{\"source\":{\"type\":\"path\",\"path\":\"/a\"},\"options\":{\"max_functions\":5}}", "");
	expect(f,
	       "{\"source\":{\"type\":\"path\",\"path\":\"/a\"},\"options\":{\"mime_type\":\"a/b\",\"own\":[]}}",
	       "/options/mime_type: is not in the specification\n"
	       "/options/own: is not in the specification, which has max_functions, decompile, "
	       "include_metadata, timeout_sec");
	expect(f, "{\"source\":{\"type\":\"bytes\",\"data\":\"\"}}", "");
	expect(f, "{}", "!/source: required (object) but missing");
	expect(f, "{\"source\":{}}", "!/source/type: required (string) but missing");
	expect(f, "{\"source\":{\"type\":\"path\"}}",
	       "!/source/path: required (string) with type=path but missing");
	expect(f, "{\"source\":{\"type\":\"bytes\",\"path\":\"/a\"}}",
	       "!/source/data: required (string) with type=bytes but missing");
	expect(f, "{\"source\":{\"type\":\"url\"}}", "!/source/type: \"url\" is none of path|bytes");
	expect(f, "{\"source\":{\"type\":\"path\",\"path\":\"\"},\"options\":{\"max_functions\":1.5}}",
	       "!/options/max_functions: must be integer, not fraction");
	expect(f, "{\"source\":[]}", "!/source: must be object, not array");
}

static void gather(const struct mor_finding *finding, void *arg)
{
	mor_findings_add(arg, finding);
}

/* In one line: whole findings as long as they fit, then how many there are. */
static void test_in_one_line(void **state)
{
	struct mor_findings all = { .count = 0 };
	struct mor_doc *doc = json_of("{\"source\":{},\"options\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1}}");
	const char *text;

	(void)state;
	mor_validate(row("extractor.extract")->params, mor_doc_root(doc), gather, &all);
	text = mor_findings_text(&all);
	assert_ptr_equal(strstr(text, "/source/type: required (string) but missing; /options/a: is not in"),
			 text);
	assert_int_equal(all.count, 6);
	assert_true(all.shown < 6);
	assert_non_null(strstr(text, "timeout_sec; and "));
	assert_string_equal(text + strlen(text) - strlen(" more"), " more");
	mor_doc_free(doc);
}

static void test_extract_result(void **state)
{
	const struct mor_field *f = row("extractor.extract")->result;

	(void)state;
	expect(f, "{\"success\":true,\"content\":\"x\"}", "");
	expect(f, "{\"success\":true,\"content\":\"x\",\"text\":\"x\",\"error\":null}", "");
	expect(f, "{\"success\":true}", "!/content: required (string or null) with success=true but missing");
	expect(f, "{\"success\":true,\"content\":null}", "!/content: null, but required with success=true");
	expect(f, "{\"success\":false}", "");
	expect(f, "{\"text\":\"x\",\"metadata\":{},\"error\":null}",
	       "/success: required (boolean) but missing\n"
	       "/text: the specification spells this \"content\"");
	expect(f, "{\"success\":true,\"text\":5}",
	       "/text: the specification spells this \"content\"\n!/text: must be string or null, not number");
	expect(f, "{\"success\":true,\"content\":null,\"text\":\"x\"}", "");
}

static void test_health(void **state)
{
	const struct mor_field *f = row("plugin.health")->result;

	(void)state;
	expect(f, "{\"status\":\"degraded\",\"memory_mb\":5}", "");
	expect(f, "{\"status\":\"healthy\"}", "/status: \"healthy\" is none of ok|degraded|error");
}

static void test_elements(void **state)
{
	(void)state;
	expect(row("ghidra.getEntities")->result, "{\"nodes\":[{\"node_key\":\"a\"},{},5]}",
	       "!/nodes/1/node_key: required (string) but missing\n!/nodes/2: must be object, not number");
}

static void test_pointers(void **state)
{
	static const struct mor_field any[] = { { .name = "*", .type = MOR_T_INT }, { 0 } };
	char json[700], wanted[700];

	(void)state;
	expect(any, "{\"a/b~c\":\"x\",\"\":null,\"ok\":1}",
	       "!/a~1b~0c: must be integer, not string\n/: must be integer, not null");
	/* Longer than the pointer's room: cut, never overrun. */
	snprintf(json, sizeof(json), "{\"%0500d\":\"x\"}", 0);
	snprintf(wanted, sizeof(wanted), "!/%0158d: must be integer, not string", 0);
	expect(any, json, wanted);
}

static void test_bound(void **state)
{
	struct mor_buf json = MOR_BUF_INIT;
	struct mor_doc *doc;

	(void)state;
	mor_buf_text(&json, "{\"nodes\":[0");
	for (unsigned i = 0; i < 5000; i++)
		mor_buf_text(&json, ",0");
	mor_buf_text(&json, "]}");
	mor_buf_byte(&json, '\0');
	doc = json_of(json.data);
	assert_int_equal(mor_validate(row("ghidra.getEntities")->result, mor_doc_root(doc), NULL, NULL),
			 MOR_FINDINGS_MAX);
	assert_int_equal(mor_validate(NULL, mor_doc_root(doc), NULL, NULL), 0);
	mor_doc_free(doc);
	mor_buf_fini(&json);
}

static void test_field_get(void **state)
{
	const struct mor_field content = { .name = "content", .also = "text|body", .type = MOR_T_STRING };
	struct mor_doc *doc = json_of("{\"content\":null,\"body\":\"b\"}");

	(void)state;
	assert_string_equal(mor_json_text(mor_field_get(&content, mor_doc_root(doc)), ""), "b");
	assert_null(mor_field_get(&content, NULL));
	mor_doc_free(doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_handshake),   MOR_TEST(test_supports),       MOR_TEST(test_extract_params),
		MOR_TEST(test_in_one_line), MOR_TEST(test_extract_result), MOR_TEST(test_health),
		MOR_TEST(test_elements),    MOR_TEST(test_pointers),       MOR_TEST(test_bound),
		MOR_TEST(test_field_get),
	};

	return mor_run_group("dialect/validate", tests);
}
