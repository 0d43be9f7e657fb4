/* SPDX-License-Identifier: Apache-2.0 */
/* The C SDK's analyzer loop, as small as it gets: the text of each source as a fact "/t", and a
 * diagnostic of each. */
#include <stdio.h>
#include <stdlib.h>

#include <tenon/analyzer.h>

static int put_text(tenon_analyzer *a, const char *path)
{
	static char text[1 << 16];
	tenon_vname name;
	FILE *file = fopen(path, "rb");
	size_t len;

	if (!file)
		return -1;
	len = fread(text, 1, sizeof(text), file);
	fclose(file);
	tenon_diagnose(a, path, 1, 2, "seen");
	return tenon_vname_of(a, path, "", &name) < 0 ? -1 : tenon_fact(a, &name, "/t", text, len);
}

static int analyze(tenon_analyzer *a, const tenon_unit *unit, void *arg)
{
	int r = 0;

	(void)arg;
	for (size_t i = 0; r == 0 && i < unit->input_count; i++)
		r = put_text(a, unit->inputs[i]);
	return r;
}

int main(void)
{
	static const char *const types[] = { "/kythe/index/toy", NULL };

	return tenon_analyze(
		&(tenon_analyzer_options){ .name = "sdk-text", .types = types, .analyze = analyze });
}
