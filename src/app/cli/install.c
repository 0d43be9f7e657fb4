/* SPDX-License-Identifier: Apache-2.0 */
/* mortise install, upgrade, approve: three ways to the same question (src/app/installer). */
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "console/signals.h"
#include "installer/installer.h"
#include "store/store.h"

struct install_args {
	bool yes, confine, locked;
	const char *from;
	struct mor_text_list allow;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct install_args, name)
static const struct mor_option install_options[] = {
	{ "yes", 'y', NULL, "agree to what it asks for, unless that is more than you agreed to before",
	  MOR_OPT_FLAG, FIELD(yes), NULL },
	{ "allow", 0, "WORDS", "agree to these: network,read,spawn,write,unconfined,downgrade,replace",
	  MOR_OPT_LIST, FIELD(allow), NULL },
	{ "confine", 0, NULL, "a plugin without permissions in its manifest: run it confined, always",
	  MOR_OPT_FLAG, FIELD(confine), NULL },
	{ 0 },
};
static const struct mor_option from_options[] = {
	{ "from", 0, "DIR", "NAME is a plugin of the registry in this directory", MOR_OPT_TEXT, FIELD(from),
	  NULL },
	{ 0 },
};
static const struct mor_option locked_options[] = {
	{ "locked", 0, NULL, "what the project's mortise.lock pins, and nothing else", MOR_OPT_FLAG,
	  FIELD(locked), NULL },
	{ 0 },
};
static const struct mor_option_group install_groups[] = {
	{ "Where it comes from:", from_options, 0 },
	{ "A project:", locked_options, 0 },
	{ "Options:", install_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};
static const struct mor_option_group upgrade_groups[] = {
	{ "Where it comes from:", from_options, 0 },
	{ "Options:", install_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};
static const struct mor_option_group approve_groups[] = {
	{ "Options:", install_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* What the user agrees to. */
static int fill_order(struct mor_cli *cli, struct mor_installer_order *order, mortise_error *err)
{
	const struct install_args *args = cli->args;

	order->yes = args->yes;
	order->confine |= args->confine;
	order->command = cli->command->row->name;
	order->line = (const char *const *)cli->argv;
	return mor_installer_allow(args->allow.item, &order->allow, err);
}

static int run_order(struct mor_cli *cli, struct mor_installer_order *order, mortise_error *err)
{
	int r = fill_order(cli, order, err);

	return r < 0 ? r : mor_installer_run(cli->console, order, err);
}

static int finish_order(struct mor_cli *cli, int r, const mortise_error *err)
{
	if (r == 0)
		return 0;
	if (r == MORTISE_ECANCELED && mor_signals_count())
		return mor_report_interrupted(cli->console, mor_signals_exit_code());
	return mor_report_cause(cli->console, err);
}

static int install_locked(struct mor_cli *cli)
{
	const struct install_args *args = cli->args;
	const struct mor_text_list names = { cli->words.item, cli->words.count };
	struct mor_installer_order order = { 0 };
	mortise_error err = { 0 };

	if (cli->words.tail)
		mor_fail(&err, MORTISE_EINVAL, "install --locked takes names");
	else
		fill_order(cli, &order, &err);
	return err.code ? mor_report_usage(cli->console, &err) :
			  mor_installer_run_locked(cli->console, &order, &names, args->from);
}

static int install_run(struct mor_cli *cli)
{
	const struct install_args *args = cli->args;
	struct mor_installer_order order = { 0 };
	mortise_error err = { 0 };
	int r;

	if (args->locked)
		return install_locked(cli);
	if (cli->words.count != 1 || cli->words.tail) {
		r = mor_fail(&err, MORTISE_EINVAL,
			     "install takes one DIR or ARCHIVE, NAME and --from DIR, or --locked");
	} else if (args->from) {
		r = fill_order(cli, &order, &err);
		if (r == 0)
			r = mor_installer_run_from(cli->console, &order, cli->words.item[0], args->from, &err);
	} else {
		order.from = cli->words.item[0];
		r = run_order(cli, &order, &err);
	}
	return finish_order(cli, r, &err);
}

static int upgrade_run(struct mor_cli *cli)
{
	const struct install_args *args = cli->args;
	struct mor_installer_order order = { 0 };
	mortise_error err = { 0 };
	int r;

	if (cli->words.count < 1 || cli->words.count > (args->from ? 1 : 2) || cli->words.tail) {
		r = mor_fail(&err, MORTISE_EINVAL,
			     "upgrade takes a NAME, and a DIR or ARCHIVE unless it came from a registry");
	} else if (cli->words.count == 1) {
		r = fill_order(cli, &order, &err);
		if (r == 0)
			r = mor_installer_run_newer(cli->console, &order, cli->words.item[0], args->from, &err);
	} else {
		order.name = cli->words.item[0];
		order.from = cli->words.item[1];
		r = run_order(cli, &order, &err);
	}
	return finish_order(cli, r, &err);
}

/* The installed directory itself is what is looked at. */
static int approve_found(struct mor_cli *cli, mortise_error *err)
{
	struct mor_store store = { 0 };
	struct mor_installed plugin = { 0 };
	struct mor_installer_order order = { .approve = true };
	int r = mor_store_open(NULL, NULL, &store) < 0 ?
			mor_fail_memory(err) :
			mor_store_find(&store, cli->words.item[0], &plugin, err);

	if (r == 0) {
		order.name = plugin.name;
		order.version = plugin.version;
		order.from = plugin.path;
		order.confine = plugin.confine;
		r = run_order(cli, &order, err);
	}
	mor_installed_fini(&plugin);
	mor_store_fini(&store);
	return r;
}

static int approve_run(struct mor_cli *cli)
{
	mortise_error err = { 0 };
	int r;

	if (cli->words.count != 1 || cli->words.tail)
		r = mor_fail(&err, MORTISE_EINVAL, "approve takes one NAME");
	else
		r = approve_found(cli, &err);
	return finish_order(cli, r, &err);
}

const struct mor_cli_command mor_cli_command_install = {
	.row = MOR_CLI_ROW(install),
	.usage = "install DIR|ARCHIVE [--yes] [--allow WORDS] [--confine]\n"
		 "install NAME[@RANGE] --from DIR [...]\n"
		 "install --locked [NAME...] [--from DIR] [...]",
	.words = "file",
	.description =
		"Copies the plugin in DIR, or in an ARCHIVE (tar, tar.gz, tar.zst, zip), into your store. "
		"Shows its name, version\n"
		"and protocol, who signed it, what it says about itself (in quotes), what it runs and offers, "
		"its files, and what it\n"
		"may do, path by path. Nothing of it is run. Then asks, if it wants the network, other "
		"programs, files outside, to\n"
		"write your workspace, or everything. Without a terminal the answer is no, with the line to "
		"type.\n"
		"From then on NAME is enough for other commands, and the plugin starts only while its files "
		"are those that you saw.\n"
		"Several versions lie side by side; the last one installed is the one that NAME means.\n"
		"--from: the newest version in a team's registry that fits RANGE: 1.2.3, 1.2, ^1.2, ~1.2, "
		"\">=1,<2\".\n"
		"--locked: the versions that mortise.lock pins, here or in a directory above. Nothing that "
		"differs is installed.",
	.examples = "mortise install build/plugins/csv-sql --confine\n"
		    "mortise install greeter@^1.2 --from /srv/plugins\n"
		    "mortise install --locked --allow network\n"
		    "mortise install build/plugins/spl-token-2022 --allow write\n"
		    "mortise install ~/src/weather --yes",
	.options = install_groups,
	MOR_CLI_ARGS(install_args),
	.run = install_run,
};

const struct mor_cli_command mor_cli_command_upgrade = {
	.row = MOR_CLI_ROW(upgrade),
	.usage = "upgrade NAME DIR|ARCHIVE [--yes] [--allow WORDS] [--confine]\n"
		 "upgrade NAME[@RANGE] [--from DIR] [...]",
	.words = "installed",
	.description =
		"Like install, for a plugin that is installed: shows which files and permissions are "
		"different. Wider permissions,\n"
		"an older version, and a signature that is lost or of another key need --allow, or a person at "
		"a terminal; --yes is\n"
		"not enough. The old version stays: mortise rollback NAME goes back to it.\n"
		"Without DIR or ARCHIVE: the newest version in the registry that it came from, or in --from "
		"DIR.",
	.examples = "mortise upgrade greeter\n"
		    "mortise upgrade csv-sql ~/src/csv-sql\n"
		    "mortise upgrade weather ~/src/weather --allow network",
	.options = upgrade_groups,
	MOR_CLI_ARGS(install_args),
	.run = upgrade_run,
};

const struct mor_cli_command mor_cli_command_approve = {
	.row = MOR_CLI_ROW(approve),
	.usage = "approve NAME[@VERSION] [--yes] [--allow WORDS]",
	.words = "installed",
	.description = "A plugin whose files are not those that you saw does not start. Shows which files were "
		       "added, changed or removed,\n"
		       "and what it may do now, and asks. Bytecode caches (__pycache__) are removed.",
	.examples = "mortise approve csv-sql\nmortise approve csv-sql --yes",
	.options = approve_groups,
	MOR_CLI_ARGS(install_args),
	.run = approve_run,
};
