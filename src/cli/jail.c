/* SPDX-License-Identifier: Apache-2.0 */
/* mortise jail: runs any program, confined like a plugin, with our stdin, stdout and stderr. */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "console/report.h"
#include "console/signals.h"
#include "policy/cgroup.h"
#include "policy/policy.h"
#include "runner/network.h"
#include "workspace/undo.h"

struct jail_args {
	const char *workspace, *plugin_dir, *scratch, *level;
	bool write, git, undo, spawn, pidns;
	struct mor_text_list unprotect, network, read, limit, env;
	uint32_t landlock_abi;
	struct mor_common_args common;
};

#define FIELD(name) offsetof(struct jail_args, name)
static const struct mor_option jail_options[] = {
	{ "workspace", 'w', "DIR", "directory that it may read", MOR_OPT_TEXT, FIELD(workspace), NULL },
	{ "write", 0, NULL,
	  "it may write there too, except git directories and files that tools run by themselves", MOR_OPT_FLAG,
	  FIELD(write), NULL },
	{ "git", 0, NULL, "with --write: it may commit to git repositories there", MOR_OPT_FLAG, FIELD(git),
	  NULL },
	{ "unprotect", 0, "NAME",
	  "with --write: it may write NAME (.vscode, .envrc, .git ...); may be repeated", MOR_OPT_LIST,
	  FIELD(unprotect), NULL },
	{ "undo", 0, NULL, "undo what it wrote there if it fails", MOR_OPT_FLAG, FIELD(undo), NULL },
	{ "network", 0, "[=HOST:PORT,...]",
	  "it may connect to these places; without a list: use all of the network; may be repeated",
	  MOR_OPT_SOME, FIELD(network), NULL },
	{ "spawn", 0, NULL, "it may start programs, confined like itself", MOR_OPT_FLAG, FIELD(spawn), NULL },
	{ "read", 'r', "PATH", "file or directory that it may read; may be repeated", MOR_OPT_LIST, FIELD(read),
	  NULL },
	{ "plugin-dir", 0, "DIR", "directory that it came from: it may read it", MOR_OPT_TEXT,
	  FIELD(plugin_dir), NULL },
	{ "scratch", 0, "DIR", "its HOME and TMPDIR; default: a new directory that is removed at the end",
	  MOR_OPT_TEXT, FIELD(scratch), NULL },
	{ "limit", 'l', "NAME=VALUE",
	  "memory, cpu, files, file_size, wall, processes, threads or scratch_size; may be repeated",
	  MOR_OPT_LIST, FIELD(limit), NULL },
	{ "level", 0, "LEVEL", "auto (default), t0 or t1", MOR_OPT_TEXT, FIELD(level), "auto|t0|t1" },
	{ "pidns", 0, NULL, "a PID namespace at t0 too, or no start", MOR_OPT_FLAG, FIELD(pidns), NULL },
	{ "env", 'e', "NAME[=VALUE]", "environment variable for it; NAME alone: the value that mortise has",
	  MOR_OPT_LIST, FIELD(env), NULL },
	{ "landlock-abi", 0, "N", "for tests: use no more of Landlock than ABI N", MOR_OPT_UINT,
	  FIELD(landlock_abi), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", jail_options, 0 },
	{ "Common options:", mor_common_options, FIELD(common) },
	{ 0 },
};

/* ---- the policy as the library takes it ---- */

struct pairs {
	struct mor_text_list list; /* we own all strings in it */
	mortise_error *err;
};

static void pairs_fini(struct pairs *pairs)
{
	mor_text_list_free_texts(&pairs->list);
}

static int add_pair(struct pairs *pairs, const char *key, const char *value)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	char *pair;

	mor_buf_printf(&text, "%s=%s", key, value);
	pair = mor_buf_detach(&text);
	if (pair && mor_text_list_add(&pairs->list, pair) == 0)
		return 0;
	mor_free(pair);
	return mor_fail_memory(pairs->err);
}

/* Paths are relative to the directory where the user types them. A path that does not exist is a mistake of
 * the user. */
static int add_path(struct pairs *pairs, const char *option, const char *key, const char *path)
{
	char real[PATH_MAX];

	if (!path)
		return 0;
	if (!realpath(path, real))
		return mor_fail_errno(pairs->err, MORTISE_ENOTFOUND, errno, "--%s %s", option, path);
	return add_pair(pairs, key, real);
}

static int add_flag(struct pairs *pairs, const char *key, bool on)
{
	return on ? add_pair(pairs, key, "true") : 0;
}

