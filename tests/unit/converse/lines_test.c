/* SPDX-License-Identifier: Apache-2.0 */
/* Lines from a file: where they end, and how long they may be. */
#include "heard.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "converse/lines.h"
#include "typed.h"

static const struct mor_plugin_args plugin_args;
static struct mor_runner runner;
static mortise_error err;

/* The lines with a bar behind each; "!" where a line was too long. */
static const char *read_all(const char *bytes, size_t len)
{
	static char text[400];
	struct mor_converse_lines *lines = mor_converse_lines_new(&runner);
	enum mor_converse_line kind = MOR_CONVERSE_LINE_READ;
	const char *line = NULL;
	size_t used = 0;

	assert_non_null(lines);
	assert_false(mor_converse_lines_terminal(lines));
	text[0] = '\0';
	typed_bytes(bytes, len);
	while (used < 300) {
		if (mor_converse_lines_next(lines, "> ", &kind, &line, &err) < 0) {
			assert_int_equal(err.code, MORTISE_EINPUT);
			assert_string_equal(err.text, "stdin: a line is longer than 1 MiB");
			used += (size_t)snprintf(text + used, sizeof(text) - used, "!");
			break;
		}
		if (kind == MOR_CONVERSE_LINE_END)
			break;
		assert_int_equal(kind, MOR_CONVERSE_LINE_READ);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%.20s|", line);
	}
	typed_end();
	mor_converse_lines_free(lines);
	return text;
}

static void test_ends_of_lines(void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },       { "a\nb\n", "a|b|" },   { "a\nb", "a|b|" },
		{ "\n\n", "||" }, { "a\r\nb\r", "a|b|" }, { "a\rb\n", "a\rb|" },
		{ "\r\n", "|" },  { "a\n\n", "a||" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(read_all(rows[i][0], strlen(rows[i][0])), rows[i][1]);
}

/* Over many reads, and over its limit. */
static void test_long_lines(void **state)
{
	size_t size = 3 << 20;
	char *bytes = malloc(size);

	(void)state;
	memset(bytes, 'x', size);
	memcpy(bytes + 1000000, "\nnext\n", 6);
	assert_string_equal(read_all(bytes, 1000006), "xxxxxxxxxxxxxxxxxxxx|next|");
	assert_string_equal(read_all(bytes, size), "xxxxxxxxxxxxxxxxxxxx|next|!");
	free(bytes);
}

static void test_no_memory(void **state)
{
	struct mor_converse_lines *lines;
	enum mor_converse_line kind;
	const char *line;

	(void)state;
	mor_alloc_fail_after(0);
	lines = mor_converse_lines_new(&runner);
	mor_alloc_fail_after(-1);
	assert_null(lines);
	lines = mor_converse_lines_new(&runner);
	typed_begin("a\n");
	mor_alloc_fail_after(0);
	assert_int_equal(mor_converse_lines_next(lines, "", &kind, &line, &err), MORTISE_ENOMEM);
	mor_alloc_fail_after(-1);
	typed_end();
	mor_converse_lines_free(lines);
}

static int begin(void **state)
{
	return heard_begin(state) < 0 ? -1 : mor_runner_open(&runner, &console, &plugin_args, NULL, &err);
}

static int end(void **state)
{
	mor_runner_close(&runner);
	return heard_end(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_ends_of_lines, begin, end),
		cmocka_unit_test_setup_teardown(test_long_lines, begin, end),
		cmocka_unit_test_setup_teardown(test_no_memory, begin, end),
	};

	return mor_run_group("converse/lines", tests);
}
