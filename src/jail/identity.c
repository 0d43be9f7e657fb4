/* SPDX-License-Identifier: Apache-2.0 */
/* See identity.h. */
#include "jail/identity.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NOBODY = 65534, TEXT_SIZE = 1024 };

/* What a line of passwd can hold; anything else is replaced. */
static const char *passwd_field(const struct mor_plan *plan, const char *name, const char *otherwise)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < plan->envc; i++) {
		const char *value = plan->env[i] + len + 1;

		if (strncmp(plan->env[i], name, len) != 0 || plan->env[i][len] != '=')
			continue;
		return *value && strlen(value) < TEXT_SIZE / 4 && !strpbrk(value, ":\n\r") ? value : otherwise;
	}
	return otherwise;
}

/* "root" and "nobody" are taken by those who have these numbers. */
static const char *user_name(const struct mor_plan *plan)
{
	const char *name = passwd_field(plan, "USER", "user");

	return strcmp(name, "root") == 0 || strcmp(name, "nobody") == 0 || strcmp(name, "nogroup") == 0 ?
		       "user" :
		       name;
}

static bool is_common(unsigned id)
{
	return id == 0 || id == NOBODY;
}

static void write_passwd(const struct mor_plan *plan, char text[TEXT_SIZE])
{
	const char *home = passwd_field(plan, "HOME", "/"), *shell = passwd_field(plan, "SHELL", "/bin/sh");
	unsigned uid = geteuid(), gid = getegid();
	int len = snprintf(text, TEXT_SIZE, "root:x:0:0:root:%s:%s\n", uid == 0 ? home : "/root", shell);

	if (!is_common(uid))
		len += snprintf(text + len, TEXT_SIZE - (size_t)len, "%s:x:%u:%u::%s:%s\n", user_name(plan),
				uid, gid, home, shell);
	snprintf(text + len, TEXT_SIZE - (size_t)len, "nobody:x:%d:%d:nobody:%s:/usr/sbin/nologin\n", NOBODY,
		 NOBODY, uid == NOBODY ? home : "/nonexistent");
}

static void write_group(const struct mor_plan *plan, char text[TEXT_SIZE])
{
	unsigned gid = getegid();
	int len = snprintf(text, TEXT_SIZE, "root:x:0:\n");

	if (!is_common(gid))
		len += snprintf(text + len, TEXT_SIZE - (size_t)len, "%s:x:%u:\n", user_name(plan), gid);
	snprintf(text + len, TEXT_SIZE - (size_t)len, "nogroup:x:%d:\n", NOBODY);
}

int mor_identity_make_up(struct mor_paths *paths, const struct mor_plan *plan)
{
	char text[TEXT_SIZE];
	int status;

	write_passwd(plan, text);
	if ((status = mor_paths_make_up(paths, "/etc/passwd", MOR_MAY_READ, text)) < 0)
		return status;
	write_group(plan, text);
	return mor_paths_make_up(paths, "/etc/group", MOR_MAY_READ, text);
}
