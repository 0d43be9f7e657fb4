/* SPDX-License-Identifier: Apache-2.0 */
/* The host: a loop, a thread rule, and the lists of what lives on it. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/trace.h"
#include "host/embedder.h"
#include "host/host.h"
#include "host/pool.h"
#include "host/request.h"

int mor_host_check_thread(const mortise_host *host, mortise_error *err)
{
	if (!host)
		return mor_fail(err, MORTISE_EINVAL, "host is NULL");
	return mor_owner_is_us(host->owner) ? 0 : mor_host_fail_thread(host->owner, err);
}

int mor_host_fail_thread(const struct mor_owner *owner, mortise_error *err)
{
	if (mor_owner_is_copy(owner))
		return mor_fail(
			err, MORTISE_ETHREAD,
			"this is the copy of a forked child, which may only free it; make a host of your own");
	return mor_fail(err, MORTISE_ETHREAD,
			"only the host's own thread may do this; others use mortise_host_wakeup()");
}

int mor_host_check_leaving(mortise_host *host)
{
	if (!mor_owner_is_copy(host->owner))
		return mor_owner_is_us(host->owner) ? 0 : MORTISE_ETHREAD;
	if (host->is_copy)
		return 0;
	/* Forked in the middle of a callback or dispatch: such a copy cannot be freed. */
	if (host->in_callback || mor_loop_dispatching(host->loop))
		return MORTISE_ECALLBACK;
	host->is_copy = true;
	mor_loop_forsake(host->loop);
	return 0;
}

int mor_host_check_idle(const mortise_host *host, mortise_error *err)
{
	if (host->in_callback || mor_loop_dispatching(host->loop))
		return mor_fail(err, MORTISE_ECALLBACK,
				"this function runs the loop and so cannot be called from a callback");
	return 0;
}

int mor_host_check_outside(const mortise_host *host, mortise_error *err)
{
	int r = mor_host_check_thread(host, err);

	return r < 0 ? r : mor_host_check_idle(host, err);
}

static void free_host(mortise_host *host)
{
	if (!host)
		return;
	mor_owner_unref(host->owner);
	mor_free(host->helper);
	mor_free(host);
}

static mortise_tap_fn *no_tap(void)
{
	return mor_trace_mask & MOR_TRACE_WIRE ? mor_event_untapped : NULL;
}

/* On one core a spin would only keep the plugin from running. */
static bool may_spin(uint64_t flags)
{
	cpu_set_t cores;

	if (flags & MORTISE_NO_SPIN)
		return false;
	/* it fails where there are more cores than the set has room for */
	return sched_getaffinity(0, sizeof(cores), &cores) < 0 || CPU_COUNT(&cores) > 1;
}

int mor_host_new_with(const mortise_host_options *given, unsigned loop_flags, mor_link_make_fn *make_link,
		      mortise_host **ret_host, mortise_error *err)
{
	mortise_host_options opt;
	mortise_host *host;
	int r = mor_import_options(given, &opt, sizeof(opt), err);

	if (r < 0)
		return r;
	if (opt.flags & ~(uint64_t)(MORTISE_NO_SPIN | MORTISE_COMMAND_WORDS))
		return mor_fail(err, MORTISE_EINVAL, "host options: unknown flags");
	host = mor_zalloc(sizeof(*host));
	if (host) {
		host->helper = mor_strdup(opt.jail_helper);
		host->owner = mor_owner_new();
	}
	if (!host || !host->owner || (opt.jail_helper && !host->helper)) {
		free_host(host);
		return mor_fail_memory(err);
	}
	if ((r = mor_loop_new(loop_flags, &host->loop)) < 0) {
		int saved = errno;

		free_host(host);
		return mor_fail_errno(err, r, saved, "event loop");
	}
	mor_loop_allow_spin(host->loop, may_spin(opt.flags));
	mor_trace_init();
	host->tap = no_tap();
	host->on_event = opt.on_event;
	host->on_trust = opt.on_trust;
	host->command_words = opt.flags & MORTISE_COMMAND_WORDS;
	host->arg = opt.arg;
	host->make_link = make_link;
	host->random = (uint32_t)mor_clock_ns() | 1;
	mor_list_init(&host->plugins);
	mor_list_init(&host->pools);
	mor_list_init(&host->environments);
	mor_list_init(&host->orphans);
	mor_list_init(&host->spare_calls);
	*ret_host = host;
	return 0;
}

