/* SPDX-License-Identifier: Apache-2.0 */
/* Words that people type after a method, and what is refused before it is called. */
#include "leak.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "runner/signature.h"

/* As the manifest of a plugin lists it. */
#define SAY \
	"{\"name\":\"say\",\"parameters\":{\"properties\":{\"often\":{\"type\":\"integer\"}," \
	"\"name\":{\"type\":\"string\"},\"loud\":{\"type\":\"boolean\"},\"dry_run\":{\"type\":\"bool\"}," \
	"\"tags_of\":{\"type\":\"array\"},\"a.b\":{\"type\":\"boolean\"}," \
	"\"at\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}}},\"required\":[\"name\"]}}"
#define SAY_USAGE \
	"say [often=integer] name=string [loud=boolean] [dry_run=bool] [tags_of=array] [a.b=boolean] " \
	"[at=object]"

/* As a dialect's table has it: others may be passed. */
static const struct mor_field source[] = {
	{ .name = "type", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED },
	{ .name = "data", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .when = "type=bytes" },
	{ .name = "size", .type = MOR_T_INT, .flags = MOR_F_REQUIRED, .def = "0" },
	{ .name = "*", .type = MOR_T_STRING },
	{ 0 },
};
static const struct mor_field fields[] = {
	{ .name = "mime", .type = MOR_T_STRING, .flags = MOR_F_ANY_OF },
	{ .name = "ext", .type = MOR_T_STRING | MOR_T_NULL, .flags = MOR_F_ANY_OF },
	{ .name = "how", .type = MOR_T_STRING, .one_of = "fast|slow" },
	{ .name = "letter", .type = MOR_T_INT, .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY },
	{ .name = "source", .type = MOR_T_OBJECT, .fields = source },
	{ .name = "maybe", .type = MOR_T_OBJECT | MOR_T_STRING, .fields = source },
	{ 0 },
};
static const struct mor_method get = { .name = "get", .params = fields };
#define ROW ((struct mor_signature){ .row = &get })

static mortise_error err;
static char made[2000];

static struct mor_doc *parse(const char *json)
{
	struct mor_doc *doc = NULL;

	if (json)
		assert_int_equal(mor_doc_parse(mor_slice_of(json), 0, 0, &doc, NULL), 0);
	return doc;
}

/* The arguments that the words make, or the error's text. */
static const char *take(const char *signature, const char *const *words)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(signature);
	MOR_CLEAN(mor_tree) struct mor_tree tree = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	size_t count = 0;
	int r;

	while (words[count])
		count++;
	err = (mortise_error){ 0 };
	r = mor_signature_take(&tree, MOR_DECLARED(mor_doc_root(doc)), words, count, &err);
	assert_int_equal(r, err.code);
	if (r < 0) {
		assert_int_equal(r, MORTISE_EINPUT);
		return err.text;
	}
	assert_int_equal(mor_tree_write(&tree, &json), 0);
	snprintf(made, sizeof(made), "%.*s", (int)json.len, json.data);
	return made;
}
#define TAKE(...)  take(SAY, (const char *const[]){ __VA_ARGS__, NULL })
#define LOOSE(...) take(NULL, (const char *const[]){ __VA_ARGS__, NULL })

/* NULL: they fit. Else the text before the usage. */
static const char *check_by(struct mor_signature signature, const char *arguments)
{
	MOR_CLEAN(mor_doc) struct mor_doc *given = parse(arguments);
	char *usage;
	int r;

	err = (mortise_error){ 0 };
	r = mor_signature_check(signature, mor_doc_root(given), &err);
	assert_int_equal(r, err.code);
	if (r == 0)
		return NULL;
	assert_int_equal(r, MORTISE_EINPUT);
	usage = strcasestr(err.text, "usage: ");
	assert_non_null(usage);
	usage[-2] = '\0';
	return err.text;
}

static const char *check(const char *signature, const char *arguments)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(signature);

	return check_by(MOR_DECLARED(mor_doc_root(doc)), arguments);
}

/* ---- words ---- */

