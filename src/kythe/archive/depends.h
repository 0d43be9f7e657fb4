/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files a compilation reads: by the compiler's own word, `-M`. This is the part that is text only: command lines in,
 * the command that asks out, the make rule that answers in, paths out.
 */
#ifndef MOR_KYTHE_ARCHIVE_DEPENDS_H
#define MOR_KYTHE_ARCHIVE_DEPENDS_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/mortise.h>

#include "base/slice.h"

struct mor_strings {
	char **item; /* NULL-terminated once there is one */
	size_t count, room;
};
int mor_strings_add(struct mor_strings *strings, struct mor_slice text); /* 0 or MORTISE_ENOMEM */
void mor_strings_fini(struct mor_strings *strings);

/* The words of a command line as a POSIX shell cuts them: quotes and backslashes, no expansion. MORTISE_EINPUT for a quote
 * that is not closed. */
int mor_shell_split(struct mor_slice command, struct mor_strings *ret, mortise_error *err);

/* How many words come before the compiler: ccache and its like. */
size_t mor_launcher_words(const char *const *arguments, size_t count);
/* What the compiler is asked to make (-o), or "". */
const char *mor_compile_output(const char *const *arguments, size_t count);
/* The same compilation, but told to print its dependencies as a make rule on stdout and to write nothing. */
int mor_depends_command(const char *const *arguments, size_t count, struct mor_strings *ret);
/* The files in that rule, in its order and spelling: the main source is the first. MORTISE_EINPUT when it is no such rule. */
int mor_depends_parse(struct mor_slice rule, struct mor_strings *ret, mortise_error *err);

/* "c++" for what C compilers take (Kythe has one name for both), "go", "java", ...; NULL: cannot be told by the name. */
const char *mor_language_of(const char *path);

#endif
