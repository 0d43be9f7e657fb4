/* SPDX-License-Identifier: Apache-2.0 */
#include "converse/complete.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "converse/functions.h"

struct completion {
	const char *word; /* the beginning of it */
	size_t len;
	const char *behind; /* of what is found */
	struct mor_text_list *found;
};

/* What is offered is printed as it is, and a plugin chooses the names. */
static void offer_word(const struct completion *search, const char *prefix, struct mor_slice name)
{
	MOR_CLEAN_TEXT char *text = NULL;

	if (name.len && !mor_text_steers(name))
		text = mor_text_format("%s%.*s%s", prefix, (int)name.len, name.ptr, search->behind);
	if (!text || strncmp(text, search->word, search->len) != 0)
		return;
	for (size_t i = 0; i < search->found->count; i++)
		if (strcmp(search->found->item[i], text) == 0)
			return;
	if (mor_text_list_add(search->found, text) == 0)
		text = NULL; /* it is the list's */
}

static void offer_names(const struct completion *search, const char *prefix, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);

	while (mor_json_next(&it))
		offer_word(search, prefix, mor_json_string(mor_json_get(it.value, "name")));
}

/* ---- the first word ---- */

static void offer_functions(const struct completion *search, const struct mor_converse *chat)
{
	for (size_t i = 0; i < chat->count; i++) {
		const struct mor_converse_guest *guest = &chat->guests[i];

		if (!guest->about)
			continue;
		offer_names(search, "/", mor_converse_functions(mor_converse_guest_about(guest)));
		if (mor_converse_functions_open(mor_converse_guest_about(guest)))
			offer_names(search, "/", mor_converse_guest_methods(guest));
	}
}

/* ---- parameters ---- */

static void offer_parameters(const struct completion *search, const struct mor_value *function)
{
	struct mor_json_iter it = mor_json_iter(mor_json_at(function, "/parameters/properties"));

	while (mor_json_next(&it))
		offer_word(search, "", it.name);
	/* a row of a dialect's table */
	offer_names(search, "", mor_json_get(function, "params"));
}

static const struct mor_value *named(const struct mor_value *list, struct mor_slice name)
{
	struct mor_json_iter it = mor_json_iter(list);

	while (mor_json_next(&it))
		if (mor_slice_eq(mor_json_string(mor_json_get(it.value, "name")), name))
			return it.value;
	return NULL;
}

static void offer_arguments(const struct completion *search, const struct mor_converse *chat,
			    struct mor_slice function)
{
	for (size_t i = 0; i < chat->count; i++) {
		const struct mor_converse_guest *guest = &chat->guests[i];

		if (!guest->about)
			continue;
		offer_parameters(search,
				 named(mor_converse_functions(mor_converse_guest_about(guest)), function));
		offer_parameters(search, named(mor_converse_guest_methods(guest), function));
	}
}

/* The function of a line that begins with "/NAME " or "/call NAME ". */
static struct mor_slice function_of(const char *line)
{
	const char *name = line + 1;

	if (strncmp(name, "call ", 5) == 0 || strncmp(name, "note ", 5) == 0)
		name += 5;
	return (struct mor_slice){ name, strcspn(name, " \t") };
}

void mor_converse_complete(void *arg, const char *line, size_t *ret_from, struct mor_text_list *ret)
{
	const struct mor_converse *chat = arg;
	const char *blank = strrchr(line, ' ');
	struct completion search = { .word = blank ? blank + 1 : line,
				     .found = ret,
				     .behind = blank ? "=" : " " };

	search.len = strlen(search.word);
	*ret_from = (size_t)(search.word - line);
	if (*line != '/')
		return;
	if (blank) {
		offer_arguments(&search, chat, function_of(line));
		return;
	}
	for (const char *const *command = mor_converse_commands(); *command; command++)
		offer_word(&search, "/", mor_slice_of(*command));
	offer_functions(&search, chat);
}
