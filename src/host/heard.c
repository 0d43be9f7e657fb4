/* SPDX-License-Identifier: Apache-2.0 */
#include "host/heard.h"

#include "base/text.h"
#include "host/call.h"
#include "host/host.h"
#include "host/plugin.h"
#include "wire/framing.h"

void mor_heard_stderr(mortise_plugin *plugin, struct mor_slice line)
{
	struct mor_heard *heard = &plugin->life.heard;

	if (line.len)
		mor_excerpt(line, heard->last_stderr, sizeof(heard->last_stderr));
}

void mor_heard_stray(mortise_plugin *plugin, struct mor_slice line)
{
	struct mor_heard *heard = &plugin->life.heard;
	int framing = mor_framing_guess(line);

	heard->stray_lines++;
	heard->stray_ms = mor_loop_now_ms(plugin->host->loop);
	mor_excerpt(line, heard->last_stray, sizeof(heard->last_stray));
	mor_text_keep(heard->stray_start, sizeof(heard->stray_start), line.ptr, line.len);
	if (framing >= 0)
		heard->framing = (unsigned char)(1 + framing);
}

void mor_heard_odd_id(mortise_plugin *plugin, struct mor_slice id)
{
	struct mor_heard *heard = &plugin->life.heard;

	heard->odd_ms = mor_loop_now_ms(plugin->host->loop);
	mor_printable(id, heard->odd_id, sizeof(heard->odd_id));
}

void mor_heard_odd_method(mortise_plugin *plugin, struct mor_slice method)
{
	struct mor_heard *heard = &plugin->life.heard;

	heard->method_ms = mor_loop_now_ms(plugin->host->loop);
	mor_excerpt(method, heard->odd_method, sizeof(heard->odd_method));
}

/* A peer may ask what we ask, even under the same number; so this alone says nothing yet (answer.c). */
void mor_heard_request(mortise_plugin *plugin, const struct mor_message *message)
{
	mortise_call *call = message->id_int > 0 ? mor_call_table_find(&plugin->table, message->id_int) : NULL;

	if (call && mor_slice_is(message->method, call->name))
		plugin->life.heard.echoed = call->id;
}
