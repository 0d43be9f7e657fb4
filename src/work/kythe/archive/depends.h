/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the files that a compilation reads, by asking the compiler with `-M`. This part handles only text:
 * it reads command lines, makes the command that asks, and reads the make rule that answers.
 */
#ifndef MOR_KYTHE_ARCHIVE_DEPENDS_H
#define MOR_KYTHE_ARCHIVE_DEPENDS_H

#include <stddef.h>

#include <mortise/mortise.h>

#include "base/slice.h"

struct mor_strings {
	char **item; /* NULL-terminated if not empty */
	size_t count, room;
};
int mor_strings_add(struct mor_strings *strings, struct mor_slice text); /* 0 or MORTISE_ENOMEM */
void mor_strings_fini(struct mor_strings *strings);

/* The words of a command line as a POSIX shell splits them: quotes and backslashes, no expansion.
 * MORTISE_EINPUT for a quote that is not closed. */
int mor_shell_split(struct mor_slice command, struct mor_strings *ret, mortise_error *err);

/* How many words come before the compiler: ccache and similar programs. */
size_t mor_launcher_words(const char *const *arguments, size_t count);
/* The output file of the command (-o), or "". */
const char *mor_compile_output(const char *const *arguments, size_t count);
/* The same compilation, but it prints its dependencies as a make rule on stdout and writes nothing. */
int mor_depends_command(const char *const *arguments, size_t count, struct mor_strings *ret);
/* The files in that rule, in its order and spelling. The main source is the first. MORTISE_EINPUT if it is
 * not such a rule. */
int mor_depends_parse(struct mor_slice rule, struct mor_strings *ret, mortise_error *err);

/* "c++" for sources of C compilers (Kythe has one name for both), "go", "java", ...; NULL: not known from
 * the name. */
const char *mor_language_of(const char *path);

#endif
