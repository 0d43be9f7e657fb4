/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "starter/inside.h"

/* The value whose @NAME@ begins here, or NULL. */
static const struct mor_starter_value *value_at(const char *at, size_t left,
						const struct mor_starter_value *values)
{
	for (; values->name; values++) {
		size_t len = strlen(values->name);

		if (left >= len + 2 && memcmp(at + 1, values->name, len) == 0 && at[len + 1] == '@')
			return values;
	}
	return NULL;
}

int mor_starter_fill(struct mor_slice text, const struct mor_starter_value *values, struct mor_buf *out)
{
	const char *at = text.ptr, *end = text.ptr + text.len;

	while (at < end) {
		const char *mark = memchr(at, '@', (size_t)(end - at));
		const struct mor_starter_value *value;

		if (!mark)
			break;
		mor_buf_append(out, at, (size_t)(mark - at));
		value = value_at(mark, (size_t)(end - mark), values);
		if (value)
			mor_buf_slice(out, value->text);
		else
			mor_buf_byte(out, '@');
		at = mark + (value ? strlen(value->name) + 2 : 1);
	}
	if (at < end)
		mor_buf_append(out, at, (size_t)(end - at));
	return out->status;
}
