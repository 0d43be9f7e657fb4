/* SPDX-License-Identifier: Apache-2.0 */
/* Entry streams. Byte 0: format and size of the pieces. What is read in pieces is what is read at once; what is
 * converted and converted back is the same stream. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "kythe/entries/entries.h"

struct memory {
	struct mor_slice left;
	size_t step;
};

static ssize_t read_memory(void *arg, void *buffer, size_t len)
{
	struct memory *memory = arg;
	size_t n = memory->left.len;

	n = memory->step && n > memory->step ? memory->step : n;
	n = n > len ? len : n;
	if (!n) /* an empty buffer has no address to count from */
		return 0;
	memcpy(buffer, memory->left.ptr, n);
	memory->left.ptr += n;
	memory->left.len -= n;
	return (ssize_t)n;
}

static int collect(const void *bytes, size_t len, void *arg)
{
	return mor_buf_append(arg, bytes, len);
}

static int convert(struct mor_slice bytes, size_t step, enum mor_stream_format from, enum mor_stream_format to,
		   struct mor_buf *out, mortise_error *err)
{
	struct memory memory = { bytes, step };
	struct mor_entries entries = {
		.records = { .read = read_memory, .arg = &memory, .format = from, .limit = 1 << 16 },
	};
	struct mor_convert_stats stats = { 0 };
	int r = mor_entries_convert(&entries, to, collect, out, &stats, err);

	CHECK(r < 0 || (stats.bytes_out == out->len && stats.bytes_in <= bytes.len));
	mor_entries_fini(&entries);
	return r;
}

/* Wire is the form that all are brought to: there is one for each entry. */
static void check_back(struct mor_slice wire, enum mor_stream_format through)
{
	MOR_CLEAN(mor_buf) struct mor_buf there = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf back = MOR_BUF_INIT;

	CHECK(convert(wire, 0, MOR_STREAM_PROTOBUF, through, &there, NULL) == 0);
	if (convert(mor_buf_view(&there), 0, through, MOR_STREAM_PROTOBUF, &back, NULL) == 0)
		CHECK(mor_slice_eq(mor_buf_view(&back), wire));
	else
		CHECK(there.len > 1 << 16); /* base64 has made a record longer than the limit */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	MOR_CLEAN(mor_buf) struct mor_buf whole = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf pieces = MOR_BUF_INIT;
	mortise_error one = { 0 }, two = { 0 };
	struct mor_slice rest = { (const char *)data + 1, size - 1 };
	enum mor_stream_format format;
	int r;

	if (size < 1)
		return 0;
	format = (enum mor_stream_format)(data[0] % 3);
	r = convert(rest, 0, format, MOR_STREAM_PROTOBUF, &whole, &one);
	CHECK(convert(rest, 1 + data[0] / 3 % 7, format, MOR_STREAM_PROTOBUF, &pieces, &two) == r);
	CHECK(r == 0 || ((r == MORTISE_EINPUT || r == MORTISE_ELIMIT) && strcmp(one.text, two.text) == 0));
	if (r < 0)
		return 0;
	CHECK(mor_slice_eq(mor_buf_view(&whole), mor_buf_view(&pieces)));
	for (int through = 0; through < 3; through++)
		check_back(mor_buf_view(&whole), (enum mor_stream_format)through);
	return 0;
}
