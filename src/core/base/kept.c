/* SPDX-License-Identifier: Apache-2.0 */
#include "base/kept.h"

#include <string.h>

#include "base/alloc.h"

void mor_kept_fini(struct mor_kept *kept)
{
	mor_free(kept->own);
	*kept = (struct mor_kept){ 0 };
}

void mor_kept_set(struct mor_kept *kept, const char *text, unsigned most)
{
	unsigned len = text ? (unsigned)strnlen(text, most) : 0;

	if (!len || len >= kept->room) { /* a part of the old text always fits */
		mor_kept_fini(kept);
		kept->own = len ? mor_alloc(len + 1) : NULL;
		kept->room = kept->own ? len + 1 : 0;
		kept->lost = len && !kept->own;
	}
	if (kept->own) {
		memmove(kept->own, text, len);
		kept->own[len] = '\0';
	}
}
