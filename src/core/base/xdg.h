/* SPDX-License-Identifier: Apache-2.0 */
/* The places of a user's files: the XDG Base Directory Specification. A variable without an absolute path is
 * ignored, as the specification says. */
#ifndef MOR_BASE_XDG_H
#define MOR_BASE_XDG_H

enum mor_xdg {
	MOR_XDG_CONFIG, /* $XDG_CONFIG_HOME, or ~/.config      */
	MOR_XDG_DATA,   /* $XDG_DATA_HOME, or ~/.local/share   */
	MOR_XDG_STATE,  /* $XDG_STATE_HOME, or ~/.local/state  */
	MOR_XDG_CACHE,  /* $XDG_CACHE_HOME, or ~/.cache        */
	MOR_XDG_RUNTIME /* $XDG_RUNTIME_DIR, or none           */
};

/* "HOME/" and the formatted rest, for mor_free(). `instead` replaces the variables; NULL: they are used. 0,
 * MORTISE_ENOMEM, or MORTISE_ENOTFOUND: neither the variable nor HOME is an absolute path, or there is no
 * place below HOME. */
int mor_xdg_path(enum mor_xdg xdg, const char *instead, char **ret, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
