/* SPDX-License-Identifier: Apache-2.0 */
/* Directories by handle, one name at a time: no link is followed. */
#ifndef MOR_JAIL_VIEW_DIR_H
#define MOR_JAIL_VIEW_DIR_H

#include <limits.h>
#include <sys/types.h>

struct mor_listing {
	int fd; /* -1: at its end */
	int error;
	unsigned char type; /* of the last name: DT_DIR..., or DT_UNKNOWN */
	long got, at;
	char batch[2048] __attribute__((aligned(8)));
};

/* A new look at a directory handle. 0 or -errno. */
int mor_listing_begin(struct mor_listing *listing, int dir);
/* A descriptor opened for reading; the listing owns it from now on. */
void mor_listing_take(struct mor_listing *listing, int fd);
/* NULL at the end, or after an error: see listing->error. */
const char *mor_listing_next(struct mor_listing *listing);
/* 0 or -errno of the reading. */
int mor_listing_end(struct mor_listing *listing);

/* O_PATH; -1 with errno. dir -1: nothing there. */
int mor_handle_entry(int dir, const char *name);
/* S_IFDIR and so on; 0: it does not exist. */
mode_t mor_handle_type(int fd);
/* "DIR/NAME". 0 or -ENAMETOOLONG. */
int mor_name_join(char out[PATH_MAX], const char *dir, const char *name);

#endif
