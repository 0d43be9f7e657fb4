/* SPDX-License-Identifier: Apache-2.0 */
/* The one permission that needs the user's word. `mortise run` asks for it; the other commands go without. */
#ifndef MOR_RUNNER_NETWORK_H
#define MOR_RUNNER_NETWORK_H

#include <stdbool.h>

#include "manifest/manifest.h"
#include "store/approval.h"

/* Does the manifest of a Sunscreen plugin ask for it? What the user has written, in --set or a file of their own, needs no
 * second word. */
bool mor_network_asked(const struct mor_manifest *manifest);
/* What there is to be granted; borrows the manifest's texts. */
struct mor_approval mor_network_approval(const struct mor_manifest *manifest);
/* It asks for it, and nobody has granted it. */
bool mor_network_withheld(const struct mor_manifest *manifest);

#endif
