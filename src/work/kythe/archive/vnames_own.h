/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MOR_KYTHE_ARCHIVE_VNAMES_OWN_H
#define MOR_KYTHE_ARCHIVE_VNAMES_OWN_H

#include "kythe/archive/vnames.h"

/* Copies all five texts into one block. The old value of *ret is ignored. 0 or MORTISE_ENOMEM. */
int mor_vname_own_set(struct mor_vname_own *ret, const struct mor_vname *from);

#endif
