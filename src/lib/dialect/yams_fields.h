/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of each method of yams; its methods are in yams.c. */
#ifndef MOR_DIALECT_YAMS_FIELDS_H
#define MOR_DIALECT_YAMS_FIELDS_H

#include "dialect/dialect.h"

extern const struct mor_field mor_yams_manifest_result[];
extern const struct mor_field mor_yams_init_params[];
extern const struct mor_field mor_yams_init_result[];
extern const struct mor_field mor_yams_health_result[];
extern const struct mor_field mor_yams_supports_params[];
extern const struct mor_field mor_yams_supports_result[];
extern const struct mor_field mor_yams_extract_params[];
extern const struct mor_field mor_yams_extract_result[];
extern const struct mor_field mor_yams_entities_params[];
extern const struct mor_field mor_yams_entities_result[];

#endif
