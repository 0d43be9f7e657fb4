/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plugin wrote, looked at without mercy. Faults are noted for the whole run; rows of the table judge
 * them at the end. The message itself still counts for the row that waits for it, so that one mistake makes
 * one row fail, and not all of them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "check/own.h"

/* A plugin that answers for ever must not fill our memory; no row needs so many. */
#define KEPT_MESSAGES 20000
#define KEPT_BYTES    ((uint64_t)256 << 20)
#define STDERR_MUCH   65536 /* bytes of one process */

void mor_check_see_fault(struct mor_check_session *s, enum mor_check_fault fault, const char *format, ...)
{
	struct mor_check_seen *seen = &s->run->seen[fault];
	va_list args;

	if (seen->count++)
		return;
	va_start(args, format);
	vsnprintf(seen->text, sizeof(seen->text), format, args);
	va_end(args);
	if (s->talk.data)
		seen->talk = mor_strndup(s->talk.data, s->talk.len);
}

void mor_check_message_fini(struct mor_check_message *message)
{
	message->doc = mor_doc_free(message->doc);
}

/* ---- requests of ours ---- */

static void remember_id(struct mor_check_session *s, const struct mor_value *request)
{
	const struct mor_value *id = mor_json_get(request, "id");
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (!id || mor_json_get(request, "result") || mor_json_get(request, "error") ||
	    mor_json_write(id, false, &text) < 0 ||
	    mor_grow(&s->asked, s->asked_count, &s->asked_cap, sizeof(*s->asked)) < 0)
		return;
	s->asked[s->asked_count] = (struct mor_check_asked){ .answers = 0 };
	snprintf(s->asked[s->asked_count].id, sizeof(s->asked->id), "%.*s", (int)text.len, text.data);
	s->asked_count++;
}

void mor_check_asks(struct mor_check_session *s, struct mor_slice body)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_json_iter it;

	if (mor_doc_parse(body, 0, 0, &doc, NULL) < 0)
		return; /* sent on purpose */
	if (mor_json_type(mor_doc_root(doc)) == MOR_JSON_OBJECT)
		remember_id(s, mor_doc_root(doc));
	it = mor_json_iter(mor_doc_root(doc));
	while (mor_json_type(mor_doc_root(doc)) == MOR_JSON_ARRAY && mor_json_next(&it))
		remember_id(s, it.value);
}

static bool same_id(const struct mor_value *id, const char *text)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	return mor_doc_parse(mor_slice_of(text), 0, 0, &doc, NULL) == 0 &&
	       mor_json_equal(id, mor_doc_root(doc));
}

static struct mor_check_asked *find_asked(struct mor_check_session *s, const struct mor_value *id)
{
	for (size_t i = 0; i < s->asked_count; i++)
		if (same_id(id, s->asked[i].id))
			return &s->asked[i];
	return NULL;
}

/* ---- responses ---- */

static void see_error(struct mor_check_session *s, const struct mor_check_message *m)
{
	const struct mor_value *code = mor_json_get(m->error, "code"),
			       *text = mor_json_get(m->error, "message");

	s->run->errors++;
	if (mor_json_type(m->error) != MOR_JSON_OBJECT)
		mor_check_see_fault(s, MOR_CHECK_BAD_ERROR, "the error is a %s, not an object",
				    mor_json_type_name(mor_json_type(m->error)));
	else if (!mor_json_is_int(code))
		mor_check_see_fault(s, MOR_CHECK_BAD_ERROR, "the error has no integer code");
	else if (mor_json_type(text) != MOR_JSON_STRING)
		mor_check_see_fault(s, MOR_CHECK_BAD_ERROR, "the error has no message that is a string");
}

/* The id null is used for what had no readable id. Rows about notifications judge it where nothing may come. */
static void see_id(struct mor_check_session *s, struct mor_check_message *m)
{
	struct mor_check_asked *asked = find_asked(s, m->id);
	char text[80] = "none";

	if (asked) {
		if (asked->answers++)
			mor_check_see_fault(s, MOR_CHECK_TWICE, "a second answer to id %s", asked->id);
		return;
	}
	if (mor_json_type(m->id) == MOR_JSON_NULL)
		return;
	if (m->id)
		mor_printable_value(m->id, text, sizeof(text));
	mor_check_see_fault(s, MOR_CHECK_STRANGE_ID, "an answer whose id is %s (%s), which nobody has asked",
			    text, mor_json_type_name(mor_json_type(m->id)));
}

static void see_response(struct mor_check_session *s, struct mor_check_message *m)
{
	const struct mor_value *result = m->result, *error = m->error;

	s->run->responses++;
	if (result && error) {
		bool null = mor_json_type(result) == MOR_JSON_NULL || mor_json_type(error) == MOR_JSON_NULL;

		mor_check_see_fault(s, null ? MOR_CHECK_NULL_BESIDE : MOR_CHECK_BOTH,
				    "an answer with both result and error");
		if (mor_json_type(error) == MOR_JSON_NULL)
			m->error = NULL;
		else if (mor_json_type(result) == MOR_JSON_NULL)
			m->result = NULL;
	}
	if (m->error)
		see_error(s, m);
	see_id(s, m);
}

