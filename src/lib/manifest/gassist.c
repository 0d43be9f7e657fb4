/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.json of G-Assist: who the plugin is and which functions it has. Functions come in three forms: a
 * list whose entries have `properties` and `required` themselves (most real plugins), a list whose entries
 * have them below `parameters` (the SDK for MCP), and `schema`. All become the one form of
 * mor_manifest.actions. The plugin is named after its directory, as in the real host.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "manifest/gassist.h"

#define EXECUTE_SECONDS 30 /* the specification's limit of a call */

static const struct mor_expected expected[] = {
	{ "/manifestVersion", "1", MOR_IS(NUMBER), false, false },
	{ "/name", "a string", MOR_IS(STRING), false, false },
	{ "/version", "a string", MOR_IS(STRING), false, false },
	{ "/description", "a string", MOR_IS(STRING), false, false },
	{ "/executable", "a file in the plugin's directory, such as \"plugin.py\"", MOR_IS(STRING), true,
	  false },
	{ "/persistent", "true or false", MOR_IS(BOOL), false, false },
	{ "/functions", "an array of functions", MOR_IS(ARRAY), false, false },
	{ "/schema", "an object", MOR_IS(OBJECT), false, false },
	{ "/passthrough", "true or false", MOR_IS(BOOL), false, false },
	{ "/tags", "an array of strings", MOR_IS(ARRAY), false, true },
	{ "/mcp", "an object", MOR_IS(OBJECT), false, false },
	{ "/mcp/enabled", "true or false", MOR_IS(BOOL), false, false },
	{ "/mcp/server_url", "a string or null", MOR_IS(STRING) | MOR_IS(NULL), false, false },
	{ "/mcp/launch_on_startup", "true or false", MOR_IS(BOOL), false, false },
	{ "/mcp/poll_interval", "a number of seconds", MOR_IS(NUMBER), false, false },
	{ "/mcp/auto_refresh_session", "true or false", MOR_IS(BOOL), false, false },
	{ "/tethered", "true or false", MOR_IS(BOOL), false, false },
	{ "/tether_config", "an object", MOR_IS(OBJECT), false, false },
	{ "/tether_config/heartbeat_interval", "a number of seconds", MOR_IS(NUMBER), false, false },
	{ "/tether_config/heartbeat_timeout", "a number of seconds", MOR_IS(NUMBER), false, false },
	{ "/tether_config/onboarding_timeout", "a number of seconds", MOR_IS(NUMBER), false, false },
	{ "/tether_config/allow_passthrough", "true or false", MOR_IS(BOOL), false, false },
	{ 0 },
};

static bool gassist_is_ours(const struct mor_value *root)
{
	return mor_json_get(root, "manifestVersion") || mor_json_get(root, "protocol_version") ||
	       mor_json_get(root, "executable") || mor_json_get(root, "functions");
}

/* ---- protocol_version ---- */

#define MIGRATION \
	"V1 is no longer supported. To migrate: 1. copy gassist_sdk (plugins/sdk/python in NVIDIA's " \
	"G-Assist repository) into libs/; " \
	"2. replace the code with SDK-based code; 3. put \"protocol_version\": \"2.0\" into manifest.json; " \
	"4. remove all " \
	"heartbeat/threading code; 5. remove all pipe I/O code (the SDK does both)"

static int check_protocol(struct mor_load *load)
{
	const struct mor_value *value = mor_json_get(mor_doc_root(load->m->doc), "protocol_version");
	/* 2.0 without quotes is a mistake, but its meaning is clear. */
	struct mor_slice text =
		mor_json_type(value) == MOR_JSON_NUMBER ? mor_json_raw(value) : mor_json_string(value);
	size_t major = 0;
	char quoted[40];

	if (!text.len)
		return mor_where_fail(load, "/protocol_version",
				      "is missing, so this is a V1 plugin: " MIGRATION);
	mor_excerpt(text, quoted, sizeof(quoted));
	while (major < text.len && text.ptr[major] != '.')
		major++;
	if (major == 1 && text.ptr[0] == '1')
		return mor_where_fail(load, "/protocol_version", "is \"%s\": " MIGRATION, quoted);
	if (major != 1 || text.ptr[0] != '2')
		return mor_where_fail(load, "/protocol_version", "is \"%s\": this host speaks \"2.0\"", quoted);
	return 0;
}