static void test_by_name(void **state)
{
	(void)state;
	assert_string_equal(TAKE("name=Ada"), "{\"name\":\"Ada\"}");
	assert_string_equal(TAKE("--name=Ada"), "{\"name\":\"Ada\"}");
	assert_string_equal(TAKE("--name", "Ada"), "{\"name\":\"Ada\"}");
	assert_string_equal(TAKE("--often", "3", "--name", "Ada"), "{\"often\":3,\"name\":\"Ada\"}");
	assert_string_equal(TAKE("--often", "-3"), "{\"often\":-3}");
	assert_string_equal(TAKE("--tags-of=[1,\"b\"]"), "{\"tags_of\":[1,\"b\"]}");
	assert_string_equal(TAKE("--tags_of", "[]"), "{\"tags_of\":[]}");
	assert_string_equal(TAKE("--at={\"x\":1}"), "{\"at\":{\"x\":1}}");
	assert_string_equal(TAKE("--at.x=1"), "{\"at\":{\"x\":\"1\"}}");
	assert_string_equal(TAKE("--nmae=5"), "{\"nmae\":5}"); /* refused by the check */
}

/* First what is required, then the others in their order; names take their places out. */
static void test_by_place(void **state)
{
	(void)state;
	assert_string_equal(TAKE("Ada", "3"), "{\"name\":\"Ada\",\"often\":3}");
	assert_string_equal(TAKE("name=Ada", "3"), "{\"name\":\"Ada\",\"often\":3}");
	assert_string_equal(TAKE("3", "name=Ada"), "{\"often\":3,\"name\":\"Ada\"}");
	assert_string_equal(TAKE("Ada", "often=3", "true"), "{\"name\":\"Ada\",\"often\":3,\"loud\":true}");
	assert_string_equal(TAKE("--loud", "--dry-run", "--often=3", "Ada", "[1]"),
			    "{\"loud\":true,\"dry_run\":true,\"often\":3,\"name\":\"Ada\",\"tags_of\":[1]}");
	assert_string_equal(TAKE("-"), "{\"name\":\"-\"}");
	assert_string_equal(TAKE("--"), "{\"name\":\"--\"}");
	assert_string_equal(TAKE("Ada", "1", "true", "true", "[]", "true", "{}", "x"),
			    "\"x\" is a value too many; usage: " SAY_USAGE);
}

static void test_flags(void **state)
{
	(void)state;
	assert_string_equal(TAKE("--loud", "--name=Ada"), "{\"loud\":true,\"name\":\"Ada\"}");
	/* no value of its own */
	assert_string_equal(TAKE("--loud", "Ada"), "{\"loud\":true,\"name\":\"Ada\"}");
	assert_string_equal(TAKE("--no-loud"), "{\"loud\":false}");
	assert_string_equal(TAKE("--loud=false"), "{\"loud\":false}");
	assert_string_equal(TAKE("--dry-run"), "{\"dry_run\":true}");
	assert_string_equal(TAKE("--often"), "--often needs a value; usage: " SAY_USAGE);
	assert_string_equal(TAKE("--often", "name=Ada"), "--often needs a value; usage: " SAY_USAGE);
	assert_string_equal(TAKE("--no-name"), "--no-name needs a value; usage: " SAY_USAGE);
}

/* In --no-KEY too, a "-" may stand for "_". */
static void test_no_flag_with_another_dash(void **state)
{
	(void)state;
	assert_string_equal(TAKE("--no-dry-run"), "{\"dry_run\":false}");
	assert_string_equal(TAKE("--no-dry_run"), "{\"dry_run\":false}");
}

/* --no-KEY names its parameter as --KEY does: a value without a name is for another. */
static void test_no_flag_has_its_place(void **state)
{
	(void)state;
	assert_string_equal(TAKE("--no-loud", "Ada", "3", "true"),
			    "{\"loud\":false,\"name\":\"Ada\",\"often\":3,\"dry_run\":true}");
	assert_string_equal(TAKE("Ada", "3", "--no-loud", "--no-dry-run", "[1]"),
			    "{\"name\":\"Ada\",\"often\":3,\"loud\":false,\"dry_run\":false,\"tags_of\":[1]}");
}

