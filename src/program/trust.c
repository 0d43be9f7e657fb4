/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a program can have been written by somebody else. The rules and their reasons:
 * docs/design/0005-install.md. */
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

/* A group that is the owner's alone, as most systems make one per user: what umask 002 leaves writable is no
 * open door. Where the group cannot be looked up, or is too large for the buffer, it is not. */
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

/* With an access control list the group's bits are the most that anybody in the list may. */
static bool has_list(const char *path)
{
	return getxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* `what`: how the text calls it. */
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
