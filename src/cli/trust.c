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
static const struct mor_trust_kind *const kinds[] = { &mor_trust_keys };
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

int mor_trust_list_add(struct mor_trust_list *list, const char *kind, const char *what, const char *note,
		       mortise_error *err)
{
	struct mor_trust_row row = { kind, mor_strdup(what), mor_strdup(note) };

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
	}
	mor_free(list->items);
}

/* ---- keys ---- */

static bool takes_key(const char *word)
{
	return mor_sign_key_valid(word) || mor_path_is_file(word);
}

/* "release" of "keys/release.pem.pub" */
static char *owner_of_file(const char *path)
{
	const char *name = mor_base_name(path);
	size_t len = strcspn(name, ".");

	return mor_strndup(name, len ? len : strlen(name));
}

static int add_key(const char *word, const char *as, struct mor_trust_list *ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *owner = as ? mor_strdup(as) : owner_of_file(word);
	char key[MOR_SIGN_KEY_SIZE];
	int r = 0;

	if (!owner)
		return mor_fail_memory(err);
	if (mor_sign_key_valid(word) && !as)
		return mor_fail(err, MORTISE_EINVAL, "say whose key that is: --as NAME");
	if (mor_sign_key_valid(word))
		memcpy(key, word, sizeof(key));
	else
		r = mor_sign_read_key(word, key, err);
	if (r == 0)
		r = mor_keys_add(NULL, key, owner, err);
	return r < 0 ? r : mor_trust_list_add(ret, mor_trust_keys.name, key, owner, err);
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
	return mor_fail(err, MORTISE_ENOTFOUND, "%s: there is no such file", word);
}

static int trust_list(struct mor_trust_list *ret, mortise_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < KINDS; i++)
		r = kinds[i]->list(ret, err);
	return r;
}

static int trust_remove(const char *word, struct mor_trust_list *ret, mortise_error *err)
{
	int r = MORTISE_ENOTFOUND;

	for (size_t i = 0; r == MORTISE_ENOTFOUND && i < KINDS; i++)
		r = kinds[i]->remove(word, ret, err);
	return r;
}

static void show_rows(struct mor_cli *cli, const struct mor_trust_list *list)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_key(&w, "trusted");
	mor_w_array(&w);
	for (size_t i = 0; i < list->count; i++) {
		const struct mor_trust_row *row = &list->items[i];

		if (!cli->console->json)
			mor_outf(cli->console, "%s %s%s%s\n", row->kind, row->what, row->note ? " " : "",
				 row->note ? row->note : "");
		mor_w_object(&w);
		mor_w_pair(&w, "kind", row->kind);
		mor_w_pair(&w, "what", row->what);
		mor_w_pair(&w, "note", row->note);
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
	int r;

	if (strcmp(verb, "list") == 0 && words->count <= 1)
		r = trust_list(&rows, &err);
	else if (strcmp(verb, "add") == 0 && words->count == 2)
		r = trust_add(words->item[1], args->as, &rows, &err);
	else if (strcmp(verb, "remove") == 0 && words->count == 2)
		r = trust_remove(words->item[1], &rows, &err);
	else
		r = mor_fail(&err, MORTISE_EINVAL, "trust takes list, add KEY or remove KEY");
	if (r == MORTISE_EINVAL)
		return mor_report_usage(cli->console, &err);
	if (r < 0)
		return mor_report_error(cli->console, &err);
	show_rows(cli, &rows);
	return 0;
}

const struct mor_cli_command mor_cli_command_trust = {
	.name = "trust",
	.group = "Install plugins:",
	.summary = "say whose signatures you know",
	.usage = "trust [list]\ntrust add KEY [--as NAME]\ntrust remove KEY|NAME",
	.words = "list|add|remove",
	.description =
		"Keeps the public keys of people whose plugins you know. KEY is a PEM file, or a key as 'list' "
		"prints it.\n"
		"'mortise install' then says by name who has signed a plugin. A key proves where a plugin "
		"comes from. It\n"
		"allows nothing: what a plugin may do, you still decide.",
	.examples = "mortise trust add release.pem.pub --as acme\n"
		    "mortise trust list\n"
		    "mortise trust remove acme",
	.options = groups,
	.args_size = sizeof(struct trust_args),
	.common = FIELD(common),
	.run = trust_run,
};
