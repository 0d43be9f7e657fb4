/* SPDX-License-Identifier: Apache-2.0 */
#include "depot/pack.h"

#include <errno.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "depot/unfold.h"

/*
 * Entries repeat themselves, and what a unit says of a header the next unit says again, word for word, up to
 * megabytes behind. So one frame has all units of a segment, and the window is 16 MB. Long repetitions are most
 * of what there is to find: a small table that only looks for those of 7 bytes and more finds them and stays in
 * the processor's cache (docs/design/0010-farm.md, "What keeps it cheap").
 */
#define LEVEL      1
#define WINDOW_LOG 24 /* also what a reader accepts */
#define HASH_LOG   17
#define MATCH      7
#define ROOM       ((size_t)128 << 10)

struct mor_packer {
	ZSTD_CCtx *context;
	char room[ROOM];
};

struct mor_unpacker {
	ZSTD_DCtx *context;
	struct mor_unfold *fold;
	struct mor_unpack_place place;
	uint64_t at; /* what is before was read */
	size_t left; /* 0: between frames */
	ZSTD_inBuffer in;
	struct mor_slice folded; /* of `plain`: what was unpacked, but not unfolded yet */
	char room[ROOM], plain[ROOM];
};

static int fail_zstd(size_t code, int status, mortise_error *err)
{
	return mor_fail(err, status, "zstd: %s", ZSTD_getErrorName(code));
}

static bool set_packer(ZSTD_CCtx *context)
{
	static const struct {
		ZSTD_cParameter name;
		int value;
	} settings[] = { { ZSTD_c_compressionLevel, LEVEL },
			 { ZSTD_c_windowLog, WINDOW_LOG },
			 { ZSTD_c_hashLog, HASH_LOG },
			 { ZSTD_c_minMatch, MATCH } };

	for (size_t i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		if (ZSTD_isError(ZSTD_CCtx_setParameter(context, settings[i].name, settings[i].value)))
			return false;
	return true;
}

int mor_packer_new(struct mor_packer **ret, mortise_error *err)
{
	struct mor_packer *packer = mor_alloc(sizeof(*packer));

	if (!packer)
		return mor_fail_memory(err);
	packer->context = ZSTD_createCCtx();
	if (!packer->context || !set_packer(packer->context)) {
		mor_packer_free(packer);
		return mor_fail_memory(err);
	}
	*ret = packer;
	return 0;
}

struct mor_packer *mor_packer_free(struct mor_packer *packer)
{
	if (packer)
		ZSTD_freeCCtx(packer->context);
	return mor_free(packer);
}

void mor_packer_begin(struct mor_packer *packer)
{
	ZSTD_CCtx_reset(packer->context, ZSTD_reset_session_only); /* cannot fail */
}

int mor_packer_add(struct mor_packer *packer, const void *bytes, size_t len, enum mor_pack_how how,
		   const struct mor_pack_sink *sink, mortise_error *err)
{
	static const ZSTD_EndDirective directives[] = {
		[MOR_PACK_MORE] = ZSTD_e_continue, [MOR_PACK_FLUSH] = ZSTD_e_flush, [MOR_PACK_END] = ZSTD_e_end
	};
	ZSTD_inBuffer in = { bytes, len, 0 };
	size_t left;
	int r;

	do {
		ZSTD_outBuffer out = { packer->room, ROOM, 0 };

		left = ZSTD_compressStream2(packer->context, &out, &in, directives[how]);
		if (ZSTD_isError(left))
			return fail_zstd(left, MORTISE_ESYSTEM, err);
		r = out.pos ? sink->put(packer->room, out.pos, sink->arg, err) : 0;
		if (r < 0)
			return r;
	} while (in.pos < in.size || (how != MOR_PACK_MORE && left > 0));
	return 0;
}

int mor_unpacker_new(struct mor_unpacker **ret, mortise_error *err)
{
	struct mor_unpacker *unpacker = mor_alloc(sizeof(*unpacker));

	if (!unpacker)
		return mor_fail_memory(err);
	unpacker->context = ZSTD_createDCtx();
	unpacker->fold = mor_unfold_new();
	if (!unpacker->context || !unpacker->fold ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(unpacker->context, ZSTD_d_windowLogMax, WINDOW_LOG))) {
		mor_unpacker_free(unpacker);
		return mor_fail_memory(err);
	}
	*ret = unpacker;
	return 0;
}

