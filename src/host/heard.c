/* SPDX-License-Identifier: Apache-2.0 */
#include "host/heard.h"

#include <stdio.h>

#include "base/text.h"
#include "host/call.h"
#include "host/host.h"
#include "host/plugin.h"

void mor_heard_stderr(mortise_plugin *plugin, struct mor_slice line)
{
	struct mor_heard *heard = &plugin->life.heard;

	if (line.len)
		mor_excerpt(line, heard->last_stderr, sizeof(heard->last_stderr));
}

void mor_heard_stray(mortise_plugin *plugin, struct mor_slice line)
{
	struct mor_heard *heard = &plugin->life.heard;

	heard->stray_lines++;
	heard->stray_ms = mor_loop_now_ms(plugin->host->loop);
	mor_excerpt(line, heard->last_stray, sizeof(heard->last_stray));
}

void mor_heard_odd_id(mortise_plugin *plugin, struct mor_slice id)
{
	struct mor_heard *heard = &plugin->life.heard;

	heard->odd_ms = mor_loop_now_ms(plugin->host->loop);
	mor_printable(id, heard->odd_id, sizeof(heard->odd_id));
}

/* Only what came since the call was sent can have been meant as its answer. */
static bool may_answer(const mortise_call *call, int64_t came_ms)
{
	return call && came_ms >= call->sent_ms;
}

/* The last line of indented JSON is a single bracket: only the form helps there. */
static int say_stray(const mortise_plugin *plugin, char text[static MOR_HEARD_SIZE])
{
	const struct mor_heard *heard = &plugin->life.heard;
	bool one = heard->stray_lines == 1;

	return snprintf(text, MOR_HEARD_SIZE, "; it printed %llu line%s on stdout that %s%s; the last: \"%s\"",
			(unsigned long long)heard->stray_lines, one ? "" : "s",
			one ? "is not a message" : "are not messages",
			!one && plugin->link_options.framing == MOR_FRAMING_LINES ? " (one line of JSON each)" :
										    "",
			heard->last_stray);
}

const char *mor_heard_instead(const mortise_plugin *plugin, const mortise_call *call,
			      char text[static MOR_HEARD_SIZE])
{
	const struct mor_heard *heard = &plugin->life.heard;
	bool mute = !plugin->counters.bytes_in;
	int len = 0;

	text[0] = '\0';
	if (heard->odd_id[0] && may_answer(call, heard->odd_ms))
		len = snprintf(text, MOR_HEARD_SIZE, "; an answer with id %s came; the call has id %lld",
			       heard->odd_id, (long long)call->id);
	else if (heard->stray_lines && (mute || may_answer(call, heard->stray_ms)))
		len = say_stray(plugin, text);
	else if (mute)
		len = snprintf(text, MOR_HEARD_SIZE,
			       "; it has sent no message at all: does it speak %s (--dialect, --framing), and "
			       "flush its stdout?",
			       plugin->dialect->name);
	if (heard->last_stderr[0])
		snprintf(text + len, (size_t)(MOR_HEARD_SIZE - len), "; last stderr: \"%s\"",
			 heard->last_stderr);
	return text;
}

const char *mor_heard_last(const mortise_plugin *plugin, char text[static MOR_HEARD_SIZE])
{
	const struct mor_heard *heard = &plugin->life.heard;

	text[0] = '\0';
	if (heard->last_stderr[0])
		snprintf(text, MOR_HEARD_SIZE, "; last stderr: \"%s\"", heard->last_stderr);
	else if (heard->last_stray[0])
		snprintf(text, MOR_HEARD_SIZE, "; last stdout: \"%s\"", heard->last_stray);
	return text;
}
