/* SPDX-License-Identifier: Apache-2.0 */
/* After a start: the dialect's HELLO and INIT rows, one after the other in table order, then READY. */
#ifndef MOR_HOST_GREET_H
#define MOR_HOST_GREET_H

#include <mortise/mortise.h>

struct mor_verdict;

void mor_greet_begin(mortise_plugin *plugin);
void mor_greet_answered(mortise_call *call, const struct mor_verdict *verdict);

#endif
