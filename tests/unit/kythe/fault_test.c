/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation failed in turn: an error, nothing leaked (ASan looks), and the same result once
 * memory is back. */
#include "leak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "kythe/archive/depends.h"
#include "kythe/archive/kzip.h"
#include "kythe/archive/vnames.h"
#include "kythe/bytes.h"
#include "kythe/entries/entries.h"
#include "kythe/unit/units.h"
#include "tmp.h"

#define MANY 20000

/* Runs `piece` with 0, 1, 2, ... allocations until it succeeds. */
static void starve(int (*piece)(void))
{
	int r = MORTISE_ENOMEM;

	for (long n = 0; n < MANY && r != 0; n++) {
		mor_alloc_fail_after(n);
		r = piece();
		mor_alloc_fail_after(-1);
		assert_true(r <= 0);
	}
	assert_int_equal(r, 0);
}

static int unit_piece(void)
{
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL, *again = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf wire = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	mortise_error err = { 0 };
	char hex[65];
	int r = mor_unit_read_json(MOR_SLICE(UNIT_FULL), &unit, &err);

	if (r == 0)
		r = mor_unit_digest(unit, hex, &err);
	if (r == 0)
		r = mor_unit_write_wire(unit, &wire, &err);
	if (r == 0)
		r = mor_unit_read_wire(mor_buf_view(&wire), &again, &err);
	if (r == 0)
		r = mor_unit_write_json(again, &json, &err);
	if (r < 0)
		return r;
	mor_buf_reset(&json, 0);
	mor_unit_details_json(again, &w);
	return json.status;
}

static void test_unit(void **state)
{
	(void)state;
	starve(unit_piece);
}

static int names_piece(void)
{
	static const char rules_json[] =
		"[{\"pattern\":\"(?P<a>x)(y)?\",\"vname\":{\"corpus\":\"@a@\",\"path\":\"@1@@2@\"}}]";
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	MOR_CLEAN(mor_vname_rules) struct mor_vname_rules *rules = NULL;
	MOR_CLEAN(mor_namer) struct mor_namer *namer = NULL;
	MOR_CLEAN(mor_vname_own) struct mor_vname_own one = { 0 }, two = { 0 };
	mortise_error err = { 0 };
	int r = mor_unit_read_json(MOR_SLICE(UNIT_FULL), &unit, &err);

	if (r == 0)
		r = mor_vname_rules_parse("r", MOR_SLICE(rules_json), &rules, &err);
	if (r == 0)
		r = mor_namer_new(unit, NULL, rules, &namer, &err);
	if (r == 0)
		r = mor_namer_ask(namer, "a.c", "", &one, &err);
	if (r == 0)
		r = mor_namer_ask(namer, "xy", "s", &two, &err);
	if (r == 0)
		assert_string_equal(two.vname.path, "xy");
	return r;
}

static void test_names(void **state)
{
	(void)state;
	starve(names_piece);
}

static ssize_t read_all_at_once(void *arg, void *buffer, size_t len)
{
	struct mor_slice *left = arg;
	size_t n = left->len < len ? left->len : len;

	memcpy(buffer, left->ptr, n);
	left->ptr += n;
	left->len -= n;
	return (ssize_t)n;
}

static int collect(const void *bytes, size_t len, void *arg)
{
	return mor_buf_append(arg, bytes, len);
}

static int entries_piece(void)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_slice text =
		MOR_SLICE("{\"source\":{\"path\":\"p\"},\"fact_name\":\"/f\",\"fact_value\":\"AAAA\"}\n");
	struct mor_entries entries = {
		.records = { .read = read_all_at_once, .arg = &text, .format = MOR_STREAM_LINES }
	};
	mortise_error err = { 0 };
	int r = mor_entries_convert(&entries, MOR_STREAM_JSON, collect, &out, NULL, &err);

	mor_entries_fini(&entries);
	return r;
}

static void test_entries(void **state)
{
	(void)state;
	starve(entries_piece);
}

static int depends_piece(void)
{
	MOR_CLEAN(mor_strings) struct mor_strings words = { 0 };
	MOR_CLEAN(mor_strings) struct mor_strings command = { 0 };
	MOR_CLEAN(mor_strings) struct mor_strings files = { 0 };
	mortise_error err = { 0 };
	int r = mor_shell_split(MOR_SLICE("cc -c 'a b.c' -o x"), &words, &err);

	if (r == 0)
		r = mor_depends_command((const char *const *)words.item, words.count, &command);
	if (r == 0)
		r = mor_depends_parse(MOR_SLICE("mortise: a\\ b.c x.h"), &files, &err);
	return r;
}

static void test_depends(void **state)
{
	(void)state;
	starve(depends_piece);
}

static char dir[TMP_ROOM];
static char path[256];

static int kzip_piece(void)
{
	MOR_CLEAN(mor_kzip_writer) struct mor_kzip_writer *writer = NULL, *second = NULL;
	MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf content = MOR_BUF_INIT;
	mortise_error err = { 0 };
	char digest[65];
	int r = mor_unit_read_json(MOR_SLICE(UNIT_FOO), &unit, &err);

	if (r == 0)
		r = mor_kzip_writer_new(path, MOR_KZIP_ALL, &writer, &err);
	if (r == 0)
		r = bytes_into(writer, MOR_SLICE("hello"), digest, &err);
	if (r == 0)
		r = mor_kzip_writer_add_unit(writer, unit, NULL, NULL, &err);
	if (r == 0)
		r = mor_kzip_writer_finish(writer, &err);
	if (r == 0)
		r = mor_kzip_open(path, NULL, &kzip, &err);
	if (r == 0)
		r = bytes_of(kzip, digest, &content, &err);
	if (r == 0)
		r = mor_kzip_writer_new(path, MOR_KZIP_JSON, &second, &err);
	if (r == 0)
		r = mor_kzip_writer_add_kzip(second, kzip, &err);
	return r;
}

static void test_kzip(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(tmp_name(dir, "kzip-fault")));
	snprintf(path, sizeof(path), "%s/x.kzip", dir);
	starve(kzip_piece);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_unit),    MOR_TEST(test_names), MOR_TEST(test_entries),
		MOR_TEST(test_depends), MOR_TEST(test_kzip),
	};

	return mor_run_group("kythe/fault", tests);
}
