/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAMS' plugin directories: which of them the user trusts, and the plugins that lie in them.
 *
 *	place.c  where YAMS keeps its list              safe.c  who else could change a path
 *	file.c   the list: read it, add to it, remove   scan.c  the plugins in the directories
 *
 * The list is YAMS' own file, plugins.trust: one absolute path per line, "#" begins a comment. A path trusts
 * itself and everything below it, part by part: "/a/b" does not trust "/a/bc". Both sides are compared after
 * links were followed, so a link that leads out of a trusted directory is not trusted. What is written stays
 * readable for YAMS, and its comments and order stay as they were.
 *
 * A path that somebody else could change is not trusted, whatever the list says: neither is a list that
 * somebody else could change. Nothing here runs anything of a plugin.
 */
#ifndef MOR_TRUSTED_TRUSTED_H
#define MOR_TRUSTED_TRUSTED_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "wire/json.h"

#define MOR_TRUSTED_FILE_MAX ((size_t)4 << 20) /* bytes of the list */

/* One line of the list. */
struct mor_trusted_path {
	char *typed; /* as it stands there */
	char *path;  /* clean, links followed where it exists; NULL: it is not absolute */
	char *why;   /* why it does not count; NULL: it does */
};

struct mor_trusted {
	char *file;         /* where the list is, or would be; NULL: there is no place for it */
	char *older;        /* plugins_trust.txt of older versions, read while `file` is not there; or NULL */
	bool from_older;    /* it was read from there */
	struct mor_buf all; /* the bytes of the file */
	struct mor_trusted_path *items;
	size_t count, cap;
};

/* A missing file is an empty list. MORTISE_EVIOLATION: somebody else could have written it; the text says what
 * to type. MORTISE_EINPUT, MORTISE_EMANIFEST: YAMS' settings do not say where it is. */
int mor_trusted_read(struct mor_trusted *ret, mortise_error *err);
void mor_trusted_fini(struct mor_trusted *list);
/* Which line trusts a clean path without links; NULL: none. `any`: also one that does not count. */
const struct mor_trusted_path *mor_trusted_by(const struct mor_trusted *list, const char *path, bool any);

/* What changed: the path as it is written in the list, and what a person should know about it, or NULL. */
struct mor_trusted_change {
	char *path, *note;
};
void mor_trusted_change_fini(struct mor_trusted_change *change);
/* Two at once both end well. MORTISE_ENOTFOUND: there is no such path, or (remove) it is not in the list;
 * MORTISE_EINPUT: it cannot be trusted, and why. */
int mor_trusted_add(const char *word, struct mor_trusted_change *ret, mortise_error *err);
int mor_trusted_remove(const char *word, struct mor_trusted_change *ret, mortise_error *err);

/* What a plugin of YAMS may be besides a directory: a .py or .js file, or an executable that is no binary. */
bool mor_trusted_is_script(const char *path);

struct mor_trusted_plugin {
	char *name;          /* of its manifest, else of its directory or file */
	char *version;       /* of its manifest, or NULL */
	char *path;          /* directory or file, absolute */
	struct mor_doc *doc; /* yams-plugin.json, or NULL */
	char *why;           /* why it must not run, with the command to type; NULL: it may */
};
struct mor_trusted_plugins {
	struct mor_trusted_plugin *items;
	size_t count, cap;
};
/* In YAMS' own directories (~/.local/lib/yams/external-plugins, /usr/local/lib/…, /usr/lib/…), then in those of
 * the list in its order; in each by name. One level deep. Of two with the same path, one. 0 or MORTISE_ENOMEM:
 * what cannot be read is left out. */
int mor_trusted_scan(const struct mor_trusted *list, struct mor_trusted_plugins *ret, mortise_error *err);
void mor_trusted_plugins_fini(struct mor_trusted_plugins *plugins);

#endif
