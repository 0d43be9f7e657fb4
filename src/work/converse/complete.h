/* SPDX-License-Identifier: Apache-2.0 */
/* What can stand where the cursor is: commands and functions after a slash, then the names of parameters. */
#ifndef MOR_CONVERSE_COMPLETE_H
#define MOR_CONVERSE_COMPLETE_H

#include "base/textlist.h"
#include "converse/converse.h"

/* `line` ends at the cursor. *ret_from: where the word begins that is to be completed. The texts in `ret` are
 * whole words, with "=" behind a parameter's name and a blank behind everything else; free them with
 * mor_text_list_free_texts(). Without memory there are fewer. */
void mor_converse_complete(void *chat, const char *line, size_t *ret_from, struct mor_text_list *ret);

#endif
