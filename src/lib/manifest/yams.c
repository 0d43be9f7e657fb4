/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yams-plugin.json: who a YAMS plugin is and how it is started, in the order of the real host:
 * entry.binary.linux if that file exists, ./plugin, entry.fallback_cmd or entry.cmd, plugin.py. Unlike the
 * real host we check that a command's own file exists. So a manifest that names a missing file has another
 * error than a plugin that does not start.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "manifest/internal.h"

#define PLUGIN_DIR "${plugin_dir}"

/* ---- shape ---- */

static const struct mor_expected expected[] = {
	{ "/name", "a string", MOR_IS(STRING), false, false },
	{ "/version", "a string", MOR_IS(STRING), false, false },
	{ "/description", "a string", MOR_IS(STRING), false, false },
	{ "/transport", "a string", MOR_IS(STRING), false, false },
	{ "/interfaces", "an array of interface names", MOR_IS(ARRAY), false, false },
	{ "/capabilities", "an object", MOR_IS(OBJECT), false, false },
	{ "/entry", "an object", MOR_IS(OBJECT), false, false },
	{ "/entry/binary", "an object such as {\"linux\": \"bin/plugin\"}", MOR_IS(OBJECT), false, true },
	{ "/entry/args", "an array of strings", MOR_IS(ARRAY), false, true },
	{ "/entry/cmd", "an array of strings", MOR_IS(ARRAY), false, true },
	{ "/entry/fallback_cmd", "an array of strings", MOR_IS(ARRAY), false, true },
	{ "/entry/env", "an object of strings", MOR_IS(OBJECT), false, true },
	{ 0 },
};

/* "abi" is a shared library for dlopen(), "wasm" a module: both are not processes. */
static int check_transport(struct mor_load *load)
{
	struct mor_slice transport = mor_json_string(mor_json_get(mor_doc_root(load->m->doc), "transport"));
	char quoted[40];

	if (!transport.ptr || mor_slice_is(transport, "external"))
		return 0;
	return mor_where_fail(load, "/transport",
			      "is \"%s\": only \"external\" plugins are programs that can be hosted",
			      mor_excerpt(transport, quoted, sizeof(quoted)));
}

/* ---- identity ---- */

static char *substitute(const char *text, const char *dir)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	const char *at;

	while ((at = strstr(text, PLUGIN_DIR))) {
		mor_buf_append(&out, text, (size_t)(at - text));
		mor_buf_text(&out, dir);
		text = at + sizeof(PLUGIN_DIR) - 1;
	}
	mor_buf_text(&out, text);
	return mor_buf_detach(&out);
}

static int add_env(struct mor_load *load)
{
	struct mor_json_iter it = mor_json_iter(mor_json_at(mor_doc_root(load->m->doc), "/entry/env"));
	char origin[MOR_WHERE];
	int r = 0;

	mor_where_line(&load->source, "/entry/env", origin);
	while (r == 0 && mor_json_next(&it)) {
		MOR_CLEAN_TEXT char *value = substitute(mor_json_text(it.value, ""), load->dir);

		if (!value)
			return mor_source_no_memory(load);
		r = mor_setting_add_text(load, "env", it.name.ptr, value, origin);
	}
	return r;
}

static int yams_read(struct mor_load *load)
{
	int r = mor_expect(load, expected);

	if (r < 0 || (r = check_transport(load)) < 0 ||
	    (r = mor_setting_add_text(load, "plugin", "dialect", "yams", load->source.shown)) < 0 ||
	    (r = mor_source_identity(load, "")) < 0)
		return r;
	return add_env(load);
}

/* ---- launch ---- */

/* A command line that is being made, and what was tried before it. */
struct launch {
	struct mor_load *load;
	const struct mor_value *entry;
	const char *shown;
	char **argv;
	size_t count;
	struct mor_buf tried;
	bool failed;
};

static void launch_clear(struct launch *l)
{
	l->argv = mor_texts_free(l->argv);
	l->count = 0;
}

static void launch_fini(struct launch *l)
{
	launch_clear(l);
	mor_buf_fini(&l->tried);
}

/* Takes `word`; NULL is a failed allocation. */
static void push_word_take(struct launch *l, char *word)
{
	if (mor_texts_push_take(&l->argv, word) < 0)
		l->failed = true;
	else
		l->count++;
}

static void push_list(struct launch *l, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);

	while (mor_json_next(&it))
		push_word_take(l, substitute(mor_json_text(it.value, ""), l->load->dir));
}

