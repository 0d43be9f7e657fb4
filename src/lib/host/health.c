/* SPDX-License-Identifier: Apache-2.0 */
/* When a ping is sent, and what its answer, or silence, means. See health.h. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "host/embedder.h"
#include "host/health.h"
#include "host/settings.h"
#include "host/supervise.h"
#include "host/template.h"

#define REASON_MAX 255
#define MOMENT_MS  20 /* more than a tick of any clock, and what a busy loop is late */
#define TICKS      50 /* in an interval: the times at which pings are sent */

static void on_health_timer(struct mor_timer *timer);

static const struct mor_method *ping_row(const mortise_plugin *plugin)
{
	return plugin->now.health.unimplemented ?
		       NULL :
		       mor_dialect_role(plugin->peer.dialect, MOR_FROM_HOST, MOR_ROLE_PING, NULL);
}

static bool is_wanted(const mortise_plugin *plugin, unsigned flag)
{
	return plugin->now.health.asks & flag;
}

/* Something is running; pings that take no slot do not count. */
static bool is_busy(const mortise_plugin *plugin)
{
	return plugin->calls.in_flight || !mor_list_empty(&plugin->calls.queue);
}

/* The call that the plugin works on: it can have read this call by now. NULL: none. */
static const mortise_call *running(const mortise_plugin *plugin)
{
	MOR_LIST_EACH(node, after, &plugin->calls.flight) {
		const mortise_call *call = mor_container_of(node, mortise_call, node);

		if (call->purpose == MOR_FOR_USER && call->state == MOR_CALL_SENT)
			return call;
	}
	return NULL;
}

static bool is_running(const mortise_plugin *plugin, int64_t id)
{
	const mortise_call *call = id ? mor_call_table_find(&plugin->calls.table, id) : NULL;

	return call && call->state == MOR_CALL_SENT;
}

/* True: this is new. */
static bool set_mark(mortise_plugin *plugin, int healthy, const char *status, const char *reason)
{
	struct mor_health_state *health = &plugin->now.health;
	bool changed = health->healthy != healthy;

	health->healthy = healthy;
	snprintf(health->status, sizeof(health->status), "%.31s", status);
	mor_kept_set(&health->reason, reason, REASON_MAX);
	if (changed)
		health->since_ms = mor_loop_now_ms(plugin->host->loop);
	return changed && healthy >= 0;
}

/* `method`: the method whose answer says so; NULL: we say it. */
static void tell_health(mortise_plugin *plugin, const char *reason, const char *method)
{
	mortise_event event = { .type = MORTISE_EVENT_HEALTH,
				.text = reason,
				.health = { method, plugin->now.health.healthy == 1 } };

	mor_event_full(plugin, &event);
}

static void mark_health(mortise_plugin *plugin, int healthy, const char *status, const char *reason,
			const char *method)
{
	if (set_mark(plugin, healthy, status, reason))
		tell_health(plugin, reason, method);
}

static bool send_ping(mortise_plugin *plugin)
{
	const struct mor_method *row = ping_row(plugin);
	const mortise_call *beside = running(plugin);
	MOR_CLEAN(mor_buf) struct mor_buf params = MOR_BUF_INIT;
	mortise_error error;

	if (!row || plugin->life.health.pinging || plugin->now.state != MORTISE_READY)
		return false;
	/* A plugin that does not answer while it works finds one ping afterwards, not many. */
	if (is_wanted(plugin, MOR_ASK_LEARN) && beside && plugin->life.health.owed &&
	    !plugin->life.health.learned)
		return false;
	if (row->template && mor_template_fill(plugin, row->template, NULL, &params) < 0)
		return false;
	plugin->life.health.asked = true;
	plugin->life.health.during = beside ? beside->id : 0;
	plugin->life.health.pinging =
		mor_call_internal(plugin, row, MOR_FOR_PING,
				  params.len ? mor_buf_view(&params) : (struct mor_slice){ 0 }, &error) == 0;
	return plugin->life.health.pinging;
}

static bool wants_pings(const mortise_plugin *plugin)
{
	return plugin->now.health.every_ms && ping_row(plugin) &&
	       is_wanted(plugin, MOR_ASK_IDLE | MOR_ASK_BUSY);
}

/* The first ping is due at a time that many plugins share, so that one wake-up serves them all: a fiftieth of
 * the interval early at most. The later ones keep their distance from it. */
static void set_first_ping(mortise_plugin *plugin)
{
	uint32_t every_ms = plugin->now.health.every_ms, step = every_ms / TICKS ? every_ms / TICKS : 1;
	int64_t due = mor_loop_now_ms(plugin->host->loop) + every_ms;

	/* its place is reserved */
	(void)mor_timer_set_at(plugin->host->loop, &plugin->now.health.timer, due - due % step,
			       on_health_timer);
}

