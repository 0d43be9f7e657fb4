/* SPDX-License-Identifier: Apache-2.0 */
/* Folded bytes of a hostile segment. The first byte says how large the pieces are. The rest is refused, or
 * gives the same bytes in whatever pieces. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "depot/unfold.h"

#define OUT_LIMIT ((size_t)1 << 20) /* a few bytes can stand for any amount */

static struct mor_unfold *unfold;

/* Up to OUT_LIMIT bytes. True: it was not refused. */
static bool unfold_all(struct mor_slice in, size_t piece, struct mor_buf *out)
{
	char buffer[1000];
	ssize_t n = 0;

	mor_unfold_begin(unfold);
	while (in.len && n >= 0 && out->len < OUT_LIMIT) {
		struct mor_slice part = { in.ptr, in.len < piece ? in.len : piece };

		while (out->len < OUT_LIMIT && (n = mor_unfold_read(unfold, &part, buffer, sizeof(buffer))) > 0)
			mor_buf_append(out, buffer, (size_t)n);
		in.len -= (size_t)(part.ptr - in.ptr);
		in.ptr = part.ptr;
	}
	return n >= 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	MOR_CLEAN(mor_buf) struct mor_buf whole = MOR_BUF_INIT, pieces = MOR_BUF_INIT;
	struct mor_slice rest = { (const char *)data + 1, size - 1 };
	bool good;

	if (!unfold)
		unfold = mor_unfold_new();
	CHECK(unfold);
	if (size < 2 || size > OUT_LIMIT / 2)
		return 0;
	good = unfold_all(rest, SIZE_MAX, &whole);
	CHECK(unfold_all(rest, (size_t)data[0] + 1, &pieces) == good);
	CHECK(!good ||
	      (whole.len == pieces.len && (!whole.len || memcmp(whole.data, pieces.data, whole.len) == 0)));
	return 0;
}
