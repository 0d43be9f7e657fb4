/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libarchive reads, src/kit/bundle/place.c writes: libarchive's own way to disk has options for many things
 * that a plugin does not need, and each would have to be turned off.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "bundle/locale_inside.h"
#include "bundle/place.h"
#include "content/names.h"
#include "content/nameset.h"

#define READ_BYTES  65536
#define RATIO_FROM  (UINT64_C(16) << 20)
#define SHOWN_BYTES 200

const struct mor_bundle_limits mor_bundle_default_limits = { .bytes = UINT64_C(512) << 20,
							     .files = 20000,
							     .ratio = 250 };

struct held_link {
	char *path, *target;
};

struct unpacking {
	struct archive *from;
	int into;
	struct mor_bundle_limits limits;
	uint64_t archive_bytes, written;
	uint32_t files, entries;
	struct mor_nameset *names;
	struct held_link *links; /* made last: nothing can be written through one */
	size_t link_count, link_cap;
	const char *path; /* of the present entry, clean */
	char shown[SHOWN_BYTES];
	mortise_error *err;
};

static int refuse_entry(struct unpacking *u, const char *why)
{
	return mor_fail(u->err, MORTISE_EINPUT, "\"%s\" %s", u->shown, why);
}

/* libarchive's own words, which may repeat bytes of the archive. */
static int refuse_damaged(struct unpacking *u)
{
	const char *text = archive_error_string(u->from);
	char why[SHOWN_BYTES];

	if (archive_errno(u->from) == ENOMEM)
		return mor_fail_memory(u->err);
	mor_content_name_show(mor_slice_trim(mor_slice_of(text ? text : "unknown"), " \n"), why, sizeof(why));
	if (!archive_format(u->from))
		return mor_fail(u->err, MORTISE_EINPUT, "is no tar, tar.gz, tar.zst or zip archive (%s)", why);
	if (!u->path)
		return mor_fail(u->err, MORTISE_EINPUT, "is damaged: %s", why);
	return mor_fail(u->err, MORTISE_EINPUT, "is damaged at \"%s\": %s", u->shown, why);
}

static int fail_writing(struct unpacking *u, int os_errno)
{
	if (os_errno == ENOMEM)
		return mor_fail_memory(u->err);
	return mor_fail_errno(u->err, MORTISE_ESYSTEM, os_errno, "\"%s\" cannot be written", u->shown);
}

/* ---- limits ---- */

/* Before `more` bytes are written. */
static int count_bytes(struct unpacking *u, uint64_t more)
{
	char limit[32];
	uint64_t sum;

	if (__builtin_add_overflow(u->written, more, &sum) || sum > u->limits.bytes)
		return mor_fail(u->err, MORTISE_EINPUT, "\"%s\" makes the plugin larger than %s", u->shown,
				mor_format_bytes(u->limits.bytes, limit));
	if (sum > RATIO_FROM && sum / u->limits.ratio > u->archive_bytes)
		return mor_fail(u->err, MORTISE_EINPUT,
				"\"%s\" unpacks to more than %u times the size of the archive", u->shown,
				u->limits.ratio);
	u->written = sum;
	return 0;
}

static int count_file(struct unpacking *u)
{
	if (u->files++ < u->limits.files)
		return 0;
	return mor_fail(u->err, MORTISE_EINPUT, "holds more than %u files", u->limits.files);
}

/* ---- entries ---- */

/* Bytes of a file: never a hole, never more or less than the entry says. */
static int copy_data(struct unpacking *u, struct archive_entry *entry, int fd)
{
	bool sized = archive_entry_size_is_set(entry);
	int64_t size = sized ? archive_entry_size(entry) : 0, done = 0;

	for (;;) {
		const void *block;
		size_t len;
		int64_t at;
		int r = archive_read_data_block(u->from, &block, &len, &at);

		if (r == ARCHIVE_EOF && sized && done != size)
			return mor_fail(u->err, MORTISE_EINPUT,
					"\"%s\" says it has %" PRId64 " bytes, and has %" PRId64, u->shown,
					size, done);
		if (r == ARCHIVE_EOF)
			return 0;
		if (r != ARCHIVE_OK)
			return refuse_damaged(u);
		if (len == 0)
			continue;
		if (at != done)
			return refuse_entry(u, "is a sparse file, and a plugin has none");
		if ((r = count_bytes(u, len)) < 0)
			return r;
		if ((r = mor_fd_write_all(fd, block, len)) < 0)
			return fail_writing(u, -r);
		done += (int64_t)len;
	}
}

