/* SPDX-License-Identifier: Apache-2.0 */
/* mortise outdated: what differs between the project's lock, the store and the registries. */
#include "lockfile/outdated.h"
#include "base/alloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "console/table.h"

struct outdated_args {
	bool all;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct outdated_args, name)
static const struct mor_option outdated_options[] = {
	{ "all", 'a', NULL, "all installed plugins, not only those of the project", MOR_OPT_FLAG, FIELD(all),
	  NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", outdated_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

#define DIFFERS 1 /* exit status */

struct outdated_work {
	struct mor_store store;
	struct mor_lockfile lock;
	struct mor_table table;
	struct mor_buf json;
	struct mor_writer w;
	size_t differences;
};

static void outdated_work_fini(struct outdated_work *work)
{
	mor_lockfile_fini(&work->lock);
	mor_store_fini(&work->store);
	mor_table_fini(&work->table);
	mor_buf_fini(&work->json);
}

static void on_plugin(const struct mor_outdated *plugin, void *arg)
{
	struct outdated_work *work = arg;
	const struct {
		const char *name, *value;
	} members[] = {
		{ "name", plugin->name },           { "locked", plugin->locked },
		{ "installed", plugin->installed }, { "newest", plugin->newest },
		{ "registry", plugin->registry },   { "differs", *plugin->differs ? plugin->differs : NULL }
	};

	mor_w_object(&work->w);
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		mor_w_pair(&work->w, members[i].name, members[i].value);
	mor_w_end(&work->w);
	if (!*plugin->differs)
		return;
	work->differences++;
	mor_table_add(&work->table,
		      (const char *const[]){ plugin->name, plugin->locked ? plugin->locked : "-",
					     plugin->installed ? plugin->installed : "-",
					     plugin->newest ? plugin->newest : "-", plugin->differs, NULL });
}

static int find_outdated(struct mor_cli *cli, struct outdated_work *work, mortise_error *err)
{
	static const char *const titles[] = { "NAME", "LOCKED", "INSTALLED", "NEWEST", "WHAT DIFFERS", NULL };
	const struct outdated_args *args = cli->args;
	int r;

	work->w.out = &work->json;
	mor_table_add(&work->table, titles);
	mor_w_object(&work->w);
	mor_w_pair_bool(&work->w, "ok", true);
	mor_w_pair_array(&work->w, "plugins");
	if (mor_store_open(NULL, NULL, &work->store) < 0)
		return mor_fail_memory(err);
	r = mor_lockfile_find(&work->lock, err);
	if (r >= 0)
		r = mor_lockfile_outdated(&work->lock, &work->store, args->all, on_plugin, work, err);
	mor_w_end(&work->w);
	mor_w_pair_int(&work->w, "differences", (int64_t)work->differences);
	mor_w_pair(&work->w, "lock", work->lock.path);
	mor_w_end(&work->w);
	if (r < 0 || mor_buf_failed(&work->json))
		return r < 0 ? r : mor_fail_memory(err);
	if (cli->console->json)
		mor_out_json(cli->console, mor_buf_view(&work->json));
	else if (work->differences)
		r = mor_table_print(&work->table, cli->console, err);
	return r;
}

static int outdated_run(struct mor_cli *cli)
{
	MOR_CLEAN(outdated_work) struct outdated_work work = { 0 };
	mortise_error err = { 0 };

	if (cli->words.count || cli->words.tail)
		return mor_report_misuse(cli->console, "outdated takes no words");
	if (find_outdated(cli, &work, &err) < 0)
		return mor_report_error(cli->console, &err);
	return work.differences ? DIFFERS : 0;
}

const struct mor_cli_command mor_cli_command_outdated = {
	.row = MOR_CLI_ROW(outdated),
	.usage = "outdated [--all]",
	.words = "",
	.description =
		"In a project: one line for each plugin of its " MOR_LOCKFILE_NAME
		" that is not installed as pinned, or of which\n"
		"the registry has a newer version or another content. Elsewhere, and with --all: the same for "
		"the installed plugins\n"
		"that came from a registry. Nothing is printed if nothing differs.\n"
		"The exit status is 0 if nothing differs, and 1 if something does.",
	.examples = "mortise outdated\nmortise outdated --all --json",
	.options = groups,
	MOR_CLI_ARGS(outdated_args),
	.run = outdated_run,
};
