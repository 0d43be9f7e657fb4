/* SPDX-License-Identifier: Apache-2.0 */
/* mortise doctor: what this machine supports, which promise needs it, and what to change. */
#include <mortise/jail.h>

#include "about/about.h"
#include "base/alloc.h"
#include "base/error.h"
#include "cli/cli.h"
#include "console/report.h"
#include "wire/json.h"

struct doctor_args {
	struct mor_common_args common;
};

static const struct mor_option_group groups[] = {
	{ "Common options:", mor_common_options, offsetof(struct doctor_args, common) },
	{ 0 },
};

static int doctor_run(struct mor_cli *cli)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error err = { 0 };
	char *json = NULL;
	int r;

	if (cli->words.count || cli->words.tail)
		return mor_report_misuse(cli->console, "doctor takes no arguments");
	r = mortise_doctor(&json, NULL);
	if (r == 0)
		r = mor_doc_parse(mor_slice_of(json), 0, 0, &doc, &err);
	else
		mor_fail(&err, r, "doctor: %s", mortise_status_text(r));
	if (r == 0 && cli->console->json)
		mor_out_json(cli->console, mor_slice_of(json));
	mortise_free(json);
	if (r < 0)
		return mor_report_error(cli->console, &err);
	if (!cli->console->json)
		mor_about_machine_page(cli->console, mor_doc_root(doc));
	/* Scripts use the exit status to ask whether plugins can be confined here. */
	return *mor_json_text(mor_json_get(mor_doc_root(doc), "auto"), "") ?
		       0 :
		       mortise_status_exit_code(MORTISE_EJAIL);
}

const struct mor_cli_command mor_cli_command_doctor = {
	.row = MOR_CLI_ROW(doctor),
	.usage = "doctor [--json]",
	.words = "",
	.description =
		"Tries every kernel feature that the sandbox needs, and each level with a program that does "
		"nothing. Prints\n"
		"for each: what was found, which promise needs it, what is lost without it, and what to "
		"change.\n"
		"Exit status 0: plugins can be confined here; 125: they cannot.",
	.examples = "mortise doctor\nmortise doctor --json",
	.options = groups,
	MOR_CLI_ARGS(doctor_args),
	.run = doctor_run,
};
