/* SPDX-License-Identifier: Apache-2.0 */
/* Which directory an installed plugin has. */
#ifndef MOR_HOST_INSTALLED_H
#define MOR_HOST_INSTALLED_H

#include <mortise/mortise.h>

/* Of NAME, NAME@VERSION or NAME@RANGE; as mor_store_pick(). */
int mor_plugin_installed(const char *word, char **ret_path, mortise_error *err);

#endif
