/* SPDX-License-Identifier: Apache-2.0 */
#include "kythe/unit/path.h"

#include <string.h>

/* Back to before the last element that was appended after `floor`; false when there is none to take away, or it is "..". */
static bool step_up(struct mor_buf *out, size_t floor)
{
	size_t at = out->len;

	while (at > floor && out->data[at - 1] != '/')
		at--;
	if (out->len == floor || (out->len - at == 2 && memcmp(out->data + at, "..", 2) == 0))
		return false;
	out->len = at > floor ? at - 1 : floor;
	return true;
}

static void add_element(struct mor_buf *out, size_t floor, struct mor_slice element)
{
	if (out->len > floor)
		mor_buf_byte(out, '/');
	mor_buf_slice(out, element);
}

/* `floor` is where the elements begin: behind the "/" of an absolute path, above which ".." does not go. */
static void add_elements(struct mor_buf *out, size_t floor, bool absolute, const char *path)
{
	while (*path) {
		size_t len = (size_t)(strchrnul(path, '/') - path);
		struct mor_slice element = { path, len };

		path += len ? len : 1;
		if (len == 0 || mor_slice_is(element, "."))
			continue;
		if (!mor_slice_is(element, "..") || (!step_up(out, floor) && !absolute))
			add_element(out, floor, element);
	}
}

int mor_path_clean(const char *dir, const char *path, struct mor_buf *out)
{
	bool alone = *path == '/' || *dir == '\0', absolute = *(alone ? path : dir) == '/';
	size_t start = out->len;

	if (absolute)
		mor_buf_byte(out, '/');
	if (mor_buf_failed(out))
		return out->status;
	if (!alone)
		add_elements(out, start + absolute, absolute, dir);
	add_elements(out, start + absolute, absolute, path);
	if (out->len == start)
		mor_buf_byte(out, '.');
	return out->status;
}

const char *mor_path_below(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	if (len == 0 || strcmp(dir, ".") == 0)
		return *path == '/' ? NULL : path;
	if (strcmp(dir, "/") == 0)
		return *path == '/' && path[1] ? path + 1 : NULL;
	return strncmp(dir, path, len) == 0 && path[len] == '/' && path[len + 1] ? path + len + 1 : NULL;
}
