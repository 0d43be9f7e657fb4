/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the permissions of other manifests into our settings of [sandbox]. Only the names change here. The
 * settings are checked again later, by the same rules as our own. A misspelt permission, or one of the wrong
 * type, is an error: a sandbox must not guess.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "manifest/internal.h"

/* One object that is being read. */
struct policy_map {
	struct mor_load *load;
	const char *object; /* "/permissions" */
};

static const char *pointer(const struct policy_map *map, const char *key, char out[100])
{
	char quoted[60];

	snprintf(out, 100, "%s/%s", map->object, mor_excerpt(mor_slice_of(key), quoted, sizeof(quoted)));
	return out;
}

static int wrong_member(const struct policy_map *map, const char *key, const struct mor_value *value,
			const char *wanted)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	char at[100], shown[100];

	mor_json_write(value, false, &json);
	return mor_where_fail(map->load, pointer(map, key, at), "is %s: it must be %s",
			      mor_printable(mor_buf_view(&json), shown, sizeof(shown)), wanted);
}

static int add_setting(const struct policy_map *map, const char *key, const struct mor_value *value,
		       const char *setting)
{
	char at[100], from[MOR_WHERE];

	mor_where_line(&map->load->source, pointer(map, key, at), from);
	return mor_setting_add(map->load, "sandbox", setting, value, from);
}

static int add_bool(const struct policy_map *map, const char *key, const struct mor_value *value,
		    const char *setting)
{
	if (mor_json_type(value) != MOR_JSON_BOOL)
		return wrong_member(map, key, value, "true or false");
	return add_setting(map, key, value, setting);
}

/* The settings list takes JSON, and "true" and "false" are JSON. */
static int add_fixed(const struct policy_map *map, const char *key, const char *json, const char *setting)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = mor_doc_parse(mor_slice_of(json), 0, 0, &doc, NULL);

	if (r < 0)
		return mor_fail_memory_of(map->load->err, map->load->source.shown);
	return add_setting(map, key, mor_doc_root(doc), setting);
}

static int add_paths(const struct policy_map *map, const char *key, const struct mor_value *list,
		     const char *setting)
{
	struct mor_json_iter it = mor_json_iter(list);

	if (mor_json_type(list) != MOR_JSON_ARRAY)
		return wrong_member(map, key, list, "an array of paths");
	while (mor_json_next(&it)) {
		const char *path = mor_json_text(it.value, "");

		if (path[0] != '/' && strncmp(path, "~/", 2) != 0)
			return wrong_member(map, key, it.value,
					    "an absolute path, or one that begins with \"~/\"");
	}
	return add_setting(map, key, list, setting);
}

static int unknown_member(const struct policy_map *map, const char *key, const char *known)
{
	char at[100];

	return mor_where_fail(map->load, pointer(map, key, at), "is not known: use one of %s", known);
}

/* Absent: everything is denied. */
static int check_object(const struct policy_map *map, const struct mor_value *object)
{
	enum mor_json_type type = mor_json_type(object);

	if (type == MOR_JSON_MISSING || type == MOR_JSON_OBJECT)
		return 0;
	return mor_where_fail(map->load, map->object, "must be a table, not %s", mor_json_type_name(type));
}

/* ---- plugin.toml ---- */

int mor_manifest_map_permissions(struct mor_load *load, const struct mor_value *permissions)
{
	struct policy_map map = { load, "/permissions" };
	struct mor_json_iter it = mor_json_iter(permissions);
	int r = check_object(&map, permissions);

	while (r == 0 && mor_json_next(&it)) {
		const char *key = it.name.ptr;

		if (mor_text_in(it.name, "workspace_write|network"))
			r = add_bool(&map, key, it.value, key);
		else if (mor_slice_is(it.name, "declared_paths"))
			r = add_paths(&map, key, it.value, "read");
		else
			r = unknown_member(&map, key, "workspace_write, network, declared_paths");
	}
	return r;
}

/* ---- sunscreen-plugin.json ---- */

/* "workspace" means reading and writing all of it. Every plugin has a scratch directory. */
static int add_filesystem(const struct policy_map *map, const struct mor_value *list)
{
	struct mor_json_iter it = mor_json_iter(list);
	bool workspace = mor_json_type(list) == MOR_JSON_MISSING; /* the default is both */
	int r;

	if (mor_json_type(list) != MOR_JSON_MISSING && mor_json_type(list) != MOR_JSON_ARRAY)
		return wrong_member(map, "filesystem", list, "an array of \"workspace\" and \"scratch\"");
	while (mor_json_next(&it)) {
		if (!mor_text_in(mor_json_string(it.value), "workspace|scratch"))
			return wrong_member(map, "filesystem", it.value, "\"workspace\" or \"scratch\"");
		workspace = workspace || mor_slice_is(mor_json_string(it.value), "workspace");
	}
	r = add_fixed(map, "filesystem", workspace ? "true" : "false", "workspace_write");
	/* Not asked for: the workspace cannot even be read. */
	return r < 0 || workspace ? r : add_fixed(map, "filesystem", "\"\"", "workspace");
}

int mor_manifest_map_capabilities(struct mor_load *load, const struct mor_value *capabilities)
{
	struct policy_map map = { load, "/capabilities" };
	struct mor_json_iter it = mor_json_iter(capabilities);
	int r = check_object(&map, capabilities);

	while (r == 0 && mor_json_next(&it)) {
		if (mor_slice_is(it.name, "network"))
			r = add_bool(&map, "network", it.value, "network");
		else if (!mor_slice_is(it.name, "filesystem"))
			r = unknown_member(&map, it.name.ptr, "network, filesystem");
	}
	if (r == 0)
		r = add_filesystem(&map, mor_json_get(capabilities, "filesystem"));
	if (r == 0)
		r = add_fixed(&map, "spawn", "true", "spawn");
	/* Upstream's own example writes a copy of its input there, if it can. */
	return r < 0 ? r : add_fixed(&map, "spawn", "true", "quiet_tmp");
}
