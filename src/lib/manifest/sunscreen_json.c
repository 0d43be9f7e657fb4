/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sunscreen-plugin.json, the manifest that Sunscreen's own program reads. Unknown members are errors, as
 * they are there.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/path.h"
#include "base/text.h"
#include "manifest/internal.h"

static const struct mor_expected expected[] = {
	{ "/name", "a string", MOR_IS(STRING), true, false },
	{ "/version", "a version such as \"1.2.0\"", MOR_IS(STRING), true, false },
	{ "/description", "a string", MOR_IS(STRING), false, false },
	{ "/transport", "\"stdio-jsonrpc\" or \"grpc\"", MOR_IS(STRING), true, false },
	{ "/entrypoint", "an array with a program and its arguments", MOR_IS(ARRAY), false, true },
	{ "/capabilities", "an object", MOR_IS(OBJECT), false, false },
	{ "/commands", "an array of commands", MOR_IS(ARRAY), false, false },
	{ "/hooks", "an array of strings", MOR_IS(ARRAY), false, true },
	{ "/engines", "an object", MOR_IS(OBJECT), false, false },
	{ "/engines/sunscreen", "a string", MOR_IS(STRING), false, false },
	{ 0 },
};

static const char *text_at(const struct mor_load *load, const char *pointer)
{
	return mor_json_text(mor_json_at(mor_doc_root(load->m->doc), pointer), "");
}

/* ---- version ---- */

static bool skip_number(const char **at)
{
	const char *start = *at;

	while (isdigit((unsigned char)**at))
		(*at)++;
	return *at > start;
}

/* Semantic versioning; a leading "v" is allowed. The part after '-' or '+' was checked as part of a plain
 * name. */
static bool is_version(const char *text)
{
	text += *text == 'v';
	for (int part = 0; part < 3; part++) {
		if ((part && *text++ != '.') || !skip_number(&text))
			return false;
	}
	return !*text || ((*text == '-' || *text == '+') && text[1]);
}

static int check_version(struct mor_load *load)
{
	const char *version = text_at(load, "/version");
	int r = mor_expect_plain_name(load, "/version");

	if (r < 0 || is_version(version))
		return r;
	return mor_where_fail(load, "/version", "is \"%.60s\": write it as MAJOR.MINOR.PATCH", version);
}

/* ---- transport and entrypoint ---- */

int mor_expect_transport(struct mor_load *load, const char *pointer, const char *dialect)
{
	const struct mor_value *value = mor_json_at(mor_doc_root(load->m->doc), pointer);
	const char *transport = mor_json_text(value, "stdio-jsonrpc");
	bool grpc = strcmp(transport, "grpc") == 0;
	char quoted[40];
	int r;

	if (!grpc && strcmp(transport, "stdio-jsonrpc") != 0)
		return mor_where_fail(load, pointer, "is \"%s\": use \"stdio-jsonrpc\" or \"grpc\"",
				      mor_excerpt(mor_slice_of(transport), quoted, sizeof(quoted)));
	r = grpc ? mor_source_setting(load, "plugin", "transport", pointer) : 0;
	return r < 0 ? r :
		       mor_setting_add_text(load, "plugin", "dialect", grpc ? "sunscreen" : dialect,
					    load->source.shown);
}

static int check_entrypoint(struct mor_load *load)
{
	struct mor_json_iter it = mor_json_iter(mor_json_at(mor_doc_root(load->m->doc), "/entrypoint"));
	char at[40], quoted[100];

	if (!*text_at(load, "/entrypoint/0"))
		return mor_where_fail(load, "/entrypoint", "names no program: write it as [\"./plugin\"]");
	for (size_t i = 0; mor_json_next(&it); i++) {
		if (!mor_path_climbs(mor_json_text(it.value, "")))
			continue;
		snprintf(at, sizeof(at), "/entrypoint/%zu", i);
		return mor_where_status(
			load, MORTISE_EVIOLATION, at,
			"is \"%s\", which has a \"..\": a plugin runs what is in its own directory",
			mor_excerpt(mor_json_string(it.value), quoted, sizeof(quoted)));
	}
	return 0;
}

/* ---- commands and hooks ---- */

