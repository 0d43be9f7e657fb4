/* What a line of a chat means: the command behind "/", its arguments, or plain text. */
#ifndef MOR_CLI_CHAT_WORDS_H
#define MOR_CLI_CHAT_WORDS_H

#include <stddef.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "wire/json.h"

/* Words as a shell would see them: blanks part them, '…' and "…" and a backslash keep them together. The words stand in
 * `store`, which the caller frees; `ret_rest[i]` is the rest of the line from word i on, as it was typed. MORTISE_EINPUT: a
 * quote is open, or there are too many. */
#define MOR_CHAT_WORDS 64
int mor_chat_split(const char *line, struct mor_buf *store, const char *ret_words[MOR_CHAT_WORDS],
		   const char *ret_rest[MOR_CHAT_WORDS], size_t *ret_count, mortise_error *err);

/* Arguments of a function -> one JSON object: KEY=VALUE…, or one JSON object or @FILE, or, where `only` names the one
 * parameter that the function has, the text itself: `rest`, which is all of them as typed, or NULL: several words. */
int mor_chat_arguments(const char *const *words, const char *rest, size_t count, const char *only, struct mor_buf *ret_json,
		       mortise_error *err);

#endif
