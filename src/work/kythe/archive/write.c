/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing. Contents are copied into a spool, an unnamed file beside the archive, and hashed at the same
 * time. So the digest always matches the copied bytes, even if the source changes later, and memory does not
 * grow with the archive. At the end pack.c packs them from the spool into the output.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "base/path.h"
#include "base/text.h"
#include "kythe/archive/kzip_own.h"
#include "kythe/unit/unit_order.h"

#define PIECE ((size_t)64 << 10)

struct mor_kzip_writer {
	char *path;
	struct mor_outfile out;
	enum mor_kzip_encoding encoding;
	int spool;
	uint64_t end; /* end of the valid bytes in the spool */
	struct mor_kzip_item *items;
	size_t count, room, files, units;
	size_t *table; /* open addressing: index + 1 of an item, 0 free; a power of two of slots */
	size_t slots;
};

/* ---- items ---- */

static size_t slot_of(const struct mor_kzip_writer *writer, enum mor_kzip_place place, const char *digest)
{
	uint64_t hash = 0;

	/* The digest itself is random enough. */
	for (size_t i = 0; i < 16; i++)
		hash = hash << 4 | (uint64_t)(digest[i] <= '9' ? digest[i] - '0' : digest[i] - 'a' + 10);
	return (size_t)(hash + (uint64_t)place) & (writer->slots - 1);
}

static size_t find_slot(const struct mor_kzip_writer *writer, enum mor_kzip_place place, const char *digest)
{
	size_t slot = slot_of(writer, place, digest);

	while (writer->table[slot]) {
		const struct mor_kzip_item *item = &writer->items[writer->table[slot] - 1];

		if (item->place == place && strcmp(item->digest, digest) == 0)
			break;
		slot = (slot + 1) & (writer->slots - 1);
	}
	return slot;
}

static bool is_there(const struct mor_kzip_writer *writer, enum mor_kzip_place place, const char *digest)
{
	return writer->slots && writer->table[find_slot(writer, place, digest)];
}

/* Items and table grow together: the table is at most half full. */
static int make_room(struct mor_kzip_writer *writer)
{
	size_t room = writer->room ? 2 * writer->room : 128;
	struct mor_kzip_item *items;
	size_t *table;

	if (writer->count < writer->room)
		return 0;
	items = mor_realloc(writer->items, room * sizeof(*items));
	if (!items)
		return MORTISE_ENOMEM;
	writer->items = items;
	table = mor_zalloc(2 * room * sizeof(*table));
	if (!table)
		return MORTISE_ENOMEM;
	mor_free(writer->table);
	writer->table = table;
	writer->room = room;
	writer->slots = 2 * room;
	for (size_t i = 0; i < writer->count; i++)
		table[find_slot(writer, items[i].place, items[i].digest)] = i + 1;
	return 0;
}

static int add_item(struct mor_kzip_writer *writer, const struct mor_kzip_item *item)
{
	int r = make_room(writer);

	if (r < 0)
		return r;
	writer->items[writer->count++] = *item;
	writer->table[find_slot(writer, item->place, item->digest)] = writer->count;
	writer->files += item->place == MOR_KZIP_IN_FILES;
	return 0;
}

/* ---- the spool ---- */

/* One content that is being added. */
struct inflow {
	struct mor_kzip_writer *writer;
	struct sha256_ctx sha;
	uint64_t size;
	mortise_error *err;
};

static void inflow_begin(struct inflow *in, struct mor_kzip_writer *writer, mortise_error *err)
{
	*in = (struct inflow){ .writer = writer, .err = err };
	mor_digest_begin(&in->sha);
}

/* A mor_kzip_sink_fn. */
static int inflow_add(const void *bytes, size_t len, void *arg)
{
	struct inflow *in = arg;
	const char *p = bytes;

	mor_digest_add(&in->sha, bytes, len);
	while (len) {
		ssize_t n = pwrite(in->writer->spool, p, len, (off_t)(in->writer->end + in->size));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return mor_fail_errno(in->err, MORTISE_ESYSTEM, errno, "%s: writing a temporary file",
					      in->writer->path);
		p += n;
		len -= (size_t)n;
		in->size += (uint64_t)n;
	}
	return 0;
}

/* Bytes of a duplicate or failed content are overwritten by the next one. */
static int inflow_end(struct inflow *in, enum mor_kzip_place place, const char *name)
{
	struct mor_kzip_item item = { .place = place, .offset = in->writer->end, .size = in->size };

	mor_digest_end(&in->sha, item.digest);
	if (name)
		memcpy(item.digest, name, MOR_DIGEST_SIZE);
	if (is_there(in->writer, place, item.digest))
		return 0;
	if (add_item(in->writer, &item) < 0)
		return mor_fail_memory(in->err);
	in->writer->end += in->size;
	return 0;
}

