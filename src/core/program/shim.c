/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is behind a shim. pyenv and its kin put a script of one name for all versions into ROOT/shims; it starts
 * bash, which looks for ROOT/versions/VERSION/bin/NAME. A confined plugin cannot run that search, so it is done
 * here, from the same files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/text.h"
#include "program/inside.h"

#define SHIM_MAX    (16 * 1024)
#define VERSION_MAX 4096

static const struct manager {
	const char *call, *variable, *file;
} managers[] = {
	{ "libexec/pyenv\"", "PYENV_VERSION", ".python-version" },
	{ "libexec/rbenv\"", "RBENV_VERSION", ".ruby-version" },
	{ "libexec/nodenv\"", "NODENV_VERSION", ".node-version" },
};

/* ROOT of ROOT/shims/NAME; false: it is not called like a shim. */
static bool root_of(const char *program, char root[PATH_MAX])
{
	static const char shims[] = "/shims/";
	const char *base = mor_base_name(program);
	size_t len = (size_t)(base - program);

	if (len < sizeof(shims) || strncmp(base - (sizeof(shims) - 1), shims, sizeof(shims) - 1) != 0)
		return false;
	snprintf(root, PATH_MAX, "%.*s", (int)(len - (sizeof(shims) - 1)), program);
	return true;
}

static const struct manager *manager_of(const char *shim)
{
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len;

	if (mor_fd_read_file(shim, SHIM_MAX, &text, &len) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(managers) / sizeof(*managers); i++)
		if (strstr(text, managers[i].call))
			return &managers[i];
	return NULL;
}

/* ---- the version ---- */

static char *read_text(const char *dir, const char *file)
{
	char path[PATH_MAX];
	char *text = NULL;
	size_t len;

	if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path) ||
	    mor_fd_read_file(path, VERSION_MAX, &text, &len) < 0)
		return NULL;
	return text;
}

/* The file in this directory, or in the nearest one above it. */
static char *read_above(char dir[PATH_MAX], const char *file)
{
	char *text = read_text(dir, file), *slash;

	while (!text && (slash = strrchr(dir, '/'))) {
		*slash = '\0';
		text = read_text(dir, file);
	}
	return text;
}

/* What the manager would find: its variable, a file of the project, its own default. NULL: nothing. */
static char *choose_versions(const struct mor_command *command, const struct manager *manager, const char *root)
{
	const char *given = getenv(manager->variable);
	char here[PATH_MAX], *text = NULL;

	if (given && *given)
		return mor_strdup(given);
	if (realpath(command->cwd ? command->cwd : ".", here))
		text = read_above(here, manager->file);
	return text ? text : read_text(root, "version");
}

/* The first of the versions that has the program. "system" has none: the next directory of PATH has. */
static bool find_version(const char *root, const char *versions, const char *name, char out[PATH_MAX])
{
	static const char blanks[] = ": \t\r\n";

	for (const char *at = versions + strspn(versions, blanks); *at; at += strspn(at, blanks)) {
		size_t len = strcspn(at, blanks);

		if (!memchr(at, '/', len) &&
		    snprintf(out, PATH_MAX, "%s/versions/%.*s/bin/%s", root, (int)len, at, name) < PATH_MAX &&
		    mor_program_is_executable(out))
			return true;
		at += len;
	}
	return false;
}

enum mor_shim mor_program_behind_shim(const struct mor_command *command, const char *program,
				      char out[PATH_MAX])
{
	char root[PATH_MAX], seen[PATH_MAX];
	const struct manager *manager;
	MOR_CLEAN_TEXT char *versions = NULL;

	if (!mor_program_seen_from(command, program, seen) || !root_of(seen, root))
		return MOR_SHIM_NONE;
	manager = manager_of(seen);
	if (!manager)
		return MOR_SHIM_NONE;
	versions = choose_versions(command, manager, root);
	return versions && find_version(root, versions, mor_base_name(seen), out) ? MOR_SHIM_RESOLVED :
										    MOR_SHIM_EMPTY;
}
