/* SPDX-License-Identifier: Apache-2.0 */
/* The policy: one table of keys, and the struct that it fills. */
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "policy/protect.h"

#define AT(field) offsetof(struct mor_policy, field)
#define RULE      (MOR_POLICY_SETTING | MOR_POLICY_RULE)
#define LIMIT     (MOR_POLICY_SETTING | MOR_POLICY_LIMIT)

const struct mor_policy_key mor_policy_keys[] = {
	{ "level", MOR_POLICY_LEVEL, MOR_POLICY_SETTING, AT(level), "auto", NULL, "%s", NULL },
	{ "on_denial", MOR_POLICY_DENIAL, MOR_POLICY_SETTING, AT(on_denial), "deny", NULL,
	  "the first thing that is not permitted kills it", "what is not permitted fails, and it goes on" },
	{ "unconfined", MOR_POLICY_BOOL, MOR_POLICY_SETTING, AT(unconfined), "false", NULL, NULL, NULL },
	{ "workspace", MOR_POLICY_PATH, RULE, AT(workspace), NULL, NULL, "may read the workspace %s",
	  "has no workspace" },
	{ "workspace_write", MOR_POLICY_BOOL, RULE, AT(workspace_write), "false", "permissions.workspace_write",
	  "may write in the workspace", "may not write in the workspace" },
	{ "protected_paths", MOR_POLICY_NAMES, RULE, AT(protected_paths), "", NULL,
	  "may not write these, anywhere in it: %s", NULL },
	{ "unprotect", MOR_POLICY_NAMES, RULE, AT(unprotect), NULL, NULL, "... but may write these of them: %s",
	  NULL },
	{ "git", MOR_POLICY_BOOL, RULE, AT(git), "false", NULL,
	  "may commit: write objects, refs, index and logs of git repositories in it", NULL },
	{ "plugin_dir", MOR_POLICY_PATH, 0, AT(plugin_dir), NULL, NULL, "may read its own directory %s", NULL },
	{ "scratch", MOR_POLICY_PATH, RULE, AT(scratch), NULL, NULL, "may write its scratch directory %s",
	  "may write its own scratch directory, which is removed at the end" },
	{ "undo", MOR_POLICY_PATH, MOR_POLICY_SETTING, AT(undo), NULL, NULL,
	  "what it changes in the workspace can be undone", NULL },
	{ "read", MOR_POLICY_PATHS, RULE, AT(read_paths), NULL, "permissions.declared_paths",
	  "may read, with everything below: %s", "may read nothing else, except the system's libraries" },
	{ "network", MOR_POLICY_NETWORK, RULE, AT(network), "false",
	  "permissions.network, capabilities.network",
	  "may use the network: any host, also this machine's own services and the cloud's metadata service",
	  "may not use the network" },
	{ "spawn", MOR_POLICY_BOOL, RULE, AT(spawn), "false", NULL,
	  "may start programs; they are confined in the same way", "may not start programs" },
	{ "quiet_tmp", MOR_POLICY_BOOL, RULE, AT(quiet_tmp), "false", NULL,
	  "may try to write in /tmp: that fails, but is not a violation", NULL },
	{ "pidns", MOR_POLICY_BOOL, MOR_POLICY_SETTING, AT(pidns), "false", NULL,
	  "runs in its own PID namespace", NULL },
	{ "view", MOR_POLICY_BOOL, MOR_POLICY_SETTING, AT(view), "false", NULL,
	  "also sees the files that its host puts over the file system, read-only", NULL },
	{ "memory", MOR_POLICY_BYTES, LIMIT, AT(limits.memory_bytes), NULL, NULL, "memory: at most %s", NULL },
	{ "cpu", MOR_POLICY_SECONDS, LIMIT, AT(limits.cpu_s), NULL, NULL, "processor time: at most %s", NULL },
	{ "files", MOR_POLICY_COUNT, LIMIT, AT(limits.open_files), "256", NULL, "open files: at most %s",
	  NULL },
	{ "file_size", MOR_POLICY_BYTES, LIMIT, AT(limits.file_bytes), NULL, NULL,
	  "size of a file it writes: at most %s", NULL },
	{ "wall", MOR_POLICY_DURATION, LIMIT, AT(limits.wall_ms), NULL, NULL, "run time: at most %s", NULL },
	{ "processes", MOR_POLICY_COUNT, LIMIT, AT(limits.processes), "64", NULL, "processes: at most %s",
	  NULL },
	{ "threads", MOR_POLICY_COUNT, LIMIT, AT(limits.threads), "512", NULL,
	  "threads of all its processes: at most %s", NULL },
	{ "scratch_size", MOR_POLICY_BYTES, LIMIT, AT(limits.scratch_bytes), "1G", NULL,
	  "what it keeps in its scratch directory: at most %s", NULL },
	{ 0 },
};

