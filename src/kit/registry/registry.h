/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A team's registry without a server: a directory with bundles, and beside them an index, mortise-index.json
 * (docs/design/0008-store.md):
 *
 *	{"mortise_index":1,"serial":7,
 *	 "plugins":[{"name","version","file","size","sha256","digest","key":"ed25519:…"|null,"description"},…],
 *	 "signature":{"key":"ed25519:…","signature":"base64"}}
 *
 * `file` is a name in the same directory. `sha256` is that of the file, `digest` that of the plugin's content,
 * `key` that of FILE.sig. `serial` grows with each change. The signature covers the serial and each entry:
 *
 *	mortise-index 1
 *	serial 7
 *	one line per entry: its JSON without blanks
 *
 * It is inside the index, so that one rename replaces both. Everything in the directory may be hostile: sizes
 * are limited, links are not followed, and what the index says of a file is compared before the file is used.
 */
#ifndef MOR_REGISTRY_REGISTRY_H
#define MOR_REGISTRY_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "bundle/signature.h"
#include "store/semver.h"
#include "wire/json.h"

#define MOR_REGISTRY_INDEX       "mortise-index.json"
#define MOR_REGISTRY_INDEX_BYTES (16ul * 1024 * 1024)
#define MOR_REGISTRY_PLUGINS_MAX 20000

/* Texts belong to the registry. */
struct mor_registry_entry {
	const char *name, *version, *file, *sha256, *digest;
	const char *key, *description; /* or NULL */
	uint64_t size;
	const struct mor_value *value; /* all of it */
};

struct mor_registry {
	char *path; /* absolute, links followed */
	int dir;    /* the same, open */
	struct mor_doc *doc;
	int64_t serial;
	struct mor_registry_entry *items; /* sorted by name, the newest version first */
	size_t count, cap;
	struct mor_bundle_origin origin; /* who has signed the index */
};
/* clang-format off */
#define MOR_REGISTRY_INIT { .dir = -1 }
/* clang-format on */

/* Reads and checks the index, with its signature. MORTISE_ENOTFOUND: no index; MORTISE_EINPUT: it is
 * refused, with one line that says why. */
int mor_registry_open(const char *path, struct mor_registry *ret, mortise_error *err);
void mor_registry_fini(struct mor_registry *registry);
/* For fuzzing and tests: the same from a text. Fills doc, serial and items. */
int mor_registry_parse(struct mor_slice text, struct mor_registry *registry, mortise_error *err);
/* The directory in a plugin's `from`; NULL: it does not come from a registry. */
const char *mor_registry_of(const char *from);
/* The same, for a user who goes on with it: an index that is older than what the user has seen of this
 * registry, or has lost the signature of a key that the user knew, is refused (MORTISE_EINPUT) unless
 * `downgrade`. Otherwise it is remembered, below $XDG_STATE_HOME/mortise/registries. Without a place nothing
 * is remembered. */
int mor_registry_visit(const char *path, bool downgrade, struct mor_registry *ret, mortise_error *err);

/* The newest version of a plugin that fits; NULL: no version fits. The second fails with MORTISE_ENOTFOUND and
 * says what there is. */
const struct mor_registry_entry *mor_registry_newest(const struct mor_registry *registry, const char *name,
						     const struct mor_semver_range *range);
int mor_registry_pick(const struct mor_registry *registry, const char *name, const char *range,
		      const struct mor_registry_entry **ret, mortise_error *err);
/* Opens its file, if it is the one that the index means. */
int mor_registry_fetch(const struct mor_registry *registry, const struct mor_registry_entry *entry, int *ret_fd,
		       mortise_error *err);

/* ---- making one ---- */

struct mor_registry_update {
	const char *path;
	const char *sign; /* a private key, or NULL */
	/* about a file that is left out, or a version that is not what it was */
	void (*on_note)(void *arg, const char *text);
	void *arg;
};
struct mor_registry_result {
	size_t plugins; /* entries: versions of plugins */
	size_t names;   /* plugins, each counted once */
	int64_t serial;
	bool changed; /* false: the index was up to date */
	bool is_signed;
};
/* Lists every archive in the directory. The index is replaced by rename, or not at all. */
int mor_registry_update(const struct mor_registry_update *update, struct mor_registry_result *ret,
			mortise_error *err);

#endif
