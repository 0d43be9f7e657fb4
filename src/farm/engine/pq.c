/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stddef.h>

#include "base/error.h"
#include "engine/pq_own.h"

#define LIBRARY "libpq.so.5"

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define X(name) { #name, offsetof(struct mor_pq, name) },
	MOR_PQ_FUNCTIONS(X)
#undef X
};

int mor_pq_load(const struct mor_pq **ret, mortise_error *err)
{
	static struct mor_pq loaded;
	static void *library;

	if (!library) {
		library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			return mor_fail(err, MORTISE_EUNSUPPORTED, "%s: on Debian, install libpq5", dlerror());
		for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
			void *function = dlsym(library, functions[i].name);

			if (!function)
				return mor_fail(err, MORTISE_EUNSUPPORTED, "%s has no %s: it is too old",
						LIBRARY, functions[i].name);
			*(void **)((char *)&loaded + functions[i].offset) = function;
		}
	}
	*ret = &loaded;
	return 0;
}