static const char *const levels[] = {
	[MOR_LEVEL_GUARDED] = "guarded",
	[MOR_LEVEL_AUTO] = "auto",
	[MOR_LEVEL_T0] = "t0",
	[MOR_LEVEL_T1] = "t1",
};
#define LEVELS (sizeof(levels) / sizeof(*levels))

const char *mor_level_name(enum mor_level level)
{
	return (unsigned)level < LEVELS ? levels[level] : "unknown";
}

const char *mor_on_denial_name(enum mor_on_denial on_denial)
{
	return on_denial == MOR_ON_DENIAL_KILL ? "kill" : "deny";
}

static void close_network(struct mor_network *network)
{
	mor_texts_free(network->to);
	mor_free(network->places);
	mor_free(network->hosts);
	*network = (struct mor_network){ 0 };
}

void mor_policy_fini(struct mor_policy *policy)
{
	mor_free(policy->workspace);
	mor_free(policy->plugin_dir);
	mor_free(policy->scratch);
	mor_free(policy->undo);
	mor_texts_free(policy->read_paths);
	mor_texts_free(policy->protected_paths);
	close_network(&policy->network);
	mor_texts_free(policy->unprotect);
	mor_texts_free(policy->policy_files);
	mor_free(policy->undo_home);
	mor_texts_free(policy->command_files);
	*policy = (struct mor_policy)MOR_POLICY_INIT;
}

const struct mor_policy_key *mor_policy_key(const char *name)
{
	for (const struct mor_policy_key *key = mor_policy_keys; key->name; key++)
		if (strcmp(key->name, name) == 0)
			return key;
	return NULL;
}

/* ---- setting ---- */

static int wrong_value(const struct mor_policy_key *key, const char *value, const char *wanted,
		       mortise_error *err)
{
	char shown[160];

	return mor_fail(err, MORTISE_EMANIFEST, "%s is \"%s\": it must be %s", key->name,
			mor_excerpt(mor_slice_of(value), shown, sizeof(shown)), wanted);
}

/* "." and ".." in a rule would have another meaning for code that compares names. */
static bool has_dots(const char *path)
{
	for (const char *part = path; *part; part += strspn(part, "/")) {
		size_t len = strcspn(part, "/");

		if ((len == 1 && part[0] == '.') || (len == 2 && part[0] == '.' && part[1] == '.'))
			return true;
		part += len;
	}
	return false;
}

/* "~/x" is below $HOME, because manifests are written for any user. */
static int expand_home(const struct mor_policy_key *key, const char *value, char **ret, mortise_error *err)
{
	struct mor_buf path = MOR_BUF_INIT;
	const char *home = getenv("HOME");

	if (value[0] == '~' && (value[1] == '/' || !value[1])) {
		if (!home || home[0] != '/')
			return wrong_value(key, value, "an absolute path, as HOME is not set", err);
		mor_buf_printf(&path, "%s%s", home, value + 1);
	} else if (value[0] == '/') {
		mor_buf_text(&path, value);
	} else {
		return wrong_value(key, value, "an absolute path, or one that begins with \"~/\"", err);
	}
	while (path.len > 1 && path.data[path.len - 1] == '/')
		path.len--;
	*ret = mor_buf_detach(&path);
	return *ret ? 0 : mor_fail_memory(err);
}

static int set_path(const struct mor_policy_key *key, const char *value, char **field, mortise_error *err)
{
	char *path = NULL;
	int r = *value ? expand_home(key, value, &path, err) : 0; /* "": none */

	if (r < 0)
		return r;
	mor_free(*field);
	*field = path;
	return 0;
}

static int add_text(char ***list, char *text, mortise_error *err)
{
	return mor_texts_push_take(list, text) < 0 ? mor_fail_memory(err) : 0;
}

/* `protected_paths = []` differs from no value: then nothing is protected. */
static int make_empty(const struct mor_policy_key *key, char ***list, mortise_error *err)
{
	char **empty;

	if (key->type != MOR_POLICY_PATHS && key->type != MOR_POLICY_NAMES)
		return mor_fail(err, MORTISE_EMANIFEST, "%s has no value", key->name);
	empty = mor_zalloc(sizeof(*empty));
	if (!empty)
		return mor_fail_memory(err);
	mor_texts_free(*list);
	*list = empty;
	return 0;
}

static int add_name(const struct mor_policy_key *key, const char *value, char ***list, mortise_error *err)
{
	char *copy;

	if (!*value || *value == '/' || *value == '~' || has_dots(value))
		return wrong_value(key, value, "relative to the workspace, without \".\" and \"..\"", err);
	copy = mor_strdup(value);
	return copy ? add_text(list, copy, err) : mor_fail_memory(err);
}

