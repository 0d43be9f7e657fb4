/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that end together: with their process, their plugin or their queue. There may be many, so their last
 * callbacks come in slices: those that a dispatch has no time for wait in a doom, with their error. Outside
 * a dispatch (a plugin is released) all of them come at once.
 */
#include <assert.h>

#include "base/alloc.h"
#include "host/plugin.h"

struct mor_doom {
	struct mor_list node; /* in plugin->calls.dooms */
	struct mor_list calls;
	mortise_plugin *plugin;
	struct mor_task task;
	mortise_error error;
	struct mor_buf data;
	bool busy;
};

/* ---- taking them ---- */

/* Our own calls (greeting, ping, goodbye) go to the front: their results are about this process, and cannot
 * wait. */
void mor_call_take(mortise_plugin *plugin, struct mor_list *ret_taken, bool queued_too)
{
	struct mor_list *const lists[] = { &plugin->calls.flight, &plugin->calls.writing,
					   &plugin->calls.queue };
	struct mor_list *users;

	mor_list_init(ret_taken);
	users = ret_taken;
	for (size_t i = 0; i < (queued_too ? 3 : 2); i++) {
		while (!mor_list_empty(lists[i])) {
			mortise_call *call = mor_container_of(lists[i]->next, mortise_call, node);

			mor_call_unlink(call);
			if (call->in_hand)
				continue;
			if (call->purpose != MOR_FOR_USER) {
				mor_list_append(users, &call->node);
			} else {
				mor_list_append(ret_taken, &call->node);
				if (users == ret_taken)
					users = &call->node;
			}
		}
	}
}

/* ---- failing them ---- */

static void end_one(mortise_host *host, mortise_call *call, const struct mor_verdict *verdict)
{
	if (call->state == MOR_CALL_LATE) { /* its embedder has been told */
		mor_list_remove(&call->node);
		mor_call_recycle(host, call);
	} else {
		mor_call_settle(call, verdict, false);
	}
}

static void end_all(mortise_host *host, struct mor_list *calls, const struct mor_verdict *verdict)
{
	while (!mor_list_empty(calls))
		end_one(host, mor_container_of(calls->next, mortise_call, node), verdict);
}

/* false: there was no time for all of them. */
static bool end_some(mortise_host *host, struct mor_list *calls, const struct mor_verdict *verdict)
{
	while (!mor_list_empty(calls)) {
		mortise_call *call = mor_container_of(calls->next, mortise_call, node);

		if (call->purpose == MOR_FOR_USER && mor_loop_spent(host->loop))
			return false;
		end_one(host, call, verdict);
	}
	return true;
}

static void end_doom(struct mor_doom *doom)
{
	mor_list_remove(&doom->node);
	mor_task_stop(&doom->task);
	mor_buf_fini(&doom->data);
	mor_free(doom);
}

static struct mor_verdict verdict_of(const struct mor_doom *doom)
{
	return (struct mor_verdict){ .status = doom->error.code,
				     .error = &doom->error,
				     .error_data = mor_buf_view(&doom->data) };
}

static void on_doom(struct mor_task *task)
{
	struct mor_doom *doom = mor_container_of(task, struct mor_doom, task);
	mortise_plugin *plugin = doom->plugin;
	struct mor_verdict verdict = verdict_of(doom);

	bool done;

	MOR_HOLD(plugin);
	doom->busy = true;
	done = end_some(plugin->host, &doom->calls, &verdict);
	doom->busy = false;
	if (done)
		end_doom(doom);
	else
		mor_loop_post(plugin->host->loop, &doom->task, on_doom);
}

/* 0, or MORTISE_ENOMEM with nothing changed. */
static int doom(mortise_plugin *plugin, struct mor_list *calls, const struct mor_verdict *verdict)
{
	struct mor_doom *later = mor_zalloc(sizeof(*later));
	struct mor_list *node;

	if (!later)
		return MORTISE_ENOMEM;
	mor_list_init(&later->calls);
	if (verdict->error_data.ptr && mor_buf_slice(&later->data, verdict->error_data) < 0) {
		mor_free(later);
		return MORTISE_ENOMEM;
	}
	later->plugin = plugin;
	later->error = *verdict->error;
	assert(verdict->status == later->error.code);
	while ((node = mor_list_pop(calls))) {
		mortise_call *call = mor_container_of(node, mortise_call, node);

		if (call->state != MOR_CALL_LATE)
			call->state = MOR_CALL_DOOMED;
		mor_list_append(&later->calls, node);
	}
	mor_list_append(&plugin->calls.dooms, &later->node);
	mor_loop_post(plugin->host->loop, &later->task, on_doom);
	return 0;
}

void mor_call_fail_taken(mortise_plugin *plugin, struct mor_list *taken, const struct mor_verdict *verdict)
{
	if (end_some(plugin->host, taken, verdict))
		return;
	/* A plugin that is gone gets no later dispatch. Without memory they also come at once, however
	 * long it takes. */
	if (plugin->gone || doom(plugin, taken, verdict) < 0)
		end_all(plugin->host, taken, verdict);
}

void mor_call_fail_queued(mortise_plugin *plugin, const struct mor_verdict *verdict)
{
	struct mor_list taken;

	mor_list_init(&taken);
	while (!mor_list_empty(&plugin->calls.queue)) {
		mortise_call *call = mor_container_of(plugin->calls.queue.next, mortise_call, node);

		mor_call_unlink(call);
		mor_list_append(&taken, &call->node);
	}
	mor_call_fail_taken(plugin, &taken, verdict);
}

void mor_call_end_dooms(mortise_plugin *plugin)
{
	struct mor_list *node;

	while ((node = mor_list_pop(&plugin->calls.dooms))) {
		struct mor_doom *doom = mor_container_of(node, struct mor_doom, node);
		struct mor_verdict verdict = verdict_of(doom);

		end_all(plugin->host, &doom->calls, &verdict);
		if (!doom->busy) /* otherwise one of its own callbacks has released the plugin */
			end_doom(doom);
	}
}