/* Intervals that have passed meanwhile are left out. */
static void set_next_ping(mortise_plugin *plugin)
{
	struct mor_timer *timer = &plugin->now.health.timer;
	int64_t late = mor_loop_now_ms(plugin->host->loop) - timer->due_ms,
		every_ms = plugin->now.health.every_ms;

	(void)mor_timer_set_at(plugin->host->loop, timer, timer->due_ms + (late / every_ms + 1) * every_ms,
			       on_health_timer);
}

static void ask_in_turn(mortise_plugin *plugin)
{
	if (is_busy(plugin) ? is_wanted(plugin, MOR_ASK_BUSY) : is_wanted(plugin, MOR_ASK_IDLE))
		send_ping(plugin);
}

/* Where the time limit of a ping is a number of whole intervals, the next one is due a moment before the last
 * one is given up. Without this it would be a whole interval late. */
static void ask_if_skipped(mortise_plugin *plugin)
{
	int64_t skipped = plugin->life.health.skipped_ms, now = mor_loop_now_ms(plugin->host->loop);

	if (skipped && now - skipped <= MOMENT_MS && !plugin->gone && plugin->now.state == MORTISE_READY)
		ask_in_turn(plugin);
}

static void on_health_timer(struct mor_timer *timer)
{
	mortise_plugin *plugin = mor_container_of(timer, mortise_plugin, now.health.timer);

	MOR_HOLD(plugin);
	if (plugin->life.health.pinging)
		plugin->life.health.skipped_ms = mor_loop_now_ms(plugin->host->loop);
	ask_in_turn(plugin);
	if (plugin->now.state == MORTISE_READY && wants_pings(plugin))
		set_next_ping(plugin);
}

void mor_health_started(mortise_plugin *plugin)
{
	mark_health(plugin, -1, "", "", NULL);
	mor_timer_stop(&plugin->now.health.timer);
	if (wants_pings(plugin))
		set_first_ping(plugin);
}

bool mor_health_ended(mortise_plugin *plugin, const char *why)
{
	mor_timer_stop(&plugin->now.health.timer);
	return why && set_mark(plugin, 0, "error", why);
}

void mor_health_tell_ended(mortise_plugin *plugin, const char *why)
{
	tell_health(plugin, why, NULL);
}

bool mor_health_first(mortise_plugin *plugin, const struct mor_method *next)
{
	struct mor_health_life *health = &plugin->life.health;

	if (health->holding)
		return true;
	if (health->asked || !is_wanted(plugin, MOR_ASK_FIRST) || next->role != MOR_ROLE_CALL || !next->needs)
		return false;
	health->holding = send_ping(plugin);
	return health->holding;
}

void mor_health_after_timeout(mortise_plugin *plugin)
{
	if (is_wanted(plugin, MOR_ASK_AFTER_TIMEOUT) && plugin->now.state == MORTISE_READY &&
	    !plugin->calls.in_flight)
		plugin->life.health.holding = send_ping(plugin);
}

/* ---- verdicts ---- */

/* A word that is neither good nor bad causes a warning when it is new, not at every ping. */
static void judge_pong(mortise_plugin *plugin, const struct mor_method *row, struct mor_slice result)
{
	const struct mor_health *rule = plugin->peer.dialect->health;
	struct mor_doc *doc = NULL;
	struct mor_slice status;
	char word[32], more[160], reason[256], text[272];
	bool news;

	if (!rule || !rule->at || mor_doc_parse(result, MOR_JSON_NAN, 0, &doc, NULL) < 0) {
		mark_health(plugin, 1, "ok", "answered", NULL);
		return;
	}
	status = mor_json_string(mor_json_at(mor_doc_root(doc), rule->at));
	mor_excerpt(status, word, sizeof(word));
	news = strcmp(word, plugin->now.health.status) != 0;
	/* The word itself, and the whole answer if it says more: plugins put the reason there. */
	if (mor_json_size(mor_doc_root(doc)) > 1)
		snprintf(reason, sizeof(reason), "the plugin says \"%s\": %s", word,
			 mor_printable(result, more, sizeof(more)));
	else
		snprintf(reason, sizeof(reason), "the plugin says \"%s\"", word);
	news = news && !mor_text_in(status, rule->good) && !mor_text_in(status, rule->bad);
	mark_health(plugin, !mor_text_in(status, rule->bad), word, reason, row->name);
	mor_doc_free(doc);
	snprintf(text, sizeof(text), "health: %s", reason);
	if (news)
		mor_event_full(plugin, &(mortise_event){ .type = MORTISE_EVENT_WARNING,
							 .text = text,
							 .warning = { .health_method = row->name } });
}

