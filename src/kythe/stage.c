/*
 * Blobs by digest, trees of hard links to them. The paths of a unit are sorted before anything is made: equal paths and
 * "a file that is also a directory" are then neighbours, and the walk opens each directory once.
 */
#include "kythe/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
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

#define OWN_ROOT "/kythe-unit" /* where records without a working directory are shown */

struct mor_stager {
	char *cache; /* absolute */
	int blobs, stages;
	unsigned next;
	struct mor_stager_stats stats;
};

struct item {
	char *path; /* clean, relative to the tree */
	const char *spelled;
	const char *digest;
};

struct items {
	struct item *at;
	size_t count;
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

static void remove_tree_at(int parent, const char *name);

static void empty_dir(int fd)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		mor_fd_close(&fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_tree_at(dirfd(dir), entry->d_name);
	closedir(dir);
}

static void remove_tree_at(int parent, const char *name)
{
	int fd;

	if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
		return;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	empty_dir(fd);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* Stages are called PID.N. Those whose process is gone were left by a run that was killed. */
static void remove_orphans(int stages)
{
	DIR *dir = fdopendir(dup(stages));
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		long pid = strtol(entry->d_name, NULL, 10);

		if (pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH)
			remove_tree_at(stages, entry->d_name);
	}
	closedir(dir);
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
		r = make_dir_at(top, "stages", &stager->stages);
	mor_fd_close(&top);
	return r;
}

int mor_stager_new(const char *cache, struct mor_stager **ret, mortise_error *err)
{
	struct mor_stager *stager = mor_zalloc(sizeof(*stager));
	int r;

	if (!stager)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	stager->blobs = stager->stages = -1;
	r = open_cache(stager, cache);
	if (r < 0) {
		mor_fail_errno(err, MORTISE_ESYSTEM, -r, "cache %s", cache);
		mor_stager_free(stager);
		return MORTISE_ESYSTEM;
	}
	remove_orphans(stager->stages);
	*ret = stager;
	return 0;
}

struct mor_stager *mor_stager_free(struct mor_stager *stager)
{
	if (!stager)
		return NULL;
	mor_fd_close(&stager->blobs);
	mor_fd_close(&stager->stages);
	free(stager->cache);
	mor_free(stager);
	return NULL;
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
	const char *at = bytes;

