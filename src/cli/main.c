/* mortise: the command. Finds the command's entry, parses its words by its tables, runs it. */
#include <locale.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/signals.h"

const struct mor_command *const mor_commands[] = {
	&mor_command_call,    &mor_command_run,        &mor_command_chat,       &mor_command_extract, &mor_command_info,
	&mor_command_explain, &mor_command_jail,       &mor_command_doctor,
	&mor_command_index,   &mor_command_kzip,       &mor_command_verify_entries,
	&mor_command_completion, &mor_command_help,
	NULL,
};

#define FIELD(name) offsetof(struct mor_common_args, name)
const struct mor_option mor_common_options[] = {
	{ "json", 0, NULL, "results and errors as JSON on stdout", MOR_OPT_FLAG, FIELD(json), NULL },
	{ "verbose", 'v', NULL,
	  "tell on stderr what happens, the plugin's own stderr included",
	  MOR_OPT_FLAG, FIELD(verbose), NULL },
	{ "help", 'h', NULL, "show this help", MOR_OPT_FLAG, FIELD(help), NULL },
	{ 0 },
};

const struct mor_command *mor_command_find(const char *name)
{
	for (const struct mor_command *const *c = mor_commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

int mor_command_unknown(const char *name, mortise_error *err)
{
	struct mor_nearest nearest = { .word = name };

	for (const struct mor_command *const *c = mor_commands; *c; c++)
		mor_nearest_offer(&nearest, (*c)->name);
	if (mor_nearest_best(&nearest))
		return mor_fail(err, MORTISE_EINVAL, "unknown command \"%s\"; did you mean %s?", name,
				mor_nearest_best(&nearest));
	return mor_fail(err, MORTISE_EINVAL, "unknown command \"%s\"", name);
}

/* Looked for before parsing, so that a usage error too comes as JSON where JSON was asked for. */
static bool wants_json(char **argv)
{
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		if (strcmp(*argv, "--json") == 0)
			return true;
	return false;
}

/* --help wins over whatever else is on the line, even what the command would refuse. */
static int run_parsed(struct mor_cli *cli)
{
	const struct mor_command *command = cli->command;
	const struct mor_common_args *common = (const void *)((char *)cli->args + command->common);

	cli->json = common->json;
	cli->verbose = common->verbose;
	if (common->help) {
		mor_help_command(cli, command);
		return 0;
	}
	return command->run(cli);
}

static int run_command(struct mor_cli *cli, char **argv)
{
	mortise_error err = { 0 };
	int exit_code;

	cli->args = mor_zalloc(cli->command->args_size);
	if (!cli->args) {
		mor_fail(&err, MORTISE_ENOMEM, "out of memory");
		return mor_fail_error(cli, &err);
	}
	cli->words.loose = cli->command->loose;
	cli->argv = argv;
	if (mor_options_parse(cli->command->options, argv, cli->args, &cli->words, &err) < 0)
		exit_code = mor_fail_usage(cli, &err);
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

static int run(struct mor_cli *cli, char **argv)
{
	mortise_error err = { 0 };

	cli->json = wants_json(argv);
	if (!argv[0]) {
		mor_fail(&err, MORTISE_EINVAL, "a command is missing");
		return mor_fail_usage(cli, &err);
	}
	if (is_one_of(argv[0], "--help", "-h")) {
		mor_help_all(cli);
		return 0;
	}
	if (is_one_of(argv[0], "--version", "-V")) {
		mor_outf(cli, "mortise %s\n", mortise_version());
		return 0;
	}
	cli->command = mor_command_find(argv[0]);
	if (cli->command)
		return run_command(cli, argv + 1);
	if (argv[0][0] == '-')
		mor_fail(&err, MORTISE_EINVAL, "unknown option %s before the command", argv[0]);
	else
		mor_command_unknown(argv[0], &err);
	return mor_fail_usage(cli, &err);
}

int main(int argc, char **argv)
{
	static char *nothing[] = { NULL };
	struct mor_cli cli = { 0 };

	setlocale(LC_CTYPE, ""); /* widths in tables; numbers stay C's */
	mor_signals_init();
	mor_out_init(&cli);
	return mor_out_finish(&cli, run(&cli, argc > 0 ? argv + 1 : nothing));
}
