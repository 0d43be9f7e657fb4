/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/offer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "runner/runner.h"
#include "runner/signature.h"
#include "session/session.h"
#include "store/store.h"
#include "trusted/trusted.h"

struct offer {
	struct mor_console *console;
	const char *beginning; /* NULL: not known */
};

/* Names that others have chosen go to a terminal, line by line: one that is not plain text is left out. */
static void offer_line(const struct offer *offer, struct mor_slice line)
{
	char shown[400];

	mor_printable(line, shown, sizeof(shown));
	if (line.len && mor_slice_is(line, shown))
		mor_outf(offer->console, "%s\n", shown);
}

/* ---- names of plugins ---- */

/* "NAME@": its versions. */
static void offer_versions(const struct offer *offer, const struct mor_store *store)
{
	struct mor_store_list list = { 0 };
	const char *at = strchr(offer->beginning, '@');
	MOR_CLEAN_TEXT char *name = mor_strndup(offer->beginning, (size_t)(at - offer->beginning));

	if (name && mor_store_versions(store, name, &list, NULL) == 0)
		for (size_t i = 0; i < list.count; i++)
			mor_outf(offer->console, "%s@%s\n", list.items[i].name, list.items[i].version);
	mor_store_list_fini(&list);
}

static void offer_installed(const struct offer *offer)
{
	struct mor_store store = { 0 };
	struct mor_store_list list = { 0 };
	const char *at = offer->beginning ? strchr(offer->beginning, '@') : NULL;

	if (mor_store_open(NULL, NULL, &store) < 0)
		return;
	if (at && at > offer->beginning)
		offer_versions(offer, &store);
	else if (mor_store_list(&store, false, &list, NULL) == 0)
		for (size_t i = 0; i < list.count; i++)
			mor_outf(offer->console, "%s\n", list.items[i].name);
	mor_store_list_fini(&list);
	mor_store_fini(&store);
}

/* The trusted plugins whose name can be typed. */
static void offer_trusted(const struct offer *offer)
{
	MOR_CLEAN(mor_trusted) struct mor_trusted list = { 0 };
	MOR_CLEAN(mor_trusted_plugins) struct mor_trusted_plugins all = { 0 };

	if (mor_trusted_read(&list, NULL) < 0 || mor_trusted_scan(&list, &all, NULL) < 0)
		return;
	for (size_t i = 0; i < all.count; i++)
		if (!all.items[i].why && mor_store_is_name(all.items[i].name))
			mor_outf(offer->console, "%s\n", all.items[i].name);
}

static void offer_plugins(const struct offer *offer)
{
	offer_installed(offer);
	offer_trusted(offer);
	if (offer->beginning)
		mor_out_text(offer->console, "/\n"); /* and files */
}

static void offer_sessions(const struct offer *offer, const char *before)
{
	struct mor_text_list names = { 0 };

	if (mor_session_names(&names, NULL) == 0)
		for (size_t i = 0; i < names.count; i++)
			mor_outf(offer->console, "%s%s\n", before, names.item[i]);
	mor_text_list_free_texts(&names);
}

/* ---- methods and parameters ---- */

/* The command's options for its plugin; NULL: it has none. */
static const struct mor_plugin_args *plugin_args(const struct mor_cli_command *c, const char *args)
{
	for (const struct mor_option_group *g = c->options; g->title; g++)
		if (g->options == mor_plugin_option_table)
			return (const void *)(args + g->offset);
	return NULL;
}

/* Of an object, its members: "source.type=". After a dash as options: "--source.type=". */
static void offer_parameters(const struct offer *offer, struct mor_members members, const char *before)
{
	struct mor_member_iter it = mor_member_iter(members);

	while (mor_member_next(&it)) {
		struct mor_members inside = mor_member_inside(it.at);
		char name[200];

		snprintf(name, sizeof(name), "%s%.*s", before, (int)it.at.name.len, it.at.name.ptr);
		if (mor_members_any(inside)) {
			mor_text_keep(name + strlen(name), sizeof(name) - strlen(name), ".", 1);
			offer_parameters(offer, inside, name);
		} else {
			mor_text_keep(name + strlen(name), sizeof(name) - strlen(name), "=", 1);
			offer_line(offer, mor_slice_of(name));
		}
	}
}

