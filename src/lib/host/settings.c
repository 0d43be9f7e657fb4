/* SPDX-License-Identifier: Apache-2.0 */
/* From manifest and configuration to the numbers that a plugin runs with. Everything is read and
 * checked once. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "host/plugin.h"
#include "host/settings.h"

#define START_MS 30000 /* a Java program on a busy machine takes seconds */

struct duration_setting {
	const char *section, *key;
	size_t offset; /* of a uint32_t in mortise_plugin */
};

#define AT(member) offsetof(struct mortise_plugin, member)
static const struct duration_setting durations[] = {
	{ "stop", "bye", AT(is.stop.bye_ms) },          { "stop", "term", AT(is.stop.term_ms) },
	{ "stop", "kill", AT(is.stop.kill_ms) },        { "restart", "first", AT(is.restart.first_ms) },
	{ "restart", "cap", AT(is.restart.cap_ms) },    { "restart", "period", AT(is.restart.period_ms) },
	{ "health", "every", AT(now.health.every_ms) }, { "limits", "session", AT(now.keep.total_ms) },
	{ "cancel", "grace", AT(is.cancel.grace_ms) },
};

static int read_durations(mortise_plugin *plugin, mortise_error *err)
{
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		uint32_t *field = (uint32_t *)((char *)plugin + durations[i].offset);
		int r = mor_manifest_duration(plugin->guarded.manifest, durations[i].section, durations[i].key,
					      field, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int read_limits(mortise_plugin *plugin, mortise_error *err)
{
	struct mor_link_options *link = &plugin->is.link_options;
	uint32_t depth = link->max_depth;
	struct mor_manifest *m = plugin->guarded.manifest;
	int r;

	if ((r = mor_manifest_bytes(m, "limits", "frame", &link->frame_limit, err)) < 0 ||
	    (r = mor_manifest_bytes(m, "limits", "send", &link->send_limit, err)) < 0 ||
	    (r = mor_manifest_bytes(m, "limits", "queue", &link->queue_limit, err)) < 0 ||
	    (r = mor_manifest_uint(m, "limits", "in_flight", &plugin->is.max_in_flight, err)) < 0 ||
	    (r = mor_manifest_uint(m, "limits", "depth", &depth, err)) < 0 ||
	    (r = mor_manifest_uint(m, "restart", "intensity", &plugin->is.restart.intensity, err)) < 0 ||
	    (r = mor_manifest_uint(m, "restart", "clean", &plugin->is.restart.clean, err)) < 0)
		return r;
	if (plugin->is.restart.intensity > MOR_DEATHS)
		return mor_fail(err, MORTISE_EMANIFEST, "restart.intensity: at most %d", MOR_DEATHS);
	if (depth > 1024)
		return mor_fail(err, MORTISE_EMANIFEST, "limits.depth: at most 1024");
	link->max_depth = depth;
	return 0;
}

static int read_cancel(mortise_plugin *plugin, mortise_error *err)
{
	plugin->is.cancel.method = mor_manifest_text(plugin->guarded.manifest, "cancel", "method");
	plugin->is.cancel.member = mor_manifest_text(plugin->guarded.manifest, "cancel", "member");
	if (plugin->is.cancel.method && plugin->is.remote)
		return mor_fail(err, MORTISE_EMANIFEST,
				"cancel.method: over gRPC a call is cancelled by the transport itself");
	return 0;
}

static int read_timeouts(mortise_plugin *plugin, mortise_error *err)
{
	size_t count = 0;

	MOR_LIST_EACH(node, after, &plugin->guarded.manifest->settings)
		count += strcmp(mor_container_of(node, struct mor_setting, node)->section, "timeouts") == 0;
	if (!count)
		return 0;
	plugin->is.timeouts = mor_zalloc(count * sizeof(*plugin->is.timeouts));
	if (!plugin->is.timeouts)
		return mor_fail_memory(err);
	MOR_LIST_EACH(node, after, &plugin->guarded.manifest->settings) {
		const struct mor_setting *setting = mor_container_of(node, struct mor_setting, node);
		struct mor_timeout *timeout = &plugin->is.timeouts[plugin->is.timeout_count];
		int r;

		if (strcmp(setting->section, "timeouts") != 0)
			continue;
		r = mor_manifest_duration(plugin->guarded.manifest, "timeouts", setting->key, &timeout->ms,
					  err);
		if (r < 0)
			return r;
		timeout->method = mor_strdup(setting->key);
		if (!timeout->method)
			return mor_fail_memory(err);
		plugin->is.timeout_count++;
	}
	return 0;
}

static unsigned envelope_flags(const mortise_plugin *plugin)
{
	unsigned wire = plugin->peer.dialect->wire, flags = 0;

	if (wire & MOR_WIRE_NAN_OK)
		flags |= MOR_ENV_NAN;
	if (plugin->guarded.flags & MORTISE_STRICT)
		return flags;
	if (wire & MOR_WIRE_JSONRPC_OPTIONAL)
		flags |= MOR_ENV_JSONRPC_OPTIONAL;
	if (wire & MOR_WIRE_ERROR_NULL_OK)
		flags |= MOR_ENV_ERROR_NULL_OK;
	return flags;
}

static int read_framing(mortise_plugin *plugin, mortise_error *err)
{
	const char *name = plugin->guarded.manifest->framing;
	int framing = plugin->peer.dialect->link.framing;

	if (name)
		framing = mor_framing_by_name(name);
	if (framing < 0)
		return mor_fail(err, MORTISE_EMANIFEST,
				"plugin.framing is \"%s\": use lines, decimal, be32 or headers", name);
	plugin->is.link_options.framing = (enum mor_framing)framing;
	return 0;
}

/* ---- over which it speaks ---- */

static int read_remote(mortise_plugin *plugin, mortise_error *err)
{
	const struct mor_manifest *m = plugin->guarded.manifest;
	struct mor_remote_options *remote = mor_zalloc(sizeof(*remote));
	int r;

	if (!remote)
		return mor_fail_memory(err);
	plugin->is.remote = remote;
	plugin->is.link_options.remote = remote;
	remote->dialect = plugin->peer.dialect->name;
	remote->cookie_key = mor_manifest_text(m, "grpc", "cookie_key");
	remote->cookie_value = mor_manifest_text(m, "grpc", "cookie_value");
	remote->versions = mor_manifest_text(m, "grpc", "versions");
	remote->proto = mor_manifest_text(m, "grpc", "proto");
	remote->dir = m->dir;
	remote->start_ms = START_MS;
	r = mor_manifest_duration(m, "grpc", "start", &remote->start_ms, err);
	return r < 0 ? r : 0;
}

static int read_transport(mortise_plugin *plugin, mortise_error *err)
{
	const struct mor_setting *set = mor_manifest_setting(plugin->guarded.manifest, "plugin", "transport");

	if (set ? set->text && strcmp(set->text, "stdio-jsonrpc") == 0 : !plugin->peer.dialect->link.grpc)
		return 0;
	if (set && (!set->text || strcmp(set->text, "grpc") != 0))
		return mor_fail(err, MORTISE_EMANIFEST,
				"%s: plugin.transport is %.60s: use \"stdio-jsonrpc\" or \"grpc\"", set->origin,
				set->json);
	return read_remote(plugin, err);
}

/* ---- quirks ---- */

/* Any dialect may be padded: some plugins read in blocks, whatever they speak. */
static const struct mor_quirk everywhere[] = {
	{ "frame_pad", NULL, NULL, NULL, MOR_QUIRK_FRAME_PAD },
	{ 0 },
};

static const struct mor_quirk *find_quirk(const mortise_plugin *plugin, const char *name)
{
	for (const struct mor_quirk *quirk = plugin->peer.dialect->quirks; quirk && quirk->name; quirk++)
		if (strcmp(quirk->name, name) == 0)
			return quirk;
	for (const struct mor_quirk *quirk = everywhere; quirk->name; quirk++)
		if (strcmp(quirk->name, name) == 0)
			return quirk;
	return NULL;
}

static int obey_quirk(mortise_plugin *plugin, const struct mor_quirk *quirk, const char *value,
		      mortise_error *err)
{
	bool yes = strcmp(value, "true") == 0;

	switch (quirk->core) {
	case MOR_QUIRK_OWN:
		break;
	case MOR_QUIRK_FRAME_PAD:
		return mor_manifest_uint(plugin->guarded.manifest, "quirks", quirk->name,
					 &plugin->is.link_options.frame_pad, err);
	case MOR_QUIRK_LEADING_ZEROS:
		plugin->is.link_options.deframe_flags |= yes ? MOR_DEFRAME_LEADING_ZEROS : 0;
		break;
	case MOR_QUIRK_PIPELINE:
		return mor_manifest_uint(plugin->guarded.manifest, "quirks", quirk->name,
					 &plugin->is.max_in_flight, err);
	case MOR_QUIRK_REPLY_TO_NOTES:
		plugin->is.replies_to_notes = yes;
		break;
	case MOR_QUIRK_WATCHDOG:
		if (strcmp(value, "strict") == 0)
			plugin->now.health.asks &= ~(unsigned)MOR_ASK_LEARN;
		if (strcmp(value, "off") == 0)
			plugin->now.health.asks = 0;
		break;
	}
	return 0;
}

/* What is configured; the defaults in the table are what the core does anyway. Unknown quirks are refused by
 * name: a misspelt one would silently do nothing. */
static int read_quirks(mortise_plugin *plugin, mortise_error *err)
{
	MOR_LIST_EACH(node, after, &plugin->guarded.manifest->settings) {
		const struct mor_setting *setting = mor_container_of(node, struct mor_setting, node);
		const struct mor_quirk *quirk;
		const char *value;
		int r;

		if (strcmp(setting->section, "quirks") != 0)
			continue;
		quirk = find_quirk(plugin, setting->key);
		if (!quirk)
			return mor_fail(err, MORTISE_EMANIFEST,
					"%s: unknown quirk \"%s\" (mortise explain %s lists them)",
					setting->origin, setting->key, plugin->peer.dialect->name);
		value = plugin->peer.quirk(&plugin->peer, setting->key);
		value = value ? value : "";
		if (quirk->one_of && !mor_text_in(mor_slice_of(value), quirk->one_of))
			return mor_fail(err, MORTISE_EMANIFEST, "%s: quirk \"%s\" must be one of %s",
					setting->origin, quirk->name, quirk->one_of);
		if ((r = obey_quirk(plugin, quirk, value, err)) < 0)
			return r;
	}
	return 0;
}

/* ---- what the dialect's table says ---- */

static unsigned asks_of(const struct mor_dialect *dialect)
{
	const struct mor_health *health = dialect->health;
	const struct mor_watchdog *watchdog = dialect->watchdog;
	unsigned asks = 0;

	if (health)
		asks |= (health->first ? MOR_ASK_FIRST : 0) |
			(health->after_timeout ? MOR_ASK_AFTER_TIMEOUT : 0) |
			(health->every_ms ? MOR_ASK_IDLE : 0);
	if (watchdog)
		asks |= MOR_ASK_IDLE | MOR_ASK_KILL | (watchdog->beside_calls ? MOR_ASK_BUSY : 0) |
			(watchdog->learn ? MOR_ASK_LEARN : 0);
	return asks;
}

static void take_link(mortise_plugin *plugin, const struct mor_dialect *dialect)
{
	struct mor_link_options *link = &plugin->is.link_options;

	link->frame_limit = dialect->link.frame_limit;
	link->send_limit = dialect->link.send_limit;
	link->queue_limit = dialect->link.queue_limit;
	link->reads = dialect->link.reads;
	if (dialect->link.reads && dialect->life.shape == MOR_SHAPE_ONE_CALL)
		link->deframe_flags |= MOR_DEFRAME_EOF_ENDS;
	if (dialect->serve && dialect->serve->noise_is_breach)
		link->deframe_flags |= MOR_DEFRAME_STRICT;
	link->every_fault = dialect->serve && dialect->serve->answer_faults;
	link->envelope_flags = envelope_flags(plugin);
	link->ordered = dialect->wire & MOR_WIRE_ANY_REF;
}

static void take_table(mortise_plugin *plugin, const struct mor_dialect *dialect)
{
	plugin->is.stop = dialect->life.stop;
	plugin->is.restart = dialect->life.restart;
	plugin->is.max_in_flight = dialect->life.max_in_flight;
	plugin->now.health.asks = asks_of(dialect);
	plugin->now.health.every_ms = dialect->watchdog ? dialect->watchdog->every_ms :
				      dialect->health   ? dialect->health->every_ms :
							  0;
	plugin->now.keep.total_ms = dialect->conversation ? dialect->conversation->total_ms : 0;
	take_link(plugin, dialect);
}

int mor_plugin_read_settings(mortise_plugin *plugin, mortise_error *err)
{
	bool restart = true;
	int r;

	take_table(plugin, plugin->peer.dialect);
	if ((r = read_framing(plugin, err)) < 0 || (r = read_transport(plugin, err)) < 0 ||
	    (r = read_durations(plugin, err)) < 0 || (r = read_quirks(plugin, err)) < 0 ||
	    (r = read_limits(plugin, err)) < 0 || (r = read_cancel(plugin, err)) < 0 ||
	    (r = read_timeouts(plugin, err)) < 0 ||
	    (r = mor_manifest_bool(plugin->guarded.manifest, "restart", "enabled", &restart, err)) < 0)
		return r;
	if (!restart)
		plugin->guarded.flags |= MORTISE_NO_RESTART;
	return mor_rows_choose(plugin, err);
}

static const struct mor_timeout *find_timeout(const mortise_plugin *plugin, const struct mor_method *row,
					      const char *method)
{
	for (size_t i = plugin->is.timeout_count; i-- > 0;) {
		const struct mor_timeout *timeout = &plugin->is.timeouts[i];

		if (strcmp(timeout->method, method) == 0 ||
		    (row->role == MOR_ROLE_CALL && strcmp(timeout->method, "*") == 0))
			return timeout;
	}
	return NULL;
}

uint32_t mor_plugin_timeout(const mortise_plugin *plugin, const struct mor_method *row, const char *method)
{
	const struct mor_timeout *set = find_timeout(plugin, row, method);

	return set ? set->ms : mor_timing_of(row)->timeout_ms;
}

const char *mor_who_sets_timeout(const mortise_plugin *plugin, const struct mor_method *row, const char *method,
				 bool own, char text[static MOR_WHO_SETS_SIZE])
{
	const struct mor_timeout *set = find_timeout(plugin, row, method);

	if (own)
		snprintf(text, MOR_WHO_SETS_SIZE, "timeout_ms of the call sets the limit");
	else if (set)
		snprintf(text, MOR_WHO_SETS_SIZE, "timeouts.%.100s sets the limit", set->method);
	else
		snprintf(text, MOR_WHO_SETS_SIZE, "the limit of %s; timeouts.%.100s changes it",
			 plugin->peer.dialect->name, method);
	return text;
}
