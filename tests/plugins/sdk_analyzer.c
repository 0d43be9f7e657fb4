/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An analyzer that shows what tenon/analyzer.h handed it. Words of the unit's arguments say what it does:
 * "unit": facts with all that the unit says; "names": the name of each input, asked twice; "log":
 * diagnostics; "many": 100,000 entries; "print": stray output; "fail": the analysis fails. sdk_analyzer.py is
 * the same in Python.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tenon/analyzer.h>

static const tenon_vname here = { "s", "c", "r", "p", "l" };

static void list(tenon_analyzer *a, const char *name, const char *const *items)
{
	for (; *items; items++)
		tenon_fact_text(a, &here, name, *items);
}

static void show_unit(tenon_analyzer *a, const tenon_unit *unit)
{
	char cwd[4096];

	list(a, "/input", unit->inputs);
	list(a, "/argument", unit->arguments);
	list(a, "/environment", unit->environment);
	tenon_fact_text(a, &here, "/working_dir", unit->working_dir);
	tenon_fact_text(a, &here, "/cwd", getcwd(cwd, sizeof(cwd)) ? cwd : "");
	tenon_fact_text(a, &here, "/entry_context", unit->entry_context);
	tenon_fact_text(a, &here, "/output_key", unit->output_key);
	tenon_fact_text(a, &here, "/details", unit->details);
}

static void show_names(tenon_analyzer *a, const tenon_unit *unit)
{
	for (int round = 0; round < 2; round++)
		for (const char *const *input = unit->inputs; *input; input++) {
			tenon_vname name;
			int r = tenon_vname_of(a, *input, "", &name);

			tenon_fact_text(a, &name, r == 0 ? "/named" : "/unnamed", *input);
			tenon_edge(a, &name, "/edge", &here);
		}
}

static int analyze(tenon_analyzer *a, const tenon_unit *unit, void *arg)
{
	(void)arg;
	for (const char *const *word = unit->arguments; *word; word++) {
		if (strcmp(*word, "unit") == 0)
			show_unit(a, unit);
		if (strcmp(*word, "names") == 0)
			show_names(a, unit);
		if (strcmp(*word, "log") == 0) {
			tenon_diagnose(a, NULL, 0, 0, "whole");
			tenon_diagnose(a, "a.c", 3, 0, "line");
			tenon_diagnose(a, "a.c", 3, 7, "line \"%s\"", "and column");
		}
		for (int i = 0; strcmp(*word, "many") == 0 && i < 100000; i++)
			tenon_fact_text(a, &here, "/many", "x");
		if (strcmp(*word, "print") == 0) {
			printf("stray output\n");
			fflush(stdout);
		}
		if (strcmp(*word, "fail") == 0)
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const types[] = { "/kythe/index/toy", "/team/other", NULL };

	return tenon_analyze(
		&(tenon_analyzer_options){ .name = "sdk-analyzer",
					   .types = types,
					   .analyze = analyze,
					   .max_analyses = argc > 1 ? (uint32_t)atoi(argv[1]) : 0 });
}