static void test_a_dot_in_a_parameters_own_name(void **state)
{
	(void)state;
	assert_string_equal(TAKE("--a.b=true"), "{\"a.b\":true}");
	assert_string_equal(TAKE("--a.b"), "{\"a.b\":true}");
	assert_string_equal(TAKE("--no-a.b"), "{\"a.b\":false}");
}

/* A parameter that is really called so. */
static void test_a_parameter_that_begins_with_no(void **state)
{
	static const char signature[] =
		"{\"name\":\"f\",\"parameters\":{\"properties\":{\"no-cache\":{\"type\":\"boolean\"},\"cache\":{\"type\":\"boolean\"}}}}";

	(void)state;
	assert_string_equal(take(signature, (const char *const[]){ "--no-cache", NULL }),
			    "{\"no-cache\":true}");
	assert_string_equal(take(signature, (const char *const[]){ "--cache", NULL }), "{\"cache\":true}");
}

/* Where a text is wanted, everything is one. */
static void test_texts_stay_texts(void **state)
{
	(void)state;
	assert_string_equal(TAKE("name=5"), "{\"name\":\"5\"}");
	assert_string_equal(TAKE("--name=null"), "{\"name\":\"null\"}");
	assert_string_equal(TAKE("true"), "{\"name\":\"true\"}");
	assert_string_equal(TAKE("--name=a=b"), "{\"name\":\"a=b\"}");
	assert_string_equal(TAKE("[1]"), "{\"name\":\"[1]\"}");
	assert_string_equal(TAKE("name:=5"), "{\"name\":5}");
	assert_string_equal(TAKE("at.x=1"), "{\"at\":{\"x\":\"1\"}}");
	assert_string_equal(TAKE("often=5"), "{\"often\":5}");
	assert_string_equal(TAKE("name=\xff"), "argument \"name\": the value is not UTF-8 text");
}

static void test_nothing_is_known(void **state)
{
	(void)state;
	assert_string_equal(LOOSE("--name", "Ada", "--often=3", "x=1", "--loud"),
			    "{\"name\":\"Ada\",\"often\":3,\"x\":1,\"loud\":true}");
	assert_string_equal(LOOSE("a:=\"5\"", "b=5", "d=\"5\""), "{\"a\":\"5\",\"b\":5,\"d\":\"5\"}");
	assert_string_equal(LOOSE("Ada"), "argument \"Ada\": expected KEY=VALUE or a JSON object");
	assert_string_equal(LOOSE("w\x1b[0m"), "argument \"w\\x1b[0m\": expected KEY=VALUE or a JSON object");
	assert_string_equal(take("{\"name\":\"f\",\"parameters\":{\"properties\":{}}}",
				 (const char *const[]){ "x", NULL }),
			    "\"x\" is not KEY=VALUE; usage: f");
}

static void test_options_that_are_known(void **state)
{
	static const struct {
		const char *option;
		bool known;
	} rows[] = { { "--name", true },     { "--name=x", true },     { "--tags-of", true },
		     { "--no-loud", true },  { "--no-dry-run", true }, { "--nmae", true },
		     { "--tmieout", false }, { "--x", false } };
	MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(SAY);
	char many[400];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (mor_signature_knows(MOR_DECLARED(mor_doc_root(doc)), rows[i].option) != rows[i].known)
			fail_msg("%s", rows[i].option);
	memset(many, '-', sizeof(many));
	many[sizeof(many) - 1] = '\0';
	assert_false(mor_signature_knows(MOR_DECLARED(mor_doc_root(doc)), many));
	assert_false(mor_signature_knows(MOR_DECLARED(NULL), "--name"));
}

/* ---- checks ---- */

