/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a directory, and compares it with an older list. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text.h"
#include "content/inside.h"
#include "content/names.h"

struct content_walk {
	const char *shown;
	const struct mor_content *known; /* or NULL */
	struct mor_content *out;
	struct mor_buf path; /* of the present entry; NUL-terminated behind its length */
	size_t hashed;
	unsigned depth;
	bool source; /* some directories do not count */
	mortise_error *err;
};

/* One entry of a directory that is open. */
struct walk_entry {
	int dir;
	const char *name;
	struct stat st;
};

static int walk_fail(struct content_walk *walk, int code, const char *what)
{
	char path[300];

	return mor_fail(walk->err, code, "%s: %s: %s", walk->shown,
			mor_excerpt(mor_slice_of(walk->path.data), path, sizeof(path)), what);
}

static int walk_fail_errno(struct content_walk *walk, int os_errno)
{
	if (os_errno == ENOENT || os_errno == ELOOP || os_errno == ENOTDIR)
		return walk_fail(walk, MORTISE_EINPUT, "it changes while it is read");
	if (os_errno == ENOMEM)
		return mor_fail_memory(walk->err);
	mor_fail_errno(walk->err, MORTISE_ESYSTEM, os_errno, "%s/%s: it cannot be read", walk->shown,
		       walk->path.data);
	return MORTISE_ESYSTEM;
}

/* ---- files ---- */

static int hash_open(struct content_walk *walk, int fd, struct mor_content_file *file)
{
	struct mor_content_identity before = mor_content_identity_of(fd), after;
	int r;

	/* another file has taken its name since it was listed */
	if (!mor_content_same(&before, &file->identity))
		return walk_fail(walk, MORTISE_EINPUT, "it changes while it is read");
	if ((r = mor_content_hash_fd(fd, file->size, file->sha256, walk->path.data, walk->err)) < 0)
		return r;
	after = mor_content_identity_of(fd);
	walk->hashed++;
	return mor_content_same(&before, &after) ?
		       0 :
		       walk_fail(walk, MORTISE_EINPUT, "it changes while it is read");
}

