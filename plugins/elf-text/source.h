/* SPDX-License-Identifier: Apache-2.0 */
/* Where the binary comes from: a path, or bytes inside the request. */
#ifndef ELF_TEXT_SOURCE_H
#define ELF_TEXT_SOURCE_H

#include <tenon/tenon.h>

struct source {
	const char *path;     /* NULL: bytes                                        */
	unsigned char *image; /* a copy: a file that shrinks under us cannot hurt   */
	size_t len;
	void *owned;
};

/* Reads params.source. On failure it has answered the call. */
int source_read(tenon_call *call, size_t max_bytes, struct source *ret);
void source_fini(struct source *source);

#endif