static void test_closed(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"name\":\"A\",\"often\":3,\"loud\":true,\"tags_of\":[]}", NULL },
		{ "{\"name\":\"A\",\"often\":null}", NULL }, /* the same as absent */
		{ "{\"often\":3}", "\"say\" needs the argument \"name\"" },
		{ "{\"name\":null}", "\"say\" needs the argument \"name\"" },
		{ "{\"nmae\":\"A\"}", "\"say\" has no argument \"nmae\": did you mean \"name\"" },
		{ "{\"name\":\"A\",\"zzzzzz\":1}", "\"say\" has no argument \"zzzzzz\"" },
		{ "{\"name\":\"A\",\"z\\u001b\\\"\":1}", "\"say\" has no argument \"z\\x1b\\\"\"" },
		{ "{\"name\":5}", "argument \"name\" must be string, not number: 5" },
		{ "{\"name\":\"A\",\"often\":\"x\"}", "argument \"often\" must be integer, not string: x" },
		{ "{\"name\":\"A\",\"often\":1.5}", "argument \"often\" must be integer, not number: 1.5" },
		{ "{\"name\":\"A\",\"loud\":1}", "argument \"loud\" must be boolean, not number: 1" },
		{ "{\"name\":\"A\",\"dry_run\":\"\"}", "argument \"dry_run\" must be bool, not string:" },
		{ "{\"name\":\"A\",\"tags_of\":{}}", "argument \"tags_of\" must be array, not object: {}" },
		{ "{\"name\":\"A\",\"at\":{\"x\":1}}", "argument \"at.x\" must be string, not number: 1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = check(SAY, rows[i][0]);

		if (!rows[i][1])
			assert_null(text);
		else if (!text || strncmp(text, rows[i][1], strlen(rows[i][1])) != 0)
			fail_msg("%s: %s", rows[i][0], text);
	}
}

/* Others may be there, but not one that looks like a known one misspelt. */
static void test_open(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"mime\":\"a\",\"zzzzzz\":1}", NULL },
		{ "{\"mime\":\"a\",\"sorce\":1}",
		  "\"get\" has no argument \"sorce\": did you mean \"source\"" },
		{ "{}", "\"get\" needs mime or ext" },
		{ "{\"mime\":null}", "\"get\" needs mime or ext" },
		{ "{\"ext\":null}", NULL }, /* its type has null */
		{ "{\"ext\":5}", "argument \"ext\" must be [\"string\",\"null\"], not number: 5" },
		{ "{\"ext\":\"a\",\"how\":\"fast\"}", NULL },
		{ "{\"ext\":\"a\",\"how\":\"fas\"}",
		  "argument \"how\" must be one of [\"fast\",\"slow\"], not fas" },
		{ "{\"ext\":\"a\",\"how\":5}", "argument \"how\" must be string, not number: 5" },
		{ "{\"ext\":\"a\",\"letter\":1.5}", "argument \"letter\" must be integer, not number: 1.5" },
		{ "{\"ext\":\"a\",\"maybe\":{}}", NULL }, /* not looked into */
		{ "{\"ext\":\"a\",\"source\":{\"typ\":\"x\"}}",
		  "\"get\" has no argument \"source.typ\": did you mean \"source.type\"" },
		{ "{\"ext\":\"a\",\"source\":{}}", "\"get\" needs the argument \"source.type\"" },
		{ "{\"ext\":\"a\",\"source\":{\"type\":\"path\",\"more\":1}}", NULL },
		{ "{\"ext\":\"a\",\"source\":{\"type\":\"bytes\"}}",
		  "\"get\" needs the argument \"source.data\" with source.type=bytes" },
		{ "{\"ext\":\"a\",\"source\":{\"type\":\"bytes\",\"data\":\"\"}}", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = check_by(ROW, rows[i][0]);

		if (!rows[i][1])
			assert_null(text);
		else if (!text || strncmp(text, rows[i][1], strlen(rows[i][1])) != 0)
			fail_msg("%s: %s", rows[i][0], text);
	}
}