static int hash_entry(struct content_walk *walk, const struct walk_entry *entry, struct mor_content_file *file)
{
	int r, fd = openat(entry->dir, entry->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return walk_fail_errno(walk, errno);
	r = hash_open(walk, fd, file);
	mor_fd_close(&fd);
	return r;
}

/* Takes the sum from the older list if the file is the same one. */
static bool recall_sum(const struct content_walk *walk, struct mor_content_file *file)
{
	const struct mor_content_file *old =
		walk->known ? mor_content_find(walk->known, walk->path.data) : NULL;

	if (!old || old->target || !mor_content_same(&old->identity, &file->identity) ||
	    !mor_content_settled(walk->known, old))
		return false;
	memcpy(file->sha256, old->sha256, sizeof(file->sha256));
	return true;
}

static int take_file(struct content_walk *walk, const struct walk_entry *entry)
{
	struct mor_content_file file = {
		.executable = entry->st.st_mode & S_IXUSR,
		.size = (uint64_t)entry->st.st_size,
		.identity = mor_content_identity_stat(&entry->st),
	};

	/* A sum of a huge file takes long: the limit comes first. */
	if (walk->out->bytes + file.size > MOR_CONTENT_BYTES_MAX)
		return walk_fail(walk, MORTISE_ELIMIT, "a plugin's files may have at most 512 MiB together");
	if (!recall_sum(walk, &file)) {
		int r = hash_entry(walk, entry, &file);

		if (r < 0)
			return r;
	}
	file.path = mor_strdup(walk->path.data);
	return mor_content_add_take(walk->out, &file, walk->err);
}

static int take_link(struct content_walk *walk, const struct walk_entry *entry)
{
	struct mor_content_file file = { .identity = mor_content_identity_stat(&entry->st) };
	char target[MOR_CONTENT_PATH_BYTES + 1];
	ssize_t len = readlinkat(entry->dir, entry->name, target, sizeof(target));

	if (len < 0)
		return walk_fail_errno(walk, errno);
	if ((size_t)len == sizeof(target))
		return walk_fail(walk, MORTISE_EINPUT, "this link's target is too long");
	target[len] = '\0';
	if (!mor_content_link_stays(walk->path.data, target))
		return walk_fail(walk, MORTISE_EINPUT,
				 "this link leads out of the plugin, or has \"..\" behind a name");
	file.path = mor_strdup(walk->path.data);
	file.target = mor_strdup(target);
	if (!file.target) {
		mor_free(file.path);
		return mor_fail_memory(walk->err);
	}
	return mor_content_add_take(walk->out, &file, walk->err);
}

/* ---- directories ---- */

static int walk_dir_take(struct content_walk *walk, int fd);

static int enter_dir(struct content_walk *walk, const struct walk_entry *entry)
{
	int fd, r;

	if (walk->source && mor_text_in(mor_slice_of(entry->name), ".git|__pycache__"))
		return 0;
	if (walk->depth >= MOR_CONTENT_DEPTH_MAX)
		return walk_fail(walk, MORTISE_ELIMIT, "directories lie too deep in each other");
	if ((fd = openat(entry->dir, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return walk_fail_errno(walk, errno);
	walk->depth++;
	r = walk_dir_take(walk, fd);
	walk->depth--;
	return r;
}

static int take_entry(struct content_walk *walk, struct walk_entry *entry)
{
	if (fstatat(entry->dir, entry->name, &entry->st, AT_SYMLINK_NOFOLLOW) < 0)
		return walk_fail_errno(walk, errno);
	switch (entry->st.st_mode & S_IFMT) {
	case S_IFDIR:
		return enter_dir(walk, entry);
	case S_IFREG:
		return take_file(walk, entry);
	case S_IFLNK:
		return take_link(walk, entry);
	default:
		return walk_fail(walk, MORTISE_EINPUT,
				 "it is neither file, link nor directory: a plugin cannot have it");
	}
}

static int extend_path(struct content_walk *walk, const char *name)
{
	if (walk->path.len)
		mor_buf_byte(&walk->path, '/');
	mor_buf_text(&walk->path, name);
	mor_buf_byte(&walk->path, '\0');
	if (mor_buf_failed(&walk->path))
		return mor_fail_memory(walk->err);
	walk->path.len--;
	return mor_content_name_check(walk->path.data, walk->err);
}

static int walk_open(struct content_walk *walk, DIR *dir)
{
	size_t len = walk->path.len;
	struct dirent *item;
	int r = 0;

	while (r == 0 && (errno = 0, item = readdir(dir))) {
		struct walk_entry entry = { .dir = dirfd(dir), .name = item->d_name };

		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
			continue;
		r = extend_path(walk, item->d_name);
		if (r == 0)
			r = take_entry(walk, &entry);
		walk->path.len = len;
	}
	return r == 0 && errno ? walk_fail_errno(walk, errno) : r;
}

/* Takes the descriptor. */
static int walk_dir_take(struct content_walk *walk, int fd)
{
	DIR *dir = fdopendir(fd);
	int r;

	if (!dir) {
		r = walk_fail_errno(walk, errno);
		mor_fd_close(&fd);
		return r;
	}
	r = walk_open(walk, dir);
	closedir(dir);
	return r;
}

/* The clock that file systems use. */
static int64_t time_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int scan_tree(struct content_walk *walk, int dir, struct mor_content *ret)
{
	MOR_CLEAN(mor_content) struct mor_content content = { .made_ns = time_now() };
	/* a new descriptor with a position of its own, so that `dir` can be walked again */
	int r, fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return mor_fail_errno(walk->err, MORTISE_ESYSTEM, errno, "%s: it cannot be read", walk->shown);
	if (mor_buf_reserve(&walk->path, 1) < 0) {
		mor_fd_close(&fd);
		return mor_fail_memory(walk->err);
	}
	walk->path.data[0] = '\0';
	walk->out = &content;
	r = walk_dir_take(walk, fd);
	walk->out = NULL;
	mor_buf_fini(&walk->path);
	if (r == 0)
		r = mor_content_seal(&content, walk->shown, walk->err);
	if (r < 0)
		return r;
	*ret = content;
	content = (struct mor_content){ 0 };
	return 0;
}

int mor_content_scan(int dir, const char *shown, const struct mor_content *known, struct mor_content *ret,
		     mortise_error *err)
{
	struct content_walk walk = { .shown = shown, .known = known, .err = err };

	return scan_tree(&walk, dir, ret);
}

int mor_content_scan_source(int dir, const char *shown, struct mor_content *ret, mortise_error *err)
{
	struct content_walk walk = { .shown = shown, .err = err, .source = true };

	return scan_tree(&walk, dir, ret);
}

int mor_content_verify(int dir, const char *shown, const struct mor_content *record,
		       struct mor_content_check *ret, mortise_error *err)
{
	struct content_walk walk = { .shown = shown, .known = record, .err = err };
	struct mor_content_check check = { 0 };
	int r = scan_tree(&walk, dir, &check.now);

	check.hashed = walk.hashed;
	if (r == 0 && mor_content_compare(record, &check.now, &check.changes) < 0)
		r = mor_fail_memory(err);
	if (r < 0)
		mor_content_check_fini(&check);
	else
		*ret = check;
	return r;
}

void mor_content_check_fini(struct mor_content_check *check)
{
	mor_content_changes_fini(&check->changes);
	mor_content_fini(&check->now);
	*check = (struct mor_content_check){ 0 };
}
