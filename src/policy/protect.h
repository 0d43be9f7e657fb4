/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin may not write although it may write the workspace: what others run or obey later. The names
 * here count wherever they are below the workspace; the guardian (jail/protect.h) compares them.
 */
#ifndef MOR_POLICY_PROTECT_H
#define MOR_POLICY_PROTECT_H

#include <stdbool.h>

#include "policy/plan.h"
#include "policy/policy.h"

/* The names that are protected where protected_paths says nothing; ends with NULL. */
extern const char *const mor_protected_names[];
bool mor_protected_knows(const char *name);
/* "ws/sunscreen.yml" and what the lists of the policy name; then the repositories of the workspace, as they are
 * now. 0 or MORTISE_ENOMEM. */
int mor_protected_write(struct mor_buf *plan, const struct mor_policy *policy);

/* protect_git.c: what git runs for the repositories in and around the workspace, apart from their git
 * directories: an existing core.hooksPath, configuration that is included, and what links in hooks/ lead to.
 * Git directories that are not called .git. */
int mor_protected_write_git(struct mor_buf *plan, const struct mor_policy *policy);
/* Writes the operation if `path` lies below the workspace. */
int mor_protected_write_path(struct mor_buf *plan, const struct mor_policy *policy, enum mor_protect_why why,
			     const char *path);

#endif
