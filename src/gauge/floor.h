/* SPDX-License-Identifier: Apache-2.0 */
/* What a round trip costs here at least: the same bytes through `cat`, with two pipes and nothing else. */
#ifndef MOR_GAUGE_FLOOR_H
#define MOR_GAUGE_FLOOR_H

#include <stddef.h>

#include "gauge/judgement.h"

#define MOR_FLOOR_BYTES 32768 /* a larger message counts as one of so many: it must fit into a pipe */

/* `ret` stays all zero if there is no `cat`, or it cannot be run. Takes about 60 ms. */
void mor_floor_measure(size_t bytes, struct mor_judgement_cost *ret);

#endif
