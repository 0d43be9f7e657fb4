/* SPDX-License-Identifier: Apache-2.0 */
/* Every setting there is. Unknown ones are refused, with the nearest name: a misspelt key without any effect
 * is the worst kind of configuration error. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/near.h"
#include "base/text.h"
#include "manifest/internal.h"

struct key {
	const char *section, *key; /* key "*": any name, chosen by the user, the dialect or the plugin */
	enum mor_key_type type;
};

static const struct key keys[] = {
	{ "plugin", "name", MOR_KEY_TEXT },
	{ "plugin", "dialect", MOR_KEY_TEXT },
	{ "plugin", "command", MOR_KEY_COMMAND },
	{ "plugin", "args", MOR_KEY_TEXTS },
	{ "plugin", "cwd", MOR_KEY_TEXT },
	{ "plugin", "framing", MOR_KEY_TEXT },
	{ "plugin", "transport", MOR_KEY_TEXT },
	{ "plugin", "version", MOR_KEY_TEXT },
	{ "plugin", "description", MOR_KEY_TEXT },
	{ "env", "*", MOR_KEY_TEXT },
	{ "timeouts", "*", MOR_KEY_DURATION },
	{ "restart", "enabled", MOR_KEY_BOOL },
	{ "restart", "first", MOR_KEY_DURATION },
	{ "restart", "cap", MOR_KEY_DURATION },
	{ "restart", "intensity", MOR_KEY_UINT },
	{ "restart", "clean", MOR_KEY_UINT },
	{ "restart", "period", MOR_KEY_DURATION },
	{ "cancel", "method", MOR_KEY_TEXT },
	{ "cancel", "member", MOR_KEY_TEXT },
	{ "cancel", "grace", MOR_KEY_DURATION },
	{ "stop", "bye", MOR_KEY_DURATION },
	{ "stop", "term", MOR_KEY_DURATION },
	{ "stop", "kill", MOR_KEY_DURATION },
	{ "health", "every", MOR_KEY_DURATION },
	{ "grpc", "start", MOR_KEY_DURATION },
	{ "grpc", "cookie_key", MOR_KEY_TEXT },
	{ "grpc", "cookie_value", MOR_KEY_TEXT },
	{ "grpc", "versions", MOR_KEY_TEXT },
	{ "grpc", "proto", MOR_KEY_TEXT },
	{ "limits", "in_flight", MOR_KEY_UINT },
	{ "limits", "frame", MOR_KEY_BYTES },
	{ "limits", "send", MOR_KEY_BYTES },
	{ "limits", "queue", MOR_KEY_BYTES },
	{ "limits", "depth", MOR_KEY_UINT },
	{ "limits", "session", MOR_KEY_DURATION },
	/* Their meaning is in policy/policy.c. A test compares the two tables. */
	{ "sandbox", "level", MOR_KEY_TEXT },
	{ "sandbox", "on_denial", MOR_KEY_TEXT },
	{ "sandbox", "unconfined", MOR_KEY_BOOL },
	{ "sandbox", "workspace", MOR_KEY_TEXT },
	{ "sandbox", "workspace_write", MOR_KEY_BOOL },
	{ "sandbox", "protected_paths", MOR_KEY_TEXTS },
	{ "sandbox", "unprotect", MOR_KEY_TEXTS },
	{ "sandbox", "git", MOR_KEY_BOOL },
	{ "sandbox", "scratch", MOR_KEY_TEXT },
	{ "sandbox", "undo", MOR_KEY_TEXT },
	{ "sandbox", "read", MOR_KEY_TEXTS },
	{ "sandbox", "network", MOR_KEY_NETWORK },
	{ "sandbox", "spawn", MOR_KEY_BOOL },
	{ "sandbox", "quiet_tmp", MOR_KEY_BOOL },
	{ "sandbox", "pidns", MOR_KEY_BOOL },
	{ "sandbox", "view", MOR_KEY_BOOL },
	{ "sandbox", "memory", MOR_KEY_BYTES },
	{ "sandbox", "cpu", MOR_KEY_DURATION },
	{ "sandbox", "files", MOR_KEY_UINT },
	{ "sandbox", "file_size", MOR_KEY_BYTES },
	{ "sandbox", "wall", MOR_KEY_DURATION },
	{ "sandbox", "processes", MOR_KEY_UINT },
	{ "sandbox", "threads", MOR_KEY_UINT },
	{ "sandbox", "scratch_size", MOR_KEY_BYTES },
	{ "quirks", "*", MOR_KEY_ANY },
	{ "config", "*", MOR_KEY_ANY },
};
#define KEYS (sizeof(keys) / sizeof(*keys))

bool mor_key_is_nested(const char *section)
{
	return strcmp(section, "timeouts") == 0 || strcmp(section, "quirks") == 0;
}

/* The nearest name among the keys of `section`, or among the sections if it is NULL. */
static const char *nearest_key(const char *section, const char *word)
{
	struct mor_nearest near = { .word = word };

	for (size_t i = 0; i < KEYS; i++) {
		if (!section || strcmp(keys[i].section, section) == 0)
			mor_nearest_offer(&near, section ? keys[i].key : keys[i].section);
	}
	return mor_nearest_best(&near);
}

static void list_names(const char *section, struct mor_buf *out)
{
	const char *last = "";

	for (size_t i = 0; i < KEYS; i++) {
		const char *name = section ? keys[i].key : keys[i].section;

		if ((section && strcmp(keys[i].section, section) != 0) || strcmp(name, last) == 0)
			continue;
		mor_buf_printf(out, "%s%s", out->len ? ", " : "", name);
		last = name;
	}
	mor_buf_byte(out, '\0');
}

static int unknown_key(const char *origin, int code, const char *section, const char *word, mortise_error *err)
{
	struct mor_buf names = MOR_BUF_INIT;
	const char *near = nearest_key(section, word);
	char quoted[64], what[64] = "no section";

	mor_excerpt(mor_slice_of(word), quoted, sizeof(quoted));
	if (section)
		snprintf(what, sizeof(what), "[%s] has no key", section);
	list_names(section, &names);
	if (near)
		mor_fail(err, code, "%s: %s \"%s\": did you mean \"%s\"?", origin, what, quoted, near);
	else
		mor_fail(err, code, "%s: %s \"%s\": use one of %s", origin, what, quoted,
			 names.data ? names.data : "");
	mor_buf_fini(&names);
	return code;
}

int mor_key_section(const char *origin, int code, const char *section, mortise_error *err)
{
	for (size_t i = 0; i < KEYS; i++)
		if (strcmp(keys[i].section, section) == 0)
			return 0;
	for (size_t i = 0; i < KEYS; i++)
		if (strcmp(keys[i].section, "plugin") == 0 && strcmp(keys[i].key, section) == 0)
			return mor_fail(err, code, "%s: \"%s\" is in no section: write it below [plugin]",
					origin, section);
	return unknown_key(origin, code, NULL, section, err);
}

int mor_key_find(const char *origin, int code, const char *section, const char *key, enum mor_key_type *ret,
		 mortise_error *err)
{
	int r = mor_key_section(origin, code, section, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < KEYS; i++) {
		bool any = strcmp(keys[i].key, "*") == 0;

		if (strcmp(keys[i].section, section) == 0 && (any || strcmp(keys[i].key, key) == 0)) {
			*ret = keys[i].type;
			return 0;
		}
	}
	return unknown_key(origin, code, section, key, err);
}
