/* SPDX-License-Identifier: Apache-2.0 */
#include "bundle/stem.h"

#include <stddef.h>
#include <string.h>

/* How many bytes of the name are before its end; 0: it is no archive's. */
static size_t before_end(const char *name)
{
	static const char *const ends[] = { ".tar.gz", ".tgz", ".tar.zst", ".tar", ".zip" };
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t end = strlen(ends[i]);

		if (len > end && strcmp(name + len - end, ends[i]) == 0)
			return len - end;
	}
	return 0;
}

bool mor_bundle_is_archive(const char *name)
{
	return before_end(name) > 0;
}

void mor_bundle_stem(char *path)
{
	char *slash = strrchr(path, '/');
	size_t len = before_end(path);

	if (len)
		path[len] = '\0';
	for (char *at = slash ? slash : path; (at = strchr(at + 1, '-'));)
		if (at[1] >= '0' && at[1] <= '9')
			*at = '\0';
}

void mor_bundle_cut_version(char *name, const char *version)
{
	size_t len = strlen(name), end = version ? strlen(version) : 0;

	if (end && len > end + 1 && name[len - end - 1] == '-' && strcmp(name + len - end, version) == 0) {
		name[len - end - 1] = '\0';
		return;
	}
	for (char *at = strchr(name, '-'); at; at = strchr(at + 1, '-'))
		if (at > name && at[1] >= '0' && at[1] <= '9') {
			*at = '\0';
			return;
		}
}
