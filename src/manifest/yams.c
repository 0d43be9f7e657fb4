/*
 * yams-plugin.json: who a YAMS plugin is and how it is launched, in the order of the real host:
 * entry.binary.linux if that file exists, ./plugin, entry.fallback_cmd or entry.cmd, plugin.py. Unlike the
 * real host we look whether a command's own file is there: a manifest that names a missing file is told
 * apart from a plugin that does not start.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "manifest/internal.h"

#define PLUGIN_DIR "${plugin_dir}"

/* ---- shape ---- */

struct expectation {
	const char *at, *wanted; /* JSON pointer; what texts call it */
	enum mor_json_type type;
	bool texts; /* elements or members must be strings */
};

static const struct expectation expectations[] = {
	{ "/name", "a string", MOR_JSON_STRING, false },
	{ "/version", "a string", MOR_JSON_STRING, false },
	{ "/description", "a string", MOR_JSON_STRING, false },
	{ "/transport", "a string", MOR_JSON_STRING, false },
	{ "/interfaces", "an array of interface names", MOR_JSON_ARRAY, false },
	{ "/capabilities", "an object", MOR_JSON_OBJECT, false },
	{ "/entry", "an object", MOR_JSON_OBJECT, false },
	{ "/entry/binary", "an object such as {\"linux\": \"bin/plugin\"}", MOR_JSON_OBJECT, true },
	{ "/entry/args", "an array of strings", MOR_JSON_ARRAY, true },
	{ "/entry/cmd", "an array of strings", MOR_JSON_ARRAY, true },
	{ "/entry/fallback_cmd", "an array of strings", MOR_JSON_ARRAY, true },
	{ "/entry/env", "an object of strings", MOR_JSON_OBJECT, true },
};

static bool holds_texts(const struct mor_value *value)
{
	struct mor_json_iter it = mor_json_iter(value);

	while (mor_json_next(&it))
		if (mor_json_type(it.value) != MOR_JSON_STRING)
			return false;
	return true;
}

static int check_shape(const struct mor_value *root, const char *shown, mortise_error *err)
{
	if (mor_json_type(root) != MOR_JSON_OBJECT)
		return mor_fail(err, MORTISE_EMANIFEST, "%s: must hold an object, not %s", shown,
				mor_json_type_name(mor_json_type(root)));
	for (size_t i = 0; i < sizeof(expectations) / sizeof(*expectations); i++) {
		const struct expectation *e = &expectations[i];
		const struct mor_value *value = mor_json_at(root, e->at);
		enum mor_json_type type = mor_json_type(value);

		if (type == MOR_JSON_MISSING)
			continue;
		if (type != e->type)
			return mor_fail(err, MORTISE_EMANIFEST, "%s: %s is of type %s: it must be %s", shown, e->at,
					mor_json_type_name(type), e->wanted);
		if (e->texts && !holds_texts(value))
			return mor_fail(err, MORTISE_EMANIFEST, "%s: %s holds something that is no string: it must be %s",
					shown, e->at, e->wanted);
	}
	return 0;
}

/* "abi" is a shared library for dlopen(), "wasm" a module: neither is a process. */
static int check_transport(const struct mor_value *root, const char *shown, mortise_error *err)
{
	struct mor_slice transport = mor_json_string(mor_json_get(root, "transport"));
	char quoted[40];

	if (!transport.ptr || mor_slice_is(transport, "external"))
		return 0;
	return mor_fail(err, MORTISE_EMANIFEST,
			"%s: /transport is \"%s\": only \"external\" plugins are programs that can be hosted", shown,
			mor_excerpt(transport, quoted, sizeof(quoted)));
}

