/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a G-Assist plugin is started here. Its manifest was written for Windows: `executable` may be a .bat
 * that starts node, or an .exe made from a plugin.py. If it cannot run here, a file beside it that can run
 * is used instead.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/xdg.h"
#include "manifest/gassist.h"

/* A NULL-terminated list of one element, which takes `text`. */
static int set_list_take(struct mor_load *load, char *text, char ***ret)
{
	char **list = text ? mor_zalloc(2 * sizeof(*list)) : NULL;

	if (!list) {
		mor_free(text);
		return mor_source_no_memory(load);
	}
	list[0] = text;
	*ret = list;
	return 0;
}

/* ---- environment ---- */

int mor_gassist_program_data(struct mor_load *load, const char *name)
{
	MOR_CLEAN_TEXT char *path = NULL;
	int r = mor_xdg_path(MOR_XDG_STATE, NULL, &path, "mortise/gassist/%s", name);

	if (r == MORTISE_ENOTFOUND) /* then nothing is set, and the plugin uses the default of its SDK */
		return 0;
	if (r < 0)
		return mor_source_no_memory(load);
	r = mor_setting_add_text(load, "env", "PROGRAMDATA", path, load->source.shown);
	return r < 0 ? r : set_list_take(load, mor_take(&path), &load->m->make_dirs);
}

static bool ends_in(const char *path, const char *suffixes)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
	char lower[8] = "";

	for (size_t i = 0; dot && dot[i] && i < sizeof(lower) - 1; i++)
		lower[i] = (char)(dot[i] >= 'A' && dot[i] <= 'Z' ? dot[i] + 32 : dot[i]);
	return dot && mor_text_in(mor_slice_of(lower), suffixes);
}

int mor_gassist_finish(struct mor_load *load)
{
	const char *const *argv = (const char *const *)load->m->argv;
	MOR_CLEAN_TEXT char *libs = mor_path_join(load->dir, "libs");

	if (!libs)
		return mor_source_no_memory(load);
	if (!ends_in(argv[mor_manifest_script(argv)], ".py") || access(libs, F_OK) < 0)
		return 0;
	return set_list_take(load, mor_text_format("PYTHONPATH=%s", libs), &load->m->env_front);
}

/* ---- what runs ---- */

/* Decides by the first bytes: an ELF program or a script with "#!", and executable. A Windows program is
 * neither. */
static bool runs_here(struct mor_load *load, const char *path)
{
	int fd = mor_manifest_sees_file(load, path) && access(path, X_OK) == 0 ?
			 open(path, O_RDONLY | O_CLOEXEC) :
			 -1;
	char head[4] = "";
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

	mor_fd_close(&fd);
	return n >= 2 && (memcmp(head, "#!", 2) == 0 || (n == 4 && memcmp(head, "\177ELF", 4) == 0));
}

static bool is_script(struct mor_load *load, const char *path)
{
	return ends_in(path, ".py|.js|.mjs|.cjs") && mor_manifest_sees_file(load, path);
}

struct launch_search {
	struct mor_load *load;
	char *found;
	struct mor_buf tried;
	bool failed;
};

static bool try_name(struct launch_search *s, const char *dir, const char *stem, const char *suffix)
{
	MOR_CLEAN_TEXT char *name = mor_text_format("%s%s", stem, suffix);
	MOR_CLEAN_TEXT char *path = name ? mor_path_join(dir, name) : NULL;

	if (!path) {
		s->failed = true;
		return false;
	}
	if (is_script(s->load, path) || (!*suffix && runs_here(s->load, path))) {
		s->found = mor_take(&path);
		return true;
	}
	mor_buf_printf(&s->tried, "%s%s", s->tried.len ? ", " : "", name);
	return false;
}

/* Looks beside the executable: first for a file with its name, then for usual names of a plugin's program. */
static bool try_siblings(struct launch_search *s, const char *path)
{
	static const char *const suffixes[] = { "", ".js", ".py" };
	MOR_CLEAN_TEXT char *dir = mor_strndup(path, (size_t)(strrchr(path, '/') - path));
	MOR_CLEAN_TEXT char *stem = mor_manifest_stem(path);
	const char *const stems[] = { stem, "plugin", "main", "index" };

	if (!dir || !stem) {
		s->failed = true;
		return false;
	}
	for (size_t i = 0; i < sizeof(stems) / sizeof(*stems); i++) {
		if (i > 0 && strcmp(stems[i], stem) == 0)
			continue;
		for (size_t k = 0; k < sizeof(suffixes) / sizeof(*suffixes); k++)
			if (s->failed || try_name(s, dir, stems[i], suffixes[k]))
				return !s->failed;
	}
	return false;
}

static int not_found(struct launch_search *s, const char *path, const char *executable)
{
	char quoted[100];

	mor_buf_byte(&s->tried, '\0');
	if (s->failed || mor_buf_failed(&s->tried))
		return mor_source_no_memory(s->load);
	mor_excerpt(mor_slice_of(executable), quoted, sizeof(quoted));
	if (s->tried.len > 1)
		return mor_where_fail(
			s->load, "/executable",
			"is \"%s\", which %s; looked beside it for %s: add one of these, or a mortise.toml "
			"with command = \"./program\" below [plugin]",
			quoted, mor_path_is_file(path) ? "cannot run here" : "does not exist", s->tried.data);
	return mor_where_fail(s->load, "/executable",
			      "is \"%s\", which does not exist: build it, or correct the name", quoted);
}

/* Developers of G-Assist plugins choose their Python with GA_PYTHON_DEV. */
static int add_command(struct mor_load *load, const char *path)
{
	const char *python = getenv("GA_PYTHON_DEV");
	const char *by_name[] = { path, NULL }, *by_python[] = { python, "-u", path, NULL };
	bool chosen = python && *python && ends_in(path, ".py");
	char origin[MOR_WHERE];
	int r = mor_setting_add_list(load, "plugin", "command", chosen ? by_python : by_name,
				     mor_where_line(&load->source, "/executable", origin));

	return r < 0 ? r : 1;
}

int mor_gassist_launch(struct mor_load *load)
{
	const char *executable = mor_json_text(mor_json_get(mor_doc_root(load->m->doc), "executable"), "");
	MOR_CLEAN_TEXT char *path = mor_path_join(load->dir, *executable ? executable : ".");
	struct launch_search s = { .load = load };
	bool windows;
	int r;

	for (char *c = path && *executable != '/' ? path + strlen(load->dir) : NULL; c && *c; c++)
		if (*c == '\\')
			*c = '/';
	windows = path && ends_in(path, ".exe|.bat|.cmd|.com|.ps1");
	if (!path)
		s.failed = true;
	else if (windows ? runs_here(load, path) : mor_manifest_sees_file(load, path))
		s.found = mor_take(&path);
	else if (windows)
		try_siblings(&s, path);
	if (load->file && !s.failed && (!s.found || !mor_path_same(s.found, load->file)))
		r = 0;
	else
		r = s.found && !s.failed ? add_command(load, s.found) : not_found(&s, path, executable);
	mor_free(s.found);
	mor_buf_fini(&s.tried);
	return r;
}