/* Values and objects as a manifest may limit them. */
static void test_values_and_objects(void **state)
{
	static const char signature[] =
		"{\"name\":\"get\",\"parameters\":{\"properties\":{"
		"\"level\":{\"type\":\"integer\",\"enum\":[1,2]},\"ext\":{\"type\":[\"string\",\"null\"]},"
		"\"closed\":{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"x\":{}}}}}}";
	static const char *const rows[][2] = {
		{ "{\"level\":2}", NULL },
		{ "{\"level\":3}", "argument \"level\" must be one of [1,2], not 3" },
		{ "{\"ext\":5}", "argument \"ext\" must be [\"string\",\"null\"], not number: 5" },
		{ "{\"closed\":{\"x\":[]}}", NULL }, /* no type: any */
		{ "{\"closed\":{\"quite\":1}}", "\"get\" has no argument \"closed.quite\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text = check(signature, rows[i][0]);

		if (!rows[i][1])
			assert_null(text);
		else if (!text || strncmp(text, rows[i][1], strlen(rows[i][1])) != 0)
			fail_msg("%s: %s", rows[i][0], text);
	}
}

/* People write other words into manifests than JSON Schema has. */
static void test_words_for_types(void **state)
{
	static const struct {
		const char *type, *fits, *not_so;
	} rows[] = {
		{ "str", "\"\"", "1" },   { "text", "\"\"", "1" },   { "int", "1", "1.5" },
		{ "float", "1", "\"\"" }, { "double", "1.5", "[]" }, { "number", "1e400", "true" },
		{ "list", "[]", "{}" },   { "dict", "{}", "[]" },    { "null", "null", "1" },
		{ "made up", "1", NULL }, { "", "[]", NULL },
	};
	char signature[200], arguments[100];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(signature, sizeof(signature),
			 "{\"name\":\"f\",\"parameters\":{\"properties\":{\"p\":{\"type\":\"%s\"}}}}",
			 rows[i].type);
		snprintf(arguments, sizeof(arguments), "{\"p\":%s}", rows[i].fits);
		assert_null(check(signature, arguments));
		snprintf(arguments, sizeof(arguments), "{\"p\":%s}", rows[i].not_so ? rows[i].not_so : "{}");
		assert_int_equal(check(signature, arguments) == NULL, !rows[i].not_so);
	}
}

/* Without parameters, or with malformed ones, anything may be passed. */
static void test_signatures_that_say_nothing(void **state)
{
	static const char *const signatures[] = {
		NULL,
		"{}",
		"5",
		"{\"parameters\":null}",
		"{\"parameters\":{\"required\":[\"x\"]}}",
		"{\"parameters\":{\"properties\":{\"x\":5},\"required\":5,\"any_of\":{}},\"open\":true}",
		"{\"parameters\":{\"properties\":{\"x\":{\"type\":{},\"enum\":5}},\"required\":[5,null]}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(signatures) / sizeof(signatures[0]); i++)
		assert_null(check(signatures[i], "{\"x\":1}"));
}

/* Names of any length and any bytes: the text stays one line, and stays in its buffers. */
static void test_hostile_names(void **state)
{
	static char signature[9000], arguments[9000];
	char name[3000];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	snprintf(signature, sizeof(signature),
		 "{\"name\":\"%s\",\"parameters\":{\"properties\":{\"%s\":{\"type\":\"object\",\"properties\":"
		 "{\"x\\u001b[2J\\n\":{\"type\":\"string\"}},\"required\":[\"x\\u001b[2J\\n\"]}},"
		 "\"required\":[\"%.900s\"]}}",
		 name, name, name);
	snprintf(arguments, sizeof(arguments), "{\"%s\":{}}", name);
	assert_non_null(check(signature, arguments));
	snprintf(arguments, sizeof(arguments), "{\"%s\":{\"x\\u001b[2J\\n\":5}}", name);
	assert_non_null(check(signature, arguments));
	assert_true(strlen(err.text) < sizeof(err.text));
	for (const char *c = err.text; *c; c++)
		assert_true((unsigned char)*c >= ' ');
}

/* ---- usage ---- */

static const char *usage_by(struct mor_signature signature)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	if (!mor_signature_known(signature))
		return NULL;
	assert_int_equal(mor_signature_usage(signature, &out), 0);
	snprintf(made, sizeof(made), "%.*s", (int)out.len, out.data);
	return made;
}

