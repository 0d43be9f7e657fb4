/* SPDX-License-Identifier: Apache-2.0 */
#include "depot/pack.h"

#include <zstd.h>

#include "base/alloc.h"
#include "base/error.h"

/* Entries repeat themselves so much that a higher level saves little, and the worker pays for it. */
#define LEVEL 1
#define ROOM  ((size_t)128 << 10)
/* A frame of others may ask for any window: this is what our level uses, with room to spare. */
#define WINDOW_LOG 24

struct mor_packer {
	ZSTD_CCtx *context;
	char room[ROOM];
};

struct mor_unpacker {
	ZSTD_DCtx *context;
	char room[ROOM];
};

static int fail_zstd(size_t code, int status, mortise_error *err)
{
	return mor_fail(err, status, "zstd: %s", ZSTD_getErrorName(code));
}

int mor_packer_new(struct mor_packer **ret, mortise_error *err)
{
	struct mor_packer *packer = mor_alloc(sizeof(*packer));

	if (!packer)
		return mor_fail_memory(err);
	packer->context = ZSTD_createCCtx();
	if (!packer->context ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(packer->context, ZSTD_c_compressionLevel, LEVEL))) {
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
	mor_free(packer);
	return NULL;
}

int mor_packer_begin(struct mor_packer *packer, uint64_t bytes, mortise_error *err)
{
	size_t code = ZSTD_CCtx_reset(packer->context, ZSTD_reset_session_only);

	if (!ZSTD_isError(code))
		code = ZSTD_CCtx_setPledgedSrcSize(packer->context, bytes);
	return ZSTD_isError(code) ? fail_zstd(code, MORTISE_ESYSTEM, err) : 0;
}

int mor_packer_add(struct mor_packer *packer, const void *bytes, size_t len, bool last,
		   const struct mor_pack_sink *sink, mortise_error *err)
{
	ZSTD_inBuffer in = { bytes, len, 0 };
	size_t left;
	int r;

	do {
		ZSTD_outBuffer out = { packer->room, ROOM, 0 };

		left = ZSTD_compressStream2(packer->context, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return fail_zstd(left, MORTISE_ESYSTEM, err);
		r = out.pos ? sink->put(packer->room, out.pos, sink->arg, err) : 0;
		if (r < 0)
			return r;
	} while (in.pos < in.size || (last && left > 0));
	return 0;
}

int mor_unpacker_new(struct mor_unpacker **ret, mortise_error *err)
{
	struct mor_unpacker *unpacker = mor_alloc(sizeof(*unpacker));

	if (!unpacker)
		return mor_fail_memory(err);
	unpacker->context = ZSTD_createDCtx();
	if (!unpacker->context ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(unpacker->context, ZSTD_d_windowLogMax, WINDOW_LOG))) {
		mor_unpacker_free(unpacker);
		return mor_fail_memory(err);
	}
	*ret = unpacker;
	return 0;
}

struct mor_unpacker *mor_unpacker_free(struct mor_unpacker *unpacker)
{
	if (unpacker)
		ZSTD_freeDCtx(unpacker->context);
	mor_free(unpacker);
	return NULL;
}

int mor_unpacker_add(struct mor_unpacker *unpacker, const void *bytes, size_t len,
		     const struct mor_pack_sink *sink, mortise_error *err)
{
	ZSTD_inBuffer in = { bytes, len, 0 };
	bool full;

	do {
		ZSTD_outBuffer out = { unpacker->room, ROOM, 0 };
		size_t left = ZSTD_decompressStream(unpacker->context, &out, &in);
		int r;

		if (ZSTD_isError(left))
			return fail_zstd(left, MORTISE_EINPUT, err);
		r = out.pos ? sink->put(unpacker->room, out.pos, sink->arg, err) : 0;
		if (r < 0)
			return r;
		if (left == 0)
			return in.pos == in.size ?
				       1 :
				       mor_fail(err, MORTISE_EINPUT, "zstd: bytes behind the end of a frame");
		full = out.pos == ROOM;
	} while (in.pos < in.size || full);
	return 0;
}
