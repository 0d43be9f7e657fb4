/* SPDX-License-Identifier: Apache-2.0 */
/* What a plugin says while nobody listens is kept for a while: diagnostics of a language
 * server, for example. */
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "session/inside.h"

#define NOTES_MAX       1000
#define NOTES_BYTES_MAX ((size_t)4 << 20)

void mor_session_notes_init(struct mor_session_notes *notes)
{
	*notes = (struct mor_session_notes){ 0 };
	mor_list_init(&notes->list);
}

static void drop_oldest(struct mor_session_notes *notes)
{
	struct mor_session_note *note =
		mor_container_of(mor_list_pop(&notes->list), struct mor_session_note, node);

	notes->count--;
	notes->bytes -= note->len;
	mor_free(note);
}

void mor_session_notes_fini(struct mor_session_notes *notes)
{
	while (notes->count)
		drop_oldest(notes);
}

/* A note larger than all that may be kept is told to those who follow, and dropped by the next one. */
static const struct mor_session_note *keep_note(struct mor_session_notes *notes, struct mor_slice json)
{
	struct mor_session_note *note = mor_alloc(sizeof(*note) + json.len);

	if (!note)
		return NULL;
	note->len = json.len;
	memcpy(note->json, json.ptr, json.len);
	mor_list_append(&notes->list, &note->node);
	notes->count++;
	notes->bytes += note->len;
	while (notes->count > 1 && (notes->count > NOTES_MAX || notes->bytes > NOTES_BYTES_MAX)) {
		drop_oldest(notes);
		notes->dropped++;
	}
	return note;
}

static void begin_note(struct mor_writer *w, const char *kind)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	mor_w_object(w);
	mor_w_pair(w, "is", "note");
	mor_w_pair_int(w, "time_ms", (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
	mor_w_pair(w, "kind", kind);
}

/* Changes of state and the like are for `session list`. */
static bool is_said(const mortise_event *event)
{
	return event->type == MORTISE_EVENT_NOTE || event->type == MORTISE_EVENT_STDERR ||
	       event->type == MORTISE_EVENT_LOG || event->type == MORTISE_EVENT_NOISE ||
	       event->type == MORTISE_EVENT_WARNING;
}

const struct mor_session_note *mor_session_notes_add(struct mor_session_notes *notes,
						     const mortise_event *event)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	if (!is_said(event))
		return NULL;
	begin_note(&w, mortise_event_name(event->type));
	if (event->type == MORTISE_EVENT_NOTE)
		mor_w_pair(&w, "method", event->note.method);
	if (event->type == MORTISE_EVENT_LOG && event->log.level)
		mor_w_pair(&w, "level", event->log.level);
	if (event->text && *event->text)
		mor_w_pair(&w, "text", event->text);
	if (event->type == MORTISE_EVENT_NOTE)
		mor_session_put(&w, "params", event->note.params);
	if (event->type == MORTISE_EVENT_LOG)
		mor_session_put(&w, "params", event->log.params);
	mor_w_end(&w);
	return mor_buf_failed(&json) ? NULL : keep_note(notes, mor_buf_view(&json));
}

const struct mor_session_note *mor_session_notes_asked(struct mor_session_notes *notes, const char *method,
						       mortise_json params)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	begin_note(&w, "request");
	mor_w_pair(&w, "method", method);
	mor_session_put(&w, "params", params);
	mor_w_end(&w);
	return mor_buf_failed(&json) ? NULL : keep_note(notes, mor_buf_view(&json));
}
