/* SPDX-License-Identifier: Apache-2.0 */
/* Who else could change a path: without this, a list of trusted paths says nothing. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "trusted/inside.h"

/* What is wrong with it, and the remedy; NULL: nothing. `names`: it only has to keep its entries' names. */
static const char *exposed_by(const struct stat *st, bool names, char *who, size_t size)
{
	if (S_ISLNK(st->st_mode))
		return NULL; /* nobody can write to a link; where it leads is looked at by itself */
	if (st->st_uid != geteuid() && st->st_uid != 0) {
		snprintf(who, size, "belongs to user %u", (unsigned)st->st_uid);
		return "chown";
	}
	if (names && S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX))
		return NULL; /* as in /tmp: others cannot rename what is ours */
	if (st->st_mode & S_IWOTH) {
		snprintf(who, size, "can be changed by everybody");
		return "chmod o-w";
	}
	/* Many systems give each user a group of the same number, which has no other members, and make every
	 * file writable for it. */
	if ((st->st_mode & S_IWGRP) && st->st_gid != (gid_t)st->st_uid) {
		snprintf(who, size, "can be changed by group %u", (unsigned)st->st_gid);
		return "chmod g-w";
	}
	return NULL;
}

static int tell_exposed(const char *path, const char *who, const char *remedy, char **ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	char shown[MOR_TRUSTED_SHOWN];

	mor_printable(mor_slice_of(path), shown, sizeof(shown));
	mor_buf_printf(&text, "%s %s", shown, who);
	if (strcmp(remedy, "chown") != 0) {
		mor_buf_printf(&text, "; to mend it: %s ", remedy);
		mor_buf_shell_word(&text, shown);
	}
	*ret = mor_buf_detach(&text);
	return *ret ? 1 : mor_fail_memory(err);
}

int mor_trusted_exposed_self(const char *path, bool names, char **ret, mortise_error *err)
{
	const char *remedy;
	struct stat st;
	char who[80];

	if (lstat(path, &st) < 0)
		return 0;
	remedy = exposed_by(&st, names, who, sizeof(who));
	return remedy ? tell_exposed(path, who, remedy, ret, err) : 0;
}

int mor_trusted_exposed(const char *path, bool names, char **ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *part = mor_strdup(path);
	int r = part ? mor_trusted_exposed_self("/", true, ret, err) : mor_fail_memory(err);

	for (char *slash = part ? strchr(part + 1, '/') : NULL; slash && r == 0;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		r = mor_trusted_exposed_self(part, true, ret, err);
		*slash = '/';
	}
	return r ? r : mor_trusted_exposed_self(path, names, ret, err);
}