static int add_network(struct pairs *pairs, const struct mor_text_list *words)
{
	MOR_CLEAN(mor_buf) struct mor_buf value = MOR_BUF_INIT;
	int r = mor_network_value(words, &value, pairs->err);

	if (r < 0 || !words->count)
		return r;
	return mor_buf_byte(&value, '\0') < 0 ? mor_fail_memory(pairs->err) :
						add_pair(pairs, "network", value.data);
}

static int add_limit(struct pairs *pairs, const char *word)
{
	const char *equals = strchr(word, '=');
	const struct mor_policy_key *key = mor_policy_keys;
	struct mor_slice name = { word, equals ? (size_t)(equals - word) : strlen(word) };

	while (key->name && !((key->flags & MOR_POLICY_LIMIT) && mor_slice_is(name, key->name)))
		key++;
	if (!equals || !key->name)
		return mor_fail(pairs->err, MORTISE_EINVAL,
				"--limit \"%s\": expected NAME=VALUE with memory, cpu, files, file_size, wall, "
				"processes, threads or scratch_size",
				word);
	return add_pair(pairs, key->name, equals + 1);
}

static int make_policy(const struct jail_args *args, struct pairs *pairs)
{
	int r;

	if (args->write && !args->workspace)
		return mor_fail(pairs->err, MORTISE_EINVAL, "--write needs --workspace DIR");
	if ((args->git || args->unprotect.count) && !args->write)
		return mor_fail(pairs->err, MORTISE_EINVAL, "--%s needs --workspace DIR and --write",
				args->git ? "git" : "unprotect");
	if (args->undo && !args->write)
		return mor_fail(pairs->err, MORTISE_EINVAL, "--undo needs --workspace DIR and --write");
	if ((r = add_pair(pairs, "level", args->level ? args->level : "auto")) < 0 ||
	    (r = add_path(pairs, "workspace", "workspace", args->workspace)) < 0 ||
	    (r = add_path(pairs, "plugin-dir", "plugin_dir", args->plugin_dir)) < 0 ||
	    (r = add_path(pairs, "scratch", "scratch", args->scratch)) < 0 ||
	    (r = add_flag(pairs, "workspace_write", args->write)) < 0 ||
	    (r = add_flag(pairs, "git", args->git)) < 0 || (r = add_network(pairs, &args->network)) < 0 ||
	    (r = add_flag(pairs, "spawn", args->spawn)) < 0 || (r = add_flag(pairs, "pidns", args->pidns)) < 0)
		return r;
	for (size_t i = 0; r == 0 && i < args->read.count; i++)
		r = add_path(pairs, "read", "read", args->read.item[i]);
	for (size_t i = 0; r == 0 && i < args->unprotect.count; i++)
		r = add_pair(pairs, "unprotect", args->unprotect.item[i]);
	for (size_t i = 0; r == 0 && i < args->limit.count; i++)
		r = add_limit(pairs, args->limit.item[i]);
	return r;
}

/* ---- the run ---- */

/* The first signal asks the program to end, the second kills it. */
static enum mortise_jail_order on_wakeup(void *arg)
{
	(void)arg;
	switch (mor_signals_count()) {
	case 0:
		return MORTISE_JAIL_GO_ON;
	case 1:
		return MORTISE_JAIL_TERM;
	default:
		return MORTISE_JAIL_KILL;
	}
}

/* stdout belongs to the program, so we write to stderr: first the line for people, then the record for
 * machines. */
static int report_violation(struct mor_cli *cli, const char *name, const mortise_jail_result *result,
			    const mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_violation what = { name, result->syscall, result->path, result->rule,
				      MOR_POLICY_OF_COMMAND };

	mor_report_line(cli->console, &(struct mor_report){ .error = err });
	if (cli->console->json && mor_violation_json(&what, &json) == 0)
		mor_note_slice(cli->console, mor_buf_view(&json));
	return result->exit_code;
}

/* Without --spawn the directories of other programs do not exist at t1, and a shell says only "not found". */
enum { SHELL_FOUND_NO_PROGRAM = 127 };

static int report(struct mor_cli *cli, const mortise_jail_options *opt, const mortise_jail_result *result,
		  int r, const mortise_error *err)
{
	const struct jail_args *args = cli->args;

	if (r == MORTISE_EVIOLATION)
		return report_violation(cli, opt->name, result, err);
	if (r == MORTISE_EINVAL)
		return mor_report_usage(cli->console, err);
	if (r < 0)
		return mor_report_error(cli->console, err);
	if (result->timed_out)
		mor_note(cli->console, "timeout: %s: it was stopped because its wall time was over", opt->name);
	else if (cli->console->verbose)
		mor_note(cli->console, "%s: ended with %d at level %s", opt->name, result->exit_code,
			 result->level);
	if (result->limits[0])
		mor_note(cli->console, "limit: %s reached its limit of %s", opt->name, result->limits);
	if (result->exit_code == SHELL_FOUND_NO_PROGRAM && !args->spawn)
		mor_note(cli->console, "note: %s cannot start other programs: add --spawn to allow it",
			 opt->name);
	return result->timed_out ? mortise_status_exit_code(MORTISE_ETIMEOUT) : result->exit_code;
}