/* The parser's "WHAT at byte N (line L, column C)" -> "FILE:L:C: WHAT". */
static int fail_json(mortise_error *err, const char *shown, const mortise_error *why)
{
	const char *at = strstr(why->text, " at byte ");
	size_t byte, line, column;

	if (!at || sscanf(at, " at byte %zu (line %zu, column %zu)", &byte, &line, &column) != 3)
		return mor_fail(err, MORTISE_EMANIFEST, "%s: %s", shown, why->text);
	return mor_fail(err, MORTISE_EMANIFEST, "%s:%zu:%zu: %.*s: correct the JSON there", shown, line, column,
			(int)(at - why->text), why->text);
}

static int parse(const char *text, size_t len, const char *shown, struct mor_doc **ret, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error why;
	int r;

	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) { /* editors on Windows put it there */
		text += 3;
		len -= 3;
	}
	r = mor_doc_parse((struct mor_slice){ text, len }, 0, 0, &doc, &why);
	if (r < 0)
		return r == MORTISE_ENOMEM ? mor_fail(err, r, "%s: out of memory", shown) : fail_json(err, shown, &why);
	r = check_shape(mor_doc_root(doc), shown, err);
	if (r == 0)
		r = check_transport(mor_doc_root(doc), shown, err);
	if (r == 0)
		*ret = mor_take(&doc);
	return r;
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

static int add_env(struct mor_load *load, const char *shown)
{
	struct mor_json_iter it = mor_json_iter(mor_json_at(mor_doc_root(load->m->doc), "/entry/env"));
	int r = 0;

	while (r == 0 && mor_json_next(&it)) {
		MOR_CLEAN_TEXT char *value = substitute(mor_json_text(it.value, ""), load->dir);

		if (!value)
			return mor_fail(load->err, MORTISE_ENOMEM, "%s: out of memory", shown);
		r = mor_setting_add_text(load, "env", it.name.ptr, value, shown);
	}
	return r;
}

static int add_identity(struct mor_load *load, const char *shown)
{
	static const char *const members[] = { "name", "version", "description" };
	const struct mor_value *root = mor_doc_root(load->m->doc);
	int r = mor_setting_add_text(load, "plugin", "dialect", "yams", shown);

	for (size_t i = 0; r == 0 && i < sizeof(members) / sizeof(*members); i++) {
		const struct mor_value *value = mor_json_get(root, members[i]);

		if (mor_json_string(value).len > 0)
			r = mor_setting_add(load, "plugin", members[i], value, shown);
	}
	return r < 0 ? r : add_env(load, shown);
}

int mor_yams_load(struct mor_load *load)
{
	MOR_CLEAN_TEXT char *path = mor_path_join(load->dir, MOR_YAMS_MANIFEST);
	MOR_CLEAN_TEXT char *shown = mor_path_join(load->shown, MOR_YAMS_MANIFEST);
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len;
	int r;

	if (!path || !shown)
		return mor_fail(load->err, MORTISE_ENOMEM, "%s: out of memory", load->shown);
	r = mor_path_read(path, shown, &text, &len, load->err);
	if (r <= 0)
		return r;
	r = parse(text, len, shown, &load->m->doc, load->err);
	if (r < 0)
		return r;
	load->m->file = mor_take(&path);
	r = add_identity(load, shown);
	return r < 0 ? r : 1;
}

/* ---- launch ---- */

/* A command line being made, and what was tried before it. */
struct launch {
	struct mor_load *load;
	const struct mor_value *entry;
	char *shown;
	char **argv;
	size_t count;
	struct mor_buf tried;
	bool failed;
};

static void launch_clear(struct launch *l)
{
	for (size_t i = 0; i < l->count; i++)
		mor_free(l->argv[i]);
	mor_free(l->argv);
	l->argv = NULL;
	l->count = 0;
}

static void launch_fini(struct launch *l)
{
	launch_clear(l);
	mor_free(l->shown);
	mor_buf_fini(&l->tried);
}

/* Takes `word`; NULL is a failed allocation. */
static void push(struct launch *l, char *word)
{
	char **argv = word ? mor_realloc(l->argv, (l->count + 2) * sizeof(*argv)) : NULL;

	if (!argv) {
		mor_free(word);
		l->failed = true;
		return;
	}
	l->argv = argv;
	argv[l->count++] = word;
	argv[l->count] = NULL;
}

