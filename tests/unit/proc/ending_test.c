/* SPDX-License-Identifier: Apache-2.0 */
/* How a process ended, in words. */
#include "leak.h"

#include <signal.h>

#include "proc/inside.h"

static void test_exit_texts(void **state)
{
	static const struct {
		struct mor_child_exit how;
		const char *text;
	} table[] = {
		{ { .known = true, .status = 3 }, "exited with status 3" },
		{ { .known = true, .status = 139 }, "exited with status 139 (a shell's word for SIGSEGV)" },
		{ { .known = true, .status = 130 }, "exited with status 130" },
		{ { .known = true, .status = 255 }, "exited with status 255" },
		{ { .known = true, .status = SIGSEGV, .by_signal = true, .core = true },
		  "killed by SIGSEGV (core dumped)" },
		{ { .known = true, .status = SIGKILL, .by_signal = true }, "killed by SIGKILL" },
		{ { .known = true, .status = 63, .by_signal = true }, "killed by signal 63" },
		{ { .known = false }, "ended, status unknown" },
	};
	char text[96];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		mor_exit_text(&table[i].how, text, sizeof(text));
		assert_string_equal(text, table[i].text);
	}
}

static void test_loader_complaints(void **state)
{
	static const struct {
		const char *line, *text;
	} table[] = {
		{ "x: /lib/libc.so.6: version `GLIBC_2.99' not found (required by x)",
		  "a library here is too old: it lacks version GLIBC_2.99" },
		{ "x: symbol lookup error: x: undefined symbol: frob",
		  "a library here does not fit: it lacks frob" },
		{ "Error loading shared library libz.so.1: No such file or directory (needed by x)",
		  "the shared library libz.so.1 is missing or unusable" },
		{ "ImportError: numpy", NULL },
		{ "", NULL },
	};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(mor_loader_complaint(table[i].line, text, sizeof(text)),
				 table[i].text != NULL);
		if (table[i].text)
			assert_string_equal(text, table[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_exit_texts),
		MOR_TEST(test_loader_complaints),
	};

	return mor_run_group("proc/ending", tests);
}