static void test_usage(void **state)
{
	static const char *const rows[][2] = {
		{ SAY, SAY_USAGE },
		{ "{}", "?" },
		{ "{\"name\":\"f\",\"parameters\":{\"properties\":{\"s\":{\"type\":\"object\",\"properties\":"
		  "{\"a\":{\"type\":\"string\"},\"b\":{}},\"required\":[\"a\"]}},\"required\":[\"s\"]}}",
		  "f s.a=string [s.b=value]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(rows[i][0]);

		assert_string_equal(usage_by(MOR_DECLARED(mor_doc_root(doc))), rows[i][1]);
	}
	assert_string_equal(usage_by(ROW), "get [mime=string] [ext=value] [how=string] [letter=integer] "
					   "[source=object] [maybe=value]");
}

/* ---- where they come from ---- */

static const char *usage_of(const char *dialect, const char *actions, const char *method)
{
	MOR_CLEAN(mor_doc) struct mor_doc *listed = parse(actions);

	return usage_by(mor_signature_pick(dialect, mor_doc_root(listed), method));
}

static void test_of_a_table_or_a_manifest(void **state)
{
	static const char actions[] = "[{\"name\":\"f\"},{\"name\":\"extractor.extract\",\"parameters\":"
				      "{\"properties\":{\"own\":{}}}}]";

	(void)state;
	assert_string_equal(usage_of("yams", NULL, "extractor.extract"),
			    "extractor.extract source.type=string [source.path=string] [source.data=string] "
			    "[options=object]");
	assert_string_equal(usage_of("yams", NULL, "extractor.supports"),
			    "extractor.supports [mime_type=string] [extension=string]");
	assert_string_equal(usage_of("yams", actions, "extractor.extract"), "extractor.extract [own=value]");
	assert_null(usage_of("yams", actions, "f")); /* it lists no parameters */
	assert_null(usage_of("yams", NULL, "no.such"));
	assert_null(usage_of("plain", NULL, "extractor.extract"));
	assert_null(usage_of("gassist", NULL, "execute")); /* its functions are the plugin's own */
	assert_null(usage_of("no such dialect", NULL, "x"));
	assert_null(usage_of(NULL, NULL, "x"));
}

static void test_names_to_complete(void **state)
{
	static const char actions[] =
		"[{\"name\":\"f\"},{\"name\":\"two\\nlines\"},{\"name\":\"a*\"},{\"name\":\"\"},{\"name\":5},7]";
	MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(actions);
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT, yams = MOR_BUF_INIT;

	(void)state;
	assert_int_equal(mor_signature_list("gassist", mor_doc_root(doc), &out, NULL), 0);
	assert_true(mor_slice_is(mor_buf_view(&out), "f\n"));
	assert_int_equal(mor_signature_list("yams", NULL, &yams, NULL), 0);
	mor_buf_byte(&yams, '\0');
	assert_non_null(strstr(yams.data, "extractor.extract\n"));
	assert_null(strstr(yams.data, "handshake")); /* the host's own */
}

static void test_no_memory(void **state)
{
	static const char *const words[] = { "Ada", "--often=3", "--no-loud", "--tags-of=[1]" };
	MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(SAY);

	(void)state;
	for (long n = 0, r = MORTISE_ENOMEM; r == MORTISE_ENOMEM; n++) {
		MOR_CLEAN(mor_tree) struct mor_tree tree = { 0 };

		err = (mortise_error){ 0 };
		mor_alloc_fail_after(n);
		r = mor_signature_take(&tree, MOR_DECLARED(mor_doc_root(doc)), words, 4, &err);
		mor_alloc_fail_after(-1);
		assert_int_equal(err.code, r);
		assert_true(r == MORTISE_ENOMEM || (r == 0 && n > 4));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_by_name),
		MOR_TEST(test_by_place),
		MOR_TEST(test_flags),
		MOR_TEST(test_no_flag_with_another_dash),
		MOR_TEST(test_no_flag_has_its_place),
		MOR_TEST(test_a_dot_in_a_parameters_own_name),
		MOR_TEST(test_a_parameter_that_begins_with_no),
		MOR_TEST(test_texts_stay_texts),
		MOR_TEST(test_nothing_is_known),
		MOR_TEST(test_options_that_are_known),
		MOR_TEST(test_closed),
		MOR_TEST(test_open),
		MOR_TEST(test_values_and_objects),
		MOR_TEST(test_words_for_types),
		MOR_TEST(test_signatures_that_say_nothing),
		MOR_TEST(test_hostile_names),
		MOR_TEST(test_usage),
		MOR_TEST(test_of_a_table_or_a_manifest),
		MOR_TEST(test_names_to_complete),
		MOR_TEST(test_no_memory),
	};

	return mor_run_group("runner/signature", tests);
}
