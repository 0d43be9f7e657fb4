/* SPDX-License-Identifier: Apache-2.0 */
/* What arrives from a plugin: replies find their call by id, notes their role, everything else is reported. */
#ifndef MOR_HOST_RECEIVE_H
#define MOR_HOST_RECEIVE_H

#include <stdint.h>

#include <mortise/mortise.h>

#include "base/slice.h"
#include "link/link.h"

/* Events of the link; `arg` is the plugin. */
void mor_receive_message(void *arg, const struct mor_message *message);
void mor_receive_fault(void *arg, enum mor_fault fault, const struct mor_message *message, const char *text);
void mor_receive_noise(void *arg, struct mor_slice bytes, uint64_t count);

/* Handles a message like a separate one, for an element of a batch: no tap, no counting. */
void mor_receive_route(mortise_plugin *plugin, const struct mor_message *message);
/* A DROPPED event: what it was, and about which call. */
void mor_receive_drop(mortise_plugin *plugin, const char *what, struct mor_slice id);

#endif
