/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mortise: the command. Finds the command's entry, parses the words by its tables, and runs it.
 *
 * The code is built into several programs (commands_PROGRAM.c), and the table of commands (commands.h) says
 * which of them runs a command; any other one executes that program. `mortise` has the commands that are
 * started often or that run another program, and it loads only libc. A wing that needs libraries of its own has
 * a program of its own, which need not be installed: `mortise-kythe`, `mortise-farm`, `mortise-bot`. All else,
 * and --help, is in `mortise-full`, whose libraries take longer to load than most calls.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "console/signals.h"

/* We look for it before parsing, so that a usage error is also printed as JSON. */
static bool wants_json(char **argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, "--json") == 0)
			return true;
	return false;
}

/* --help wins over everything else on the line, even over words that the command would refuse. */
static int run_parsed(struct mor_cli *cli)
{
	const struct mor_cli_command *command = cli->command;
	const struct mor_common_args *common = (const void *)((char *)cli->args + command->common);
	int exit_code;

	cli->console->json = common->json;
	cli->console->verbose = common->verbose;
	if (common->help) {
		mor_help_command(cli, command);
		return 0;
	}
	exit_code = mor_cli_run_of(command)(cli);
	if (!mor_signals_count())
		exit_code = mor_report_late(cli->console, exit_code);
	mor_cli_named_end(cli, exit_code);
	return exit_code;
}

static int run_command(struct mor_cli *cli, char **argv)
{
	mortise_error err = { 0 };
	int exit_code;

	cli->args = mor_zalloc(cli->command->args_size);
	if (!cli->args) {
		mor_fail_memory(&err);
		return mor_report_error(cli->console, &err);
	}
	cli->words.loose = cli->command->loose;
	cli->words.hint = cli->command->hint;
	cli->argv = argv;
	if (mor_options_parse(cli->command->options, argv, cli->args, &cli->words, &err) < 0)
		exit_code = mor_report_usage(cli->console, &err);
	else
		exit_code = run_parsed(cli);
	mor_options_free(cli->command->options, cli->args, &cli->words);
	mor_free(cli->args);
	return exit_code;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* The word is not in the table. */
static int run_other(struct mor_cli *cli, const char *word)
{
	mortise_error err = { 0 };

	if (!word)
		mor_fail(&err, MORTISE_EINVAL, "a command is missing");
	else if (word[0] == '-')
		mor_fail(&err, MORTISE_EINVAL, "unknown option %s before the command", word);
	else
		mor_cli_command_unknown(word, &err);
	return mor_report_usage(cli->console, &err);
}

static int run_words(struct mor_cli *cli, char **argv)
{
	cli->command = argv[0] ? mor_cli_command_find(argv[0]) : NULL;
	cli->console->command = cli->command ? cli->command->row->name : NULL;
	cli->console->own_exit = cli->command ? cli->command->own_exit : 0;
	if (cli->command)
		return run_command(cli, argv + 1);
	if (argv[0] && is_one_of(argv[0], "--version", "-V"))
		mor_outf(cli->console, "mortise %s\n", mortise_version());
	else if (argv[0] && is_one_of(argv[0], "--help", "-h"))
		mor_help_all(cli);
	else
		return run_other(cli, argv[0]);
	return 0;
}

/* ---- file descriptors 0, 1 and 2 ---- */

/* If a standard descriptor is closed, the next file that we open gets its number. Then our messages would go
 * into that file, for example into an archive or to a plugin. So we open a descriptor in its place on which
 * reads and writes fail. */
static void fill_closed(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			/* this is the lowest free number */
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* ---- the other programs ---- */

/* Which program runs this command? mortise-full does what none has. */
static enum mor_cli_program program_of(const char *word)
{
	const struct mor_cli_command *ours = word ? mor_cli_command_find(word) : NULL;
	const struct mor_cli_row *row;

	if ((ours && mor_cli_run_of(ours)) || (word && is_one_of(word, "--version", "-V")))
		return mor_cli_this;
	row = word ? mor_cli_row_find(word) : NULL;
	return row && row->program != MOR_CLI_QUICK ? row->program : MOR_CLI_FULL;
}

int main(int argc, char **argv)
{
	static char *nothing[] = { NULL };
	struct mor_console console = { 0 };
	struct mor_cli cli = { .console = &console, .line = argv };
	char **words = argc > 0 ? argv + 1 : nothing;
	enum mor_cli_program program = program_of(words[0]);
	mortise_error err = { 0 };

	fill_closed();
	/* this comes first: execution would lose a signal that we had already caught */
	if (program != mor_cli_this)
		mor_cli_become(program, argv, &err);
	if (mor_cli_this != MOR_CLI_QUICK)
		/* for widths in tables, which the quick commands do not draw; numbers stay as in C */
		setlocale(LC_CTYPE, "");
	mor_signals_init();
	mor_out_init(&console);
	console.json = wants_json(words);
	return mor_out_finish(&console, err.code ? mor_report_error(&console, &err) : run_words(&cli, words));
}
