/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin sees of the file system. One order is under way at a time; the others wait here, in the order
 * of the calls. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "host/embedder.h"
#include "host/host.h"
#include "host/plugin.h"
#include "host/view.h"
#include "policy/plan.h"

struct view_wait {
	struct mor_list node;
	mortise_view_fn *done;
	void *arg;
	struct mor_buf texts; /* the order */
	bool sent;
};

static void wait_free(struct view_wait *wait)
{
	mor_buf_fini(&wait->texts);
	mor_free(wait);
}

/* ---- the order ---- */

static int add_path(mortise_plugin *plugin, struct mor_buf *texts, const char *what, const char *path,
		    mortise_error *err)
{
	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return mor_fail(err, MORTISE_EINVAL,
				"%s: the %s of a view must be an absolute path of less than %d bytes: %.200s",
				plugin->peer.name, what, PATH_MAX, path);
	return mor_buf_append(texts, path, strlen(path) + 1);
}

/* Without symbolic links: then the plugin reaches it through any link, and the guardian need not follow one. */
static int add_writable(mortise_plugin *plugin, struct mor_buf *texts, const char *path, mortise_error *err)
{
	char real[PATH_MAX];
	int r;

	if (path[0] == '/' && !realpath(path, real)) {
		r = errno;
		mor_fail(err, r == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINVAL,
			 "%s: writable directory of its view: %.300s: %s", plugin->peer.name, path,
			 strerrordesc_np(r));
		if (err)
			err->os_errno = r;
		return r == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EINVAL;
	}
	return add_path(plugin, texts, "writable directories", path[0] == '/' ? real : path, err);
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

static int write_order(mortise_plugin *plugin, const mortise_view *view, struct mor_buf *texts,
		       mortise_error *err)
{
	size_t count = 0;
	int r;

	if (!view) {
		r = mor_buf_byte(texts, '\0');
		return r < 0 ? mor_fail_memory(err) : 0;
	}
	if (!view->stage)
		return mor_fail(err, MORTISE_EINVAL, "%s: a view needs a stage", plugin->peer.name);
	r = add_path(plugin, texts, "stage", view->stage, err);
	for (const char *const *path = view->writable; r == 0 && path && *path; path++, count++)
		r = add_writable(plugin, texts, *path, err);
	if (r == 0 && (count > MOR_PLAN_VIEW_WRITABLE || texts->len > MOR_PROC_VIEW_TEXTS))
		r = mor_fail(err, MORTISE_EINVAL,
			     "%s: a view has at most %d writable directories, of %d bytes in all",
			     plugin->peer.name, MOR_PLAN_VIEW_WRITABLE, MOR_PROC_VIEW_TEXTS);
	if (r == 0)
		add_directories(view, texts);
	if (mor_buf_failed(texts))
		return mor_fail_memory(err);
	return r;
}

static int check_view(mortise_plugin *plugin, mortise_error *err)
{
	const char *name = plugin->peer.name;

	if (!plugin->policy.view)
		return mor_fail(err, MORTISE_EINVAL,
				"%s: has no view of its own; make it with sandbox.view=true", name);
	if (!plugin->life.link || !plugin->life.pid || !plugin->life.link->ops->set_view)
		return mor_fail(err, MORTISE_ECLOSED, "%s: is not running, so its view cannot be set", name);
	return 0;
}

/* Sends the first order that waits, unless it is under way already. */
static int send_first(mortise_plugin *plugin, mortise_error *err)
{
	struct view_wait *wait;
	int r;

	if (mor_list_empty(&plugin->views))
		return 0;
	wait = mor_container_of(plugin->views.next, struct view_wait, node);
	if (wait->sent)
		return 0;
	wait->sent = true;
	r = plugin->life.link->ops->set_view(plugin->life.link, mor_buf_view(&wait->texts));
	return r < 0 ? mor_fail(err, r, "%s: its view cannot be set: %s", plugin->peer.name,
				mortise_status_text(r)) :
		       0;
}

int mortise_plugin_set_view(mortise_plugin *plugin, const mortise_view *given, mortise_view_fn *done, void *arg,
			    mortise_error *err)
{
	struct view_wait *wait;
	mortise_view view;
	int r = mor_plugin_check(plugin, err);

	if (r < 0 || (r = check_view(plugin, err)) < 0 ||
	    (r = mor_import_options(given, &view, sizeof(view), err)) < 0)
		return r;
	wait = mor_zalloc(sizeof(*wait));
	if (!wait)
		return mor_fail_memory(err);
	wait->done = done;
	wait->arg = arg;
	r = write_order(plugin, given ? &view : NULL, &wait->texts, err);
	if (r == 0) {
		mor_list_append(&plugin->views, &wait->node);
		r = send_first(plugin, err);
		if (r < 0) /* it is the first in the list, or another would have been sent */
			mor_list_remove(&wait->node);
	}
	if (r < 0)
		wait_free(wait);
	return r;
}

/* ---- the answer ---- */

static void tell_wait(mortise_plugin *plugin, struct view_wait *wait, const mortise_error *error)
{
	mortise_host *host = plugin->host;

	if (wait->done && !host->is_copy) {
		MOR_EMBEDDER(host);
		wait->done(plugin, error ? error->code : MORTISE_OK, error, wait->arg);
	}
	wait_free(wait);
}

void mor_plugin_view_answered(void *arg, const mortise_error *error)
{
	mortise_plugin *plugin = arg;
	struct mor_list *node = mor_list_pop(&plugin->views);
	mortise_error named;

	MOR_HOLD(plugin);
	if (!node)
		return;
	if (error) {
		mor_fail(&named, error->code, "%s: %s", plugin->peer.name, error->text);
		named.os_errno = error->os_errno;
	}
	tell_wait(plugin, mor_container_of(node, struct view_wait, node), error ? &named : NULL);
	while (!plugin->gone && plugin->life.link && send_first(plugin, &named) < 0)
		tell_wait(plugin, mor_container_of(mor_list_pop(&plugin->views), struct view_wait, node),
			  &named);
}

void mor_plugin_view_take(mortise_plugin *plugin, struct mor_list *ret)
{
	struct mor_list *node;

	mor_list_init(ret);
	while ((node = mor_list_pop(&plugin->views)))
		mor_list_append(ret, node);
}

void mor_plugin_view_fail_taken(mortise_plugin *plugin, struct mor_list *taken, const mortise_error *error)
{
	struct mor_list *node;

	while ((node = mor_list_pop(taken)))
		tell_wait(plugin, mor_container_of(node, struct view_wait, node), error);
}
