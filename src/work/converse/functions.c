/* SPDX-License-Identifier: Apache-2.0 */
#include "converse/functions.h"

#include "base/slice.h"
#include "runner/signature.h"

/* ---- the list ---- */

const struct mor_value *mor_converse_functions(const struct mor_value *about)
{
	const struct mor_value *list = mor_json_get(about, "actions");

	return mor_json_size(list) ? list : mor_json_at(about, "/identity/commands");
}

const struct mor_value *mor_converse_function_find(const struct mor_value *about, const char *name)
{
	struct mor_json_iter it = mor_json_iter(mor_converse_functions(about));

	while (mor_json_next(&it))
		if (mor_slice_is(mor_json_string(mor_json_get(it.value, "name")), name))
			return it.value;
	return NULL;
}

bool mor_converse_functions_open(const struct mor_value *about)
{
	return !mor_json_size(mor_json_get(about, "actions")) ||
	       mor_json_bool(mor_json_get(about, "more_actions"), false);
}

void mor_converse_functions_offer(const struct mor_value *about, struct mor_nearest *near)
{
	struct mor_json_iter it = mor_json_iter(mor_converse_functions(about));

	while (mor_json_next(&it))
		mor_nearest_offer(near, mor_json_text(mor_json_get(it.value, "name"), ""));
}

static bool is_passthrough(const struct mor_value *function)
{
	return mor_json_bool(mor_json_get(function, "passthrough"), false);
}

const struct mor_value *mor_converse_function_passthrough(const struct mor_value *about)
{
	struct mor_json_iter it = mor_json_iter(mor_json_get(about, "actions"));

	while (mor_json_next(&it))
		if (is_passthrough(it.value))
			return it.value;
	return NULL;
}

/* ---- the parameter for a text ---- */

const char *mor_converse_function_text_parameter(const struct mor_value *function)
{
	struct mor_members all = mor_signature_members(MOR_DECLARED(function));
	struct mor_member_iter it = mor_member_iter(all);
	const char *first = NULL, *required = NULL;
	size_t musts = 0;

	if (mor_json_size(mor_json_get(all.schema, "properties")) == 1)
		return mor_member_next(&it) ? it.at.name.ptr : NULL;
	while (is_passthrough(function) && mor_member_next(&it)) {
		if (!mor_member_is(it.at, "string"))
			continue;
		first = first ? first : it.at.name.ptr;
		if (mor_member_required(all, it.at.name)) {
			required = it.at.name.ptr;
			musts++;
		}
	}
	return musts == 1 ? required : first;
}
