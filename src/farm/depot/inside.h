/* SPDX-License-Identifier: Apache-2.0 */
/* Only for the files of this room. */
#ifndef MOR_DEPOT_INSIDE_H
#define MOR_DEPOT_INSIDE_H

#include <dirent.h>
#include <sys/types.h>

#include "depot/depot.h"
#include "depot/pack.h"

#define MOR_SEGMENT_MAGIC   "mortise-segment "
#define MOR_SEGMENT_VERSION 2 /* that is written */
#define MOR_SEGMENT_FOLDED  3 /* that is read, too */

/* For the next segment: their memory is large, and new memory costs more than the packing of a unit. */
struct depot_spare {
	struct mor_packer *packer; /* NULL: none */
	struct mor_unpacker *unpacker;
};

struct mor_depot {
	char *path;  /* absolute */
	char *given; /* as it was typed, for people */
	struct depot_spare *spare;
	mode_t mode; /* of its directory: what is made in it gets the same */
	gid_t gid;
};

extern const char *const mor_depot_folders[MOR_DEPOT_KINDS];

#define MOR_DEPOT_TEMPORARY 16                         /* digits of a name in new/ */
bool mor_depot_hex_name(const char *name, size_t len); /* `len` lower-case digits and nothing else */
DIR *mor_depot_list(int at, const char *name);         /* never a link; NULL: errno */
int mor_depot_temporary(const struct mor_depot *depot, char **ret); /* a new path in new/; 0 or -errno */
/* The group of the store, and this mode, whatever the umask says. As far as we may. */
void mor_depot_share(const struct mor_depot *depot, int fd, mode_t mode);
int mor_depot_make_dir(const struct mor_depot *depot, const char *path); /* fine if it is there; 0, -errno */
int mor_depot_make_folders(const struct mor_depot *depot);               /* new/ and those of the kinds */
int mor_depot_check_place(const struct mor_depot *depot, int top, enum mor_depot_use use, mortise_error *err);

#endif
