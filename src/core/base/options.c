/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option structs begin with their size, which is the caller's ABI version. A shorter one is filled with
 * zeroes. A longer one is accepted only if the part that we do not know is zero: so an option that we cannot
 * support is refused, not ignored.
 */
#include <string.h>

#include <mortise/jail.h>
#include <mortise/view.h>

#include "base/error.h"
#include "base/options.h"

/* No padding at the end, or a new field would hide inside the old size. */
#define NO_TAIL_PADDING(type, last) \
	_Static_assert(sizeof(type) == offsetof(type, last) + sizeof(((type *)0)->last), #type)
NO_TAIL_PADDING(mortise_host_options, on_trust);
NO_TAIL_PADDING(mortise_plugin_options, arg);
NO_TAIL_PADDING(mortise_call_options, extra);
NO_TAIL_PADDING(mortise_pool_options, reserved);
NO_TAIL_PADDING(mortise_jail_options, on_record);
NO_TAIL_PADDING(mortise_view, directories);
_Static_assert(sizeof(mortise_error) == 512, "mortise_error is 512 bytes for ever");

int mor_import_options(const void *given, void *ret, size_t known_size, mortise_error *err)
{
	size_t size;

	if (!given) {
		memset(ret, 0, known_size);
		return 0;
	}
	memcpy(&size, given, sizeof(size));
	if (size == known_size) {
		memcpy(ret, given, known_size);
		return 0;
	}
	memset(ret, 0, known_size);
	if (size < sizeof(size))
		return mor_fail(err, MORTISE_EINVAL, "options: size is %zu; set it to sizeof the struct", size);
	for (size_t at = known_size; at < size; at++) {
		if (((const char *)given)[at])
			return mor_fail(err, MORTISE_EINVAL,
					"options: byte %zu is set, but this library (" MORTISE_VERSION
					") knows only %zu: it is older than the header",
					at, known_size);
	}
	memcpy(ret, given, size < known_size ? size : known_size);
	return 0;
}
