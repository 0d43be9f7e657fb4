/* SPDX-License-Identifier: Apache-2.0 */
/* The tables against the specifications: numbers and defaults that a slip of the finger must not change. */
#include <string.h>

#include "dialect/dialect.h"
#include "json_of.h"

static const struct mor_method *row(const char *name)
{
	return mor_dialect_method(mor_dialect_find("yams"), MOR_FROM_HOST, mor_slice_of(name));
}

static void test_yams_times(void **state)
{
	static const struct {
		const char *name;
		uint32_t timeout_ms;
	} cases[] = {
		{ "handshake.manifest", 10000 },  { "plugin.init", 30000 },
		{ "plugin.health", 5000 },        { "plugin.shutdown", 5000 },
		{ "extractor.supports", 30000 },  { "extractor.extract", 30000 },
		{ "ghidra.getEntities", 900000 }, { "anything.else", 30000 },
	};
	const struct mor_dialect *yams = mor_dialect_find("yams");

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(mor_timing_of(row(cases[i].name))->timeout_ms, cases[i].timeout_ms);
	for (const struct mor_method *m = NULL;
	     (m = mor_dialect_role(yams, MOR_FROM_HOST, MOR_ROLE_CALL, m));) {
		assert_int_equal(mor_timing_of(m)->late_ms, 5000);
		assert_int_equal(mor_timing_of(m)->late, MOR_LATE_DROP);
	}
	assert_int_equal(yams->life.stop.term_ms, 5000);
	assert_true(yams->life.stop.bye_ms + 1000 <= yams->life.stop.term_ms);
	assert_int_equal(yams->health->every_ms, 30000);
	assert_int_equal(yams->life.max_in_flight, 1);
	assert_int_equal(yams->link.frame_limit, 256 * 1024 * 1024);
}

static void test_yams_needs(void **state)
{
	(void)state;
	assert_string_equal(row("extractor.extract")->needs, "content_extractor_v1");
	assert_string_equal(row("extractor.supports")->needs, "content_extractor_v1");
	assert_string_equal(row("ghidra.getEntities")->needs, "kg_entity_provider_v1");
	assert_null(row("ghidra.analyze")->needs);
	assert_true(row("plugin.init")->flags & MOR_M_OPTIONAL);
	assert_false(row("handshake.manifest")->flags & (MOR_M_OPTIONAL | MOR_M_TOLERANT));
	assert_string_equal(mor_outcome_of(row("extractor.extract"))->ok, "/success");
	assert_string_equal(mor_outcome_of(row("extractor.extract"))->why, "/error");
}

static const struct mor_field *field(const struct mor_field *fields, const char *name)
{
	for (; fields->name; fields++)
		if (strcmp(fields->name, name) == 0)
			return fields;
	fail_msg("no field %s", name);
	return NULL;
}

static void test_yams_defaults(void **state)
{
	static const struct {
		const char *name, *def;
	} cases[] = {
		{ "max_functions", "100" },
		{ "decompile", "true" },
		{ "include_metadata", "true" },
		{ "timeout_sec", "10" },
	};
	const struct mor_field *options = field(row("extractor.extract")->params, "options")->fields;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_string_equal(field(options, cases[i].name)->def, cases[i].def);
	assert_string_equal(field(row("extractor.supports")->result, "confidence")->def, "1.0");
}

static void test_yams_codes(void **state)
{
	static const int64_t codes[] = {
		-32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32003
	};
	size_t count = 0;

	(void)state;
	for (const struct mor_code *c = mor_dialect_find("yams")->codes; c->name; c++, count++)
		assert_int_equal(c->code, codes[count]);
	assert_int_equal(count, sizeof(codes) / sizeof(*codes));
}

static const struct mor_method *ayiou_row(enum mor_role role, const char *name)
{
	const struct mor_method *m = NULL;

	while ((m = mor_dialect_role(mor_dialect_find("ayiou"), MOR_FROM_HOST, role, m)) &&
	       strcmp(m->name, name) != 0)
		;
	assert_non_null(m);
	return m;
}