/* ---- functions ---- */

static int add_parameters(struct mor_load *load, const struct mor_value *function, const char *at,
			  struct mor_writer *w)
{
	static const char *const members[] = { "properties", "required" };
	const struct mor_value *below = mor_json_get(function, "parameters");
	const struct mor_value *from = mor_json_get(below, "properties") ? below : function;
	bool flat = from == function;

	if (below && mor_json_type(below) != MOR_JSON_OBJECT)
		return mor_where_fail(load, at, "has parameters of type %s: they must be an object",
				      mor_json_type_name(mor_json_type(below)));
	mor_w_pair_object(w, "parameters");
	for (size_t i = 0; i < 2; i++) {
		const struct mor_value *value = mor_json_get(from, members[i]);
		enum mor_json_type wanted = i ? MOR_JSON_ARRAY : MOR_JSON_OBJECT;

		if (value && mor_json_type(value) != wanted)
			return mor_where_fail(load, at, "has %s%s of type %s: it must be an %s",
					      flat ? "" : "parameters.", members[i],
					      mor_json_type_name(mor_json_type(value)),
					      mor_json_type_name(wanted));
		mor_w_key(w, members[i]);
		if (value)
			mor_w_value(w, value);
		else
			mor_w_raw(w, mor_slice_of(i ? "[]" : "{}"));
	}
	mor_w_end(w);
	return 0;
}

/* `at` is the place of the function. `name`: its key in `schema`, or NULL: it is read from the function. */
static int add_function(struct mor_load *load, const struct mor_value *function, const char *name,
			const char *at, struct mor_writer *w)
{
	const char *doc = mor_json_text(mor_json_get(function, "description"), "");
	char quoted[60];
	int r;

	if (mor_json_type(function) != MOR_JSON_OBJECT)
		return mor_where_fail(load, at,
				      "is of type %s: it must be a function, an object with name and "
				      "description",
				      mor_json_type_name(mor_json_type(function)));
	if (!name)
		name = mor_json_text(mor_json_get(function, "name"),
				     mor_json_text(mor_json_get(function, "title"), ""));
	if (!*name)
		return mor_where_fail(load, at, "has no name: add one");
	mor_excerpt(mor_slice_of(name), quoted, sizeof(quoted));
	if (!*doc)
		return mor_where_fail(load, at, "is the function \"%s\" without a description: add one",
				      quoted);
	if (strncmp(name, "rise_", 5) == 0)
		return mor_where_fail(
			load, at,
			"is called \"%s\": names that begin with \"rise_\" are the engine's own: rename it",
			quoted);
	mor_w_object(w);
	mor_w_pair(w, "name", name);
	mor_w_pair(w, "kind", "function");
	mor_w_pair(w, "description", doc);
	r = add_parameters(load, function, at, w);
	mor_w_end(w);
	return r;
}

static int add_list(struct mor_load *load, const struct mor_value *list, const char *pointer,
		    struct mor_writer *w)
{
	struct mor_json_iter it = mor_json_iter(list);
	int r = 0;

	for (size_t i = 0; r == 0 && mor_json_next(&it); i++) {
		const struct mor_value *wrapped = mor_json_get(it.value, "function");
		char at[100];

		snprintf(at, sizeof(at), "%s/%zu", pointer, i);
		r = add_function(load, wrapped ? wrapped : it.value, NULL, at, w);
	}
	return r;
}

