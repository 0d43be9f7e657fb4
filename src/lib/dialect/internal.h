/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this room. */
#ifndef MOR_DIALECT_INTERNAL_H
#define MOR_DIALECT_INTERNAL_H

#include "dialect/dialect.h"

extern const struct mor_hooks mor_yams_hooks;
extern const struct mor_hooks mor_sunscreen_hooks, mor_sunscreen_json_hooks;

#define MOR_MIB ((size_t)1024 * 1024)
/* A run of a Sunscreen command: the specification names no limit, the runtime has none. */
/* clang-format off */
#define MOR_DIALECT_SUNSCREEN_RUN { .timeout_ms = 120000, .late = MOR_LATE_KILL }
/* clang-format on */
/* Up to five deaths a minute. */
/* clang-format off */
#define MOR_RESTART_USUAL { .first_ms = 100, .cap_ms = 10000, .intensity = 5, .period_ms = 60000 }
/* clang-format on */
/* The five of JSON-RPC itself, where a specification adds nothing to them. */
/* clang-format off */
#define MOR_CODES_JSONRPC \
	{ -32700, "Parse error", "Invalid JSON", 0 }, { -32600, "Invalid Request", "Not a valid request", 0 }, \
	{ -32601, "Method not found", "The method does not exist", 0 }, \
	{ -32602, "Invalid params", "Invalid parameters", 0 }, \
	{ -32603, "Internal error", "The plugin failed inside", 0 }
/* clang-format on */

/* Elements of an array of strings. */
extern const struct mor_field mor_strings[];

/* One of the interfaces in a list: "id" or {"id": ...}; {NULL, 0} for anything else. */
struct mor_slice mor_interface_id(const struct mor_value *element);

#endif