static int set_level(struct mor_policy *policy, const struct mor_policy_key *key, const char *value,
		     mortise_error *err)
{
	for (size_t i = 0; i < LEVELS; i++) {
		if (strcmp(levels[i], value) != 0)
			continue;
		policy->level = (enum mor_level)i;
		policy->level_given = true;
		return 0;
	}
	return wrong_value(key, value, "one of guarded, auto, t0, t1", err);
}

static int set_on_denial(struct mor_policy *policy, const struct mor_policy_key *key, const char *value,
			 mortise_error *err)
{
	bool deny = strcmp(value, "deny") == 0;

	if (!deny && strcmp(value, "kill") != 0)
		return wrong_value(key, value, "kill or deny", err);
	if (deny && policy->always_kill)
		return mor_fail(err, MORTISE_EMANIFEST,
				"on_denial cannot be \"deny\" for this plugin: its specification ends it after "
				"the first violation");
	policy->on_denial = deny ? MOR_ON_DENIAL_DENY : MOR_ON_DENIAL_KILL;
	policy->on_denial_given = true;
	return 0;
}

static int set_bool(struct mor_policy *policy, const struct mor_policy_key *key, const char *value, bool *field,
		    mortise_error *err)
{
	bool on = strcmp(value, "true") == 0;

	if (!on && strcmp(value, "false") != 0)
		return wrong_value(key, value, "true or false", err);
	if (on && policy->never_spawn && field == &policy->spawn)
		return mor_fail(
			err, MORTISE_EMANIFEST,
			"spawn cannot be granted to this plugin: its specification (plugin.toml) denies it to "
			"all");
	*field = on;
	return 0;
}

static int add_place(struct mor_network *network, const struct mor_policy_key *key, struct mor_slice text,
		     mortise_error *err)
{
	struct mor_net_word word;
	char *copy = mor_strndup(text.ptr, text.len);
	int r;

	if (!copy)
		return mor_fail_memory(err);
	if (mor_net_parse(text, &word))
		return add_text(&network->to, copy, err);
	r = wrong_value(key, copy, MOR_NET_WANTED, err);
	mor_free(copy);
	return r;
}

/* true, false, or places with commas between them. */
static int set_network(struct mor_network *network, const struct mor_policy_key *key, const char *value,
		       mortise_error *err)
{
	bool all = strcmp(value, "true") == 0;
	int r = 0;

	if (all || strcmp(value, "false") == 0) {
		close_network(network);
		network->all = all;
		return 0;
	}
	for (const char *at = value; r == 0 && at; at = *at ? at + 1 : NULL) {
		size_t len = strcspn(at, ",");

		r = add_place(network, key, mor_slice_trim((struct mor_slice){ at, len }, " \t"), err);
		at += len;
	}
	network->all = false;
	return r;
}

/* 0 means "the default" in the struct. So the value 0 would allow what it seems to forbid. */
static int set_number(const struct mor_policy_key *key, const char *value, void *field, mortise_error *err)
{
	struct mor_slice text = mor_slice_of(value);
	uint64_t size = 0;
	uint32_t number = 0;

	switch (key->type) {
	case MOR_POLICY_BYTES:
		if (!mor_parse_bytes(text, &size) || size == 0)
			return wrong_value(key, value, "a size above 0, such as 4096, 64K or 10M", err);
		*(uint64_t *)field = size;
		return 0;
	case MOR_POLICY_COUNT:
		if (!mor_parse_u32(text, &number) || number == 0)
			return wrong_value(key, value, "a whole number above 0", err);
		break;
	default:
		if (!mor_parse_duration_ms(text, &number) || number == 0)
			return wrong_value(key, value, "a time above 0, such as 500ms, 30s or 2m", err);
		if (key->type == MOR_POLICY_SECONDS)
			number = number / 1000 + (number % 1000 != 0);
	}
	*(uint32_t *)field = number;
	return 0;
}

static int set_key(struct mor_policy *policy, const struct mor_policy_key *key, const char *value,
		   mortise_error *err)
{
	void *field = (char *)policy + key->offset;
	char *path = NULL;
	int r;

	if (!value && key->type == MOR_POLICY_NETWORK) /* an empty list allows nothing */
		return set_network(field, key, "false", err);
	if (!value)
		return make_empty(key, field, err);
	switch (key->type) {
	case MOR_POLICY_LEVEL:
		return set_level(policy, key, value, err);
	case MOR_POLICY_DENIAL:
		return set_on_denial(policy, key, value, err);
	case MOR_POLICY_BOOL:
		return set_bool(policy, key, value, field, err);
	case MOR_POLICY_NETWORK:
		return set_network(field, key, value, err);
	case MOR_POLICY_PATH:
		return set_path(key, value, field, err);
	case MOR_POLICY_PATHS:
		r = expand_home(key, value, &path, err);
		return r < 0 ? r : add_text(field, path, err);
	case MOR_POLICY_NAMES:
		return add_name(key, value, field, err);
	default:
		return set_number(key, value, field, err);
	}
}

