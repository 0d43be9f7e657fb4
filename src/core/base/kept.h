/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that most owners never have: it takes no memory before it is set. A new text that fits replaces the
 * old one in its place. Without memory a constant text takes its place, so that nobody takes it for unset.
 */
#ifndef MOR_BASE_KEPT_H
#define MOR_BASE_KEPT_H

#include <stdbool.h>

/* All zero: not set. */
struct mor_kept {
	char *own;
	unsigned room;
	bool lost; /* it was set, and there was no memory for it */
};

#define MOR_KEPT_LOST "(out of memory: this text was not kept)"

/* A copy of `text`, of its first `most` bytes at most. NULL or "": not set any more. */
void mor_kept_set(struct mor_kept *kept, const char *text, unsigned most);
void mor_kept_fini(struct mor_kept *kept);

static inline bool mor_kept_is_set(const struct mor_kept *kept)
{
	return kept->own || kept->lost;
}

/* "" if it is not set. Valid until it is set again. */
static inline const char *mor_kept_text(const struct mor_kept *kept)
{
	return kept->lost ? MOR_KEPT_LOST : kept->own ? kept->own : "";
}

#endif
