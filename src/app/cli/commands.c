/* SPDX-License-Identifier: Apache-2.0 */
/* Search in the table of commands, and the options that every command has. */
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"
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

const struct mor_cli_command *mor_cli_command_find(const char *name)
{
	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

int mor_cli_command_unknown(const char *name, mortise_error *err)
{
	struct mor_nearest nearest = { .word = name };

	for (const struct mor_cli_command *const *c = mor_cli_commands; *c; c++)
		mor_nearest_offer(&nearest, (*c)->name);
	if (mor_nearest_best(&nearest))
		return mor_fail(err, MORTISE_EINVAL, "unknown command \"%s\"; did you mean %s?", name,
				mor_nearest_best(&nearest));
	return mor_fail(err, MORTISE_EINVAL, "unknown command \"%s\"", name);
}
