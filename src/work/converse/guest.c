/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "console/console.h"
#include "converse/converse.h"
#include "converse/functions.h"
#include "runner/signature.h"

#include <stdio.h>
#include <string.h>

const struct mor_value *mor_converse_guest_about(const struct mor_converse_guest *guest)
{
	return mor_doc_root(guest->about);
}

const struct mor_value *mor_converse_guest_methods(const struct mor_converse_guest *guest)
{
	return mor_json_get(mor_doc_root(guest->table), "methods");
}

static const char *name_of(const struct mor_converse_guest *guest)
{
	return mortise_plugin_name(guest->turn.plugin);
}

/* ---- which plugin ---- */

/* Lists the plugins that have what `own` has: "a.f or b.f". */
static int ambiguous(const struct mor_converse *chat,
		     bool (*own)(const struct mor_converse_guest *, const char *), const char *word,
		     mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	char shown[300];

	for (size_t i = 0; i < chat->count; i++)
		if (own(&chat->guests[i], word))
			mor_buf_printf(&names, "%s/%s.%s", names.len ? " or " : "", name_of(&chat->guests[i]),
				       word);
	mor_printable(mor_buf_view(&names), shown, sizeof(shown));
	return mor_fail(err, MORTISE_EINPUT, "several plugins match: type %s", shown);
}

static bool has_function(const struct mor_converse_guest *guest, const char *word)
{
	return guest->about && mor_converse_function_find(mor_converse_guest_about(guest), word);
}

static bool may_have(const struct mor_converse_guest *guest, const char *word)
{
	(void)word;
	return guest->about && mor_converse_functions_open(mor_converse_guest_about(guest));
}

/* The one guest for which `own` is true: 1; none: 0. */
static int pick_one(struct mor_converse *chat, bool (*own)(const struct mor_converse_guest *, const char *),
		    const char *word, struct mor_converse_pick *ret, mortise_error *err)
{
	struct mor_converse_guest *only = NULL;

	for (size_t i = 0; i < chat->count; i++) {
		if (!own(&chat->guests[i], word))
			continue;
		if (only)
			return ambiguous(chat, own, word, err);
		only = &chat->guests[i];
	}
	if (only)
		*ret = (struct mor_converse_pick){
			only, word, mor_converse_function_find(mor_converse_guest_about(only), word)
		};
	return only != NULL;
}

static int unknown_word(const struct mor_converse *chat, const struct mor_converse_guest *only,
			const char *word, mortise_error *err)
{
	struct mor_nearest near = { .word = word };
	const char *best;

	for (size_t i = 0; i < chat->count; i++)
		if (chat->guests[i].about && (!only || only == &chat->guests[i]))
			mor_converse_functions_offer(mor_converse_guest_about(&chat->guests[i]), &near);
	best = mor_nearest_best(&near);
	if (!only && chat->count == 1)
		only = &chat->guests[0];
	return mor_fail(err, MORTISE_EINPUT, "%s has %s function \"%s\"%s%s%s (/functions lists them)",
			only ? name_of(only) : "no plugin here", only ? "no" : "a", word,
			best ? ": did you mean \"" : "", best ? best : "", best ? "\"?" : "");
}

/* PLUGIN.FUNCTION. A plugin's name may itself contain dots. */
static int pick_dotted(struct mor_converse *chat, const char *word, struct mor_converse_pick *ret,
		       mortise_error *err)
{
	for (size_t i = 0; i < chat->count; i++) {
		struct mor_converse_guest *guest = &chat->guests[i];
		size_t len = strlen(name_of(guest));

		if (!guest->about || strncmp(word, name_of(guest), len) != 0 || word[len] != '.' ||
		    !word[len + 1])
			continue;
		*ret = (struct mor_converse_pick){ guest, word + len + 1,
						   mor_converse_function_find(mor_converse_guest_about(guest),
									      word + len + 1) };
		return ret->listed || may_have(guest, word) ? 1 : unknown_word(chat, guest, ret->name, err);
	}
	return 0;
}

int mor_converse_guests_pick(struct mor_converse *chat, const char *word, struct mor_converse_pick *ret,
			     mortise_error *err)
{
	int r = pick_one(chat, has_function, word, ret, err);

	r = r ? r : pick_dotted(chat, word, ret, err);
	r = r ? r : pick_one(chat, may_have, word, ret, err);
	r = r ? r : unknown_word(chat, NULL, word, err);
	return r < 0 ? r : 0;
}

