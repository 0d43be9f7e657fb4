/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing: bytes <-> frames. Pure: no descriptors, no allocation, no clock.
 *
 * The reader looks at a window of bytes that starts where the last frame ended, and says what stands
 * at its beginning. Fed one byte at a time it gives the same sequence of items as fed all at once:
 * whatever it says with a short window it must also say with a longer one. It remembers how far it has
 * searched (`scanned`), so a 100 MB line costs one pass however many reads bring it.
 *
 *	mor_deframer_init(&d, MOR_FRAMING_LINES, limit, 0);
 *	while ((kind = mor_deframe(&d, window, len, at_eof, &item)) != MOR_ITEM_MORE) {
 *		... use item.body ...
 *		window += item.used; len -= item.used;
 *	}
 */
#ifndef MOR_WIRE_FRAMING_H
#define MOR_WIRE_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/slice.h"

enum mor_framing {
	MOR_FRAMING_LINES,   /* one JSON text per line; CR before LF tolerated, blank lines skipped        */
	MOR_FRAMING_DECIMAL, /* decimal length, newline, body (Kythe)                                      */
	MOR_FRAMING_BE32,    /* 4 bytes big-endian length, body (G-Assist)                                 */
	MOR_FRAMING_HEADERS, /* "Content-Length: N" and other headers, blank line, body (LSP, Sunscreen)   */
	MOR_FRAMINGS
};

/* "lines", "decimal", "be32", "headers". mor_framing_by_name returns -1 for other names. */
const char *mor_framing_name(enum mor_framing framing);
int mor_framing_by_name(const char *name);

enum mor_item_kind {
	MOR_ITEM_MORE,    /* not enough bytes yet; item.want is how many the window must hold before
				another look is useful, or 0 if unknown */
	MOR_ITEM_FRAME,   /* item.body is one frame's body                                                */
	MOR_ITEM_NOISE,   /* item.body is not a frame: skip it and report it. Never inside a frame. */
	MOR_ITEM_TOO_BIG, /* a frame over the limit begins. item.size is its declared size, 0 if the
				framing cannot know it (lines). The reader then skips it: `used` bytes now,
				and the rest as further items of kind MOR_ITEM_SKIP. */
	MOR_ITEM_SKIP,    /* `used` bytes of an oversize frame, or of an endless line of noise, were skipped */
	MOR_ITEM_CORRUPT, /* the stream cannot be read any further (strict framings, or the end of the
				stream inside a frame: item.body is the rest). item.why says what is wrong. */
	MOR_ITEM_BLANK    /* blank line or zero-length frame: skip silently                               */
};

enum mor_deframe_flags {
	/* bytes that are not a frame are CORRUPT, not NOISE (Kythe's rule) */
	MOR_DEFRAME_STRICT = 1 << 0,
	MOR_DEFRAME_LEADING_ZEROS = 1 << 1, /* "007\n" is a legal decimal length (lenient Kythe)           */
	MOR_DEFRAME_EOF_ENDS = 1 << 2       /* lines: a bare JSON text may take several lines and end with
						the stream (for streams with one answer that are complete by
						then) */
};

struct mor_item {
	struct mor_slice body;
	size_t used;     /* bytes of the window that this item takes        */
	size_t want;     /* with MORE: the smallest useful window, or 0 */
	uint64_t size;   /* with TOO_BIG: declared size, or 0               */
	const char *why; /* with CORRUPT: constant text                     */
};

struct mor_deframer {
	enum mor_framing framing;
	unsigned flags;
	unsigned reads; /* other framings that are accepted, as 1 << enum mor_framing; set after init */
	size_t limit;   /* largest body; 0: none                                            */
	size_t scanned; /* bytes of the window already searched; 0 after each item          */
	size_t blanks;  /* of them the leading blanks; 0 after each item                    */
	uint64_t skip;  /* bytes of an oversize frame still to be skipped */
	bool skip_line; /* an oversize line is being skipped, up to the next newline */
	unsigned depth; /* EOF_ENDS: brackets open at `scanned`                             */
	bool in_string, escaped; /* ... and whether that is inside a string                  */
	bool single; /* EOF_ENDS: the stream has ended with open brackets; the rest is read line by line */
};

void mor_deframer_init(struct mor_deframer *deframer, enum mor_framing framing, size_t limit, unsigned flags);

/* `at_eof`: no byte will follow the window; then MORE is never returned for a non-empty window (a last
 * line without its newline is CORRUPT "truncated": never parse a half line), and an empty one gives MORE.
 *
 * Noise rules. lines: a whole line whose first non-blank byte is neither '{' nor '['. be32: headers of frames
 * below 144 MiB begin with a byte below 0x09 and no text has such bytes, so noise reaches up to the next one
 * that begins a length whose 5th byte is '{' or '[' (a JSON text may be preceded by blanks: space, tab, CR, LF
 * also count as a legal 5th byte). A declared size over the limit whose body begins with '{' or '[' is TOO_BIG,
 * not noise; so is a longer one at the beginning of the window, unless its four bytes are all text or a shorter
 * frame begins in them (a print without newline before it). headers: a line that is no header line while no
 * header of a block has been seen is noise up to its newline; a header block without Content-Length, or with a
 * bad one, is noise as a whole; header names compare without case, others are ignored. decimal: a line that is
 * no minimum-width decimal number is noise up to its newline (STRICT: CORRUPT); a length line may not be longer
 * than 19 digits. STRICT also: a declared size over the limit is CORRUPT, told at the digit that shows it; a
 * zero-length frame is a FRAME with an empty body. `reads`: at each frame's beginning the first bytes decide,
 * and what they do not is the framing's own: '{' or '[' after blanks is a line, "Content-Length" (in any case)
 * headers, a digit a decimal length, a byte 0x00 a be32 one. EOF_ENDS: a line that begins like JSON goes on
 * over further lines until its brackets are closed. Where the stream ends before they are, what is left is
 * taken line by line after all, with the end of the stream for the last newline. Noise is told as soon as it
 * can be: one item ends at a newline (be32 too), and at MOR_NOISE_MAX bytes at the latest (what follows up to
 * the newline is SKIP). A last half line that could not have become a frame is noise too. The body of NOISE has
 * no newline at its end; the body of TOO_BIG is the beginning. After CORRUPT only mor_deframer_init() helps. */
#define MOR_NOISE_MAX 16384
enum mor_item_kind mor_deframe(struct mor_deframer *deframer, const char *window, size_t len, bool at_eof,
			       struct mor_item *ret_item);
/* The same without the short cut for usual frames (deframe.c), to which it must give the same answer. */
enum mor_item_kind mor_deframe_any(struct mor_deframer *deframer, const char *window, size_t len, bool at_eof,
				   struct mor_item *ret_item);

/* The framing that these bytes are the beginning of; -1: of none. "45", a newline and a bracket are decimal, a
 * line that begins with a bracket and a quote is one of lines. */
int mor_framing_guess(struct mor_slice bytes);

/* Appends one frame. The body must be one JSON text; for lines it must not contain a raw newline (the caller
 * removes them first; see mor_json_one_line()). Returns 0 or the buffer's status. */
int mor_enframe(enum mor_framing framing, struct mor_slice body, struct mor_buf *out);
/* Only the bytes before and after a body of `len` bytes: for bodies that are already in place. head holds at
 * least MOR_FRAME_HEAD bytes; returns its length. *ret_tail is a constant text. */
#define MOR_FRAME_HEAD 48
size_t mor_frame_head(enum mor_framing framing, size_t len, char head[MOR_FRAME_HEAD], const char **ret_tail);

#endif