static void push_list(struct launch *l, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);

	while (mor_json_next(&it))
		push(l, substitute(mor_json_text(it.value, ""), l->load->dir));
}

static void missing(struct launch *l, const char *key, const char *path)
{
	char quoted[160];

	mor_buf_printf(&l->tried, "%sentry.%s names \"%s\", which does not exist", l->tried.len ? "; " : "", key,
		       mor_excerpt(mor_slice_of(path), quoted, sizeof(quoted)));
}

static bool try_file(struct launch *l, const char *name, const char *key)
{
	char *path = mor_path_join(l->load->dir, name);

	if (!path) {
		l->failed = true;
		return false;
	}
	if (mor_path_is_file(path)) {
		push(l, path);
		return !l->failed;
	}
	if (key)
		missing(l, key, path);
	mor_free(path);
	return false;
}

/* Relative to the plugin's directory, as for the real host. */
static bool try_binary(struct launch *l)
{
	const char *name = mor_json_text(mor_json_at(l->entry, "/binary/linux"), NULL);
	MOR_CLEAN_TEXT char *path = name ? substitute(name, l->load->dir) : NULL;

	if (name && !path)
		l->failed = true;
	return path && try_file(l, path, "binary.linux");
}

/* Which file the command stands or falls with: its program if that is a path, or an interpreter's script.
 * Other arguments may name files that the plugin itself makes. */
static const char *file_of(const struct launch *l)
{
	size_t script = mor_path_script((const char *const *)l->argv);

	if (strchr(l->argv[0], '/'))
		return l->argv[0];
	/* `python -m module` is found by Python, not by us. */
	return script && strcmp(l->argv[script - 1], "-m") != 0 ? l->argv[script] : NULL;
}

/* Leaves argv filled on success, empty otherwise. */
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
	if (!file || (path && mor_path_is_file(path))) {
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

static bool find_launch(struct launch *l)
{
	if (try_binary(l) || try_file(l, "plugin", NULL)) {
		push_list(l, mor_json_get(l->entry, "args"));
		return true;
	}
	return try_command(l, "fallback_cmd") || try_command(l, "cmd") || try_file(l, "plugin.py", NULL);
}

/* True when the command that was found is the file the user named, by itself or through an interpreter. */
static bool runs(const struct launch *l, const char *file)
{
	for (size_t i = 0; i < l->count; i++) {
		MOR_CLEAN_TEXT char *path = mor_path_join(l->load->dir, l->argv[i]);

		if (path && mor_path_same(path, file))
			return true;
	}
	return false;
}

int mor_yams_launch(struct mor_load *load)
{
	__attribute__((cleanup(launch_fini))) struct launch l = { .load = load };
	bool found;

	l.entry = mor_json_get(mor_doc_root(load->m->doc), "entry");
	l.shown = mor_path_join(load->shown, MOR_YAMS_MANIFEST);
	found = l.shown && find_launch(&l);
	if (!l.shown || l.failed || mor_buf_failed(&l.tried))
		return mor_fail(load->err, MORTISE_ENOMEM, "%s: out of memory", load->shown);
	if (load->file && !(found && runs(&l, load->file)))
		return 0;
	if (found) {
		int r = mor_setting_add_list(load, "plugin", "command", (const char *const *)l.argv, l.shown);

		return r < 0 ? r : 1;
	}
	if (l.tried.len)
		return mor_fail(load->err, MORTISE_EMANIFEST,
				"%s: %.*s; nor is there a ./plugin or plugin.py: build it, or correct the entry", l.shown,
				(int)l.tried.len, l.tried.data);
	return mor_fail(load->err, MORTISE_EMANIFEST,
			"%s: nothing to run: name it in entry.binary.linux or entry.cmd, or add ./plugin or plugin.py", l.shown);
}
