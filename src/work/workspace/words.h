/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a Sunscreen command, as plugin.toml plugins get them: arguments and flags apart.
 *
 *	--name=value   a text                 --name value   the same: the next word, unless it begins with "-"
 *	--name         true                   repeated       an array, in order
 *	--             the rest are arguments
 *
 * All else is an argument, "-" and "-5" too.
 */
#ifndef MOR_WORKSPACE_WORDS_H
#define MOR_WORKSPACE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/mortise.h>

#include "base/textlist.h"
#include "wire/json.h"

struct mor_workspace_words {
	struct mor_text_list args;
	struct mor_workspace_flag {
		struct mor_slice name;
		const char *value; /* NULL: true */
	} * flags;
	size_t flag_count, flag_cap;
	bool only_args; /* a "--" has been seen */
};

/* Adds words. May be called again: a flag never takes its value from the words of another call.
 * MORTISE_EINVAL, MORTISE_ENOMEM. */
int mor_workspace_words_add(struct mor_workspace_words *words, const char *const *list, mortise_error *err);
void mor_workspace_words_fini(struct mor_workspace_words *words);
/* An array of texts; an object. */
void mor_workspace_words_write_args(const struct mor_workspace_words *words, struct mor_writer *w);
void mor_workspace_words_write_flags(const struct mor_workspace_words *words, struct mor_writer *w);

#endif