int mortise_host_new(const mortise_host_options *opt, mortise_host **ret_host, mortise_error *err)
{
	return mor_host_new_with(opt, 0, mor_link_stdio_new, ret_host, err);
}

int mortise_host_adopt(mortise_host *host, mortise_error *err)
{
	if (!host)
		return mor_fail(err, MORTISE_EINVAL, "a host must be given");
	if (mor_owner_is_copy(host->owner))
		return mor_fail(err, MORTISE_ETHREAD, "a forked child cannot use its parent's host");
	host->owner->thread = pthread_self();
	return 0;
}

mortise_host *mortise_host_free(mortise_host *host)
{
	struct mor_list closed;

	if (!host || mor_host_check_leaving(host) < 0 || host->in_callback || mor_loop_dispatching(host->loop))
		return host;
	/* From here on the last callbacks of every call run, but must not run the loop. There is no matching
	 * leave: the host ends. */
	mor_embedder_enter(host);
	mor_list_init(&closed);
	while (!mor_list_empty(&host->pools) || !mor_list_empty(&host->plugins)) {
		/* Pools first: their workers are among the plugins. In a loop: callbacks may make new
		 * ones. They may also use a pool that is closed already, so its memory stays until no
		 * callback can come. */
		if (!mor_list_empty(&host->pools))
			mor_pool_close(mor_container_of(host->pools.next, mortise_pool, node), &closed);
		else
			mor_plugin_destroy(mor_container_of(host->plugins.next, mortise_plugin, node));
	}
	mor_pool_free_closed(&closed);
	mor_request_free_orphans(host);
	mor_call_free_spares(host);
	mor_buf_fini(&host->compose);
	mor_loop_free(host->loop);
	free_host(host);
	return NULL;
}

int mortise_host_fd(mortise_host *host)
{
	int r = mor_host_check_thread(host, NULL);

	return r < 0 ? r : mor_loop_fd(host->loop);
}

int mortise_host_dispatch(mortise_host *host)
{
	int r = mor_host_check_outside(host, NULL);

	return r < 0 ? r : mor_loop_dispatch(host->loop);
}

/* A turn of the loop may do nothing that the embedder could notice: a signal came, or the timer of a deadline
 * that has moved. That does not end the wait. */
int mortise_host_wait(mortise_host *host, int timeout_ms)
{
	int r = mor_host_check_outside(host, NULL);
	int64_t until, left = timeout_ms;

	if (r < 0)
		return r;
	until = timeout_ms > 0 ? mor_clock_ms() + timeout_ms : 0;
	do {
		r = mor_loop_wait(host->loop, (int)left);
		if (r || mor_loop_was_woken(host->loop))
			return r;
		if (timeout_ms >= 0)
			left = until - mor_clock_ms();
	} while (timeout_ms < 0 || left > 0);
	return 0;
}

int mortise_host_wakeup(mortise_host *host)
{
	if (!host)
		return MORTISE_EINVAL;
	return host->owner->thread ? mor_loop_wakeup(host->loop) : MORTISE_ETHREAD;
}

mortise_plugin *mortise_host_next_plugin(mortise_host *host, mortise_plugin *plugin)
{
	struct mor_list *next;

	if (mor_host_check_thread(host, NULL) < 0 || (plugin && (plugin->gone || plugin->host != host)))
		return NULL;
	next = plugin ? plugin->node.next : host->plugins.next;
	return next == &host->plugins ? NULL : mor_container_of(next, mortise_plugin, node);
}

int mortise_host_set_tap(mortise_host *host, mortise_tap_fn *tap, void *arg, mortise_error *err)
{
	int r = mor_host_check_thread(host, err);

	if (r < 0)
		return r;
	host->tap = tap ? tap : no_tap();
	host->tap_arg = arg;
	return 0;
}
