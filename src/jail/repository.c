/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git directories, as a writer of files sees them: what a commit writes in one, what git runs, and when a
 * directory is one. Git takes every directory with HEAD, objects and refs for a repository, and then runs what
 * its config and hooks say, whatever the directory is called. One with HEAD and commondir is the same: there
 * objects, refs, config and hooks are where commondir points.
 */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/slice.h"
#include "base/text.h"
#include "jail/fold.h"
#include "jail/protect.h"

/* ---- what a commit writes ---- */

/* Not the todo lists of rebase: they may name programs. */
#define COMMIT_FILES \
	"HEAD|index|packed-refs|ORIG_HEAD|FETCH_HEAD|MERGE_HEAD|MERGE_MSG|MERGE_MODE|MERGE_RR|AUTO_MERGE|" \
	"CHERRY_PICK_HEAD|REVERT_HEAD|SQUASH_MSG|COMMIT_EDITMSG|gc.pid|gc.log"
#define COMMIT_TREES "objects|refs|logs|reftable"

static struct mor_slice part_of(const char *at)
{
	return (struct mor_slice){ at, strcspn(at, "/") };
}

/* "HEAD", "HEAD.lock", "packed-refs.new", and the names that git numbers. */
static bool is_commit_file(struct mor_slice part)
{
	static const char *const endings[] = { ".lock", ".new" };
	static const char *const numbered[] = { "next-index-", "index.stash.", "sharedindex" };

	for (size_t i = 0; i < sizeof(numbered) / sizeof(*numbered); i++)
		if (strncmp(part.ptr, numbered[i], strlen(numbered[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t len = strlen(endings[i]);

		if (part.len > len && memcmp(part.ptr + part.len - len, endings[i], len) == 0) {
			part.len -= len;
			break;
		}
	}
	return mor_text_in(part, COMMIT_FILES);
}

static bool exists(const char *dir, size_t len, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	if (len + strlen(name) + 2 > sizeof(path))
		return true; /* cannot be seen: as if it were */
	memcpy(path, dir, len);
	path[len] = '/';
	memcpy(path + len + 1, name, strlen(name) + 1);
	return lstat(path, &st) == 0;
}

/* The rest below the git directory of a submodule: the first directory below modules/ with a HEAD. Its name may
 * have several parts. NULL: no directory with a HEAD. */
static const char *in_module(const char *name, const char *rest)
{
	for (const char *at = strchr(rest, '/'); at; at = strchr(at + 1, '/'))
		if (exists(name, (size_t)(at - name), "HEAD"))
			return at + 1;
	return NULL;
}

/* Where the rest leads if it is in the git directory of a worktree or a submodule; NULL: nowhere. */
static const char *in_nested(const char *name, const char *rest)
{
	struct mor_slice part = part_of(rest);

	if (!rest[part.len])
		return NULL;
	rest += part.len + 1;
	if (mor_slice_is(part, "worktrees")) {
		rest = strchr(rest, '/');
		return rest ? rest + 1 : NULL;
	}
	return mor_slice_is(part, "modules") ? in_module(name, rest) : NULL;
}

/* Links, and directories that come with all that is in them, are not for commits: git would append its log to
 * the file that a link names. Nor are other places to take objects from. */
bool mor_repository_commits(const char *name, const char *rest, enum mor_write_kind kind)
{
	struct mor_slice part = part_of(rest);

	if (kind == MOR_WRITE_GRAFT)
		return false;
	for (const char *nested; (nested = in_nested(name, rest)); part = part_of(rest))
		rest = nested;
	if (strncmp(rest, "objects/info/", 13) == 0 && strstr(rest, "alternates"))
		return false;
	/* A list of refs for others who fetch, which git writes when it packs; the rest of info/ is obeyed. */
	if (strcmp(rest, "info/refs") == 0 || strncmp(rest, "info/refs_", 10) == 0)
		return kind != MOR_WRITE_MKDIR;
	if (mor_text_in(part, COMMIT_TREES))
		return rest[part.len] || kind == MOR_WRITE_MKDIR || kind == MOR_WRITE_INSIDE;
	return part.len && !rest[part.len] && kind != MOR_WRITE_MKDIR && is_commit_file(part);
}

/* ---- when a directory is one ---- */

enum marks { HEAD = 1, OBJECTS = 2, REFS = 4, COMMON = 8, RUNS = 16 };
static const struct {
	const char *name;
	unsigned mark;
} parts[] = {
	{ "HEAD", HEAD },   { "objects", OBJECTS },      { "refs", REFS },  { "commondir", COMMON },
	{ "config", RUNS }, { "config.worktree", RUNS }, { "hooks", RUNS },
};

/* 0: none of them. `part` lies in `name`. */
static unsigned mark_of(const char *name, struct mor_slice part)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (mor_slice_is(part, parts[i].name) ||
		    (mor_fold_alike(part.ptr, part.len, parts[i].name, strlen(parts[i].name)) &&
		     mor_fold_in(name, (size_t)(part.ptr - name) - 1)))
			return parts[i].mark;
	return 0;
}

static unsigned marks_of(const char *dir, size_t len)
{
	unsigned marks = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!(marks & parts[i].mark) && exists(dir, len, parts[i].name))
			marks |= parts[i].mark;
	return marks;
}

static bool is_repository(unsigned marks)
{
	return marks & HEAD && ((marks & OBJECTS && marks & REFS) || marks & COMMON);
}

static bool makes(enum mor_write_kind kind)
{
	return kind == MOR_WRITE_MKDIR || kind == MOR_WRITE_PLACE || kind == MOR_WRITE_GRAFT;
}

/* A part with this mark in the directory of `len` bytes. The last one: it is what is written. */
static bool arms(const char *name, size_t len, unsigned mark, bool last, enum mor_write_kind kind)
{
	unsigned before = marks_of(name, len), after = before | mark;

	if (mark & (RUNS | COMMON))
		return is_repository(mark == COMMON && last && makes(kind) ? after : before);
	/* What was written there before it became a repository would be obeyed from now on. */
	return last && makes(kind) && !is_repository(before) && is_repository(after) && after & (RUNS | COMMON);
}

enum mor_protect_why mor_repository_find(const char *name, size_t root, enum mor_write_kind kind)
{
	for (const char *at = name + root + 1; *at;) {
		struct mor_slice part = part_of(at);
		bool last = !at[part.len];
		unsigned mark = mark_of(name, part);

		if (mark && arms(name, (size_t)(at - name) - 1, mark, last, kind))
			return MOR_PROTECT_GIT_RUNS;
		at += part.len + !last;
	}
	return MOR_PROTECT_NOT;
}

bool mor_repository_runs(const char *rest)
{
	struct mor_slice part = part_of(rest);

	return mor_text_in(part, "hooks|config|config.worktree|commondir|modules|worktrees");
}
