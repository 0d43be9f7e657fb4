/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugin.toml of Sunscreen's specification: one program inside the plugin's directory, its permissions, and
 * the commands and hooks that it offers.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/text.h"
#include "manifest/internal.h"

static const struct mor_expected expected[] = {
	{ "/plugin", "a table", MOR_IS(OBJECT), true, false },
	{ "/plugin/name", "a string", MOR_IS(STRING), true, false },
	{ "/plugin/version", "a string", MOR_IS(STRING), true, false },
	{ "/plugin/description", "a string", MOR_IS(STRING), false, false },
	{ "/plugin/entry", "a program in the plugin's directory, such as \"./bin/plugin\"", MOR_IS(STRING),
	  true, false },
	{ "/plugin/transport", "\"stdio-jsonrpc\" or \"grpc\"", MOR_IS(STRING), false, false },
	{ "/permissions", "a table", MOR_IS(OBJECT), false, false },
	{ "/commands", "a table", MOR_IS(OBJECT), false, false },
	{ 0 },
};

/* ---- entry ---- */

/* A program outside the plugin's directory could be one that nobody has reviewed. */
static int escapes(struct mor_load *load, const char *entry, const char *why)
{
	char quoted[100];

	return mor_where_status(load, MORTISE_EVIOLATION, "/plugin/entry",
				"is \"%s\", which %s: it must be a file inside the plugin's directory",
				mor_excerpt(mor_slice_of(entry), quoted, sizeof(quoted)), why);
}

static int check_entry(struct mor_load *load)
{
	struct mor_slice entry = mor_json_string(mor_json_at(mor_doc_root(load->m->doc), "/plugin/entry"));

	if (entry.len == 0 || strlen(entry.ptr) != entry.len)
		return mor_where_fail(load, "/plugin/entry", "%s: name the program",
				      entry.len ? "holds a NUL character" : "is empty");
	if (entry.ptr[0] == '/')
		return escapes(load, entry.ptr, "is absolute");
	return mor_path_climbs(entry.ptr) ? escapes(load, entry.ptr, "has a \"..\"") : 0;
}

static int toml_launch(struct mor_load *load)
{
	const char *entry = mor_json_text(mor_json_at(mor_doc_root(load->m->doc), "/plugin/entry"), "");
	MOR_CLEAN_TEXT char *path = mor_path_join(load->dir, entry);
	char real[PATH_MAX], quoted[100], origin[MOR_WHERE];
	bool there;
	int r;

	if (!path)
		return mor_source_no_memory(load);
	there = realpath(path, real) && mor_path_is_file(real);
	if (load->file && !(there && mor_path_same(real, load->file)))
		return 0;
	if (!there)
		return mor_where_fail(load, "/plugin/entry",
				      "is \"%s\", which does not exist: build it, or correct the path",
				      mor_excerpt(mor_slice_of(entry), quoted, sizeof(quoted)));
	if (!mor_path_below(load->dir, real))
		return escapes(load, entry, "is a link to a file elsewhere");
	r = mor_setting_add_list(load, "plugin", "command", (const char *const[]){ path, NULL },
				 mor_where_line(&load->source, "/plugin/entry", origin));
	return r < 0 ? r : 1;
}

/* ---- commands ---- */

static int read_kind(struct mor_load *load, const char *kind, const struct mor_value *table,
		     struct mor_writer *w)
{
	struct mor_json_iter it = mor_json_iter(table);
	MOR_CLEAN_TEXT char *at = mor_text_format("/commands/%s", kind);
	int r = 0;

	if (!at)
		return mor_source_no_memory(load);
	if (mor_json_type(table) != MOR_JSON_OBJECT)
		return mor_where_fail(load, at, "must be a table of commands and their descriptions");
	if (!mor_text_in(mor_slice_of(kind), "scaffold|hook"))
		r = mor_where_warn(load, at, "is not a kind of command in Sunscreen: use scaffold or hook");
	while (r == 0 && mor_json_next(&it)) {
		MOR_CLEAN_TEXT char *one = mor_text_format("%s/%s", at, it.name.ptr);

		if (!one)
			return mor_source_no_memory(load);
		if (mor_json_type(it.value) != MOR_JSON_STRING)
			r = mor_where_fail(load, one, "must be a string that describes the command");
		else if (!mor_manifest_is_plain_name(it.name))
			r = mor_where_fail(
				load, one,
				"is not a valid command name: use letters, digits and \"._+-\", a letter or "
				"digit first");
		else
			mor_action_add(w,
				       &(struct mor_action){ kind, it.name.ptr, mor_json_text(it.value, "") });
	}
	return r;
}

static int read_commands(struct mor_load *load)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(mor_doc_root(load->m->doc), "commands"));
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	int r = 0;

	mor_w_array(&w);
	while (r == 0 && mor_json_next(&it))
		r = read_kind(load, it.name.ptr, it.value, &w);
	mor_w_end(&w);
	return r < 0 ? r : mor_actions_keep(load, &json);
}

/* ---- the whole ---- */

static int toml_read(struct mor_load *load)
{
	const struct mor_value *root = mor_doc_root(load->m->doc);
	int r = mor_expect(load, expected);

	if (r < 0 || (r = mor_expect_plain_name(load, "/plugin/name")) < 0 ||
	    (r = mor_expect_plain_name(load, "/plugin/version")) < 0 || (r = check_entry(load)) < 0 ||
	    (r = mor_expect_transport(load, "/plugin/transport", "sunscreen")) < 0 ||
	    (r = mor_source_identity(load, "/plugin")) < 0 ||
	    (r = mor_manifest_map_permissions(load, mor_json_get(root, "permissions"))) < 0 ||
	    (r = read_commands(load)) < 0 ||
	    (r = mor_expect_keys(load, "", "plugin|permissions|commands", false)) < 0)
		return r;
	return mor_expect_keys(load, "/plugin", "name|version|description|entry|transport", false);
}

const struct mor_format mor_sunscreen_format = { .file = "plugin.toml",
						 .confines = true,
						 .convert = mor_toml_to_json,
						 .read = toml_read,
						 .launch = toml_launch };
