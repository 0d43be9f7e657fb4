/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.h: what a plugin sees over the host's own files.
 */
#ifndef MORTISE_VIEW_H
#define MORTISE_VIEW_H

#include <mortise/mortise.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a plugin sees over the host's own files. Only for a plugin made with `sandbox.view = true`
 * (mortise.toml, mortise_plugin_options.set). It then runs in its own user and mount namespace, at
 * level guarded or t1, without capabilities and with the same user and group ids. If the kernel refuses
 * that, its start fails with MORTISE_EJAIL and a text that names what is missing, so that a caller can work
 * without a view. */
typedef struct mortise_view {
	size_t size;                    /* sizeof(mortise_view): the ABI version */
	const char *stage;              /* absolute path of a directory. Its tree appears over "/":
				STAGE/usr/include/x.h as /usr/include/x.h, over the host's files, read-only
				(writes: EROFS). If the host has a link to a directory (/lib), the stage's
				files below that name appear where the link leads. Nothing can be shown below
				/proc, /sys and /dev: MORTISE_EINVAL. Links in the stage are shown, but never
				followed. Hard links to one file are one inode for the plugin within one
				top-level directory. The stage must not change while it is shown. It may be
				removed when the view is replaced or removed. */
	const char *const *writable;    /* NULL, or NULL-terminated: absolute paths of existing directories of
				the host that the plugin may read and write under their own names,
				also if the stage covers them or a confined plugin would not see them
				(for its output) */
	const char *const *directories; /* NULL, or NULL-terminated: directories of the stage, relative to it
				("usr/include/sys"). All its other directories must be parents of
				these. They save the guardian a walk through the stage. It then
				looks in the host's tree only at these: a link on the path to a
				directory that is not named is covered, not followed. If they are
				too many for one order (some 15,000 bytes), they are ignored */
} mortise_view;

/* The end of mortise_plugin_set_view(): called from dispatch, exactly once, never before that function has
 * returned. `error` is set unless status is MORTISE_OK, and valid until the callback returns. */
typedef void mortise_view_fn(mortise_plugin *plugin, int status, const mortise_error *error,
			     void *arg) MORTISE_NOEXCEPT;

/* Replaces what the running plugin sees; `view` NULL removes the view. When `done` is called with
 * MORTISE_OK, the new view is complete and no name leads to the old one. Open descriptors and mappings still
 * work, and a working directory inside the old view stays valid but outdated. After a failure nothing has
 * changed, unless the text says that the view is gone. Views of one plugin take effect in the order of the
 * calls. A new process starts without a view.
 *
 * Fails at once with MORTISE_EINVAL (no `sandbox.view`, a path that is not absolute) or MORTISE_ECLOSED (not
 * running: it runs from its first STATE event after STARTING on). `done` reports MORTISE_ENOTFOUND (no such
 * stage), MORTISE_EINVAL (a stage that cannot be shown; the text names the path), MORTISE_EJAIL (refused by
 * the kernel), or what ended the plugin meanwhile. Everything is copied. `done` may be NULL. */
MORTISE_API int mortise_plugin_set_view(mortise_plugin *plugin, const mortise_view *view, mortise_view_fn *done,
					void *arg, mortise_error *err);

#ifdef __cplusplus
}
#endif
#endif
