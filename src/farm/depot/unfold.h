/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of version 3 were folded before zstd saw them: long repetitions were taken out. Nothing writes them
 * any more (docs/design/0010-farm.md, "What keeps it cheap").
 *
 * A reader keeps what was new in a room of MOR_UNFOLD_ROOM bytes, filled from its front again and again. The
 * folded stream is, until its end:
 *
 *	COUNT, so many new bytes, LENGTH, and if it is not 0: FROM
 *
 * with numbers as varints. A run of LENGTH bytes stands in the room at FROM.
 */
#ifndef MOR_DEPOT_UNFOLD_H
#define MOR_DEPOT_UNFOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/slice.h"

#define MOR_UNFOLD_ROOM ((size_t)16 << 20)

struct mor_unfold;
struct mor_unfold *mor_unfold_new(void);                     /* NULL: no memory */
struct mor_unfold *mor_unfold_free(struct mor_unfold *fold); /* NULL is fine; returns NULL */
void mor_unfold_begin(struct mor_unfold *fold);
/* Takes from the front of *in, which is folded; up to `len` bytes. 0: it needs more. -EBADMSG: a run
 * that cannot be. */
ssize_t mor_unfold_read(struct mor_unfold *fold, struct mor_slice *in, void *buffer, size_t len);
bool mor_unfold_whole(const struct mor_unfold *fold); /* the stream may end here */

#endif
