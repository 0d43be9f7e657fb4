/* SPDX-License-Identifier: Apache-2.0 */
/* From what the user named to one struct. Later steps win over earlier ones. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/xdg.h"
#include "manifest/internal.h"

static int no_memory(struct mor_load *load)
{
	return mor_fail_memory_of(load->err, load->query->path ? load->query->path : "manifest");
}

struct mor_manifest *mor_manifest_free(struct mor_manifest *m)
{
	struct mor_list *node;

	if (!m)
		return NULL;
	mor_free(m->name);
	mor_free(m->version);
	mor_free(m->description);
	mor_free(m->dialect);
	mor_free(m->framing);
	mor_texts_free(m->argv);
	mor_texts_free(m->env);
	mor_free(m->cwd);
	mor_free(m->dir);
	mor_free(m->file);
	mor_free(m->sha256);
	mor_doc_free(m->doc);
	mor_doc_free(m->actions);
	mor_texts_free(m->env_front);
	mor_texts_free(m->make_dirs);
	mor_free(m->config);
	mor_settings_free(&m->settings);
	mor_manifest_free_seen(m);
	while ((node = mor_list_pop(&m->warnings))) {
		struct mor_warning *warning = mor_container_of(node, struct mor_warning, node);

		mor_free(warning->text);
		mor_free(warning);
	}
	mor_free(m);
	return NULL;
}

int mor_manifest_warn(struct mor_manifest *m, const char *format, ...)
{
	struct mor_warning *warning = mor_zalloc(sizeof(*warning));
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&text, format, args);
	va_end(args);
	if (warning)
		warning->text = mor_buf_detach(&text);
	if (!warning || !warning->text) {
		mor_free(warning);
		return MORTISE_ENOMEM;
	}
	mor_list_append(&m->warnings, &warning->node);
	return 0;
}

/* ---- where the plugin is ---- */

static char *dir_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return mor_strdup(".");
	return slash == path ? mor_strdup("/") : mor_strndup(path, (size_t)(slash - path));
}

/* The directory is resolved, but not the file in it: the python of a virtual environment is a link, and
 * finds its environment only by its own path. */
static int locate_file(struct mor_load *load, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char real[PATH_MAX];

	load->shown = dir_name(path);
	if (!load->shown)
		return no_memory(load);
	if (!realpath(load->shown, real))
		return mor_fail_errno(load->err, MORTISE_EMANIFEST, errno, "%s", path);
	load->dir = mor_strdup(real);
	/* Naming the manifest is the same as naming its directory. */
	if (mor_source_is_manifest(base)) {
		load->only = base;
	} else if (strcmp(base, MOR_OWN_MANIFEST) != 0) {
		load->file = mor_path_join(real, base);
		if (!load->file)
			return no_memory(load);
	}
	return load->dir ? 0 : no_memory(load);
}

static int locate(struct mor_load *load)
{
	const char *path = load->query->path;
	char real[PATH_MAX];
	struct stat st;

	if (stat(path, &st) < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return mor_fail(load->err, MORTISE_ENOTFOUND,
					"%s: no such file or directory: name a plugin's directory or file",
					path);
		return mor_fail_errno(load->err, MORTISE_EMANIFEST, errno, "%s", path);
	}
	if (S_ISREG(st.st_mode))
		return locate_file(load, path);
	if (!S_ISDIR(st.st_mode))
		return mor_fail(load->err, MORTISE_EMANIFEST,
				"%s: neither a directory nor a regular file: it cannot be a plugin", path);
	if (!realpath(path, real))
		return mor_fail_errno(load->err, MORTISE_EMANIFEST, errno, "%s", path);
	load->dir = mor_strdup(real);
	load->shown = mor_strdup(path);
	return load->dir && load->shown ? 0 : no_memory(load);
}

static int nothing_here(struct mor_load *load)
{
	return mor_fail(load->err, MORTISE_EMANIFEST,
			"%s: no manifest here (looked for yams-plugin.json, plugin.toml, "
			"sunscreen-plugin.json, manifest.json of G-Assist, " MOR_OWN_MANIFEST
			"): add one, or name the plugin's program",
			load->shown);
}

/* ---- the sources, in order ---- */

/* The dialect decides about the sandbox. So a file that came with the plugin must not change what users were
 * shown. */
static int check_dialect(struct mor_load *load, const struct mor_setting *manifest)
{
	const struct mor_setting *now = mor_manifest_setting(load->m, "plugin", "dialect");

	if (!load->format || !load->format->confines || now == manifest)
		return 1;
	return mor_fail(load->err, MORTISE_EMANIFEST,
			"%s: plugin.dialect: %s beside it decides the protocol and the sandbox; to change "
			"that, use %s or your own configuration",
			now->origin, load->format->file,
			load->m->embedded ? "the option dialect" : "--dialect");
}

