/* SPDX-License-Identifier: Apache-2.0 */
/* Versioned option structs of the embedder. */
#ifndef MOR_BASE_OPTIONS_H
#define MOR_BASE_OPTIONS_H

#include <stddef.h>

#include <mortise/mortise.h>

/* Copies the caller's struct, of the size in its header, to ours. NULL: all zero. MORTISE_EINVAL if it asks
 * for something that we do not know. */
int mor_import_options(const void *given, void *ret, size_t known_size, mortise_error *err);

/* Most calls have none, and need no call for that. */
static inline int mor_import_call_options(const mortise_call_options *given, mortise_call_options *ret,
					  mortise_error *err)
{
	if (given)
		return mor_import_options(given, ret, sizeof(*ret), err);
	*ret = (mortise_call_options){ 0 };
	return 0;
}

#endif
