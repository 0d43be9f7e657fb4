/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiving half of a link: takes bytes, and gives messages, faults and noise to the link's events.
 * Shared by every link with frames. Only incomplete data is kept.
 */
#ifndef MOR_LINK_INTAKE_H
#define MOR_LINK_INTAKE_H

#include "link/link.h"

struct mor_intake {
	struct mor_link *link;
	const struct mor_link_options *opt;
	struct mor_deframer deframer;
	struct mor_buf pending; /* received, but not yet a whole frame; or not handled yet */
	size_t done;            /* bytes of it that are used, while `more` */
	unsigned slice;         /* number of answers handed on at once, other items count as four; 0: all */
	bool more;              /* stopped by `slice` or a pause: mor_intake_resume() goes on */
	bool ended;             /* nothing follows the pending bytes */
	bool dead;              /* the link was freed by a callback: touch nothing more           */
	bool paused;
	bool lost; /* the stream cannot be read any further: later bytes are read and thrown
				     away, so that a plugin that still writes is not blocked until it is
				     killed */
};

void mor_intake_init(struct mor_intake *intake, struct mor_link *link, const struct mor_link_options *opt);
void mor_intake_fini(struct mor_intake *intake);
/* Fresh bytes, while nothing is pending: whole frames are handed on as slices of them. */
void mor_intake_take(struct mor_intake *intake, const char *bytes, size_t len);
/* More bytes were put after `pending` (not while there is `more`), or it is time to go on. at_eof: none will
 * follow. */
void mor_intake_resume(struct mor_intake *intake, bool at_eof);
void mor_intake_out_of_memory(struct mor_intake *intake);

#endif
