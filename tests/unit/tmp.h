/* SPDX-License-Identifier: Apache-2.0 */
/* A test's own files lie in TMPDIR: the runner of the tests removes that, even where a test was ended. */
#ifndef TESTS_UNIT_TMP_H
#define TESTS_UNIT_TMP_H

#include <stdio.h>
#include <stdlib.h>

enum { TMP_ROOM = 128 };

/* For mkdtemp() and mkstemp(): TMPDIR/mortise-WORD-XXXXXX. Returns `to`, which has TMP_ROOM bytes. */
static inline char *tmp_name(char *to, const char *word)
{
	const char *parent = getenv("TMPDIR");

	snprintf(to, TMP_ROOM, "%s/mortise-%s-XXXXXX", parent && *parent ? parent : "/tmp", word);
	return to;
}

#endif
