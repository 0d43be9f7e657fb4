/* SPDX-License-Identifier: Apache-2.0 */
/*
 * We give the kernel one path element at a time, relative to descriptors, so that a path cannot lead to
 * another place. Directories that a unit no longer needs are removed from the inside out. The order of the
 * items makes that easy: what lies below a directory follows it.
 */
#include "kythe/stage/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/search.h"

#define SPARES 64

void mor_stage_tree_init(struct mor_stage_tree *tree, int root, int blobs)
{
	*tree = (struct mor_stage_tree){
		.root = root, .blobs = blobs, .parent = -1, .spare = -1, .fds = { root }
	};
}

static void walk_back(struct mor_stage_tree *tree, unsigned depth)
{
	while (tree->depth > depth)
		mor_fd_close(&tree->fds[tree->depth--]);
}

void mor_stage_tree_fini(struct mor_stage_tree *tree)
{
	walk_back(tree, 0);
	mor_fd_close(&tree->spare);
}

/* ---- spare directories ---- */

static bool open_spare(struct mor_stage_tree *tree)
{
	if (tree->spare < 0 && tree->parent >= 0)
		tree->spare = mor_dir_make_open(tree->parent, tree->spare_name, 0700, O_RDONLY, NULL);
	return tree->spare >= 0;
}

static bool keep_spare(struct mor_stage_tree *tree, const char *path)
{
	char name[16];

	if (*tree->spare_count >= SPARES)
		return false;
	snprintf(name, sizeof(name), "%u", *tree->spare_count);
	if (renameat2(tree->root, path, tree->spare, name, RENAME_NOREPLACE) < 0)
		return false;
	++*tree->spare_count;
	return true;
}

/* An analyzer that finds the stage could have put a file into it. */
static bool is_empty(int fd)
{
	_Alignas(struct dirent64) char buffer[1024];
	ssize_t n;

	while ((n = getdents64(fd, buffer, sizeof(buffer))) > 0)
		for (ssize_t at = 0; at < n; at += ((struct dirent64 *)(void *)(buffer + at))->d_reclen) {
			const char *name = ((struct dirent64 *)(void *)(buffer + at))->d_name;

			if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
				return false;
		}
	return n == 0;
}

/* The descriptor of a spare directory, or -1: no spare one is left. */
static int take_spare(struct mor_stage_tree *tree, int dir, const char *to)
{
	while (tree->spare_count && *tree->spare_count && open_spare(tree)) {
		char name[16];
		int fd;

		snprintf(name, sizeof(name), "%u", --*tree->spare_count);
		fd = openat(tree->spare, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && is_empty(fd) && renameat(tree->spare, name, dir, to) == 0)
			return fd;
		mor_fd_close(&fd);
		mor_dir_remove_all(tree->spare, name);
	}
	return -1;
}

/* ---- removing ---- */

/* The common directory of both, as a part of their paths. */
static size_t shared_dir(const struct mor_stage_item *a, const struct mor_stage_item *b)
{
	size_t a_len = mor_stage_item_dir_len(a), b_len = mor_stage_item_dir_len(b), shared = 0;

	for (size_t i = 0;; i++) {
		bool a_ends = i == a_len || (i < a_len && a->path[i] == '/'),
		     b_ends = i == b_len || (i < b_len && b->path[i] == '/');

		if (a_ends && b_ends)
			shared = i;
		if (i >= a_len || i >= b_len || a->path[i] != b->path[i])
			return shared;
	}
}

/* Is it a directory of these items? What lies in one follows it directly. */
static bool is_needed(const struct mor_stage_items *items, const char *dir)
{
	struct mor_stage_item key = { .path = (char *)(uintptr_t)dir };
	size_t at = mor_lower_bound(&key, items->at, items->count, sizeof(key), mor_stage_items_compare);

	if (at < items->count && mor_path_is_within(items->at[at].path, dir, strlen(dir)))
		return mor_stage_item_is_dir(&items->at[at]) || strcmp(items->at[at].path, dir) != 0;
	return mor_path_is_within(items->working_dir + 1, dir, strlen(dir));
}

static bool remove_dir(struct mor_stage_tree *tree, const char *path)
{
	if (tree->spare_count && open_spare(tree) && keep_spare(tree, path))
		return true;
	return unlinkat(tree->root, path, AT_REMOVEDIR) == 0;
}