/* {"name": {"description": ...}}; other members ("type", "$schema") are not functions. */
static int add_map(struct mor_load *load, const struct mor_value *schema, struct mor_writer *w)
{
	struct mor_json_iter it = mor_json_iter(schema);
	int r = 0;

	while (r == 0 && mor_json_next(&it)) {
		char at[200], quoted[80];

		if (!mor_json_get(it.value, "description"))
			continue;
		snprintf(at, sizeof(at), "/schema/%s", mor_excerpt(it.name, quoted, sizeof(quoted)));
		r = add_function(load, it.value, it.name.ptr, at, w);
	}
	return r;
}

static int add_schema(struct mor_load *load, const struct mor_value *schema, struct mor_writer *w)
{
	if (mor_json_get(schema, "anyOf"))
		return add_list(load, mor_json_get(schema, "anyOf"), "/schema/anyOf", w);
	if (mor_json_get(schema, "oneOf"))
		return add_list(load, mor_json_get(schema, "oneOf"), "/schema/oneOf", w);
	if (mor_json_get(schema, "properties"))
		return add_function(load, schema, NULL, "/schema", w);
	return add_map(load, schema, w);
}

static int read_functions(struct mor_load *load)
{
	const struct mor_value *root = mor_doc_root(load->m->doc), *schema = mor_json_get(root, "schema");
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	int r;

	mor_w_array(&w);
	r = schema ? add_schema(load, schema, &w) :
		     add_list(load, mor_json_get(root, "functions"), "/functions", &w);
	mor_w_end(&w);
	return r < 0 ? r : mor_actions_keep(load, &json);
}

/* The user's text goes to the plugin's only function as it is. The real host ignores this if there are more
 * functions. */
static int mark_passthrough(struct mor_load *load)
{
	const struct mor_value *actions = mor_doc_root(load->m->actions);
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct mor_json_iter it = mor_json_iter(mor_json_at(actions, "/0"));

	if (mor_json_size(actions) != 1 ||
	    !mor_json_bool(mor_json_get(mor_doc_root(load->m->doc), "passthrough"), false))
		return 0;
	mor_w_array(&w);
	mor_w_object(&w);
	while (mor_json_next(&it)) {
		mor_w_key_slice(&w, it.name);
		mor_w_value(&w, it.value);
	}
	mor_w_pair_bool(&w, "passthrough", true);
	mor_w_end(&w);
	mor_w_end(&w);
	mor_doc_free(mor_take(&load->m->actions));
	return mor_actions_keep(load, &json);
}

/* ---- unusual, but not an error ---- */

/* Windows does not allow these names, with or without an extension. */
#define RESERVED "con|prn|aux|nul|com1|com2|lpt1|lpt2"

static bool is_directory_name(const char *name)
{
	char lower[8] = "";

	for (size_t i = 0; i < sizeof(lower) - 1 && name[i]; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	if (!isalpha((unsigned char)name[0]) ||
	    (strlen(name) < sizeof(lower) && mor_text_in(mor_slice_of(lower), RESERVED)))
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr("_-", *name))
			return false;
	return true;
}

static int warn_name(struct mor_load *load, const char *dir)
{
	const char *name = mor_json_text(mor_json_get(mor_doc_root(load->m->doc), "name"), dir);
	char quoted[80], dir_quoted[80];

	mor_excerpt(mor_slice_of(dir), dir_quoted, sizeof(dir_quoted));
	if (!is_directory_name(dir) &&
	    mor_manifest_warn(load->m,
			      "%s: G-Assist itself would refuse a plugin in a directory called \"%s\": use "
			      "letters, digits, \"_\" and \"-\", a letter first",
			      load->shown, dir_quoted) < 0)
		return mor_source_no_memory(load);
	if (strcmp(name, dir) == 0)
		return 0;
	return mor_where_warn(load, "/name",
			      "is \"%s\", but a G-Assist plugin has the name of its directory: \"%s\"",
			      mor_excerpt(mor_slice_of(name), quoted, sizeof(quoted)), dir_quoted);
}

#define KNOWN \
	"manifestVersion|name|version|description|executable|persistent|protocol_version|functions|schema|passthrough|" \
	"tags|mcp|tethered|tether_config|author|license|$schema"
