/* SPDX-License-Identifier: Apache-2.0 */
#include "guard/view_order.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "policy/plan.h"
#include "proc/proc.h"

static int add_path(const char *name, struct mor_buf *texts, const char *what, const char *path,
		    mortise_error *err)
{
	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return mor_fail(err, MORTISE_EINVAL,
				"%s: the %s of a view must be an absolute path of less than %d bytes: %.200s",
				name, what, PATH_MAX, path);
	return mor_buf_append(texts, path, strlen(path) + 1);
}

/* Without symbolic links: then the plugin reaches it through any link, and the guardian need not follow one. */
static int add_writable(const char *name, struct mor_buf *texts, const char *path, mortise_error *err)
{
	char real[PATH_MAX];
	int r;

	if (path[0] == '/' && !realpath(path, real)) {
		r = errno;
		mor_fail(err, r == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINVAL,
			 "%s: writable directory of its view: %.300s: %s", name, path, strerrordesc_np(r));
		if (err)
			err->os_errno = r;
		return r == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINVAL;
	}
	return add_path(name, texts, "writable directories", path[0] == '/' ? real : path, err);
}

/* Names of directories only save a walk through the stage: if there is no room for all, none are sent. */
static void add_directories(const mortise_view *view, struct mor_buf *texts)
{
	size_t before = texts->len;

	if (!view->directories)
		return;
	mor_buf_byte(texts, '\0');
	for (const char *const *path = view->directories; *path && texts->len <= MOR_PROC_VIEW_TEXTS; path++)
		if (**path)
			mor_buf_append(texts, *path, strlen(*path) + 1);
	if (texts->len > MOR_PROC_VIEW_TEXTS)
		texts->len = before;
}

int mor_order_view(const char *name, const mortise_view *view, struct mor_buf *texts, mortise_error *err)
{
	size_t count = 0;
	int r;

	if (!view) {
		r = mor_buf_byte(texts, '\0');
		return r < 0 ? mor_fail_memory(err) : 0;
	}
	if (!view->stage)
		return mor_fail(err, MORTISE_EINVAL, "%s: a view needs a stage", name);
	r = add_path(name, texts, "stage", view->stage, err);
	for (const char *const *path = view->writable; r == 0 && path && *path; path++, count++)
		r = add_writable(name, texts, *path, err);
	if (r == 0 && (count > MOR_PLAN_VIEW_WRITABLE || texts->len > MOR_PROC_VIEW_TEXTS))
		r = mor_fail(err, MORTISE_EINVAL,
			     "%s: a view has at most %d writable directories, of %d bytes in all", name,
			     MOR_PLAN_VIEW_WRITABLE, MOR_PROC_VIEW_TEXTS);
	if (r == 0)
		add_directories(view, texts);
	if (mor_buf_failed(texts))
		return mor_fail_memory(err);
	return r;
}
