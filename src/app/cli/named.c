/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Installed plugins by their names, and YAMS plugins in trusted directories, for every command that takes a
 * PLUGIN: the word is replaced by the path of the plugin's directory before the command looks at it. And how
 * the last run of an installed one ended.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/cli.h"
#include "lockfile/lockfile.h"
#include "store/store.h"
#include "trusted/trusted.h"

int mor_cli_not_installed(const char *word, mortise_error *err)
{
	char shown[150];

	mor_excerpt(mor_slice_of(word), shown, sizeof(shown));
	if (access(word, F_OK) == 0)
		return mor_fail(
			err, MORTISE_ENOTFOUND,
			"no plugin called \"%s\" is installed; for what lies here under that name, write ./%s",
			shown, shown);
	if (err && !err->text[0])
		mor_fail(err, MORTISE_ENOTFOUND,
			 "no plugin called \"%s\" is installed; name a plugin's directory or file with a "
			 "slash, such as ./%s",
			 shown, shown);
	return MORTISE_ENOTFOUND;
}

static int take_path(struct mor_cli *cli, const char **word, const char *found, mortise_error *err)
{
	char *path = mor_strdup(found);

	if (!path || mor_text_list_add(&cli->named.paths, path) < 0) {
		mor_free(path);
		return mor_fail_memory(err);
	}
	*word = path;
	return 0;
}

/* Only the first one is noted: a command with several plugins ends in one way, which is not that of each. */
static int take_installed(struct mor_cli *cli, const char **word, const struct mor_installed *found,
			  mortise_error *err)
{
	int r = take_path(cli, word, found->path, err);

	if (r == 0 && ++cli->named.installed == 1) {
		snprintf(cli->named.name, sizeof(cli->named.name), "%s", found->name);
		snprintf(cli->named.version, sizeof(cli->named.version), "%s", found->version);
	}
	return r;
}

/* 1: it is installed; 0: there is no store, so nobody means a name; or a status. */
static int find_installed(struct mor_cli *cli, const char **word, mortise_error *err)
{
	struct mor_store store = { 0 };
	struct mor_installed found = { 0 };
	int r;

	if (mor_store_open(NULL, NULL, &store) < 0)
		return mor_fail_memory(err);
	r = mor_lockfile_installed(&store, *word, &found, err);
	if (r == 1)
		r = take_installed(cli, word, &found, err) < 0 ? MORTISE_ENOMEM : 1;
	mor_installed_fini(&found);
	mor_store_fini(&store);
	return r;
}

/* Of several with one name, the first that may run. */
static const struct mor_trusted_plugin *pick_trusted(const struct mor_trusted_plugins *all, const char *name)
{
	const struct mor_trusted_plugin *first = NULL;

	for (size_t i = 0; i < all->count; i++) {
		if (strcmp(all->items[i].name, name) != 0)
			continue;
		if (!all->items[i].why)
			return &all->items[i];
		first = first ? first : &all->items[i];
	}
	return first;
}

/* 1: it lies in a directory of YAMS; 0: it does not; or a status. */
static int find_trusted(struct mor_cli *cli, const char **word, mortise_error *err)
{
	MOR_CLEAN(mor_trusted) struct mor_trusted list = { 0 };
	MOR_CLEAN(mor_trusted_plugins) struct mor_trusted_plugins all = { 0 };
	const struct mor_trusted_plugin *found;
	int r = mor_trusted_read(&list, err);

	if (r < 0 || (r = mor_trusted_scan(&list, &all, err)) < 0)
		return r;
	found = pick_trusted(&all, *word);
	if (!found)
		return 0;
	if (found->why)
		return mor_fail(err, MORTISE_EVIOLATION, "%s: %s", *word, found->why);
	r = take_path(cli, word, found->path, err);
	return r < 0 ? r : 1;
}

int mor_cli_named(struct mor_cli *cli, const char **word, mortise_error *err)
{
	mortise_error why = { 0 }, other = { 0 };
	int r = mor_store_is_pick(*word) ? find_installed(cli, word, &why) : 0, more;

	/* What lies here under the name of a plugin is never run for it: a directory that others can write, a
	 * clone for example, would choose what is run. */
	if (!mor_path_is_name(*word) || r == 1)
		return 0;
	more = r == 0 || r == MORTISE_ENOTFOUND ? find_trusted(cli, word, &other) : r;
	if (more < 0)
		why = other.text[0] ? other : why;
	else if (more == 0)
		more = mor_cli_not_installed(*word, &why);
	if (more < 0 && err)
		*err = why;
	return more < 0 ? more : 0;
}

int mor_cli_named_all(struct mor_cli *cli, const char **words, size_t count, mortise_error *err)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = mor_cli_named(cli, &words[i], err);
	return r;
}

void mor_cli_named_drop(struct mor_cli *cli)
{
	mor_text_list_free_texts(&cli->named.paths);
	cli->named.installed = 0;
}

/* ---- after the run ---- */

/* Nothing has run if the words were wrong. A method that is not there, a file that cannot be read: that says
 * nothing about the plugin. */
static bool says_something(const struct mor_cli *cli, int exit_code)
{
	return cli->named.installed == 1 && exit_code != mortise_status_exit_code(MORTISE_EINVAL) &&
	       !(exit_code && cli->console->failed.mistake);
}

void mor_cli_named_end(struct mor_cli *cli, int exit_code)
{
	struct mor_store_run run = { .at = (int64_t)time(NULL), .status = "ok" };
	struct mor_store store = { 0 };

	if (says_something(cli, exit_code) && mor_store_open(NULL, NULL, &store) == 0) {
		snprintf(run.version, sizeof(run.version), "%.64s", cli->named.version);
		if (exit_code) {
			snprintf(run.status, sizeof(run.status), "%.31s",
				 cli->console->failed.kind ? cli->console->failed.kind : "failed");
			snprintf(run.text, sizeof(run.text), "%.199s", cli->console->failed.text);
		}
		mor_store_run_write(&store, cli->named.name, &run);
	}
	mor_store_fini(&store);
	mor_cli_named_drop(cli);
}
