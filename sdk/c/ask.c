/* SPDX-License-Identifier: Apache-2.0 */
/* What a function says before its answer: pieces, progress, log, questions. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dialect.h"
#include "session.h"

/* The text, or NULL without memory. */
static const char *format_text(struct mor_buf *text, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
static const char *format_text(struct mor_buf *text, const char *format, va_list args)
{
	mor_buf_vprintf(text, format, args);
	mor_buf_byte(text, '\0');
	return mor_buf_failed(text) ? NULL : text->data;
}

int tenon_stream(tenon_call *call, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	va_list args;

	if (call->answered)
		return -1;
	va_start(args, format);
	format_text(&text, format, args);
	va_end(args);
	if (mor_buf_failed(&text))
		return -1;
	if (!call->session->dialect->stream)
		return mor_buf_text(&call->pieces, text.data) < 0 ? -1 : 0;
	call->session->dialect->stream(call, text.data);
	return 0;
}

int tenon_progress(tenon_call *call, double fraction, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	format_text(&text, format, args);
	va_end(args);
	if (mor_buf_failed(&text))
		return -1;
	if (call->session->dialect->progress)
		call->session->dialect->progress(call, fraction, text.data);
	else if (fraction >= 0)
		tn_say(call->session, "%.0f %% %s", fraction * 100, text.data);
	else
		tn_say(call->session, "%s", text.data);
	return 0;
}

int tenon_log(tenon_call *call, const char *level, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	format_text(&text, format, args);
	va_end(args);
	if (mor_buf_failed(&text))
		return -1;
	if (call->session->dialect->log)
		call->session->dialect->log(call, level, text.data);
	else
		tn_say(call->session, "%s: %s", level, text.data);
	return 0;
}

/* Why this call cannot converse; NULL: it can. */
static const char *why_silent(const tenon_call *call)
{
	if (!call->session->dialect->ask)
		return "this dialect has no conversations";
	return call->in_batch ? "there is no conversation inside a batch or on_start" : NULL;
}

const char *tenon_ask(tenon_call *call, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	const char *why = why_silent(call), *answer;
	va_list args;

	if (call->answered || call->over)
		return NULL;
	va_start(args, format);
	format_text(&text, format, args);
	va_end(args);
	if (!why && mor_buf_failed(&text))
		why = "out of memory";
	if (why) {
		tenon_fail_text(call, TENON_EINTERNAL, "%s: %s", call->session->dialect->name, why);
		return NULL;
	}
	call->session->dialect->ask(call, text.data);
	tn_send_answer(call->session);
	answer = call->session->ending ? NULL : tn_wait_answer(call);
	if (!answer)
		call->over = call->answered = true;
	return answer;
}
