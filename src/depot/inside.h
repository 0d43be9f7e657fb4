/* SPDX-License-Identifier: Apache-2.0 */
/* Only for the files of this room. */
#ifndef MOR_DEPOT_INSIDE_H
#define MOR_DEPOT_INSIDE_H

#include "depot/depot.h"
#include "depot/pack.h"

/* For the next segment: their memory is large, and new memory costs more than the packing of a unit. */
struct depot_spare {
	struct mor_packer *packer; /* NULL: none */
	struct mor_unpacker *unpacker;
};

struct mor_depot {
	char *path; /* absolute */
	struct depot_spare *spare;
};

extern const char *const mor_depot_folders[MOR_DEPOT_KINDS];

#endif