static int take_file(struct unpacking *u, struct archive_entry *entry)
{
	int fd, r = count_file(u);

	if (r < 0)
		return r;
	if (archive_entry_sparse_count(entry) > 0)
		return refuse_entry(u, "is a sparse file, and a plugin has none");
	if (archive_entry_size_is_set(entry) &&
	    (archive_entry_size(entry) < 0 || (uint64_t)archive_entry_size(entry) > u->limits.bytes))
		return count_bytes(u, u->limits.bytes + 1);
	if ((fd = mor_place_file(u->into, u->path, archive_entry_perm(entry) & 0100)) < 0)
		return fail_writing(u, -fd);
	r = copy_data(u, entry, fd);
	if (close(fd) < 0 && r == 0) /* where a network's disk tells that it is full */
		r = fail_writing(u, errno);
	return r;
}

static int copy_file(struct unpacking *u, int from, int to)
{
	char block[READ_BYTES];

	for (;;) {
		ssize_t len = read(from, block, sizeof(block));
		int r;

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return len == 0 ? 0 : fail_writing(u, errno);
		if ((r = count_bytes(u, (uint64_t)len)) < 0)
			return r;
		if ((r = mor_fd_write_all(to, block, (size_t)len)) < 0)
			return fail_writing(u, -r);
	}
}

/* "./a//" and "a" are the same entry; what else is odd in a path is refused later. */
static char *clean_path(const char *path)
{
	size_t len;

	while (path[0] == '.' && path[1] == '/')
		for (path += 2; *path == '/';)
			path++;
	len = strlen(path);
	while (len > 1 && path[len - 1] == '/')
		len--;
	return mor_strndup(path, len);
}

/* A hard link becomes a copy: a file of the store must not change through another name. */
static int take_hard_link(struct unpacking *u, struct archive_entry *entry, const char *target)
{
	MOR_CLEAN_TEXT char *clean = clean_path(target);
	char shown[SHOWN_BYTES];
	struct stat st;
	int from, to, r = count_file(u);

	if (!clean)
		return mor_fail_memory(u->err);
	if (r < 0)
		return r;
	if (archive_entry_size(entry) > 0)
		return refuse_entry(u, "is a hard link with bytes of its own");
	from = mor_content_name_check(clean, NULL) < 0 ? -EXDEV : mor_place_open(u->into, clean);
	if (from < 0 || fstat(from, &st) < 0)
		return mor_fail(u->err, MORTISE_EINPUT,
				"\"%s\" is a hard link to \"%s\", which is no file before it in the archive",
				u->shown, mor_content_name_show(mor_slice_of(target), shown, sizeof(shown)));
	to = mor_place_file(u->into, u->path, st.st_mode & 0100);
	r = to < 0 ? fail_writing(u, -to) : copy_file(u, from, to);
	mor_fd_close(&from);
	mor_fd_close(&to);
	return r;
}

/* ---- links ---- */

static int refuse_link(struct unpacking *u, const struct held_link *link, const char *why)
{
	char path[SHOWN_BYTES], target[SHOWN_BYTES];

	return mor_fail(u->err, MORTISE_EINPUT, "\"%s\" is a link to \"%s\", %s",
			mor_content_name_show(mor_slice_of(link->path), path, sizeof(path)),
			mor_content_name_show(mor_slice_of(link->target), target, sizeof(target)), why);
}

/* The names in a link's target follow the rules for names, except that it may climb: where it leads is
 * looked at later. */
static bool target_is_clean(const char *target)
{
	if (!*target || strlen(target) > MOR_CONTENT_PATH_BYTES || strstr(target, " -> "))
		return false;
	for (;;) {
		struct mor_slice name = { target, strcspn(target, "/") };

		if (!mor_slice_is(name, "..") && !mor_slice_is(name, ".") &&
		    mor_content_name_check_slice(name, NULL) < 0)
			return false;
		if (!target[name.len])
			return true;
		target += name.len + 1;
	}
}

