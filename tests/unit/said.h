/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A console that writes into memory: what a command would print on stdout and stderr, as two texts. Between
 * said_begin() and said_end() stderr is ours, so assert after said_end().
 */
#ifndef TESTS_UNIT_SAID_H
#define TESTS_UNIT_SAID_H

#include <stdio.h>
#include <stdlib.h>

#include "console/console.h"

struct said {
	struct mor_console console;
	char *out, *err; /* after said_end() */
	size_t out_len, err_len;
	FILE *real;
};

static inline void said_forget(struct said *said)
{
	free(said->out);
	free(said->err);
	said->out = said->err = NULL;
}

static inline void said_begin(struct said *said)
{
	said_forget(said);
	said->real = stderr;
	said->console.out = open_memstream(&said->out, &said->out_len);
	stderr = open_memstream(&said->err, &said->err_len);
	if (!said->console.out || !stderr)
		abort();
}

static inline void said_end(struct said *said)
{
	fclose(stderr);
	stderr = said->real;
	fclose(said->console.out);
	said->console.out = NULL;
}

#endif