static int copy_fd(struct inflow *in, int fd, const char *path, char *piece)
{
	ssize_t n;
	int r = 0;

	while (r == 0 && (n = read(fd, piece, PIECE)) != 0) {
		if (n < 0 && errno != EINTR)
			return mor_fail_errno(in->err, MORTISE_EINPUT, errno, "%s", path);
		if (n > 0)
			r = inflow_add(piece, (size_t)n, in);
	}
	return r;
}

static int open_input(const char *path, int *ret_fd, mortise_error *err)
{
	/* O_NONBLOCK: a FIFO without a writer must not block us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;

	if (fd < 0)
		return mor_fail_errno(err,
				      errno == ENOENT || errno == ENOTDIR ? MORTISE_ENOTFOUND : MORTISE_EINPUT,
				      errno, "%s", path);
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
		*ret_fd = fd;
		return 0;
	}
	mor_fd_close(&fd);
	return mor_fail(err, MORTISE_EINPUT, "%s: not a regular file", path);
}

int mor_kzip_writer_add_path(struct mor_kzip_writer *writer, const char *path, char ret_digest[65],
			     mortise_error *err)
{
	struct sha256_ctx copy;
	struct inflow in;
	char *piece;
	int fd = -1, r = open_input(path, &fd, err);

	if (r < 0)
		return r;
	inflow_begin(&in, writer, err);
	piece = mor_alloc(PIECE);
	r = piece ? copy_fd(&in, fd, path, piece) : mor_fail_memory(err);
	mor_free(piece);
	mor_fd_close(&fd);
	if (r < 0)
		return r;
	copy = in.sha;
	if (ret_digest)
		mor_digest_end(&copy, ret_digest);
	return inflow_end(&in, MOR_KZIP_IN_FILES, NULL);
}

/* ---- units ---- */

static int add_encoded(struct mor_kzip_writer *writer, const struct mor_unit *unit, enum mor_kzip_place place,
		       const char *digest, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT, source = MOR_BUF_INIT;
	size_t before = writer->count;
	struct inflow in;
	int r = place == MOR_KZIP_IN_UNITS ? mor_unit_write_json(unit, &text, err) :
					     mor_unit_write_wire(unit, &text, err);

	if (r < 0)
		return r;
	if (mor_path_clean(unit->working_directory, mor_unit_title(unit), &source) < 0)
		return mor_fail_memory(err);
	inflow_begin(&in, writer, err);
	if ((r = inflow_add(text.data, text.len, &in)) == 0)
		r = inflow_end(&in, place, digest);
	if (r == 0 && writer->count > before)
		writer->items[before].source = mor_buf_detach(&source);
	return r;
}

static int unit_name(const struct mor_unit *unit, const char *name, char digest[MOR_DIGEST_SIZE],
		     mortise_error *err)
{
	int r = mor_unit_digest(unit, digest, err);

	if (r != MORTISE_EUNSUPPORTED || !name || !mor_digest_valid(name))
		return r;
	memcpy(digest, name, MOR_DIGEST_SIZE);
	return 0;
}

int mor_kzip_writer_add_unit(struct mor_kzip_writer *writer, const struct mor_unit *unit, const char *name,
			     bool *ret_added, mortise_error *err)
{
	MOR_CLEAN(mor_ordered_unit) struct mor_ordered_unit ordered = { 0 };
	char digest[MOR_DIGEST_SIZE];
	int r = unit_name(unit, name, digest, err);

	if (r < 0)
		return r;
	if (ret_added)
		*ret_added = false;
	if (is_there(writer, writer->encoding & MOR_KZIP_JSON ? MOR_KZIP_IN_UNITS : MOR_KZIP_IN_PBUNITS,
		     digest))
		return 0;
	if (mor_ordered_unit(unit, &ordered) < 0)
		return mor_fail_memory(err);
	/* Protobuf comes first, because it may fail. Then nothing must have been added. */
	if (writer->encoding & MOR_KZIP_PROTO)
		r = add_encoded(writer, &ordered.unit, MOR_KZIP_IN_PBUNITS, digest, err);
	if (r == 0 && writer->encoding & MOR_KZIP_JSON)
		r = add_encoded(writer, &ordered.unit, MOR_KZIP_IN_UNITS, digest, err);
	writer->units += r == 0;
	if (r == 0 && ret_added)
		*ret_added = true;
	return r;
}

/* ---- merging ---- */

static int add_file_of(struct mor_kzip_writer *writer, struct mor_kzip *kzip, const char *digest,
		       mortise_error *err)
{
	struct inflow in;
	int r;

	inflow_begin(&in, writer, err);
	r = mor_kzip_file_read(kzip, digest, inflow_add, &in, err);
	return r < 0 ? r : inflow_end(&in, MOR_KZIP_IN_FILES, NULL);
}

static int add_inputs_of(struct mor_kzip_writer *writer, struct mor_kzip *kzip, const struct mor_unit *unit,
			 const char *name, mortise_error *err)
{
	size_t unused;
	int r = 0;

	for (size_t i = 0; r == 0 && i < unit->input_count; i++) {
		const struct mor_input *input = &unit->inputs[i];
		char path[200];

		if (mor_digest_valid(input->digest) && is_there(writer, MOR_KZIP_IN_FILES, input->digest))
			continue;
		if (!mor_kzip_file_find(kzip, input->digest, &unused))
			return mor_fail(err, MORTISE_EINPUT,
					"%s: unit %s: the content of its input \"%s\" is not in the archive",
					mor_kzip_path(kzip), name,
					mor_excerpt(mor_slice_of(input->path), path, sizeof(path)));
		r = add_file_of(writer, kzip, input->digest, err);
	}
	return r;
}

int mor_kzip_writer_add_kzip(struct mor_kzip_writer *writer, struct mor_kzip *kzip, mortise_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < mor_kzip_unit_count(kzip); i++) {
		MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
		const char *name = mor_kzip_unit_digest(kzip, i);

		r = mor_kzip_unit_read(kzip, i, &unit, err);
		r = r ? r : add_inputs_of(writer, kzip, unit, name, err);
		if (r == 0 && (r = mor_kzip_writer_add_unit(writer, unit, name, NULL, err)) < 0)
			mor_fail_prefix(err, mor_kzip_path(kzip));
	}
	return r;
}

