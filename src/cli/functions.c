#include "cli/functions.h"

#include "base/slice.h"

const struct mor_value *mor_functions(const struct mor_value *about)
{
	const struct mor_value *list = mor_json_get(about, "actions");

	return mor_json_size(list) ? list : mor_json_at(about, "/identity/commands");
}

const struct mor_value *mor_function_find(const struct mor_value *about, const char *name)
{
	struct mor_json_iter it = mor_json_iter(mor_functions(about));

	while (mor_json_next(&it))
		if (mor_slice_is(mor_json_string(mor_json_get(it.value, "name")), name))
			return it.value;
	return NULL;
}

const char *mor_function_only_parameter(const struct mor_value *function)
{
	const struct mor_value *properties = mor_json_at(function, "/parameters/properties");
	struct mor_json_iter it = mor_json_iter(properties);

	return mor_json_size(properties) == 1 && mor_json_next(&it) ? it.name.ptr : NULL;
}

static bool is_required(const struct mor_value *function, struct mor_slice name)
{
	struct mor_json_iter it = mor_json_iter(mor_json_at(function, "/parameters/required"));

	while (mor_json_next(&it))
		if (mor_slice_eq(mor_json_string(it.value), name))
			return true;
	return false;
}

int mor_function_usage(const struct mor_value *function, struct mor_buf *out)
{
	struct mor_json_iter it = mor_json_iter(mor_json_at(function, "/parameters/properties"));

	mor_buf_text(out, mor_json_text(mor_json_get(function, "name"), "?"));
	while (mor_json_next(&it)) {
		bool must = is_required(function, it.name);

		mor_buf_printf(out, " %s%.*s=%s%s", must ? "" : "[", (int)it.name.len, it.name.ptr,
			       mor_json_text(mor_json_get(it.value, "type"), "value"), must ? "" : "]");
	}
	return out->status;
}
