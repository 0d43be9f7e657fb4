/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of a line in a chat: a command after "/", its arguments, or plain text. */
#ifndef MOR_CONVERSE_WORDS_H
#define MOR_CONVERSE_WORDS_H

#include <stddef.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "wire/json.h"

/* Words as a shell would see them: blanks separate them, '…' and "…" and a backslash keep them together. The
 * words are in `store`, which the caller frees. `ret_rest[i]` is the rest of the line from word i on, as it
 * was typed. MORTISE_EINPUT: a quote is not closed, or there are too many words. */
#define MOR_CONVERSE_WORDS 64
int mor_converse_split(const char *line, struct mor_buf *store, const char *ret_words[MOR_CONVERSE_WORDS],
		       const char *ret_rest[MOR_CONVERSE_WORDS], size_t *ret_count, mortise_error *err);

/* Turns the arguments of a function into one JSON object. They are KEY=VALUE…, or one JSON object or @FILE.
 * If the function has one parameter for it, they may also be the text itself: `rest` is everything as typed,
 * or NULL with several words. `function` is what the plugin lists (functions.h), or NULL. Its parameters are
 * checked. */
int mor_converse_arguments(const char *const *words, const char *rest, size_t count,
			   const struct mor_value *function, struct mor_buf *ret_json, mortise_error *err);
/* The extra members beside a function's params (once.h), with the text as the last message. Used for a
 * function that has no parameter for the text. */
int mor_converse_context(mortise_json extra, const char *text, struct mor_buf *ret, mortise_error *err);
/* {PARAMETER: TEXT}, the text as it is. */
int mor_converse_text_argument(const char *parameter, const char *text, struct mor_buf *ret_json,
			       mortise_error *err);

#endif
