/* SPDX-License-Identifier: Apache-2.0 */
/*
 * installed.h: the plugins that the user has installed (`mortise install`), to list them and to find one. To
 * run one, give its name as mortise_plugin_options.installed; trust.h says what is compared before it runs.
 *
 * The store is the user's own: $XDG_DATA_HOME/mortise/plugins, or ~/.local/share/mortise/plugins. These
 * functions read it and change nothing. They look at no mortise.lock: which version a project wants is the
 * program's business. Any thread.
 */
#ifndef MORTISE_INSTALLED_H
#define MORTISE_INSTALLED_H

#include <mortise/mortise.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mortise_installed_flags {
	MORTISE_INSTALLED_EVERY = 1 << 0 /* all versions, not only those in use */
};

/* {"plugins":[...],"damaged":[...]}: for each plugin what `mortise list --json` says of it (name, version,
 * current, dialect, description, offers, permissions, approved, directory and others), sorted by name, the
 * version in use first; and the names of those whose state cannot be read. Nothing is started, and no file of
 * a plugin is read. Free with mortise_free(). */
MORTISE_API int mortise_installed_list(uint64_t flags, char **ret_json, mortise_error *err);

/* The directory of NAME (the version in use), NAME@VERSION, or NAME@RANGE: the newest that fits "^1.2", "~1.2",
 * "1.2", ">=1.2,<2" or "*". Free with mortise_free(). MORTISE_ENOTFOUND: no such plugin or version is
 * installed; the text names those that are. MORTISE_EVIOLATION: others can write it, or it lies elsewhere. */
MORTISE_API int mortise_installed_find(const char *word, char **ret_directory, mortise_error *err);

#ifdef __cplusplus
}
#endif
#endif
