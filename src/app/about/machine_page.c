/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "about/about.h"
#include "about/columns_inside.h"

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

static void show_levels(struct mor_console *out, const struct mor_value *doctor)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(doctor, "levels"));

	mor_out_title(out, "Levels");
	while (mor_json_next(&it)) {
		bool works = mor_json_bool(mor_json_get(it.value, "available"), false);

		mor_outf(out, "  %-8s %s%s%s%s%s\n", member_text(it.value, "level"),
			 mor_style(out, works ? MOR_STYLE_GOOD : MOR_STYLE_BAD),
			 works ? "works" : "does not work", mor_style_end(out),
			 works ? rung_text(member_text(it.value, "rung")) : ": ", member_text(it.value, "why"));
	}
	if (*member_text(doctor, "auto"))
		mor_outf(out, "  Confined plugins run at %s.\n", member_text(doctor, "auto"));
	else
		mor_out_text(out, "  Nothing can be confined here: a plugin that must be confined is not "
				  "started.\n");
}

/* ---- the tables ---- */

static void show_checks(struct mor_console *out, const struct mor_value *list)
{
	static const char *const titles[] = { "CHECK", "STATE", "FOUND", "WHAT NEEDS IT" };
	struct libscols_table *table = mor_columns_new(titles, 4);
	struct mor_json_iter it = mor_json_iter(list);

	mor_out_title(out, "This machine");
	if (table)
		scols_table_enable_colors(table, out->out_color);
	while (mor_json_next(&it)) {
		const char *state = member_text(it.value, "state");
		struct libscols_line *line =
			mor_columns_add(table, (const char *const[]){ member_text(it.value, "title"), state,
								      member_text(it.value, "found"),
								      member_text(it.value, "promise") });
		struct libscols_cell *cell = line ? scols_line_get_cell(line, 1) : NULL;

		if (cell && out->out_color)
			scols_cell_set_color(cell, strcmp(state, "ok") == 0      ? "green" :
						   strcmp(state, "missing") == 0 ? "red" :
										   "yellow");
	}
	mor_columns_print(out, table);
}

static void show_landlock(struct mor_console *out, const struct mor_value *list)
{
	static const char *const titles[] = { "LANDLOCK ABI", "SINCE", "HERE", "ADDS",
					      "WHAT ELSE ENFORCES IT" };
	struct libscols_table *table = mor_columns_new(titles, 5);
	struct mor_json_iter it = mor_json_iter(list);

	mor_out_title(out, "What Landlock adds");
	while (mor_json_next(&it)) {
		bool present = mor_json_bool(mor_json_get(it.value, "present"), false);
		char abi[24];

		snprintf(abi, sizeof(abi), "%lld", (long long)mor_json_int(mor_json_get(it.value, "abi"), 0));
		mor_columns_add(table,
				(const char *const[]){ abi, member_text(it.value, "since"),
						       present ? "yes" : "no", member_text(it.value, "adds"),
						       member_text(it.value, "otherwise") });
	}
	mor_columns_print(out, table);
}

/* ---- what to do ---- */

static void show_remedies(struct mor_console *out, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);
	bool first = true;

	while (mor_json_next(&it)) {
		if (strcmp(member_text(it.value, "state"), "ok") == 0)
			continue;
		if (first)
			mor_out_title(out, "What could be better");
		first = false;
		mor_outf(out, "  %s%s%s: %s\n    without it: %s\n", mor_style(out, MOR_STYLE_WARN),
			 member_text(it.value, "title"), mor_style_end(out), member_text(it.value, "found"),
			 member_text(it.value, "without"));
		if (*member_text(it.value, "change"))
			mor_outf(out, "    to change:  %s\n", member_text(it.value, "change"));
	}
}

static void show_single(struct mor_console *out, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);
	bool none = true;

	mor_out_title(out, "Enforced by one layer only");
	while (mor_json_next(&it)) {
		mor_outf(out, "  %s\n", mor_json_text(it.value, ""));
		none = false;
	}
	if (none)
		mor_out_text(out, "  nothing, at level t1\n");
}

void mor_about_machine_page(struct mor_console *out, const struct mor_value *doctor)
{
	const struct mor_value *list = mor_json_get(doctor, "checks");

	mor_outf(out, "mortise %s on Linux %s\n", member_text(doctor, "version"),
		 member_text(doctor, "kernel"));
	if (*member_text(doctor, "place"))
		mor_outf(out, "%s\n", member_text(doctor, "place"));
	show_levels(out, doctor);
	show_checks(out, list);
	show_remedies(out, list);
	show_landlock(out, mor_json_get(doctor, "landlock"));
	show_single(out, mor_json_get(doctor, "one_layer_only"));
}
