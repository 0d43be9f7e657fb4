/* SPDX-License-Identifier: Apache-2.0 */
/* Where signatures come from: the manifest's list of functions, or the dialect's table. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dialect/dialect.h"
#include "runner/signature.h"

/* ---- from a table ---- */

static bool is_from_host(const struct mor_value *row)
{
	return mor_slice_is(mor_json_string(mor_json_get(row, "from")), "host");
}

/* What the host fills in by itself, and what only the specification wants, need not be typed. */
static bool must_be_typed(const struct mor_value *field)
{
	return mor_json_bool(mor_json_get(field, "required"), false) && !mor_json_get(field, "default") &&
	       !mor_json_bool(mor_json_get(field, "strict_only"), false) && !mor_json_get(field, "when");
}

static bool has_flag(const struct mor_value *field, const char *flag)
{
	return flag ? mor_json_bool(mor_json_get(field, flag), false) : must_be_typed(field);
}

static void write_names(struct mor_writer *w, const char *key, const struct mor_value *fields, const char *flag)
{
	struct mor_json_iter it = mor_json_iter(fields);

	mor_w_key(w, key);
	mor_w_array(w);
	while (mor_json_next(&it))
		if (has_flag(it.value, flag))
			mor_w_value(w, mor_json_get(it.value, "name"));
	mor_w_end(w);
}

static void write_members(struct mor_writer *w, const struct mor_value *fields);

/* A list of one type is that type. What is needed only beside a certain value of another member says so. */
static void write_property(struct mor_writer *w, const struct mor_value *field)
{
	const struct mor_value *type = mor_json_get(field, "type"), *values = mor_json_get(field, "one_of");
	const struct mor_value *when = mor_json_get(field, "when");

	mor_w_key_slice(w, mor_json_string(mor_json_get(field, "name")));
	mor_w_object(w);
	mor_w_key(w, "type");
	mor_w_value(w, mor_json_size(type) == 1 ? mor_json_at(type, "/0") : type);
	if (values) {
		mor_w_key(w, "enum");
		mor_w_value(w, values);
	}
	if (when && mor_json_bool(mor_json_get(field, "required"), false)) {
		mor_w_key(w, "when");
		mor_w_value(w, when);
	}
	if (mor_slice_is(mor_json_string(mor_json_at(type, "/0")), "object") && mor_json_get(field, "fields"))
		write_members(w, mor_json_get(field, "fields"));
	mor_w_end(w);
}

static void write_members(struct mor_writer *w, const struct mor_value *fields)
{
	struct mor_json_iter it = mor_json_iter(fields);

	mor_w_key(w, "properties");
	mor_w_object(w);
	while (mor_json_next(&it))
		if (!mor_slice_is(mor_json_string(mor_json_get(it.value, "name")), "*"))
			write_property(w, it.value);
	mor_w_end(w);
	write_names(w, "required", fields, NULL);
	write_names(w, "any_of", fields, "any_of");
}

static void write_row(struct mor_writer *w, const struct mor_value *row)
{
	mor_w_object(w);
	mor_w_key(w, "name");
	mor_w_value(w, mor_json_get(row, "name"));
	mor_w_pair_bool(w, "open", true);
	mor_w_key(w, "parameters");
	mor_w_object(w);
	write_members(w, mor_json_get(row, "params"));
	mor_w_end(w);
	mor_w_end(w);
}

/* Where a row stands for all of a plugin's own functions, its params are not what a user types. */
static bool calls_functions(const struct mor_value *methods)
{
	struct mor_json_iter it = mor_json_iter(methods);

	while (mor_json_next(&it))
		if (mor_slice_is(mor_json_string(mor_json_get(it.value, "action")), "*"))
			return true;
	return false;
}

static const struct mor_value *row_of(const struct mor_value *methods, const char *method)
{
	struct mor_json_iter it = mor_json_iter(methods);

	while (mor_json_next(&it))
		if (is_from_host(it.value) && mor_json_get(it.value, "params") &&
		    mor_slice_is(mor_json_string(mor_json_get(it.value, "name")), method))
			return it.value;
	return NULL;
}

