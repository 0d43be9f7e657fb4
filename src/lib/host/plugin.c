/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin as the embedder holds it: making it from options, references, what it is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/apart.h"
#include "base/error.h"
#include "base/options.h"
#include "guard/env.h"
#include "guard/sandbox.h"
#include "host/embedder.h"
#include "host/installed.h"
#include "host/plugin.h"
#include "host/request.h"
#include "host/settings.h"
#include "host/view_queue.h"

int mor_plugin_check(mortise_plugin *plugin, mortise_error *err)
{
	if (!plugin)
		return mor_fail(err, MORTISE_EINVAL, "plugin is NULL");
	if (!mor_owner_is_us(plugin->owner)) /* first: the owner's thread may be changing everything else */
		return mor_host_fail_thread(plugin->owner, err);
	if (plugin->gone)
		return mor_fail(err, MORTISE_ECLOSED, "%s: has been released", plugin->peer.name);
	return 0;
}

static void peer_warn(struct mor_peer *peer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void peer_warn(struct mor_peer *peer, const char *format, ...)
{
	mortise_plugin *plugin = mor_container_of(peer, mortise_plugin, peer);
	va_list args;

	va_start(args, format);
	mor_event_vprintf(plugin, MORTISE_EVENT_WARNING, format, args);
	va_end(args);
}

static const char *peer_quirk(struct mor_peer *peer, const char *name)
{
	mortise_plugin *plugin = mor_container_of(peer, mortise_plugin, peer);
	const struct mor_setting *setting = mor_manifest_setting(plugin->guarded.manifest, "quirks", name);
	/* true may be written without quotes */
	const char *value = !setting ? NULL : setting->text ? setting->text : setting->json;

	for (const struct mor_quirk *quirk = plugin->peer.dialect->quirks; !value && quirk && quirk->name;
	     quirk++) {
		if (strcmp(quirk->name, name) == 0)
			value = quirk->def;
	}
	return value;
}

static int take_dialect(mortise_plugin *plugin, mortise_error *err)
{
	const char *name = plugin->guarded.manifest->dialect;

	plugin->guarded.dialect = plugin->is.resolved->dialect;
	if (plugin->host->dialect && strcmp(plugin->host->dialect->name, name) == 0)
		plugin->guarded.dialect = plugin->host->dialect;
	return plugin->guarded.dialect ? 0 : mor_dialect_require(name, &plugin->guarded.dialect, err);
}

static int take_resolved(mortise_plugin *plugin, const mortise_plugin_options *opt, mortise_error *err)
{
	int r = mor_vetting_manifest(&plugin->guarded, opt->path, err);

	if (r == 0)
		r = take_dialect(plugin, err);
	if (r < 0)
		return mor_fail_prefix(err, plugin->guarded.manifest->name);
	plugin->peer = (struct mor_peer){
		.dialect = plugin->guarded.dialect,
		.name = plugin->guarded.manifest->name,
		.strict = opt->flags & MORTISE_STRICT,
		.config = mor_slice_of(plugin->guarded.manifest->config),
		.manifest = plugin->guarded.manifest->doc ? mor_doc_root(plugin->guarded.manifest->doc) : NULL,
		.warn = peer_warn,
		.quirk = peer_quirk,
	};
	r = mor_plugin_read_settings(plugin, err);
	if (r == 0)
		r = mor_sandbox_load(plugin->guarded.manifest,
				     plugin->peer.dialect->life.confine == MOR_CONFINED,
				     &plugin->guarded.policy, err);
	return r < 0 ? mor_fail_prefix(err, plugin->guarded.manifest->name) : 0;
}

static void free_plugin(mortise_plugin *plugin)
{
	for (size_t i = 0; i < plugin->is.timeout_count; i++)
		mor_free(plugin->is.timeouts[i].method);
	mor_free(plugin->is.timeouts);
	mor_free(plugin->is.remote);
	mor_env_unref(plugin->guarded.env);
	mor_life_fini(&plugin->life);
	mor_free(plugin->now.said_name);
	mor_call_table_fini(&plugin->calls.table);
	mor_kept_fini(&plugin->ends.failure.text);
	mor_buf_fini(&plugin->ends.failure.data);
	mor_kept_fini(&plugin->now.last_error);
	mor_kept_fini(&plugin->now.health.reason);
	mor_free(plugin->ends.deaths);
	mor_policy_fini(&plugin->guarded.policy);
	mor_rows_free(plugin);
	mor_resolved_unref(plugin->is.resolved);
	mor_owner_unref(plugin->owner);
	mor_free(plugin);
}

/* The places of its timers are reserved when it is made, so that setting one never fails for lack of memory. */
enum { TIMERS = 6 };

static void list_timers(mortise_plugin *plugin, struct mor_timer *ret[TIMERS])
{
	struct mor_timer *const all[TIMERS] = { &plugin->ends.ladder,       &plugin->ends.restart_timer,
						&plugin->ends.broken_timer, &plugin->ends.hello_timer,
						&plugin->now.health.timer,  &plugin->now.keep.timer };

	memcpy(ret, all, sizeof(all));
}

static int reserve_timers(mortise_plugin *plugin)
{
	struct mor_timer *all[TIMERS];
	int r = 0;

	list_timers(plugin, all);
	for (int i = 0; i < TIMERS && r == 0; i++)
		r = mor_timer_reserve(plugin->host->loop, all[i]);
	return r;
}

static void release_timers(mortise_plugin *plugin)
{
	struct mor_timer *all[TIMERS];

	list_timers(plugin, all);
	for (int i = 0; i < TIMERS; i++)
		mor_timer_release(plugin->host->loop, all[i]);
}

static int fill_plugin(mortise_plugin *plugin, const mortise_plugin_options *opt, mortise_error *err)
{
	int r;

	plugin->guarded.flags = opt->flags;
	if (reserve_timers(plugin) < 0)
		return mor_fail_memory(err);
	if ((r = take_resolved(plugin, opt, err)) < 0)
		return r;
	plugin->guarded.env = mor_env_build(&plugin->guarded, &plugin->host->environments);
	if (!plugin->guarded.env)
		return mor_fail_memory_of(err, plugin->peer.name);
	plugin->is.on_event = opt->on_event;
	plugin->is.on_request = opt->on_request;
	plugin->is.arg = opt->arg;
	plugin->guarded.command = (struct mor_command){
		.argv = (const char *const *)plugin->guarded.manifest->argv,
		.env = plugin->guarded.env->list,
		.cwd = plugin->guarded.manifest->cwd,
		.no_shims = mor_policy_confined(&plugin->guarded.policy),
		.policy = &plugin->guarded.policy,
		.helper = plugin->host->helper,
	};
	if (plugin->is.stop.hold)
		plugin->guarded.policy.grace =
			(struct mor_grace){ plugin->is.stop.term_ms, plugin->is.stop.kill_ms };
	plugin->is.link_options.command = &plugin->guarded.command;
	plugin->now.health.healthy = -1;
	return 0;
}

/* The name of an installed plugin stands for the path of its directory. */
static int find_installed(mortise_plugin_options *opt, char **directory, mortise_error *err)
{
	int r;

	if (!opt->installed)
		return 0;
	if (opt->path)
		return mor_fail(err, MORTISE_EINVAL, "a path or the name of an installed plugin, not both");
	r = mor_plugin_installed(opt->installed, directory, err);
	if (r == 0)
		opt->path = *directory;
	return r;
}

static mortise_plugin *alloc_plugin(mortise_host *host, struct mor_resolved *resolved)
{
	mortise_plugin *plugin = mor_zalloc(sizeof(*plugin));

	if (!plugin)
		return NULL;
	plugin->host = host;
	plugin->is.resolved = mor_resolved_ref(resolved);
	plugin->guarded.manifest = resolved->manifest;
	plugin->guarded.vetting = resolved->vetting;
	mor_life_begin(plugin);
	plugin->owner = mor_owner_ref(host->owner);
	mor_list_init(&plugin->calls.queue);
	mor_list_init(&plugin->calls.writing);
	mor_list_init(&plugin->calls.flight);
	mor_list_init(&plugin->calls.dooms);
	mor_list_init(&plugin->calls.requests);
	mor_list_init(&plugin->calls.views);
	return plugin;
}

int mor_plugin_make(struct mor_resolved *resolved, mortise_host *host, const mortise_plugin_options *opt,
		    mortise_plugin **ret_plugin, mortise_error *err)
{
	mortise_plugin *plugin = alloc_plugin(host, resolved);
	int r;

	if (!plugin)
		return mor_fail_memory(err);
	if ((r = fill_plugin(plugin, opt, err)) < 0) {
		release_timers(plugin);
		free_plugin(plugin);
		return r;
	}
	plugin->refs = 1;
	plugin->now.state_ms = mor_loop_now_ms(host->loop);
	mor_list_append(&host->plugins, &plugin->node);
	*ret_plugin = plugin;
	return 0;
}

int mortise_plugin_new(mortise_host *host, const mortise_plugin_options *given, mortise_plugin **ret_plugin,
		       mortise_error *err)
{
	MOR_CLEAN_TEXT char *directory = NULL;
	struct mor_resolved *resolved = NULL;
	mortise_plugin_options opt;
	int r = mor_host_check_thread(host, err);

	if (r < 0 || (r = mor_import_options(given, &opt, sizeof(opt), err)) < 0 ||
	    (r = find_installed(&opt, &directory, err)) < 0)
		return r;
	r = mor_resolved_new(&opt, host->command_words ? 0 : MOR_RESOLVED_EMBEDDED, &resolved, err);
	if (r == 0)
		r = mor_plugin_make(resolved, host, &opt, ret_plugin, err);
	mor_resolved_unref(resolved);
	return r;
}

/* The shell of a plugin whose host is gone stays as long as the embedder holds it. */
void mor_plugin_free_if_done(mortise_plugin *plugin)
{
	if (plugin->gone && !plugin->holds && !plugin->refs)
		free_plugin(plugin);
}

void mor_plugin_destroy(mortise_plugin *plugin)
{
	struct mor_list taken, views;
	mortise_error error;

	MOR_HOLD(plugin);
	/* first: the callbacks below and functions up the stack must see that it is closed */
	plugin->gone = true;
	plugin->now.state = MORTISE_STOPPED;
	mor_list_remove(&plugin->node);
	release_timers(plugin);
	if (plugin->life.link)
		plugin->life.link->ops->free(plugin->life.link);
	plugin->life.link = NULL;
	plugin->guarded.env = mor_env_unref(plugin->guarded.env); /* now: its host may go before the shell */
	mor_fail(&error, MORTISE_ECANCELED, "%s: the plugin was released", plugin->peer.name);
	mor_task_stop(&plugin->calls.pump);
	mor_call_take(plugin, &taken, true);
	mor_plugin_view_take(plugin, &views);
	mor_call_end_dooms(plugin);
	mor_call_fail_taken(plugin, &taken, &(struct mor_verdict){ .status = error.code, .error = &error });
	mor_plugin_view_fail_taken(plugin, &views, &error);
	mor_request_drop_all(plugin);
}

mortise_plugin *mortise_plugin_ref(mortise_plugin *plugin)
{
	if (!plugin || !mor_owner_is_us(plugin->owner))
		return NULL;
	plugin->refs++;
	return plugin;
}

/* The owner's thread may, and a forked child. */
static bool may_leave(mortise_plugin *plugin)
{
	if (!mor_owner_is_us(plugin->owner) && !mor_owner_is_copy(plugin->owner))
		return false;
	return plugin->gone || mor_host_check_leaving(plugin->host) == 0;
}

mortise_plugin *mortise_plugin_unref(mortise_plugin *plugin)
{
	if (!plugin || !may_leave(plugin))
		return plugin;
	plugin->refs--;
	if (plugin->refs == 0 && !plugin->gone)
		mor_plugin_destroy(plugin);
	else
		mor_plugin_free_if_done(plugin);
	return NULL;
}

int mortise_plugin_pause(mortise_plugin *plugin, int on, mortise_error *err)
{
	int r = mor_plugin_check(plugin, err);

	if (r < 0)
		return r;
	plugin->now.paused = on != 0;
	if (plugin->life.link)
		plugin->life.link->ops->pause(plugin->life.link, plugin->now.paused);
	return 0;
}

const char *mortise_plugin_name(mortise_plugin *plugin)
{
	return plugin && mor_owner_is_us(plugin->owner) ? plugin->peer.name : "";
}

const char *mortise_plugin_dialect(mortise_plugin *plugin)
{
	return plugin && mor_owner_is_us(plugin->owner) ? plugin->peer.dialect->name : "";
}

int mortise_plugin_state(mortise_plugin *plugin)
{
	int r = mor_plugin_check(plugin, NULL);

	return r < 0 ? r : (int)plugin->now.state;
}

mortise_host *mortise_plugin_host(mortise_plugin *plugin)
{
	return mor_plugin_check(plugin, NULL) < 0 ? NULL : plugin->host;
}

void *mortise_plugin_arg(mortise_plugin *plugin)
{
	return plugin && mor_owner_is_us(plugin->owner) ? plugin->is.arg : NULL;
}

MOR_APART void mor_plugin_keep_error(mortise_plugin *plugin, const mortise_error *error)
{
	mor_kept_set(&plugin->now.last_error, error->text, sizeof(error->text));
}

const struct mor_value *mor_plugin_identity(const mortise_plugin *plugin)
{
	const struct mor_value *const candidates[] = { plugin->peer.manifest, plugin->peer.hello };

	for (size_t i = 0; i < 2; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf list = MOR_BUF_INIT;

		if (candidates[i] && mor_dialect_interfaces(plugin->peer.dialect, candidates[i], &list) > 0)
			return candidates[i];
	}
	return NULL;
}
