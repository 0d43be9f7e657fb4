/* SPDX-License-Identifier: Apache-2.0 */
/* Compilation units: docs/reference/kzip.md, "Units". */
#include "leak.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "kythe/unit/unit.h"
#include "units.h"

static struct mor_unit *read_json(const char *json)
{
	struct mor_unit *unit = NULL;
	mortise_error err = { 0 };

	if (mor_unit_read_json(mor_slice_of(json), &unit, &err) < 0)
		fail_msg("%s", err.text);
	return unit;
}

static void expect_refused(const char *json, const char *text)
{
	struct mor_unit *unit = NULL;
	mortise_error err = { 0 };

	assert_int_equal(mor_unit_read_json(mor_slice_of(json), &unit, &err), MORTISE_EINPUT);
	assert_string_equal(err.text, text);
	assert_null(unit);
}

/* Both writers, and what they give read again: the same JSON at the end. */
static void expect_round_trip(const char *json, const char *want)
{
	MOR_CLEAN(mor_unit) struct mor_unit *first = read_json(json), *second = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf wire = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf again = MOR_BUF_INIT;

	assert_int_equal(mor_unit_write_json(first, &text, NULL), 0);
	mor_buf_byte(&text, '\0');
	assert_string_equal(text.data, want);
	assert_int_equal(mor_unit_write_wire(first, &wire, NULL), 0);
	assert_int_equal(mor_unit_read_wire(mor_buf_view(&wire), &second, NULL), 0);
	assert_int_equal(mor_unit_write_json(second, &again, NULL), 0);
	mor_buf_byte(&again, '\0');
	assert_string_equal(again.data, want);
}

static void test_every_field(void **state)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = read_json(UNIT_FULL);

	(void)state;
	assert_string_equal(unit->vname.signature, "s");
	assert_string_equal(unit->vname.language, "c++");
	assert_int_equal(unit->input_count, 2);
	assert_string_equal(unit->inputs[0].path, "a.c");
	assert_string_equal(unit->inputs[0].vname.corpus, "k");
	assert_int_equal(unit->inputs[0].detail_count, 1);
	assert_int_equal(unit->inputs[1].detail_count, 0);
	assert_string_equal(unit->inputs[1].vname.path, "");
	assert_true(unit->has_compile_errors);
	assert_int_equal(unit->argument_count, 3);
	assert_string_equal(unit->arguments[1], "");
	assert_string_equal(unit->sources[0], "a.c");
	assert_string_equal(unit->output_key, "a.o");
	assert_string_equal(unit->working_directory, "/w");
	assert_string_equal(unit->entry_context, "hash0");
	assert_string_equal(unit->env[0].name, "PATH");
	assert_string_equal(unit->details[0].type_url, "kythe.io/proto/kythe.proto.BuildDetails");
	assert_string_equal(unit->revisions[1], "r2");
	assert_string_equal(mor_unit_title(unit), "a.c");
	expect_round_trip(UNIT_FULL, UNIT_FULL);
}

static void test_empty(void **state)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = read_json("{}");

	(void)state;
	assert_string_equal(unit->vname.corpus, "");
	assert_string_equal(unit->working_directory, "");
	assert_int_equal(unit->input_count, 0);
	assert_string_equal(mor_unit_title(unit), "");
	expect_round_trip("{\"unit\":null}", "{\"unit\":{}}");
}

/* 3.1: canonical camelCase must also be accepted. */
static void test_camel_case(void **state)
{
	(void)state;
	expect_round_trip(
		"{\"unit\":{\"vName\":{\"corpus\":\"c\"},\"requiredInput\":[{\"vName\":{\"path\":\"p\"},\"info\":{\"path\":\"p\"}}],\"sourceFile\":[\"p\"],\"hasCompileErrors\":true,\"outputKey\":\"o\",\"workingDirectory\":\"/w\",\"entryContext\":\"e\"}}",
		"{\"unit\":{\"v_name\":{\"corpus\":\"c\"},\"required_input\":[{\"v_name\":{\"path\":\"p\"},\"info\":{\"path\":\"p\"}}],\"has_compile_errors\":true,\"source_file\":[\"p\"],\"output_key\":\"o\",\"working_directory\":\"/w\",\"entry_context\":\"e\"}}");
}

