/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where YAMS keeps its list of trusted paths, in the order in which YAMS itself looks: $YAMS_PLUGIN_TRUST_FILE;
 * plugins.trust in its data directory, which is core.data_dir of its config.toml ($YAMS_CONFIG), else
 * $YAMS_DATA_DIR (or $YAMS_STORAGE), else $XDG_DATA_HOME/yams.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/xdg.h"
#include "manifest/manifest.h"
#include "trusted/inside.h"

#define LIST_NAME "plugins.trust"

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

/* A relative path would mean another file in every directory. */
static int need_absolute(const char *what, const char *path, mortise_error *err)
{
	if (*path == '/')
		return 0;
	return mor_fail(err, MORTISE_EINPUT, "%s is \"%.200s\": it must be an absolute path", what, path);
}

/* "~/x" as YAMS has it. NULL: no memory. */
static char *expand_home(const char *path)
{
	const char *home = getenv("HOME");

	if (path[0] == '~' && path[1] == '/' && home && *home == '/')
		return mor_text_format("%s%s", home, path + 1);
	return mor_strdup(path);
}

static int data_dir_of_text(const char *file, struct mor_slice text, char **ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	MOR_CLEAN_TEXT char *dir = NULL, *what = NULL;
	const char *given;
	int r = mor_toml_to_json(file, text.ptr, text.len, &json, NULL, err);

	if (r < 0 || (r = mor_doc_parse(mor_buf_view(&json), 0, 0, &doc, err)) < 0)
		return r;
	given = mor_json_text(mor_json_at(mor_doc_root(doc), "/core/data_dir"), "");
	if (!*given)
		return 0;
	dir = expand_home(given);
	what = mor_text_format("%.300s: core.data_dir", file);
	if (!dir || !what)
		return mor_fail_memory(err);
	r = need_absolute(what, dir, err);
	if (r == 0)
		*ret = mor_take(&dir);
	return r;
}

/* core.data_dir; *ret stays NULL where it is not set. */
static int data_dir_of_config(char **ret, mortise_error *err)
{
	MOR_CLEAN_TEXT char *file = mor_strdup(variable("YAMS_CONFIG"));
	MOR_CLEAN_TEXT char *text = NULL;
	size_t len = 0;
	int r = file ? 0 : mor_xdg_path(MOR_XDG_CONFIG, NULL, &file, "yams/config.toml");

	if (r == MORTISE_ENOMEM)
		return mor_fail_memory(err);
	if (!file)
		return 0;
	r = mor_fd_read_file(file, MOR_MANIFEST_LIMIT, &text, &len);
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	if (r < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, -r, "%s", file);
	return data_dir_of_text(file, (struct mor_slice){ text, len }, ret, err);
}

static int data_dir_of_variables(char **ret, mortise_error *err)
{
	const char *dir = variable("YAMS_DATA_DIR"), *storage = variable("YAMS_STORAGE");

	if (dir && storage && strcmp(dir, storage) != 0)
		return mor_fail(err, MORTISE_EINPUT,
				"YAMS_DATA_DIR and YAMS_STORAGE name two directories: unset one of them");
	if (!dir && !storage)
		return 0;
	*ret = mor_strdup(dir ? dir : storage);
	if (!*ret)
		return mor_fail_memory(err);
	return need_absolute(dir ? "YAMS_DATA_DIR" : "YAMS_STORAGE", *ret, err);
}

int mor_trusted_place(char **ret_file, char **ret_older, mortise_error *err)
{
	MOR_CLEAN_TEXT char *dir = NULL;
	const char *given = variable("YAMS_PLUGIN_TRUST_FILE");
	int r;

	if (given) { /* what it names exactly is not mixed with the file of older versions */
		r = need_absolute("YAMS_PLUGIN_TRUST_FILE", given, err);
		if (r == 0)
			*ret_file = mor_strdup(given);
		return r == 0 && !*ret_file ? mor_fail_memory(err) : r;
	}
	r = data_dir_of_config(&dir, err);
	if (r == 0 && !dir)
		r = data_dir_of_variables(&dir, err);
	if (r < 0)
		return r;
	if (dir)
		*ret_file = mor_text_format("%s/" LIST_NAME, dir);
	else
		r = mor_xdg_path(MOR_XDG_DATA, NULL, ret_file, "yams/" LIST_NAME);
	if (r == MORTISE_ENOMEM || (dir && !*ret_file) ||
	    mor_xdg_path(MOR_XDG_CONFIG, NULL, ret_older, "yams/plugins_trust.txt") == MORTISE_ENOMEM)
		return mor_fail_memory(err);
	return 0;
}
