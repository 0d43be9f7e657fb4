/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise completion SHELL: scripts made from the same tables as parser and help.
 *
 * All three know the same: commands, each command's options, what an option's argument is, and what its
 * words are. One walk over the tables fills a sink per shell.
 */
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "console/report.h"
#include "runner/runner.h"
#include "runner/signature.h"

struct completion_args {
	struct mor_common_args common;
};

static const struct mor_option_group groups[] = {
	{ "Common options:", mor_common_options, offsetof(struct completion_args, common) },
	{ 0 },
};

/* "a|b" -> "a b" */
static void choices(struct mor_buf *out, const char *list)
{
	for (; *list; list++)
		mor_buf_byte(out, *list == '|' ? ' ' : *list);
}

/* The words offered for `what`; none: files are offered. The dialects are those of the library that made
 * this script. */
static void candidates(struct mor_buf *out, const char *what)
{
	if (strcmp(what, "dialect") == 0 || strcmp(what, "DIALECT") == 0) {
		mor_runner_dialect_names(" ", out);
	} else if (strcmp(what, "command") == 0) {
		for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
			mor_buf_printf(out, "%s%s", c == mor_cli_commands ? "" : " ", (*c)->name);
	} else if (strchr(what, '|')) {
		choices(out, what);
	}
}

static void option_candidates(struct mor_buf *out, const struct mor_option *option)
{
	if (option->one_of)
		choices(out, option->one_of);
	else
		candidates(out, option->arg);
}

/* Commands with "plugin" words call something: methods and parameters are offered after PLUGIN. */
static bool offers_names(const struct mor_cli_command *c)
{
	return strcmp(c->name, "call") == 0 || strcmp(c->name, "run") == 0;
}

/* ---- bash ---- */

/* After an option that takes an argument, complete that argument. */
static void bash_arguments(struct mor_buf *out, const struct mor_cli_command *c)
{
	for (const struct mor_option_group *g = c->options; g->title; g++) {
		for (const struct mor_option *o = g->options; o->name; o++) {
			if (!o->arg || mor_option_is_optional(o))
				continue;
			mor_buf_printf(out, "\t\t%s,--%s", c->name, o->name);
			if (o->letter)
				mor_buf_printf(out, "|%s,-%c", c->name, o->letter);
			mor_buf_text(out, ") words=\"");
			option_candidates(out, o);
			mor_buf_text(out, "\"; value=1 ;;\n");
		}
	}
}

static void bash_words(struct mor_buf *out, const struct mor_cli_command *c)
{
	mor_buf_printf(out, "\t%s)\n\t\toptions=\"", c->name);
	for (const struct mor_option_group *g = c->options; g->title; g++)
		for (const struct mor_option *o = g->options; o->name; o++)
			mor_buf_printf(out, "--%s ", o->name);
	mor_buf_text(out, "\"\n\t\twords=\"");
	candidates(out, c->words);
	mor_buf_text(out, "\" ;;\n");
}

static void bash(struct mor_buf *out)
{
	mor_buf_text(out, "# bash completion for mortise; made by: mortise completion bash\n_mortise()\n{\n"
			  "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
			  "cmd=${COMP_WORDS[1]}\n"
			  "\tlocal words= options= value=\n\tCOMPREPLY=()\n"
			  "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"");
	candidates(out, "command");
	mor_buf_text(out, " --help --version\" -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase $cmd,$prev in\n");
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
		bash_arguments(out, *c);
	mor_buf_text(out, "\tesac\n\tif [ -z \"$value\" ]; then\n\tcase $cmd in\n");
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
		bash_words(out, *c);
	mor_buf_text(out, "\tesac\n\tcase $cmd in\n\tcall|run) words=$(mortise completion names -- "
			  "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\" 2>/dev/null)\n"
			  "\t\tcase $words in *=*) compopt -o nospace 2>/dev/null ;; esac ;;\n\tesac\n");
	mor_buf_text(out, "\tfi\n"
			  "\tcase $cur in\n\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
			  "\t*) if [ -n \"$words\" ]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
			  "\t   else COMPREPLY=($(compgen -f -- \"$cur\")); fi ;;\n\tesac\n}\n"
			  "complete -o filenames -F _mortise mortise\n");
}

/* ---- zsh ---- */

/* Inside '...' and [...] of an _arguments specification. */
static void zsh_text(struct mor_buf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("[]:\\", *text))
			mor_buf_byte(out, '\\');
		if (*text == '\'')
			mor_buf_text(out, "'\\'");
		mor_buf_byte(out, *text);
	}
}