/* 3.1: unknown JSON fields are an error (garbage_unit.kzip: "cos"); the doc's "revision" is wrong. */
static void test_refused(void **state)
{
	(void)state;
	expect_refused("{\"cos\":1}", "cos: unknown field");
	expect_refused("{\"unit\":{\"v_name\":{\"Corpus\":\"\"}}}", "unit.v_name.Corpus: unknown field");
	expect_refused("{\"index\":{\"revision\":[\"a\"]}}", "index.revision: unknown field");
	expect_refused("{\"unit\":{\"required_input\":[{},{\"info\":{\"pth\":\"\"}}]}}",
		       "unit.required_input[1].info.pth: unknown field");
	expect_refused("{\"unit\":{\"details\":[{\"@type\":\"x/kythe.proto.GoDetails\",\"gos\":\"linux\"}]}}",
		       "unit.details[0].gos: unknown field");
	expect_refused("{\"unit\":{\"details\":[{\"goos\":\"linux\"}]}}",
		       "unit.details[0]: \"@type\" is missing");
	expect_refused("{\"unit\":{\"argument\":\"x\"}}", "unit.argument: expected an array, not string");
	expect_refused("{\"unit\":{\"argument\":[null]}}", "unit.argument[0]: expected a string, not null");
	expect_refused("{\"unit\":{\"has_compile_errors\":1}}",
		       "unit.has_compile_errors: expected true or false, not number");
	expect_refused("{\"unit\":{\"v_name\":[]}}", "unit.v_name: expected an object, not array");
	expect_refused("{\"unit\":{\"v_name\":{},\"vName\":{}}}", "unit.vName: given twice");
	expect_refused("{\"unit\":{\"output_key\":\"a\\u0000b\"}}",
		       "unit.output_key: the text holds a NUL character");
	expect_refused("[]", "expected an object, not array");
	expect_refused("{", "not JSON: unexpected end of data at byte 1 (line 1, column 2)");
}

/* 3.1: one level of string unwrapping. */
static void test_double_encoded(void **state)
{
	MOR_CLEAN(mor_unit)
	struct mor_unit *unit = read_json("\"{\\\"unit\\\":{\\\"output_key\\\":\\\"o\\\"}}\"");

	(void)state;
	assert_string_equal(unit->output_key, "o");
	expect_refused("\"\\\"{}\\\"\"", "expected an object, not string");
}

static void expect_digest(const char *json, const char *want)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = read_json(json), *again = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf wire = MOR_BUF_INIT;
	char hex[65];

	assert_int_equal(mor_unit_digest(unit, hex, NULL), 0);
	assert_string_equal(hex, want);
	assert_int_equal(mor_unit_write_wire(unit, &wire, NULL), 0);
	assert_int_equal(mor_unit_read_wire(mor_buf_view(&wire), &again, NULL), 0);
	assert_int_equal(mor_unit_digest(again, hex, NULL), 0);
	assert_string_equal(hex, want);
}

/* 3.1: the digest of units that Kythe's own tools have named. */
static void test_digest_of_real_units(void **state)
{
	(void)state;
	expect_digest(UNIT_JAVA_EMPTY, UNIT_JAVA_EMPTY_DIGEST);
	expect_digest(UNIT_FOO, UNIT_FOO_DIGEST);
	expect_digest(UNIT_BAR, UNIT_BAR_DIGEST);
}

/* Inputs by (digest, path) without doubles, sources and environment by name, details by type; order in the
 * record is free. */