/* Pings that were given up: a late answer is reported as dropped. */
static void forget_late(mortise_plugin *plugin)
{
	MOR_LIST_EACH(node, after, &plugin->calls.flight) {
		mortise_call *call = mor_container_of(node, mortise_call, node);

		if (call->state == MOR_CALL_LATE && call->no_slot)
			mor_health_late(call);
	}
}

/* Is silence a fault? Not beside a call, unless this plugin has shown that it can do two things at once. */
static bool is_excused(mortise_plugin *plugin, const mortise_call *ping)
{
	if (!is_wanted(plugin, MOR_ASK_LEARN))
		return false;
	return plugin->life.last_sign_ms > ping->sent_ms || (is_busy(plugin) && !plugin->life.health.learned);
}

/* The reader wants to know why, and how to prevent it. */
static void explain_kill(const mortise_plugin *plugin, mortise_error *error)
{
	const struct mor_quirk *quirk = mor_dialect_quirk(plugin->peer.dialect, MOR_QUIRK_WATCHDOG);
	const mortise_call *call = running(plugin);
	char beside[160] = "", hint[96] = "";

	if (call)
		snprintf(beside, sizeof(beside), " while \"%.64s\" ran%s", call->name,
			 plugin->life.health.learned ? ", although it has answered pings during a call before" :
						       "");
	if (quirk)
		snprintf(hint, sizeof(hint), " (quirks.%s = \"off\" leaves it alone)", quirk->name);
	mor_fail(error, MORTISE_ETIMEOUT,
		 "%s: killed as frozen: %u pings in a row were not answered within %u ms each%s%s",
		 plugin->peer.name, plugin->life.health.misses,
		 mor_plugin_timeout(plugin, ping_row(plugin), ping_row(plugin)->name), beside, hint);
	error->rpc_code = mor_dialect_code_for(plugin->peer.dialect, MORTISE_ETIMEOUT, error->rpc_code);
}

static void ping_missed(mortise_plugin *plugin, const mortise_call *ping, const mortise_error *why)
{
	unsigned most = plugin->peer.dialect->watchdog ? plugin->peer.dialect->watchdog->misses : 1;
	mortise_error error;

	plugin->life.health.owed = true;
	if (is_excused(plugin, ping))
		return;
	plugin->life.health.misses++;
	mark_health(plugin, 0, "silent", why->text, NULL);
	if (plugin->life.health.misses > most)
		forget_late(plugin); /* nobody kills it, so pings must not pile up */
	if (!is_wanted(plugin, MOR_ASK_KILL) || plugin->life.health.misses < most)
		return;
	explain_kill(plugin, &error);
	mor_event(plugin, MORTISE_EVENT_WARNING, error.text);
	mor_supervise_breach(plugin, &error, MOR_RUNG_KILL);
}

void mor_health_late(mortise_call *call)
{
	mortise_plugin *plugin = call->plugin;

	plugin->life.health.owed = false;
	mor_call_unlink(call);
	mor_call_recycle(plugin->host, call);
}

void mor_health_heard(mortise_plugin *plugin)
{
	if (is_wanted(plugin, MOR_ASK_LEARN))
		plugin->life.health.misses = 0;
}

void mor_health_answered(mortise_call *call, const struct mor_verdict *verdict)
{
	mortise_plugin *plugin = call->plugin;

	plugin->life.health.pinging = plugin->life.health.holding = false;
	if (plugin->gone || plugin->now.state != MORTISE_READY)
		return;
	if (verdict->status == 0) {
		plugin->life.health.misses = 0;
		forget_late(plugin); /* it has answered a later one */
		plugin->life.health.owed = false;
		plugin->life.health.learned |= is_running(plugin, plugin->life.health.during);
		judge_pong(plugin, call->method, verdict->result);
	} else if (verdict->status == MORTISE_EREMOTE && verdict->error->rpc_code == -32601) {
		plugin->now.health.unimplemented = true;
		mark_health(plugin, -1, "", "the plugin does not implement a health check", NULL);
		if (plugin->peer.strict)
			mor_event_printf(plugin, MORTISE_EVENT_WARNING,
					 "\"%s\" is not implemented, and the specification requires it",
					 call->method->name);
	} else if (verdict->status == MORTISE_ETIMEOUT) {
		ping_missed(plugin, call, verdict->error);
		ask_if_skipped(plugin);
	} else {
		mark_health(plugin, 0, "error", verdict->error->text, NULL);
	}
}
