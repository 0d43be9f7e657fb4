/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of entries to read: a file, stdin, or the segments behind a manifest, all checked. */
#ifndef MOR_CLI_INFLOW_H
#define MOR_CLI_INFLOW_H

#include "depot/segment.h"
#include "kythe/entries/entries.h"

struct mor_inflow {
	struct mor_fd_source source;  /* of a file */
	struct mor_segment_list list; /* of a manifest: no parts, no manifest */
	struct mor_depot *depot;
	struct mor_segment *segment;
	struct mor_segment_reading reading;
	size_t part, unit; /* the next */
	bool reads;        /* a unit */
	mortise_error why; /* reading failed; code 0: it did not, or errno says why */
};

/* `store`: where the segments are; NULL: as the manifest says. MORTISE_ENOTFOUND, MORTISE_EINPUT. */
int mor_inflow_open(const char *path, const char *store, struct mor_inflow *ret, mortise_error *err);
ssize_t mor_inflow_read(void *stream, void *buffer, size_t len); /* a mor_read_fn */
/* After a reader has failed: what the store says about it is the better text. Returns its code. */
int mor_inflow_why(const struct mor_inflow *stream, const char *path, mortise_error *err);
void mor_inflow_close(struct mor_inflow *stream);

#endif