static void test_digest_order(void **state)
{
#define INPUT(path, digest) "{\"info\":{\"path\":\"" path "\",\"digest\":\"" digest "\"}}"
	/* clang-format off */
	MOR_CLEAN(mor_unit) struct mor_unit *a = read_json(
		"{\"unit\":{\"required_input\":["
		INPUT("b", "1") "," INPUT("a", "2") "," INPUT("c", "1") "," INPUT("b", "1") "],"
		"\"source_file\":[\"y\",\"x\"],\"environment\":[{\"name\":\"B\"},{\"name\":\"A\"}],"
		"\"details\":[{\"@type\":\"z\",\"value\":\"\"},"
		"{\"@type\":\"kythe.proto.GoDetails\",\"goos\":\"linux\",\"compiler\":\"gc\"}]}}");
	MOR_CLEAN(mor_unit) struct mor_unit *b = read_json(
		"{\"unit\":{\"required_input\":[" INPUT("c", "1") "," INPUT("b", "1") "," INPUT("a", "2") "],"
		"\"source_file\":[\"x\",\"y\"],\"environment\":[{\"name\":\"A\"},{\"name\":\"B\"}],"
		"\"has_compile_errors\":true,"
		"\"details\":[{\"@type\":\"kythe.proto.GoDetails\",\"compiler\":\"gc\",\"goos\":\"linux\"},"
		"{\"@type\":\"z\",\"value\":\"\"}]}}");
	/* clang-format on */
	char one[65], two[65];

	(void)state;
	assert_int_equal(mor_unit_digest(a, one, NULL), 0);
	assert_int_equal(mor_unit_digest(b, two, NULL), 0);
	assert_string_equal(one, two);
	b->output_key = "o";
	assert_int_equal(mor_unit_digest(b, two, NULL), 0);
	assert_string_not_equal(one, two);
}

static void expect_details(const char *detail, const char *want)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf wire = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL, *again = NULL;
	struct mor_writer w = { .out = &out };
	mortise_error err = { 0 };

	mor_buf_printf(&json, "{\"unit\":{\"details\":[%s]}}", detail);
	assert_int_equal(mor_unit_read_json(mor_buf_view(&json), &unit, &err), 0);
	assert_int_equal(mor_unit_write_wire(unit, &wire, &err), 0);
	assert_int_equal(mor_unit_read_wire(mor_buf_view(&wire), &again, &err), 0);
	mor_unit_details_json(again, &w);
	mor_buf_byte(&out, '\0');
	assert_string_equal(out.data, want);
}

