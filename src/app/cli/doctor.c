/* SPDX-License-Identifier: Apache-2.0 */
/* mortise doctor: what this machine supports, which promise needs it, and what to change. */
#include <libsmartcols/libsmartcols.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mortise/jail.h>

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

static const char *member_text(const struct mor_value *object, const char *name)
{
	return mor_json_text(mor_json_get(object, name), "");
}

/* ---- the verdict ---- */

static const char *rung_text(const char *rung)
{
	if (strcmp(rung, "pidns") == 0)
		return "; the kernel ends all its processes with the PID namespace, even if host and guardian "
		       "are killed";
	return "; its guardian ends all its processes, also when the host is killed (with --pidns, and at "
	       "t0 with spawn, the kernel does it)";
}

static void levels(struct mor_cli *cli, const struct mor_value *doctor)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(doctor, "levels"));

	mor_out_title(cli->console, "Levels");
	while (mor_json_next(&it)) {
		bool works = mor_json_bool(mor_json_get(it.value, "available"), false);

		mor_outf(cli->console, "  %-8s %s%s%s%s%s\n", member_text(it.value, "level"),
			 mor_style(cli->console, works ? MOR_STYLE_GOOD : MOR_STYLE_BAD),
			 works ? "works" : "does not work", mor_style_end(cli->console),
			 works ? rung_text(member_text(it.value, "rung")) : ": ", member_text(it.value, "why"));
	}
	if (*member_text(doctor, "auto"))
		mor_outf(cli->console, "  Confined plugins run at %s.\n", member_text(doctor, "auto"));
	else
		mor_out_text(cli->console,
			     "  Nothing can be confined here: a plugin that must be confined is not "
			     "started.\n");
}

/* ---- the table ---- */

/* libsmartcols aligns the table. Colour is added afterwards, because only then the columns are known. */
static struct libscols_table *new_table(const char *const *columns, size_t count)
{
	struct libscols_table *table = scols_new_table();

	for (size_t i = 0; table && i < count; i++)
		scols_table_new_column(table, columns[i], 0, 0);
	return table;
}

static void print_table(struct mor_cli *cli, struct libscols_table *table)
{
	char *text = NULL;

	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	if (scols_print_table_to_string(table, &text) == 0) {
		for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
			size_t len = strcspn(at, "\n");

			while (len && at[len - 1] == ' ')
				len--;
			mor_outf(cli->console, "  %.*s\n", (int)len, at);
		}
	}
	free(text);
	scols_unref_table(table);
}

static void color_cell(struct mor_cli *cli, struct libscols_line *line, size_t column, const char *state)
{
	struct libscols_cell *cell = scols_line_get_cell(line, column);
	bool ok = strcmp(state, "ok") == 0;

	if (cell && cli->console->out_color)
		scols_cell_set_color(cell, ok ? "green" : strcmp(state, "missing") == 0 ? "red" : "yellow");
}

static void checks(struct mor_cli *cli, const struct mor_value *list)
{
	static const char *const columns[] = { "CHECK", "STATE", "FOUND", "WHAT NEEDS IT" };
	static const char *const members[] = { "title", "state", "found", "promise" };
	struct libscols_table *table = new_table(columns, 4);
	struct mor_json_iter it = mor_json_iter(list);

	mor_out_title(cli->console, "This machine");
	if (!table)
		return;
	scols_table_enable_colors(table, cli->console->out_color);
	while (mor_json_next(&it)) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		for (size_t i = 0; line && i < 4; i++)
			scols_line_set_data(line, i, member_text(it.value, members[i]));
		if (line)
			color_cell(cli, line, 1, member_text(it.value, "state"));
	}
	print_table(cli, table);
}

static void landlock(struct mor_cli *cli, const struct mor_value *list)
{
	static const char *const columns[] = { "LANDLOCK ABI", "SINCE", "HERE", "ADDS",
					       "WHAT ELSE ENFORCES IT" };
	struct libscols_table *table = new_table(columns, 5);
	struct mor_json_iter it = mor_json_iter(list);

	mor_out_title(cli->console, "What Landlock adds");
	while (table && mor_json_next(&it)) {
		struct libscols_line *line = scols_table_new_line(table, NULL);
		bool present = mor_json_bool(mor_json_get(it.value, "present"), false);
		char abi[24];

		if (!line)
			break;
		snprintf(abi, sizeof(abi), "%lld", (long long)mor_json_int(mor_json_get(it.value, "abi"), 0));
		scols_line_set_data(line, 0, abi);
		scols_line_set_data(line, 1, member_text(it.value, "since"));
		scols_line_set_data(line, 2, present ? "yes" : "no");
		scols_line_set_data(line, 3, member_text(it.value, "adds"));
		scols_line_set_data(line, 4, member_text(it.value, "otherwise"));
	}
	if (table)
		print_table(cli, table);
}

/* ---- what to do ---- */

static void remedies(struct mor_cli *cli, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);
	bool first = true;

	while (mor_json_next(&it)) {
		if (strcmp(member_text(it.value, "state"), "ok") == 0)
			continue;
		if (first)
			mor_out_title(cli->console, "What could be better");
		first = false;
		mor_outf(cli->console, "  %s%s%s: %s\n    without it: %s\n",
			 mor_style(cli->console, MOR_STYLE_WARN), member_text(it.value, "title"),
			 mor_style_end(cli->console), member_text(it.value, "found"),
			 member_text(it.value, "without"));
		if (*member_text(it.value, "change"))
			mor_outf(cli->console, "    to change:  %s\n", member_text(it.value, "change"));
	}
}

static void single(struct mor_cli *cli, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);
	bool none = true;

	mor_out_title(cli->console, "Enforced by one layer only");
	while (mor_json_next(&it)) {
		mor_outf(cli->console, "  %s\n", mor_json_text(it.value, ""));
		none = false;
	}
	if (none)
		mor_out_text(cli->console, "  nothing, at level t1\n");
}

static void print_page(struct mor_cli *cli, const struct mor_value *doctor)
{
	const struct mor_value *list = mor_json_get(doctor, "checks");

	mor_outf(cli->console, "mortise %s on Linux %s\n", member_text(doctor, "version"),
		 member_text(doctor, "kernel"));
	if (*member_text(doctor, "place"))
		mor_outf(cli->console, "%s\n", member_text(doctor, "place"));
	levels(cli, doctor);
	checks(cli, list);
	remedies(cli, list);
	landlock(cli, mor_json_get(doctor, "landlock"));
	single(cli, mor_json_get(doctor, "one_layer_only"));
}

static int doctor_run(struct mor_cli *cli)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error err = { 0 };
	char *json = NULL;
	int r;

	if (cli->words.count || cli->words.tail) {
		mor_fail(&err, MORTISE_EINVAL, "doctor takes no arguments");
		return mor_report_usage(cli->console, &err);
	}
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
		print_page(cli, mor_doc_root(doc));
	/* Scripts use the exit status to ask whether plugins can be confined here. */
	return *member_text(mor_doc_root(doc), "auto") ? 0 : mortise_status_exit_code(MORTISE_EJAIL);
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
	.args_size = sizeof(struct doctor_args),
	.common = offsetof(struct doctor_args, common),
	.run = doctor_run,
};
