/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the policy from the settings in force, key by key in the order of the table. */
#include "guard/sandbox.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/xdg.h"
#include "policy/protect.h"
#include "program/resolve.h"

/* "mortise.toml:7: sandbox.read is ...". An error on the command line is the user's mistake, not a file's. */
static int blame(const struct mor_setting *s, int code, const mortise_error *why, mortise_error *err)
{
	if (code == MORTISE_EMANIFEST && mor_setting_was_given(s))
		code = MORTISE_EINVAL;
	return mor_fail(err, code, "%s: sandbox.%s", s->origin, why->text);
}

static int apply_list(struct mor_policy *policy, const struct mor_setting *s, mortise_error *why)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_doc_parse(mor_slice_of(s->json), 0, 0, &doc, why);
	struct mor_json_iter it;

	if (r < 0)
		return r;
	r = mor_policy_set(policy, s->key, NULL, why);
	it = mor_json_iter(mor_doc_root(doc));
	while (r == 0 && mor_json_next(&it))
		r = mor_policy_set(policy, s->key, mor_json_text(it.value, ""), why);
	return r;
}

/* Somebody approved it as a confined plugin: its own file cannot say otherwise. */
static bool frees_itself(const struct mor_policy_key *key, const struct mor_setting *s)
{
	return mor_setting_came_along(s) &&
	       (strcmp(key->name, "unconfined") == 0 ||
		(strcmp(key->name, "level") == 0 && s->text && strcmp(s->text, "guarded") == 0));
}

/* If the specification requires a sandbox, users approve what the manifest asks for. A second file beside it
 * must not secretly ask for more. Limits only take away. */
static int check_source(const struct mor_manifest *m, const struct mor_policy_key *key,
			const struct mor_setting *s, mortise_error *err)
{
	if (!m->file || (key->flags & MOR_POLICY_LIMIT) || !mor_setting_came_along(s))
		return 0;
	return mor_fail(err, MORTISE_EMANIFEST,
			"%s: sandbox.%s: this plugin's permissions are those of its manifest; to change them, "
			"use %s or mortise/plugins/%s.toml in your own configuration",
			s->origin, key->name, m->embedded ? "the settings of the option set" : "--set",
			m->name);
}

static int apply(struct mor_policy *policy, const struct mor_policy_key *key, const struct mor_setting *s,
		 mortise_error *err)
{
	mortise_error why = { 0 };
	int r;

	if (key->type == MOR_POLICY_PATHS || key->type == MOR_POLICY_NAMES ||
	    (key->type == MOR_POLICY_NETWORK && s->json[0] == '['))
		r = apply_list(policy, s, &why);
	else
		r = mor_policy_set(policy, key->name, s->text ? s->text : s->json, &why);
	return r < 0 ? blame(s, r, &why, err) : 0;
}

/* ---- not in the settings ---- */

static enum mor_policy_source source_of(const struct mor_manifest *m)
{
	const char *slash = m->file ? strrchr(m->file, '/') : NULL;

	if (slash && strcmp(slash + 1, "plugin.toml") == 0)
		return MOR_POLICY_OF_PLUGIN_TOML;
	if (slash && strcmp(slash + 1, "sunscreen-plugin.json") == 0)
		return MOR_POLICY_OF_SUNSCREEN_JSON;
	if (m->dir)
		return MOR_POLICY_OF_SETTINGS;
	return m->embedded ? MOR_POLICY_OF_OPTIONS : MOR_POLICY_OF_LINE;
}

static int keep_path(char **field, const char *path)
{
	char real[PATH_MAX];
	char *copy = mor_strdup(realpath(path, real) ? real : path);

	if (!copy)
		return MORTISE_ENOMEM;
	mor_free(*field);
	*field = copy;
	return 0;
}

/* Of a name that the plugin sees from its own directory. */
static bool true_name(const char *name, const char *cwd, char real[PATH_MAX])
{
	char whole[PATH_MAX];

	if (name[0] == '/' || !cwd)
		return realpath(name, real);
	return snprintf(whole, sizeof(whole), "%s/%s", cwd, name) < (int)sizeof(whole) && realpath(whole, real);
}

/* `-- python3 ./x.py`: python is executed, but without x.py it can do nothing. The same for ./x.py alone. */
static int grant_script(const struct mor_manifest *m, struct mor_policy *policy)
{
	size_t at = mor_manifest_script((const char *const *)m->argv);
	char real[PATH_MAX];
	bool given = policy->rules_given;
	int r;

	if (m->dir || (!at && !mor_program_is_source(m->argv[0])) || !true_name(m->argv[at], m->cwd, real))
		return 0;
	r = mor_policy_set(policy, "read", real, NULL);
	policy->rules_given = given; /* we granted this; the user did not ask for confinement */
	return r;
}

static int fill_places(const struct mor_manifest *m, struct mor_policy *policy)
{
	int r = m->dir ? keep_path(&policy->plugin_dir, m->dir) : 0;

	if (r == 0 && policy->workspace)
		r = keep_path(&policy->workspace, policy->workspace);
	return r < 0 ? r : grant_script(m, policy);
}

/* ---- what it must not change although it may write the workspace ---- */

/* Takes `path`. */
static int protect_file_take(char ***list, char *path)
{
	return mor_texts_push_take(list, path) < 0 ? MORTISE_ENOMEM : 0;
}

