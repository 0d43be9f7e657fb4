/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a plugin. INHERIT: the host's. CLEAN: the few names below. JAIL, for confined plugins:
 * even fewer, so that they get no path, token or loader variable of ours; mortise-jail adds HOME and TMPDIR and
 * makes their directory. BARE: PATH and NO_COLOR. Then come MORTISE_DIALECT (tells an SDK which dialect to
 * speak; not with BARE), the manifest's variables, and the user's. A later one wins. Python must not write its
 * bytecode among the files of an installed plugin: they would not be the approved ones any more.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/hash.h"
#include "guard/env.h"
#include "guard/guarded.h"
#include "guard/sandbox.h"

static const char *const clean_names[] = { "PATH",     "HOME", "USER", "LOGNAME", "LANG", "LC_ALL",
					   "LC_CTYPE", "TZ",   "TERM", "TMPDIR",  NULL };
static const char *const jail_names[] = { "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", NULL }; /* and LC_* */
/* The system's own settings of git may hold tokens: they cannot be read. */
#define NO_BYTECODE "PYTHONDONTWRITEBYTECODE=1"
static const char *const jail_values[] = { "PATH=/usr/bin:/bin", "SHELL=/bin/sh",      "GIT_CONFIG_NOSYSTEM=1",
					   "TERM=dumb",          "NO_COLOR=1",         NO_BYTECODE,
					   "PYTHONNOUSERSITE=1", "PYTHONUNBUFFERED=1", NULL };

struct env {
	char **list;
	size_t count, cap;
	bool failed;
};

/* Asked of every pair of entries: strcspn() builds a table first, and was a tenth of `mortise call`. */
static size_t name_len(const char *entry)
{
	return (size_t)(strchrnul(entry, '=') - entry);
}

static void put_entry(struct env *env, const char *entry)
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

static bool is_named(const char *const *names, const char *entry)
{
	for (const char *const *name = names; *name; name++) {
		if (strlen(*name) == name_len(entry) && memcmp(*name, entry, name_len(entry)) == 0)
			return true;
	}
	return false;
}

/* If Python may not read the directory of its script, it must not look for modules there: the jail
 * would end it. */
#define SAFE_PATH "PYTHONSAFEPATH=1"

enum base { INHERIT, CLEAN, JAIL, BARE };

static enum base base_of(const struct mor_guarded *guarded)
{
	if (guarded->flags & MORTISE_INHERIT_ENV)
		return INHERIT;
	if (guarded->dialect->life.env == MOR_ENVIRON_BARE)
		return BARE;
	if (mor_policy_confined(&guarded->policy))
		return JAIL;
	return guarded->dialect->life.env == MOR_ENVIRON_CLEAN || guarded->flags & MORTISE_CLEAN_ENV ? CLEAN :
												       INHERIT;
}

static bool passes_base(enum base base, const char *entry)
{
	if (base == JAIL)
		return is_named(jail_names, entry) || strncmp(entry, "LC_", 3) == 0;
	return base == INHERIT || is_named(clean_names, entry);
}

/* Who it is: also the name in the /etc/passwd that it is shown. */
static void put_user(struct env *env)
{
	char memory[1024], entry[300];
	struct passwd user, *found = NULL;
	const char *name = getenv("USER");

	if (!name || !*name)
		name = getenv("LOGNAME");
	if ((!name || !*name) && geteuid() == 0)
		name = "root"; /* no look-up, which would take longer than everything else here */
	if ((!name || !*name) && getpwuid_r(geteuid(), &user, memory, sizeof(memory), &found) == 0 && found)
		name = found->pw_name;
	if (!name || !*name)
		name = "user";
	snprintf(entry, sizeof(entry), "USER=%.256s", name);
	put_entry(env, entry);
	snprintf(entry, sizeof(entry), "LOGNAME=%.256s", name);
	put_entry(env, entry);
}

/* A confined program gets a PATH of the system's own directories only. */
static void put_bare(struct env *env, bool confined)
{
	const char *path = getenv("PATH");
	MOR_CLEAN(mor_buf) struct mor_buf entry = MOR_BUF_INIT;

	put_entry(env, "NO_COLOR=1");
	if (confined || !path || mor_buf_printf(&entry, "PATH=%s", path) < 0 || mor_buf_byte(&entry, '\0') < 0)
		put_entry(env, jail_values[0]);
	else
		put_entry(env, entry.data);
}

static void put_base(struct env *env, enum base base)
{
	if (base == JAIL)
		put_user(env);
	for (char **entry = environ; entry && *entry; entry++) {
		if (passes_base(base, *entry))
			put_entry(env, *entry);
	}
	for (const char *const *entry = jail_values; base == JAIL && *entry; entry++)
		put_entry(env, *entry);
}

