/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between the project's lock, the installed plugins, and the registries that they come from. */
#ifndef MOR_LOCKFILE_OUTDATED_H
#define MOR_LOCKFILE_OUTDATED_H

#include "lockfile/lockfile.h"

/* One plugin in the three places. Each text but `name` is NULL where it is not there. */
struct mor_outdated {
	const char *name;
	const char *locked, *installed; /* versions */
	const char *newest;             /* version in the registry */
	const char *registry;           /* its directory */
	char differs[1200];             /* for people; "": nothing does */
};
typedef void mor_outdated_fn(const struct mor_outdated *plugin, void *arg);

/* Tells each plugin of the lock, and with `all`, or if `lock` was not found (it has no doc), each other
 * installed plugin. The texts are good until `on_plugin` returns. A registry that cannot be read is a
 * difference. */
int mor_lockfile_outdated(const struct mor_lockfile *lock, const struct mor_store *store, bool all,
			  mor_outdated_fn *on_plugin, void *arg, mortise_error *err);

#endif