int mor_policy_set(struct mor_policy *policy, const char *name, const char *value, mortise_error *err)
{
	const struct mor_policy_key *key = mor_policy_key(name);
	int r;

	if (!key)
		return mor_fail(err, MORTISE_EMANIFEST, "there is no permission \"%.60s\"", name);
	r = set_key(policy, key, value, err);
	if (r == 0 && (key->flags & MOR_POLICY_RULE))
		policy->rules_given = true;
	return r;
}

/* Rules without a level ask for confinement: a user who writes network = false wants it enforced. */
int mor_policy_finish(struct mor_policy *policy, bool confined, mortise_error *err)
{
	if (!policy->on_denial_given)
		policy->on_denial = policy->always_kill ? MOR_ON_DENIAL_KILL : MOR_ON_DENIAL_DENY;
	if (policy->unconfined) {
		policy->level = MOR_LEVEL_GUARDED;
		policy->level_given = true;
		return 0;
	}
	if (!policy->level_given)
		policy->level = confined || policy->rules_given ? MOR_LEVEL_AUTO : MOR_LEVEL_GUARDED;
	if (policy->view && policy->level == MOR_LEVEL_T0)
		return mor_fail(
			err, MORTISE_EMANIFEST,
			"view is true, but level t0 cannot switch mounts (Landlock forbids them): use guarded, "
			"auto or t1");
	if (policy->undo && (!mor_policy_confined(policy) || policy->view))
		return mor_fail(
			err, MORTISE_EMANIFEST,
			"undo is set, but only changes of a confined plugin without a view can be undone");
	if (policy->workspace_write && !policy->workspace && !policy->workspace_later &&
	    mor_policy_confined(policy))
		return mor_fail(err, MORTISE_EMANIFEST,
				"workspace_write is true, but there is no workspace: set workspace");
	/* Only what is on the list can be taken off it: a misspelt name would be believed to be writable. */
	for (char **name = policy->unprotect; name && *name; name++)
		if (!mor_protected_knows(*name))
			return wrong_value(mor_policy_key("unprotect"), *name,
					   "one of the protected names, such as .vscode or .git", err);
	return 0;
}

/* ---- what holds ---- */

#define FILES_DEFAULT     256
#define PROCESSES_DEFAULT 64
#define THREADS_DEFAULT   512
#define SCRATCH_DEFAULT   (1ull << 30)

struct mor_limits mor_policy_limits(const struct mor_policy *policy)
{
	struct mor_limits limits = policy->limits;

	if (!mor_policy_confined(policy)) {
		limits.scratch_bytes = 0; /* it has none of its own */
		return limits;
	}
	if (!limits.open_files)
		limits.open_files = FILES_DEFAULT;
	/* Without spawn there is one process; the filter enforces that. */
	if (!limits.processes && (policy->spawn || policy->learn))
		limits.processes = PROCESSES_DEFAULT;
	/* Each process has a thread: a user who allows more processes has allowed their threads. */
	if (!limits.threads)
		limits.threads = limits.processes > THREADS_DEFAULT ? limits.processes : THREADS_DEFAULT;
	/* A directory that somebody names may have held more before. */
	if (!limits.scratch_bytes && !policy->scratch)
		limits.scratch_bytes = SCRATCH_DEFAULT;
	return limits;
}

const char *const *mor_policy_protected(const struct mor_policy *policy)
{
	return policy->protected_paths ? (const char *const *)policy->protected_paths : mor_protected_names;
}

static bool lies_in(const char *path, const char *dir)
{
	size_t len = dir ? strlen(dir) : 0;

	while (len > 1 && dir[len - 1] == '/')
		len--;
	if (len == 1) /* "/" */
		return true;
	return len && strncmp(path, dir, len) == 0 && (path[len] == '/' || !path[len]);
}

bool mor_policy_writes_own_code(const struct mor_policy *policy)
{
	return mor_policy_confined(policy) && policy->workspace && policy->workspace_write &&
	       policy->plugin_dir && lies_in(policy->workspace, policy->plugin_dir);
}

bool mor_policy_covers(const struct mor_policy *policy, const char *path)
{
	if (!mor_policy_confined(policy) || lies_in(path, policy->workspace) ||
	    lies_in(path, policy->plugin_dir) || lies_in(path, policy->scratch))
		return true;
	for (char **dir = policy->read_paths; dir && *dir; dir++)
		if (lies_in(path, *dir))
			return true;
	return false;
}