static void zsh_action(struct mor_buf *out, struct mor_slice words)
{
	if (words.len)
		mor_buf_printf(out, ":(%.*s)", (int)words.len, words.ptr);
	else
		mor_buf_text(out, ":_files");
}

/* '*' lets an option be offered again. */
static void zsh_option(struct mor_buf *out, const struct mor_option *o)
{
	MOR_CLEAN(mor_buf) struct mor_buf words = MOR_BUF_INIT;
	bool optional = mor_option_is_optional(o);

	mor_buf_text(out, " \\\n\t\t\t'");
	if (o->kind == MOR_OPT_LIST)
		mor_buf_byte(out, '*');
	mor_buf_printf(out, "--%s%s[", o->name, optional ? "=-" : o->arg ? "=" : "");
	zsh_text(out, o->help);
	mor_buf_byte(out, ']');
	if (o->arg) {
		option_candidates(&words, o);
		mor_buf_text(out, optional ? "::" : ":");
		zsh_text(out, o->arg);
		zsh_action(out, mor_buf_view(&words));
	}
	mor_buf_byte(out, '\'');
}

static void zsh_command(struct mor_buf *out, const struct mor_cli_command *c)
{
	MOR_CLEAN(mor_buf) struct mor_buf words = MOR_BUF_INIT;

	mor_buf_printf(out, "\t%s)\n\t\t_arguments", c->name);
	for (const struct mor_option_group *g = c->options; g->title; g++)
		for (const struct mor_option *o = g->options; o->name; o++)
			zsh_option(out, o);
	candidates(&words, c->words);
	mor_buf_text(out, " \\\n\t\t\t'*: ");
	if (offers_names(c))
		mor_buf_text(out, ":_mortise_names");
	else
		zsh_action(out, mor_buf_view(&words));
	mor_buf_text(out, "' ;;\n");
}

static void zsh(struct mor_buf *out)
{
	mor_buf_text(out,
		     "#compdef mortise\n# zsh completion for mortise; made by: mortise completion zsh\n"
		     "_mortise_names()\n{\n\tlocal -a names\n"
		     "\tnames=(${(f)\"$(mortise completion names -- ${words[1,CURRENT-1]} 2>/dev/null)\"})\n"
		     "\tif (( $#names )); then compadd -S '' -a names; else _files; fi\n}\n"
		     "_mortise()\n{\n"
		     "\tlocal -a commands=(\n");
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++) {
		mor_buf_printf(out, "\t\t'%s:", (*c)->name);
		zsh_text(out, (*c)->summary);
		mor_buf_text(out, "'\n");
	}
	mor_buf_text(out,
		     "\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
		     "\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $command in\n");
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
		zsh_command(out, *c);
	mor_buf_text(out, "\tesac\n}\nif [ \"$funcstack[1]\" = _mortise ]; then _mortise \"$@\"; else compdef "
			  "_mortise mortise; fi\n");
}

/* ---- fish ---- */

static void fish_text(struct mor_buf *out, const char *text)
{
	mor_buf_byte(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			mor_buf_byte(out, '\\');
		mor_buf_byte(out, *text);
	}
	mor_buf_byte(out, '\'');
}

/* -r: the option takes an argument; -f: the argument is not a file. */
static void fish_option(struct mor_buf *out, const char *command, const struct mor_option *o)
{
	MOR_CLEAN(mor_buf) struct mor_buf words = MOR_BUF_INIT;

	mor_buf_printf(out, "complete -c mortise -n '__fish_seen_subcommand_from %s' -l %s", command, o->name);
	if (o->letter)
		mor_buf_printf(out, " -s %c", o->letter);
	if (o->arg && !mor_option_is_optional(o))
		mor_buf_text(out, " -r");
	if (o->arg)
		option_candidates(&words, o);
	if (words.len) {
		mor_buf_text(out, " -f -a '");
		mor_buf_slice(out, mor_buf_view(&words));
		mor_buf_byte(out, '\'');
	}
	mor_buf_text(out, " -d ");
	fish_text(out, o->help);
	mor_buf_byte(out, '\n');
}

