/*
 * The environment of a plugin. INHERIT: the host's. CLEAN: the few names below. On top of either come
 * MORTISE_DIALECT (tells an SDK what is spoken), the manifest's, and the user's; later wins.
 */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "host/host.h"

static const char *const clean_names[] = { "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE",
					   "TZ",   "TERM", "TMPDIR", NULL };

struct env {
	char **list;
	size_t count, cap;
	bool failed;
};

static size_t name_len(const char *entry)
{
	return strcspn(entry, "=");
}

static void put(struct env *env, const char *entry)
{
	size_t len = name_len(entry), i = 0;
	char *copy = mor_strdup(entry);

	if (!copy) {
		env->failed = true;
		return;
	}
	while (i < env->count && (name_len(env->list[i]) != len || memcmp(env->list[i], entry, len) != 0))
		i++;
	if (i < env->count) {
		mor_free(env->list[i]);
		env->list[i] = copy;
		return;
	}
	if (env->count + 2 > env->cap) {
		char **list = mor_realloc(env->list, (env->cap + 64) * sizeof(*list));

		if (!list) {
			mor_free(copy);
			env->failed = true;
			return;
		}
		env->list = list;
		env->cap += 64;
	}
	env->list[env->count++] = copy;
	env->list[env->count] = NULL;
}

static bool is_clean_name(const char *entry)
{
	for (const char *const *name = clean_names; *name; name++) {
		if (strlen(*name) == name_len(entry) && memcmp(*name, entry, name_len(entry)) == 0)
			return true;
	}
	return false;
}

void mor_env_free(char **list)
{
	for (char **entry = list; entry && *entry; entry++)
		mor_free(*entry);
	mor_free(list);
}

char **mor_env_build(const mortise_plugin *plugin)
{
	bool clean = plugin->dialect->env == MOR_ENV_CLEAN;
	struct env env = { 0 };
	char dialect[64] = "MORTISE_DIALECT=";

	if (plugin->flags & MORTISE_CLEAN_ENV)
		clean = true;
	if (plugin->flags & MORTISE_INHERIT_ENV)
		clean = false;
	for (char **entry = environ; entry && *entry; entry++) {
		if (!clean || is_clean_name(*entry))
			put(&env, *entry);
	}
	strncat(dialect, plugin->dialect->name, sizeof(dialect) - strlen(dialect) - 1);
	put(&env, dialect);
	for (char **entry = plugin->manifest->env; entry && *entry; entry++)
		put(&env, *entry);
	if (env.failed) {
		mor_env_free(env.list);
		return NULL;
	}
	return env.list;
}
