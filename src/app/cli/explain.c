/* SPDX-License-Identifier: Apache-2.0 */
/* mortise explain: a dialect, from the table that drives the host. */
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "runner/runner.h"

struct explain_args {
	bool openrpc;
	struct mor_common_args common;
};

static const struct mor_option explain_options[] = {
	{ "openrpc", 0, NULL, "print the OpenRPC document of the dialect", MOR_OPT_FLAG,
	  offsetof(struct explain_args, openrpc), NULL },
	{ 0 },
};
static const struct mor_option_group groups[] = {
	{ "Options:", explain_options, 0 },
	{ "Common options:", mor_common_options, offsetof(struct explain_args, common) },
	{ 0 },
};

static int show_dialect(struct mor_cli *cli, const char *dialect, const char *format, bool json)
{
	mortise_error err = { 0 };
	char *text = NULL;
	int r = mortise_dialect_describe(dialect, format, &text, NULL);

	if (r < 0) {
		mor_fail(&err, r, "explain %s: %s", dialect ? dialect : "", mortise_status_text(r));
		return mor_report_error(cli->console, &err);
	}
	if (json) {
		mor_out_json(cli->console, mor_slice_of(text));
	} else {
		struct mor_slice page = mor_slice_of(text);

		mor_out(cli->console, page);
		if (page.len && page.ptr[page.len - 1] != '\n')
			mor_out_text(cli->console, "\n");
	}
	mortise_free(text);
	return 0;
}

static int explain_run(struct mor_cli *cli)
{
	const struct explain_args *args = cli->args;
	const char *dialect = cli->words.count ? cli->words.item[0] : NULL;
	mortise_error err = { 0 };

	if (cli->words.count > 1 || cli->words.tail)
		return mor_report_misuse(cli->console, "explain takes one DIALECT");
	if (args->openrpc && !dialect)
		return mor_report_misuse(cli->console, "--openrpc needs a DIALECT");
	if (dialect && !mor_runner_dialect_exists(dialect)) {
		mor_runner_dialect_unknown(dialect, &err);
		return mor_report_error(cli->console, &err);
	}
	if (args->openrpc)
		return show_dialect(cli, dialect, "openrpc", true);
	return show_dialect(cli, dialect, cli->console->json ? "json" : "command", cli->console->json);
}

const struct mor_cli_command mor_cli_command_explain = {
	.row = MOR_CLI_ROW(explain),
	.usage = "explain\nexplain DIALECT [--json | --openrpc]",
	.words = "dialect",
	.description = "Everything printed comes from the one table that also drives the host.",
	.examples = "mortise explain\nmortise explain yams\nmortise explain yams --openrpc > yams.openrpc.json",
	.options = groups,
	MOR_CLI_ARGS(explain_args),
	.run = explain_run,
};
