/* SPDX-License-Identifier: Apache-2.0 */
/* What answer.c and build.c share. */
#ifndef TENON_ANSWER_H
#define TENON_ANSWER_H

#include "call.h"

/* The function made a mistake. The host learns that at once, instead of waiting for its time limit; the
 * function learns it from the result, -1. */
int tn_answer_refuse(tenon_call *call, const char *why);
int tn_answer_fail(tenon_call *call, int64_t code, const char *message, struct mor_slice data);

#endif
