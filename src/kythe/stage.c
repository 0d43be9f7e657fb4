/*
 * Blobs by digest, trees of hard links to them. The paths of a unit are sorted before anything is made: equal paths and
 * "a file that is also a directory" are then neighbours, and the walk opens each directory once.
 */
#include "kythe/stage.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "kythe/digest.h"
#include "kythe/path.h"
#include "kythe/stage_items.h"
#include "kythe/stage_own.h"

struct mor_stager {
	char *cache; /* absolute */
	char owner[32]; /* the name of our directory below stages/ */
	int blobs, all_stages;
	int stages; /* ours; its lock says that we live */
	unsigned next;
	struct mor_stager_stats stats;
};

/* ---- the stager ---- */

static int make_dir_at(int dir, const char *name, int *ret_fd)
{
	if (mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	*ret_fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

static int make_parents(const char *path)
{
	char *copy = mor_strdup(path);
	int r = 0;

	if (!copy)
		return -ENOMEM;
	for (char *slash = strchr(copy + 1, '/'); slash && r == 0; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			r = -errno;
		*slash = '/';
	}
	if (r == 0 && mkdir(copy, 0700) < 0 && errno != EEXIST)
		r = -errno;
	mor_free(copy);
	return r;
}

static int make_owner(struct mor_stager *stager)
{
	for (unsigned n = 0; n < 100000; n++) {
		snprintf(stager->owner, sizeof(stager->owner), "%d.%u", (int)getpid(), n);
		if (mkdirat(stager->all_stages, stager->owner, 0700) < 0) {
			if (errno != EEXIST)
				return -errno;
			continue;
		}
		stager->stages = openat(stager->all_stages, stager->owner, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (stager->stages >= 0 && mor_is_own_dir(stager->all_stages, stager->owner, stager->stages))
			return 0;
		mor_fd_close(&stager->stages);
	}
	return -EEXIST;
}

static int open_cache(struct mor_stager *stager, const char *cache)
{
	int top = -1;
	int r = make_parents(cache);

	if (r < 0)
		return r;
	stager->cache = realpath(cache, NULL);
	if (!stager->cache)
		return -errno;
	top = open(stager->cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	r = make_dir_at(top, "blobs", &stager->blobs);
	if (r == 0)
		r = make_dir_at(top, "stages", &stager->all_stages);
	mor_fd_close(&top);
	if (r < 0)
		return r;
	mor_remove_orphans(stager->all_stages);
	return make_owner(stager);
}

int mor_stager_new(const char *cache, struct mor_stager **ret, mortise_error *err)
{
	struct mor_stager *stager = mor_zalloc(sizeof(*stager));
	int r;

	if (!stager)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	stager->blobs = stager->stages = stager->all_stages = -1;
	r = open_cache(stager, cache);
	if (r < 0) {
		mor_fail_errno(err, MORTISE_ESYSTEM, -r, "cache %s", cache);
		mor_stager_free(stager);
		return MORTISE_ESYSTEM;
	}
	*ret = stager;
	return 0;
}

struct mor_stager *mor_stager_free(struct mor_stager *stager)
{
	if (!stager)
		return NULL;
	if (stager->stages >= 0)
		unlinkat(stager->all_stages, stager->owner, AT_REMOVEDIR); /* stages that were not dropped stay */
	mor_fd_close(&stager->blobs);
	mor_fd_close(&stager->stages);
	mor_fd_close(&stager->all_stages);
	free(stager->cache);
	mor_free(stager);
	return NULL;
}

const char *mor_stager_path(const struct mor_stager *stager)
{
	return stager->cache;
}

struct mor_stager_stats mor_stager_stats(const struct mor_stager *stager)
{
	return stager->stats;
}

/* ---- blobs ---- */

static void blob_name(const char *digest, char out[72])
{
	snprintf(out, 72, "%.2s/%.64s", digest, digest);
}

static int write_piece(const void *bytes, size_t len, void *arg)
{
	return mor_fd_write_all(*(int *)arg, bytes, len) < 0 ? MORTISE_ESYSTEM : 0;
}

/* In our own directory until its bytes are known to be right; of two that write the same blob, either may win. */
static int write_blob(struct mor_stager *stager, struct mor_kzip *kzip, const char *digest, mortise_error *err)
{
	char name[72], dir[3] = { digest[0], digest[1], 0 }, temporary[40];
	struct stat st = { 0 };
	int fd, r;

	blob_name(digest, name);
	snprintf(temporary, sizeof(temporary), "blob.%u", stager->next++);
	fd = openat(stager->stages, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (fd < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s/stages/%s/%s", stager->cache, stager->owner, temporary);
	r = mor_kzip_file_read(kzip, digest, write_piece, &fd, err);
	/* A constant time: what an analyzer sees must not depend on when it was staged. */
	if (r == 0 && (fchmod(fd, 0444) < 0 || futimens(fd, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }) < 0 || fstat(fd, &st) < 0))
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s/stages/%s/%s", stager->cache, stager->owner, temporary);
	mor_fd_close(&fd);
	if (r == 0 && mkdirat(stager->blobs, dir, 0700) < 0 && errno != EEXIST)
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s/blobs/%s", stager->cache, dir);
	if (r == 0 && renameat(stager->stages, temporary, stager->blobs, name) < 0)
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s/blobs/%s", stager->cache, name);
	if (r < 0) {
		unlinkat(stager->stages, temporary, 0);
		return r;
	}
	stager->stats.written++;
	stager->stats.written_bytes += (uint64_t)st.st_size;
	return 0;
}

/* Ours are read-only, of the size that the archive tells, and have our time: what is not was touched by somebody. */
static bool blob_is_there(const struct mor_stager *stager, const char *name, uint64_t size)
{
	struct stat st;

	return fstatat(stager->blobs, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_mode & 0777) == 0444 && st.st_mtim.tv_sec == 1 && st.st_mtim.tv_nsec == 0 && (uint64_t)st.st_size == size;
}

static int fail_lacking(const struct mor_item *item, mortise_error *err)
{
	return mor_fail(err, MORTISE_EINPUT, "%s: the archive lacks its content (digest %.64s)", item->spelled, item->digest);
}

static int ensure_blob(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_item *item, mortise_error *err)
{
	char name[72];
	size_t number;
	int r;

	if (!mor_digest_valid(item->digest) || !mor_kzip_file_find(kzip, item->digest, &number))
		return fail_lacking(item, err);
	blob_name(item->digest, name);
	if (blob_is_there(stager, name, mor_kzip_file_size(kzip, number)))
		return 0;
	r = write_blob(stager, kzip, item->digest, err);
	return r == MORTISE_EINPUT ? mor_fail_prefix(err, item->spelled) : r;
}

/* ---- trees ---- */

#define WALK_DEPTH 64

/* The directories on the way to the file that was put last. Files come sorted: the next one shares most of the way. */
struct walk {
	const char *path; /* of that file; the first `len` bytes are its directory */
	size_t len;
	int fds[WALK_DEPTH + 1]; /* [0] is the tree's root, which is not ours to close */
	size_t ends[WALK_DEPTH + 1]; /* where in `path` each of them ends */
	unsigned depth;
};

static void walk_back(struct walk *walk, unsigned depth)
{
	while (walk->depth > depth)
		mor_fd_close(&walk->fds[walk->depth--]);
}

static int step_into(struct walk *walk, const char *name)
{
	int dir = walk->fds[walk->depth];
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		int r = make_dir_at(dir, name, &fd);

		if (r < 0)
			return r;
		fchmod(fd, 0755); /* whatever the umask says: it may be another user who looks */
	}
	if (fd < 0)
		return -errno;
	if (walk->depth == WALK_DEPTH) /* deeper ones take turns in the last place */
		walk_back(walk, WALK_DEPTH - 1);
	walk->fds[++walk->depth] = fd;
	return 0;
}

/* Makes and enters the directory that is the first `len` bytes of `path`. */
static int enter_dir(struct walk *walk, const char *path, size_t len)
{
	size_t at;

	while (walk->depth && (walk->ends[walk->depth] > len || memcmp(walk->path, path, walk->ends[walk->depth]) != 0 ||
			       (walk->ends[walk->depth] < len && path[walk->ends[walk->depth]] != '/')))
		walk_back(walk, walk->depth - 1);
	at = walk->depth ? walk->ends[walk->depth] + 1 : 0;
	walk->path = path;
	walk->len = len;
	while (at < len) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t end = slash ? (size_t)(slash - path) : len;
		char name[NAME_MAX + 1];
		int r;

		if (end - at > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path + at, end - at);
		name[end - at] = '\0';
		r = step_into(walk, name);
		if (r < 0)
			return r;
		walk->ends[walk->depth] = end;
		at = end + 1;
	}
	return 0;
}

static int copy_blob(struct mor_stager *stager, const char *name, int dir, const char *to)
{
	int from = openat(stager->blobs, name, O_RDONLY | O_CLOEXEC), fd = -1, r = 0;
	char buffer[65536];
	ssize_t n = 0;

	if (from >= 0)
		fd = openat(dir, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (from < 0 || fd < 0)
		r = -errno;
	while (r == 0 && (n = read(from, buffer, sizeof(buffer))) > 0)
		r = mor_fd_write_all(fd, buffer, (size_t)n);
	if (r == 0 && (n < 0 || fchmod(fd, 0444) < 0 || futimens(fd, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }) < 0))
		r = -errno;
	mor_fd_close(&from);
	mor_fd_close(&fd);
	return r;
}

static int put_item(struct mor_stager *stager, struct walk *walk, const struct mor_item *item)
{
	const char *slash = strrchr(item->path, '/');
	const char *leaf = slash ? slash + 1 : item->path;
	size_t len = slash ? (size_t)(slash - item->path) : 0;
	char name[72];
	int r = enter_dir(walk, item->path, mor_item_is_dir(item) ? strlen(item->path) : len);

	if (r < 0 || mor_item_is_dir(item))
		return r;
	blob_name(item->digest, name);
	stager->stats.linked++;
	if (linkat(stager->blobs, name, walk->fds[walk->depth], leaf, 0) == 0)
		return 0;
	/* 65,000 links are all that some file systems give one file. */
	return errno == EMLINK ? copy_blob(stager, name, walk->fds[walk->depth], leaf) : -errno;
}

static int fail_item(const struct mor_item *item, int error, mortise_error *err)
{
	int code = error == -ENAMETOOLONG ? MORTISE_EINPUT : MORTISE_ESYSTEM;

	return mor_fail_errno(err, code, -error, "staging %.200s", item->spelled);
}

/* ---- from one unit to the next ---- */

static bool same_dir(const char *a, const char *b)
{
	const char *end = strrchr(a, '/'), *other = strrchr(b, '/');

	return end && other && end - a == other - b && memcmp(a, b, (size_t)(end - a)) == 0;
}

/* Directories that nothing lies in any more go, from the inside out. The kernel knows which those are. */
static void prune(int root, const char *path)
{
	char *copy = mor_strdup(path);
	char *slash;

	while (copy && (slash = strrchr(copy, '/'))) {
		*slash = '\0';
		if (unlinkat(root, copy, AT_REMOVEDIR) < 0)
			break;
	}
	mor_free(copy);
}

/* Both lists are sorted. What the old one alone has, or has with another content, is `gone`. */
static void mark_changes(const struct mor_items *old, const struct mor_items *now, bool *gone, bool *fresh)
{
	size_t o = 0, n = 0;

	while (o < old->count || n < now->count) {
		int order = o == old->count ? 1 : n == now->count ? -1 : mor_items_compare(&old->at[o], &now->at[n]);
		bool same = order == 0 && strcmp(old->at[o].digest, now->at[n].digest) == 0;

		if (order >= 0)
			fresh[n] = !same || mor_item_is_dir(&now->at[n]); /* it may go with what lay in it */
		if (order <= 0)
			gone[o++] = !same;
		n += order >= 0;
	}
}

/* What lies there already has the right bytes, but a record must not depend on what came before it: its own archive has them,
 * or it fails. */
static int check_kept(const struct mor_kzip *kzip, const struct mor_items *now, const bool *fresh, mortise_error *err)
{
	size_t number;

	for (size_t i = 0; i < now->count; i++)
		if (!fresh[i] && !mor_kzip_file_find(kzip, now->at[i].digest, &number))
			return fail_lacking(&now->at[i], err);
	return 0;
}

static int put_fresh(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_items *now, const bool *fresh, int root,
		     mortise_error *err)
{
	struct walk walk = { .fds = { root } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < now->count; i++) {
		int error;

		if (!fresh[i])
			continue;
		r = mor_item_is_dir(&now->at[i]) ? 0 : ensure_blob(stager, kzip, &now->at[i], err);
		error = r < 0 ? 0 : put_item(stager, &walk, &now->at[i]);
		if (error < 0)
			r = fail_item(&now->at[i], error, err);
	}
	walk_back(&walk, 0);
	return r;
}

/* A working directory that no file of the record implies must be there, too. */
static int make_working_dir(int root, const char *working_dir, mortise_error *err)
{
	struct walk walk = { .fds = { root } };
	const char *relative = working_dir + strspn(working_dir, "/");
	int r = enter_dir(&walk, relative, strlen(relative));

	walk_back(&walk, 0);
	return r < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "staging the working directory %.200s", working_dir) : 0;
}

static int change_tree(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_items *old, const struct mor_items *now,
		       int root, mortise_error *err)
{
	bool *gone = mor_zalloc(old->count + now->count + 1); /* of the old ones, then which of the new are fresh */
	const char *last = NULL;
	bool *fresh, moved = !old->working_dir || strcmp(old->working_dir, now->working_dir) != 0;
	int r;

	if (!gone)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	fresh = gone + old->count;
	mark_changes(old, now, gone, fresh);
	for (size_t i = 0; i < old->count; i++)
		if (gone[i])
			unlinkat(root, old->at[i].path, mor_item_is_dir(&old->at[i]) ? AT_REMOVEDIR : 0);
	/* What was a directory may be a file now: empty ones go before anything is made. */
	for (size_t i = 0; i < old->count; i++)
		if (gone[i] && (!last || !same_dir(last, old->at[i].path)))
			prune(root, last = old->at[i].path);
	if (moved && old->working_dir) {
		unlinkat(root, old->working_dir + 1, AT_REMOVEDIR);
		prune(root, old->working_dir + 1);
	}
	r = old->kzip == kzip ? 0 : check_kept(kzip, now, fresh, err);
	if (r == 0)
		r = put_fresh(stager, kzip, now, fresh, root, err);
	mor_free(gone);
	return r < 0 ? r : make_working_dir(root, now->working_dir, err);
}

static char *format_path(const struct mor_stager *stager, unsigned number)
{
	struct mor_buf path = MOR_BUF_INIT;

	mor_buf_printf(&path, "%s/stages/%s/%u", stager->cache, stager->owner, number);
	return mor_buf_detach(&path);
}

static int open_tree(struct mor_stager *stager, struct mor_stage *stage, int *ret_root, mortise_error *err)
{
	int r;

	if (!stage->path)
		stage->path = format_path(stager, stager->next++);
	if (!stage->path)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	r = make_dir_at(stager->stages, strrchr(stage->path, '/') + 1, ret_root);
	if (r < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", stage->path);
	fchmod(*ret_root, 0755);
	return 0;
}

static int set_working_dir(struct mor_stage *stage, const struct mor_items *now, enum mor_stage_mode mode, mortise_error *err)
{
	mor_free(stage->working_dir);
	stage->working_dir = mor_strdup(mode == MOR_STAGE_DIR ? stage->path : now->working_dir);
	return stage->working_dir ? 0 : mor_fail(err, MORTISE_ENOMEM, "out of memory");
}

int mor_stage_fit(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_unit *unit, enum mor_stage_mode mode,
		  struct mor_stage *stage, mortise_error *err)
{
	static const struct mor_items nothing = { 0 };
	struct mor_items *now = NULL;
	int root = -1;
	int r = mor_items_list(unit, mode, &now, err);

	if (r == 0)
		r = open_tree(stager, stage, &root, err);
	if (r == 0)
		r = change_tree(stager, kzip, stage->items ? stage->items : &nothing, now, root, err);
	mor_fd_close(&root);
	if (r == 0)
		r = set_working_dir(stage, now, mode, err);
	if (r < 0) {
		mor_items_free(now);
		mor_stage_drop(stager, stage);
		return r;
	}
	now->kzip = kzip;
	mor_items_free(stage->items);
	stage->items = now;
	return 0;
}

int mor_stage_dir(struct mor_stager *stager, char **ret_path, mortise_error *err)
{
	char *path = format_path(stager, stager->next++);

	if (!path)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	if (mkdir(path, 0700) < 0) {
		mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", path);
		mor_free(path);
		return MORTISE_ESYSTEM;
	}
	*ret_path = path;
	return 0;
}

void mor_stage_drop(struct mor_stager *stager, struct mor_stage *stage)
{
	if (stage->path)
		mor_remove_tree_at(stager->stages, strrchr(stage->path, '/') + 1);
	mor_free(stage->path);
	mor_free(stage->working_dir);
	mor_items_free(stage->items);
	*stage = (struct mor_stage){ 0 };
}
