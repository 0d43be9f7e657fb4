/* SPDX-License-Identifier: Apache-2.0 */
/* mortise.toml and ~/.config/mortise/plugins/NAME.toml. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "manifest/internal.h"

/* One file that is being read. */
struct own {
	struct mor_load *load;
	const char *shown;
	char *dir; /* base of relative paths in it */
	struct mor_doc *doc, *lines;
};

static void own_fini(struct own *own)
{
	mor_free(own->dir);
	mor_doc_free(own->doc);
	mor_doc_free(own->lines);
}

static const char *skip_bom(const char *text, size_t *len)
{
	if (*len < 3 || memcmp(text, "\xef\xbb\xbf", 3) != 0)
		return text;
	*len -= 3;
	return text + 3;
}

static int parse_own(struct own *own, const char *text, size_t len)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT, lines = MOR_BUF_INIT;
	mortise_error why;
	int r;

	text = skip_bom(text, &len);
	if ((r = mor_toml_to_json(own->shown, text, len, &json, &lines, own->load->err)) < 0)
		return r;
	r = mor_doc_parse(mor_buf_view(&json), 0, 0, &own->doc, &why);
	if (r == 0)
		r = mor_doc_parse(mor_buf_view(&lines), 0, 0, &own->lines, &why);
	if (r == MORTISE_EPROTO) /* text that TOML allows, but JSON does not, such as a lone surrogate */
		r = MORTISE_EMANIFEST;
	return r < 0 ? mor_fail(own->load->err, r, "%s: %s", own->shown, why.text) : 0;
}

/* "FILE:LINE" of "section.key". */
static char *origin(const struct own *own, const char *section, const char *key)
{
	MOR_CLEAN(mor_buf) struct mor_buf name = MOR_BUF_INIT, text = MOR_BUF_INIT;
	int64_t line;

	mor_buf_printf(&name, "%s%s%s", section, key ? "." : "", key ? key : "");
	if (mor_buf_failed(&name))
		return NULL;
	line = mor_json_int(mor_json_at(mor_json_get_slice(mor_doc_root(own->lines), mor_buf_view(&name)),
					"/0"),
			    0);
	mor_buf_printf(&text, "%s:%lld", own->shown, (long long)line);
	return mor_buf_detach(&text);
}

/* ---- [plugin] command and cwd, [sandbox] workspace: relative to the file ---- */

static int add_relative(struct own *own, const char *section, const char *key, const struct mor_value *value,
			const char *from)
{
	MOR_CLEAN_TEXT char *path = mor_path_join(own->dir, mor_json_text(value, ""));

	if (!path)
		return mor_fail_memory_of(own->load->err, from);
	return mor_setting_add_text(own->load, section, key, path, from);
}

/* Only the first word of an array: the others are arguments, even if they look like paths. */
static int add_command_list(struct own *own, const struct mor_value *list, const char *from)
{
	size_t count = mor_json_size(list), i = 0;
	const char **argv = mor_zalloc((count + 1) * sizeof(*argv));
	struct mor_json_iter it = mor_json_iter(list);
	MOR_CLEAN_TEXT char *program = NULL;
	int r;

	while (argv && mor_json_next(&it))
		argv[i++] = mor_json_text(it.value, "");
	if (argv)
		program = mor_path_join(own->dir, argv[0]);
	if (!argv || !program) {
		mor_free(argv);
		return mor_fail_memory_of(own->load->err, from);
	}
	argv[0] = program;
	r = mor_setting_add_list(own->load, "plugin", "command", argv, from);
	mor_free(argv);
	return r;
}

/* Without a slash it is searched in PATH, as in a shell. */
static bool is_relative_program(const struct mor_value *value)
{
	const char *text = mor_json_text(value, "");

	return text[0] != '/' && strchr(text, '/');
}

static int add_plugin_key(struct own *own, const char *key, const struct mor_value *value, const char *from)
{
	bool is_text = mor_json_type(value) == MOR_JSON_STRING;

	if (strcmp(key, "cwd") == 0 && is_text)
		return add_relative(own, "plugin", key, value, from);
	if (strcmp(key, "command") == 0 && is_text && is_relative_program(value))
		return add_relative(own, "plugin", key, value, from);
	/* A value that is not a list of texts is passed on unchanged. A later check reports it. */
	if (strcmp(key, "command") == 0 && is_relative_program(mor_json_at(value, "/0")) &&
	    mor_manifest_holds_texts(value))
		return add_command_list(own, value, from);
	return mor_setting_add(own->load, "plugin", key, value, from);
}

