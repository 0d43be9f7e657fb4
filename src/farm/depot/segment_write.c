/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error.h"
#include "depot/inside.h"
#include "depot/segment.h"
#include "part/lines.h"

#define LOG_LIMIT ((size_t)256 << 10) /* of all lines about the units of a segment */

struct mor_segment_writer {
	struct mor_depot_file file;
	struct mor_packer *packer;
	struct mor_buf list;
	size_t logged;
	uint64_t at;    /* bytes of the stream */
	bool framed;    /* a frame is open ...           */
	uint64_t frame; /* ... and began here in the file */
	/* the unit whose bytes are put */
	bool putting;
	struct mor_depot_file mark; /* the file before it */
	uint64_t bytes;             /* so far */
};

int mor_segment_writer_new(struct mor_depot *depot, const char *key, size_t count,
			   struct mor_segment_writer **ret, mortise_error *err)
{
	struct mor_segment_writer *writer = mor_zalloc(sizeof(*writer));
	int r;

	if (!writer)
		return mor_fail_memory(err);
	writer->file.fd = -1;
	writer->packer = mor_take(&depot->spare->packer);
	r = writer->packer ? 0 : mor_packer_new(&writer->packer, err);
	r = r ? r : mor_depot_create(depot, &writer->file, err);
	if (r < 0) {
		mor_segment_writer_free(writer);
		return r;
	}
	mor_buf_printf(&writer->list, MOR_SEGMENT_MAGIC "%d %s %zu\n", MOR_SEGMENT_VERSION, key, count);
	*ret = writer;
	return 0;
}

static int keep_packed(const void *bytes, size_t len, void *arg, mortise_error *err)
{
	return mor_depot_write(arg, bytes, len, err);
}

static int pack_bytes(struct mor_segment_writer *writer, const void *bytes, size_t len, enum mor_pack_how how,
		      mortise_error *err)
{
	struct mor_pack_sink sink = { keep_packed, &writer->file };

	return mor_packer_add(writer->packer, bytes, len, how, &sink, err);
}

/* What was packed before is flushed, so that the file can be cut here. */
static int begin_put(struct mor_segment_writer *writer, mortise_error *err)
{
	int r = writer->framed ? pack_bytes(writer, NULL, 0, MOR_PACK_FLUSH, err) : 0;

	if (r < 0)
		return r;
	if (!writer->framed) {
		mor_packer_begin(writer->packer);
		writer->frame = writer->file.bytes;
	}
	writer->framed = writer->putting = true;
	writer->mark = writer->file;
	writer->bytes = 0;
	return 0;
}

int mor_segment_writer_put(struct mor_segment_writer *writer, const void *bytes, size_t len, mortise_error *err)
{
	int r = writer->putting ? 0 : begin_put(writer, err);

	r = r ? r : pack_bytes(writer, bytes, len, MOR_PACK_MORE, err);
	writer->bytes += len;
	return r;
}

/* The packer has seen bytes that are not there any more: the next unit begins a new frame. */
static int take_back_put(struct mor_segment_writer *writer, mortise_error *err)
{
	int r = mor_depot_cut(&writer->file, &writer->mark, err);

	writer->framed = false;
	if (r == 0 && writer->file.bytes > writer->frame)
		r = mor_depot_write(&writer->file, MOR_PACK_CUT, MOR_PACK_CUT_LEN, err);
	return r;
}

int mor_segment_writer_end(struct mor_segment_writer *writer, bool keep, uint64_t *ret_at, mortise_error *err)
{
	int r = 0;

	*ret_at = writer->at;
	if (writer->putting && keep)
		writer->at += writer->bytes;
	else if (writer->putting)
		r = take_back_put(writer, err);
	writer->putting = false;
	return r;
}

int mor_segment_writer_add(struct mor_segment_writer *writer, const struct mor_segment_unit *unit,
			   mortise_error *err)
{
	mor_buf_printf(&writer->list, "%s %" PRIu64 " %" PRIu64 " %016" PRIx64, unit->code ? "failed" : "done",
		       unit->at, unit->bytes, unit->sum);
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
	r = writer->framed ? pack_bytes(writer, NULL, 0, MOR_PACK_END, err) : 0;
	r = r ? r : mor_depot_write(&writer->file, writer->list.data, writer->list.len, err);
	return r < 0 ? r : mor_depot_commit(&writer->file, MOR_DEPOT_SEGMENT, ret_digest, err);
}

struct mor_segment_writer *mor_segment_writer_free(struct mor_segment_writer *writer)
{
	if (!writer)
		return NULL;
	mor_depot_drop(&writer->file);
	if (writer->file.depot && !writer->file.depot->spare->packer)
		writer->file.depot->spare->packer = mor_take(&writer->packer);
	mor_packer_free(writer->packer);
	mor_buf_fini(&writer->list);
	return mor_free(writer);
}
