/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

char *mor_path_join(const char *dir, const char *name)
{
	MOR_CLEAN(mor_buf) struct mor_buf path = MOR_BUF_INIT;
	size_t len = strlen(dir);

	if (name[0] == '/')
		return mor_strdup(name);
	while (name[0] == '.' && name[1] == '/')
		name += 2;
	mor_buf_printf(&path, "%s%s%s", dir, len && dir[len - 1] == '/' ? "" : "/", name);
	return mor_buf_detach(&path);
}

char *mor_path_absolute(const char *path)
{
	char here[4096];

	if (path[0] == '/' || !getcwd(here, sizeof(here)))
		return mor_strdup(path);
	return mor_path_join(here, path);
}

bool mor_path_climbs(const char *path)
{
	for (const char *at = path; (at = strstr(at, "..")); at++)
		if ((at == path || at[-1] == '/') && (at[2] == '/' || !at[2]))
			return true;
	return false;
}

bool mor_path_is_name(const char *word)
{
	return *word && !strchr(word, '/') && strcmp(word, ".") != 0 && strcmp(word, "..") != 0;
}

bool mor_path_is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Compares inodes: "./x", "x" and a link to it are the same program. */
bool mor_path_same(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

bool mor_path_is_within(const char *path, const char *dir, size_t dir_len)
{
	return strncmp(path, dir, dir_len) == 0 && (path[dir_len] == '\0' || path[dir_len] == '/');
}

/* ---- clean ones ---- */

/* Goes back before the last element after `floor`; false if no element is left, or it is "..". */
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

/* `floor` is where the elements begin: after the "/" of an absolute path; ".." does not go above it. */
static void add_elements(struct mor_buf *out, size_t floor, bool absolute, const char *path)
{
	while (*path) {
		size_t len = (size_t)(strchrnul(path, '/') - path);
		struct mor_slice element = { path, len };

		path += len ? len : 1;
		if (len == 0 || mor_slice_is(element, "."))
			continue;
		if (mor_slice_is(element, "..") && (step_up(out, floor) || absolute))
			continue;
		if (out->len > floor)
			mor_buf_byte(out, '/');
		mor_buf_slice(out, element);
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

char *mor_path_cleaned(const char *dir, const char *path)
{
	struct mor_buf out = MOR_BUF_INIT;

	mor_path_clean(dir, path, &out);
	return mor_buf_detach(&out);
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
