/* SPDX-License-Identifier: Apache-2.0 */
/* YAML -> JSON, for sunscreen.yml. libfyaml stays behind this header. */
#ifndef MOR_MANIFEST_YAML_H
#define MOR_MANIFEST_YAML_H

#include <stddef.h>

#include <mortise/mortise.h>

#include "base/buf.h"

#define MOR_YAML_DEPTH 32                /* levels, with aliases expanded */
#define MOR_YAML_JSON  (4 * 1024 * 1024) /* bytes that aliases may expand to               */

/* One YAML 1.2 document that is a mapping (an empty one counts as {}) -> the text of a JSON object. Plain
 * scalars have the types of the core schema: null, true, 12, 0o14, 0xC, 1.5; `yes` and `on` are strings.
 * Integers keep their digits. Aliases are expanded; "<<" is an ordinary key; keys become strings.
 * MORTISE_EMANIFEST "FILE:LINE:COLUMN: what": not YAML, not a mapping, a second document, a key that is not
 * a scalar or is there twice, .nan and .inf, more than MOR_MANIFEST_LIMIT, MOR_YAML_DEPTH or MOR_YAML_JSON. */
int mor_yaml_to_json(const char *file, const char *text, size_t len, struct mor_buf *ret_json,
		     mortise_error *err);

#endif
