/* SPDX-License-Identifier: Apache-2.0 */
/* Where signatures come from: the manifest's list of functions, or the dialect's table. */
#include <string.h>

#include "base/error.h"
#include "runner/signature.h"

/* The rows that people call by their own names. Where a row stands for all of a plugin's own functions, the
 * params of rows are not what a user types. */
static const struct mor_method *callable_rows(const char *name)
{
	const struct mor_dialect *dialect = name ? mor_dialect_find(name) : NULL;

	for (const struct mor_method *row = dialect ? dialect->methods : NULL; row && row->name; row++)
		if (row->action && strcmp(row->action, "*") == 0)
			return NULL;
	return dialect ? dialect->methods : NULL;
}

struct mor_signature mor_signature_pick(const char *dialect, const struct mor_value *actions,
					const char *method)
{
	struct mor_json_iter it = mor_json_iter(actions);

	while (mor_json_next(&it))
		if (mor_slice_is(mor_json_string(mor_json_get(it.value, "name")), method) &&
		    mor_json_at(it.value, "/parameters/properties"))
			return MOR_DECLARED(it.value);
	for (const struct mor_method *row = callable_rows(dialect); row && row->name; row++)
		if (row->from == MOR_FROM_HOST && row->params && strcmp(row->name, method) == 0)
			return (struct mor_signature){ .row = row };
	return (struct mor_signature){ 0 };
}

static const struct mor_value *actions_of(const struct mor_resolved *resolved)
{
	return resolved->manifest->actions ? mor_doc_root(resolved->manifest->actions) : NULL;
}

struct mor_signature mor_signature_find(const struct mor_resolved *resolved, const char *method)
{
	return mor_signature_pick(resolved->manifest->dialect, actions_of(resolved), method);
}

static void add_name(struct mor_buf *out, struct mor_slice text)
{
	if (text.len && !memchr(text.ptr, '*', text.len) && !memchr(text.ptr, '\n', text.len))
		mor_buf_printf(out, "%.*s\n", (int)text.len, text.ptr);
}

int mor_signature_list(const char *dialect, const struct mor_value *actions, struct mor_buf *out,
		       mortise_error *err)
{
	struct mor_json_iter it = mor_json_iter(actions);

	while (mor_json_next(&it))
		add_name(out, mor_json_string(mor_json_get(it.value, "name")));
	for (const struct mor_method *row = callable_rows(dialect); row && row->name; row++)
		if (row->from == MOR_FROM_HOST && row->role == MOR_ROLE_CALL)
			add_name(out, mor_slice_of(row->name));
	return mor_buf_failed(out) ? mor_fail_memory(err) : 0;
}

int mor_signature_names(const struct mor_resolved *resolved, struct mor_buf *out, mortise_error *err)
{
	return mor_signature_list(resolved->manifest->dialect, actions_of(resolved), out, err);
}