static void fish_command(struct mor_buf *out, const struct mor_cli_command *c)
{
	MOR_CLEAN(mor_buf) struct mor_buf words = MOR_BUF_INIT;

	mor_buf_printf(out, "complete -c mortise -n __fish_use_subcommand -f -a %s -d ", c->name);
	fish_text(out, c->summary);
	mor_buf_byte(out, '\n');
	candidates(&words, c->words);
	if (words.len)
		mor_buf_printf(out, "complete -c mortise -n '__fish_seen_subcommand_from %s' -f -a '%.*s'\n",
			       c->name, (int)words.len, words.data);
	if (offers_names(c))
		mor_buf_printf(out,
			       "complete -c mortise -n '__fish_seen_subcommand_from %s' -a "
			       "'(mortise completion names -- (commandline -opc)[2..-1] 2>/dev/null)'\n",
			       c->name);
	for (const struct mor_option_group *g = c->options; g->title; g++)
		for (const struct mor_option *o = g->options; o->name; o++)
			fish_option(out, c->name, o);
}

static void fish(struct mor_buf *out)
{
	mor_buf_text(out, "# fish completion for mortise; made by: mortise completion fish\n");
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
		fish_command(out, *c);
}

/* ---- the command ---- */

static const struct {
	const char *name;
	void (*write)(struct mor_buf *out);
} shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

/* ---- methods and parameters ---- */

/* The command's options for its plugin; NULL: it has none. */
static const struct mor_plugin_args *plugin_args(const struct mor_cli_command *c, const char *args)
{
	for (const struct mor_option_group *g = c->options; g->title; g++)
		if (g->options == mor_plugin_option_table)
			return (const void *)(args + g->offset);
	return NULL;
}

static void offer_parameters(struct mor_console *console, const struct mor_value *signature)
{
	struct mor_json_iter it = mor_json_iter(mor_signature_properties(signature));

	while (mor_json_next(&it))
		mor_outf(console, "%.*s=\n", (int)it.name.len, it.name.ptr);
}

/* PLUGIN: its methods. PLUGIN METHOD: its parameters. Only files are read: a plugin that the user has not
 * asked for must not run because of a Tab. */
static void offer_names(struct mor_console *console, const struct mor_plugin_args *args,
			const struct mor_words *words)
{
	MOR_CLEAN(mor_doc) struct mor_doc *signature = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;

	if (!args || words->tail || !words->count)
		return;
	if (words->count == 1) {
		mor_signature_names(args, words->item[0], NULL, &names, NULL);
		mor_out(console, mor_buf_view(&names));
	} else if (mor_signature_find(args, words->item[0], NULL, words->item[1], &signature, NULL) == 0) {
		offer_parameters(console, mor_doc_root(signature));
	}
}

/* The words so far, as the shell has them. Mistakes in them are not the concern of a completion. */
static int complete_names(struct mor_cli *cli)
{
	const char **line = cli->words.tail;
	const struct mor_cli_command *command = line && line[0] ? mor_cli_command_find(line[0]) : NULL;
	struct mor_words words = { .loose = true };
	void *args = command ? mor_zalloc(command->args_size) : NULL;

	if (!args)
		return 0;
	if (mor_options_parse(command->options, (char **)line + 1, args, &words, NULL) == 0)
		offer_names(cli->console, plugin_args(command, args), &words);
	mor_options_free(command->options, args, &words);
	mor_free(args);
	return 0;
}

static int completion_run(struct mor_cli *cli)
{
	MOR_CLEAN(mor_buf) struct mor_buf script = MOR_BUF_INIT;
	const char *shell = cli->words.count == 1 ? cli->words.item[0] : "";
	mortise_error err = { 0 };

	if (strcmp(shell, "names") == 0)
		return complete_names(cli);
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(shells[i].name, shell) != 0)
			continue;
		shells[i].write(&script);
		mor_out(cli->console, mor_buf_view(&script));
		return 0;
	}
	mor_fail(&err, MORTISE_EINVAL, "completion takes one of bash, zsh, fish%s%s%s",
		 *shell ? ", not \"" : "", shell, *shell ? "\"" : "");
	return mor_report_usage(cli->console, &err);
}

const struct mor_cli_command mor_cli_command_completion = {
	.name = "completion",
	.group = "This command:",
	.summary = "print a completion script for bash, zsh or fish",
	.usage = "completion bash|zsh|fish\n"
		 "completion names -- WORD…",
	.words = "bash|zsh|fish",
	.description =
		"The scripts complete commands, options and their values. After call PLUGIN and run PLUGIN "
		"they also\n"
		"complete methods and parameters, as far as the manifest or the protocol's table lists them: "
		"they ask\n"
		"'mortise completion names', which reads files and starts no plugin.",
	.examples = "source <(mortise completion bash)\n"
		    "mortise completion fish > ~/.config/fish/completions/mortise.fish",
	.options = groups,
	.args_size = sizeof(struct completion_args),
	.common = offsetof(struct completion_args, common),
	.run = completion_run,
};