static void test_ayiou_times(void **state)
{
	const struct mor_dialect *ayiou = mor_dialect_find("ayiou");

	(void)state;
	assert_int_equal(mor_timing_of(ayiou_row(MOR_ROLE_HELLO, "metadata"))->timeout_ms, 5000);
	assert_int_equal(mor_timing_of(ayiou_row(MOR_ROLE_INIT, "lifecycle"))->timeout_ms, 30000);
	assert_int_equal(mor_timing_of(ayiou_row(MOR_ROLE_CALL, "lifecycle"))->timeout_ms, 30000);
	assert_int_equal(mor_timing_of(ayiou_row(MOR_ROLE_CALL, "matches"))->timeout_ms, 2000);
	assert_int_equal(mor_timing_of(ayiou_row(MOR_ROLE_CALL, "handle"))->timeout_ms, 30000);
	for (const struct mor_method *m = NULL; (m = mor_dialect_role(ayiou, MOR_FROM_HOST, MOR_ROLE_CALL, m));)
		assert_int_equal(mor_timing_of(m)->late_ms, 30000);
	assert_int_equal(ayiou->life.max_in_flight, 1);
	assert_int_equal(ayiou->life.max_waiting, 1024);
	assert_int_equal(ayiou->link.frame_limit, 16 * 1024 * 1024);
	assert_int_equal(ayiou->life.restart.intensity, 3);
	assert_int_equal(ayiou->life.restart.period_ms, 20000);
	assert_int_equal(ayiou->life.stop.bye_ms, 5000);
	assert_int_equal(ayiou->life.stop.term_ms, 6000);
	assert_int_equal(ayiou->life.stop.kill_ms, 2000);
}

static void test_ayiou_defaults(void **state)
{
	const struct mor_field *metadata = ayiou_row(MOR_ROLE_HELLO, "metadata")->result;
	const struct mor_field *handle = ayiou_row(MOR_ROLE_CALL, "handle")->result;

	(void)state;
	assert_string_equal(field(metadata, "commands")->def, "[]");
	assert_string_equal(field(field(metadata, "commands")->fields, "aliases")->def, "[]");
	assert_string_equal(field(metadata, "results")->def, "false");
	assert_string_equal(field(handle, "block")->def, "false");
	assert_string_equal(field(handle, "actions")->def, "[]");
	assert_true(field(metadata, "author")->type & MOR_T_NULL);
	assert_true(field(handle, "reply")->type & MOR_T_NULL);
}

