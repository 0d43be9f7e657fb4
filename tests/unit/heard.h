/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A console whose results and notes a test reads: HEARD_TEST(fn) instead of MOR_TEST(fn). stdout is the
 * console's alone, so that TAP stays whole; stderr is everybody's.
 */
#ifndef TESTS_UNIT_HEARD_H
#define TESTS_UNIT_HEARD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/console.h"
#include "leak.h"

static struct mor_console console;

static struct heard {
	FILE *file;
	char *text;
	size_t len, seen;
} heard_results, heard_notes;
static FILE *heard_real_stderr;

static inline int heard_open(struct heard *heard)
{
	*heard = (struct heard){ 0 };
	heard->file = open_memstream(&heard->text, &heard->len);
	return heard->file ? 0 : -1;
}

static inline int heard_begin(void **state)
{
	if (leak_setup(state) < 0 || heard_open(&heard_results) < 0 || heard_open(&heard_notes) < 0)
		return -1;
	console = (struct mor_console){ .out = heard_results.file, .file = MOR_OUTFILE_INIT };
	heard_real_stderr = stderr;
	stderr = heard_notes.file;
	return 0;
}

static inline int heard_end(void **state)
{
	stderr = heard_real_stderr;
	mor_text_list_free_texts(&console.warned);
	fclose(heard_results.file);
	fclose(heard_notes.file);
	free(heard_results.text);
	free(heard_notes.text);
	return leak_teardown(state);
}

/* What is new since the last call. Good until something is written. */
static inline const char *heard_new(struct heard *heard)
{
	size_t from = heard->seen;

	fflush(heard->file);
	heard->seen = heard->len;
	return heard->text + from;
}

static inline const char *heard_out(void)
{
	return heard_new(&heard_results);
}

static inline const char *heard_err(void)
{
	return heard_new(&heard_notes);
}

#define HEARD_TEST(fn) cmocka_unit_test_setup_teardown(fn, heard_begin, heard_end)

#endif
