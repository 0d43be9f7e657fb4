/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "program/helper.h"
#include "starter/inside.h"

#define PIECE_LIMIT (64u << 10) /* of the small texts that are put into others */

struct making {
	const struct mor_starter_order *order;
	struct mor_starter_made *made;
	char data[PATH_MAX];              /* our own: templates, SDKs */
	char *beside;                     /* the folder under its first name; NULL: not made */
	int root;                         /* its descriptor */
	struct mor_buf steps, about, sdk; /* texts for placeholders */
};

/* templates/KIND/NAME */
static char *template_path(const struct making *m, const char *kind, const char *name)
{
	return mor_text_format("%s/templates/%s/%s", m->data, kind, name);
}

/* ---- the texts for placeholders ---- */

static void fill_basics(const struct making *m, struct mor_starter_value values[static 8])
{
	const struct mor_starter_order *order = m->order;
	const struct mor_starter_value all[8] = {
		{ "NAME", mor_slice_of(order->name) },
		{ "PROGRAM", mor_slice_of(order->language->program) },
		{ "LANGUAGE", mor_slice_of(order->language->title) },
		{ "DIALECT", mor_slice_of(order->dialect->name) },
		{ "STEPS", mor_buf_view(&m->steps) },
		{ "SDK", mor_buf_view(&m->sdk) },
		{ "ABOUT", mor_buf_view(&m->about) },
		{ 0 },
	};

	memcpy(values, all, sizeof(all));
}

/* The text of one small template, filled, appended. */
static int take_piece(struct making *m, const char *kind, const char *name, struct mor_buf *out,
		      mortise_error *err)
{
	MOR_CLEAN_TEXT char *path = template_path(m, kind, name);
	struct mor_starter_value values[8];
	char *text = NULL;
	size_t len = 0;
	int r;

	if (!path)
		return mor_fail_memory(err);
	if ((r = mor_fd_read_file(path, PIECE_LIMIT, &text, &len)) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "%s: install all of mortise", path);
	fill_basics(m, values);
	r = mor_starter_fill((struct mor_slice){ text, len }, values, out);
	mor_free(text);
	return r < 0 ? mor_fail_memory(err) : 0;
}

/* What a person types next: how to build and test it is the language's, how to use it the dialect's. */
static int take_texts(struct making *m, mortise_error *err)
{
	const struct mor_starter_order *order = m->order;
	char part[64];
	int r;

	snprintf(part, sizeof(part), "%s/steps", order->language->name);
	r = take_piece(m, "languages", part, &m->steps, err);
	snprintf(part, sizeof(part), "%s/steps", order->dialect->name);
	if (r == 0)
		r = take_piece(m, "dialects", part, &m->steps, err);
	snprintf(part, sizeof(part), "%s.md", order->dialect->name);
	if (r == 0)
		r = take_piece(m, "about", part, &m->about, err);
	snprintf(part, sizeof(part), "%s%s.md", order->language->name,
		 order->no_sdk && order->language->sdk ? "-no-sdk" : "");
	return r < 0 ? r : take_piece(m, "about", part, &m->sdk, err);
}

/* ---- the files ---- */

static int copy_templates(struct making *m, const char *kind, const char *name, mortise_error *err)
{
	MOR_CLEAN_TEXT char *from = template_path(m, kind, name);
	struct mor_starter_value values[8];
	struct mor_starter_copy copy = {
		.from = from, .root = m->root, .into = "", .values = values, .files = &m->made->files
	};

	if (!from)
		return mor_fail_memory(err);
	fill_basics(m, values);
	return mor_starter_copy(&copy, err);
}

static int copy_sdk(struct making *m, mortise_error *err)
{
	const struct mor_starter_language *language = m->order->language;
	MOR_CLEAN_TEXT char *from = NULL;
	struct mor_starter_copy copy = { .root = m->root, .into = language->sdk_into };

	if (!language->sdk || m->order->no_sdk)
		return 0;
	from = mor_text_format("%s/sdk/%s", m->data, language->sdk);
	if (!from)
		return mor_fail_memory(err);
	copy.from = from;
	return mor_starter_copy(&copy, err);
}

