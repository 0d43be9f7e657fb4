/* SPDX-License-Identifier: Apache-2.0 */
/* What the messages of gassist carry. */
#ifndef MOR_DIALECT_GASSIST_FIELDS_H
#define MOR_DIALECT_GASSIST_FIELDS_H

#include "dialect/dialect.h"

extern const struct mor_field mor_gassist_initialize_params[];
extern const struct mor_field mor_gassist_initialize_result[];
extern const struct mor_field mor_gassist_timestamp[];
extern const struct mor_field mor_gassist_execute_params[];
extern const struct mor_field mor_gassist_outcome[];
extern const struct mor_field mor_gassist_input_params[];
extern const struct mor_field mor_gassist_input_result[];
extern const struct mor_field mor_gassist_stream_params[];
extern const struct mor_field mor_gassist_complete_params[];
extern const struct mor_field mor_gassist_error_params[];
extern const struct mor_field mor_gassist_log_params[];

#endif