static int take_link(struct unpacking *u, const char *target)
{
	struct held_link link = { (char *)u->path, (char *)target };
	int r = count_file(u);

	if (r < 0)
		return r;
	if (target[0] == '/')
		return refuse_link(u, &link, "which leads out of the plugin");
	if (!target_is_clean(target))
		return refuse_link(u, &link, "which is not a name that a plugin may have");
	if (mor_grow(&u->links, u->link_count, &u->link_cap, sizeof(*u->links)) < 0)
		return mor_fail_memory(u->err);
	link = (struct held_link){ mor_strdup(u->path), mor_strdup(target) };
	u->links[u->link_count++] = link;
	return link.path && link.target ? 0 : mor_fail_memory(u->err);
}

static int make_links(struct unpacking *u)
{
	for (size_t i = 0; i < u->link_count; i++) {
		const struct held_link *link = &u->links[i];
		int r = mor_place_link(u->into, link->path, link->target);

		mor_content_name_show(mor_slice_of(link->path), u->shown, sizeof(u->shown));
		if (r < 0)
			return fail_writing(u, -r);
	}
	return 0;
}

/* The kernel follows them: a link that leads through another link to a directory can leave the tree although
 * its text does not. */
static int check_links(struct unpacking *u, const struct mor_place_top *top)
{
	size_t cut = top->name[0] ? strlen(top->name) + 1 : 0;

	for (size_t i = 0; i < u->link_count; i++) {
		const struct held_link *link = &u->links[i];
		int r = mor_place_follow(u->into, link->path + cut);

		if (r == -EXDEV)
			return refuse_link(u, link, "which leads out of the plugin");
		if (r == -ENOMEM)
			return mor_fail_memory(u->err);
		if (r < 0)
			return refuse_link(u, link,
					   r == -ELOOP ? "which leads to itself" : "which is not there");
	}
	return 0;
}

/* ---- the archive ---- */

static const char *kind_fault(struct archive_entry *entry)
{
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
	case AE_IFDIR:
	case AE_IFLNK:
		return NULL;
	case AE_IFCHR:
	case AE_IFBLK:
		return "is a device";
	case AE_IFIFO:
		return "is a pipe";
	case AE_IFSOCK:
		return "is a socket";
	default:
		return "is neither a file, a directory nor a link";
	}
}

static int take_named(struct unpacking *u, struct archive_entry *entry)
{
	const char *hard = archive_entry_hardlink_utf8(entry), *soft = archive_entry_symlink_utf8(entry);
	const char *why = kind_fault(entry);
	bool is_link = archive_entry_filetype(entry) == AE_IFLNK && !hard;
	bool is_dir = archive_entry_filetype(entry) == AE_IFDIR && !hard;
	int r;

	if (why && !hard)
		return refuse_entry(u, why);
	r = mor_nameset_add(u->names, u->path,
			    is_dir  ? MOR_NAMESET_DIR :
			    is_link ? MOR_NAMESET_LINK :
				      MOR_NAMESET_FILE,
			    u->err);
	if (r < 0)
		return r;
	if (archive_entry_is_encrypted(entry))
		return refuse_entry(u, "is encrypted");
	if (hard)
		return take_hard_link(u, entry, hard);
	if (is_link)
		return take_link(u, soft ? soft : "");
	if (!is_dir)
		return take_file(u, entry);
	if (archive_entry_size(entry) > 0) /* skipping them could take for ever */
		return refuse_entry(u, "is a directory with bytes of its own");
	r = mor_place_dir(u->into, u->path);
	return r < 0 ? fail_writing(u, -r) : 0;
}

/* The bytes as they are, if they are not what the archive's format says they are. */
static const char *raw_path(struct archive_entry *entry)
{
	const char *path = archive_entry_pathname_utf8(entry);

	if (!path)
		path = archive_entry_pathname(entry);
	return path ? path : "";
}

