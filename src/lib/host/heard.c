/* SPDX-License-Identifier: Apache-2.0 */
#include "host/heard.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "host/plugin.h"
#include "wire/framing.h"

const struct mor_heard *mor_heard_of(const mortise_plugin *plugin)
{
	static const struct mor_heard nothing;

	return plugin->life.heard ? plugin->life.heard : &nothing;
}

/* NULL: out of memory. */
static struct mor_heard *open_heard(mortise_plugin *plugin)
{
	if (!plugin->life.heard)
		plugin->life.heard = mor_zalloc(sizeof(*plugin->life.heard));
	return plugin->life.heard;
}

void mor_heard_stderr(mortise_plugin *plugin, struct mor_slice line)
{
	struct mor_heard *heard = line.len ? open_heard(plugin) : NULL;

	if (heard)
		mor_excerpt(line, heard->last_stderr, sizeof(heard->last_stderr));
}

void mor_heard_last_stderr(mortise_plugin *plugin, const char *line)
{
	struct mor_heard *heard = open_heard(plugin);

	if (heard)
		mor_text_keep(heard->last_stderr, sizeof(heard->last_stderr), line, strlen(line));
}

void mor_heard_stray(mortise_plugin *plugin, struct mor_slice line)
{
	struct mor_heard *heard = open_heard(plugin);
	int framing = mor_framing_guess(line);

	if (!heard)
		return;
	heard->stray_lines++;
	heard->stray_ms = mor_loop_now_ms(plugin->host->loop);
	mor_excerpt(line, heard->last_stray, sizeof(heard->last_stray));
	mor_text_keep(heard->stray_start, sizeof(heard->stray_start), line.ptr, line.len);
	if (framing >= 0)
		heard->framing = (unsigned char)(1 + framing);
}

void mor_heard_odd_id(mortise_plugin *plugin, struct mor_slice id)
{
	struct mor_heard *heard = open_heard(plugin);

	if (!heard)
		return;
	heard->odd_ms = mor_loop_now_ms(plugin->host->loop);
	mor_printable(id, heard->odd_id, sizeof(heard->odd_id));
}

void mor_heard_odd_method(mortise_plugin *plugin, struct mor_slice method)
{
	struct mor_heard *heard = open_heard(plugin);

	if (!heard)
		return;
	heard->method_ms = mor_loop_now_ms(plugin->host->loop);
	mor_excerpt(method, heard->odd_method, sizeof(heard->odd_method));
}

/* A peer may ask what we ask, even under the same number; so this alone says nothing yet (answer.c). */
void mor_heard_request(mortise_plugin *plugin, const struct mor_message *message)
{
	mortise_call *call =
		message->id_int > 0 ? mor_call_table_find(&plugin->calls.table, message->id_int) : NULL;

	if (call && mor_slice_is(message->method, call->name))
		plugin->life.echoed = call->id;
}
