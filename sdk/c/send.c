/* SPDX-License-Identifier: Apache-2.0 */
/* Messages out. Two threads may send: who works on a call, and the watcher. */
#include <stdarg.h>
#include <stdio.h>

#include "base/fd.h"
#include "session.h"

#define KEEP_BYTES ((size_t)1 << 20) /* what a buffer may hold on to between messages */

/* A host that cannot be written to has gone: then all ends, and nobody needs to be told. */
void tn_send(struct tn_session *s, struct mor_slice body)
{
	bool sent;

	if (atomic_load_explicit(&s->gone, memory_order_relaxed))
		return;
	if (s->wire) {
		s->wire->write(s->wire, body);
		return;
	}
	pthread_mutex_lock(&s->out_lock);
	sent = mor_enframe(s->framing, body, &s->frame) == 0 &&
	       mor_fd_write_all(s->out, s->frame.data, s->frame.len) == 0;
	mor_buf_reset(&s->frame, KEEP_BYTES);
	pthread_mutex_unlock(&s->out_lock);
	if (!sent)
		atomic_store(&s->gone, true);
}

void tn_send_answer(struct tn_session *s)
{
	if (mor_buf_failed(&s->answer)) {
		/* Not even an error fits, as in a batch of a million: the id is lost with it. */
		mor_buf_reset(&s->answer, 0);
		mor_write_error(&s->answer, MOR_SLICE("null"), TENON_EINTERNAL, "the answer does not fit",
				(struct mor_slice){ 0 });
	}
	if (s->answer.len > 0)
		tn_send(s, mor_buf_view(&s->answer));
	mor_buf_reset(&s->answer, KEEP_BYTES);
}

void tn_send_note(struct tn_session *s, const char *method, const struct mor_buf *params)
{
	mor_buf_reset(&s->note, KEEP_BYTES);
	if (!mor_buf_failed(params) &&
	    mor_write_note(&s->note, mor_slice_of(method), mor_buf_view(params)) == 0)
		tn_send(s, mor_buf_view(&s->note));
}

void tn_say(const struct tn_session *s, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "%s: %s\n", s->plugin->name ? s->plugin->name : "plugin", text);
}
