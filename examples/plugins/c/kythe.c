/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <tenon/analyzer.h>

static int analyze(tenon_analyzer *a, const tenon_unit *unit, void *arg)
{
	(void)arg;
	for (const char *const *path = unit->inputs; *path; path++) {
		struct stat info;
		tenon_vname name;

		if (stat(*path, &info) < 0 || tenon_vname_of(a, *path, "", &name) < 0)
			return -1;
		tenon_fact_format(a, &name, "/example/bytes", "%lld", (long long)info.st_size);
	}
	return 0;
}

static const tenon_analysis analyses[] = { { "/kythe/index/c++", analyze }, { 0 } };

int main(void)
{
	return tenon_run(&(tenon_plugin){ .name = "bytes", .analyses = analyses });
}
