/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugins in YAMS' directories. As in YAMS, a plugin is a directory with a yams-plugin.json, or a script.
 * Unlike YAMS, nothing is run to find out who it is: a script without a manifest is known by its file's name.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/textlist.h"
#include "trusted/inside.h"

#define MANIFEST       "yams-plugin.json"
#define MANIFEST_LIMIT ((size_t)1 << 20)

struct scan {
	const struct mor_trusted *list;
	struct mor_trusted_plugins *found;
	mortise_error *err;
};

/* ---- is it one? ---- */

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len > end_len && strcmp(name + len - end_len, end) == 0;
}

/* ELF, Mach-O (either order of bytes, and with several architectures) and PE. */
static bool is_binary(const char *path)
{
	static const char magics[][5] = { "\177ELF",          "\xfe\xed\xfa\xce", "\xfe\xed\xfa\xcf",
					  "\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe" };
	char first[4] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool binary = fd < 0 || read(fd, first, sizeof(first)) < 2 || memcmp(first, "MZ", 2) == 0;

	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		binary = binary || memcmp(first, magics[i], 4) == 0;
	if (fd >= 0)
		close(fd);
	return binary;
}

bool mor_trusted_is_script(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	return ends_with(path, ".py") || ends_with(path, ".js") || ((st.st_mode & S_IXUSR) && !is_binary(path));
}

static bool has_manifest(const char *dir)
{
	MOR_CLEAN_TEXT char *manifest = mor_path_join(dir, MANIFEST);

	return manifest && mor_path_is_file(manifest);
}

/* ---- may it run? ---- */

/* "…, which you do not trust; to trust it: mortise trust add DIR" */
static char *tell_untrusted(const char *before, const char *path)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	char shown[MOR_TRUSTED_SHOWN];

	mor_printable(mor_slice_of(path), shown, sizeof(shown));
	mor_buf_printf(&text, "%s%s, which you do not trust; to trust it: mortise trust add ", before, shown);
	mor_buf_shell_word(&text, shown);
	return mor_buf_detach(&text);
}

/* The directory in which it was found is what a person trusts, unless a link leads elsewhere. */
static char *why_not_trusted(const struct mor_trusted *list, const char *path, const char *real)
{
	MOR_CLEAN_TEXT char *dir = NULL;
	const struct mor_trusted_path *line = mor_trusted_by(list, real, true);
	char *slash, shown[MOR_TRUSTED_SHOWN];

	if (mor_trusted_by(list, real, false))
		return NULL;
	if (line)
		return mor_text_format(
			"lies in %s, which is in the list of trusted plugins but does not count: %s",
			mor_printable(mor_slice_of(line->path), shown, sizeof(shown)), line->why);
	if (strcmp(path, real) != 0)
		return tell_untrusted("is a link to ", real);
	dir = mor_strdup(path);
	slash = dir ? strrchr(dir, '/') : NULL;
	if (slash && slash > dir)
		*slash = '\0';
	return dir ? tell_untrusted("lies in ", dir) : NULL;
}

/* What lies directly in a plugin's directory: a link out of what is trusted, or a file for everybody, would let
 * others say what runs. 1 with *ret: it does. */
static int look_at_entry(const struct mor_trusted *list, const char *dir, const char *name, char **ret,
			 mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_path_join(dir, name);
	char real[PATH_MAX], shown[MOR_TRUSTED_SHOWN], target[MOR_TRUSTED_SHOWN];
	struct stat st;

	if (!path)
		return mor_fail_memory(err);
	if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode))
		return mor_trusted_exposed_self(path, false, ret, err);
	if (!realpath(path, real) || mor_trusted_by(list, real, false))
		return 0;
	/* no command to trust it: what a plugin's link leads to is seldom what a person wants to trust */
	*ret = mor_text_format("has a link, %s, that leads out of what you trust, to %s",
			       mor_printable(mor_slice_of(name), shown, sizeof(shown)),
			       mor_printable(mor_slice_of(real), target, sizeof(target)));
	return *ret ? 1 : mor_fail_memory(err);
}

