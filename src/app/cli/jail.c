/* SPDX-License-Identifier: Apache-2.0 */
/* mortise jail: runs any program, confined like a plugin, with our stdin, stdout and stderr. */
#include "cli/cli.h"
#include "console/report.h"
#include "jailed/jailed.h"

struct jail_args {
	struct mor_jailed_plan plan;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct jail_args, name)
#define PLAN(name)  FIELD(plan.name)
static const struct mor_option jail_options[] = {
	{ "workspace", 'w', "DIR", "directory that it may read", MOR_OPT_TEXT, PLAN(workspace), NULL },
	{ "write", 0, NULL,
	  "it may write there too, except git directories and files that tools run by themselves", MOR_OPT_FLAG,
	  PLAN(write), NULL },
	{ "git", 0, NULL, "with --write: it may commit to git repositories there", MOR_OPT_FLAG, PLAN(git),
	  NULL },
	{ "unprotect", 0, "NAME",
	  "with --write: it may write NAME (.vscode, .envrc, .git ...); may be repeated", MOR_OPT_LIST,
	  PLAN(unprotect), NULL },
	{ "undo", 0, NULL, "undo what it wrote there if it fails", MOR_OPT_FLAG, PLAN(undo), NULL },
	{ "network", 0, "[=HOST:PORT,...]",
	  "it may connect to these places; without a list: use all of the network; may be repeated",
	  MOR_OPT_SOME, PLAN(network), NULL },
	{ "spawn", 0, NULL, "it may start programs, confined like itself", MOR_OPT_FLAG, PLAN(spawn), NULL },
	{ "read", 'r', "PATH", "file or directory that it may read; may be repeated", MOR_OPT_LIST, PLAN(read),
	  NULL },
	{ "plugin-dir", 0, "DIR", "directory that it came from: it may read it", MOR_OPT_TEXT, PLAN(plugin_dir),
	  NULL },
	{ "scratch", 0, "DIR", "its HOME and TMPDIR; default: a new directory that is removed at the end",
	  MOR_OPT_TEXT, PLAN(scratch), NULL },
	{ "limit", 'l', "NAME=VALUE",
	  "memory, cpu, files, file_size, wall, processes, threads or scratch_size; may be repeated",
	  MOR_OPT_LIST, PLAN(limit), NULL },
	{ "level", 0, "LEVEL", "auto (default), t0 or t1", MOR_OPT_TEXT, PLAN(level), "auto|t0|t1" },
	{ "on-denial", 0, "MODE",
	  "what it may not do fails (deny, the default) or kills it (kill, exit status 9)", MOR_OPT_TEXT,
	  PLAN(on_denial), "deny|kill" },
	{ "record-fd", 0, "FD", "write JSON records of denials and of the end to this open descriptor",
	  MOR_OPT_TEXT, PLAN(record), NULL },
	{ "pidns", 0, NULL, "a PID namespace at t0 too, or no start", MOR_OPT_FLAG, PLAN(pidns), NULL },
	{ "env", 'e', "NAME[=VALUE]", "environment variable for it; NAME alone: the value that mortise has",
	  MOR_OPT_LIST, PLAN(env), NULL },
	{ "learn", 0, NULL, "let it read and start anything, note what it needs, and write the smallest policy",
	  MOR_OPT_FLAG, PLAN(learn), NULL },
	{ "audit", 0, NULL, "the same report of what was denied, without allowing it", MOR_OPT_FLAG,
	  PLAN(audit), NULL },
	{ "output", 'o', "FILE", "with --learn, --audit: write the policy to this file, as [sandbox]",
	  MOR_OPT_TEXT, PLAN(output), NULL },
	{ "yes", 0, NULL, "with --learn: do not ask", MOR_OPT_FLAG, PLAN(yes), NULL },
	{ "landlock-abi", 0, "N", "for tests: use no more of Landlock than ABI N", MOR_OPT_UINT,
	  PLAN(landlock_abi), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", jail_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

static int jail_run(struct mor_cli *cli)
{
	struct jail_args *args = cli->args;

	if (cli->words.count || !cli->words.tail || !cli->words.tail[0])
		return mor_report_misuse(
			cli->console,
			"write the program after \"--\": mortise jail [OPTION...] -- PROGRAM [ARG...]");
	args->plan.argv = cli->words.tail;
	return mor_jailed_run(cli->console, &args->plan);
}

const struct mor_cli_command mor_cli_command_jail = {
	.row = MOR_CLI_ROW(jail),
	.usage = "jail [OPTION…] -- PROGRAM [ARG…]",
	.words = "file",
	.description =
		"PROGRAM may read the system's libraries and what the options name, nothing else. It has no "
		"network and\n"
		"cannot start programs unless an option allows it. What it tries beyond that fails, and one "
		"line at the\n"
		"end says what it was and which option would allow it. What no honest program tries kills it, "
		"and with\n"
		"--on-denial=kill so does everything else: exit status 9.\n"
		"Otherwise our exit status is the program's; 124: its wall limit was over; 125: the jail could "
		"not be set\n"
		"up, or the line is wrong; 126, 127: the program cannot be run, or was not found.",
	.examples = "mortise jail --workspace . -- python3 report.py\n"
		    "mortise jail -w . --write --limit cpu=30s --limit memory=1GiB -- ./indexer\n"
		    "mortise jail -w . --write --undo -- ./indexer\n"
		    "mortise jail --network=api.example.com:443 --read ~/.config/tool -- ./tool\n"
		    "mortise jail --learn --yes -w . -o policy.toml -- make test",
	.options = groups,
	MOR_CLI_ARGS(jail_args),
	.own_exit = MOR_JAILED_NOT_RUN, /* nothing was run: no status that the program could have */
	.run = jail_run,
};
