/* SPDX-License-Identifier: Apache-2.0 */
/* The network is the one permission that the user must grant. `mortise run` asks for it; other commands run
 * the plugin without it. */
#ifndef MOR_RUNNER_NETWORK_H
#define MOR_RUNNER_NETWORK_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/textlist.h"
#include "resolved/resolved.h"
#include "store/approval.h"

/* Does the manifest of a Sunscreen plugin ask for the network? If the user has allowed it in --set or in
 * their own file, or has installed it with the network, we do not ask again. */
bool mor_network_asked(const struct mor_resolved *resolved);
/* What the user would grant. The texts belong to the resolved plugin. */
struct mor_approval mor_network_approval(const struct mor_resolved *resolved);
/* The plugin asks for the network, and nobody has granted it. */
bool mor_network_withheld(const struct mor_resolved *resolved);

/* The words of --network as one value of sandbox.network. 0, MORTISE_ENOMEM, MORTISE_EINVAL. */
int mor_network_value(const struct mor_text_list *words, struct mor_buf *out, mortise_error *err);

#endif
