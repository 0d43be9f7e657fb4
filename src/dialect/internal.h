/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of this room. */
#ifndef MOR_DIALECT_INTERNAL_H
#define MOR_DIALECT_INTERNAL_H

#include "dialect/dialect.h"
#include "wire/json.h"

extern const struct mor_dialect mor_dialect_plain;
extern const struct mor_dialect mor_dialect_yams;
extern const struct mor_dialect mor_dialect_kythe;
extern const struct mor_dialect mor_dialect_ayiou;
extern const struct mor_dialect mor_dialect_gassist;
extern const struct mor_dialect mor_dialect_sunscreen, mor_dialect_sunscreen_json;
extern const struct mor_hooks mor_yams_hooks;
extern const struct mor_hooks mor_sunscreen_hooks, mor_sunscreen_json_hooks;

/* One of the interfaces in a list: "id" or {"id": ...}; {NULL, 0} for anything else. */
struct mor_slice mor_interface_id(const struct mor_value *element);

#endif
