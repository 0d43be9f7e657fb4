/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of the test's own, and names below it. */
#ifndef TESTS_UNIT_TOP_H
#define TESTS_UNIT_TOP_H

#include <stdio.h>
#include <stdlib.h>

#include "tmp.h"

static char top[TMP_ROOM];

/* Good until the fourth call after it. */
static inline const char *at(const char *name)
{
	static char names[4][TMP_ROOM + 256];
	static unsigned turn;
	char *path = names[turn++ % 4];

	snprintf(path, sizeof(names[0]), "%s/%s", top, name);
	return path;
}

/* As tmp_name() says. */
static inline int top_make(const char *word)
{
	tmp_name(top, word);
	return mkdtemp(top) ? 0 : -1;
}

static inline int top_drop(void **state)
{
	char command[256];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command);
}

#endif
