/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing: reads sorted entries from the spool and writes them with libzip to a descriptor. libzip alone
 * would write a file beside the archive and rename it, even over a link or a device. outfile.h handles these
 * cases.
 */
#include "kythe/archive/kzip_own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"

/* ---- entries, out of the spool ---- */

/* Sorts units by their sources: neighbours share most of their headers, so staging one after the other
 * changes less. Sorting by digest would mix them. */
static int by_place(const void *a, const void *b)
{
	const struct mor_kzip_item *x = a, *y = b;
	int order = (x->place > y->place) - (x->place < y->place);

	if (order == 0 && x->source && y->source)
		order = strcmp(x->source, y->source);
	return order ? order : strcmp(x->digest, y->digest);
}

/* A piece of the spool as libzip wants it. */
struct outflow {
	int fd;
	uint64_t offset, size, done;
	int failed; /* errno */
};

static zip_int64_t outflow_read(struct outflow *out, void *data, zip_uint64_t len)
{
	uint64_t left = out->size - out->done;
	ssize_t n;

	do
		n = pread(out->fd, data, len < left ? len : left, (off_t)(out->offset + out->done));
	while (n < 0 && errno == EINTR);
	if (n < 0 || (n == 0 && left && len))
		out->failed = n < 0 ? errno : EIO;
	if (out->failed)
		return -1;
	out->done += (uint64_t)n;
	return n;
}

static zip_int64_t outflow_stat(const struct outflow *out, void *data, zip_uint64_t len)
{
	zip_stat_t *stat = data;

	if (len < sizeof(*stat))
		return -1;
	zip_stat_init(stat);
	stat->valid = ZIP_STAT_SIZE;
	stat->size = out->size;
	return sizeof(*stat);
}

static zip_int64_t outflow_call(void *arg, void *data, zip_uint64_t len, zip_source_cmd_t what)
{
	struct outflow *out = arg;

	switch (what) {
	case ZIP_SOURCE_OPEN:
		out->done = 0;
		return 0;
	case ZIP_SOURCE_READ:
		return outflow_read(out, data, len);
	case ZIP_SOURCE_CLOSE:
		return 0;
	case ZIP_SOURCE_STAT:
		return outflow_stat(out, data, len);
	case ZIP_SOURCE_ERROR:
		((int *)data)[0] = ZIP_ER_READ;
		((int *)data)[1] = out->failed;
		return 2 * sizeof(int);
	case ZIP_SOURCE_FREE:
		mor_free(out);
		return 0;
	case ZIP_SOURCE_SUPPORTS:
		return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
						      ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
	default:
		return -1;
	}
}

/* Nothing from this machine or this time: owner's bits, and 1970 as in Kythe's writers (an extra field;
 * dates in zip itself begin in 1980). */
static bool set_attributes(zip_t *zip, zip_uint64_t index, mode_t mode)
{
	static const zip_uint8_t epoch[5] = { 1, 0, 0, 0, 0 }; /* modification time, 0 seconds */
	zip_uint32_t dos = S_ISDIR(mode) ? 0x10 : 0;

	return zip_file_set_dostime(zip, index, 0, 0x21, 0) == 0 &&
	       zip_file_extra_field_set(zip, index, 0x5455, 0, epoch, sizeof(epoch),
					ZIP_FL_LOCAL | ZIP_FL_CENTRAL) == 0 &&
	       zip_file_set_external_attributes(zip, index, 0, ZIP_OPSYS_UNIX,
						(zip_uint32_t)mode << 16 | dos) == 0;
}

static bool add_entry(int spool, zip_t *zip, const struct mor_kzip_item *item)
{
	struct outflow *out = mor_zalloc(sizeof(*out));
	zip_source_t *source;
	zip_int64_t index;
	char name[100];

	if (!out)
		return false;
	*out = (struct outflow){ .fd = spool, .offset = item->offset, .size = item->size };
	source = zip_source_function(zip, outflow_call, out);
	if (!source) {
		mor_free(out);
		return false;
	}
	snprintf(name, sizeof(name), "root/%s%s", mor_kzip_places[item->place], item->digest);
	if ((index = zip_file_add(zip, name, source, 0)) < 0) {
		zip_source_free(source);
		return false;
	}
	return zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_DEFLATE, 0) == 0 &&
	       set_attributes(zip, (zip_uint64_t)index, S_IFREG | 0600);
}

