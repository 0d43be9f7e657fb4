/* SPDX-License-Identifier: Apache-2.0 */
/* Orders about what a plugin sees of the file system (src/lib/guard/view_order.h). One order is under way at a
 * time; the others wait here, in the order of the calls. */
#include "host/view_queue.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "guard/view_order.h"
#include "host/embedder.h"
#include "host/host.h"

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

static int check_view(mortise_plugin *plugin, mortise_error *err)
{
	const char *name = plugin->peer.name;

	if (!plugin->guarded.policy.view)
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

	if (mor_list_empty(&plugin->calls.views))
		return 0;
	wait = mor_container_of(plugin->calls.views.next, struct view_wait, node);
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
	r = mor_order_view(plugin->peer.name, given ? &view : NULL, &wait->texts, err);
	if (r == 0) {
		mor_list_append(&plugin->calls.views, &wait->node);
		/* it is the first in the list, or another would have been sent */
		if ((r = send_first(plugin, err)) < 0)
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
	struct mor_list *node = mor_list_pop(&plugin->calls.views);
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
		tell_wait(plugin, mor_container_of(mor_list_pop(&plugin->calls.views), struct view_wait, node),
			  &named);
}

void mor_plugin_view_take(mortise_plugin *plugin, struct mor_list *ret)
{
	struct mor_list *node;

	mor_list_init(ret);
	while ((node = mor_list_pop(&plugin->calls.views)))
		mor_list_append(ret, node);
}

void mor_plugin_view_fail_taken(mortise_plugin *plugin, struct mor_list *taken, const mortise_error *error)
{
	struct mor_list *node;

	while ((node = mor_list_pop(taken)))
		tell_wait(plugin, mor_container_of(node, struct view_wait, node), error);
}
