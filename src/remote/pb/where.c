/* SPDX-License-Identifier: Apache-2.0 */
#include "pb/where.h"

#include <stdio.h>

#include "base/error.h"
#include "base/text.h"

void mor_pb_where_member(struct mor_pb_where *where, struct mor_slice name)
{
	mor_buf_text(&where->path, where->path.len ? "." : "");
	mor_buf_slice(&where->path, name);
}

void mor_pb_where_item(struct mor_pb_where *where, size_t index)
{
	mor_buf_printf(&where->path, "[%zu]", index);
}

int mor_pb_refuse(struct mor_pb_where *where, const char *why)
{
	char shown[300];

	if (mor_buf_failed(&where->path))
		return mor_fail_memory(where->err);
	mor_excerpt(mor_buf_view(&where->path), shown, sizeof(shown));
	return mor_fail(where->err, MORTISE_EINPUT, "%s%s%s", shown, *shown ? ": " : "", why);
}

int mor_pb_refuse_type(struct mor_pb_where *where, const char *wanted, const struct mor_value *value)
{
	char why[120];

	snprintf(why, sizeof(why), "expected %s, not %s", wanted, mor_json_type_name(mor_json_type(value)));
	return mor_pb_refuse(where, why);
}