/* 3.2: every known type of details through the wire, canonical JSON at the end. */
static void test_known_details(void **state)
{
	(void)state;
	expect_details(
		"{\"@type\":\"kythe.io/proto/kythe.proto.GoDetails\",\"goos\":\"linux\",\"build_tags\":[\"a\"],\"cgo_enabled\":true}",
		"[{\"@type\":\"kythe.io/proto/kythe.proto.GoDetails\",\"goos\":\"linux\",\"buildTags\":[\"a\"],\"cgoEnabled\":true}]");
	expect_details(
		"{\"@type\":\"kythe.io/proto/kythe.proto.JavaDetails\",\"classpath\":[\"!jar!\"],\"extra_javacopts\":[\"-g\"]}",
		"[{\"@type\":\"kythe.io/proto/kythe.proto.JavaDetails\",\"classpath\":[\"!jar!\"],\"extraJavacopts\":[\"-g\"]}]");
	expect_details("{\"@type\":\"kythe.io/proto/kythe.proto.JavaDetails\"}",
		       "[{\"@type\":\"kythe.io/proto/kythe.proto.JavaDetails\"}]");
	expect_details(
		"{\"@type\":\"kythe.proto.BuildDetails\",\"build_target\":\"//a:b\",\"rule_type\":\"r\",\"build_config\":\"c\"}",
		"[{\"@type\":\"kythe.proto.BuildDetails\",\"buildTarget\":\"//a:b\",\"ruleType\":\"r\",\"buildConfig\":\"c\"}]");
	expect_details(
		"{\"@type\":\"x/kythe.proto.CxxCompilationUnitDetails\",\"header_search_info\":{\"first_angled_dir\":1,\"first_system_dir\":\"2\",\"dir\":[{\"path\":\"i\",\"characteristic_kind\":-1,\"is_framework\":true}]},\"system_header_prefix\":[{\"prefix\":\"p\",\"is_system_header\":true}]}",
		"[{\"@type\":\"x/kythe.proto.CxxCompilationUnitDetails\",\"headerSearchInfo\":{\"firstAngledDir\":1,\"firstSystemDir\":2,\"dir\":[{\"path\":\"i\",\"characteristicKind\":-1,\"isFramework\":true}]},\"systemHeaderPrefix\":[{\"prefix\":\"p\",\"isSystemHeader\":true}]}]");
	expect_details(
		"{\"@type\":\"type.googleapis.com/kythe.proto.ContextDependentVersion\",\"row\":[{\"source_context\":\"h\",\"column\":[{\"offset\":7,\"linked_context\":\"l\"}],\"always_process\":true}]}",
		"[{\"@type\":\"type.googleapis.com/kythe.proto.ContextDependentVersion\",\"row\":[{\"sourceContext\":\"h\",\"column\":[{\"offset\":7,\"linkedContext\":\"l\"}],\"alwaysProcess\":true}]}]");
	expect_details("{\"@type\":\"kythe.proto.JarDetails\",\"jar\":[{\"v_name\":{\"corpus\":\"c\"}}]}",
		       "[{\"@type\":\"kythe.proto.JarDetails\",\"jar\":[{\"vName\":{\"corpus\":\"c\"}}]}]");
}

/* 3.2: types that are not known are base64; JSON of them is kept as it is, but has no wire form
 * and no digest. */
static void test_unknown_details(void **state)
{
	MOR_CLEAN(mor_unit)
	struct mor_unit *unit =
		read_json("{\"unit\":{\"details\":[{\"@type\":\"x/team.Other\",\"deep\":{\"a\":[1]}}]}}");
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	mortise_error err = { 0 };
	char hex[65];

	(void)state;
	expect_details("{\"@type\":\"x/team.Other\",\"value\":\"AAH_\"}",
		       "[{\"@type\":\"x/team.Other\",\"value\":\"AAH/\"}]");
	assert_int_equal(mor_unit_write_json(unit, &out, &err), 0);
	mor_buf_byte(&out, '\0');
	assert_string_equal(out.data,
			    "{\"unit\":{\"details\":[{\"@type\":\"x/team.Other\",\"deep\":{\"a\":[1]}}]}}");
	assert_int_equal(mor_unit_write_wire(unit, &out, &err), MORTISE_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "x/team.Other"));
	assert_int_equal(mor_unit_digest(unit, hex, &err), MORTISE_EUNSUPPORTED);
}

/* A detail that claims a known type wrongly is shown as bytes. */
static void test_lying_details(void **state)
{
	static const char wire[] = "\x0a\x1e\x5a\x1c\x0a\x15kythe.proto.GoDetails\x12\x03\x0a\x05x";
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_writer w = { .out = &out };

	(void)state;
	assert_int_equal(mor_unit_read_wire((struct mor_slice){ wire, sizeof(wire) - 1 }, &unit, NULL), 0);
	mor_unit_details_json(unit, &w);
	mor_buf_byte(&out, '\0');
	assert_string_equal(out.data, "[{\"@type\":\"kythe.proto.GoDetails\",\"value\":\"CgV4\"}]");
}

/* Bytes of a known type that would not come back as they are stay bytes in an archive: the unit
 * keeps its digest. */
