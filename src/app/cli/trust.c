/* SPDX-License-Identifier: Apache-2.0 */
/* mortise trust: whom and what the user trusts. */
#include "cli/trust.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "bundle/keys.h"
#include "cli/cli.h"
#include "console/report.h"
#include "trusted/trusted.h"

struct trust_args {
	const char *as;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct trust_args, name)
static const struct mor_option trust_options[] = {
	{ "as", 0, "NAME", "add: what you call the owner of the key; else the name of its file", MOR_OPT_TEXT,
	  FIELD(as), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", trust_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* In the order in which they are asked and listed. */
static const struct mor_trust_kind *const kinds[] = { &mor_trust_keys, &mor_trust_paths };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

int mor_trust_list_add(struct mor_trust_list *list, const char *kind, const char *what, const char *note,
		       mortise_error *err)
{
	struct mor_trust_row row = { kind, mor_strdup(what), mor_strdup(note), NULL };

	if (!row.what || (note && !row.note) ||
	    mor_grow(&list->items, list->count, &list->cap, sizeof(row)) < 0) {
		mor_free(row.what);
		mor_free(row.note);
		return mor_fail_memory(err);
	}
	list->items[list->count++] = row;
	return 0;
}

static void mor_trust_list_fini(struct mor_trust_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		mor_free(list->items[i].what);
		mor_free(list->items[i].note);
		mor_free(list->items[i].before);
	}
	mor_free(list->items);
}

/* ---- keys ---- */

static bool takes_key(const char *word)
{
	return mor_sign_key_valid(word) || (mor_path_is_file(word) && !mor_trusted_is_script(word));
}

/* "release" of "keys/release.pem.pub" */
static char *owner_of_file(const char *path)
{
	const char *name = mor_base_name(path);
	size_t len = strcspn(name, ".");

	return mor_strndup(name, len ? len : strlen(name));
}

/* A user who types the file of a private key is about to show it to others. */
static int read_key(const char *word, char key[MOR_SIGN_KEY_SIZE], mortise_error *err)
{
	if (mor_sign_key_valid(word)) {
		memcpy(key, word, MOR_SIGN_KEY_SIZE);
		return 0;
	}
	if (mor_sign_is_private(word))
		return mor_fail(err, MORTISE_EINPUT,
				"%s is a private key, which signs and which nobody else should have: name the "
				"file of its public key (mortise key new calls it %s.pub), or the line that "
				"'mortise key show %s' prints",
				word, word, word);
	return mor_sign_read_key(word, key, err);
}

static int add_key(const char *word, const char *as, struct mor_trust_list *ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *owner = as ? mor_strdup(as) : owner_of_file(word);
	char key[MOR_SIGN_KEY_SIZE], before[sizeof(((struct mor_keys_entry *)0)->owner)] = "";
	int r;

	if (!owner)
		return mor_fail_memory(err);
	if (mor_sign_key_valid(word) && !as)
		return mor_fail(err, MORTISE_EINVAL, "say whose key that is: --as NAME");
	if ((r = read_key(word, key, err)) < 0 ||
	    (r = mor_keys_find(NULL, key, before, sizeof(before), err)) < 0 ||
	    (r = mor_keys_add(NULL, key, owner, err)) < 0 ||
	    (r = mor_trust_list_add(ret, mor_trust_keys.name, key, owner, err)) < 0)
		return r;
	if (!*before || strcmp(before, owner) == 0)
		return 0;
	ret->items[ret->count - 1].before = mor_strdup(before);
	return ret->items[ret->count - 1].before ? 0 : mor_fail_memory(err);
}

static int list_keys(struct mor_trust_list *ret, mortise_error *err)
{
	MOR_CLEAN(mor_keys_all) struct mor_keys_all keys = { 0 };
	int r = mor_keys_list(NULL, &keys, err);

	for (size_t i = 0; r == 0 && i < keys.count; i++)
		r = mor_trust_list_add(ret, mor_trust_keys.name, keys.items[i].key, keys.items[i].owner, err);
	return r;
}

static int remove_key(const char *word, struct mor_trust_list *ret, mortise_error *err)
{
	struct mor_keys_entry key;
	int r = mor_keys_remove(NULL, word, &key, err);

	return r < 0 ? r : mor_trust_list_add(ret, mor_trust_keys.name, key.key, key.owner, err);
}

const struct mor_trust_kind mor_trust_keys = {
	.name = "key",
	.takes = takes_key,
	.add = add_key,
	.list = list_keys,
	.remove = remove_key,
};

/* ---- the command ---- */

static int trust_add(const char *word, const char *as, struct mor_trust_list *ret, mortise_error *err)
{
	for (size_t i = 0; i < KINDS; i++)
		if (kinds[i]->takes(word))
			return kinds[i]->add(word, as, ret, err);
	return mor_fail(err, MORTISE_ENOTFOUND, "%s: there is no such file or directory", word);
}

static int trust_remove(const char *word, struct mor_trust_list *ret, mortise_error *err)
{
	int r = MORTISE_ENOTFOUND;

	for (size_t i = 0; r == MORTISE_ENOTFOUND && i < KINDS; i++)
		r = kinds[i]->remove(word, ret, err);
	return r;
}

static void print_row(struct mor_console *console, const struct mor_trust_row *row, const char *front)
{
	char what[1000], note[1000];

	mor_printable(mor_slice_of(row->what), what, sizeof(what));
	mor_printable(mor_slice_of(row->note ? row->note : ""), note, sizeof(note));
	mor_outf(console, "%s%s %s%s%s", front, row->kind, what, *note ? " " : "", note);
	if (row->before)
		mor_outf(console, " (until now: %s)", row->before);
	mor_out_text(console, "\n");
}

static void show_rows(struct mor_cli *cli, const struct mor_trust_list *list, const char *front)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair_array(&w, "trusted");
	for (size_t i = 0; i < list->count; i++) {
		const struct mor_trust_row *row = &list->items[i];

		if (!cli->console->json)
			print_row(cli->console, row, front);
		mor_w_object(&w);
		mor_w_pair(&w, "kind", row->kind);
		mor_w_pair(&w, "what", row->what);
		mor_w_pair(&w, "note", row->note);
		if (row->before)
			mor_w_pair(&w, "before", row->before);
		mor_w_end(&w);
	}
	mor_w_end(&w);
	mor_w_end(&w);
	if (cli->console->json)
		mor_out_json(cli->console, mor_buf_view(&json));
}

