/* SPDX-License-Identifier: Apache-2.0 */
/* Could somebody else have written a program? The rules and their reasons: docs/design/0005-install.md. */
#include "program/helper.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { HELPER_LINKS_MAX = 40 }; /* as many as the kernel follows */

/* From / to the file, one name after the other. Only trusted people can change the names that are passed, so
 * the file that is run by its name afterwards is the file that was seen here. */
struct walk {
	const struct mor_running_code *code;
	char passed[PATH_MAX]; /* without links; "": / */
	char rest[PATH_MAX];   /* names that are still to come */
	int links;
	char *fault;
};

/* A directory on the way to the code that runs: its owner could have replaced that code, too. */
static bool leads_to_code(const struct walk *walk)
{
	size_t len = strlen(walk->passed);

	return strncmp(walk->passed, walk->code->path, len) == 0 && walk->code->path[len] == '/';
}

static bool is_of_others(const struct walk *walk, const struct stat *st)
{
	bool trusted = st->st_uid == 0 || st->st_uid == geteuid() || st->st_uid == walk->code->owner;

	return !trusted && !(S_ISDIR(st->st_mode) && leads_to_code(walk));
}

/* Above the directory that holds the file. */
static bool is_above(const struct walk *walk)
{
	return strchr(walk->rest, '/') != NULL;
}

/* Judges what `passed` names. */
static bool is_ours(const struct walk *walk, const struct stat *st)
{
	const char *what = !walk->rest[0] ? "it" : is_above(walk) ? "a directory above it" : "its directory";
	const char *path = walk->passed[0] ? walk->passed : "/";

	if (is_of_others(walk, st))
		snprintf(walk->fault, MOR_PROGRAM_FAULT,
			 "%s belongs to another user (%u): install it anew%s%.150s", what, st->st_uid,
			 is_above(walk) ? ", or chown root " : "", is_above(walk) ? path : "");
	/* In a sticky directory nobody else can replace what is ours. But it is no place for a program. */
	else if (S_ISLNK(st->st_mode) || (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) && is_above(walk)))
		return true; /* nobody writes into a link, whatever its mode says */
	else if (st->st_mode & S_IWOTH)
		snprintf(walk->fault, MOR_PROGRAM_FAULT, "everybody can write %s: chmod o-w %.180s", what,
			 path);
	/* with an access control list, the group's bits are the maximum for everybody in the list */
	else if ((st->st_mode & S_IWGRP) &&
		 (st->st_gid != 0 || getxattr(path, "system.posix_acl_access", NULL, 0) > 0))
		snprintf(walk->fault, MOR_PROGRAM_FAULT, "others can write %s (group %u): chmod g-w %.180s",
			 what, st->st_gid, path);
	return !walk->fault[0];
}

static void go_up(struct walk *walk)
{
	char *slash = strrchr(walk->passed, '/');

	if (slash)
		*slash = '\0';
}

/* The length of what names nothing: "/" and "./". */
static size_t nothing_at(const char *path)
{
	size_t n = 0;

	while (path[n] == '/' || (path[n] == '.' && path[n + 1] == '/'))
		n++;
	return n;
}

/* Takes the next name from `rest`. false: too long. */
static bool go_on(struct walk *walk)
{
	size_t at = strlen(walk->passed), len = strcspn(walk->rest, "/");
	const char *next = walk->rest + len + nothing_at(walk->rest + len);

	if (at + len + 2 > sizeof(walk->passed))
		return false;
	if (strncmp(walk->rest, "..", len) != 0)
		snprintf(walk->passed + at, sizeof(walk->passed) - at, "/%.*s", (int)len, walk->rest);
	else if (len == 2)
		go_up(walk);
	memmove(walk->rest, next, strlen(next) + 1);
	return true;
}

/* `passed` is a link: what it names stands before the rest. false: no way to follow it. */
static bool follow_link(struct walk *walk)
{
	char to[PATH_MAX], rest[PATH_MAX];
	ssize_t len = readlink(walk->passed, to, sizeof(to) - 1);

	if (len <= 0 || ++walk->links > HELPER_LINKS_MAX)
		return false;
	to[len] = '\0';
	memcpy(rest, walk->rest, sizeof(rest));
	if (to[0] == '/')
		walk->passed[0] = '\0';
	else
		go_up(walk);
	return snprintf(walk->rest, sizeof(walk->rest), "%s%s%s", to + nothing_at(to), rest[0] ? "/" : "",
			rest) < (int)sizeof(walk->rest);
}

/* Looks at one more name. False at the end of the walk, with `fault` if it ended badly. */
static bool step(struct walk *walk)
{
	struct stat st;

	if (!walk->rest[0])
		return false;
	if (!go_on(walk)) {
		snprintf(walk->fault, MOR_PROGRAM_FAULT, "its path is too long");
		return false;
	}
	if (lstat(walk->passed[0] ? walk->passed : "/", &st) < 0) {
		if (errno != ENOENT && errno != ENOTDIR) /* else running it will say so */
			snprintf(walk->fault, MOR_PROGRAM_FAULT, "%.180s: %s", walk->passed,
				 strerrordesc_np(errno));
		return false;
	}
	if (!is_ours(walk, &st))
		return false;
	if (S_ISLNK(st.st_mode) && !follow_link(walk))
		snprintf(walk->fault, MOR_PROGRAM_FAULT, "the link %.180s cannot be followed", walk->passed);
	return !walk->fault[0];
}

bool mor_file_is_ours(const char *path, const struct mor_running_code *code, char fault[MOR_PROGRAM_FAULT])
{
	struct walk walk = { .code = code, .fault = fault };
	struct stat top;

	fault[0] = '\0';
	snprintf(walk.rest, sizeof(walk.rest), "%s", path + nothing_at(path));
	if (lstat("/", &top) == 0 && is_ours(&walk, &top))
		while (step(&walk))
			;
	return !fault[0];
}
