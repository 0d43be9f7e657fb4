/*
 * Health: pings by the dialect's rules, and what their answers mean. Being unhealthy is a mark with a
 * reason and a time; whether it also kills is the dialect's business.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "host/host.h"

static void on_timer(struct mor_timer *timer);

static const struct mor_method *ping_row(const mortise_plugin *plugin)
{
	return plugin->health.unimplemented ? NULL : mor_dialect_role(plugin->dialect, MOR_ROLE_PING, NULL);
}

static bool wants(const mortise_plugin *plugin, unsigned flag)
{
	return plugin->dialect->health.flags & flag;
}

void mor_health_mark(mortise_plugin *plugin, int healthy, const char *status, const char *reason)
{
	struct mor_health_state *health = &plugin->health;
	bool changed = health->healthy != healthy;
	mortise_event event = { .type = MORTISE_EVENT_HEALTH, .text = reason, .count = healthy == 1 };

	health->healthy = healthy;
	snprintf(health->status, sizeof(health->status), "%.31s", status);
	snprintf(health->reason, sizeof(health->reason), "%.255s", reason);
	if (changed)
		health->since_ms = mor_loop_now_ms(plugin->host->loop);
	if (changed && healthy >= 0)
		mor_event_full(plugin, &event);
}

static bool ping(mortise_plugin *plugin)
{
	const struct mor_method *row = ping_row(plugin);
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	mortise_error error;

	if (!row || plugin->health.pinging || plugin->state != MORTISE_READY)
		return false;
	if (row->template && mor_template_fill(plugin, row->template, NULL, &params) < 0)
		return false;
	plugin->health.asked = true;
	plugin->health.pinging = mor_call_internal(plugin, row, MOR_FOR_PING,
						   params.len ? mor_buf_view(&params) : (struct mor_slice){ 0 }, &error) == 0;
	return plugin->health.pinging;
}

static void rearm(mortise_plugin *plugin)
{
	if (plugin->state == MORTISE_READY && plugin->health.every_ms && ping_row(plugin) && wants(plugin, MOR_HEALTH_IDLE | MOR_HEALTH_BUSY))
		mor_timer_set(plugin->host->loop, &plugin->health.timer, plugin->health.every_ms, on_timer);
}

static void on_timer(struct mor_timer *timer)
{
	mortise_plugin *plugin = mor_container_of(timer, mortise_plugin, health.timer);
	bool busy = plugin->in_flight || !mor_list_empty(&plugin->queue);

	MOR_HOLD(plugin);
	if (busy ? wants(plugin, MOR_HEALTH_BUSY) : wants(plugin, MOR_HEALTH_IDLE))
		ping(plugin);
	rearm(plugin);
}

void mor_health_started(mortise_plugin *plugin)
{
	plugin->health.asked = plugin->health.pinging = plugin->health.holding = false;
	plugin->health.misses = 0;
	mor_health_mark(plugin, -1, "", "");
	mor_timer_stop(&plugin->health.timer);
	if (plugin->health.every_ms && ping_row(plugin) && wants(plugin, MOR_HEALTH_IDLE | MOR_HEALTH_BUSY))
		mor_timer_set(plugin->host->loop, &plugin->health.timer, plugin->health.every_ms, on_timer);
}

void mor_health_ended(mortise_plugin *plugin, const char *why)
{
	mor_timer_stop(&plugin->health.timer);
	plugin->health.pinging = plugin->health.holding = false;
	if (why)
		mor_health_mark(plugin, 0, "error", why);
}

bool mor_health_first(mortise_plugin *plugin, const struct mor_method *next)
{
	struct mor_health_state *health = &plugin->health;

	if (health->holding)
		return true;
	if (health->asked || !wants(plugin, MOR_HEALTH_FIRST) || next->role != MOR_ROLE_CALL || !next->needs)
		return false;
	health->holding = ping(plugin);
	return health->holding;
}

void mor_health_after_timeout(mortise_plugin *plugin)
{
	if (wants(plugin, MOR_HEALTH_LATE) && plugin->state == MORTISE_READY && !plugin->in_flight)
		plugin->health.holding = ping(plugin);
}

/* ---- verdicts ---- */

static void judge(mortise_plugin *plugin, struct mor_slice result)
{
	const struct mor_health *rule = &plugin->dialect->health;
	struct mor_doc *doc = NULL;
	struct mor_slice status;
	char text[32], reason[96];

	if (!rule->at || mor_doc_parse(result, MOR_JSON_NAN, 0, &doc, NULL) < 0) {
		mor_health_mark(plugin, 1, "ok", "answered");
		return;
	}
	status = mor_json_string(mor_json_at(mor_doc_root(doc), rule->at));
	mor_excerpt(status, text, sizeof(text));
	snprintf(reason, sizeof(reason), "the plugin says \"%s\"", text);
	mor_health_mark(plugin, !mor_text_in(status, rule->bad), text, reason);
	if (!mor_text_in(status, rule->good) && !mor_text_in(status, rule->bad))
		mor_event_printf(plugin, MORTISE_EVENT_WARNING, "health: %s", reason);
	mor_doc_free(doc);
}

static void missed(mortise_plugin *plugin, const mortise_error *why)
{
	mortise_error error;

	plugin->health.misses++;
	mor_health_mark(plugin, 0, "silent", why->text);
	if (!wants(plugin, MOR_HEALTH_KILL) || plugin->health.misses < plugin->dialect->health.misses)
		return;
	mor_fail(&error, MORTISE_ETIMEOUT, "%s: killed: %u pings in a row were not answered", plugin->session.name, plugin->health.misses);
	mor_supervise_breach(plugin, &error, MOR_RUNG_KILL);
}

void mor_health_answered(mortise_call *call, const struct mor_verdict *verdict)
{
	mortise_plugin *plugin = call->plugin;

	plugin->health.pinging = plugin->health.holding = false;
	if (plugin->gone || plugin->state != MORTISE_READY)
		return;
	if (verdict->status == 0) {
		plugin->health.misses = 0;
		judge(plugin, verdict->result);
	} else if (verdict->status == MORTISE_EREMOTE && verdict->error->rpc_code == -32601) {
		plugin->health.unimplemented = true;
		mor_health_mark(plugin, -1, "", "the plugin does not implement a health check");
	} else if (verdict->status == MORTISE_ETIMEOUT) {
		missed(plugin, verdict->error);
	} else {
		mor_health_mark(plugin, 0, "error", verdict->error->text);
	}
}
