/* SPDX-License-Identifier: Apache-2.0 */
/* Could somebody else have written a program? The rules and their reasons: docs/design/0005-install.md. */
#include "program/helper.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static bool has_only(char *const *members, const char *name)
{
	for (; *members; members++)
		if (strcmp(*members, name) != 0)
			return false;
	return true;
}

/* A group with only the owner in it, as most systems make one per user: then files with umask 002 are safe.
 * If the group cannot be looked up, or is too large for the buffer, it does not count as such. */
static bool is_private_group(const struct stat *st)
{
	char user_text[1024], group_text[4096];
	struct passwd user, *found_user = NULL;
	struct group group, *found_group = NULL;

	if (getpwuid_r(st->st_uid, &user, user_text, sizeof(user_text), &found_user) || !found_user ||
	    getgrgid_r(st->st_gid, &group, group_text, sizeof(group_text), &found_group) || !found_group)
		return false;
	return user.pw_gid == st->st_gid && strcmp(user.pw_name, group.gr_name) == 0 &&
	       has_only(group.gr_mem, user.pw_name);
}

/* With an access control list, the group's bits are the maximum for everybody in the list. */
static bool has_list(const char *path)
{
	return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* `what`: its name in the text. */
static bool is_ours(const char *path, const char *what, uid_t keeper, char fault[MOR_PROGRAM_FAULT])
{
	struct stat st;

	fault[0] = '\0';
	if (stat(path, &st) < 0)
		return true;
	if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != keeper)
		snprintf(fault, MOR_PROGRAM_FAULT, "%s belongs to another user (%u): install it anew", what,
			 st.st_uid);
	else if (st.st_mode & S_IWOTH)
		snprintf(fault, MOR_PROGRAM_FAULT, "everybody can write %s: chmod o-w %.180s", what, path);
	else if ((st.st_mode & S_IWGRP) && (has_list(path) || !is_private_group(&st)))
		snprintf(fault, MOR_PROGRAM_FAULT, "others can write %s (group %u): chmod g-w %.180s", what,
			 st.st_gid, path);
	return !fault[0];
}

bool mor_file_is_ours(const char *path, uid_t keeper, char fault[MOR_PROGRAM_FAULT])
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%.*s", slash && slash > path ? (int)(slash - path) : 1, slash ? path : ".");
	return is_ours(path, "it", keeper, fault) && is_ours(dir, "its directory", keeper, fault);
}
