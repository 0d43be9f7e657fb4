/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands, search in it, and the options that every command has. */
#include <string.h>

#include "base/error.h"
#include "cli/cli.h"

#define FIELD(name) offsetof(struct mor_common_args, name)
const struct mor_option mor_common_options[] = {
	{ "json", 0, NULL, "results and errors as JSON on stdout (jail, chaos, a bot: on stderr)", MOR_OPT_FLAG,
	  FIELD(json), NULL },
	{ "verbose", 'v', NULL, "print on stderr what happens, with the plugin's own stderr", MOR_OPT_FLAG,
	  FIELD(verbose), NULL },
	{ "help", 'h', NULL, "show this help", MOR_OPT_FLAG, FIELD(help), NULL },
	{ 0 },
};

#define X(name, word, program, group, summary) { word, group, summary, MOR_CLI_##program },
const struct mor_cli_row mor_cli_rows[] = { MOR_CLI_COMMANDS(X) };
#undef X
const unsigned mor_cli_row_count = sizeof(mor_cli_rows) / sizeof(*mor_cli_rows);

const struct mor_cli_row *mor_cli_row_find(const char *word)
{
	for (unsigned i = 0; i < mor_cli_row_count; i++)
		if (strcmp(mor_cli_rows[i].name, word) == 0)
			return &mor_cli_rows[i];
	return NULL;
}

const struct mor_cli_command *mor_cli_command_find(const char *name)
{
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
		if (strcmp((*c)->row->name, name) == 0)
			return *c;
	return NULL;
}

mor_cli_run_fn *mor_cli_run_of(const struct mor_cli_command *command)
{
	for (const struct mor_cli_run *r = mor_cli_runs; r->command; r++)
		if (r->command == command)
			return r->run;
	return command->run;
}

int mor_cli_command_unknown(const char *name, mortise_error *err)
{
	struct mor_nearest nearest = { .word = name };

	for (unsigned i = 0; i < mor_cli_row_count; i++)
		mor_nearest_offer(&nearest, mor_cli_rows[i].name);
	if (mor_nearest_best(&nearest))
		return mor_fail(err, MORTISE_EINVAL, "unknown command \"%s\"; did you mean %s?", name,
				mor_nearest_best(&nearest));
	return mor_fail(err, MORTISE_EINVAL, "unknown command \"%s\"", name);
}
