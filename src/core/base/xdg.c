/* SPDX-License-Identifier: Apache-2.0 */
#include "base/xdg.h"

#include <stdlib.h>

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "base/buf.h"

static const struct {
	const char *variable, *below_home;
} homes[] = {
	[MOR_XDG_CONFIG] = { "XDG_CONFIG_HOME", "/.config" },
	[MOR_XDG_DATA] = { "XDG_DATA_HOME", "/.local/share" },
	[MOR_XDG_STATE] = { "XDG_STATE_HOME", "/.local/state" },
	[MOR_XDG_CACHE] = { "XDG_CACHE_HOME", "/.cache" },
	[MOR_XDG_RUNTIME] = { "XDG_RUNTIME_DIR", NULL },
};

int mor_xdg_path(enum mor_xdg xdg, const char *instead, char **ret, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf path = MOR_BUF_INIT;
	const char *home = instead ? instead : getenv(homes[xdg].variable), *rest = "";
	va_list args;

	if (!instead && (!home || *home != '/')) {
		home = getenv("HOME");
		rest = homes[xdg].below_home;
		if (!home || *home != '/' || !rest)
			return MORTISE_ENOTFOUND;
	}
	mor_buf_text(&path, home);
	mor_buf_text(&path, rest);
	mor_buf_byte(&path, '/');
	va_start(args, format);
	mor_buf_vprintf(&path, format, args);
	va_end(args);
	*ret = mor_buf_detach(&path);
	return *ret ? 0 : MORTISE_ENOMEM;
}