static int look_inside(const struct mor_trusted *list, const char *path, char **ret, mortise_error *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	while (dir && r == 0 && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = look_at_entry(list, path, entry->d_name, ret, err);
	if (dir)
		closedir(dir);
	return r;
}

static int judge_plugin(const struct mor_trusted *list, struct mor_trusted_plugin *plugin, mortise_error *err)
{
	char real[PATH_MAX];
	int r;

	if (!realpath(plugin->path, real)) {
		plugin->why = mor_text_format("cannot be reached: %s", strerrordesc_np(errno));
		return plugin->why ? 0 : mor_fail_memory(err);
	}
	plugin->why = why_not_trusted(list, plugin->path, real);
	if (plugin->why || !mor_trusted_by(list, real, false))
		return plugin->why ? 0 : mor_fail_memory(err);
	r = mor_trusted_exposed(real, false, &plugin->why, err);
	if (r == 0)
		r = look_inside(list, real, &plugin->why, err);
	return r < 0 ? r : 0;
}

/* ---- who is it? ---- */

static char *stem_of(const char *path, bool directory)
{
	const char *name = mor_base_name(path), *dot = strrchr(name, '.');

	return mor_strndup(name, !directory && dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static int read_manifest(struct mor_trusted_plugin *plugin, mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = mor_path_join(plugin->path, MANIFEST);
	MOR_CLEAN_TEXT char *text = NULL;
	const char *name, *version;
	size_t len = 0;

	if (!path)
		return mor_fail_memory(err);
	if (mor_fd_read_file(path, MANIFEST_LIMIT, &text, &len) < 0 ||
	    mor_doc_parse((struct mor_slice){ text, len }, 0, 0, &plugin->doc, NULL) < 0)
		return 0; /* the command that starts it says what is wrong */
	name = mor_json_text(mor_json_get(mor_doc_root(plugin->doc), "name"), "");
	version = mor_json_text(mor_json_get(mor_doc_root(plugin->doc), "version"), "");
	plugin->name = *name ? mor_strdup(name) : NULL;
	plugin->version = *version ? mor_strdup(version) : NULL;
	return (*name && !plugin->name) || (*version && !plugin->version) ? mor_fail_memory(err) : 0;
}

static bool is_found(const struct scan *scan, const char *path)
{
	for (size_t i = 0; i < scan->found->count; i++)
		if (strcmp(scan->found->items[i].path, path) == 0)
			return true;
	return false;
}

static int add_plugin(struct scan *scan, const char *path, bool directory)
{
	struct mor_trusted_plugins *found = scan->found;
	struct mor_trusted_plugin *plugin;
	int r;

	if (is_found(scan, path))
		return 0;
	if (mor_grow(&found->items, found->count, &found->cap, sizeof(*found->items)) < 0)
		return mor_fail_memory(scan->err);
	plugin = &found->items[found->count++];
	*plugin = (struct mor_trusted_plugin){ .path = mor_strdup(path) };
	if (!plugin->path)
		return mor_fail_memory(scan->err);
	r = directory ? read_manifest(plugin, scan->err) : 0;
	if (r == 0 && !plugin->name) {
		plugin->name = stem_of(path, directory);
		r = plugin->name ? 0 : mor_fail_memory(scan->err);
	}
	return r < 0 ? r : judge_plugin(scan->list, plugin, scan->err);
}

/* ---- directories ---- */

static int scan_one(struct scan *scan, const char *path)
{
	if (has_manifest(path))
		return add_plugin(scan, path, true);
	return mor_trusted_is_script(path) ? add_plugin(scan, path, false) : 0;
}

static int list_names(const char *path, struct mor_text_list *ret)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	while (dir && r == 0 && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			r = mor_text_list_add_take(ret, mor_strdup(entry->d_name));
	if (dir)
		closedir(dir);
	mor_text_list_sort(ret);
	return r;
}

/* A path that is a plugin itself holds no others: what lies in it are its parts. */
static int scan_directory(struct scan *scan, const char *path)
{
	struct mor_text_list names = { 0 };
	int r;

	if (has_manifest(path) || mor_trusted_is_script(path))
		return scan_one(scan, path);
	r = list_names(path, &names) < 0 ? mor_fail_memory(scan->err) : 0;
	for (size_t i = 0; i < names.count && r == 0; i++) {
		MOR_CLEAN_TEXT char *entry = mor_path_join(path, names.item[i]);

		r = entry ? scan_one(scan, entry) : mor_fail_memory(scan->err);
	}
	mor_text_list_free_texts(&names);
	return r;
}

/* A link on the way to it is the system's; links in it are what is looked at. */
static int scan_default(struct scan *scan, const char *path)
{
	MOR_CLEAN_TEXT char *real = mor_trusted_canonical(path);

	return real ? scan_directory(scan, real) : mor_fail_memory(scan->err);
}

static int scan_defaults(struct scan *scan)
{
	static const char *const system[] = { "/usr/local/lib/yams/external-plugins",
					      "/usr/lib/yams/external-plugins" };
	const char *home = getenv("HOME");
	MOR_CLEAN_TEXT char *own =
		home && *home == '/' ? mor_path_join(home, ".local/lib/yams/external-plugins") : NULL;
	int r = own ? scan_default(scan, own) : 0;

	for (size_t i = 0; i < sizeof(system) / sizeof(system[0]) && r == 0; i++)
		r = scan_default(scan, system[i]);
	return r;
}

int mor_trusted_scan(const struct mor_trusted *list, struct mor_trusted_plugins *ret, mortise_error *err)
{
	struct mor_trusted_plugins found = { 0 };
	struct scan scan = { list, &found, err };
	int r = scan_defaults(&scan);

	for (size_t i = 0; i < list->count && r == 0; i++)
		if (list->items[i].path)
			r = scan_directory(&scan, list->items[i].path);
	if (r == 0)
		*ret = found;
	else
		mor_trusted_plugins_fini(&found);
	return r;
}

void mor_trusted_plugins_fini(struct mor_trusted_plugins *plugins)
{
	for (size_t i = 0; i < plugins->count; i++) {
		mor_free(plugins->items[i].name);
		mor_free(plugins->items[i].version);
		mor_free(plugins->items[i].path);
		mor_free(plugins->items[i].why);
		mor_doc_free(plugins->items[i].doc);
	}
	mor_free(plugins->items);
	*plugins = (struct mor_trusted_plugins){ 0 };
}
