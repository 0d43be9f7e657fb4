/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin says it can do, from its description: for lists, arguments and hints. */
#ifndef MOR_CONVERSE_FUNCTIONS_H
#define MOR_CONVERSE_FUNCTIONS_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/near.h"
#include "wire/json.h"

/* `about`: the root of mortise_plugin_describe(). What the manifest lists, else what the plugin said when it was greeted. */
const struct mor_value *mor_converse_functions(const struct mor_value *about);
const struct mor_value *mor_converse_function_find(const struct mor_value *about, const char *name);
/* May it have functions that are not listed? A manifest that lists some says no, unless it says that they will be more. */
bool mor_converse_functions_open(const struct mor_value *about);
/* All names as candidates. */
void mor_converse_functions_offer(const struct mor_value *about, struct mor_nearest *near);
/* The one that takes what a user types as it is; NULL: none. */
const struct mor_value *mor_converse_function_passthrough(const struct mor_value *about);

/* Which parameter a text without a name is for: the only one; of a passthrough function also the only required text,
 * else its first text. NULL: none. */
const char *mor_converse_function_text_parameter(const struct mor_value *function);
/* Does the manifest want a text there? Then 5 and true are texts, too. */
bool mor_converse_function_wants_text(const struct mor_value *function, struct mor_slice parameter);
/* Against the manifest's parameters: MORTISE_EINPUT for one that is missing, unknown (the nearest is offered), of another
 * type or none of its values. A function that lists no parameters at all takes anything. */
int mor_converse_function_check(const struct mor_value *function, const struct mor_value *arguments, mortise_error *err);
/* MORTISE_EINPUT: what is wrong with arguments, and what the function takes. */
int mor_converse_function_refuse(const struct mor_value *function, mortise_error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "name key=string [other=integer]" */
int mor_converse_function_usage(const struct mor_value *function, struct mor_buf *out);

#endif