static void missing(struct launch *l, const char *key, const char *path)
{
	char quoted[160];

	mor_buf_printf(&l->tried, "%sentry.%s names \"%s\", which does not exist", l->tried.len ? "; " : "",
		       key, mor_excerpt(mor_slice_of(path), quoted, sizeof(quoted)));
}

static bool try_file(struct launch *l, const char *name, const char *key)
{
	char *path = mor_path_join(l->load->dir, name);

	if (!path) {
		l->failed = true;
		return false;
	}
	if (mor_manifest_sees_file(l->load, path)) {
		push_word_take(l, path);
		return !l->failed;
	}
	if (key)
		missing(l, key, path);
	mor_free(path);
	return false;
}

/* Relative to the plugin's directory, as in the real host. */
static bool try_binary(struct launch *l)
{
	const char *name = mor_json_text(mor_json_at(l->entry, "/binary/linux"), NULL);
	MOR_CLEAN_TEXT char *path = name ? substitute(name, l->load->dir) : NULL;

	if (name && !path)
		l->failed = true;
	return path && try_file(l, path, "binary.linux");
}

/* The file that the command needs: its program if that is a path, or an interpreter's script. Other
 * arguments may name files that the plugin itself makes. */
static const char *file_of(const struct launch *l)
{
	size_t script = mor_manifest_script((const char *const *)l->argv);

	if (strchr(l->argv[0], '/'))
		return l->argv[0];
	/* `python -m module` is found by Python, not by us. */
	return script && strcmp(l->argv[script - 1], "-m") != 0 ? l->argv[script] : NULL;
}

/* Fills argv on success, and leaves it empty otherwise. */
static bool try_command(struct launch *l, const char *key)
{
	const struct mor_value *list = mor_json_get(l->entry, key);
	MOR_CLEAN_TEXT char *path = NULL;
	const char *file;

	if (mor_json_string(mor_json_at(list, "/0")).len == 0)
		return false;
	push_list(l, list);
	if (l->failed || !l->argv)
		return false;
	file = file_of(l);
	path = file ? mor_path_join(l->load->dir, file) : NULL;
	if (file && !path)
		l->failed = true;
	if (!file || (path && mor_manifest_sees_file(l->load, path))) {
		if (path && file == l->argv[0]) {
			mor_free(l->argv[0]);
			l->argv[0] = mor_take(&path);
		}
		return true;
	}
	if (path)
		missing(l, key, path);
	launch_clear(l);
	return false;
}

/* True if the found command is the file the user named, directly or through an interpreter. */
static bool runs(const struct launch *l, const char *file)
{
	for (size_t i = 0; i < l->count; i++) {
		MOR_CLEAN_TEXT char *path = mor_path_join(l->load->dir, l->argv[i]);

		if (path && mor_path_same(path, file))
			return true;
	}
	return false;
}

static int yams_launch(struct mor_load *load)
{
	__attribute__((cleanup(launch_fini))) struct launch l = { .load = load, .shown = load->source.shown };
	bool found;

	l.entry = mor_json_get(mor_doc_root(load->m->doc), "entry");
	if ((found = try_binary(&l) || try_file(&l, "plugin", NULL)))
		push_list(&l, mor_json_get(l.entry, "args"));
	else
		found = try_command(&l, "fallback_cmd") || try_command(&l, "cmd") ||
			try_file(&l, "plugin.py", NULL);
	if (l.failed || mor_buf_failed(&l.tried))
		return mor_fail_memory_of(load->err, load->shown);
	if (load->file && !(found && runs(&l, load->file)))
		return 0;
	if (found) {
		int r = mor_setting_add_list(load, "plugin", "command", (const char *const *)l.argv, l.shown);

		return r < 0 ? r : 1;
	}
	if (l.tried.len)
		return mor_fail(load->err, MORTISE_EMANIFEST,
				"%s: %.*s; nor is there a ./plugin or plugin.py: build it, or correct the "
				"entry",
				l.shown, (int)l.tried.len, l.tried.data);
	return mor_fail(
		load->err, MORTISE_EMANIFEST,
		"%s: nothing to run: name it in entry.binary.linux or entry.cmd, or add ./plugin or plugin.py",
		l.shown);
}

const struct mor_format mor_yams_format = { .file = "yams-plugin.json",
					    .read = yams_read,
					    .launch = yams_launch };
