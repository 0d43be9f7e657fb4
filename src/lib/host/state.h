/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a plugin: which moves there are, and the only function that makes one. */
#ifndef MOR_HOST_STATE_H
#define MOR_HOST_STATE_H

#include <stdbool.h>

#include <mortise/mortise.h>

bool mor_state_may(enum mortise_state from, enum mortise_state to);
/* Tells the embedder, who may stop or release the plugin: check its state again afterwards. */
void mor_state_set(mortise_plugin *plugin, enum mortise_state to, const char *why);

#endif
