/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every process of a run gets: command, environment, policy and a directory for files. Dialects that
 * confine their plugins confine them here too, without network; the directory is then the workspace.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "check/own.h"
#include "program/resolve.h"

/* ---- environment ---- */

static void put_env(struct mor_check_run *run, const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (char **e = run->env; e && *e; e++) {
		if (strncmp(*e, entry, len) == 0 && (*e)[len] == '=') {
			mor_free(*e);
			*e = mor_strdup(entry);
			return;
		}
	}
	(void)mor_texts_push_take(&run->env, mor_strdup(entry));
}

static void put_pair(struct mor_check_run *run, const char *name, const char *value)
{
	MOR_CLEAN_TEXT char *entry = mor_text_format("%s=%s", name, value);

	if (entry)
		put_env(run, entry);
}

static void put_front(struct mor_check_run *run, const char *entry)
{
	MOR_CLEAN_TEXT char *name = mor_strndup(entry, strcspn(entry, "="));
	const char *old = name && !run->confined ? getenv(name) : NULL;
	MOR_CLEAN_TEXT char *joined = old ? mor_text_format("%s:%s", entry, old) : mor_strdup(entry);

	if (joined)
		put_env(run, joined);
}

static void build_env(struct mor_check_run *run)
{
	static const char *const jail[] = { "PATH=/usr/bin:/bin", "SHELL=/bin/sh",
					    "TERM=dumb",          "PYTHONDONTWRITEBYTECODE=1",
					    "PYTHONNOUSERSITE=1", "NO_COLOR=1",
					    "PYTHONUNBUFFERED=1", NULL };
	const struct mor_manifest *m = run->opt->manifest;
	bool bare = !(run->report && run->report->host) && run->dialect->life.env == MOR_ENVIRON_BARE;

	for (char **e = environ; !run->confined && *e; e++)
		put_env(run, *e);
	for (const char *const *e = jail; run->confined && *e; e++)
		if (!bare || strncmp(*e, "PATH", 4) == 0 || strncmp(*e, "NO_C", 4) == 0)
			put_env(run, *e);
	if (!bare && run->report) /* a probe does not know it: an SDK that is told would obey */
		put_pair(run, "MORTISE_DIALECT", run->dialect->name);
	if (bare) {
		put_pair(run, "SUNSCREEN_WORKSPACE_ROOT", run->scratch.path);
		put_pair(run, "SUNSCREEN_PLUGIN_SCRATCH", run->own_scratch);
	}
	for (char **e = m->env_front; e && *e; e++)
		put_front(run, *e);
	for (char **e = m->env; e && *e; e++)
		put_env(run, *e);
}

/* ---- policy ---- */

static int set_list(struct mor_policy *policy, const struct mor_setting *s, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_doc_parse(mor_slice_of(s->json), 0, 0, &doc, err);
	struct mor_json_iter it = mor_json_iter(mor_doc_root(doc));

	while (r == 0 && mor_json_next(&it))
		r = mor_policy_set(policy, s->key, mor_json_text(it.value, ""), err);
	return r;
}

/* The manifest's permissions, but never the network, and only our own workspace. */
static int take_permissions(struct mor_check_run *run, mortise_error *err)
{
	int r = 0;

	for (const struct mor_policy_key *key = mor_policy_keys; r == 0 && key->name; key++) {
		const struct mor_setting *s = mor_manifest_setting(run->opt->manifest, "sandbox", key->name);

		if (!s || !(key->flags & MOR_POLICY_SETTING) || key->type == MOR_POLICY_NETWORK ||
		    strcmp(key->name, "workspace") == 0 || strcmp(key->name, "undo") == 0)
			continue;
		if (s->json[0] == '[')
			r = set_list(&run->policy, s, err);
		else
			r = mor_policy_set(&run->policy, key->name, s->text ? s->text : s->json, err);
	}
	return r;
}