static bool add_entries(int spool, struct mor_kzip_item *items, size_t count, zip_t *zip)
{
	static const char comment[] = "Kythe kzip archive";
	zip_int64_t root = zip_dir_add(zip, "root/", 0);

	if (root < 0 || !set_attributes(zip, (zip_uint64_t)root, S_IFDIR | 0755) ||
	    zip_set_archive_comment(zip, comment, sizeof(comment) - 1) < 0)
		return false;
	if (count)
		qsort(items, count, sizeof(*items), by_place);
	for (size_t i = 0; i < count; i++)
		if (!add_entry(spool, zip, &items[i]))
			return false;
	return true;
}

/* ---- the archive, into a descriptor ---- */

struct archive {
	int fd;     /* empty, and at its beginning */
	int failed; /* errno */
};

static zip_int64_t archive_write(struct archive *archive, const void *data, zip_uint64_t len)
{
	ssize_t n;

	do
		n = write(archive->fd, data, len);
	while (n < 0 && errno == EINTR);
	return n;
}

static zip_int64_t archive_seek(struct archive *archive, void *data, zip_uint64_t len)
{
	const zip_source_args_seek_t *to = ZIP_SOURCE_GET_ARGS(zip_source_args_seek_t, data, len, NULL);

	return to && lseek(archive->fd, to->offset, to->whence) >= 0 ? 0 : -1;
}

static zip_int64_t archive_stat(void *data)
{
	zip_stat_t *stat = data;

	zip_stat_init(stat);
	stat->valid = ZIP_STAT_SIZE;
	return sizeof(*stat);
}

/* The archive is never read: it is still empty. */
static zip_int64_t archive_call(void *arg, void *data, zip_uint64_t len, zip_source_cmd_t what)
{
	struct archive *archive = arg;
	zip_int64_t r = 0;

	switch (what) {
	case ZIP_SOURCE_SUPPORTS:
		return ZIP_SOURCE_SUPPORTS_WRITABLE;
	case ZIP_SOURCE_STAT:
		return archive_stat(data);
	case ZIP_SOURCE_WRITE:
		r = archive_write(archive, data, len);
		break;
	case ZIP_SOURCE_SEEK_WRITE:
		r = archive_seek(archive, data, len);
		break;
	case ZIP_SOURCE_TELL_WRITE:
		r = lseek(archive->fd, 0, SEEK_CUR);
		break;
	case ZIP_SOURCE_ERROR:
		((int *)data)[0] = ZIP_ER_WRITE;
		((int *)data)[1] = archive->failed;
		return 2 * sizeof(int);
	default:
		break;
	}
	if (r < 0)
		archive->failed = errno;
	return r;
}

static zip_t *open_archive(struct archive *archive, zip_error_t *why)
{
	zip_source_t *source = zip_source_function_create(archive_call, archive, why);
	zip_t *zip = source ? zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, why) : NULL;

	if (!zip && source)
		zip_source_free(source);
	return zip;
}

int mor_kzip_pack(int spool, struct mor_kzip_item *items, size_t count, int to, mortise_error *err)
{
	struct archive archive = { .fd = to };
	zip_error_t why;
	zip_t *zip;
	int r = 0;

	zip_error_init(&why);
	zip = open_archive(&archive, &why);
	if (!zip)
		r = mor_fail(err, MORTISE_ESYSTEM, "it cannot be written: %s", zip_error_strerror(&why));
	zip_error_fini(&why);
	if (!zip || (add_entries(spool, items, count, zip) && zip_close(zip) == 0))
		return r;
	r = mor_fail(err, MORTISE_ESYSTEM, "it cannot be written: %s", zip_strerror(zip));
	zip_discard(zip);
	return r;
}
