/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a round trip costs here at least: the same bytes through `cat`, with two pipes and nothing else. What
 * does not fit into a pipe goes in pieces, one after the other.
 */
#ifndef MOR_GAUGE_FLOOR_H
#define MOR_GAUGE_FLOOR_H

#include <stddef.h>

#include "gauge/judgement.h"

#define MOR_FLOOR_PIECE 32768     /* it must fit into a pipe */
#define MOR_FLOOR_BYTES (1 << 20) /* of a larger message so much is measured: the rest costs as much again */

/* `bytes`: the mean of request and answer. `ret` stays all zero if there is no `cat`, or it cannot be run.
 * Takes about 60 ms. */
void mor_floor_measure(size_t bytes, struct mor_judgement_cost *ret);

#endif