/* ---- the archive ---- */

size_t mor_kzip_writer_units(const struct mor_kzip_writer *writer)
{
	return writer->units;
}

size_t mor_kzip_writer_files(const struct mor_kzip_writer *writer)
{
	return writer->files;
}

/* Beside the archive, where enough room is needed anyway. For a pipe: in the directory for temporary files. */
static int open_spool(const struct mor_kzip_writer *writer, int *ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *own = mor_outplace_dir(&writer->out.place);
	const char *tmp = getenv("TMPDIR");
	const char *dir = !writer->out.place.in_place ? own : tmp && *tmp ? tmp : "/tmp";

	*ret = dir ? mor_fd_unnamed(dir) : -ENOMEM;
	return *ret < 0 ? mor_fail_errno(err, MORTISE_EINPUT, -*ret, "%s: a temporary file in %s", writer->path,
					 dir ? dir : "") :
			  0;
}

static int send_file(int from, int to, mortise_error *err)
{
	char piece[PIECE];
	ssize_t n = 0;
	off_t at = 0;
	int r = 0;

	while (r == 0 && (n = pread(from, piece, sizeof(piece), at)) > 0) {
		r = mor_fd_write_all(to, piece, (size_t)n);
		at += n;
	}
	if (n < 0)
		r = -errno;
	return r < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "it cannot be written") : 0;
}

/* Packing seeks back, which a pipe cannot do. */
static int pack_and_send(struct mor_kzip_writer *writer, mortise_error *err)
{
	int whole = -1, r = open_spool(writer, &whole, err);

	r = r ? r : mor_kzip_pack(writer->spool, writer->items, writer->count, whole, err);
	r = r ? r : send_file(whole, writer->out.fd, err);
	mor_fd_close(&whole);
	return r;
}

int mor_kzip_writer_finish(struct mor_kzip_writer *writer, mortise_error *err)
{
	int r = writer->out.place.in_place ?
			pack_and_send(writer, err) :
			mor_kzip_pack(writer->spool, writer->items, writer->count, writer->out.fd, err);

	if (r < 0)
		return mor_fail_prefix(err, writer->path);
	return mor_outfile_commit(&writer->out, err);
}

/* ---- life ---- */

int mor_kzip_writer_new(const char *path, enum mor_kzip_encoding encoding, struct mor_kzip_writer **ret,
			mortise_error *err)
{
	struct mor_kzip_writer *writer = mor_zalloc(sizeof(*writer));
	int r;

	if (!writer || !(writer->path = mor_strdup(path))) {
		mor_free(writer);
		return mor_fail_memory(err);
	}
	writer->encoding = encoding;
	writer->spool = -1;
	r = mor_outfile_open(path, 0666, &writer->out, err);
	r = r ? r : open_spool(writer, &writer->spool, err);
	if (r == 0)
		*ret = writer;
	else
		mor_kzip_writer_free(writer);
	return r;
}

struct mor_kzip_writer *mor_kzip_writer_free(struct mor_kzip_writer *writer)
{
	if (!writer)
		return NULL;
	mor_fd_close(&writer->spool);
	mor_outfile_drop(&writer->out);
	for (size_t i = 0; i < writer->count; i++)
		mor_free(writer->items[i].source);
	mor_free(writer->items);
	mor_free(writer->table);
	mor_free(writer->path);
	return mor_free(writer);
}
