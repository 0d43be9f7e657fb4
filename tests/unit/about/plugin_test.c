/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `mortise info` from a description, and what an answer to the question for health means. */
#include "heard.h"

#include "about/about.h"

static const char *page_of(const char *described, const struct mor_about_health *asked)
{
	static const struct mor_about_health nothing = { .healthy = -1 };
	struct mor_doc *doc = NULL;

	assert_int_equal(mor_doc_parse(mor_slice_of(described), 0, 0, &doc, NULL), 0);
	mor_about_plugin_page(&console, mor_doc_root(doc), asked ? asked : &nothing);
	mor_doc_free(doc);
	return heard_out();
}

static void test_rows(void **state)
{
	(void)state;
	assert_string_equal(
		page_of("{\"name\":\"a\\u0007b\",\"version\":\"1.2\",\"dialect\":\"plain\",\"manifest\":null,"
			"\"transport\":\"stdio\",\"command\":[\"python3\",\"x.py\"],\"interfaces\":[],"
			"\"state\":\"ready\",\"pid\":7,\"last_stderr\":\"\",\"warnings\":[\"odd\"]}",
			NULL),
		"a\\x07b 1.2\n"
		"dialect       plain\n"
		"command       python3 x.py\n"
		"methods       not known: plain has no list, and nothing is sent unasked; a program with one "
		"answers 'mortise call … rpc.discover'\n"
		"state         ready (process 7)\n"
		"warning       odd\n");
}

static void test_lists(void **state)
{
	(void)state;
	assert_string_equal(
		page_of("{\"name\":\"p\",\"actions\":[{\"name\":\"set\",\"description\":\"sets "
			"it\",\"parameters\":{\"required\":[\"level\"],\"properties\":{\"level\":{\"type\":\"number\",\"description\":\"how "
			"loud\"},\"who\":{}}}},{\"name\":\"get\",\"description\":null}],\"capabilities\":{\"a\":{\"b\":1},\"c\":true},\"timeouts\":{\"get\":1500,\"set\":0}}",
			NULL),
		"p\n"
		"actions\n"
		"  set: sets it\n"
		"    level (number, required): how loud\n"
		"    who (any)\n"
		"  get\n"
		"capabilities\n"
		"  a\n"
		"    b: 1\n"
		"  c: true\n"
		"state         unknown\n"
		"time limits\n"
		"  METHOD LIMIT\n"
		"  get    1.5 s\n"
		"  set    none\n");
}

static void test_config(void **state)
{
	const char *page = page_of("{\"name\":\"p\",\"config\":{\"a\":1,\"b\":\"x\",\"c\":2},"
				   "\"config_applied\":{\"c\":2.0,\"b\":\"y\",\"d\":[]}}",
				   NULL);

	(void)state;
	assert_non_null(strstr(page, "config\n"
				     "  KEY GIVEN APPLIED\n"
				     "  a   1     -       * not applied\n"
				     "  b   x     y       * differs\n"
				     "  c   2     2.0\n"
				     "  d   -     []      * added by the plugin\n"));
	page = page_of("{\"name\":\"p\",\"config\":{\"a\":1}}", NULL);
	assert_non_null(strstr(page, "config        (the plugin does not say what it applied)\n"
				     "  KEY GIVEN\n  a   1\n"));
}

static void test_health(void **state)
{
	struct mor_about_health asked = {
		.result = "{\"status\":\"ok\",\"mb\":12}", .time_ms = 3, .healthy = 1, .status = "ok"
	};

	(void)state;
	assert_non_null(strstr(page_of("{\"name\":\"p\"}", &asked),
			       "\nhealth        healthy: \"ok\" (mb: 12), answered in 3 ms\n"));
	asked = (struct mor_about_health){ .error = "it said no", .healthy = -1 };
	assert_non_null(
		strstr(page_of("{\"name\":\"p\"}", &asked), "\nhealth        unknown: it said no, answered"));
	assert_non_null(
		strstr(page_of("{\"name\":\"p\",\"health\":{\"healthy\":false,\"reason\":\"late\"}}", NULL),
		       "\nhealth        not healthy: late\n"));
	assert_null(strstr(page_of("{\"name\":\"p\",\"health\":{\"healthy\":null}}", NULL), "health"));
}

static void test_judge(void **state)
{
	static const struct {
		const char *result, *rule;
		int healthy;
		const char *status;
	} rows[] = {
		{ "{\"status\":\"ok\"}", "{\"good\":[\"ok\"],\"bad\":[\"down\"]}", 1, "ok" },
		{ "{\"status\":\"down\"}", "{\"good\":[\"ok\"],\"bad\":[\"down\"]}", 0, "down" },
		{ "{\"status\":\"slow\"}", "{\"good\":[\"ok\"],\"fair\":[\"slow\"]}", 1, "slow" },
		{ "{\"status\":\"what\"}", "{\"good\":[\"ok\"]}", -1, "what" },
		{ "{\"a\":{\"b\":\"ok\"}}", "{\"at\":\"/a/b\",\"good\":[\"ok\"]}", 1, "ok" },
		{ "{\"status\":7}", "{\"good\":[\"ok\"]}", -1, "" },
		{ "null", "{}", 1, "" }, /* without words any answer is a good one */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mor_about_health health = { .result = (char *)rows[i].result, .healthy = -1 };
		struct mor_doc *rule = NULL;

		assert_int_equal(mor_doc_parse(mor_slice_of(rows[i].rule), 0, 0, &rule, NULL), 0);
		mor_about_judge(&health, mor_doc_root(rule));
		mor_doc_free(rule);
		assert_int_equal(health.healthy, rows[i].healthy);
		assert_string_equal(health.status, rows[i].status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HEARD_TEST(test_rows),   HEARD_TEST(test_lists), HEARD_TEST(test_config),
		HEARD_TEST(test_health), HEARD_TEST(test_judge),
	};

	return mor_run_group("about/plugin", tests);
}
