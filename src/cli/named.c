/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Installed plugins by their names, for every command that takes a PLUGIN: the word is replaced by the path of
 * the plugin's directory before the command looks at it. And how their last run ended.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "store/store.h"

/* A path wins over a name. A session (@NAME) is none of the two. */
static bool may_be_name(const char *word)
{
	return mor_store_is_name(word) && access(word, F_OK) < 0;
}

/* Only the first one is noted: a command with several plugins ends in one way, which is not that of each. */
static int take_path(struct mor_cli *cli, const char **word, struct mor_installed *found, mortise_error *err)
{
	char *path = mor_strdup(found->path);

	if (!path || mor_text_list_add(&cli->named.paths, path) < 0) {
		mor_free(path);
		return mor_fail_memory(err);
	}
	if (cli->named.paths.count == 1) {
		snprintf(cli->named.name, sizeof(cli->named.name), "%s", found->name);
		snprintf(cli->named.version, sizeof(cli->named.version), "%s", found->version);
	}
	*word = path;
	return 0;
}

int mor_cli_named(struct mor_cli *cli, const char **word, mortise_error *err)
{
	struct mor_store store = { 0 };
	struct mor_installed found = { 0 };
	int r;

	if (!may_be_name(*word))
		return 0;
	if (mor_store_open(NULL, NULL, &store) < 0)
		return mor_fail_memory(err);
	/* Without a store nobody means a name: what is wrong is the path. */
	if (!store.plugins || access(store.plugins, F_OK) < 0)
		r = 0;
	else if ((r = mor_store_find(&store, *word, &found, err)) == 0)
		r = take_path(cli, word, &found, err);
	mor_installed_fini(&found);
	mor_store_fini(&store);
	return r;
}

int mor_cli_named_all(struct mor_cli *cli, const char **words, size_t count, mortise_error *err)
{
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = mor_cli_named(cli, &words[i], err);
	return r;
}

/* ---- after the run ---- */

/* Nothing has run if the words were wrong. */
static bool has_run(const struct mor_cli *cli, int exit_code)
{
	return cli->named.paths.count == 1 && exit_code != mortise_status_exit_code(MORTISE_EINVAL);
}

void mor_cli_named_end(struct mor_cli *cli, int exit_code)
{
	struct mor_store_run run = { .at = (int64_t)time(NULL), .status = "ok" };
	struct mor_store store = { 0 };

	if (has_run(cli, exit_code) && mor_store_open(NULL, NULL, &store) == 0) {
		snprintf(run.version, sizeof(run.version), "%.64s", cli->named.version);
		if (exit_code) {
			snprintf(run.status, sizeof(run.status), "%.31s",
				 cli->console->failed.kind ? cli->console->failed.kind : "failed");
			snprintf(run.text, sizeof(run.text), "%.199s", cli->console->failed.text);
		}
		mor_store_run_write(&store, cli->named.name, &run);
	}
	mor_store_fini(&store);
	mor_text_list_free_texts(&cli->named.paths);
}
