/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin behind our relay whose conversation is written down: `mortise record`, `mortise tap`. */
#ifndef MOR_SCRIBE_CARRY_H
#define MOR_SCRIBE_CARRY_H

#include "relay/relay.h"
#include "scribe/scribe.h"

struct mor_scribe_relay {
	struct mor_scribe scribe;
	struct mor_relay_plugin plugin; /* as mor_relay_start() made it, with its stderr */
	struct mor_relay_lane lane[3];
	/* fd, on_ready and on_turn are the caller's. on_turn calls mor_scribe_turn(), and puts into wait_ms how
	 * long nothing needs to be done. */
	struct mor_relay_guest guest;
	int wait_ms;
};

/* Nothing is started yet. */
void mor_scribe_relay_init(struct mor_scribe_relay *run);
/* Carries until the plugin has ended, and writes down how. Its wait status, or a negative MORTISE_E.... */
int mor_scribe_relay_carry(struct mor_scribe_relay *run);
/* Writes the rest, then closes our ends: a host that sees that may kill us. */
void mor_scribe_relay_fini(struct mor_scribe_relay *run);

#endif
