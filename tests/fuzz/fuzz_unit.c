/* SPDX-License-Identifier: Apache-2.0 */
/* Units. Byte 0: 'j', the rest is JSON; else it is wire. What is read can be written in both forms, reads back
 * as the same, and has one digest whatever way it went. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "kythe/archive/depends.h"
#include "kythe/unit/unit.h"
#include "wire/envelope.h"

static void check_same(const struct mor_unit *unit, const char *json, const char *digest)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	char hex[65];

	CHECK(mor_unit_write_json(unit, &text, NULL) == 0);
	mor_buf_byte(&text, '\0');
	CHECK(strcmp(text.data, json) == 0);
	if (digest) {
		CHECK(mor_unit_digest(unit, hex, NULL) == 0);
		CHECK(strcmp(hex, digest) == 0);
	}
}

static void check_replies(const struct mor_unit *unit)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_writer w = { .out = &out };

	mor_w_array(&w);
	mor_unit_env_json(unit, &w);
	mor_unit_details_json(unit, &w);
	mor_vname_json(&unit->vname, &w);
	for (size_t i = 0; i < unit->input_count; i++)
		for (size_t d = 0; d < unit->inputs[i].detail_count; d++)
			mor_any_json(&unit->inputs[i].details[d], &w);
	mor_w_end(&w);
	CHECK(mor_json_valid(mor_buf_view(&out), 0, 0, NULL));
}

static void check_unit(const struct mor_unit *unit)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf wire = MOR_BUF_INIT;
	MOR_CLEAN(mor_unit) struct mor_unit *from_text = NULL, *from_wire = NULL;
	mortise_error err = { 0 };
	char hex[65];
	bool has_digest = mor_unit_digest(unit, hex, &err) == 0;
	int r = mor_unit_write_wire(unit, &wire, &err);

	CHECK(mor_unit_write_json(unit, &text, &err) == 0);
	CHECK(mor_unit_read_json(mor_buf_view(&text), &from_text, &err) == 0);
	mor_buf_byte(&text, '\0');
	check_same(from_text, text.data, has_digest ? hex : NULL);
	CHECK(r == 0 || r == MORTISE_EUNSUPPORTED);
	if (r == 0) {
		CHECK(mor_unit_read_wire(mor_buf_view(&wire), &from_wire, &err) == 0);
		check_same(from_wire, text.data, has_digest ? hex : NULL);
	}
	check_replies(unit);
	CHECK(mor_unit_title(unit));
}

/* The texts of compilers ride along: they are as foreign. */
static void check_texts(struct mor_slice text)
{
	MOR_CLEAN(mor_strings) struct mor_strings words = { 0 };
	MOR_CLEAN(mor_strings) struct mor_strings command = { 0 };
	MOR_CLEAN(mor_strings) struct mor_strings files = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf rule = MOR_BUF_INIT;

	if (mor_shell_split(text, &words, NULL) == 0 && words.count)
		CHECK(mor_depends_command((const char *const *)words.item, words.count, &command) == 0);
	mor_buf_text(&rule, "mortise:");
	mor_buf_slice(&rule, text);
	if (mor_depends_parse(mor_buf_view(&rule), &files, NULL) == 0)
		CHECK(files.count && files.item[0][0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	mortise_error err = { 0 };
	struct mor_slice rest = { (const char *)data + 1, size - 1 };
	int r;

	if (size < 1)
		return 0;
	check_texts(rest);
	r = data[0] == 'j' ? mor_unit_read_json(rest, &unit, &err) : mor_unit_read_wire(rest, &unit, &err);
	CHECK(r == 0 || (r == MORTISE_EINPUT && err.text[0]));
	if (r == 0)
		check_unit(unit);
	return 0;
}
