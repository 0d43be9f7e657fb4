/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin may not write although it may write the workspace: what others run or obey later. The names
 * here count wherever they are below the workspace; the guardian (jail/protect.h) compares them.
 */
#ifndef MOR_POLICY_PROTECT_H
#define MOR_POLICY_PROTECT_H

#include "policy/policy.h"

/* The names that are protected where protected_paths says nothing; ends with NULL. */
extern const char *const mor_protected_names[];
bool mor_protected_knows(const char *name);
/* May it write a workspace at all? If not, there is nothing to protect from it, and the lists of its policy
 * may be empty. */
bool mor_protected_wanted(const struct mor_policy *policy);
/* "ws/sunscreen.yml" and what the lists of the policy name; then the repositories of the workspace, as they are
 * now. 0 or MORTISE_ENOMEM. */
int mor_protected_write(struct mor_buf *plan, const struct mor_policy *policy);

/* protect_git.c: goes through the first directories of the workspace. What links of protected names lead to;
 * and, with `git`, what git runs for the repositories in and around it, apart from their git directories: an
 * existing core.hooksPath, configuration that is included, and what links in hooks/ lead to. Git directories
 * that are not called .git. */
int mor_protected_look_around(struct mor_buf *plan, const struct mor_policy *policy, bool git);
/* If `entry` of `dir` is a protected name, or the beginning of one: what links of that name, or right in a
 * directory of that name, lead to within the workspace. */
int mor_protected_write_links(struct mor_buf *plan, const struct mor_policy *policy, const char *dir,
			      const char *entry);
/* Writes the operation if `path` lies below the workspace. */
int mor_protected_write_path(struct mor_buf *plan, const struct mor_policy *policy, enum mor_protect_why why,
			     const char *path);

#endif
