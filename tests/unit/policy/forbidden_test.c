/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what is forbidden: complete, consistent, and what the guide shows. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "leak.h"
#include "policy/forbidden.h"

static void test_rows(void **state)
{
	(void)state;
	for (int i = 0; i < MOR_FORBIDDEN_COUNT; i++) {
		const struct mor_forbidden_row *row = &mor_forbidden_rows[i];

		assert_non_null(row->name);
		assert_non_null(row->what);
		assert_non_null(row->rule);
		/* a record carries it */
		assert_true(strlen(row->rule) < sizeof(((struct mor_record *)NULL)->rule));
		/* what is only refused by `kill` must not kill with `deny` */
		assert_true(!row->kill || row->deny);
		for (int j = 0; j < i; j++)
			assert_string_not_equal(row->name, mor_forbidden_rows[j].name);
	}
}

/* The promises of the two modes that do not depend on the table's own words. */
static void test_modes(void **state)
{
	static const enum mor_forbidden always[] = { MOR_FORBID_INSPECT, MOR_FORBID_MOUNT, MOR_FORBID_KEYS,
						     MOR_FORBID_KERNEL, MOR_FORBID_SIGNAL };
	static const enum mor_forbidden never[] = { MOR_FORBID_TRACE, MOR_FORBID_RAW };

	(void)state;
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++) {
		assert_int_equal(mor_forbidden_error(always[i], true), 0);
		assert_int_equal(mor_forbidden_error(always[i], false), 0);
	}
	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++) {
		assert_int_equal(mor_forbidden_error(never[i], true), EPERM);
		assert_int_equal(mor_forbidden_error(never[i], false), EPERM);
	}
	assert_int_equal(mor_forbidden_error(MOR_FORBID_READ, true), EACCES);
	assert_int_equal(mor_forbidden_error(MOR_FORBID_READ, false), 0);
}

static const char *answer_of(int error)
{
	return error ? strerrorname_np(error) : "killed";
}

/* docs/guide/sandbox.md has exactly these lines, in this order. */
static void test_guide(void **state)
{
	struct mor_buf table = MOR_BUF_INIT, guide = MOR_BUF_INIT;
	char line[4096], *shown, *whole;
	FILE *file;

	(void)state;
	snprintf(line, sizeof(line), "%s/docs/guide/sandbox.md", getenv("MORTISE_SOURCE"));
	file = fopen(line, "r");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file))
		mor_buf_text(&guide, line);
	fclose(file);
	mor_buf_text(&table, "| kind | what | `deny` | `kill` |\n|---|---|---|---|\n");
	for (int i = 0; i < MOR_FORBIDDEN_COUNT; i++) {
		const struct mor_forbidden_row *row = &mor_forbidden_rows[i];

		mor_buf_printf(&table, "| `%s` | %s | %s | %s |\n", row->name, row->what, answer_of(row->deny),
			       answer_of(row->kill));
	}
	mor_buf_text(&table, "\n");
	shown = mor_buf_detach(&table);
	whole = mor_buf_detach(&guide);
	if (!strstr(whole, shown))
		fail_msg("docs/guide/sandbox.md must have this table:\n%s", shown);
	mor_free(shown);
	mor_free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_rows), MOR_TEST(test_modes), MOR_TEST(test_guide) };

	return mor_run_group("policy/forbidden", tests);
}
