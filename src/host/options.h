/* SPDX-License-Identifier: Apache-2.0 */
/* Versioned option structs of the embedder. */
#ifndef MOR_HOST_OPTIONS_H
#define MOR_HOST_OPTIONS_H

#include <stddef.h>

#include <mortise/mortise.h>

/* Copies the caller's struct, of the size in its header, to ours. NULL: all zero. MORTISE_EINVAL if it asks
 * for something that we do not know. */
int mor_import_options(const void *given, void *ret, size_t known_size, mortise_error *err);

#endif
