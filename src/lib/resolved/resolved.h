/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin, resolved: what its files, the store and the options say about it, read once. mortise_plugin_new()
 * makes one and keeps it. The command must know more before it has a plugin (what a method takes, whether the
 * network was granted), so it makes one first, decides by it, and hands it on: the process runs by the bytes
 * that the decision was made on, whatever has happened to the files since.
 *
 * Where each part comes from: a setting of the manifest has its origin, a file and line or "--set"; the dialect
 * is a row of the tables, by the manifest's name for it; grants are those of the store.
 *
 * It belongs to one plugin at most, which changes it while it is made (more warnings). Others may keep a
 * reference and read it, also when the plugin is gone.
 */
#ifndef MOR_RESOLVED_RESOLVED_H
#define MOR_RESOLVED_RESOLVED_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "dialect/dialect.h"
#include "manifest/manifest.h"

struct mor_vetting;

struct mor_resolved {
	unsigned refs;
	struct mor_manifest *manifest;     /* never NULL */
	const struct mor_dialect *dialect; /* NULL: no dialect is called so; who makes a plugin says that */
	struct mor_vetting *vetting;       /* of an installed plugin; NULL: not installed */
	bool granted_network;              /* somebody has approved it with the network, in the store */
};

enum mor_resolved_flags {
	MOR_RESOLVED_MORE = 1 << 0,    /* config, env and the whole of `set` come later: mor_resolved_more() */
	MOR_RESOLVED_EMBEDDED = 1 << 1 /* texts name settings, not options of the command */
};

/* Errors: those of mor_manifest_load(). */
int mor_resolved_new(const mortise_plugin_options *opt, unsigned flags, struct mor_resolved **ret,
		     mortise_error *err);
/* Config, set and env of the options, in place of those before. No file is read again. MORTISE_EINVAL. */
int mor_resolved_more(struct mor_resolved *resolved, const mortise_plugin_options *opt, mortise_error *err);
struct mor_resolved *mor_resolved_ref(struct mor_resolved *resolved);
struct mor_resolved *mor_resolved_unref(struct mor_resolved *resolved);

#endif
