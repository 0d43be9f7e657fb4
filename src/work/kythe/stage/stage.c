/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs by digest, and trees of hard links to them. The paths of a unit are sorted first. Then equal paths
 * and "a file that is also a directory" are neighbours, and each directory is opened once.
 */
#include "kythe/stage/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/xdg.h"
#include "kythe/stage/blobs.h"
#include "kythe/stage/tree.h"

#define SPARE     ".spare" /* beside a stage: spare directories for its next unit */
#define NEW_STAGE 40

struct mor_stager {
	char *cache;    /* absolute */
	char owner[32]; /* the name of our directory below stages/ */
	int all_stages;
	int stages; /* our directory; its lock says that we live */
	struct mor_blobs blobs;
	unsigned next;
	uint64_t linked;
};

/* ---- the stager ---- */

/*
 * A stager's directory below stages/ is locked while it lives. A process id would not be enough: ids are used
 * again, and mean another process in a container that shares the cache. Directories that nobody has locked were
 * left by a run that was killed.
 */
static void remove_orphans(int all_stages)
{
	DIR *dir = fdopendir(fcntl(all_stages, F_DUPFD_CLOEXEC, 0));
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd = entry->d_name[0] == '.' ? -1 :
						   openat(all_stages, entry->d_name,
							  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			mor_dir_remove_all(all_stages, entry->d_name);
		mor_fd_close(&fd);
	}
	if (dir)
		closedir(dir);
}