/* A session's plugin runs already, and its keeper knows what it offers. */
static void ask_session(const struct mor_words *words, struct mor_doc **about, struct mor_buf *names,
			struct mor_signature *signature)
{
	const struct mor_value *actions;
	const char *dialect;

	if (mor_session_about(words->item[0] + 1, about, NULL) < 0)
		return;
	dialect = mor_json_text(mor_json_get(mor_doc_root(*about), "dialect"), "");
	actions = mor_json_at(mor_doc_root(*about), "/about/actions");
	if (words->count == 1)
		mor_signature_list(dialect, actions, names, NULL);
	else
		*signature = mor_signature_pick(dialect, actions, words->item[1]);
}

/* PLUGIN: its methods. PLUGIN METHOD: its parameters. */
static void offer_methods(const struct offer *offer, const struct mor_plugin_args *args,
			  const struct mor_words *words)
{
	MOR_CLEAN(mor_doc) struct mor_doc *about = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;
	struct mor_resolved *resolved = NULL;
	struct mor_signature signature = { 0 };

	if (mor_session_is_meant(words->item[0]))
		ask_session(words, &about, &names, &signature);
	else if (mor_runner_resolve(args, words->item[0], NULL, &resolved, NULL) < 0)
		return;
	else if (words->count == 1)
		mor_signature_names(resolved, &names, NULL);
	else
		signature = mor_signature_find(resolved, words->item[1]);
	for (struct mor_slice rest = mor_buf_view(&names); rest.len;)
		offer_line(offer, mor_slice_cut(&rest, '\n'));
	offer_parameters(offer, mor_signature_members(signature),
			 offer->beginning && offer->beginning[0] == '-' ? "--" : "");
	mor_resolved_unref(resolved);
}

/* ---- commands ---- */

static bool is_command(const struct mor_cli_command *c, const char *names)
{
	return mor_text_in(mor_slice_of(c->row->name), names);
}

bool mor_cli_offers_names(const struct mor_cli_command *c)
{
	return mor_text_in(mor_slice_of(c->words), "plugin|installed") || is_command(c, "session");
}

static void offer_session_words(const struct offer *offer, const struct mor_cli_command *command,
				const struct mor_words *words)
{
	if (!words->count) {
		for (const char *c = command->words; *c; c += strspn(c, "|")) {
			mor_outf(offer->console, "%.*s\n", (int)strcspn(c, "|"), c);
			c += strcspn(c, "|");
		}
	} else if (words->count == 1 && mor_text_in(mor_slice_of(words->item[0]), "stop|notes")) {
		offer_sessions(offer, "");
	} else if (strcmp(words->item[0], "start") == 0 && words->count <= 2) {
		offer_plugins(offer);
	}
}

/* chat and lock take several plugins, the others one. */
static void offer_words(struct mor_cli *cli, const struct offer *offer, const struct mor_cli_command *command,
			const void *args, const struct mor_words *words)
{
	const struct mor_plugin_args *plugin = plugin_args(command, args);

	if (words->tail)
		return;
	if (is_command(command, "session")) {
		offer_session_words(offer, command, words);
	} else if (words->count && plugin && is_command(command, "call|run|bench")) {
		if (mor_session_is_meant(words->item[0]) || mor_cli_named(cli, &words->item[0], NULL) == 0)
			offer_methods(offer, plugin, words);
	} else if (words->count && !is_command(command, "chat|lock")) {
		return;
	} else if (strcmp(command->words, "installed") == 0) {
		offer_installed(offer);
	} else {
		if (is_command(command, "call"))
			offer_sessions(offer, "@");
		offer_plugins(offer);
	}
}

static void offer_after(struct mor_cli *cli, const struct offer *offer, const char **line)
{
	const struct mor_cli_command *command = line[0] ? mor_cli_command_find(line[0]) : NULL;
	struct mor_words words = { .loose = true };
	void *args = command && mor_cli_offers_names(command) ? mor_zalloc(command->args_size) : NULL;

	if (!args)
		return;
	if (mor_options_parse(command->options, (char **)line + 1, args, &words, NULL) == 0)
		offer_words(cli, offer, command, args, &words);
	mor_options_free(command->options, args, &words);
	mor_free(args);
	mor_cli_named_drop(cli);
}

void mor_cli_offer(struct mor_cli *cli, const char *beginning)
{
	struct offer offer = { cli->console, beginning };

	if (cli->words.tail)
		offer_after(cli, &offer, cli->words.tail);
	else
		offer_plugins(&offer);
}