/* The store is made last, when everything else is known to be right. */
static int begin_undoing(struct mor_cli *cli, const char *name, struct mor_workspace_undoing *undoing,
			 struct pairs *pairs)
{
	const struct jail_args *args = cli->args;
	char real[PATH_MAX];
	int r;

	if (!args->undo)
		return 0;
	if (!realpath(args->workspace, real))
		return mor_fail_errno(pairs->err, MORTISE_ENOTFOUND, errno, "--workspace %s", args->workspace);
	*undoing =
		(struct mor_workspace_undoing){ .console = cli->console, .without = "run it without --undo" };
	r = mor_workspace_undoing_begin(undoing, real, name, pairs->err);
	return r < 0 ? r : add_pair(pairs, "undo", mortise_undo_store(undoing->undo));
}

/* What was asked for and cannot hold here is told before it starts. */
static void warn_loose(struct mor_cli *cli, const struct jail_args *args)
{
	struct mor_policy asked = { .level = MOR_LEVEL_AUTO };
	struct mor_cgroups found;
	const char *text;

	for (const char *const *limit = args->limit.item; limit && *limit; limit++)
		if (strncmp(*limit, "memory=", 7) == 0)
			asked.limits.memory_bytes = 1;
	if (!asked.limits.memory_bytes)
		return;
	mor_cgroup_find_own(&found);
	text = mor_cgroup_loose(&asked, mor_cgroup_held(&found));
	if (text)
		mor_note(cli->console, "warning: %s", text);
}

static int jail_run(struct mor_cli *cli)
{
	const struct jail_args *args = cli->args;
	mortise_error err = { 0 };
	__attribute__((cleanup(pairs_fini))) struct pairs pairs = { .err = &err };
	mortise_jail_options opt = { .size = sizeof(opt),
				     .argv = cli->words.tail,
				     .env = args->env.item,
				     .landlock_abi_cap = args->landlock_abi,
				     .on_wakeup = on_wakeup };
	mortise_jail_result result = { .size = sizeof(result) };
	__attribute__((cleanup(mor_workspace_undoing_fini))) struct mor_workspace_undoing undoing = { 0 };
	int r;

	if (cli->words.count || !cli->words.tail || !cli->words.tail[0]) {
		mor_fail(&err, MORTISE_EINVAL,
			 "write the program after \"--\": mortise jail [OPTION...] -- PROGRAM [ARG...]");
		return mor_report_usage(cli->console, &err);
	}
	opt.name = mor_base_name(cli->words.tail[0]);
	r = make_policy(args, &pairs);
	if (r == 0)
		r = begin_undoing(cli, opt.name, &undoing, &pairs);
	if (r == 0)
		/* needed for its wake-up: a signal ends the wait through it */
		r = mortise_host_new(NULL, &opt.host, &err);
	if (r == 0) {
		opt.policy = pairs.list.item;
		warn_loose(cli, args);
		mor_signals_host(opt.host);
		r = mortise_jail_run(&opt, &result, &err);
		mor_signals_host(NULL);
		mortise_host_free(opt.host);
	}
	mor_workspace_undoing_end(&undoing, r < 0 || result.exit_code || result.timed_out);
	r = report(cli, &opt, &result, r, &err);
	mor_workspace_undoing_tell(&undoing);
	return r;
}

const struct mor_cli_command mor_cli_command_jail = {
	.name = "jail",
	.group = "This machine:",
	.summary = "run any program confined, as a plugin would be",
	.usage = "jail [OPTION…] -- PROGRAM [ARG…]",
	.words = "file",
	.description =
		"PROGRAM may read the system's libraries and what the options name, nothing else. It has no "
		"network and\n"
		"cannot start programs unless an option allows it. The first thing it tries beyond that kills "
		"it: exit\n"
		"status 9, and one line on stderr (with --json also a record there) says what it was.\n"
		"Otherwise our exit status is the program's. 125: the jail could not be set up, and nothing "
		"was run.",
	.examples = "mortise jail --workspace . -- python3 report.py\n"
		    "mortise jail -w . --write --limit cpu=30s --limit memory=1GiB -- ./indexer\n"
		    "mortise jail -w . --write --undo -- ./indexer\n"
		    "mortise jail --network=api.example.com:443 --read ~/.config/tool -- ./tool",
	.options = groups,
	.args_size = sizeof(struct jail_args),
	.common = FIELD(common),
	.run = jail_run,
};
