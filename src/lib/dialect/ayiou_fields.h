/* SPDX-License-Identifier: Apache-2.0 */
/* What the messages of ayiou carry. */
#ifndef MOR_DIALECT_AYIOU_FIELDS_H
#define MOR_DIALECT_AYIOU_FIELDS_H

#include "dialect/dialect.h"

extern const struct mor_field mor_ayiou_metadata_result[];
extern const struct mor_field mor_ayiou_lifecycle_params[];
extern const struct mor_field mor_ayiou_lifecycle_result[];
extern const struct mor_field mor_ayiou_matches_params[];
extern const struct mor_field mor_ayiou_matches_result[];
extern const struct mor_field mor_ayiou_handle_params[];
extern const struct mor_field mor_ayiou_handle_result[];

#endif
