/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the plugin that a command is about. Also has the options that all such commands share. */
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"
#include "converse/once.h"
#include "runner/runner.h"

#define FIELD(name) offsetof(struct mor_plugin_args, name)
const struct mor_option mor_plugin_option_table[] = {
	{ "dialect", 'd', "DIALECT",
	  "protocol to speak; default: the manifest's, else plain (extract: yams, index: kythe)", MOR_OPT_TEXT,
	  FIELD(dialect), NULL },
	{ "framing", 0, "FRAMING", "framing of messages: lines, headers, be32 or decimal", MOR_OPT_TEXT,
	  FIELD(framing), "lines|headers|be32|decimal" },
	{ "proto", 0, "FILE",
	  "descriptor set with the plugin's gRPC services (protoc --include_imports -o FILE)", MOR_OPT_TEXT,
	  FIELD(proto), NULL },
	{ "config", 'c', "CONFIG", "configuration for the plugin: FILE, JSON or KEY=VALUE; may be repeated",
	  MOR_OPT_LIST, FIELD(config), NULL },
	{ "set", 's', "SECTION.KEY=VALUE", "any setting of mortise.toml", MOR_OPT_LIST, FIELD(set), NULL },
	{ "env", 'e', "NAME[=VALUE]",
	  "environment variable for the plugin; NAME alone: the value that mortise has", MOR_OPT_LIST,
	  FIELD(env), NULL },
	{ "clean-env", 0, NULL, "start it with a minimal environment", MOR_OPT_FLAG, FIELD(clean_env), NULL },
	{ "inherit-env", 0, NULL, "start it with the environment of mortise", MOR_OPT_FLAG, FIELD(inherit_env),
	  NULL },
	{ "timeout", 't', "[METHOD=]DURATION", "time limit of the call, or of one METHOD: 500ms, 30s, 5m",
	  MOR_OPT_LIST, FIELD(timeout), NULL },
	{ "confine", 0, NULL, "confine it: files, network and programs only as [sandbox] allows", MOR_OPT_FLAG,
	  FIELD(confine), NULL },
	{ "network", 0, "[=HOST:PORT,...]",
	  "confine it, but let it connect to these places; without a list: to any; may be repeated",
	  MOR_OPT_SOME, FIELD(network), NULL },
	{ "level", 0, "LEVEL", "level of the sandbox: auto, t0, t1, or guarded (not confined)", MOR_OPT_TEXT,
	  FIELD(level), "auto|t0|t1|guarded" },
	{ "on-denial", 0, "MODE",
	  "what a confined plugin may not do fails (deny, the default) or kills it (kill)", MOR_OPT_TEXT,
	  FIELD(on_denial), "deny|kill" },
	{ "pidns", 0, NULL, "run it in its own PID namespace, at every level", MOR_OPT_FLAG, FIELD(pidns),
	  NULL },
	{ "unconfined", 0, NULL, "enforce none of its permissions; warns every time", MOR_OPT_FLAG,
	  FIELD(unconfined), NULL },
	{ "strict", 0, NULL, "accept no deviation from the protocol, and show each", MOR_OPT_FLAG,
	  FIELD(strict), NULL },
	{ "show-wire", 0, NULL, "show each message on stderr: > to the plugin, < from it", MOR_OPT_FLAG,
	  FIELD(show_wire), NULL },
	{ 0 },
};

#define EXTRA(name) offsetof(struct mor_converse_extra, name)
const struct mor_option mor_gassist_options[] = {
	{ "system-info", 0, "TEXT", "what the plugin may know about this machine; @FILE is read", MOR_OPT_TEXT,
	  EXTRA(system_info), NULL },
	{ "session-limit", 0, "DURATION", "time limit of a whole conversation; default 5m, 0: no limit",
	  MOR_OPT_TEXT, EXTRA(session_limit), NULL },
	{ 0 },
};

/* With a command after "--", all words belong to our command: none of them is PLUGIN. */
int mor_cli_target_word(struct mor_cli *cli, const char **ret_path, const char *const **ret_argv,
			mortise_error *err)
{
	struct mor_words *words = &cli->words;

	if (words->tail) {
		if (!words->tail[0])
			return mor_fail(err, MORTISE_EINVAL, "write a command after \"--\"");
		*ret_path = NULL;
		*ret_argv = words->tail;
		return 0;
	}
	if (words->count == 0)
		return mor_fail(err, MORTISE_EINVAL,
				"name a PLUGIN: an installed one by its name, a directory or file as ./NAME, "
				"or a command after \"--\"");
	*ret_path = cli->typed = words->item[0];
	*ret_argv = NULL;
	memmove(words->item, words->item + 1, words->count * sizeof(*words->item));
	words->count--;
	return 0;
}

int mor_cli_target(struct mor_cli *cli, const char **ret_path, const char *const **ret_argv, mortise_error *err)
{
	int r = mor_cli_target_word(cli, ret_path, ret_argv, err);

	return r < 0 || !*ret_path ? r : mor_cli_named(cli, ret_path, err);
}

int mor_cli_target_bare(struct mor_cli *cli, const char **ret_path, const char *const **ret_argv,
			mortise_error *err)
{
	int r = mor_cli_target_word(cli, ret_path, ret_argv, err);
	const char *word = r == 0 ? *ret_path : NULL;

	if (word)
		r = mor_cli_named(cli, &word, err);
	if (r < 0 || word == *ret_path)
		return r;
	if (!cli->named.installed) { /* a YAMS plugin: its directory is trusted, here too */
		*ret_path = word;
		return 0;
	}
	mor_cli_named_drop(cli);
	return mor_fail(err, MORTISE_EINPUT,
			"%s is an installed plugin: this command starts programs by itself, without the check "
			"of installed files; name a directory or a file",
			*ret_path);
}
