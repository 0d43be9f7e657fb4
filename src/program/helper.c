/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where mortise-jail and its likes are: where the host says; beside the build tree's own programs while they run from
 * there; else where they were installed. Never in a directory that merely lies near: somebody else may write there.
 */
#include "program/helper.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INSTALLED MORTISE_LIBEXECDIR "/mortise"
#define BUILT	  MORTISE_BUILDDIR

static bool lies_in_build(const char *path)
{
	size_t len = strlen(BUILT);

	return strncmp(path, BUILT, len) == 0 && path[len] == '/';
}

/* Whether the code that is running, library or program, lies in the build directory. */
static bool runs_from_build(void)
{
	char self[PATH_MAX];
	ssize_t n;
	Dl_info info;

	if (dladdr((void *)&mor_program_path, &info) && info.dli_fname && strchr(info.dli_fname, '/') &&
	    realpath(info.dli_fname, self))
		return lies_in_build(self);
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0)
		return false;
	self[n] = '\0';
	return lies_in_build(self);
}

const char *mor_program_path(const char *name, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%s/%s", runs_from_build() ? BUILT : INSTALLED, name);
	return out;
}

const char *mor_helper_path(const char *asked)
{
	static int from_build = -1; /* the answer never changes; two threads would find the same */

	if (asked)
		return asked;
	if (from_build < 0)
		from_build = runs_from_build();
	return from_build ? BUILT "/mortise-jail" : INSTALLED "/mortise-jail";
}