static void test_details_keep_their_bytes(void **state)
{
	static const struct mor_slice units[] = {
		MOR_SLICE("\x0a\x1e\x5a\x1c\x0a\x15kythe.proto.GoDetails\x12\x03\x0a\x05x"), /* cut short */
		/* a field that we do not know */
		MOR_SLICE("\x0a\x1e\x5a\x1c\x0a\x15kythe.proto.GoDetails\x12\x03\xfa\x01\x00"),
		/* another order */
		MOR_SLICE("\x0a\x21\x5a\x1f\x0a\x15kythe.proto.GoDetails\x12\x06\x12\x01z\x0a\x01y"),
		/* deep inside */
		MOR_SLICE("\x0a\x21\x5a\x1f\x0a\x16kythe.proto.JarDetails\x12\x05\x0a\x03\xfa\x01\x00"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL, *again = NULL;
		MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
		char one[65], two[65];

		assert_int_equal(mor_unit_read_wire(units[i], &unit, NULL), 0);
		assert_int_equal(mor_unit_write_json(unit, &json, NULL), 0);
		assert_int_equal(mor_unit_read_json(mor_buf_view(&json), &again, NULL), 0);
		assert_true(mor_slice_eq(unit->details[0].value, again->details[0].value));
		assert_int_equal(mor_unit_digest(unit, one, NULL), 0);
		assert_int_equal(mor_unit_digest(again, two, NULL), 0);
		assert_string_equal(one, two);
	}
}

static void expect_bad_wire(const char *bytes, size_t len, const char *text)
{
	struct mor_unit *unit = NULL;
	mortise_error err = { 0 };

	assert_int_equal(mor_unit_read_wire((struct mor_slice){ bytes, len }, &unit, &err), MORTISE_EINPUT);
	assert_string_equal(err.text, text);
}
#define BAD_WIRE(bytes, text) expect_bad_wire((bytes), sizeof(bytes) - 1, (text))

static void test_bad_wire(void **state)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;

	(void)state;
	BAD_WIRE("\x0a", "IndexedCompilation is not a protocol buffer, or it is cut short");
	BAD_WIRE("\x0a\x05\x3a", "IndexedCompilation is not a protocol buffer, or it is cut short");
	BAD_WIRE("\x0a\x03\x3a\x05x", "CompilationUnit is not a protocol buffer, or it is cut short");
	BAD_WIRE("\x0a\x05\x3a\x03"
		 "a\0b",
		 "CompilationUnit.output_key holds a NUL byte");
	BAD_WIRE("\x0a\x04\x3a\x02\xc3\x28", "CompilationUnit.output_key is not UTF-8");
	BAD_WIRE("\x08\x01", "IndexedCompilation.unit has the wrong wire type");
	BAD_WIRE("\x0b", "IndexedCompilation is not a protocol buffer, or it is cut short");
	/* Unknown fields are skipped, and our own field for JSON is nothing that others may set. */
	assert_int_equal(mor_unit_read_wire(MOR_SLICE("\x0a\x0a\x5a\x08\x0a\x01x\xa2\x06\x02no\x7a\x01y"),
					    &unit, NULL),
			 0);
	assert_null(unit->details[0].json.ptr);
	assert_non_null(unit->details[0].value.ptr);
}

/* A message in several pieces is all of them: lists go on, a later text wins. */
static void test_pieces(void **state)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;

	(void)state;
	assert_int_equal(mor_unit_read_wire(MOR_SLICE("\x0a\x0b\x0a\x06\x12\x01"
						      "c\x22\x01p\x2a\x01"
						      "a\x12\x03\x0a\x01r\x0a\x0e\x0a\x03\x12\x01"
						      "d\x2a\x01"
						      "b\x2a\x00\x3a\x02ok\x12\x03\x0a\x01s"),
					    &unit, NULL),
			 0);
	assert_string_equal(unit->vname.corpus, "d");
	assert_string_equal(unit->vname.path, "p");
	assert_int_equal(unit->argument_count, 3);
	assert_string_equal(unit->arguments[0], "a");
	assert_string_equal(unit->arguments[1], "b");
	assert_string_equal(unit->arguments[2], "");
	assert_string_equal(unit->output_key, "ok");
	assert_int_equal(unit->revision_count, 2);
	assert_string_equal(unit->revisions[1], "s");
}