static int read_command(struct mor_load *load, const struct mor_value *command, size_t i, struct mor_writer *w)
{
	static const char *const members[] = { "name", "kind", "summary" };
	struct mor_action action;
	char at[60], below[80];
	int r;

	snprintf(at, sizeof(at), "/commands/%zu", i);
	if (mor_json_type(command) != MOR_JSON_OBJECT)
		return mor_where_fail(load, at, "is of type %s: it must be an object with name and kind",
				      mor_json_type_name(mor_json_type(command)));
	if ((r = mor_expect_keys(load, at, "name|kind|summary", true)) < 0)
		return r;
	for (size_t m = 0; m < 3; m++) {
		const struct mor_value *value = mor_json_get(command, members[m]);

		snprintf(below, sizeof(below), "%s/%s", at, members[m]);
		if (!value && m < 2)
			return mor_where_fail(load, below, "is missing: it must be a string");
		if (value && mor_json_type(value) != MOR_JSON_STRING)
			return mor_where_fail(load, below, "is of type %s: it must be a string",
					      mor_json_type_name(mor_json_type(value)));
	}
	snprintf(below, sizeof(below), "%s/name", at);
	if ((r = mor_expect_plain_name(load, below)) < 0)
		return r;
	action = (struct mor_action){ mor_json_text(mor_json_get(command, "kind"), ""),
				      mor_json_text(mor_json_get(command, "name"), ""),
				      mor_json_text(mor_json_get(command, "summary"), NULL) };
	snprintf(below, sizeof(below), "%s/kind", at);
	if (!mor_text_in(mor_slice_of(action.kind), "app|scaffold"))
		return mor_where_fail(load, below, "is \"%.40s\": use \"app\" or \"scaffold\"", action.kind);
	mor_action_add(w, &action);
	return 0;
}

static int read_commands(struct mor_load *load)
{
	const struct mor_value *root = mor_doc_root(load->m->doc);
	struct mor_json_iter commands = mor_json_iter(mor_json_get(root, "commands"));
	struct mor_json_iter hooks = mor_json_iter(mor_json_get(root, "hooks"));
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	char at[60];
	int r = 0;

	mor_w_array(&w);
	for (size_t i = 0; r == 0 && mor_json_next(&commands); i++)
		r = read_command(load, commands.value, i, &w);
	for (size_t i = 0; r == 0 && mor_json_next(&hooks); i++) {
		snprintf(at, sizeof(at), "/hooks/%zu", i);
		r = mor_expect_plain_name(load, at);
		if (r == 0)
			mor_action_add(&w,
				       &(struct mor_action){ "hook", mor_json_text(hooks.value, ""), NULL });
	}
	mor_w_end(&w);
	return r < 0 ? r : mor_actions_keep(load, &json);
}

/* ---- the whole ---- */

static int json_read(struct mor_load *load)
{
	const struct mor_value *root = mor_doc_root(load->m->doc);
	int r = mor_expect(load, expected);

	if (r < 0 ||
	    (r = mor_expect_keys(
		     load, "",
		     "name|version|description|transport|entrypoint|capabilities|commands|hooks|engines",
		     true)) < 0 ||
	    (r = mor_expect_keys(load, "/engines", "sunscreen", true)) < 0 ||
	    (r = mor_expect_plain_name(load, "/name")) < 0 || (r = check_version(load)) < 0 ||
	    (r = read_commands(load)) < 0 ||
	    (r = mor_manifest_map_capabilities(load, mor_json_get(root, "capabilities"))) < 0 ||
	    (r = mor_expect_transport(load, "/transport", "sunscreen-json")) < 0 ||
	    (r = check_entrypoint(load)) < 0)
		return r;
	return mor_source_identity(load, "");
}

/* A program without a slash is searched in PATH; with a slash, in the plugin's directory. */
static int json_launch(struct mor_load *load)
{
	const struct mor_value *list = mor_json_at(mor_doc_root(load->m->doc), "/entrypoint");
	const char **argv = mor_zalloc((mor_json_size(list) + 1) * sizeof(*argv));
	MOR_CLEAN_TEXT char *program = NULL;
	struct mor_json_iter it = mor_json_iter(list);
	char origin[MOR_WHERE];
	bool same = false, failed = false;
	int r = 0;

	for (size_t i = 0; argv && !failed && mor_json_next(&it); i++) {
		MOR_CLEAN_TEXT char *path = mor_path_join(load->dir, mor_json_text(it.value, ""));

		argv[i] = mor_json_text(it.value, "");
		failed = !path;
		same = same || (path && load->file && mor_path_same(path, load->file));
		if (i == 0 && strchr(argv[0], '/')) {
			program = mor_take(&path);
			argv[0] = program;
		}
	}
	if (!argv || failed)
		r = mor_source_no_memory(load);
	else if (!load->file || same)
		r = mor_setting_add_list(load, "plugin", "command", argv,
					 mor_where_line(&load->source, "/entrypoint", origin));
	mor_free(argv);
	return r < 0 ? r : !load->file || same;
}

const struct mor_format mor_sunscreen_json_format = {
	.file = "sunscreen-plugin.json", .confines = true, .read = json_read, .launch = json_launch
};