char **mor_env_jail(bool safe_path, const char *const *more)
{
	struct env env = { 0 };

	put_base(&env, JAIL);
	if (safe_path)
		put_entry(&env, SAFE_PATH);
	for (; more && *more; more++) {
		size_t len = name_len(*more);
		const char *const *entry = NULL;

		/* NAME alone: our value, if there is one. */
		for (char **ours = environ; !(*more)[len] && ours && *ours; ours++)
			if (name_len(*ours) == len && !memcmp(*ours, *more, len))
				entry = (const char *const *)ours;
		if ((*more)[len] || entry)
			put_entry(&env, (*more)[len] ? *more : *entry);
	}
	if (!env.failed)
		return env.list;
	mor_texts_free(env.list);
	return NULL;
}

/* Puts DIR before the value that NAME has already (PYTHONPATH). If confined, NAME has no value of ours. */
static void put_front(struct env *env, const char *entry)
{
	size_t len = name_len(entry);
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	mor_buf_text(&text, entry);
	for (size_t i = 0; i < env->count; i++)
		if (name_len(env->list[i]) == len && memcmp(env->list[i], entry, len) == 0 &&
		    env->list[i][len + 1])
			mor_buf_printf(&text, ":%s", env->list[i] + len + 1);
	mor_buf_byte(&text, '\0');
	if (mor_buf_failed(&text))
		env->failed = true;
	else
		put_entry(env, text.data);
}

/* A confined plugin cannot reach a directory that we would make for it: it gets its scratch
 * directory instead. */
static void put_manifest(struct env *env, const struct mor_guarded *guarded, const char *entry)
{
	size_t len = name_len(entry);
	char text[100];

	for (char **dir = guarded->manifest->make_dirs; dir && *dir; dir++) {
		if (strcmp(entry + len + 1, *dir) != 0 || len > 60 || base_of(guarded) != JAIL)
			continue;
		snprintf(text, sizeof(text), "%.*s=${scratch}", (int)len, entry);
		put_entry(env, text);
		return;
	}
	put_entry(env, entry);
}

static void fill_env(struct env *env, const struct mor_guarded *guarded)
{
	char dialect[64];

	if (base_of(guarded) == BARE)
		put_bare(env, mor_policy_confined(&guarded->policy));
	else
		put_base(env, base_of(guarded));
	if (base_of(guarded) == JAIL &&
	    mor_sandbox_hides_modules(&guarded->policy, (const char *const *)guarded->manifest->argv,
				      guarded->manifest->cwd))
		put_entry(env, SAFE_PATH);
	snprintf(dialect, sizeof(dialect), "MORTISE_DIALECT=%s", guarded->dialect->name);
	if (base_of(guarded) != BARE)
		put_entry(env, dialect);
	if (guarded->vetting)
		put_entry(env, NO_BYTECODE);
	for (char **entry = guarded->manifest->env_front; entry && *entry; entry++)
		put_front(env, *entry);
	for (char **entry = guarded->manifest->env; entry && *entry; entry++)
		put_manifest(env, guarded, *entry);
}

/* ---- shared ---- */

static struct mor_env *pack_env(const struct env *env)
{
	struct mor_env *packed;
	size_t len = 0;
	char *to;

	for (size_t i = 0; i < env->count; i++)
		len += strlen(env->list[i]) + 1;
	packed = mor_alloc(sizeof(*packed) + (env->count + 1) * sizeof(*packed->list) + len);
	if (!packed)
		return NULL;
	mor_list_init(&packed->node);
	packed->refs = 1;
	packed->len = len;
	to = (char *)&packed->list[env->count + 1];
	for (size_t i = 0; i < env->count; i++) {
		size_t size = strlen(env->list[i]) + 1;

		packed->list[i] = memcpy(to, env->list[i], size);
		to += size;
	}
	packed->list[env->count] = NULL;
	packed->sum = mor_hash(&packed->list[env->count + 1], len);
	return packed;
}

/* Takes `env`. The same or an equal one. */
static struct mor_env *share_env_take(struct mor_list *all, struct mor_env *env)
{
	MOR_LIST_EACH(node, after, all) {
		struct mor_env *known = mor_container_of(node, struct mor_env, node);

		if (known->sum != env->sum || known->len != env->len ||
		    (env->len && memcmp(known->list[0], env->list[0], env->len) != 0))
			continue;
		known->refs++;
		mor_env_unref(env);
		return known;
	}
	mor_list_append(all, &env->node);
	return env;
}

struct mor_env *mor_env_unref(struct mor_env *env)
{
	if (env && --env->refs == 0) {
		mor_list_remove(&env->node);
		mor_free(env);
	}
	return NULL;
}

struct mor_env *mor_env_build(const struct mor_guarded *guarded, struct mor_list *known)
{
	struct env env = { 0 };
	struct mor_env *packed = NULL;

	fill_env(&env, guarded);
	if (!env.failed)
		packed = pack_env(&env);
	mor_texts_free(env.list);
	return packed ? share_env_take(known, packed) : NULL;
}