/* ---- what the plugin says on its own ---- */

static void keep_finding(const struct mor_finding *finding, void *arg)
{
	struct mor_finding *first = arg;

	if (finding->fatal && !first->fatal)
		*first = *finding;
}

static void see_own(struct mor_check_session *s, const struct mor_check_message *m)
{
	struct mor_slice name = mor_json_string(m->method);
	const struct mor_method *row = mor_dialect_method(s->run->dialect, MOR_FROM_PLUGIN, name);
	struct mor_finding first = { .fatal = false };
	char text[120];

	mor_printable(name, text, sizeof(text));
	if (m->id && !s->run->dialect->serve && (!row || row->settle != MOR_BY_WRITE))
		mor_check_see_fault(s, MOR_CHECK_ASKS, "it sent the request \"%s\"", text);
	if (!row || !row->params)
		return;
	mor_validate(row->params, mor_json_get(m->root, "params"), keep_finding, &first);
	if (first.fatal)
		mor_check_see_fault(s, MOR_CHECK_BAD_NOTE, "\"%s\": params: %s", text, first.text);
}

/* ---- frames ---- */

static void see_message(struct mor_check_session *s, struct mor_doc *doc, const struct mor_value *root)
{
	struct mor_check_message m = { .doc = doc, .root = root };

	m.id = mor_json_get(root, "id");
	m.method = mor_json_get(root, "method");
	m.result = mor_json_get(root, "result");
	m.error = mor_json_get(root, "error");
	if (strcmp(mor_json_text(mor_json_get(root, "jsonrpc"), ""), "2.0") != 0)
		mor_check_see_fault(s, MOR_CHECK_NO_VERSION, "a message without \"jsonrpc\":\"2.0\"");
	if (mor_json_type(m.method) == MOR_JSON_STRING)
		see_own(s, &m);
	else if (m.result || m.error)
		see_response(s, &m);
	else
		mor_check_see_fault(s, MOR_CHECK_NO_MESSAGE,
				    "a message that has neither method nor result nor error");
	if (mor_grow(&s->message, s->messages, &s->message_cap, sizeof(m)) == 0)
		s->message[s->messages++] = m;
	else
		mor_check_message_fini(&m);
}

/* A batch of answers is as good as the answers: each one gets its own document. */
static void see_batch(struct mor_check_session *s, const struct mor_value *batch)
{
	struct mor_json_iter it = mor_json_iter(batch);

	while (mor_json_next(&it)) {
		MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
		struct mor_doc *doc = NULL;

		if (mor_json_write(it.value, false, &text) == 0 &&
		    mor_doc_parse(mor_buf_view(&text), MOR_JSON_NAN, 0, &doc, NULL) == 0)
			see_message(s, doc, mor_doc_root(doc));
	}
}

void mor_check_see_frame(struct mor_check_session *s, struct mor_slice body)
{
	unsigned flags = s->run->dialect->wire & MOR_WIRE_NAN_OK ? MOR_JSON_NAN : 0;
	struct mor_doc *doc = NULL;
	mortise_error err = { 0 };
	char text[160];

	s->run->frames++;
	mor_check_note_talk(s, '<', body);
	s->frame_bytes += body.len;
	if (s->messages >= KEPT_MESSAGES || s->frame_bytes > KEPT_BYTES)
		return;
	if (mor_doc_parse(body, flags, 0, &doc, &err) < 0) {
		mor_check_see_fault(s, MOR_CHECK_BAD_JSON, "%s in \"%s\"", err.text,
				    mor_excerpt(body, text, sizeof(text)));
		return;
	}
	if (mor_json_type(mor_doc_root(doc)) == MOR_JSON_ARRAY && mor_json_size(mor_doc_root(doc))) {
		see_batch(s, mor_doc_root(doc));
		mor_doc_free(doc);
	} else {
		see_message(s, doc, mor_doc_root(doc));
	}
}

/* ---- stderr ---- */

void mor_check_see_stderr(struct mor_check_session *s, struct mor_slice line)
{
	char text[120];

	mor_check_note_talk(s, '2', line);
	s->stderr_bytes += line.len + 1;
	if (s->stderr_bytes > STDERR_MUCH)
		mor_check_see_fault(s, MOR_CHECK_STDERR_MUCH,
				    "more than 64 KiB on stderr in one process, although nothing was wrong");
	if (!mor_utf8_valid(line))
		mor_check_see_fault(s, MOR_CHECK_STDERR_ODD, "\"%s\"", mor_excerpt(line, text, sizeof(text)));
}
