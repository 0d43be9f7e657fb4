/* SPDX-License-Identifier: Apache-2.0 */
#include "bundle/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "bundle/locale_inside.h"
#include "bundle/place.h"

#define COPY_BYTES 65536

struct packing {
	struct archive *to;
	struct archive_entry *entry;
	const struct mor_bundle_plugin *plugin;
	mortise_error *err;
};

static void packing_fini(struct packing *p)
{
	archive_entry_free(p->entry);
	archive_write_free(p->to);
}

static int fail_packing(struct packing *p)
{
	const char *text = archive_error_string(p->to);
	int number = archive_errno(p->to);

	if (number == ENOMEM)
		return mor_fail_memory(p->err);
	if (number > 0)
		return mor_fail_errno(p->err, MORTISE_ESYSTEM, number, "the bundle cannot be written");
	return mor_fail(p->err, MORTISE_ESYSTEM, "the bundle cannot be written: %s", text ? text : "unknown");
}

static int open_packing(struct packing *p, int fd)
{
	p->to = archive_write_new();
	p->entry = archive_entry_new();
	if (!p->to || !p->entry)
		return mor_fail_memory(p->err);
	/* The last block has the length that it has: by default that depends on what kind of file fd is. */
	if (archive_write_set_format_pax_restricted(p->to) != ARCHIVE_OK ||
	    archive_write_add_filter_zstd(p->to) != ARCHIVE_OK ||
	    archive_write_set_filter_option(p->to, "zstd", "compression-level", "19") != ARCHIVE_OK ||
	    archive_write_set_bytes_in_last_block(p->to, 1) != ARCHIVE_OK ||
	    archive_write_open_fd(p->to, fd) != ARCHIVE_OK)
		return fail_packing(p);
	return 0;
}

static int write_header(struct packing *p, const struct mor_content_file *file)
{
	MOR_CLEAN_TEXT char *path =
		mor_text_format("%s-%s/%s", p->plugin->name, p->plugin->version, file->path);

	if (!path)
		return mor_fail_memory(p->err);
	archive_entry_clear(p->entry);
	archive_entry_set_pathname_utf8(p->entry, path);
	archive_entry_set_mtime(p->entry, 0, 0);
	archive_entry_set_uid(p->entry, 0);
	archive_entry_set_gid(p->entry, 0);
	archive_entry_set_filetype(p->entry, file->target ? AE_IFLNK : AE_IFREG);
	archive_entry_set_perm(p->entry, file->target || file->executable ? 0755 : 0644);
	archive_entry_set_size(p->entry, file->target ? 0 : (int64_t)file->size);
	if (file->target)
		archive_entry_set_symlink_utf8(p->entry, file->target);
	return archive_write_header(p->to, p->entry) == ARCHIVE_OK ? 0 : fail_packing(p);
}

static int refuse_changed(struct packing *p, const struct mor_content_file *file)
{
	return mor_fail(p->err, MORTISE_EINPUT, "%s changes while it is being packed", file->path);
}

/* All bytes of the file, which must be those of the content. */
static int write_bytes(struct packing *p, const struct mor_content_file *file, int fd)
{
	char block[COPY_BYTES], hex[MOR_DIGEST_SIZE];
	struct sha256_ctx sha;
	uint64_t done = 0;
	ssize_t len;

	mor_digest_begin(&sha);
	while ((len = read(fd, block, sizeof(block))) != 0) {
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return mor_fail_errno(p->err, MORTISE_ESYSTEM, errno, "%s", file->path);
		done += (uint64_t)len;
		if (done > file->size)
			return refuse_changed(p, file);
		mor_digest_add(&sha, block, (size_t)len);
		if (archive_write_data(p->to, block, (size_t)len) != len)
			return fail_packing(p);
	}
	mor_digest_end(&sha, hex);
	return done == file->size && strcmp(hex, file->sha256) == 0 ? 0 : refuse_changed(p, file);
}

static int pack_file(struct packing *p, const struct mor_content_file *file)
{
	int fd, r = write_header(p, file);

	if (r < 0 || file->target)
		return r;
	if ((fd = mor_place_open(p->plugin->dir, file->path)) < 0)
		return mor_fail_errno(p->err, MORTISE_EINPUT, -fd, "%s", file->path);
	r = write_bytes(p, file, fd);
	mor_fd_close(&fd);
	return r;
}

int mor_bundle_pack(const struct mor_bundle_plugin *plugin, int out_fd, mortise_error *err)
{
	MOR_CLEAN(mor_locale) struct mor_locale locale = mor_locale_begin();
	MOR_CLEAN(packing) struct packing p = { .plugin = plugin, .err = err };
	int r = open_packing(&p, out_fd);

	(void)locale; /* until the end of the scope */
	for (size_t i = 0; r == 0 && i < plugin->content->count; i++)
		r = pack_file(&p, &plugin->content->files[i]);
	if (r == 0 && archive_write_close(p.to) != ARCHIVE_OK)
		r = fail_packing(&p);
	return r;
}