#define MCP_KNOWN    "enabled|server_url|launch_on_startup|poll_interval|auto_refresh_session"
#define TETHER_KNOWN "heartbeat_interval|heartbeat_timeout|onboarding_timeout|allow_passthrough"

static int warn_rest(struct mor_load *load)
{
	const struct mor_value *root = mor_doc_root(load->m->doc);
	size_t count = mor_json_size(mor_doc_root(load->m->actions));
	int r = 0;

	if (!mor_json_get(root, "manifestVersion"))
		r = mor_where_warn(load, "/manifestVersion", "is missing: 1 is assumed");
	if (r == 0 && !mor_json_get(root, "persistent"))
		r = mor_where_warn(load, "/persistent", "is missing: false is assumed");
	if (r == 0 && count == 0 && !load->m->more_actions)
		r = mor_where_warn(load, "/functions", "names no function");
	if (r == 0 && count != 1 && mor_json_bool(mor_json_get(root, "passthrough"), false))
		r = mor_where_warn(
			load, "/passthrough",
			"has no effect: it is for plugins with exactly one function, and this one has %zu",
			count);
	if (r < 0 || (r = mor_expect_keys(load, "", KNOWN, false)) < 0 ||
	    (r = mor_expect_keys(load, "/mcp", MCP_KNOWN, false)) < 0)
		return r;
	return mor_expect_keys(load, "/tether_config", TETHER_KNOWN, false);
}

/* ---- settings ---- */

static int check_version(struct mor_load *load)
{
	const struct mor_value *version = mor_json_get(mor_doc_root(load->m->doc), "manifestVersion");

	if (mor_json_int(version, version ? 0 : 1) == 1)
		return 0;
	return mor_where_fail(load, "/manifestVersion", "is %s: only 1 is known", mor_json_raw(version).ptr);
}

/* The author says that the first call may take this long (the user must type a key, or log in somewhere). */
static int read_onboarding(struct mor_load *load)
{
	const struct mor_value *value =
		mor_json_at(mor_doc_root(load->m->doc), "/tether_config/onboarding_timeout");

	if (mor_json_double(value, 0) <= EXECUTE_SECONDS)
		return 0;
	return mor_source_setting(load, "timeouts", "execute", "/tether_config/onboarding_timeout");
}

static int read_identity(struct mor_load *load, const char *dir)
{
	const char *shown = load->source.shown;
	int r = mor_setting_add_text(load, "plugin", "dialect", "gassist", shown);

	if (r < 0 || (r = mor_setting_add_text(load, "plugin", "name", dir, shown)) < 0 ||
	    (r = mor_source_setting(load, "plugin", "version", "/version")) < 0)
		return r;
	return mor_source_setting(load, "plugin", "description", "/description");
}

static int gassist_read(struct mor_load *load)
{
	const char *dir = load->query->installed      ? load->query->installed :
			  strcmp(load->dir, "/") == 0 ? "plugin" :
							strrchr(load->dir, '/') + 1;
	int r;

	/* Checked first: a user with a V1 plugin must know that, and not which of its keys are wrong. */
	if (mor_json_type(mor_doc_root(load->m->doc)) == MOR_JSON_OBJECT && (r = check_protocol(load)) < 0)
		return r;
	if ((r = mor_expect(load, expected)) < 0 || (r = check_version(load)) < 0 ||
	    (r = read_functions(load)) < 0 || (r = mark_passthrough(load)) < 0 ||
	    (r = read_identity(load, dir)) < 0 || (r = read_onboarding(load)) < 0 ||
	    (r = mor_gassist_program_data(load, dir)) < 0 || (r = warn_name(load, dir)) < 0)
		return r;
	load->m->more_actions = mor_json_bool(mor_json_at(mor_doc_root(load->m->doc), "/mcp/enabled"), false);
	return warn_rest(load);
}

const struct mor_format mor_gassist_format = {
	.file = "manifest.json",
	.is_ours = gassist_is_ours,
	.read = gassist_read,
	.launch = mor_gassist_launch,
	.finish = mor_gassist_finish,
};
