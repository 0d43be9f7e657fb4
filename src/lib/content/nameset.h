/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths of one tree, to find two that are one file somewhere: file systems of Windows and macOS ignore the
 * case and the Unicode form of a name, so that the second file would silently replace the first one. Every
 * directory on the way counts too: "A/x" and "a/y" do not go together. Nothing lies below a file or a link.
 *
 * Paths must have passed mor_content_name_check().
 */
#ifndef MOR_CONTENT_NAMESET_H
#define MOR_CONTENT_NAMESET_H

#include <mortise/mortise.h>

enum mor_nameset_kind { MOR_NAMESET_DIR, MOR_NAMESET_FILE, MOR_NAMESET_LINK };

struct mor_nameset;

struct mor_nameset *mor_nameset_new(void); /* NULL: no memory */
struct mor_nameset *mor_nameset_free(struct mor_nameset *set);
/* MORTISE_EINPUT: the path, or a directory of it, collides with one before (a directory may be added again),
 * and the text names both; or there are more than MOR_NAMESET_LIMIT names. MORTISE_ENOMEM. After a failure the
 * set is only good for _free(). */
#define MOR_NAMESET_LIMIT 60000
int mor_nameset_add(struct mor_nameset *set, const char *path, enum mor_nameset_kind kind, mortise_error *err);

static inline void mor_nameset_fini(struct mor_nameset **set)
{
	mor_nameset_free(*set);
}

#endif