/* In a directory our file always counts. Beside a named file it counts only if it is about that file. */
static int read_own(struct mor_load *load)
{
	MOR_CLEAN_TEXT char *path = mor_path_join(load->dir, MOR_OWN_MANIFEST);
	MOR_CLEAN_TEXT char *shown = mor_path_join(load->shown, MOR_OWN_MANIFEST);
	const struct mor_setting *dialect = mor_manifest_setting(load->m, "plugin", "dialect");
	int r;

	if (!path || !shown)
		return no_memory(load);
	r = mor_own_load(load, path, shown, load->file ? MOR_OWN_IF_NAMED : MOR_OWN_ALWAYS);
	return r <= 0 ? r : check_dialect(load, dialect);
}

static int read_directory(struct mor_load *load)
{
	const char *command[] = { load->file, NULL };
	int foreign = mor_source_load(load), own, r = 0;

	if (foreign < 0)
		return foreign;
	/* The named file runs. If the manifest beside it runs the same file, it is run as the manifest says. */
	if (load->file && load->format)
		r = load->format->launch(load);
	if (load->file && r == 0)
		r = mor_setting_add_list(load, "plugin", "command", command, load->query->path);
	if (r < 0)
		return r;
	if ((own = read_own(load)) < 0)
		return own;
	return foreign || own || load->file ? 0 : nothing_here(load);
}

/* The plugin's name before anything gives it another one. */
static char *default_name(const struct mor_load *load)
{
	const char *const *argv = load->query->argv;

	if (load->query->installed)
		return mor_strdup(load->query->installed);
	if (load->file)
		return mor_manifest_stem(load->file);
	if (load->dir || !argv)
		return mor_strdup(!load->dir || strcmp(load->dir, "/") == 0 ? "plugin" :
									      strrchr(load->dir, '/') + 1);
	return mor_manifest_stem(argv[mor_manifest_script(argv)]);
}

/* Called twice: the user's file is found by the name known before it is read, and may change the name. */
static int choose_name(struct mor_load *load)
{
	const char *set = mor_manifest_text(load->m, "plugin", "name");
	const char *asked = load->query->name;

	if (asked && *asked)
		set = asked;
	mor_free(load->m->name);
	load->m->named = set && *set;
	load->m->name = load->m->named ? mor_strdup(set) : default_name(load);
	return load->m->name ? 0 : no_memory(load);
}

/* There is no such file if the name cannot be a file name ("..", "a/b"), or if the user has no home. */
static int read_user(struct mor_load *load)
{
	MOR_CLEAN_TEXT char *path = NULL;
	int r;

	if (strchr(load->m->name, '/') || load->m->name[0] == '.')
		return 0;
	r = mor_xdg_path(MOR_XDG_CONFIG, load->query->config_home, &path, "mortise/plugins/%s.toml",
			 load->m->name);
	if (r == MORTISE_ENOTFOUND)
		return 0;
	if (r < 0)
		return no_memory(load);
	r = mor_own_load(load, path, path, MOR_OWN_ALWAYS);
	return r < 0 ? r : 0;
}

/* The embedder's object replaces whole members: it was written as a whole, unlike one --set. */
static int read_query_config(struct mor_load *load)
{
	struct mor_slice text = { load->query->config.text, load->query->config.len };
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error why;
	int r;

	if (!text.ptr)
		return 0;
	r = mor_doc_parse(text, 0, 0, &doc, &why);
	if (r == 0 && mor_json_type(mor_doc_root(doc)) != MOR_JSON_OBJECT)
		return mor_fail(load->err, MORTISE_EINVAL, "config: must be a JSON object, not %s",
				mor_json_type_name(mor_json_type(mor_doc_root(doc))));
	if (r == MORTISE_EPROTO)
		return mor_fail(load->err, MORTISE_EINVAL, "config: not JSON: %s", why.text);
	if (r == 0)
		r = mor_config_merge(&load->m->config, mor_doc_root(doc), false);
	return r < 0 ? no_memory(load) : 0;
}