/* Locks the directory that was just made. false: another process that removes orphans was faster. */
static bool lock_own(const struct mor_stager *stager)
{
	struct stat now, mine;

	return flock(stager->stages, LOCK_EX | LOCK_NB) == 0 && fstat(stager->stages, &mine) == 0 &&
	       fstatat(stager->all_stages, stager->owner, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_ino == mine.st_ino;
}

static int make_owner(struct mor_stager *stager)
{
	for (unsigned n = 0; n < 100000; n++) {
		snprintf(stager->owner, sizeof(stager->owner), "%d.%u", (int)getpid(), n);
		int r = mor_dir_make(stager->all_stages, stager->owner, 0700);

		/* ENOENT: another run took it for an orphan before we could lock it */
		if (r == -EEXIST || r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		stager->stages = openat(stager->all_stages, stager->owner,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (stager->stages >= 0 && lock_own(stager))
			return 0;
		mor_fd_close(&stager->stages);
	}
	return -EEXIST;
}

/* With this flag ext4 puts each new directory in another place on the disk, and its files nearby. Without a
 * journal ext4 steps over every recently deleted inode nearby for each new file: after a build or an earlier
 * run, that is most of the cost of a new cache. Other file systems do not need this flag, or do not know it. */
static void keep_apart(int dir)
{
	int flags = 0;

	if (ioctl(dir, FS_IOC_GETFLAGS, &flags) == 0 && !(flags & FS_TOPDIR_FL)) {
		flags |= FS_TOPDIR_FL;
		(void)ioctl(dir, FS_IOC_SETFLAGS, &flags);
	}
}

static int open_cache(struct mor_stager *stager, const char *cache)
{
	int top = -1;
	int r = mor_dir_make_all(AT_FDCWD, cache, 0700);

	if (r < 0)
		return r;
	stager->cache = realpath(cache, NULL);
	if (!stager->cache)
		return -errno;
	if ((top = open(stager->cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return -errno;
	stager->blobs.dir = mor_dir_make_open(top, "blobs", 0700, O_RDONLY, NULL);
	stager->all_stages = mor_dir_make_open(top, "stages", 0700, O_RDONLY, NULL);
	mor_fd_close(&top);
	if (stager->blobs.dir < 0 || stager->all_stages < 0)
		return stager->blobs.dir < 0 ? stager->blobs.dir : stager->all_stages;
	keep_apart(stager->all_stages); /* contents are also made there */
	remove_orphans(stager->all_stages);
	r = make_owner(stager);
	stager->blobs.work = stager->stages;
	stager->blobs.place = stager->cache;
	return r;
}

int mor_stager_new(const char *cache, struct mor_stager **ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *own = NULL;
	struct mor_stager *stager = mor_zalloc(sizeof(*stager));
	int r;

	if (!cache && mor_xdg_path(MOR_XDG_CACHE, NULL, &own, "mortise/kythe") == MORTISE_ENOTFOUND)
		own = mor_text_format("/tmp/mortise-kythe-%u", (unsigned)getuid()); /* a user without a home */
	cache = cache ? cache : own;
	if (!stager || !cache) {
		mor_free(stager);
		return mor_fail_memory(err);
	}
	stager->blobs.dir = stager->stages = stager->all_stages = -1;
	if ((r = open_cache(stager, cache)) < 0) {
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
		/* stages that were not dropped stay */
		unlinkat(stager->all_stages, stager->owner, AT_REMOVEDIR);
	mor_blobs_fini(&stager->blobs);
	mor_fd_close(&stager->blobs.dir);
	mor_fd_close(&stager->stages);
	mor_fd_close(&stager->all_stages);
	free(stager->cache);
	return mor_free(stager);
}

const char *mor_stager_path(const struct mor_stager *stager)
{
	return stager->cache;
}

struct mor_stager_stats mor_stager_stats(const struct mor_stager *stager)
{
	const struct mor_blobs *blobs = &stager->blobs;

	return (struct mor_stager_stats){ .written = blobs->written,
					  .written_bytes = blobs->written_bytes,
					  .mended = blobs->mended,
					  .linked = stager->linked };
}

/* ---- contents ---- */

static int fail_lacking(const struct mor_stage_item *item, mortise_error *err)
{
	return mor_fail(err, MORTISE_EINPUT, "%s: the archive lacks its content (digest %.64s)", item->spelled,
			item->digest);
}

static int ensure_blob(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_stage_item *item,
		       mortise_error *err)
{
	size_t number;
	int r;

	if (!mor_digest_valid(item->digest) || !mor_kzip_file_find(kzip, item->digest, &number))
		return fail_lacking(item, err);
	r = mor_blobs_ensure(&stager->blobs, kzip, number, err);
	return r == MORTISE_EINPUT ? mor_fail_prefix(err, item->spelled) : r;
}

/* ---- from one unit to the next ---- */

/* Both lists are sorted. What only the old one has, or has with another content, is `gone`. */
static void mark_changes(const struct mor_stage_items *old, const struct mor_stage_items *now, bool *gone,
			 bool *fresh)
{
	size_t o = 0, n = 0;

	while (o < old->count || n < now->count) {
		int order = o == old->count ? 1 :
			    n == now->count ? -1 :
					      mor_stage_items_compare(&old->at[o], &now->at[n]);
		bool same = order == 0 && strcmp(old->at[o].digest, now->at[n].digest) == 0;

		if (order >= 0)
			fresh[n] = !same;
		if (order <= 0)
			gone[o++] = !same;
		n += order >= 0;
	}
}

/* The file is there with the right bytes, but a record must not depend on earlier records: its own archive
 * must have the bytes too, or it fails. */
static int check_kept(const struct mor_kzip *kzip, const struct mor_stage_items *now, const bool *fresh,
		      mortise_error *err)
{
	size_t number;

	for (size_t i = 0; i < now->count; i++)
		if (!fresh[i] && !mor_stage_item_is_dir(&now->at[i]) &&
		    !mor_kzip_file_find(kzip, now->at[i].digest, &number))
			return fail_lacking(&now->at[i], err);
	return 0;
}

static int put_fresh(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_stage_items *now,
		     const bool *fresh, struct mor_stage_tree *tree, mortise_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < now->count; i++) {
		const struct mor_stage_item *item = &now->at[i];
		int error;

		if (!fresh[i])
			continue;
		r = mor_stage_item_is_dir(item) ? 0 : ensure_blob(stager, kzip, item, err);
		error = r < 0 ? 0 : mor_stage_tree_put(tree, item);
		if (error < 0)
			r = mor_fail_errno(err, error == -ENAMETOOLONG ? MORTISE_EINPUT : MORTISE_ESYSTEM,
					   -error, "staging %.200s", item->spelled);
		stager->linked += r == 0 && !mor_stage_item_is_dir(item);
	}
	return r;
}

/* The working directory must exist, even if no file of the record lies in it. */
static int make_working_dir(struct mor_stage_tree *tree, const char *working_dir, mortise_error *err)
{
	int r = mor_stage_tree_make_dir(tree, working_dir + strspn(working_dir, "/"));

	return r < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "staging the working directory %.200s",
				      working_dir) :
		       0;
}

static int change_tree(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_stage_items *old,
		       const struct mor_stage_items *now, struct mor_stage_tree *tree, mortise_error *err)
{
	/* of the old items; then which new ones must be made */
	bool *gone = mor_zalloc(old->count + now->count + 1);
	bool *fresh;
	int r;

	if (!gone)
		return mor_fail_memory(err);
	fresh = gone + old->count;
	mark_changes(old, now, gone, fresh);
	/* A directory may become a file, so old items are removed before new ones are made. */
	mor_stage_tree_clear(tree, old, now, gone);
	r = old->kzip == kzip ? 0 : check_kept(kzip, now, fresh, err);
	r = r ? r : put_fresh(stager, kzip, now, fresh, tree, err);
	if (r == 0 && (!old->working_dir || strcmp(old->working_dir, now->working_dir) != 0))
		r = make_working_dir(tree, now->working_dir, err);
	mor_free(gone);
	return r;
}

static char *format_path(const struct mor_stager *stager, unsigned number)
{
	return mor_text_format("%s/stages/%s/%u", stager->cache, stager->owner, number);
}

static int make_tree(struct mor_stager *stager, struct mor_stage *stage, mortise_error *err)
{
	stage->path = format_path(stager, stager->next++);
	if (!stage->path)
		return mor_fail_memory(err);
	/* chmod, because mkdir() obeys the umask. */
	if (mkdir(stage->path, 0700) < 0 || chmod(stage->path, 0755) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", stage->path);
	return 0;
}

static int open_tree(struct mor_stager *stager, struct mor_stage *stage, struct mor_stage_tree *ret,
		     mortise_error *err)
{
	int r = stage->path ? 0 : make_tree(stager, stage, err);
	const char *name = r < 0 ? NULL : strrchr(stage->path, '/') + 1;
	int root = r < 0 ? -1 : openat(stager->stages, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (root < 0)
		return r < 0 ? r : mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", stage->path);
	mor_stage_tree_init(ret, root, stager->blobs.dir);
	ret->parent = stager->stages;
	snprintf(ret->spare_name, sizeof(ret->spare_name), "%.20s" SPARE, name);
	ret->spare_count = &stage->spares;
	return 0;
}

static int fit_tree(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_stage_items *now,
		    struct mor_stage *stage, mortise_error *err)
{
	static const struct mor_stage_items nothing = { 0 };
	struct mor_stage_tree tree;
	int r = open_tree(stager, stage, &tree, err);

	if (r < 0)
		return r;
	r = change_tree(stager, kzip, stage->items ? stage->items : &nothing, now, &tree, err);
	mor_stage_tree_fini(&tree);
	mor_fd_close(&tree.root);
	return r;
}

static int describe_stage(struct mor_stage *stage, const struct mor_stage_items *now, enum mor_stage_mode mode,
			  mortise_error *err)
{
	const char *below = now->working_dir[1] ? now->working_dir : ""; /* "/" adds nothing */

	mor_free(stage->working_dir);
	stage->working_dir = mode == MOR_STAGE_DIR ? mor_text_format("%s%s", stage->path, below) :
						     mor_strdup(now->working_dir);
	mor_free(stage->directories);
	stage->directories = mor_stage_items_directories(now);
	return stage->working_dir && stage->directories ? 0 : mor_fail_memory(err);
}

/* Takes the items. */
static int fit_items(struct mor_stager *stager, struct mor_kzip *kzip, struct mor_stage_items *now,
		     enum mor_stage_mode mode, struct mor_stage *stage, mortise_error *err)
{
	int r = fit_tree(stager, kzip, now, stage, err);

	r = r ? r : describe_stage(stage, now, mode, err);
	if (r < 0) {
		mor_stage_items_free(now);
		mor_stage_drop(stager, stage);
		return r;
	}
	now->kzip = kzip;
	mor_stage_items_free(stage->items);
	stage->items = now;
	return 0;
}

/* A stage that does not exist yet counts like one that differs in NEW_STAGE files. */
static unsigned choose_stage(const struct mor_stage *stages, unsigned count, unsigned shown,
			     const struct mor_stage_items *items)
{
	unsigned best = shown, least = UINT_MAX;

	for (unsigned i = 0; i < count; i++) {
		unsigned distance =
			stages[i].items ? mor_stage_items_distance(stages[i].items, items) : NEW_STAGE;

		if (i == shown || distance >= least)
			continue;
		best = i;
		least = distance;
	}
	return best;
}

int mor_stage_fit_nearest(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_unit *unit,
			  enum mor_stage_mode mode, struct mor_stage *stages, unsigned count, unsigned *shown,
			  mortise_error *err)
{
	struct mor_stage_items *now = NULL;
	int r = mor_stage_items_list(unit, mode, &now, err);
	unsigned chosen;

	if (r < 0) {
		mor_stage_items_free(now);
		return r;
	}
	chosen = *shown;
	if (!stages[chosen].items || !mor_stage_items_equal(stages[chosen].items, now))
		chosen = choose_stage(stages, count, *shown, now);
	r = fit_items(stager, kzip, now, mode, &stages[chosen], err);
	if (r == 0)
		*shown = chosen;
	return r;
}

int mor_stage_dir(struct mor_stager *stager, char **ret_path, mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = format_path(stager, stager->next++);
	int r = path ? mor_dir_make(AT_FDCWD, path, 0700) : -ENOMEM;

	if (r < 0)
		return path ? mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", path) : mor_fail_memory(err);
	*ret_path = mor_take(&path);
	return 0;
}

void mor_stage_drop(struct mor_stager *stager, struct mor_stage *stage)
{
	const char *name = stage->path ? strrchr(stage->path, '/') + 1 : NULL;
	char spare[32];

	if (name) {
		snprintf(spare, sizeof(spare), "%.20s" SPARE, name);
		mor_dir_remove_all(stager->stages, name);
		mor_dir_remove_all(stager->stages, spare);
	}
	mor_free(stage->path);
	mor_free(stage->working_dir);
	mor_free(stage->directories);
	mor_stage_items_free(stage->items);
	*stage = (struct mor_stage){ 0 };
}
