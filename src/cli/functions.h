/* What a plugin says it can do, from its description: for lists, completion of arguments and hints. */
#ifndef MOR_CLI_FUNCTIONS_H
#define MOR_CLI_FUNCTIONS_H

#include "base/buf.h"
#include "wire/json.h"

/* `about`: the root of mortise_plugin_describe(). What the manifest lists, else what the plugin said when it was greeted. */
const struct mor_value *mor_functions(const struct mor_value *about);
const struct mor_value *mor_function_find(const struct mor_value *about, const char *name);
/* The name of its parameter, where it has just one; else NULL. */
const char *mor_function_only_parameter(const struct mor_value *function);
/* "name key=string [other=integer]" */
int mor_function_usage(const struct mor_value *function, struct mor_buf *out);

#endif
