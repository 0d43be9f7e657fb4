/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a bundle: a tar.zst whose bytes depend on the plugin's name, version and content only, and on the
 * version of the zstd library. Files are sorted by path, below one directory NAME-VERSION; there are no times,
 * owners or other traces of the machine. Empty directories are left out, as they are in a content.
 */
#ifndef MOR_BUNDLE_PACK_H
#define MOR_BUNDLE_PACK_H

#include <mortise/mortise.h>

#include "content/content.h"

struct mor_bundle_plugin {
	const char *name, *version;
	const struct mor_content *content;
	int dir; /* where its files are */
};

/* Writes to `out_fd`. Each file is compared with the content while it is read: MORTISE_EINPUT if it has changed
 * meanwhile. MORTISE_ESYSTEM, MORTISE_ENOMEM. */
int mor_bundle_pack(const struct mor_bundle_plugin *plugin, int out_fd, mortise_error *err);

#endif
