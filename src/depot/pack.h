/* SPDX-License-Identifier: Apache-2.0 */
/* zstd, in pieces: the only place that knows it. */
#ifndef MOR_DEPOT_PACK_H
#define MOR_DEPOT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#define MOR_SEGMENT_MAGIC "mortise-segment 1 "

struct mor_pack_sink {
	int (*put)(const void *bytes, size_t len, void *arg, mortise_error *err);
	void *arg;
};

struct mor_packer;
int mor_packer_new(struct mor_packer **ret, mortise_error *err);
struct mor_packer *mor_packer_free(struct mor_packer *packer); /* NULL is fine; returns NULL */
/* A new frame of `bytes` bytes; then they follow in pieces. */
int mor_packer_begin(struct mor_packer *packer, uint64_t bytes, mortise_error *err);
int mor_packer_add(struct mor_packer *packer, const void *bytes, size_t len, bool last,
		   const struct mor_pack_sink *sink, mortise_error *err);

struct mor_unpacker;
int mor_unpacker_new(struct mor_unpacker **ret, mortise_error *err);
struct mor_unpacker *mor_unpacker_free(struct mor_unpacker *unpacker);
/* The next piece of one frame. 1: it ended with this piece. 0: more is needed. MORTISE_EINPUT: this is no
 * frame, or it goes on behind its end. */
int mor_unpacker_add(struct mor_unpacker *unpacker, const void *bytes, size_t len,
		     const struct mor_pack_sink *sink, mortise_error *err);

#endif