static void assert_standard_codes(const char *dialect)
{
	static const struct {
		int64_t code;
		const char *name;
	} codes[] = {
		{ -32700, "Parse error" },    { -32600, "Invalid Request" }, { -32601, "Method not found" },
		{ -32602, "Invalid params" }, { -32603, "Internal error" },
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		assert_string_equal(mor_dialect_code_name(mor_dialect_find(dialect), codes[i].code),
				    codes[i].name);
}

static void test_ayiou_codes(void **state)
{
	(void)state;
	assert_standard_codes("ayiou");
}

static void test_plain(void **state)
{
	const struct mor_dialect *plain = mor_dialect_find("plain");

	(void)state;
	assert_int_equal(plain->life.max_in_flight, 0);
	assert_int_equal(plain->link.framing, MOR_FRAMING_LINES);
	assert_int_equal(plain->link.queue_limit, 64 * 1024 * 1024);
	assert_true(plain->link.frame_limit > 64 * 1024 * 1024 + 4096);
	assert_int_equal(plain->life.stop.bye_ms, 0);
	assert_int_equal(plain->life.stop.term_ms, 2000);
	assert_int_equal(plain->life.restart.first_ms, 100);
	assert_int_equal(plain->life.restart.cap_ms, 10000);
	assert_int_equal(plain->life.restart.intensity, 5);
	assert_int_equal(plain->life.restart.period_ms, 60000);
	assert_standard_codes("plain");
}

static void test_kythe(void **state)
{
	static const struct mor_code codes[] = {
		{ -1, "ProtocolError", NULL, 0 },       { -32700, "Parse error", NULL, 0 },
		{ -32600, "Invalid Request", NULL, 0 }, { -32601, "Method not found", NULL, 0 },
		{ -32602, "Invalid params", NULL, 0 },  { -32603, "Internal error", NULL, 0 }
	};
	const struct mor_dialect *kythe = mor_dialect_find("kythe");

	(void)state;
	assert_int_equal(kythe->link.framing, MOR_FRAMING_DECIMAL);
	assert_int_equal(kythe->link.frame_limit, 256 * 1024 * 1024);
	/* R13 of docs/dialects/kythe.md */
	assert_true(kythe->life.stop.hold && kythe->life.stop.term_ms == 10000);
	assert_int_equal(kythe->life.restart.clean, 5); /* decision 17 */
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
		assert_string_equal(mor_dialect_code_name(kythe, codes[i].code), codes[i].name);
	assert_int_equal(mor_dialect_code_for(kythe, MORTISE_EPROTO, 0), -1);
	for (const struct mor_method *m = kythe->methods; m->name; m++)
		assert_int_equal(m->from, MOR_FROM_PLUGIN); /* R9 */
}

/* Every default and every template is JSON, every pointer one, every row has a text. */
static void check_fields(const struct mor_field *fields)
{
	for (; fields && fields->name; fields++) {
		if (fields->def)
			mor_doc_free(json_of(fields->def));
		assert_true(fields->type != 0);
		if (fields->when)
			assert_non_null(strchr(fields->when, '='));
		check_fields(fields->fields);
	}
}

static void check_pointer(const char *pointer)
{
	assert_true(!pointer || *pointer == '/' || *pointer == '!');
}

/* The tables of the G-Assist specification: Timeouts, Error Codes; and our limits. */
static void test_gassist_limits(void **state)
{
	const struct mor_dialect *d = mor_dialect_find("gassist");

	(void)state;
	assert_int_equal(d->link.frame_limit, 64 * 1024 * 1024);
	assert_int_equal(d->link.send_limit, 10 * 1024 * 1024);
	assert_int_equal(d->conversation->total_ms, 5 * 60 * 1000);
	assert_int_equal(d->watchdog->every_ms, 2000);
	assert_int_equal(d->watchdog->misses, 2);
	assert_int_equal(mor_timing_of(mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_PING, NULL))->timeout_ms,
			 1000);
	assert_int_equal(mor_timing_of(mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_INPUT, NULL))->ack_ms, 2000);
	assert_int_equal(mor_timing_of(mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_INPUT, NULL))->timeout_ms,
			 30000);
	assert_int_equal(mor_timing_of(mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_CALL, NULL))->timeout_ms,
			 30000);
	assert_int_equal(mor_timing_of(mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_CALL, NULL))->late,
			 MOR_LATE_KILL);
	assert_int_equal(mor_dialect_code_for(d, MORTISE_ETIMEOUT, 0), -2);
	assert_string_equal(mor_dialect_code_name(d, -3), "Rate limited");
}

static void test_sane(void **state)
{
	(void)state;
	for (size_t i = 0; mor_dialects()[i]; i++) {
		const struct mor_dialect *d = mor_dialects()[i];

		assert_true(d->title && d->doc && d->example && d->spec_url);
		assert_true(d->life.stop.bye_ms <= d->life.stop.term_ms);
		if (d->serve)
			assert_int_equal(mor_dialect_role(d, MOR_FROM_PLUGIN, MOR_ROLE_HELLO, NULL)->from,
					 MOR_FROM_PLUGIN);
		check_pointer(d->recoverable);
		check_pointer(d->offer ? d->offer->interfaces : NULL);
		check_pointer(d->health ? d->health->at : NULL);
		for (const struct mor_method *m = d->methods; m->name; m++) {
			assert_non_null(m->doc);
			check_fields(m->params);
			check_fields(m->result);
			check_pointer(mor_outcome_of(m)->ref);
			check_pointer(mor_outcome_of(m)->data);
			check_pointer(mor_outcome_of(m)->ok);
			check_pointer(mor_outcome_of(m)->why);
		}
		for (const struct mor_quirk *q = d->quirks; q && q->name; q++)
			assert_non_null(q->doc);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_yams_times),     MOR_TEST(test_yams_needs),  MOR_TEST(test_yams_defaults),
		MOR_TEST(test_yams_codes),     MOR_TEST(test_ayiou_times), MOR_TEST(test_ayiou_defaults),
		MOR_TEST(test_ayiou_codes),    MOR_TEST(test_plain),       MOR_TEST(test_kythe),
		MOR_TEST(test_gassist_limits), MOR_TEST(test_sane),
	};

	return mor_run_group("dialect/table", tests);
}