static int read_sources(struct mor_load *load)
{
	const char *const *set = load->query->set;
	int r = load->dir ? read_directory(load) : 0;

	if (r == 0)
		r = choose_name(load);
	if (r == 0)
		r = read_user(load);
	if (r == 0)
		r = read_query_config(load);
	for (; r == 0 && set && *set; set++)
		if (!load->query->more || strncmp(*set, "config.", 7) != 0)
			r = mor_set_apply(load, *set);
	/* Last, because with a command from the user the manifest's command is not checked. */
	if (r == 0 && load->format && !mor_manifest_setting(load->m, "plugin", "command"))
		r = load->format->launch(load);
	return r < 0 ? r : 0;
}

/* ---- the struct, from the settings that won ---- */

static int push_setting(struct mor_load *load, char ***list, char *text)
{
	return mor_texts_push_take(list, text) < 0 ? no_memory(load) : 0;
}

/* A JSON string or array of strings; it was checked when the setting was added. */
static int push_json(struct mor_load *load, const struct mor_setting *setting)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_json_iter it;
	int r;

	if (!setting)
		return 0;
	if (setting->text)
		return push_setting(load, &load->m->argv, mor_strdup(setting->text));
	if ((r = mor_doc_parse(mor_slice_of(setting->json), 0, 0, &doc, NULL)) < 0)
		return no_memory(load);
	it = mor_json_iter(mor_doc_root(doc));
	while (r == 0 && mor_json_next(&it))
		r = push_setting(load, &load->m->argv, mor_strdup(mor_json_text(it.value, "")));
	return r;
}

static int push_query(struct mor_load *load)
{
	const char *const *argv = load->query->argv;
	int r = 0;

	for (; r == 0 && argv && *argv; argv++)
		r = push_setting(load, &load->m->argv, mor_strdup(*argv));
	return r;
}

static int fill_argv(struct mor_load *load)
{
	const struct mor_setting *command = mor_manifest_setting(load->m, "plugin", "command");
	int r;

	if (!load->query->path) /* a typed command line wins over all files */
		return push_query(load);
	if (!command)
		return mor_fail(load->err, MORTISE_EMANIFEST,
				"%s/" MOR_OWN_MANIFEST
				": nothing to run: add command = \"./program\" below [plugin]",
				load->shown);
	r = push_json(load, command);
	if (r == 0)
		r = push_json(load, mor_manifest_setting(load->m, "plugin", "args"));
	return r < 0 ? r : push_query(load);
}

/* With a cwd of its own, ./program would be searched there and not where the user is. */
static int anchor_program(struct mor_load *load)
{
	char **program = &load->m->argv[0], *absolute;

	if (load->query->path || !load->m->cwd || !strchr(*program, '/'))
		return 0;
	absolute = mor_path_absolute(*program);
	if (!absolute)
		return no_memory(load);
	mor_free(*program);
	*program = absolute;
	return 0;
}

static bool same_name(const char *entry, const char *other)
{
	size_t len = strcspn(entry, "=");

	return strncmp(entry, other, len) == 0 && other[len] == '=';
}

/* Later wins: an existing name gets its new value in place. */
static int put_env(struct mor_load *load, const char *name, size_t len, const char *value)
{
	MOR_CLEAN(mor_buf) struct mor_buf entry = MOR_BUF_INIT;
	char *text;

	mor_buf_printf(&entry, "%.*s=%s", (int)len, name, value);
	text = mor_buf_detach(&entry);
	if (!text)
		return no_memory(load);
	for (char **env = load->m->env; env && *env; env++) {
		if (!same_name(*env, text))
			continue;
		mor_free(*env);
		*env = text;
		return 0;
	}
	return push_setting(load, &load->m->env, text);
}

/* NAME alone passes our value on. If it is not set, that is a warning, not an error. */
static int put_query_env(struct mor_load *load, const char *entry)
{
	const char *word = load->m->embedded ? "env" : "--env";
	size_t len = strcspn(entry, "=");

	if (len == 0)
		return mor_fail(load->err, MORTISE_EINVAL, "%s \"%.60s\": write it as NAME or NAME=VALUE", word,
				entry);
	if (entry[len] == '=')
		return put_env(load, entry, len, entry + len + 1);
	if (!getenv(entry)) {
		if (mor_manifest_warn(load->m,
				      "%s %s: this variable is not set here, so the plugin does not get it",
				      word, entry) < 0)
			return no_memory(load);
		return 0;
	}
	return put_env(load, entry, len, getenv(entry));
}

static int fill_env(struct mor_load *load)
{
	const char *const *env = load->query->env;
	int r = 0;

	MOR_LIST_EACH(node, after, &load->m->settings) {
		const struct mor_setting *s = mor_container_of(node, struct mor_setting, node);

		if (r == 0 && strcmp(s->section, "env") == 0)
			r = put_env(load, s->key, strlen(s->key), s->text);
	}
	for (; r == 0 && env && *env; env++)
		r = put_query_env(load, *env);
	return r;
}

