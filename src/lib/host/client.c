/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins that call and are served. Everything here follows from fields of the dialect (serve, roles TAKE and
 * FINISH, restart.clean); dialect.h says what each of them means. See client.h.
 */
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "host/client.h"
#include "host/diagnosis.h"
#include "host/embedder.h"
#include "host/request.h"
#include "host/settings.h"
#include "host/supervise.h"

/* Sends the error if the message has an id, then ends the session. */
__attribute__((format(printf, 4, 5))) static void breach(mortise_plugin *plugin,
							 const struct mor_message *message,
							 struct mor_batch *batch, const char *format, ...)
{
	char text[256];
	mortise_error error;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	mor_fail(&error, MORTISE_EPROTO, "%s", text);
	error.rpc_code = mor_dialect_code_for(plugin->peer.dialect, MORTISE_EPROTO, error.rpc_code);
	mor_request_error(plugin, message, batch, &error);
}

/* ---- its greeting ---- */

static void on_silence(struct mor_timer *timer)
{
	mortise_plugin *plugin = mor_container_of(timer, mortise_plugin, ends.hello_timer);
	const struct mor_method *row =
		mor_dialect_role(plugin->peer.dialect, MOR_FROM_PLUGIN, MOR_ROLE_HELLO, NULL);
	uint32_t ms = mor_plugin_timeout(plugin, row, row->name);
	mortise_error error;
	char limit[32], who[MOR_WHO_SETS_SIZE];
	struct mor_diagnosis why;

	MOR_HOLD(plugin);
	if (plugin->now.state != MORTISE_GREETING)
		return;
	plugin->now.counters.timeouts++;
	mor_diagnosis_silence(plugin, NULL, &why);
	mor_fail(&error, MORTISE_ETIMEOUT, "%s: no \"%s\" within %s of its start%s%s%s%s", plugin->peer.name,
		 row->name, mor_format_ms(ms, limit), why.certain ? "" : " (",
		 why.certain ? "" : mor_who_sets_timeout(plugin, row, row->name, false, who),
		 why.certain ? "" : ")", why.text);
	mor_supervise_refused(plugin, &(struct mor_verdict){ .status = error.code, .error = &error }, true);
}

void mor_client_await_hello(mortise_plugin *plugin)
{
	const struct mor_method *row =
		mor_dialect_role(plugin->peer.dialect, MOR_FROM_PLUGIN, MOR_ROLE_HELLO, NULL);
	uint32_t ms = row ? mor_plugin_timeout(plugin, row, row->name) : 0;

	if (ms)
		mor_plugin_set_timer(plugin, &plugin->ends.hello_timer, ms, on_silence);
}

bool mor_client_admits(mortise_plugin *plugin, const struct mor_method *row, const struct mor_message *message,
		       struct mor_batch *batch)
{
	bool hello = row && row->role == MOR_ROLE_HELLO;
	char name[64];

	if (!plugin->peer.dialect->serve)
		return true;
	mor_excerpt(message->method, name, sizeof(name));
	if (hello && message->kind == MOR_MSG_NOTE)
		breach(plugin, message, batch, "\"%s\" without an id, so it cannot be answered", name);
	else if (hello && plugin->life.was_ready)
		breach(plugin, message, batch, "\"%s\" for the second time", name);
	else if (!hello && !plugin->life.was_ready)
		breach(plugin, message, batch, "\"%s\" before \"%s\"", name,
		       mor_dialect_role(plugin->peer.dialect, MOR_FROM_PLUGIN, MOR_ROLE_HELLO, NULL)->name);
	else
		return true;
	return false;
}