/* ---- from a manifest ---- */

static const struct mor_value *entry_of(const struct mor_value *actions, const char *method)
{
	struct mor_json_iter it = mor_json_iter(actions);

	while (mor_json_next(&it))
		if (mor_slice_is(mor_json_string(mor_json_get(it.value, "name")), method) &&
		    mor_json_at(it.value, "/parameters/properties"))
			return it.value;
	return NULL;
}

static int keep_signature(struct mor_buf *json, struct mor_doc **ret, mortise_error *err)
{
	if (mor_buf_failed(json))
		return mor_fail_memory(err);
	return json->len ? mor_doc_parse(mor_buf_view(json), MOR_JSON_NAN, 0, ret, err) : 0;
}

/* The table as JSON is a fifth of the command's own instructions, and says nothing of most calls. */
static bool has_row(const char *name, const char *method)
{
	const struct mor_dialect *dialect = name ? mor_dialect_find(name) : NULL;

	for (const struct mor_method *row = dialect ? dialect->methods : NULL; row && row->name; row++)
		if (row->from == MOR_FROM_HOST && row->params && strcmp(row->name, method) == 0)
			return true;
	return false;
}

static void write_known(const char *dialect, const char *method, struct mor_writer *w)
{
	MOR_CLEAN(mor_doc) struct mor_doc *table = mor_runner_dialect_table(dialect);
	const struct mor_value *methods = mor_json_get(mor_doc_root(table), "methods");
	const struct mor_value *row = calls_functions(methods) ? NULL : row_of(methods, method);

	if (row)
		write_row(w, row);
}

int mor_signature_pick(const char *dialect, const struct mor_value *actions, const char *method,
		       struct mor_doc **ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	const struct mor_value *entry = entry_of(actions, method);
	struct mor_writer w = { .out = &json };

	if (entry)
		mor_json_write(entry, false, &json);
	else if (has_row(dialect, method))
		write_known(dialect, method, &w);
	return keep_signature(&json, ret, err);
}

int mor_signature_find(const struct mor_plugin_args *args, const char *path, const char *const *argv,
		       const char *method, struct mor_doc **ret, mortise_error *err)
{
	struct mor_manifest *manifest = NULL;
	int r;

	if (mor_runner_resolve(args, path, argv, &manifest, NULL) < 0)
		return 0;
	r = mor_signature_pick(manifest->dialect, manifest->actions ? mor_doc_root(manifest->actions) : NULL,
			       method, ret, err);
	mor_manifest_free(manifest);
	return r;
}

static void add_name(struct mor_buf *out, const struct mor_value *name)
{
	struct mor_slice text = mor_json_string(name);

	if (text.len && !memchr(text.ptr, '*', text.len) && !memchr(text.ptr, '\n', text.len))
		mor_buf_printf(out, "%.*s\n", (int)text.len, text.ptr);
}

int mor_signature_list(const char *dialect, const struct mor_value *actions, struct mor_buf *out,
		       mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *table = mor_runner_dialect_table(dialect);
	const struct mor_value *methods = mor_json_get(mor_doc_root(table), "methods");
	struct mor_json_iter it = mor_json_iter(actions);

	while (mor_json_next(&it))
		add_name(out, mor_json_get(it.value, "name"));
	it = mor_json_iter(methods);
	while (!calls_functions(methods) && mor_json_next(&it))
		if (is_from_host(it.value) &&
		    mor_slice_is(mor_json_string(mor_json_get(it.value, "role")), "call"))
			add_name(out, mor_json_get(it.value, "name"));
	return mor_buf_failed(out) ? mor_fail_memory(err) : 0;
}

int mor_signature_names(const struct mor_plugin_args *args, const char *path, const char *const *argv,
			struct mor_buf *out, mortise_error *err)
{
	struct mor_manifest *manifest = NULL;
	int r;

	if (mor_runner_resolve(args, path, argv, &manifest, NULL) < 0)
		return 0;
	r = mor_signature_list(manifest->dialect, manifest->actions ? mor_doc_root(manifest->actions) : NULL,
			       out, err);
	mor_manifest_free(manifest);
	return r;
}