static bool is_home(const char *path, size_t len)
{
	const char *home = getenv("HOME");

	return home && strlen(home) == len && memcmp(path, home, len) == 0;
}

/* A script, and what lies beside it: its modules. Not all of the user's files. */
static int grant_script(struct mor_check_run *run, mortise_error *err)
{
	const struct mor_manifest *m = run->opt->manifest;
	size_t at = mor_manifest_script((const char *const *)m->argv);
	char real[PATH_MAX], *slash;

	if (m->dir || (!at && !mor_program_is_source(m->argv[0])) || !realpath(m->argv[at], real))
		return 0;
	slash = strrchr(real, '/');
	if (slash > real && !is_home(real, (size_t)(slash - real)))
		*slash = '\0';
	return mor_policy_set(&run->policy, "read", real, err);
}

static int build_policy(struct mor_check_run *run, mortise_error *err)
{
	const char *dir = run->opt->manifest->dir;
	char real[PATH_MAX];
	int r = 0;

	if (run->confined) {
		r = take_permissions(run, err);
		if (r == 0)
			r = mor_policy_set(&run->policy, "workspace", run->scratch.path, err);
		if (r == 0 && run->dialect->life.shape == MOR_SHAPE_ONE_CALL)
			r = mor_policy_set(&run->policy, "scratch", run->own_scratch, err);
		if (r == 0 && dir)
			r = mor_policy_set(&run->policy, "plugin_dir", realpath(dir, real) ? real : dir, err);
		if (r == 0)
			r = grant_script(run, err);
	}
	if (r == 0)
		r = mor_policy_finish(&run->policy, run->confined, err);
	return r == 0 ? mor_policy_look_up(&run->policy, err) : r;
}

/* ---- files ---- */

int mor_check_put_file(struct mor_check_run *run, const char *name, const char *content)
{
	int fd = openat(run->scratch.dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : mor_fd_write_all(fd, content, strlen(content));

	mor_fd_close(&fd);
	return r < 0 ? MORTISE_ESYSTEM : 0;
}

/* ---- all of it ---- */

int mor_check_setup(struct mor_check_run *run, mortise_error *err)
{
	const struct mor_manifest *m = run->opt->manifest;
	int framing = mor_framing_by_name(m->framing), r;

	run->scratch = (struct mor_scratch)MOR_SCRATCH_INIT;
	run->framing = framing >= 0 ? (enum mor_framing)framing : run->dialect->link.framing;
	/* A host confines its plugin itself, and gets the user's environment. */
	run->confined = run->confined || (!run->report->host && run->dialect->life.confine == MOR_CONFINED);
	if ((r = mor_scratch_make(&run->scratch, MOR_SCRATCH_PARENT)) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "a directory in %s", MOR_SCRATCH_PARENT);
	snprintf(run->own_scratch, sizeof(run->own_scratch), "%.4000s/scratch", run->scratch.path);
	mor_dir_make(run->scratch.dir, "scratch", 0700);
	for (char **arg = m->argv; arg && *arg; arg++)
		if (mor_texts_push_take(&run->argv, mor_strdup(*arg)) < 0)
			return mor_fail_memory(err);
	build_env(run);
	r = build_policy(run, err);
	if (r == 0)
		r = mor_manifest_prepare(m, err);
	if (r == 0 && (r = mor_loop_new(0, &run->loop)) < 0)
		mor_fail(err, r, "%s", mortise_status_text(r));
	return r;
}

void mor_check_setup_fini(struct mor_check_run *run)
{
	run->loop = run->loop ? mor_loop_free(run->loop) : NULL;
	run->env = mor_texts_free(run->env);
	run->argv = mor_texts_free(run->argv);
	mor_policy_fini(&run->policy);
	mor_scratch_remove(&run->scratch);
	run->hello = mor_doc_free(run->hello);
	for (unsigned i = 0; i < MOR_CHECK_FAULTS; i++)
		mor_free(run->seen[i].talk);
}