/* Removes the directories of the item that no earlier item lies in. Later items are already removed. */
static void prune(struct mor_stage_tree *tree, const struct mor_stage_items *old, size_t number,
		  const struct mor_stage_items *now)
{
	const struct mor_stage_item *item = &old->at[number];
	size_t len = mor_stage_item_dir_len(item), shared = number ? shared_dir(&old->at[number - 1], item) : 0;
	char path[PATH_MAX];

	memcpy(path, item->path, len);
	while (len > shared) {
		path[len] = '\0';
		if (is_needed(now, path) || !remove_dir(tree, path))
			return;
		while (len > shared && path[len] != '/')
			len--;
	}
}

/* Removes the old working directory if it exists for its own sake. Otherwise it is removed with its files,
 * or stays. */
static void prune_working_dir(struct mor_stage_tree *tree, const char *working_dir)
{
	char path[PATH_MAX], *slash;

	snprintf(path, sizeof(path), "%s", working_dir);
	while ((slash = strrchr(path, '/')) && slash[1] && unlinkat(tree->root, path + 1, AT_REMOVEDIR) == 0)
		*slash = '\0';
}

void mor_stage_tree_clear(struct mor_stage_tree *tree, const struct mor_stage_items *old,
			  const struct mor_stage_items *now, const bool *gone)
{
	if (old->working_dir && strcmp(old->working_dir, now->working_dir) != 0)
		prune_working_dir(tree, old->working_dir);
	for (size_t i = old->count; i-- > 0;) {
		if (!gone[i])
			continue;
		if (!mor_stage_item_is_dir(&old->at[i]))
			unlinkat(tree->root, old->at[i].path, 0);
		prune(tree, old, i, now);
	}
}

/* ---- adding ---- */

static int step_into(struct mor_stage_tree *tree, const char *name)
{
	int dir = tree->fds[tree->depth];
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT && (fd = take_spare(tree, dir, name)) < 0) {
		if ((fd = mor_dir_make_open(dir, name, 0700, O_RDONLY, NULL)) < 0)
			return fd;
		fchmod(fd, 0755); /* chmod, because mkdir() obeys the umask: another user may read it */
	}
	if (fd < 0)
		return -errno;
	if (tree->depth == MOR_STAGE_TREE_DEPTH) /* deeper directories share the last place */
		walk_back(tree, MOR_STAGE_TREE_DEPTH - 1);
	tree->fds[++tree->depth] = fd;
	return 0;
}

/* Makes and enters the directory that is the first `len` bytes of `path`. */
static int enter_dir(struct mor_stage_tree *tree, const char *path, size_t len)
{
	size_t at;

	while (tree->depth &&
	       (tree->ends[tree->depth] > len || memcmp(tree->path, path, tree->ends[tree->depth]) != 0 ||
		(tree->ends[tree->depth] < len && path[tree->ends[tree->depth]] != '/')))
		walk_back(tree, tree->depth - 1);
	at = tree->depth ? tree->ends[tree->depth] + 1 : 0;
	tree->path = path;
	while (at < len) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t end = slash ? (size_t)(slash - path) : len;
		char name[NAME_MAX + 1];
		int r;

		if (end - at > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path + at, end - at);
		name[end - at] = '\0';
		if ((r = step_into(tree, name)) < 0)
			return r;
		tree->ends[tree->depth] = end;
		at = end + 1;
	}
	return 0;
}

static int copy_blob(const struct mor_stage_tree *tree, const char *name, int dir, const char *to)
{
	int from = openat(tree->blobs, name, O_RDONLY | O_CLOEXEC), fd = -1, r = 0;
	char buffer[65536];
	ssize_t n = 0;

	if (from >= 0)
		fd = openat(dir, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (from < 0 || fd < 0)
		r = -errno;
	while (r == 0 && (n = read(from, buffer, sizeof(buffer))) > 0)
		r = mor_fd_write_all(fd, buffer, (size_t)n);
	if (r == 0 &&
	    (n < 0 || fchmod(fd, 0444) < 0 || futimens(fd, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }) < 0))
		r = -errno;
	mor_fd_close(&from);
	mor_fd_close(&fd);
	return r;
}

int mor_stage_tree_put(struct mor_stage_tree *tree, const struct mor_stage_item *item)
{
	size_t len = mor_stage_item_dir_len(item);
	int r = enter_dir(tree, item->path, len);
	const char *leaf = item->path + (len ? len + 1 : 0);

	if (r < 0 || mor_stage_item_is_dir(item) ||
	    linkat(tree->blobs, item->digest, tree->fds[tree->depth], leaf, 0) == 0)
		return r;
	/* Some file systems allow only 65,000 links per file. */
	return errno == EMLINK ? copy_blob(tree, item->digest, tree->fds[tree->depth], leaf) : -errno;
}

int mor_stage_tree_make_dir(struct mor_stage_tree *tree, const char *path)
{
	return enter_dir(tree, path, strlen(path));
}
