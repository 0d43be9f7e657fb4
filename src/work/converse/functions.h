/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin says it can do, from its description. Used for lists, arguments and hints. */
#ifndef MOR_CONVERSE_FUNCTIONS_H
#define MOR_CONVERSE_FUNCTIONS_H

#include <stdbool.h>

#include "base/near.h"
#include "wire/json.h"

/* `about`: the root of mortise_plugin_describe(). Uses the manifest's list, or what the plugin said in its
 * greeting. */
const struct mor_value *mor_converse_functions(const struct mor_value *about);
const struct mor_value *mor_converse_function_find(const struct mor_value *about, const char *name);
/* May the plugin have functions that are not listed? No, if its manifest lists some and does not announce
 * more. */
bool mor_converse_functions_open(const struct mor_value *about);
/* All names as candidates. */
void mor_converse_functions_offer(const struct mor_value *about, struct mor_nearest *near);
/* The function that takes a user's text as it is; NULL: none. */
const struct mor_value *mor_converse_function_passthrough(const struct mor_value *about);

/* The parameter for a text without a name: the only one. A passthrough function also accepts its only
 * required text, else its first text. NULL: none. */
const char *mor_converse_function_text_parameter(const struct mor_value *function);

#endif