static int take_entry(struct unpacking *u, struct archive_entry *entry)
{
	const char *raw = raw_path(entry);
	MOR_CLEAN_TEXT char *path = clean_path(raw);
	int r;

	if (u->entries++ >= 3 * (uint64_t)u->limits.files)
		return mor_fail(u->err, MORTISE_EINPUT, "holds more than %u entries", 3 * u->limits.files);
	if (archive_filter_count(u->from) > 2) /* the last one is the file itself */
		return mor_fail(u->err, MORTISE_EINPUT, "is compressed more than once");
	if (!path)
		return mor_fail_memory(u->err);
	if ((*path == '\0' || strcmp(path, ".") == 0) && *raw && archive_entry_filetype(entry) == AE_IFDIR)
		return 0; /* "./" is the top */
	if ((r = mor_content_name_check(path, u->err)) < 0)
		return r;
	u->path = path;
	mor_content_name_show(mor_slice_of(path), u->shown, sizeof(u->shown));
	r = take_named(u, entry);
	u->path = NULL;
	return r;
}

static int take_all(struct unpacking *u)
{
	for (;;) {
		struct archive_entry *entry;
		int r = archive_read_next_header(u->from, &entry);

		if (r == ARCHIVE_EOF)
			break;
		if (r != ARCHIVE_OK && r != ARCHIVE_WARN)
			return archive_read_has_encrypted_entries(u->from) > 0 ?
				       mor_fail(u->err, MORTISE_EINPUT, "is encrypted") :
				       refuse_damaged(u);
		if ((r = take_entry(u, entry)) < 0)
			return r;
	}
	return u->files ? 0 : mor_fail(u->err, MORTISE_EINPUT, "holds no files");
}

static int open_archive(struct unpacking *u, int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || lseek(fd, 0, SEEK_SET) < 0)
		return mor_fail(u->err, MORTISE_EINPUT, "is not a file");
	u->archive_bytes = (uint64_t)st.st_size;
	u->from = archive_read_new();
	u->names = mor_nameset_new();
	if (!u->from || !u->names)
		return mor_fail_memory(u->err);
	/* A filter that libarchive was built without would be a program that it runs: that is a warning. */
	if (archive_read_support_filter_gzip(u->from) != ARCHIVE_OK ||
	    archive_read_support_filter_zstd(u->from) != ARCHIVE_OK ||
	    archive_read_support_format_tar(u->from) != ARCHIVE_OK ||
	    archive_read_support_format_zip_seekable(u->from) != ARCHIVE_OK)
		return mor_fail(u->err, MORTISE_ESYSTEM,
				"this libarchive cannot read tar, tar.gz, tar.zst and zip");
	return archive_read_open_fd(u->from, fd, READ_BYTES) == ARCHIVE_OK ? 0 : refuse_damaged(u);
}

static int unpack_all(struct unpacking *u, int fd, char *ret_top)
{
	struct mor_place_top top;
	int r = open_archive(u, fd);

	if (r < 0 || (r = take_all(u)) < 0 || (r = make_links(u)) < 0)
		return r;
	if ((r = mor_place_hoist(u->into, &top)) < 0)
		return fail_writing(u, -r);
	if (ret_top)
		memcpy(ret_top, top.name, MOR_BUNDLE_TOP);
	return check_links(u, &top);
}

static void unpacking_fini(struct unpacking *u)
{
	archive_read_free(u->from);
	mor_nameset_free(u->names);
	for (size_t i = 0; i < u->link_count; i++) {
		mor_free(u->links[i].path);
		mor_free(u->links[i].target);
	}
	mor_free(u->links);
}

int mor_bundle_unpack(int archive_fd, int into_dirfd, const struct mor_bundle_limits *limits,
		      char ret_top[MOR_BUNDLE_TOP], mortise_error *err)
{
	MOR_CLEAN(mor_locale) struct mor_locale locale = mor_locale_begin();
	MOR_CLEAN(unpacking)
	struct unpacking u = { .into = into_dirfd,
			       .limits = limits ? *limits : mor_bundle_default_limits,
			       .err = err };
	int r = unpack_all(&u, archive_fd, ret_top);

	(void)locale; /* until the end of the scope */
	if (r < 0)
		mor_place_clear(into_dirfd);
	return r;
}
