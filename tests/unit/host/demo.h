/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A made-up protocol that uses what plain and yams do not: calls settled by notes, acknowledgements, pieces,
 * logs, cancelling on the wire, killing on a time-out, clocks that signs of life turn back, pings that kill,
 * two goodbyes, requests that the table itself answers. The coming dialects rest on these; tests/talk/demo
 * proves them now.
 */
#ifndef TESTS_UNIT_HOST_DEMO_H
#define TESTS_UNIT_HOST_DEMO_H

#include "dialect/dialect.h"

extern const struct mor_dialect demo_dialect;
/* demo_client.c: the plugin asks. demo_shapes.c: one process per call */
extern const struct mor_dialect demo_client_dialect, demo_call_dialect, demo_run_dialect;
/* By name; the demo itself for any other. */
const struct mor_dialect *demo_find(const char *name);

#endif
