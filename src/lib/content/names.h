/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths that somebody else chose, in an archive or in a plugin's directory: which of them may be written to a
 * disk and shown to a person (docs/design/0008-store.md, Content). Whether two of them are the same on some
 * file system is src/lib/content/nameset.h's question.
 */
#ifndef MOR_CONTENT_NAMES_H
#define MOR_CONTENT_NAMES_H

#include <stddef.h>

#include <mortise/mortise.h>

#include "base/slice.h"

#define MOR_CONTENT_NAME_BYTES 255
#define MOR_CONTENT_PATH_BYTES 4096

/* A relative path with "/" between its names, without "." among them. MORTISE_EINPUT with one line that shows
 * the path and says what is wrong with it. */
int mor_content_name_check(const char *path, mortise_error *err);
/* The same where the path need not end with a NUL. */
int mor_content_name_check_slice(struct mor_slice path, mortise_error *err);
/* Any bytes on one line: control bytes and bytes that are not UTF-8 as \xNN, invisible characters and those
 * that reorder a line as <U+202E>; cut with "...". Always NUL-terminated. Returns out. */
const char *mor_content_name_show(struct mor_slice name, char *out, size_t out_size);

#endif
