/* SPDX-License-Identifier: Apache-2.0 */
/* The environments that programs are started with. Lists end with NULL; mor_texts_free() frees one. */
#ifndef MOR_HOST_ENV_H
#define MOR_HOST_ENV_H

#include <stdbool.h>

#include <mortise/mortise.h>

char **mor_env_build(const mortise_plugin *plugin); /* NULL: out of memory */
/* The same without a plugin; more: "NAME=VALUE" or "NAME", or NULL. safe_path: see
 * mor_sandbox_hides_modules(). */
char **mor_env_jail(bool safe_path, const char *const *more);

#endif