/* The digest of a detail is over its bytes: those of JSON are in the order of the numbers, at any depth. */
static void test_detail_order(void **state)
{
	/* clang-format off */
	MOR_CLEAN(mor_unit) struct mor_unit *unit = read_json(
		"{\"unit\":{\"details\":[{\"row\":[{\"alwaysProcess\":true,\"column\":["
		"{\"linkedContext\":\"l\",\"offset\":1}],\"sourceContext\":\"s\"}],"
		"\"@type\":\"kythe.proto.ContextDependentVersion\"}]}}");
	/* clang-format on */

	(void)state;
	assert_true(mor_slice_eq(unit->details[0].value,
				 MOR_SLICE("\x0a\x0c\x0a\x01s\x12\x05\x08\x01\x12\x01l\x18\x01")));
}

static void test_environment(void **state)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = read_json(UNIT_FULL);
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_writer w = { .out = &out };

	(void)state;
	mor_unit_env_json(unit, &w);
	mor_buf_byte(&out, '\0');
	assert_string_equal(out.data,
			    "[{\"name\":\"PATH\",\"value\":\"/bin\"},{\"name\":\"EMPTY\",\"value\":\"\"}]");
	mor_buf_reset(&out, 0);
	w = (struct mor_writer){ .out = &out };
	mor_vname_json(&unit->vname, &w);
	mor_buf_byte(&out, '\0');
	assert_string_equal(
		out.data,
		"{\"signature\":\"s\",\"corpus\":\"c\",\"root\":\"r\",\"path\":\"p\",\"language\":\"c++\"}");
}

static void expect_reply(const char *json, const char *want)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = read_json(json);
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_writer w = { .out = &out };

	mor_unit_reply_json(unit, "/w", "/tmp/out", &w);
	mor_buf_byte(&out, '\0');
	assert_string_equal(out.data, want);
}

/* R25 and decisions 4 and 23 of docs/dialects/kythe.md: every member, `input` beside `inputs`; without sources
 * `inputs: []` and no `input`. */
static void test_reply(void **state)
{
	(void)state;
	expect_reply(
		UNIT_FULL,
		"{\"workingDir\":\"/w\",\"inputs\":[\"a.c\"],\"input\":\"a.c\",\"arguments\":[\"cc\",\"\",\"a.c\"],\"environment\":[{\"name\":\"PATH\",\"value\":\"/bin\"},{\"name\":\"EMPTY\",\"value\":\"\"}],\"output\":\"/tmp/out\",\"entryContext\":\"hash0\",\"outputKey\":\"a.o\",\"details\":[{\"@type\":\"kythe.io/proto/kythe.proto.BuildDetails\",\"buildTarget\":\"//a:b\"}]}");
	expect_reply(
		"{}",
		"{\"workingDir\":\"/w\",\"inputs\":[],\"arguments\":[],\"environment\":[],\"output\":\"/tmp/out\",\"entryContext\":\"\",\"outputKey\":\"\",\"details\":[]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_every_field),     MOR_TEST(test_empty),
		MOR_TEST(test_camel_case),      MOR_TEST(test_refused),
		MOR_TEST(test_double_encoded),  MOR_TEST(test_digest_of_real_units),
		MOR_TEST(test_digest_order),    MOR_TEST(test_known_details),
		MOR_TEST(test_unknown_details), MOR_TEST(test_lying_details),
		MOR_TEST(test_bad_wire),        MOR_TEST(test_environment),
		MOR_TEST(test_reply),           MOR_TEST(test_details_keep_their_bytes),
		MOR_TEST(test_pieces),          MOR_TEST(test_detail_order),
	};

	return mor_run_group("kythe/unit/unit", tests);
}
