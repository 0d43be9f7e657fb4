/* SPDX-License-Identifier: Apache-2.0 */
/* Only for the files of this room. */
#ifndef MOR_DEPOT_INSIDE_H
#define MOR_DEPOT_INSIDE_H

#include "depot/depot.h"

struct mor_depot {
	char *path; /* absolute */
};

extern const char *const mor_depot_folders[MOR_DEPOT_KINDS];

#endif