/* A workspace of "" means "no workspace"; "~/" depends on the user, who is not known here. */
static int add_sandbox_key(struct own *own, const char *key, const struct mor_value *value, const char *from)
{
	const char *text = mor_json_text(value, "");

	if (strcmp(key, "workspace") == 0 && *text && *text != '~')
		return add_relative(own, "sandbox", key, value, from);
	return mor_setting_add(own->load, "sandbox", key, value, from);
}

/* ---- sections ---- */

/* extractor.extract = "300s" below [timeouts] is a table in a table for TOML, but one key for people. */
static int add_key(struct own *own, const char *section, const char *key, const struct mor_value *value)
{
	struct mor_json_iter it = mor_json_iter(value);
	MOR_CLEAN_TEXT char *from = NULL;
	int r = 0;

	if (mor_key_is_nested(section) && mor_json_type(value) == MOR_JSON_OBJECT) {
		while (r == 0 && mor_json_next(&it)) {
			MOR_CLEAN(mor_buf) struct mor_buf name = MOR_BUF_INIT;

			mor_buf_printf(&name, "%s.%.*s", key, (int)it.name.len, it.name.ptr);
			mor_buf_byte(&name, '\0');
			r = name.status ? mor_fail_memory_of(own->load->err, own->shown) :
					  add_key(own, section, name.data, it.value);
		}
		return r;
	}
	from = origin(own, section, key);
	if (!from)
		return mor_fail_memory_of(own->load->err, own->shown);
	if (strcmp(section, "plugin") == 0)
		return add_plugin_key(own, key, value, from);
	if (strcmp(section, "sandbox") == 0)
		return add_sandbox_key(own, key, value, from);
	return mor_setting_add(own->load, section, key, value, from);
}

/* [config] is merged as a tree. Every other section is a list of settings with their lines. */
static int add_section(struct own *own, const char *section, const struct mor_value *value)
{
	struct mor_json_iter it = mor_json_iter(value);
	MOR_CLEAN_TEXT char *from = origin(own, section, NULL);
	mortise_error *err = own->load->err;
	int r;

	if (!from)
		return mor_fail_memory_of(err, own->shown);
	if ((r = mor_key_section(from, MORTISE_EMANIFEST, section, err)) < 0)
		return r;
	if (mor_json_type(value) != MOR_JSON_OBJECT)
		return mor_fail(err, MORTISE_EMANIFEST, "%s: %s is a section: write its keys below [%s]", from,
				section, section);
	if (strcmp(section, "config") == 0) {
		r = mor_config_merge(&own->load->m->config, value, true);
		return r < 0 ? mor_fail(err, r, "%s: %s", from, mortise_status_text(r)) : 0;
	}
	while (r == 0 && mor_json_next(&it))
		r = add_key(own, section, it.name.ptr, it.value);
	return r;
}

/* True if [plugin] command is the named file, or if there is no command. */
static bool is_about(const struct own *own, const char *file)
{
	const struct mor_value *command = mor_json_at(mor_doc_root(own->doc), "/plugin/command");
	struct mor_json_iter it = mor_json_iter(command);
	bool found = false;

	if (mor_json_type(command) == MOR_JSON_MISSING)
		return true;
	do {
		const char *word =
			mor_json_text(mor_json_type(command) == MOR_JSON_STRING ? command : it.value, NULL);
		MOR_CLEAN_TEXT char *path = word ? mor_path_join(own->dir, word) : NULL;

		found = found || (path && mor_path_same(path, file));
	} while (mor_json_type(command) == MOR_JSON_ARRAY && mor_json_next(&it));
	return found;
}

int mor_own_load(struct mor_load *load, const char *path, const char *shown, enum mor_own_use use)
{
	__attribute__((cleanup(own_fini))) struct own own = { .load = load, .shown = shown };
	MOR_CLEAN_TEXT char *text = NULL;
	struct mor_json_iter it;
	size_t len;
	int r = mor_manifest_see(load, path, shown, &text, &len);

	if (r <= 0)
		return r;
	own.dir = mor_strndup(path, (size_t)(strrchr(path, '/') - path));
	if (!own.dir)
		return mor_fail_memory_of(load->err, shown);
	if ((r = parse_own(&own, text, len)) < 0)
		return r;
	if (use == MOR_OWN_IF_NAMED && !is_about(&own, load->file))
		return 0;
	it = mor_json_iter(mor_doc_root(own.doc));
	while (r == 0 && mor_json_next(&it))
		r = add_section(&own, it.name.ptr, it.value);
	return r < 0 ? r : 1;
}
