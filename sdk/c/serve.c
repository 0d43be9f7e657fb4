/* SPDX-License-Identifier: Apache-2.0 */
/* The loop, from the first message to on_stop. */
#include <string.h>
#include <sys/eventfd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/fd.h"
#include "dialect.h"
#include "session.h"

#define MESSAGE_LIMIT ((size_t)256 << 20)

static void set_limit(struct tn_session *s)
{
	s->limit = s->plugin->max_message_bytes;
	if (!s->limit)
		s->limit = s->dialect && s->dialect->limit ? s->dialect->limit : MESSAGE_LIMIT;
	s->answer.limit = s->note.limit = s->limit;
}

void tn_session_speak(struct tn_session *s, const struct tn_dialect *dialect, enum mor_framing framing)
{
	s->dialect = dialect;
	s->framing = framing;
	set_limit(s);
	mor_deframer_init(&s->deframer, framing, s->limit, 0);
}

int tn_session_init(struct tn_session *s, const tenon_plugin *plugin, const struct tn_dialect *dialect)
{
	pthread_condattr_t monotonic;

	*s = (struct tn_session){ .plugin = plugin, .in = -1, .out = -1, .born_ms = mor_clock_ms() };
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake < 0)
		return -1;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_init(&s->out_lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	s->plain = dialect == &tn_plain;
	if (dialect && !s->plain)
		tn_session_speak(s, dialect, dialect->framing);
	else
		set_limit(s);
	return 0;
}

void tn_session_fini(struct tn_session *s)
{
	while (s->kept) {
		struct tn_kept *kept = s->kept;

		s->kept = kept->next;
		mor_free(kept);
	}
	mor_fd_close(&s->wake);
	mor_fd_close(&s->in);
	mor_fd_close(&s->out);
	mor_buf_fini(&s->input);
	mor_buf_fini(&s->frame);
	mor_buf_fini(&s->answer);
	mor_buf_fini(&s->note);
	s->config = mor_doc_free(s->config);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->out_lock);
	pthread_mutex_destroy(&s->lock);
}

void tn_end(struct tn_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_mutex_unlock(&s->lock);
}

static void loop(struct tn_session *s)
{
	struct tn_turn turn;

	while (!s->ending && tn_next(s, &turn)) {
		tn_answer_turn(s, &turn);
		if (tn_lost()) {
			mor_free(turn.kept);
			mor_buf_fini(&turn.held);
			return;
		}
		tn_turn_end(s, &turn);
	}
}

void tn_lead(struct tn_session *s)
{
	loop(s);
	if (!tn_lost())
		tn_wind_up(s);
}

static void be_calm(struct tn_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->calm = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

int tn_serve(struct tn_session *s)
{
	if (tn_hands_init(s) < 0)
		return 1;
	if (tn_watcher_start(s) < 0)
		tn_say(s, "no thread for the watcher: pings wait for the calls before them");
	tn_lead(s);
	be_calm(s);
	tn_stop(s);
	tn_watcher_stop(s);
	tn_hands_fini(s);
	if (s->read_errno)
		tn_say(s, "stdin: %s", strerror(s->read_errno));
	return s->read_errno ? 1 : 0;
}
