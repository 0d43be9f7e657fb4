#include <stdio.h>
#include <string.h>

#include <tenon/analyzer.h>

/* A node for a title, as a child of its file. */
static void add_title(tenon_analyzer *a, const tenon_vname *file, const char *title)
{
	tenon_vname node = *file;

	node.signature = title;
	node.language = "note";
	tenon_fact_text(a, &node, "/kythe/node/kind", "doc");
	tenon_edge(a, &node, "/kythe/edge/childof", file);
}

static int add_file(tenon_analyzer *a, const char *path)
{
	static char text[1 << 20];
	FILE *source = fopen(path, "r");
	size_t len = source ? fread(text, 1, sizeof(text) - 1, source) : 0;
	tenon_vname file;

	if (!source || fclose(source) != 0 || tenon_vname_of(a, path, "", &file) < 0)
		return -1;
	text[len] = '\0';
	tenon_fact_text(a, &file, "/kythe/node/kind", "file");
	tenon_fact(a, &file, "/kythe/text", text, len);
	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		if (strncmp(line, "# ", 2) == 0)
			add_title(a, &file, line + 2);
	return 0;
}

static int analyze(tenon_analyzer *a, const tenon_unit *unit, void *arg)
{
	(void)arg;
	for (const char *const *path = unit->inputs; *path; path++)
		if (add_file(a, *path) < 0)
			return -1;
	return 0;
}

static const tenon_analysis analyses[] = { { "/kythe/index/note", analyze }, { 0 } };

int main(void)
{
	return tenon_run(&(tenon_plugin){ "@NAME@", "0.1.0", "Indexes notes", .analyses = analyses });
}
