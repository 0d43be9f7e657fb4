/* SPDX-License-Identifier: Apache-2.0 */
/* One program of the command takes the place of another: see main.c. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/path.h"
#include "cli/cli.h"
#include "console/report.h"
#include "console/signals.h"
#include "program/helper.h"

static const struct {
	const char *file, *install;
} programs[] = {
#define X(name, file, install) { file, install },
	MOR_CLI_PROGRAMS(X)
#undef X
};

int mor_cli_become(enum mor_cli_program program, char **line, mortise_error *err)
{
	char path[PATH_MAX], fault[MOR_PROGRAM_FAULT];

	mor_program_find(programs[program].file, path, fault);
	if (!fault[0] && mor_path_same("/proc/self/exe", path)) /* a link: it would become itself for ever */
		snprintf(fault, sizeof(fault), "it is this program again: install %s",
			 programs[program].install);
	if (!fault[0]) {
		execv(path, line);
		snprintf(fault, sizeof(fault), "%s: install %s", strerrordesc_np(errno),
			 programs[program].install);
	}
	return mor_fail(err, MORTISE_ESYSTEM, "only %s can do this, and it cannot be run: %s", path, fault);
}

int mor_cli_hand_over(struct mor_cli *cli, enum mor_cli_program program)
{
	mortise_error err = { 0 };

	mor_signals_end_at_once(); /* one that was caught would be lost */
	mor_cli_become(program, cli->line, &err);
	return mor_report_error(cli->console, &err);
}
