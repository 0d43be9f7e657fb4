/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin is, as far as it decides how its process is guarded: the part of a plugin that this room and
 * the host both see. The host makes one for each plugin and fills it once; this room changes what it decides
 * again before each start (vetting.h: where a program runs and by which words).
 */
#ifndef MOR_GUARD_GUARDED_H
#define MOR_GUARD_GUARDED_H

#include "dialect/dialect.h"
#include "guard/env.h"
#include "guard/vetting.h"
#include "manifest/manifest.h"
#include "policy/policy.h"
#include "program/resolve.h"

struct mor_guarded {
	uint64_t flags; /* MORTISE_CLEAN_ENV and others: as the plugin was made */
	/* The next three belong to what was resolved. */
	struct mor_manifest *manifest;     /* never NULL */
	const struct mor_dialect *dialect; /* all its rows: the plugin's own table may have fewer */
	struct mor_vetting *vetting;       /* of an installed plugin; NULL: not installed */
	/* its permissions: as asked for; the link's start tells what is in force */
	struct mor_policy policy;
	struct mor_env *env; /* shared with other plugins; NULL once it is gone */
	struct mor_command command;
};

#endif