void mor_client_greeted(mortise_plugin *plugin, const struct mor_method *row, struct mor_slice answer)
{
	mortise_event event = { .type = MORTISE_EVENT_NOTE, .note = { row->name, { answer.ptr, answer.len } } };

	mor_timer_stop(&plugin->ends.hello_timer);
	mor_doc_free(plugin->life.hello);
	plugin->life.hello = NULL;
	/* Without memory, describe will not show it. There is no other harm. */
	(void)mor_doc_parse(answer, 0, 0, &plugin->life.hello, NULL);
	plugin->peer.hello = plugin->life.hello ? mor_doc_root(plugin->life.hello) : NULL;
	mor_event_full(plugin, &event);
	if (plugin->now.state == MORTISE_GREETING && plugin->life.link)
		mor_supervise_ready(plugin);
}

/* ---- one at a time ---- */

static bool takes_work(const struct mor_method *row)
{
	return row && row->role == MOR_ROLE_TAKE;
}

bool mor_client_has_place(mortise_plugin *plugin, const struct mor_method *row,
			  const struct mor_message *message, struct mor_batch *batch)
{
	if (!takes_work(row) || !plugin->life.work.row)
		return true;
	breach(plugin, message, batch, "\"%s\" while another one is %s", row->name,
	       plugin->life.work.handed_out ? "under way" : "waiting for its answer");
	return false;
}

void mor_client_asked(mortise_plugin *plugin, const struct mor_method *row)
{
	if (takes_work(row))
		plugin->life.work = (struct mor_work){ .row = row };
}

void mor_client_answered(mortise_plugin *plugin, const struct mor_method *row, bool success)
{
	if (!takes_work(row))
		return;
	plugin->life.work.handed_out = success;
	if (success && row->settle == MOR_BY_NOTE)
		return;
	plugin->life.work = (struct mor_work){ 0 };
	if (success)
		plugin->ends.clean_exits = 0;
}

bool mor_client_finished(mortise_plugin *plugin, const struct mor_message *message)
{
	char name[64];

	if (plugin->life.work.handed_out) {
		plugin->life.work = (struct mor_work){ 0 };
		plugin->ends.clean_exits = 0;
		return true;
	}
	mor_excerpt(message->method, name, sizeof(name));
	if (plugin->peer.strict)
		breach(plugin, message, NULL, "\"%s\" with nothing under way", name);
	else
		mor_event_printf(plugin, MORTISE_EVENT_WARNING, "\"%s\" with nothing under way: ignored", name);
	return false;
}

/* ---- ends ---- */

bool mor_client_left(const mortise_plugin *plugin, const struct mor_link_end *how)
{
	bool asked = plugin->now.state == MORTISE_DRAINING && plugin->life.drain != MOR_DRAIN_LEFT;

	return plugin->is.restart.clean && how->clean && !asked && !plugin->life.work.handed_out &&
	       !mor_kept_is_set(&plugin->life.truncated) && !plugin->calls.in_flight &&
	       mor_list_empty(&plugin->calls.queue);
}

enum mortise_state mor_client_after_leaving(mortise_plugin *plugin, mortise_error *failure)
{
	if (plugin->guarded.flags & MORTISE_NO_RESTART)
		return MORTISE_STOPPED;
	if (++plugin->ends.clean_exits >= plugin->is.restart.clean) {
		mor_fail(failure, MORTISE_ECLOSED,
			 "%s: ended by itself %u times in a row without finishing anything and is not started "
			 "again (restart.clean)",
			 plugin->peer.name, plugin->ends.clean_exits);
		return MORTISE_FAILED;
	}
	plugin->life.restart_ms = 0;
	return MORTISE_BACKOFF;
}

/* ---- faults ---- */

void mor_client_answer_fault(mortise_plugin *plugin, enum mor_fault fault, const char *text)
{
	bool json = fault == MOR_FAULT_NO_MESSAGE;

	mor_event_printf(plugin, MORTISE_EVENT_WARNING, "%s", text);
	if (!plugin->gone && plugin->life.link && plugin->life.rung < MOR_RUNG_INPUT)
		mor_request_refuse(plugin, MOR_SLICE("null"), NULL, json ? -32600 : -32700,
				   json ? "Invalid Request" : "Parse error");
}