	while (len > 0) {
		ssize_t n = write(*(int *)arg, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return MORTISE_ESYSTEM;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

/* Under another name until its bytes are known to be right; of two that write the same blob, either may win. */
static int write_blob(struct mor_stager *stager, struct mor_kzip *kzip, const char *digest, mortise_error *err)
{
	char name[72], dir[3] = { digest[0], digest[1], 0 }, temporary[40];
	struct stat st = { 0 };
	int fd, r;

	blob_name(digest, name);
	snprintf(temporary, sizeof(temporary), "tmp.%d.%u", (int)getpid(), stager->next++);
	fd = openat(stager->blobs, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
	if (fd < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s/blobs/%s", stager->cache, temporary);
	r = mor_kzip_file_read(kzip, digest, write_piece, &fd, err);
	/* A constant time: what an analyzer sees must not depend on when it was staged. */
	if (r == 0 && (fchmod(fd, 0444) < 0 || futimens(fd, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }) < 0 || fstat(fd, &st) < 0))
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s/blobs/%s", stager->cache, temporary);
	mor_fd_close(&fd);
	if (r == 0 && mkdirat(stager->blobs, dir, 0700) < 0 && errno != EEXIST)
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s/blobs/%s", stager->cache, dir);
	if (r == 0 && renameat(stager->blobs, temporary, stager->blobs, name) < 0)
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s/blobs/%s", stager->cache, name);
	if (r < 0) {
		unlinkat(stager->blobs, temporary, 0);
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

static int ensure_blob(struct mor_stager *stager, struct mor_kzip *kzip, const struct item *item, mortise_error *err)
{
	char name[72];
	size_t number;
	int r;

	if (!mor_digest_valid(item->digest) || !mor_kzip_file_find(kzip, item->digest, &number))
		return mor_fail(err, MORTISE_EINPUT, "%s: the archive lacks its content (digest %.64s)", item->spelled, item->digest);
	blob_name(item->digest, name);
	if (blob_is_there(stager, name, mor_kzip_file_size(kzip, number)))
		return 0;
	r = write_blob(stager, kzip, item->digest, err);
	return r == MORTISE_EINPUT ? mor_fail_prefix(err, item->spelled) : r;
}

/* ---- paths ---- */

static unsigned steps_up(const char *path)
{
	MOR_CLEAN(mor_buf) struct mor_buf clean = MOR_BUF_INIT;
	unsigned count = 0;

	mor_path_clean("", path, &clean);
	mor_buf_byte(&clean, '\0');
	for (const char *at = clean.data; at && strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'); at += 3) {
		count++;
		if (at[2] == '\0')
			break;
	}
	return count;
}

int mor_stage_working_dir(const struct mor_unit *unit, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf own = MOR_BUF_INIT;
	unsigned deepest = steps_up(unit->working_directory);

	if (unit->working_directory[0] == '/')
		return mor_path_clean("", unit->working_directory, out);
	for (size_t i = 0; i < unit->input_count; i++) {
		unsigned up = unit->inputs[i].path[0] == '/' ? 0 : steps_up(unit->inputs[i].path);

		deepest = up > deepest ? up : deepest;
	}
	mor_buf_text(&own, OWN_ROOT);
	for (unsigned i = 0; i < deepest && i < 256; i++)
		mor_buf_text(&own, "/d");
	mor_buf_byte(&own, '\0');
	return mor_buf_failed(&own) ? own.status : mor_path_clean(own.data, unit->working_directory, out);
}

/* Where the item lies in the tree; NULL with a text: the mode cannot show it. */
static char *tree_path(const struct mor_input *input, const char *working_dir, enum mor_stage_mode mode, mortise_error *err)
{
	struct mor_buf path = MOR_BUF_INIT;
	bool above;

	mor_path_clean(mode == MOR_STAGE_ROOT ? working_dir : "", input->path, &path);
	mor_buf_byte(&path, '\0');
	if (mor_buf_failed(&path)) {
		mor_buf_fini(&path);
		mor_fail(err, MORTISE_ENOMEM, "out of memory");
		return NULL;
	}
	above = path.data[0] == '/' || strcmp(path.data, "..") == 0 || strncmp(path.data, "../", 3) == 0;
	if (mode == MOR_STAGE_DIR && above) {
		mor_fail(err, MORTISE_EINPUT, "%s: cannot be shown without namespaces: it lies outside the working directory",
			 input->path);
		mor_buf_fini(&path);
		return NULL;
	}
	if (mode == MOR_STAGE_ROOT)
		memmove(path.data, path.data + 1, path.len - 1); /* without its slash */
	if (!*path.data || strcmp(path.data, ".") == 0) {
		mor_fail(err, MORTISE_EINPUT, "\"%s\" is no path of a file", input->path);
		mor_buf_fini(&path);
		return NULL;
	}
	return path.data;
}

static void free_items(struct items *items)
{
	for (size_t i = 0; i < items->count; i++)
		mor_free(items->at[i].path);
	mor_free(items->at);
}

/* "/" sorts before everything else, so that what lies below a path follows it at once. */
static int compare_paths(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == '/' || *b == '/')
		return *a == *b ? 0 : *a == '\0' ? -1 : *b == '\0' ? 1 : *a == '/' ? -1 : 1;
	return (unsigned char)*a - (unsigned char)*b;
}

static int compare_items(const void *a, const void *b)
{
	return compare_paths(((const struct item *)a)->path, ((const struct item *)b)->path);
}

static bool lies_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* Neighbours that are the same file are one; those that contradict each other are the record's fault. */
static int settle_items(struct items *items, mortise_error *err)
{
	size_t kept = 0;

	qsort(items->at, items->count, sizeof(struct item), compare_items);
	for (size_t i = 0; i < items->count; i++) {
		struct item *last = kept ? &items->at[kept - 1] : NULL, *item = &items->at[i];

		if (last && strcmp(last->path, item->path) == 0 && strcmp(last->digest, item->digest) == 0) {
			mor_free(item->path);
			item->path = NULL;
			continue;
		}
		if (last && strcmp(last->path, item->path) == 0)
			return mor_fail(err, MORTISE_EINPUT, "%s: one path with two contents", item->spelled);
		if (last && lies_below(item->path, last->path))
			return mor_fail(err, MORTISE_EINPUT, "%s: its directory is also a file of the record (%s)", item->spelled,
					last->spelled);
		if (item != &items->at[kept]) {
			items->at[kept] = *item;
			item->path = NULL;
		}
		kept++;
	}
	items->count = kept;
	return 0;
}

static int list_items(const struct mor_unit *unit, const char *working_dir, enum mor_stage_mode mode, struct items *ret,
		      mortise_error *err)
{
	ret->at = mor_zalloc((unit->input_count + 1) * sizeof(struct item));
	if (!ret->at)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	for (ret->count = 0; ret->count < unit->input_count; ret->count++) {
		const struct mor_input *input = &unit->inputs[ret->count];
		struct item *item = &ret->at[ret->count];

		*item = (struct item){ tree_path(input, working_dir, mode, err), input->path, input->digest };
		if (!item->path)
			return err->code;
	}
	return settle_items(ret, err);
}

/* ---- trees ---- */

struct walk { /* the directory that the last file was put into */
	int root, dir;
	const char *path; /* its path in the tree, `len` bytes of that file's */
	size_t len;
};

static int enter_dir(struct walk *walk, const char *path, size_t len)
{
	int dir = dup(walk->root);
	size_t at = 0;

	if (dir < 0)
		return -errno;
	while (at < len) {
		const char *slash = memchr(path + at, '/', len - at);
		size_t end = slash ? (size_t)(slash - path) : len;
		char name[NAME_MAX + 2];
		int inner, r;

		if (end - at > NAME_MAX) {
			mor_fd_close(&dir);
			return -ENAMETOOLONG;
		}
		memcpy(name, path + at, end - at);
		name[end - at] = '\0';
		r = make_dir_at(dir, name, &inner);
		mor_fd_close(&dir);
		if (r < 0)
			return r;
		fchmod(inner, 0755);
		dir = inner;
		at = end + 1;
	}
	mor_fd_close(&walk->dir);
	walk->dir = dir;
	walk->path = path;
	walk->len = len;
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
		r = write_piece(buffer, (size_t)n, &fd) < 0 ? -errno : 0;
	if (r == 0 && n < 0)
		r = -errno;
	mor_fd_close(&from);
	mor_fd_close(&fd);
	return r;
}

static int put_item(struct mor_stager *stager, struct walk *walk, const struct item *item)
{
	const char *slash = strrchr(item->path, '/');
	const char *leaf = slash ? slash + 1 : item->path;
	size_t len = slash ? (size_t)(slash - item->path) : 0;
	char name[72];
	int r = 0;

	if (walk->dir < 0 || walk->len != len || memcmp(walk->path, item->path, len) != 0)
		r = enter_dir(walk, item->path, len);
	if (r < 0)
		return r;
	walk->path = item->path;
	blob_name(item->digest, name);
	stager->stats.linked++;
	if (linkat(stager->blobs, name, walk->dir, leaf, 0) == 0)
		return 0;
	/* 65,000 links are all that some file systems give one file. */
	return errno == EMLINK ? copy_blob(stager, name, walk->dir, leaf) : -errno;
}

static int make_tree(struct mor_stager *stager, struct mor_kzip *kzip, const struct items *items, int root, mortise_error *err)
{
	struct walk walk = { .root = root, .dir = -1 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < items->count; i++) {
		int error;

		r = ensure_blob(stager, kzip, &items->at[i], err);
		error = r < 0 ? 0 : put_item(stager, &walk, &items->at[i]);
		if (error == -ENAMETOOLONG)
			r = mor_fail_errno(err, MORTISE_EINPUT, -error, "%.200s", items->at[i].spelled);
		else if (error < 0)
			r = mor_fail_errno(err, MORTISE_ESYSTEM, -error, "staging %.200s", items->at[i].spelled);
	}
	mor_fd_close(&walk.dir);
	return r;
}

/* A working directory that no file of the record implies must be there, too. */
static int make_working_dir(int root, const char *working_dir)
{
	struct walk walk = { .root = root, .dir = -1 };
	const char *relative = working_dir + strspn(working_dir, "/");
	int r = enter_dir(&walk, relative, strlen(relative));

	mor_fd_close(&walk.dir);
	return r == -ENOTDIR || r == -ELOOP ? 0 : r;
}

static int build(struct mor_stager *stager, struct mor_kzip *kzip, const struct items *items, enum mor_stage_mode mode,
		 struct mor_stage *stage, mortise_error *err)
{
	const char *name = strrchr(stage->path, '/') + 1;
	int root = -1;
	int r = make_dir_at(stager->stages, name, &root);

	if (r < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s", stage->path);
	fchmod(root, 0755);
	r = make_tree(stager, kzip, items, root, err);
	if (r == 0 && mode == MOR_STAGE_ROOT && make_working_dir(root, stage->working_dir) < 0)
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "staging %.200s", stage->working_dir);
	mor_fd_close(&root);
	return r;
}

static char *format_path(const struct mor_stager *stager, unsigned number)
{
	struct mor_buf path = MOR_BUF_INIT;

	mor_buf_printf(&path, "%s/stages/%d.%u", stager->cache, (int)getpid(), number);
	return mor_buf_detach(&path);
}

int mor_stage_make(struct mor_stager *stager, struct mor_kzip *kzip, const struct mor_unit *unit, enum mor_stage_mode mode,
		   struct mor_stage *ret, mortise_error *err)
{
	struct mor_buf working_dir = MOR_BUF_INIT;
	struct mor_stage stage = { 0 };
	struct items items = { 0 };
	int r = mor_stage_working_dir(unit, &working_dir);

	stage.path = format_path(stager, stager->next++);
	stage.working_dir = mor_buf_detach(&working_dir);
	if (r < 0 || !stage.path || !stage.working_dir)
		r = mor_fail(err, MORTISE_ENOMEM, "out of memory");
	if (r == 0)
		r = list_items(unit, stage.working_dir, mode, &items, err);
	if (r == 0)
		r = build(stager, kzip, &items, mode, &stage, err);
	if (r == 0 && mode == MOR_STAGE_DIR) {
		mor_free(stage.working_dir);
		stage.working_dir = mor_strdup(stage.path);
		r = stage.working_dir ? 0 : mor_fail(err, MORTISE_ENOMEM, "out of memory");
	}
	free_items(&items);
	if (r < 0) {
		mor_stage_drop(stager, &stage);
		return r;
	}
	*ret = stage;
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
		remove_tree_at(stager->stages, strrchr(stage->path, '/') + 1);
	mor_free(stage->path);
	mor_free(stage->working_dir);
	*stage = (struct mor_stage){ 0 };
}
