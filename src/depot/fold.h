/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long repetitions, taken out of a stream before zstd sees it. Neighbours of a batch say the same of every
 * header that both include, in runs of many kilobytes, up to megabytes behind: three quarters of all entries.
 * zstd finds them too, but looks at every byte; this looks at newlines, and compares what follows.
 *
 * A newline is the end of a line, and the first byte of a protobuf message whose first field is a message or a
 * text, as an entry's is. What has none is not folded, and not wrong.
 *
 * Both sides keep what was new in a room of MOR_FOLDING_ROOM bytes, filled from its front again and again. What
 * was said again is not kept again: so the room reaches back over four times as many bytes of our entries. The
 * folded stream is, until its end:
 *
 *	COUNT, so many new bytes, LENGTH, and if it is not 0: FROM
 *
 * with numbers as varints. A run of LENGTH bytes stands in the room at FROM.
 */
#ifndef MOR_DEPOT_FOLD_H
#define MOR_DEPOT_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <mortise/mortise.h>

#include "base/slice.h"

#define MOR_FOLDING_ROOM ((size_t)16 << 20)

/* Who gets what was folded, or packed. */
struct mor_pack_sink {
	int (*put)(const void *bytes, size_t len, void *arg, mortise_error *err);
	void *arg;
};

struct mor_folding;
struct mor_folding *mor_folding_new(void);                      /* NULL: no memory */
struct mor_folding *mor_folding_free(struct mor_folding *fold); /* NULL is fine; returns NULL */
void mor_folding_begin(struct mor_folding *fold);               /* a new stream, whatever was before */
int mor_folding_add(struct mor_folding *fold, const void *bytes, size_t len, const struct mor_pack_sink *sink,
		    mortise_error *err);
/* The sink gets everything that was added. */
int mor_folding_flush(struct mor_folding *fold, const struct mor_pack_sink *sink, mortise_error *err);

struct mor_unfold;
struct mor_unfold *mor_unfold_new(void);                     /* NULL: no memory */
struct mor_unfold *mor_unfold_free(struct mor_unfold *fold); /* NULL is fine; returns NULL */
void mor_unfold_begin(struct mor_unfold *fold);
/* Takes from the front of *in, which is folded; up to `len` bytes. 0: it needs more. -EBADMSG: a run
 * that cannot be. */
ssize_t mor_unfold_read(struct mor_unfold *fold, struct mor_slice *in, void *buffer, size_t len);
bool mor_unfold_whole(const struct mor_unfold *fold); /* the stream may end here */

#endif
