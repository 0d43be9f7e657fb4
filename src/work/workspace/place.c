/* SPDX-License-Identifier: Apache-2.0 */
#include "workspace/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "console/args.h"
#include "manifest/manifest.h"
#include "manifest/yaml.h"

#define IDL_LIMIT ((size_t)8 << 20)

/* ---- where it is ---- */

static bool has_yml(const char *dir)
{
	MOR_CLEAN_TEXT char *path = mor_path_join(dir, MOR_SUNSCREEN_YML);

	return path && access(path, F_OK) == 0;
}

static int keep_path(const char *path, char **ret, mortise_error *err)
{
	*ret = mor_strdup(path);
	return *ret ? 0 : mor_fail_memory(err);
}

static int given_workspace(const char *given, char **ret, mortise_error *err)
{
	char real[PATH_MAX];
	struct stat info;

	if (!realpath(given, real))
		return mor_fail_errno(err, errno == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINPUT, errno,
				      "--workspace %s", given);
	if (stat(real, &info) < 0 || !S_ISDIR(info.st_mode))
		return mor_fail(err, MORTISE_EINPUT, "--workspace %s: not a directory", given);
	return keep_path(real, ret, err);
}

/* Not simply the working directory: a plugin may read its whole workspace, and a home directory would be too
 * much. */
int mor_workspace_find(const char *given, char **ret, mortise_error *err)
{
	char dir[PATH_MAX], *slash;

	if (given)
		return given_workspace(given, ret, err);
	if (!getcwd(dir, sizeof(dir)))
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "the current directory");
	while (!has_yml(dir)) {
		slash = strrchr(dir, '/');
		if (!slash || !dir[1])
			return mor_fail(err, MORTISE_ENOTFOUND,
					"no workspace: there is no " MOR_SUNSCREEN_YML
					" here or in a directory above: name one with --workspace DIR");
		slash[slash == dir] = '\0';
	}
	return keep_path(dir, ret, err);
}

/* ---- configuration ---- */

static int read_yml(const char *path, struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	int r = mor_args_read(path, MOR_MANIFEST_LIMIT, &text, err);

	return r < 0 ? r : mor_yaml_to_json(path, text.data ? text.data : "", text.len, out, err);
}

static bool is_yml(const char *word)
{
	size_t len = strlen(word);

	return (len > 4 && strcmp(word + len - 4, ".yml") == 0) ||
	       (len > 5 && strcmp(word + len - 5, ".yaml") == 0);
}

static int merge_yml(struct mor_tree *tree, const char *path, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	int r = read_yml(path, &json, err);

	r = r ? r : mor_doc_parse(mor_buf_view(&json), 0, 0, &doc, err);
	return r < 0 ? r : mor_tree_merge(tree, mor_doc_root(doc)) < 0 ? mor_fail_memory(err) : 0;
}

static int given_config(const struct mor_text_list *given, struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN(mor_tree) struct mor_tree tree = { 0 };
	int r = 0;

	for (size_t i = 0; i < given->count && r == 0; i++) {
		const char *word = given->item[i];

		r = is_yml(word) && !mor_args_is_pair(word) ? merge_yml(&tree, word + (*word == '@'), err) :
							      mor_args_config(&tree, word, err);
	}
	if (r < 0)
		return r;
	return mor_tree_write(&tree, out) < 0 ? mor_fail_memory(err) : 0;
}

int mor_workspace_config(const char *workspace, const struct mor_text_list *given, struct mor_buf *out,
			 mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_path_join(workspace, MOR_SUNSCREEN_YML);

	if (given->count)
		return given_config(given, out, err);
	if (!path)
		return mor_fail_memory(err);
	if (access(path, F_OK) < 0)
		return mor_buf_text(out, "{}") < 0 ? mor_fail_memory(err) : 0;
	return read_yml(path, out, err);
}

/* ---- IDL ---- */

/* The only JSON file in target/idl; NULL: none, or several. */
static char *only_idl(const char *workspace)
{
	MOR_CLEAN_TEXT char *dir = mor_path_join(workspace, "target/idl");
	DIR *list = dir ? opendir(dir) : NULL;
	char *found = NULL;
	size_t count = 0;

	for (struct dirent *entry; list && (entry = readdir(list));) {
		size_t len = strlen(entry->d_name);
		MOR_CLEAN_TEXT char *path = NULL;
		struct stat info;

		if (len <= 5 || strcmp(entry->d_name + len - 5, ".json") != 0)
			continue;
		path = mor_path_join(dir, entry->d_name);
		if (path && stat(path, &info) == 0 && S_ISREG(info.st_mode) && count++ == 0)
			found = mor_take(&path);
	}
	if (list)
		closedir(list);
	if (count == 1)
		return found;
	return mor_free(found);
}

int mor_workspace_idl(const char *workspace, const char *given, struct mor_buf *out, mortise_error *err)
{
	MOR_CLEAN_TEXT char *found = given ? mor_strdup(given) : only_idl(workspace);
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error why = { 0 };
	int r;

	if (!found)
		return given ? mor_fail_memory(err) : 0;
	if ((r = mor_args_read(found, IDL_LIMIT, out, err)) < 0)
		return r;
	r = mor_doc_parse(mor_buf_view(out), 0, 0, &doc, &why);
	return r < 0 ? mor_fail(err, MORTISE_EINPUT, "the IDL %s is not JSON: %s", found, why.text) : 1;
}

