/* SPDX-License-Identifier: Apache-2.0 */
/* mortise lock: which plugins a project uses (src/kit/lockfile). */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "lockfile/lockfile.h"

struct lock_args {
	bool remove;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct lock_args, name)
static const struct mor_option lock_options[] = {
	{ "remove", 0, NULL, "the project does not use these any more", MOR_OPT_FLAG, FIELD(remove), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", lock_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* What is to be pinned. */
struct lock_work {
	struct mor_store store;
	struct mor_lockfile lock;
	struct mor_installed *plugins;
	struct mor_lockfile_facts *facts;
	struct mor_lockfile_edit *edits;
	size_t count; /* of all three */
};

static void lock_work_fini(struct lock_work *work)
{
	for (size_t i = 0; i < work->count; i++)
		mor_installed_fini(&work->plugins[i]);
	mor_free(work->plugins);
	mor_free(work->facts);
	mor_free(work->edits);
	mor_lockfile_fini(&work->lock);
	mor_store_fini(&work->store);
}

/* 1.0.0~0123abcd is what 1.0.0 was before it was replaced (docs/design/0008-store.md). */
static bool was_replaced(const struct mor_installed *plugin)
{
	const char *mark = strrchr(plugin->version, '~');

	return mark && strlen(mark + 1) == 8 && strncmp(mark + 1, plugin->digest, 8) == 0;
}

/* Only what was approved, and is unchanged, is worth pinning: others could not get it. */
static int check_plugin(const struct mor_installed *plugin, mortise_error *err)
{
	MOR_CLEAN(mor_store_check) struct mor_store_check check = { 0 };
	int r = mor_store_verify(plugin, &check, err);

	if (r < 0)
		return r;
	if (check.found.changes.count)
		return mor_fail(err, MORTISE_EVIOLATION,
				"%s: %s was %s since you approved it; to agree, type: mortise approve %s@%s",
				plugin->name, check.found.changes.items[0].path,
				mor_content_change_name(check.found.changes.items[0].kind), plugin->name,
				plugin->version);
	if (was_replaced(plugin))
		return mor_fail(err, MORTISE_EINPUT,
				"%s %s is what was replaced by another content of the same version: nobody "
				"else can get it; install it again, or another version",
				plugin->name, plugin->version);
	if (!plugin->approved)
		return mor_fail(err, MORTISE_EVIOLATION, "%s %s is not approved; type: mortise approve %s@%s",
				plugin->name, plugin->version, plugin->name, plugin->version);
	return 0;
}

static int add_plugin(struct lock_work *work, const char *word, mortise_error *err)
{
	struct mor_installed *plugin = &work->plugins[work->count];
	int r = mor_store_find(&work->store, word, plugin, err);

	if (r < 0)
		return r;
	work->facts[work->count] = mor_lockfile_facts_of(plugin);
	work->edits[work->count] = (struct mor_lockfile_edit){ plugin->name, &work->facts[work->count] };
	work->count++;
	return check_plugin(plugin, err);
}

static int drop_plugin(struct lock_work *work, const char *name, mortise_error *err)
{
	if (!mor_lockfile_get(&work->lock, name))
		return mor_fail(err, MORTISE_ENOTFOUND, "%s pins no plugin called \"%s\"", work->lock.path,
				name);
	work->edits[work->count++] = (struct mor_lockfile_edit){ name, NULL };
	return 0;
}

/* Without names: all that are pinned, in the versions that are in use. */
static int collect_edits(struct mor_cli *cli, struct lock_work *work, mortise_error *err)
{
	const struct lock_args *args = cli->args;
	const struct mor_words *words = &cli->words;
	size_t count = words->count ? words->count : work->lock.count;
	int r = 0;

	work->plugins = mor_zalloc((count + 1) * sizeof(*work->plugins));
	work->facts = mor_zalloc((count + 1) * sizeof(*work->facts));
	work->edits = mor_zalloc((count + 1) * sizeof(*work->edits));
	if (!work->plugins || !work->facts || !work->edits)
		return mor_fail_memory(err);
	for (size_t i = 0; r == 0 && i < count; i++) {
		const char *word = words->count ? words->item[i] : work->lock.items[i].name;

		r = args->remove ? drop_plugin(work, word, err) : add_plugin(work, word, err);
	}
	return r;
}

static void tell_edit(struct mor_console *console, const struct mor_lockfile *lock,
		      const struct mor_lockfile_edit *edit)
{
	const struct mor_lockfile_entry *old = mor_lockfile_get(lock, edit->name);

	if (!edit->facts)
		mor_outf(console, "  %s: no longer pinned\n", edit->name);
	else if (!old)
		mor_outf(console, "  %s %s\n", edit->name, edit->facts->version);
	else if (strcmp(old->version, edit->facts->version) != 0)
		mor_outf(console, "  %s %s, before: %s\n", edit->name, edit->facts->version, old->version);
	else if (strcmp(old->digest, edit->facts->digest) != 0)
		mor_outf(console, "  %s %s, with other content\n", edit->name, edit->facts->version);
}

static void tell_json(struct mor_cli *cli, const struct lock_work *work, bool changed)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	mor_w_pair(&w, "file", work->lock.path);
	mor_w_pair_bool(&w, "changed", changed);
	mor_w_end(&w);
	mor_out_json(cli->console, mor_buf_view(&json));
}

static int lock_plugins(struct mor_cli *cli, struct lock_work *work, mortise_error *err)
{
	bool changed = false;
	int r = mor_lockfile_find(&work->lock, err);

	if (r == 0 && !cli->words.count)
		return mor_fail(err, MORTISE_ENOTFOUND,
				"there is no " MOR_LOCKFILE_NAME
				" here or in a directory above: name the plugins that the project uses");
	if (r == 0)
		r = mor_lockfile_new(&work->lock, err);
	if (r >= 0 && mor_store_open(NULL, NULL, &work->store) < 0)
		r = mor_fail_memory(err);
	if (r >= 0)
		r = collect_edits(cli, work, err);
	if (r >= 0)
		r = mor_lockfile_write(&work->lock, work->edits, work->count, &changed, err);
	if (r < 0)
		return r;
	if (cli->console->json) {
		tell_json(cli, work, changed);
		return 0;
	}
	mor_outf(cli->console, "%s%s\n", work->lock.path, changed ? "" : ": nothing has changed");
	for (size_t i = 0; changed && i < work->count; i++)
		tell_edit(cli->console, &work->lock, &work->edits[i]);
	return 0;
}

static int lock_run(struct mor_cli *cli)
{
	const struct lock_args *args = cli->args;
	MOR_CLEAN(lock_work) struct lock_work work = { 0 };
	mortise_error err = { 0 };

	if (cli->words.tail || (args->remove && !cli->words.count))
		return mor_report_misuse(cli->console, "lock takes names of installed plugins");
	return lock_plugins(cli, &work, &err) < 0 ? mor_report_error(cli->console, &err) : 0;
}

const struct mor_cli_command mor_cli_command_lock = {
	.row = MOR_CLI_ROW(lock),
	.usage = "lock [NAME[@VERSION]...]\nlock --remove NAME...",
	.words = "installed",
	.description =
		"Writes " MOR_LOCKFILE_NAME
		" in the project: the version, content, permissions and interface of each plugin that\n"
		"the project uses, and where it comes from. The file is the one in the working directory or in "
		"a directory above;\n"
		"without one, a new one is made here. Without names, all that are pinned are pinned again, in "
		"the versions\n"
		"that are installed now. Put the file under version control.\n"
		"Below the project, NAME then means the pinned version. 'mortise install --locked' installs "
		"what is pinned\n"
		"on another machine, and 'mortise outdated' says what differs.",
	.examples = "mortise lock greeter csv-sql\n"
		    "mortise lock greeter@1.2.0\n"
		    "mortise lock --remove csv-sql",
	.options = groups,
	MOR_CLI_ARGS(lock_args),
	.run = lock_run,
};
