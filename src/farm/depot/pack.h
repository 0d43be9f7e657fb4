/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes packed by zstd, in pieces: the only place that knows it. */
#ifndef MOR_DEPOT_PACK_H
#define MOR_DEPOT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mortise/mortise.h>

/* Who gets what was packed. */
struct mor_pack_sink {
	int (*put)(const void *bytes, size_t len, void *arg, mortise_error *err);
	void *arg;
};

enum mor_pack_how {
	MOR_PACK_MORE,
	/* the sink gets all bytes so far: the frame can be cut here, and ended by MOR_PACK_CUT */
	MOR_PACK_FLUSH,
	MOR_PACK_END /* of the frame */
};
/* What ends a frame behind bytes that were flushed: an empty last block (RFC 8878, section 3.1.1.2). */
#define MOR_PACK_CUT     "\1\0\0"
#define MOR_PACK_CUT_LEN 3

struct mor_packer;
int mor_packer_new(struct mor_packer **ret, mortise_error *err);
struct mor_packer *mor_packer_free(struct mor_packer *packer); /* NULL is fine; returns NULL */
void mor_packer_begin(struct mor_packer *packer);              /* a new frame, whatever was before */
int mor_packer_add(struct mor_packer *packer, const void *bytes, size_t len, enum mor_pack_how how,
		   const struct mor_pack_sink *sink, mortise_error *err);

struct mor_unpack_place {
	int fd;
	uint64_t end;
	bool folded; /* depot/unfold.h: those of version 3 */
};

struct mor_unpacker;
int mor_unpacker_new(struct mor_unpacker **ret, mortise_error *err);
struct mor_unpacker *mor_unpacker_free(struct mor_unpacker *unpacker); /* NULL is fine; returns NULL */
/* The frames in the first bytes of a file. */
void mor_unpacker_begin(struct mor_unpacker *unpacker, const struct mor_unpack_place *place);
/* Up to `len` bytes, more than 0; 0 behind the last one. MORTISE_EINPUT: these are no whole frames. */
ssize_t mor_unpacker_read(struct mor_unpacker *unpacker, void *buffer, size_t len, mortise_error *err);

#endif
