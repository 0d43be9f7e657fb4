/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command-line options as tables. The parser, the help and the shell completion are all made from the same
 * rows. A test compares the help with the man page.
 */
#ifndef MOR_CLI_OPTIONS_H
#define MOR_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/mortise.h>

#include "base/near.h"
#include "base/textlist.h"

enum mor_opt_kind {
	MOR_OPT_FLAG,  /* bool; takes no argument                      */
	MOR_OPT_TEXT,  /* const char *; the last one wins              */
	MOR_OPT_LIST,  /* struct mor_text_list; may be given repeatedly */
	MOR_OPT_UINT,  /* uint32_t, at least 1                         */
	MOR_OPT_COUNT, /* struct mor_opt_count: 0 is a choice too      */
	MOR_OPT_BYTES, /* uint64_t: "64KiB"                            */
	MOR_OPT_RATE,  /* struct mor_opt_rate: --name or --name=0.01   */
	MOR_OPT_SOME   /* struct mor_text_list: --name=TEXT, repeatedly; --name alone is "true" */
};

struct mor_opt_count {
	uint32_t value;
	bool given;
};

struct mor_opt_rate {
	uint32_t value; /* billionths */
	bool given, valued;
};

struct mor_option {
	const char *name; /* long spelling without its dashes; NULL ends the table                    */
	char letter;      /* short spelling or 0                                                      */
	const char *arg;  /* what help calls the argument; completion also uses it: FILE, PLUGIN, DIALECT,
			       ...; NULL for flags */
	const char *help;
	enum mor_opt_kind kind;
	size_t offset;      /* in the struct that the group fills */
	const char *one_of; /* "a|b": only these are allowed; NULL: anything */
};

/* The argument is attached with "=" or left out. The next word is never its argument. */
static inline bool mor_option_is_optional(const struct mor_option *option)
{
	return option->kind == MOR_OPT_RATE || option->kind == MOR_OPT_SOME;
}

struct mor_option_group {
	const char *title; /* NULL ends the list of groups */
	const struct mor_option *options;
	size_t offset; /* of the group's struct in the command's */
};

struct mor_words {
	const char **item; /* words that are not options, in order; NULL-terminated */
	size_t count;
	const char **tail;   /* what follows "--"; NULL when there was no "--" */
	bool loose;          /* set by the caller: unknown long options stay in place, as words */
	const char *unknown; /* the first of those words, or NULL */
	const char *hint;    /* set by the caller: what the error about an unknown letter ends with; or NULL */
};

/* Fills `args` (zeroed by the caller) and the words. The strings still belong to argv. Returns
 * MORTISE_EINVAL with a text that names the wrong option. Call mor_options_free() in every case. */
int mor_options_parse(const struct mor_option_group *groups, char **argv, void *args, struct mor_words *words,
		      mortise_error *err);
void mor_options_free(const struct mor_option_group *groups, void *args, struct mor_words *words);

/* The option that "--nmae=1" may have been meant for; NULL: none is spelt like it. */
const char *mor_options_nearest(const struct mor_option_group *groups, const char *word);
/* MORTISE_EINVAL for a long option ("--jsn=1") that is in no table. The text offers the nearest name. */
int mor_options_refuse(const struct mor_option_group *groups, const char *word, mortise_error *err);

#endif
