/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise completion SHELL: scripts made from the same tables as parser and help.
 *
 * All three know the same: commands, each command's options, what an option's argument is, and what its
 * words are. One walk over the tables fills a sink per shell.
 */
#include <string.h>

#include "base/alloc.h"
#include "cli/offer.h"
#include "console/report.h"
#include "runner/runner.h"

struct completion_args {
	const char *at;
	struct mor_common_args common;
};

static const struct mor_option completion_options[] = {
	{ "at", 0, "BEGINNING", "names: what is typed of the word that is completed", MOR_OPT_TEXT,
	  offsetof(struct completion_args, at), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", completion_options, 0 },
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
		for (unsigned i = 0; i < mor_cli_row_count; i++)
			mor_buf_printf(out, "%s%s", i ? " " : "", mor_cli_rows[i].name);
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

/* Is the argument the name of a plugin? Those are not known before the user presses Tab. */
static bool takes_plugin(const struct mor_option *option)
{
	return option->arg && strcmp(option->arg, "PLUGIN") == 0;
}

/* ---- bash ---- */

/* After an option that takes an argument, complete that argument. */
static void bash_arguments(struct mor_buf *out, const struct mor_cli_command *c)
{
	for (const struct mor_option_group *g = c->options; g->title; g++) {
		for (const struct mor_option *o = g->options; o->name; o++) {
			if (!o->arg || mor_option_is_optional(o))
				continue;
			mor_buf_printf(out, "\t\t%s,--%s", c->row->name, o->name);
			if (o->letter)
				mor_buf_printf(out, "|%s,-%c", c->row->name, o->letter);
			mor_buf_text(out, ") words=\"");
			option_candidates(out, o);
			mor_buf_text(out, "\"; value=1");
			if (takes_plugin(o))
				mor_buf_text(out,
					     "; names=$(mortise completion names --at=\"$cur\" 2>/dev/null)");
			mor_buf_text(out, " ;;\n");
		}
	}
}

static void bash_words(struct mor_buf *out, const struct mor_cli_command *c)
{
	mor_buf_printf(out, "\t%s)\n\t\toptions=\"", c->row->name);
	for (const struct mor_option_group *g = c->options; g->title; g++)
		for (const struct mor_option *o = g->options; o->name; o++)
			mor_buf_printf(out, "--%s ", o->name);
	mor_buf_text(out, "\"\n\t\twords=\"");
	candidates(out, c->words);
	mor_buf_text(out, "\" ;;\n");
}

/* Bash cuts words where COMP_WORDBREAKS says, often at @ = : too, and replaces only the last part, $2. So we
 * take the words from the line, and give back of each candidate what belongs to $2. Names may have blanks:
 * candidates are lines. */
static const char bash_begin[] =
	"# bash completion for mortise; made by: mortise completion bash\n"
	"_mortise()\n{\n"
	"\tlocal -a line\n"
	"\tlocal word words= options= names= files= value= front= quote=1 cut=${COMP_LINE:0:COMP_POINT} IFS=$' "
	"\\t\\n'\n"
	"\tif [ -n \"$cut\" ]; then\n"
	"\t\tread -a line <<< \"$cut\"\n"
	"\t\tcase $cut in *[[:space:]]) line+=(\"\") ;; esac\n"
	"\telse\n\t\tline=(\"${COMP_WORDS[@]:0:COMP_CWORD+1}\")\n\tfi\n"
	"\tlocal last=$((${#line[@]} - 1)) ahead=\n"
	"\tlocal cur=${line[last]} prev=${line[last-1]} cmd=${line[1]}\n"
	"\tCOMPREPLY=()\n"
	"\tif [ \"$last\" -eq 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"";

static const char bash_middle[] = " --help --version\" -- \"$cur\"))\n\t\treturn\n\tfi\n"
				  "\tcase $cur in\n"
				  "\t--*=*) front=${cur%%=*}= prev=${cur%%=*} cur=${cur#*=} ;;\n"
				  "\tesac\n"
				  "\t[[ -z $cut || $front$cur != *\"$2\" ]] || ahead=${line[last]%\"$2\"}\n"
				  "\tcase $cmd,$prev in\n";

/* Not by compgen -W: that would run "$(…)" in the name of a function, which somebody else has chosen. Only
 * files are left to bash to be quoted: -o filenames quotes @ and = too, and then $2 is another word. */
static const char bash_end[] =
	"\tfi\n"
	"\tcase $'\\n'$names in *$'\\n/') names=${names%/} files=1 ;; esac\n"
	"\tcase $cur in -*) words=$options ;; esac\n"
	"\twhile IFS= read -r word; do\n"
	"\t\t[[ -n $word && $word == \"$cur\"* ]] && COMPREPLY+=(\"$word\")\n"
	"\tdone <<< \"${words// /$'\\n'}\"$'\\n'\"$names\"\n"
	"\tIFS=$'\\n'\n"
	"\tcase ${#COMPREPLY[@]},$cur in *,-*) ;;\n"
	"\t0,*) compopt -o filenames 2>/dev/null && quote=; COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
	"\t*) [ -z \"$files\" ] || COMPREPLY+=($(compgen -f -- \"$cur\")) ;;\n"
	"\tesac\n"
	"\tcase ${COMPREPLY[0]} in *=) compopt -o nospace 2>/dev/null ;; esac\n"
	"\tfor word in \"${!COMPREPLY[@]}\"; do\n"
	"\t\tCOMPREPLY[word]=$front${COMPREPLY[word]}\n"
	"\t\tCOMPREPLY[word]=${COMPREPLY[word]#\"$ahead\"}\n"
	"\t\t[ -z \"$quote\" ] || printf -v \"COMPREPLY[word]\" %q \"${COMPREPLY[word]}\"\n"
	"\tdone\n"
	"\treturn 0\n"
	"}\n"
	"complete -F _mortise mortise\n";

static void bash(struct mor_buf *out)
{
	mor_buf_text(out, bash_begin);
	candidates(out, "command");
	mor_buf_text(out, bash_middle);
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
		bash_arguments(out, *c);
	mor_buf_text(out, "\tesac\n\tif [ -z \"$value\" ]; then\n\tcase $cmd in\n");
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
		bash_words(out, *c);
	mor_buf_text(out, "\tesac\n\tcase $cmd in\n\t-");
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
		if (mor_cli_offers_names(*c))
			mor_buf_printf(out, "|%s", (*c)->row->name);
	mor_buf_text(out, ") words=\n"
			  "\t\tnames=$(mortise completion names --at=\"$cur\" -- \"${line[@]:1:last-1}\" "
			  "2>/dev/null) ;;\n\tesac\n");
	mor_buf_text(out, bash_end);
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
		if (takes_plugin(o))
			mor_buf_text(out, ":_mortise_plugins");
		else
			zsh_action(out, mor_buf_view(&words));
	}
	mor_buf_byte(out, '\'');
}

static void zsh_command(struct mor_buf *out, const struct mor_cli_command *c)
{
	MOR_CLEAN(mor_buf) struct mor_buf words = MOR_BUF_INIT;

	mor_buf_printf(out, "\t%s)\n\t\t_arguments", c->row->name);
	for (const struct mor_option_group *g = c->options; g->title; g++)
		for (const struct mor_option *o = g->options; o->name; o++)
			zsh_option(out, o);
	candidates(&words, c->words);
	mor_buf_text(out, " \\\n\t\t\t'*: ");
	if (mor_cli_offers_names(c))
		mor_buf_text(out, ":_mortise_names");
	else
		zsh_action(out, mor_buf_view(&words));
	mor_buf_text(out, "' ;;\n");
}

static void zsh(struct mor_buf *out)
{
	mor_buf_text(
		out,
		"#compdef mortise\n# zsh completion for mortise; made by: mortise completion zsh\n"
		"_mortise_offer()\n{\n\tlocal -a all open\n\tall=(${${(f)1}:#/})\n"
		"\topen=(${(M)all:#*=}) all=(${all:#*=})\n"
		"\tlocal found=1\n"
		"\t(( $#open )) && compadd -S '' -a open && found=0\n"
		"\t(( $#all )) && compadd -a all && found=0\n"
		"\treturn found\n}\n"
		"_mortise_plugins()\n{\n"
		"\t_mortise_offer \"$(mortise completion names --at=\"$PREFIX\" 2>/dev/null)\"\n\t_files\n}\n"
		"_mortise_names()\n{\n"
		"\tlocal names=\"$(mortise completion names --at=\"$PREFIX\" -- \"${(@Q)words[1,CURRENT-1]}\" "
		"2>/dev/null)\"\n"
		"\t_mortise_offer $names\n\t[[ -z $names || $names == (|*$'\\n')/ ]] && _files\n}\n"
		"_mortise()\n{\n"
		"\tlocal -a commands=(\n");
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++) {
		mor_buf_printf(out, "\t\t'%s:", (*c)->row->name);
		zsh_text(out, (*c)->row->summary);
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
	if (takes_plugin(o))
		mor_buf_text(out,
			     " -a '(mortise completion names --at=\"$(commandline -ct)\" 2>/dev/null | string "
			     "match -v /)'");
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

	mor_buf_printf(out, "complete -c mortise -n __fish_use_subcommand -f -a %s -d ", c->row->name);
	fish_text(out, c->row->summary);
	mor_buf_byte(out, '\n');
	candidates(&words, c->words);
	if (words.len)
		mor_buf_printf(out, "complete -c mortise -n '__fish_seen_subcommand_from %s' -f -a '%.*s'\n",
			       c->row->name, (int)words.len, words.data);
	if (mor_cli_offers_names(c))
		mor_buf_printf(
			out,
			"complete -c mortise -n '__fish_seen_subcommand_from %s' -a '(mortise completion names "
			"--at=\"$(commandline -ct)\" -- (commandline -opc)[2..-1] 2>/dev/null | string match "
			"-v /)'\n",
			c->row->name);
	for (const struct mor_option_group *g = c->options; g->title; g++)
		for (const struct mor_option *o = g->options; o->name; o++)
			fish_option(out, c->row->name, o);
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

static int completion_run(struct mor_cli *cli)
{
	MOR_CLEAN(mor_buf) struct mor_buf script = MOR_BUF_INIT;
	const char *shell = cli->words.count == 1 ? cli->words.item[0] : "";

	if (cli->words.count && strcmp(cli->words.item[0], "names") == 0) {
		mor_cli_offer(cli, ((const struct completion_args *)cli->args)->at);
		return 0;
	}
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(shells[i].name, shell) != 0)
			continue;
		shells[i].write(&script);
		mor_out(cli->console, mor_buf_view(&script));
		return 0;
	}
	return mor_report_misuse(cli->console, "completion takes one of bash, zsh, fish%s%s%s",
				 *shell ? ", not \"" : "", shell, *shell ? "\"" : "");
}

const struct mor_cli_command mor_cli_command_completion = {
	.row = MOR_CLI_ROW(completion),
	.usage = "completion bash|zsh|fish\n"
		 "completion names [--at BEGINNING] [-- WORD…]",
	.words = "bash|zsh|fish",
	.description =
		"The scripts complete commands, options and their values, and names of installed plugins, with "
		"their\n"
		"versions after \"@\". After call PLUGIN and run PLUGIN they also complete methods, functions "
		"and\n"
		"parameters (KEY= and --KEY=), as far as the manifest or the protocol's table lists them. They "
		"ask\n"
		"'mortise completion names', which reads files and starts no plugin.",
	.examples = "source <(mortise completion bash)\n"
		    "mortise completion fish > ~/.config/fish/completions/mortise.fish",
	.options = groups,
	MOR_CLI_ARGS(completion_args),
	.run = completion_run,
};