int mor_converse_guests_passthrough(struct mor_converse *chat, struct mor_converse_pick *ret,
				    mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	size_t count = 0;
	char shown[300];

	for (size_t i = 0; i < chat->count; i++) {
		const struct mor_value *function =
			chat->guests[i].about ?
				mor_converse_function_passthrough(mor_converse_guest_about(&chat->guests[i])) :
				NULL;

		if (!function)
			continue;
		*ret = (struct mor_converse_pick){ &chat->guests[i],
						   mor_json_text(mor_json_get(function, "name"), ""),
						   function };
		mor_buf_printf(&names, "%s/%s", count++ ? " or " : "", ret->name);
	}
	if (count < 2)
		return (int)count;
	mor_printable(mor_buf_view(&names), shown, sizeof(shown));
	return mor_fail(err, MORTISE_EINPUT, "several plugins take free text: type %s TEXT", shown);
}

struct mor_converse_guest *mor_converse_guests_waiting(const struct mor_converse *chat)
{
	struct mor_converse_guest *last = NULL;

	for (size_t i = 0; i < chat->count; i++)
		if (chat->guests[i].in_session && (!last || chat->guests[i].asked > last->asked))
			last = &chat->guests[i];
	return last;
}

/* ---- the list ---- */

static bool is_shared(const struct mor_converse *chat, const char *function)
{
	size_t count = 0;

	for (size_t i = 0; i < chat->count; i++)
		count += has_function(&chat->guests[i], function);
	return count > 1;
}

static void list_function(const struct mor_converse_guest *guest, const struct mor_value *function)
{
	MOR_CLEAN(mor_buf) struct mor_buf usage = MOR_BUF_INIT;
	struct mor_console *console = guest->chat->console;
	char line[400], text[600];

	if (is_shared(guest->chat, mor_json_text(mor_json_get(function, "name"), "")))
		mor_buf_printf(&usage, "%s.", name_of(guest));
	mor_signature_usage(MOR_DECLARED(function), &usage);
	mor_note(console, "  %s/%s%s", mor_style_err(console, MOR_STYLE_LABEL),
		 mor_printable(mor_buf_view(&usage), line, sizeof(line)), mor_style_err_end(console));
	mor_printable(mor_json_string(mor_json_get(function, "description")), text, sizeof(text));
	if (*text)
		mor_note(console, "      %s", text);
	if (mor_converse_function_passthrough(mor_converse_guest_about(guest)) == function)
		mor_note(console, "      text without a slash also goes to it");
}

static void list_method(struct mor_console *console, const struct mor_value *row)
{
	MOR_CLEAN(mor_buf) struct mor_buf usage = MOR_BUF_INIT;
	struct mor_json_iter it = mor_json_iter(mor_json_get(row, "params"));
	char line[400];

	while (mor_json_next(&it)) {
		bool must = mor_json_bool(mor_json_get(it.value, "required"), false);

		mor_buf_printf(&usage, " %s%s%s", must ? "" : "[",
			       mor_json_text(mor_json_get(it.value, "name"), "?"), must ? "=" : "=]");
	}
	mor_note(console, "  %s/%s%s%s", mor_style_err(console, MOR_STYLE_LABEL),
		 mor_json_text(mor_json_get(row, "name"), "?"),
		 mor_printable(mor_buf_view(&usage), line, sizeof(line)), mor_style_err_end(console));
}

/* What hosts call in its dialect; "*" is any name. Their number. */
static size_t list_methods(const struct mor_converse_guest *guest)
{
	struct mor_json_iter it = mor_json_iter(mor_converse_guest_methods(guest));
	size_t count = 0;

	while (mor_json_next(&it)) {
		if (strcmp(mor_json_text(mor_json_get(it.value, "role"), ""), "call") != 0 ||
		    strcmp(mor_json_text(mor_json_get(it.value, "from"), ""), "host") != 0 ||
		    strcmp(mor_json_text(mor_json_get(it.value, "name"), "*"), "*") == 0)
			continue;
		list_method(guest->chat->console, it.value);
		count++;
	}
	return count;
}

static void list_guest(const struct mor_converse_guest *guest)
{
	const struct mor_value *list = mor_converse_functions(mor_converse_guest_about(guest));
	struct mor_json_iter it = mor_json_iter(list);
	struct mor_console *console = guest->chat->console;

	if (guest->chat->count > 1)
		mor_note(console, "%s%s%s", mor_style_err(console, MOR_STYLE_TITLE), name_of(guest),
			 mor_style_err_end(console));
	if (!mor_json_size(list) && list_methods(guest) == 0)
		mor_note(console,
			 "the plugin does not say which functions it has; some answer /rpc.discover, else its "
			 "documentation may tell");
	while (mor_json_next(&it))
		list_function(guest, it.value);
}

void mor_converse_guests_list(const struct mor_converse *chat)
{
	for (size_t i = 0; i < chat->count; i++)
		if (chat->guests[i].about)
			list_guest(&chat->guests[i]);
}