struct mor_unpacker *mor_unpacker_free(struct mor_unpacker *unpacker)
{
	if (unpacker) {
		ZSTD_freeDCtx(unpacker->context);
		mor_unfold_free(unpacker->fold);
	}
	return mor_free(unpacker);
}

void mor_unpacker_begin(struct mor_unpacker *unpacker, const struct mor_unpack_place *place)
{
	ZSTD_DCtx_reset(unpacker->context, ZSTD_reset_session_only); /* cannot fail */
	mor_unfold_begin(unpacker->fold);
	unpacker->place = *place;
	unpacker->at = 0;
	unpacker->left = 0;
	unpacker->in = (ZSTD_inBuffer){ unpacker->room, 0, 0 };
	unpacker->folded = (struct mor_slice){ 0 };
}

static int fill_room(struct mor_unpacker *unpacker, mortise_error *err)
{
	uint64_t left = unpacker->place.end - unpacker->at;
	ssize_t n;

	do
		n = pread(unpacker->place.fd, unpacker->room, left < ROOM ? (size_t)left : ROOM,
			  (off_t)unpacker->at);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return mor_fail_errno(err, MORTISE_EINPUT, n < 0 ? errno : EIO, "reading it");
	unpacker->in = (ZSTD_inBuffer){ unpacker->room, (size_t)n, 0 };
	unpacker->at += (uint64_t)n;
	return 0;
}

/* A new frame is folded for itself; a frame may only end where a run does. */
static int mind_frame(struct mor_unpacker *unpacker, mortise_error *err)
{
	if (unpacker->left || !unpacker->place.folded)
		return 0;
	if (!mor_unfold_whole(unpacker->fold))
		return mor_fail(err, MORTISE_EINPUT, "its frame is cut");
	mor_unfold_begin(unpacker->fold);
	return 0;
}

/* Up to `len` bytes of one frame, still folded; 0 behind the last frame. */
static ssize_t unzip(struct mor_unpacker *unpacker, void *buffer, size_t len, mortise_error *err)
{
	ZSTD_outBuffer out = { buffer, len, 0 };
	bool full = true; /* zstd may hold bytes of what it has read */
	int r = 0;

	while (out.pos == 0) {
		bool fed = unpacker->in.pos < unpacker->in.size;
		size_t left;

		if ((r = mind_frame(unpacker, err)) < 0)
			return r;
		if (!fed && unpacker->at < unpacker->place.end && (r = fill_room(unpacker, err)) < 0)
			return r;
		if (!fed && unpacker->in.pos == unpacker->in.size && (unpacker->left == 0 || !full))
			break;
		left = ZSTD_decompressStream(unpacker->context, &out, &unpacker->in);
		if (ZSTD_isError(left))
			return fail_zstd(left, MORTISE_EINPUT, err);
		unpacker->left = left;
		full = false;
	}
	if (out.pos == 0 && unpacker->left)
		return mor_fail(err, MORTISE_EINPUT, "its frame is cut");
	return (ssize_t)out.pos;
}

static int unzip_more(struct mor_unpacker *unpacker, mortise_error *err)
{
	ssize_t n = unzip(unpacker, unpacker->plain, ROOM, err);

	unpacker->folded = (struct mor_slice){ unpacker->plain, n > 0 ? (size_t)n : 0 };
	return n < 0 ? (int)n : n > 0;
}

ssize_t mor_unpacker_read(struct mor_unpacker *unpacker, void *buffer, size_t len, mortise_error *err)
{
	ssize_t n = 0;
	int r = 1;

	if (!unpacker->place.folded)
		return unzip(unpacker, buffer, len, err);
	while (n == 0 && r > 0) {
		n = mor_unfold_read(unpacker->fold, &unpacker->folded, buffer, len);
		if (n < 0)
			return mor_fail(err, MORTISE_EINPUT, "it repeats bytes that are not there");
		if (n == 0)
			r = unzip_more(unpacker, err);
	}
	return n > 0 ? n : r;
}
