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
#include "session/session.h"
#include "store/store.h"

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

/* Names of installed plugins and of sessions are offered; after PLUGIN, methods and parameters of those that
 * call something. */
static bool offers_names(const struct mor_cli_command *c)
{
	return strcmp(c->words, "plugin") == 0 || strcmp(c->name, "session") == 0;
}

static bool calls_methods(const struct mor_cli_command *c)
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
	mor_buf_text(out, "\tesac\n\tcase $cmd in\n\t-");
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
		if (offers_names(*c))
			mor_buf_printf(out, "|%s", (*c)->name);
	mor_buf_text(out, ") words=$(mortise completion names -- "
			  "\"${COMP_WORDS[@]:1:COMP_CWORD-1}\" 2>/dev/null)\n"
			  "\t\tcase $words in *=*) compopt -o nospace 2>/dev/null ;; esac ;;\n\tesac\n");
	mor_buf_text(out, "\tfi\n"
			  "\tcase $words,$cur in\n\t@*,@*) ;;\n\t@*,?*) words= ;;\n"
			  "\t@*,) COMPREPLY=($(compgen -W \"$words\") $(compgen -f)); return ;;\n\tesac\n"
			  "\tcase $cur in\n\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
			  "\t*) [ -z \"$words\" ] || COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
			  "\t   [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
			  "\tesac\n}\n"
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
		     "\tif ! compadd -S '' -a names || [[ $names[1] = @* ]]; then _files; fi\n}\n"
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

/* Of an object, its members: "source.type=". */
static void offer_parameters(struct mor_console *console, const struct mor_value *properties,
			     const char *before)
{
	struct mor_json_iter it = mor_json_iter(properties);

	while (mor_json_next(&it)) {
		const struct mor_value *inside = mor_json_get(it.value, "properties");
		char name[200];

		snprintf(name, sizeof(name), "%s%.*s", before, (int)it.name.len, it.name.ptr);
		if (mor_json_size(inside)) {
			mor_text_keep(name + strlen(name), sizeof(name) - strlen(name), ".", 1);
			offer_parameters(console, inside, name);
		} else {
			mor_outf(console, "%s=\n", name);
		}
	}
}

static void offer_sessions(struct mor_console *console, const char *before)
{
	struct mor_text_list names = { 0 };

	if (mor_session_names(&names, NULL) == 0)
		for (size_t i = 0; i < names.count; i++)
			mor_outf(console, "%s%s\n", before, names.item[i]);
	mor_text_list_free_texts(&names);
}

/* A session's plugin runs already, and its keeper knows what it offers. */
static void offer_of_session(const struct mor_words *words, struct mor_buf *names, struct mor_doc **signature)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *actions;
	const char *dialect;

	if (mor_session_about(words->item[0] + 1, &doc, NULL) < 0)
		return;
	dialect = mor_json_text(mor_json_get(mor_doc_root(doc), "dialect"), "");
	actions = mor_json_at(mor_doc_root(doc), "/about/actions");
	if (words->count == 1)
		mor_signature_list(dialect, actions, names, NULL);
	else
		mor_signature_pick(dialect, actions, words->item[1], signature, NULL);
}

/* Before the sessions, whose names begin with "@": the scripts look at the first one. */
static void offer_installed(struct mor_console *console)
{
	struct mor_store store = { 0 };
	struct mor_store_list list = { 0 };

	if (mor_store_open(NULL, NULL, &store) == 0 && mor_store_list(&store, false, &list, NULL) == 0)
		for (size_t i = 0; i < list.count; i++)
			mor_outf(console, "%s\n", list.items[i].name);
	mor_store_list_fini(&list);
	mor_store_fini(&store);
}

/* PLUGIN: its methods. PLUGIN METHOD: its parameters. Only files are read: a plugin that the user has not
 * asked for must not run because of a Tab. */
static void offer_names(struct mor_console *console, const struct mor_plugin_args *args,
			const struct mor_words *words)
{
	MOR_CLEAN(mor_doc) struct mor_doc *signature = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf names = MOR_BUF_INIT;

	if (mor_session_is_meant(words->item[0]))
		offer_of_session(words, &names, &signature);
	else if (words->count == 1)
		mor_signature_names(args, words->item[0], NULL, &names, NULL);
	else
		mor_signature_find(args, words->item[0], NULL, words->item[1], &signature, NULL);
	mor_out(console, mor_buf_view(&names));
	offer_parameters(console, mor_signature_properties(mor_doc_root(signature)), "");
}

static void offer_words(struct mor_cli *cli, const struct mor_cli_command *command, const void *args,
			const struct mor_words *words)
{
	struct mor_console *console = cli->console;
	const struct mor_plugin_args *plugin = plugin_args(command, args);
	MOR_CLEAN(mor_buf) struct mor_buf actions = MOR_BUF_INIT;

	if (words->tail || !plugin || !offers_names(command))
		return;
	if (strcmp(command->name, "session") == 0 && !words->count) {
		choices(&actions, command->words);
		mor_buf_byte(&actions, '\n');
		mor_out(console, mor_buf_view(&actions));
	} else if (strcmp(command->name, "session") == 0) {
		if (words->count == 1 && mor_text_in(mor_slice_of(words->item[0]), "stop|notes"))
			offer_sessions(console, "");
		if (words->count == 1 && strcmp(words->item[0], "start") == 0)
			offer_installed(console);
	} else if (words->count && calls_methods(command)) {
		if (mor_cli_named(cli, &words->item[0], NULL) == 0)
			offer_names(console, plugin, words);
	} else if (!words->count) {
		offer_installed(console);
		if (strcmp(command->name, "call") == 0)
			offer_sessions(console, "@");
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
		offer_words(cli, command, args, &words);
	mor_options_free(command->options, args, &words);
	mor_free(args);
	mor_cli_named_drop(cli);
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
		"The scripts complete commands, options and their values, and names of installed plugins.\n"
		"After call PLUGIN and run PLUGIN they also complete methods and parameters, as far as the\n"
		"manifest or the protocol's table lists them: they ask 'mortise completion names', which\n"
		"reads files and starts no plugin.",
	.examples = "source <(mortise completion bash)\n"
		    "mortise completion fish > ~/.config/fish/completions/mortise.fish",
	.options = groups,
	.args_size = sizeof(struct completion_args),
	.common = offsetof(struct completion_args, common),
	.run = completion_run,
};
