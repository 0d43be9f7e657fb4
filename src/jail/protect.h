/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stays as it is in a writable workspace: paths; names that count wherever they are below it; and what git
 * runs, in every directory that is, or would become, a repository. Only writes ask here, by canonical names.
 *
 * A name is judged together with what it would make of the directories above it. Nothing above a protected path
 * may be replaced, and no directory that has something protected in it may be moved: the same name would then
 * mean another file.
 */
#ifndef MOR_JAIL_PROTECT_H
#define MOR_JAIL_PROTECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/plan.h"

/* What the write does: changes a file, or an existing directory (its mode, an unnamed file in it); makes a
 * directory; removes; makes, moves or replaces a file; the same for a link or for a directory with all that is
 * in it, which may lead or bring more than its name says. */
enum mor_write_kind {
	MOR_WRITE_CONTENT,
	MOR_WRITE_INSIDE,
	MOR_WRITE_MKDIR,
	MOR_WRITE_REMOVE,
	MOR_WRITE_PLACE,
	MOR_WRITE_GRAFT
};

struct mor_protect {
	char *text; /* absolute and canonical: this and all below; else: these parts, wherever they are */
	size_t len;
	uint8_t why; /* enum mor_protect_why; MOR_PROTECT_GIT: the root of a git directory */
};

struct mor_protects {
	struct mor_protect *list;
	size_t count, room;
	bool repositories; /* every directory that is one counts, whatever it is called */
	bool commits;      /* what a commit writes in a git directory is granted */
	bool lenient;      /* most refusals are an error for the plugin, not a violation */
};

/* 0 or -errno. Protects the path as it is written below its canonical parent, and what it leads to now. */
int mor_protect_path(struct mor_protects *protects, const char *path, enum mor_protect_why why);
int mor_protect_name(struct mor_protects *protects, const char *name, enum mor_protect_why why);
void mor_protect_fini(struct mor_protects *protects);
static inline bool mor_protect_is_path(const struct mor_protect *protect)
{
	return protect->text[0] == '/';
}
/* Is all of it read-only, so that the kernel can hold it? */
static inline bool mor_protect_is_whole(const struct mor_protects *protects, const struct mor_protect *protect)
{
	return mor_protect_is_path(protect) && !(protect->why == MOR_PROTECT_GIT && protects->commits);
}

/* May `name` be written? The first `root` bytes of it are the writable directory. `anywhere`: names and
 * repositories count, too. MOR_PROTECT_NOT: it may. */
enum mor_protect_why mor_protect_find(const struct mor_protects *protects, const char *name, size_t root,
				      bool anywhere, enum mor_write_kind kind);
/* Where `name` lies, seen from `path`: apart from it, strictly above it, or the same or below. Names are
 * compared as their directories do. */
enum mor_place { MOR_PLACE_APART, MOR_PLACE_ABOVE, MOR_PLACE_WITHIN };
enum mor_place mor_protect_compare(const char *name, size_t root, const char *path);
/* Does a write of this kind put something else in the place of a directory? */
static inline bool mor_protect_replaces(enum mor_write_kind kind)
{
	return kind == MOR_WRITE_CONTENT || kind == MOR_WRITE_PLACE || kind == MOR_WRITE_GRAFT;
}

/* repository.c: the same for a file that git would run, by the directories that have HEAD, objects and refs. */
enum mor_protect_why mor_repository_find(const char *name, size_t root, enum mor_write_kind kind);
/* `rest`: the part of `name` below a git directory. Does a commit write it? */
bool mor_repository_commits(const char *name, const char *rest, enum mor_write_kind kind);
/* Does git run what is there, or take orders from it? */
bool mor_repository_runs(const char *rest);

#endif
