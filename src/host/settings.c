/* SPDX-License-Identifier: Apache-2.0 */
/* Manifest and configuration -> the numbers a plugin runs by. Everything is read and checked once. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "host/host.h"

struct duration_setting {
	const char *section, *key;
	size_t offset; /* of a uint32_t in mortise_plugin */
};

#define AT(member) offsetof(struct mortise_plugin, member)
static const struct duration_setting durations[] = {
	{ "stop", "bye", AT(stop.bye_ms) },           { "stop", "term", AT(stop.term_ms) },
	{ "stop", "kill", AT(stop.kill_ms) },         { "restart", "first", AT(restart.first_ms) },
	{ "restart", "cap", AT(restart.cap_ms) },     { "restart", "period", AT(restart.period_ms) },
	{ "health", "every", AT(health.every_ms) },   { "limits", "session", AT(keep.total_ms) },
};

static int read_durations(mortise_plugin *plugin, mortise_error *err)
{
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		uint32_t *field = (uint32_t *)((char *)plugin + durations[i].offset);
		int r = mor_manifest_duration(plugin->manifest, durations[i].section, durations[i].key, field, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static int read_limits(mortise_plugin *plugin, mortise_error *err)
{
	struct mor_link_options *link = &plugin->link_options;
	uint32_t in_flight = plugin->max_in_flight, depth = link->max_depth, pad = 0;
	struct mor_manifest *m = plugin->manifest;
	int r;

	if ((r = mor_manifest_bytes(m, "limits", "frame", &link->frame_limit, err)) < 0 ||
	    (r = mor_manifest_bytes(m, "limits", "send", &link->send_limit, err)) < 0 ||
	    (r = mor_manifest_bytes(m, "limits", "queue", &link->queue_limit, err)) < 0 ||
	    (r = mor_manifest_uint(m, "quirks", "pipeline", &in_flight, err)) < 0 ||
	    (r = mor_manifest_uint(m, "limits", "in_flight", &in_flight, err)) < 0 ||
	    (r = mor_manifest_uint(m, "limits", "depth", &depth, err)) < 0 ||
	    (r = mor_manifest_uint(m, "restart", "intensity", &plugin->restart.intensity, err)) < 0 ||
	    (r = mor_manifest_uint(m, "restart", "clean", &plugin->restart.clean, err)) < 0 ||
	    (r = mor_manifest_uint(m, "quirks", "frame_pad", &pad, err)) < 0)
		return r;
	if (plugin->restart.intensity > MOR_DEATHS)
		return mor_fail(err, MORTISE_EMANIFEST, "restart.intensity: at most %d", MOR_DEATHS);
	if (depth > 1024)
		return mor_fail(err, MORTISE_EMANIFEST, "limits.depth: at most 1024");
	plugin->max_in_flight = in_flight;
	link->max_depth = depth;
	link->frame_pad = pad;
	return 0;
}

static int read_timeouts(mortise_plugin *plugin, mortise_error *err)
{
	size_t count = 0;

	MOR_LIST_EACH(node, after, &plugin->manifest->settings)
		count += strcmp(mor_container_of(node, struct mor_setting, node)->section, "timeouts") == 0;
	if (!count)
		return 0;
	plugin->timeouts = mor_zalloc(count * sizeof(*plugin->timeouts));
	if (!plugin->timeouts)
		return mor_fail(err, MORTISE_ENOMEM, "out of memory");
	MOR_LIST_EACH(node, after, &plugin->manifest->settings) {
		const struct mor_setting *setting = mor_container_of(node, struct mor_setting, node);
		struct mor_timeout *timeout = &plugin->timeouts[plugin->timeout_count];
		int r;

		if (strcmp(setting->section, "timeouts") != 0)
			continue;
		r = mor_manifest_duration(plugin->manifest, "timeouts", setting->key, &timeout->ms, err);
		if (r < 0)
			return r;
		timeout->method = mor_strdup(setting->key);
		if (!timeout->method)
			return mor_fail(err, MORTISE_ENOMEM, "out of memory");
		plugin->timeout_count++;
	}
	return 0;
}

static unsigned envelope_flags(const mortise_plugin *plugin)
{
	unsigned wire = plugin->dialect->wire, flags = 0;

	if (wire & MOR_WIRE_NAN_OK)
		flags |= MOR_ENV_NAN;
	if (plugin->flags & MORTISE_STRICT)
		return flags;
	if (wire & MOR_WIRE_JSONRPC_OPTIONAL)
		flags |= MOR_ENV_JSONRPC_OPTIONAL;
	if (wire & MOR_WIRE_ERROR_NULL_OK)
		flags |= MOR_ENV_ERROR_NULL_OK;
	return flags;
}

static int read_framing(mortise_plugin *plugin, mortise_error *err)
{
	const char *name = plugin->manifest->framing;
	int framing = plugin->dialect->framing;

	if (name)
		framing = mor_framing_by_name(name);
	if (framing < 0)
		return mor_fail(err, MORTISE_EMANIFEST, "plugin.framing is \"%s\": use lines, decimal, be32 or headers", name);
	plugin->link_options.framing = (enum mor_framing)framing;
	return 0;
}

/* Unknown quirks are refused by name: a misspelt one would silently do nothing. */
static int check_quirks(mortise_plugin *plugin, mortise_error *err)
{
	MOR_LIST_EACH(node, after, &plugin->manifest->settings) {
		const struct mor_setting *setting = mor_container_of(node, struct mor_setting, node);
		const struct mor_quirk *quirk = plugin->dialect->quirks;

		if (strcmp(setting->section, "quirks") != 0 || strcmp(setting->key, "frame_pad") == 0)
			continue;
		while (quirk && quirk->name && strcmp(quirk->name, setting->key) != 0)
			quirk++;
		if (!quirk || !quirk->name)
			return mor_fail(err, MORTISE_EMANIFEST, "%s: unknown quirk \"%s\" (mortise explain %s lists them)",
					setting->origin, setting->key, plugin->dialect->name);
		const char *value = plugin->session.quirk(&plugin->session, setting->key);

		if (quirk->one_of && !mor_text_in(mor_slice_of(value ? value : ""), quirk->one_of))
			return mor_fail(err, MORTISE_EMANIFEST, "%s: quirk \"%s\" must be one of %s", setting->origin,
					quirk->name, quirk->one_of);
	}
	return 0;
}

static bool quirk_is_set(mortise_plugin *plugin, const char *name)
{
	const char *value = plugin->session.quirk(&plugin->session, name);

	return value && strcmp(value, "true") == 0;
}

/* A quirk that the core obeys: how much silence it takes. */
static void read_watchdog(mortise_plugin *plugin)
{
	const char *word = plugin->session.quirk(&plugin->session, "watchdog");

	plugin->health.flags = plugin->dialect->health.flags;
	if (word && strcmp(word, "strict") == 0)
		plugin->health.flags &= ~(unsigned)MOR_HEALTH_LEARN;
	if (word && strcmp(word, "off") == 0)
		plugin->health.flags = 0;
}

int mor_plugin_read_settings(mortise_plugin *plugin, mortise_error *err)
{
	const struct mor_dialect *dialect = plugin->dialect;
	bool restart = true;
	int r;

	plugin->stop = dialect->stop;
	plugin->restart = dialect->restart;
	plugin->health.every_ms = dialect->health.every_ms;
	plugin->keep.total_ms = dialect->session_ms;
	plugin->max_in_flight = dialect->max_in_flight;
	plugin->link_options.frame_limit = dialect->frame_limit;
	plugin->link_options.send_limit = dialect->send_limit;
	plugin->link_options.queue_limit = dialect->queue_limit;
	plugin->link_options.reads = dialect->reads;
	if (dialect->reads && dialect->shape == MOR_SHAPE_ONE_CALL)
		plugin->link_options.deframe_flags |= MOR_DEFRAME_EOF_ENDS;
	plugin->link_options.envelope_flags = envelope_flags(plugin);
	if (dialect->wire & MOR_WIRE_NOISE_IS_BREACH)
		plugin->link_options.deframe_flags |= MOR_DEFRAME_STRICT;
	if (quirk_is_set(plugin, "leading_zeros"))
		plugin->link_options.deframe_flags |= MOR_DEFRAME_LEADING_ZEROS;
	plugin->link_options.every_fault = dialect->wire & MOR_WIRE_ANSWER_FAULTS;
	plugin->link_options.ordered = dialect->wire & MOR_WIRE_ANY_REF;
	plugin->restart_ms = -1;
	if ((r = read_framing(plugin, err)) < 0 || (r = read_durations(plugin, err)) < 0 ||
	    (r = read_limits(plugin, err)) < 0 || (r = read_timeouts(plugin, err)) < 0 ||
	    (r = check_quirks(plugin, err)) < 0 ||
	    (r = mor_manifest_bool(plugin->manifest, "restart", "enabled", &restart, err)) < 0)
		return r;
	if (!restart)
		plugin->flags |= MORTISE_NO_RESTART;
	read_watchdog(plugin);
	return mor_rows_choose(plugin, err);
}

uint32_t mor_plugin_timeout(const mortise_plugin *plugin, const struct mor_method *row, const char *method)
{
	for (size_t i = plugin->timeout_count; i-- > 0;) {
		const struct mor_timeout *timeout = &plugin->timeouts[i];

		if (strcmp(timeout->method, method) == 0 || (row->role == MOR_ROLE_CALL && strcmp(timeout->method, "*") == 0))
			return timeout->ms;
	}
	return row->timeout_ms;
}