/* ---- scratch ---- */

/* We do not trust the content of the workspace: a link in the path could let a plugin write to another
 * place. */
static int make_below(int *dir, const char *name, unsigned *made)
{
	bool anew = false;
	int next = mor_dir_make_open(*dir, name, 0755, O_PATH, &anew);

	*made += anew;
	if (next < 0)
		return next;
	close(*dir);
	*dir = next;
	return 0;
}

int mor_workspace_scratch(const char *workspace, const char *name, char **ret, unsigned *ret_made,
			  mortise_error *err)
{
	const char *const parts[] = { ".sunscreen", "plugins", name };
	MOR_CLEAN_TEXT char *plugins = mor_path_join(workspace, ".sunscreen/plugins");
	int dir, r;

	/* manifests are checked, but --set plugin.name=... is not */
	if (!*name || *name == '.' || strchr(name, '/'))
		return mor_fail(err, MORTISE_EINPUT, "\"%s\" cannot be the name of a scratch directory", name);
	dir = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = dir < 0 ? -errno : 0;
	for (size_t i = 0; i < 3 && r == 0; i++)
		r = make_below(&dir, parts[i], ret_made);
	if (dir >= 0)
		close(dir);
	if (r < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, -r,
				      "the scratch directory %s/.sunscreen/plugins/%s (links are not followed)",
				      workspace, name);
	*ret = plugins ? mor_path_join(plugins, name) : NULL;
	return *ret ? 0 : mor_fail_memory(err);
}

void mor_workspace_drop_scratch(const char *scratch, unsigned made)
{
	MOR_CLEAN_TEXT char *path = mor_strdup(scratch);

	for (char *slash; path && made && rmdir(path) == 0 && (slash = strrchr(path, '/')); made--)
		*slash = '\0';
}

/* ---- files that were written ---- */

static int refuse_file(struct mor_slice claimed, const char *why, mortise_error *err)
{
	char shown[200];

	return mor_fail(err, MORTISE_EPROTO, "files_written has \"%s\", which %s",
			mor_excerpt(claimed, shown, sizeof(shown)), why);
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '/' || !dir[1]);
}

/* Resolves the name part by part, before we ask the file system. */
static int normalise_path(struct mor_slice claimed, struct mor_buf *out, mortise_error *err)
{
	size_t i = 0;

	while (i < claimed.len && !mor_buf_failed(out)) {
		struct mor_slice part = { claimed.ptr + i, 0 };

		while (i < claimed.len && claimed.ptr[i] != '/')
			i++, part.len++;
		i++;
		if (part.len == 0 || mor_slice_is(part, "."))
			continue;
		if (!mor_slice_is(part, "..")) {
			mor_buf_printf(out, "%s%.*s", out->len ? "/" : "", (int)part.len, part.ptr);
			continue;
		}
		if (out->len == 0)
			return refuse_file(claimed, "leads out of the workspace", err);
		while (out->len && out->data[out->len - 1] != '/')
			out->len--;
		out->len -= out->len > 0;
	}
	if (out->len == 0 && !mor_buf_failed(out))
		return refuse_file(claimed, "is no file", err);
	return mor_buf_failed(out) ? mor_fail_memory(err) : 0;
}

static int check_real(const char *workspace, const char *relative, struct mor_slice claimed, mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_path_join(workspace, relative);
	char real[PATH_MAX];
	struct stat info;

	if (!path)
		return mor_fail_memory(err);
	if (!realpath(path, real))
		return refuse_file(claimed,
				   errno == ENOENT || errno == ENOTDIR ? "does not exist" :
									 "cannot be looked at",
				   err);
	if (!is_below(real, workspace))
		return refuse_file(claimed, "is a link that leads out of the workspace", err);
	if (stat(real, &info) < 0 || !S_ISREG(info.st_mode))
		return refuse_file(claimed, "is no file", err);
	return 0;
}

int mor_workspace_file(const char *workspace, struct mor_slice claimed, struct mor_buf *out, mortise_error *err)
{
	struct mor_slice rest = claimed;
	size_t len = strlen(workspace);
	int r;

	if (memchr(claimed.ptr, '\0', claimed.len))
		return refuse_file(claimed, "is not a file name", err);
	if (claimed.len && *claimed.ptr == '/') {
		if (claimed.len <= len || memcmp(claimed.ptr, workspace, len) != 0 ||
		    (claimed.ptr[len] != '/' && workspace[1]))
			return refuse_file(claimed, "lies outside the workspace", err);
		rest = (struct mor_slice){ claimed.ptr + len, claimed.len - len };
	}
	if ((r = normalise_path(rest, out, err)) < 0)
		return r;
	if (mor_buf_byte(out, '\0') < 0)
		return mor_fail_memory(err);
	out->len--;
	return check_real(workspace, out->data, claimed, err);
}