static int write_all(struct making *m, mortise_error *err)
{
	const struct mor_starter_order *order = m->order;
	char plugin[64];
	int r = copy_templates(m, "every", "", err);

	snprintf(plugin, sizeof(plugin), "%s/%s", order->language->name, order->dialect->name);
	if (r == 0)
		r = copy_templates(m, "languages", order->language->name, err);
	if (r == 0)
		r = copy_templates(m, "dialects", order->dialect->name, err);
	if (r == 0)
		r = copy_templates(m, "plugins", plugin, err);
	if (r == 0)
		r = copy_sdk(m, err);
	if (r == 0)
		mor_text_list_sort(&m->made->files);
	return r;
}

/* ---- the folder ---- */

static bool is_empty_dir(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	while (dir && readdir(dir))
		count++; /* . and .. */
	if (dir)
		closedir(dir);
	return dir && count <= 2;
}

static int check_place(const struct making *m, mortise_error *err)
{
	const char *path = m->order->path;

	if (access(path, F_OK) == 0 && !is_empty_dir(path))
		return mor_fail(err, MORTISE_EINPUT,
				"%s exists: choose another name, or remove it; nothing was changed", path);
	return 0;
}

static int open_beside(struct making *m, mortise_error *err)
{
	const char *path = m->order->path;
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	m->beside = mor_text_format("%.*s.XXXXXX", (int)len, path);
	if (!m->beside)
		return mor_fail_memory(err);
	if (!mkdtemp(m->beside)) {
		int r = mor_fail_errno(err, MORTISE_EINPUT, errno, "cannot make %s", path);

		mor_free(m->beside);
		m->beside = NULL;
		return r;
	}
	m->root = open(m->beside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return m->root < 0 ? mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", m->beside) : 0;
}

/* mkdtemp() makes it for us alone; a folder of sources is as open as the umask says. */
static int give_name(struct making *m, mortise_error *err)
{
	mode_t mask = umask(0);

	umask(mask);
	if (fchmod(m->root, 0777 & ~mask) < 0 || rename(m->beside, m->order->path) < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, errno, "cannot make %s", m->order->path);
	mor_free(m->beside);
	m->beside = NULL;
	return 0;
}

static int find_data(struct making *m, mortise_error *err)
{
	char fault[MOR_PROGRAM_FAULT];

	mor_data_find("templates", m->data, fault);
	if (fault[0])
		return mor_fail(err, MORTISE_ESYSTEM, "%s cannot be used: %s", m->data, fault);
	*strrchr(m->data, '/') = '\0';
	return 0;
}

static int make_folder(struct making *m, mortise_error *err)
{
	int r = check_place(m, err);

	if (r < 0 || (r = find_data(m, err)) < 0 || (r = take_texts(m, err)) < 0 ||
	    (r = open_beside(m, err)) < 0 || (r = write_all(m, err)) < 0)
		return r;
	return give_name(m, err);
}

int mor_starter_make(const struct mor_starter_order *order, struct mor_starter_made *ret, mortise_error *err)
{
	struct making m = { .order = order, .made = ret, .root = -1 };
	int r = make_folder(&m, err);

	if (m.beside)
		mor_dir_remove_all(AT_FDCWD, m.beside);
	mor_free(m.beside);
	mor_fd_close(&m.root);
	if (r == 0) {
		ret->steps = m.steps;
		m.steps = (struct mor_buf)MOR_BUF_INIT;
	}
	mor_buf_fini(&m.steps);
	mor_buf_fini(&m.about);
	mor_buf_fini(&m.sdk);
	return r;
}

void mor_starter_made_fini(struct mor_starter_made *made)
{
	mor_text_list_free_texts(&made->files);
	mor_buf_fini(&made->steps);
}
