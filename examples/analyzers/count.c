/* SPDX-License-Identifier: Apache-2.0 */
/* A Kythe analyzer in C: a file node per source, and how many lines it has as a fact of its own. */
#include <stdio.h>
#include <tenon/analyzer.h>

static int count_lines(tenon_analyzer *a, const char *path)
{
	tenon_vname file;
	char number[24];
	unsigned lines = 0;
	FILE *f = fopen(path, "re");
	int c;

	if (!f)
		return -1; /* the analysis fails: the driver tries it again in a fresh process */
	while ((c = getc(f)) != EOF)
		lines += c == '\n';
	fclose(f);
	snprintf(number, sizeof(number), "%u", lines);
	tenon_vname_of(a, path, "", &file);
	tenon_fact_text(a, &file, "/kythe/node/kind", "file");
	return tenon_fact_text(a, &file, "/example/lines", number);
}

static int analyze(tenon_analyzer *a, const tenon_unit *unit, void *arg)
{
	int r = 0;

	(void)arg;
	for (size_t i = 0; r == 0 && i < unit->input_count; i++)
		r = count_lines(a, unit->inputs[i]);
	return r;
}

int main(void)
{
	return tenon_analyze(&(tenon_analyzer_options){ .name = "count", .analyze = analyze });
}