/* An empty text counts as absent: --set plugin.version= removes a value. */
static int copy_text(struct mor_load *load, const char *key, const char *fallback, char **ret)
{
	const char *text = mor_manifest_text(load->m, "plugin", key);

	if (!text || !*text)
		text = fallback;
	if (!text)
		return 0;
	*ret = mor_strdup(text);
	return *ret ? 0 : no_memory(load);
}

static int fill_manifest(struct mor_load *load)
{
	struct mor_manifest *m = load->m;
	const char *dialect = load->query->dialect;
	int r;

	if ((r = choose_name(load)) < 0 || (r = copy_text(load, "version", NULL, &m->version)) < 0 ||
	    (r = copy_text(load, "description", NULL, &m->description)) < 0 ||
	    (r = copy_text(load, "framing", NULL, &m->framing)) < 0 ||
	    (r = copy_text(load, "cwd", load->dir, &m->cwd)) < 0)
		return r;
	if (dialect && *dialect)
		m->dialect = mor_strdup(dialect);
	else
		r = copy_text(load, "dialect", "plain", &m->dialect);
	if (r < 0 || !m->dialect)
		return r < 0 ? r : no_memory(load);
	if (load->dir && !(m->dir = mor_strdup(load->dir)))
		return no_memory(load);
	if ((r = fill_argv(load)) < 0 || (r = anchor_program(load)) < 0)
		return r;
	return fill_env(load);
}

int mor_manifest_need_stdio(const struct mor_manifest *manifest, const char *who, mortise_error *err)
{
	const char *transport = mor_manifest_text(manifest, "plugin", "transport");

	if (!transport || strcmp(transport, "grpc") != 0)
		return 0;
	return mor_fail(err, MORTISE_ETRANSPORT, "%s: speaks gRPC: %s is for plugins over stdio",
			manifest->name, who);
}

int mor_manifest_prepare(const struct mor_manifest *manifest, mortise_error *err)
{
	int r;

	for (char **dir = manifest->make_dirs; dir && *dir; dir++) {
		if ((r = mor_dir_make_all(AT_FDCWD, *dir, 0700)) < 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "mkdir %s", *dir);
	}
	return 0;
}

/* What was made of plugin.* is not made again: of it, only the framing has an option of its own. */
int mor_manifest_more(struct mor_manifest *m, const struct mor_manifest_query *query, mortise_error *err)
{
	struct mor_load load = { .query = query, .m = m, .err = err };
	const char *const *env = query->env, *const *set = query->set;
	int r;

	mor_settings_drop(&m->settings, m->embedded ? MOR_ORIGIN_SETTING : MOR_ORIGIN_SET);
	r = read_query_config(&load);
	for (; r == 0 && set && *set; set++)
		r = mor_set_apply(&load, *set);
	mor_free(m->framing);
	m->framing = NULL;
	if (r == 0)
		r = copy_text(&load, "framing", NULL, &m->framing);
	for (; r == 0 && env && *env; env++)
		r = put_query_env(&load, *env);
	return r;
}

int mor_manifest_set(struct mor_manifest *m, const char *setting, mortise_error *err)
{
	struct mor_load load = { .m = m, .err = err };

	return mor_set_apply(&load, setting);
}

int mor_manifest_load(const struct mor_manifest_query *query, struct mor_manifest **ret, mortise_error *err)
{
	bool has_path = query->path && *query->path,
	     has_argv = query->argv && query->argv[0] && *query->argv[0];
	struct mor_load load = { .query = query, .err = err };
	int r = 0;

	if (!has_path && (query->path || !has_argv))
		return mor_fail(err, MORTISE_EINVAL,
				"no plugin is named: give a directory, a file or a command");
	load.m = mor_zalloc(sizeof(*load.m));
	if (!load.m)
		return no_memory(&load);
	load.m->embedded = query->embedded;
	mor_list_init(&load.m->settings);
	mor_list_init(&load.m->warnings);
	if (has_path)
		r = locate(&load);
	if (r == 0)
		r = read_sources(&load);
	if (r == 0)
		r = fill_manifest(&load);
	if (r == 0 && load.format && load.format->finish)
		r = load.format->finish(&load);
	if (r == 0 && load.unseen)
		r = no_memory(&load);
	mor_free(load.dir);
	mor_free(load.shown);
	mor_free(load.file);
	mor_source_fini(&load.source);
	if (r == 0)
		*ret = load.m;
	else
		mor_manifest_free(load.m);
	return r;
}
