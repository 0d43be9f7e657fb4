/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused to a confined plugin (sandbox.on_denial = deny): an event for each, and the
 * sum at the end. */
#ifndef MOR_HOST_DENIAL_H
#define MOR_HOST_DENIAL_H

#include <stdint.h>

struct mor_record;
struct mortise_plugin;

/* The link's event; arg: the plugin. */
void mor_denial_told(void *arg, const struct mor_record *record);
/* The process has ended; total: of it. Before everything that follows from its end. */
void mor_denial_sum_up(struct mortise_plugin *plugin, uint64_t total);

#endif
