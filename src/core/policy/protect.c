/* SPDX-License-Identifier: Apache-2.0 */
/* See protect.h. */
#include "policy/protect.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"

#define GIT ".git"

/* Files and directories that tools run, or take orders from, by themselves: when somebody commits, changes into
 * the directory, opens it in an editor, builds, or starts a plugin. Sources and Makefiles are not among them:
 * those are run on request. */
const char *const mor_protected_names[] = {
	GIT,
	".husky",
	".githooks",
	".hg/hgrc",
	".envrc",
	".vscode",
	".idea",
	".devcontainer",
	".claude",
	".cursor",
	".mcp.json",
	".cargo/config.toml",
	".cargo/config",
	".npmrc",
	"mortise.toml",
	"plugin.toml",
	NULL,
};

bool mor_protected_knows(const char *name)
{
	for (const char *const *known = mor_protected_names; *known; known++)
		if (strcmp(*known, name) == 0)
			return true;
	return false;
}

static bool is_unprotected(const struct mor_policy *policy, const char *name)
{
	for (char **given = policy->unprotect; given && *given; given++)
		if (strcmp(*given, name) == 0)
			return true;
	return false;
}

int mor_protected_write_path(struct mor_buf *plan, const struct mor_policy *policy, enum mor_protect_why why,
			     const char *path)
{
	char real[PATH_MAX];
	const char *true_path = realpath(path, real) ? real : path;

	if (!mor_path_below(policy->workspace, path) && !mor_path_below(policy->workspace, true_path))
		return plan->status;
	return mor_plan_add_protect(plan, why, path);
}

static void write_below(struct mor_buf *plan, const struct mor_policy *policy, enum mor_protect_why why,
			const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", policy->workspace, name) < (int)sizeof(path))
		mor_plan_add_protect(plan, why, path);
}

/* ---- links of protected names ---- */

/* Where a name with a link in it leads; if nothing is there yet, by the last link or the directory only. */
static bool link_target(const char *path, char target[PATH_MAX])
{
	char text[PATH_MAX];
	int dir_len = (int)(strrchr(path, '/') - path), len;
	ssize_t got;

	if (realpath(path, target))
		return strcmp(path, target) != 0;
	got = readlink(path, text, sizeof(text) - 1);
	if (got > 0) {
		text[got] = '\0';
		len = text[0] == '/' ? snprintf(target, PATH_MAX, "%s", text) :
				       snprintf(target, PATH_MAX, "%.*s/%s", dir_len, path, text);
		return len < PATH_MAX;
	}
	snprintf(text, sizeof(text), "%.*s", dir_len, path);
	len = realpath(text, target) ? (int)strlen(target) : PATH_MAX;
	return len < PATH_MAX && snprintf(target + len, (size_t)(PATH_MAX - len), "%s", path + dir_len) > 0 &&
	       strcmp(path, target) != 0;
}

/* Links right in a directory of that name. */
static void follow_inside(struct mor_buf *plan, const struct mor_policy *policy, const char *path)
{
	char link[PATH_MAX], target[PATH_MAX];
	const struct dirent *entry;
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir)))
		if (entry->d_type == DT_LNK &&
		    snprintf(link, sizeof(link), "%s/%s", path, entry->d_name) < (int)sizeof(link) &&
		    link_target(link, target))
			mor_protected_write_path(plan, policy, MOR_PROTECT_TOOL, target);
	if (dir)
		closedir(dir);
}

static bool begins_name(const char *name, const char *entry)
{
	size_t len = strlen(entry);

	return strncmp(name, entry, len) == 0 && (name[len] == '\0' || name[len] == '/');
}

int mor_protected_write_links(struct mor_buf *plan, const struct mor_policy *policy, const char *dir,
			      const char *entry)
{
	char path[PATH_MAX], target[PATH_MAX];

	for (const char *const *name = mor_protected_names; *name; name++) {
		if (!begins_name(*name, entry) || strcmp(*name, GIT) == 0 || is_unprotected(policy, *name) ||
		    snprintf(path, sizeof(path), "%s/%s", dir, *name) >= (int)sizeof(path))
			continue;
		if (link_target(path, target))
			mor_protected_write_path(plan, policy, MOR_PROTECT_TOOL, target);
		follow_inside(plan, policy, path);
	}
	return plan->status;
}

/* ---- all of it ---- */

/* Git directories are also named by their path: what has a path, the kernel holds at t1. With commits only a
 * part of it is read-only. */
static void write_names(struct mor_buf *plan, const struct mor_policy *policy)
{
	for (const char *const *name = mor_protected_names; *name; name++)
		if (!is_unprotected(policy, *name))
			mor_plan_add_protect(plan, strcmp(*name, GIT) == 0 ? MOR_PROTECT_GIT : MOR_PROTECT_TOOL,
					     *name);
	mor_protected_look_around(plan, policy, !is_unprotected(policy, GIT));
	if (is_unprotected(policy, GIT))
		return;
	write_below(plan, policy, MOR_PROTECT_GIT, GIT);
	if (policy->git || policy->learn) {
		write_below(plan, policy, MOR_PROTECT_GIT_RUNS, GIT "/hooks");
		write_below(plan, policy, MOR_PROTECT_GIT_RUNS, GIT "/config");
	}
}

bool mor_protected_wanted(const struct mor_policy *policy)
{
	return mor_policy_confined(policy) && (policy->workspace_write || policy->learn);
}

int mor_protected_write(struct mor_buf *plan, const struct mor_policy *policy)
{
	if (!policy->workspace || !mor_protected_wanted(policy))
		return plan->status;
	for (char **name = policy->protected_paths; name && *name; name++)
		write_below(plan, policy, MOR_PROTECT_ASKED, *name);
	if (!policy->protected_paths)
		write_names(plan, policy);
	write_below(plan, policy, MOR_PROTECT_POLICY, "sunscreen.yml");
	for (char **path = policy->policy_files; path && *path; path++)
		mor_protected_write_path(plan, policy, MOR_PROTECT_POLICY, *path);
	if (policy->undo_home)
		mor_protected_write_path(plan, policy, MOR_PROTECT_UNDO, policy->undo_home);
	for (char **path = policy->command_files; path && *path; path++)
		mor_protected_write_path(plan, policy, MOR_PROTECT_CODE, *path);
	return plan->status;
}