int mor_sandbox_protect_user(struct mor_policy *policy)
{
	static const struct {
		enum mor_xdg xdg;
		const char *name;
	} places[] = {
		{ MOR_XDG_CONFIG, "mortise" },
		{ MOR_XDG_STATE, "mortise/approvals" },
		{ MOR_XDG_STATE, "mortise/plugins" },
		{ MOR_XDG_DATA, "mortise/plugins" },
		{ MOR_XDG_DATA, "yams/plugins.trust" }, /* what it names, we run (src/kit/trusted) */
		{ MOR_XDG_CONFIG, "yams" },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(places) / sizeof(*places); i++) {
		char *path = NULL;

		r = mor_xdg_path(places[i].xdg, NULL, &path, "%s", places[i].name);
		if (r == 0)
			r = protect_file_take(&policy->policy_files, path);
		if (r == MORTISE_ENOTFOUND) /* no HOME, so no such directories */
			r = 0;
	}
	mor_free(policy->undo_home);
	policy->undo_home = NULL;
	if (r == 0)
		r = mor_xdg_path(MOR_XDG_STATE, NULL, &policy->undo_home, "mortise/undo");
	return r == MORTISE_ENOTFOUND ? 0 : r;
}

/* Files that a manifest's command names. Of a command that was typed only program and script count: what else
 * is named there is what the user wants it to work on. */
static int protect_command(const struct mor_manifest *m, struct mor_policy *policy)
{
	int r = 0;

	for (char **arg = m->argv; r == 0 && m->dir && arg && *arg; arg++) {
		MOR_CLEAN_TEXT char *path = mor_path_join(m->cwd ? m->cwd : m->dir, *arg);
		char real[PATH_MAX];

		if (!path)
			r = MORTISE_ENOMEM;
		else if (mor_path_is_file(path) && realpath(path, real))
			r = protect_file_take(&policy->command_files, mor_strdup(real));
	}
	return r;
}

static int protect_sources(const struct mor_manifest *m, struct mor_policy *policy)
{
	int r = m->file ? protect_file_take(&policy->policy_files, mor_path_absolute(m->file)) : 0;

	if (r == 0 && m->dir)
		r = protect_file_take(&policy->policy_files, mor_path_join(m->dir, "mortise.toml"));
	if (r == 0)
		r = mor_sandbox_protect_user(policy);
	return r == 0 ? protect_command(m, policy) : r;
}

bool mor_sandbox_hides_modules(const struct mor_policy *policy, const char *const *argv, const char *cwd)
{
	size_t at = mor_manifest_script(argv);
	char real[PATH_MAX], *slash;

	if (at ? !true_name(argv[at], cwd, real) : !realpath(cwd ? cwd : ".", real))
		return false;
	slash = at ? strrchr(real, '/') : NULL;
	if (slash)
		slash[slash == real] = '\0';
	return !mor_policy_covers(policy, real);
}

/* ---- warnings ---- */

static int warn_missing(struct mor_manifest *m, const struct mor_policy *policy)
{
	int r = 0;

	for (char **path = policy->read_paths; r == 0 && path && *path; path++)
		if (access(*path, F_OK) < 0)
			r = mor_manifest_warn(m, "%s: there is no such path, so nothing can be read there",
					      *path);
	if (r == 0 && policy->workspace && access(policy->workspace, F_OK) < 0)
		r = mor_manifest_warn(m, "the workspace %s does not exist", policy->workspace);
	return r;
}

static int warn_all(struct mor_manifest *m, const struct mor_policy *policy)
{
	if (policy->unconfined)
		return mor_manifest_warn(
			m, "unconfined: %s may do whatever this user may; none of its permissions are enforced",
			m->name);
	if (policy->rules_given && !mor_policy_confined(policy))
		return mor_manifest_warn(
			m, "sandbox.level is \"guarded\": the other rules of [sandbox] are not enforced");
	return mor_policy_confined(policy) ? warn_missing(m, policy) : 0;
}

int mor_sandbox_load(struct mor_manifest *m, bool confined, struct mor_policy *ret, mortise_error *err)
{
	struct mor_policy policy = {
		.source = source_of(m),
		/* Manifests of such plugins do not name the workspace; the user who runs them does. */
		.workspace_later = confined && m->file && !mor_manifest_setting(m, "sandbox", "workspace"),
	};
	int r = 0;

	/* Its specification forbids starting programs, so no setting may allow it. */
	policy.never_spawn = policy.source == MOR_POLICY_OF_PLUGIN_TOML;
	policy.always_kill = confined && m->file;
	policy.rules_given = m->confine;
	for (const struct mor_policy_key *key = mor_policy_keys; r == 0 && key->name; key++) {
		const struct mor_setting *s = mor_manifest_setting(m, "sandbox", key->name);

		if (!s || !(key->flags & MOR_POLICY_SETTING) || (m->confine && frees_itself(key, s)))
			continue;
		r = confined ? check_source(m, key, s, err) : 0;
		if (r == 0)
			r = apply(&policy, key, s, err);
	}
	if (r == 0 && (r = mor_policy_finish(&policy, confined, err)) == 0) {
		r = fill_places(m, &policy);
		if (r == 0 && mor_protected_wanted(&policy))
			r = protect_sources(m, &policy);
		if (r == 0)
			r = warn_all(m, &policy);
		if (r < 0)
			mor_fail_memory(err);
	}
	if (r == 0)
		*ret = policy;
	else
		mor_policy_fini(&policy);
	return r;
}
