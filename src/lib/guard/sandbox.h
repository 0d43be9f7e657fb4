/* SPDX-License-Identifier: Apache-2.0 */
/* From settings of [sandbox] to a policy: one way for every source of them. */
#ifndef MOR_GUARD_SANDBOX_H
#define MOR_GUARD_SANDBOX_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "manifest/manifest.h"
#include "policy/policy.h"

/* `confined`: what the dialect wants if nothing is said. MORTISE_EMANIFEST with file and line;
 * MORTISE_EINVAL if --set is wrong. Adds warnings to the manifest: paths that do not exist, rules that are
 * not enforced, unconfined. */
int mor_sandbox_load(struct mor_manifest *manifest, bool confined, struct mor_policy *ret, mortise_error *err);

/* What people decided about plugins is not a program's to write, whatever its workspace is. 0 or
 * MORTISE_ENOMEM. */
int mor_sandbox_protect_user(struct mor_policy *policy);

/* Would an interpreter search for modules in a directory that the policy does not let it read? That is the
 * directory of its script or, without one, `cwd` (NULL: ours). Python can be told not to (PYTHONSAFEPATH). */
bool mor_sandbox_hides_modules(const struct mor_policy *policy, const char *const *argv, const char *cwd);

#endif