static int trust_run(struct mor_cli *cli)
{
	const struct trust_args *args = cli->args;
	const struct mor_words *words = &cli->words;
	const char *verb = words->count ? words->item[0] : "list";
	MOR_CLEAN(mor_trust_list) struct mor_trust_list rows = { 0 };
	mortise_error err = { 0 };
	int r = 0;

	if (strcmp(verb, "list") == 0 && words->count <= 1)
		for (size_t i = 0; r == 0 && i < KINDS; i++)
			r = kinds[i]->list(&rows, &err);
	else if (strcmp(verb, "add") == 0 && words->count == 2)
		r = trust_add(words->item[1], args->as, &rows, &err);
	else if (strcmp(verb, "remove") == 0 && words->count == 2)
		r = trust_remove(words->item[1], &rows, &err);
	else
		r = mor_fail(&err, MORTISE_EINVAL, "trust takes list, add KEY|PATH or remove KEY|PATH");
	if (r < 0)
		return mor_report_cause(cli->console, &err);
	show_rows(cli, &rows, strcmp(verb, "remove") == 0 ? "not trusted any more: " : "");
	return 0;
}

const struct mor_cli_command mor_cli_command_trust = {
	.row = MOR_CLI_ROW(trust),
	.usage = "trust [list]\ntrust add KEY [--as NAME]\ntrust add PATH\ntrust remove KEY|NAME|PATH",
	.words = "list|add|remove",
	.description =
		"Keeps the public keys of people whose plugins you know. KEY is a PEM file, or a key as 'list' "
		"prints it.\n"
		"'mortise install' then says by name who has signed a plugin. A key proves where a plugin "
		"comes from. It\n"
		"allows nothing: what a plugin may do, you still decide.\n"
		"\n"
		"PATH is a directory of YAMS plugins, or one of them. It goes to the list of YAMS itself "
		"(plugins.trust).\n"
		"Plugins in a trusted directory can be used by their names, and by 'mortise extract' without "
		"--plugin. They\n"
		"may do everything that you may: to see first what a plugin may do, install it instead.",
	.examples = "mortise trust add release.pem.pub --as acme\n"
		    "mortise trust add ~/.local/lib/yams/external-plugins\n"
		    "mortise trust list\n"
		    "mortise trust remove acme",
	.options = groups,
	MOR_CLI_ARGS(trust_args),
	.run = trust_run,
};
