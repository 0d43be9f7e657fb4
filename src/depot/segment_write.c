/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "depot/pack.h"
#include "depot/segment.h"
#include "part/lines.h"

#define PACK_PIECE ((size_t)128 << 10)
#define LOG_LIMIT  ((size_t)256 << 10) /* of all lines about the units of a segment */

struct mor_segment_writer {
	struct mor_depot_file file;
	struct mor_packer *packer;
	struct mor_buf list;
	size_t logged;
};

int mor_segment_writer_new(struct mor_depot *depot, const char *key, size_t count,
			   struct mor_segment_writer **ret, mortise_error *err)
{
	struct mor_segment_writer *writer = mor_zalloc(sizeof(*writer));
	int r;

	if (!writer)
		return mor_fail_memory(err);
	writer->file.fd = -1;
	r = mor_packer_new(&writer->packer, err);
	if (r == 0)
		r = mor_depot_create(depot, &writer->file, err);
	if (r < 0) {
		mor_segment_writer_free(writer);
		return r;
	}
	mor_buf_printf(&writer->list, MOR_SEGMENT_MAGIC "%s %zu\n", key, count);
	*ret = writer;
	return 0;
}

static int keep_packed(const void *bytes, size_t len, void *arg, mortise_error *err)
{
	return mor_depot_write(arg, bytes, len, err);
}

/* Reads the unit's bytes and packs them. */
static int pack_unit(struct mor_segment_writer *writer, uint64_t bytes, int fd, uint64_t at, mortise_error *err)
{
	struct mor_pack_sink sink = { keep_packed, &writer->file };
	MOR_CLEAN_TEXT char *piece = mor_alloc(PACK_PIECE);
	uint64_t left = bytes;
	int r = piece ? mor_packer_begin(writer->packer, bytes, err) : mor_fail_memory(err);

	while (r == 0 && left > 0) {
		ssize_t n = pread(fd, piece, left < PACK_PIECE ? (size_t)left : PACK_PIECE, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, n < 0 ? errno : EIO,
					      "reading a unit's output");
		left -= (uint64_t)n;
		at += (uint64_t)n;
		r = mor_packer_add(writer->packer, piece, (size_t)n, left == 0, &sink, err);
	}
	return r;
}

int mor_segment_writer_add(struct mor_segment_writer *writer, const struct mor_segment_unit *unit, int fd,
			   uint64_t at, mortise_error *err)
{
	uint64_t before = writer->file.bytes;
	int r = unit->bytes ? pack_unit(writer, unit->bytes, fd, at, err) : 0;

	if (r < 0)
		return r;
	mor_buf_printf(&writer->list, "%s %" PRIu64 " %" PRIu64 " %016" PRIx64, unit->code ? "failed" : "done",
		       writer->file.bytes - before, unit->bytes, unit->sum);
	if (unit->code) {
		mor_buf_printf(&writer->list, " %d %u ", -unit->code, unit->attempts);
		mor_lines_text(&writer->list, unit->name);
		mor_buf_byte(&writer->list, '\t');
		mor_lines_text(&writer->list, unit->why);
	} else {
		mor_buf_printf(&writer->list, " %" PRIu64 " %u", unit->records, unit->attempts);
	}
	mor_buf_byte(&writer->list, '\n');
	return mor_buf_failed(&writer->list) ? mor_fail_memory(err) : 0;
}

void mor_segment_writer_log(struct mor_segment_writer *writer, size_t unit, struct mor_slice line)
{
	if (writer->logged + line.len > LOG_LIMIT)
		return;
	writer->logged += line.len;
	mor_buf_printf(&writer->list, "log %zu ", unit);
	mor_lines_text(&writer->list, line);
	mor_buf_byte(&writer->list, '\n');
}

int mor_segment_writer_finish(struct mor_segment_writer *writer, char ret_digest[MOR_DIGEST_SIZE],
			      mortise_error *err)
{
	int r;

	mor_lines_end(&writer->list);
	if (mor_buf_failed(&writer->list))
		return mor_fail_memory(err);
	r = mor_depot_write(&writer->file, writer->list.data, writer->list.len, err);
	return r < 0 ? r : mor_depot_commit(&writer->file, MOR_DEPOT_SEGMENT, ret_digest, err);
}

struct mor_segment_writer *mor_segment_writer_free(struct mor_segment_writer *writer)
{
	if (!writer)
		return NULL;
	mor_depot_drop(&writer->file);
	mor_packer_free(writer->packer);
	mor_buf_fini(&writer->list);
	mor_free(writer);
	return NULL;
}
