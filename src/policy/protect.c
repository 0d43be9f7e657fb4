/* SPDX-License-Identifier: Apache-2.0 */
/* See protect.h. */
#include "policy/protect.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"

#define GIT ".git"

/* Files and directories that tools run, or take orders from, by themselves: when somebody commits, changes into
 * the directory, opens it in an editor, builds, or starts a plugin. Sources and Makefiles are not among them:
 * those are run by whoever asks for it. */
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

/* Git directories are also named by their path: what has a path, the kernel holds at t1. With commits only a
 * part of it is read-only. */
static void write_names(struct mor_buf *plan, const struct mor_policy *policy)
{
	for (const char *const *name = mor_protected_names; *name; name++)
		if (!is_unprotected(policy, *name))
			mor_plan_add_protect(plan, strcmp(*name, GIT) == 0 ? MOR_PROTECT_GIT : MOR_PROTECT_TOOL,
					     *name);
	if (is_unprotected(policy, GIT))
		return;
	write_below(plan, policy, MOR_PROTECT_GIT, GIT);
	if (policy->git || policy->learn) {
		write_below(plan, policy, MOR_PROTECT_GIT_RUNS, GIT "/hooks");
		write_below(plan, policy, MOR_PROTECT_GIT_RUNS, GIT "/config");
	}
	mor_protected_write_git(plan, policy);
}

int mor_protected_write(struct mor_buf *plan, const struct mor_policy *policy)
{
	if (!policy->workspace || !(policy->workspace_write || policy->learn))
		return plan->status;
	for (char **name = policy->protected_paths; name && *name; name++)
		write_below(plan, policy, MOR_PROTECT_ASKED, *name);
	if (!policy->protected_paths)
		write_names(plan, policy);
	write_below(plan, policy, MOR_PROTECT_POLICY, "sunscreen.yml");
	for (char **path = policy->policy_files; path && *path; path++)
		mor_protected_write_path(plan, policy, MOR_PROTECT_POLICY, *path);
	for (char **path = policy->command_files; path && *path; path++)
		mor_protected_write_path(plan, policy, MOR_PROTECT_CODE, *path);
	return plan->status;
}
