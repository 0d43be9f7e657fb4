/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of a row, and waiting for messages of the plugin. */
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "check/own.h"

/* ---- verdicts ---- */

__attribute__((format(printf, 3, 0))) static void conclude(struct mor_check_case *at,
							   enum mor_check_verdict verdict, const char *format,
							   va_list args)
{
	if (!mor_check_goes_on(at))
		return;
	at->verdict = verdict;
	mor_buf_vprintf(&at->why, format, args);
}

void mor_check_failed(struct mor_check_case *at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	conclude(at, MOR_CHECK_FAIL, format, args);
	va_end(args);
}

void mor_check_unseen(struct mor_check_case *at, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	conclude(at, MOR_CHECK_UNSEEN, format, args);
	va_end(args);
}

void mor_check_fail_silence(struct mor_check_case *at, const char *what, uint32_t ms)
{
	MOR_CLEAN(mor_buf) struct mor_buf why = MOR_BUF_INIT;

	mor_check_silence(at->s, ms, &why);
	mor_check_failed(at, "%s: %.*s", what, (int)why.len, why.data);
}

/* ---- waiting for messages ---- */

struct wanted {
	const struct mor_value *id;
	const char *method;
	bool exact; /* an answer with a wrong id is not taken for the only one that is missing */
	struct mor_check_message *found;
};

static size_t count_open(const struct mor_check_session *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->asked_count; i++)
		count += s->asked[i].answers == 0;
	return count;
}

/* The id was asked, so this is no stray answer. */
static bool is_known(const struct mor_check_session *s, const struct mor_check_message *m)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (!m->id || mor_json_write(m->id, false, &text) < 0)
		return false;
	for (size_t i = 0; i < s->asked_count; i++)
		if (mor_slice_is(mor_buf_view(&text), s->asked[i].id))
			return true;
	return false;
}

static bool find_response(struct mor_check_session *s, void *arg)
{
	struct wanted *want = arg;

	for (size_t i = 0; i < s->messages && !want->found; i++)
		if (mor_check_is_response(&s->message[i]) && mor_json_equal(s->message[i].id, want->id))
			want->found = &s->message[i];
	for (size_t i = 0; i < s->messages && !want->found && !want->exact && count_open(s) == 1; i++)
		if (mor_check_is_response(&s->message[i]) && !is_known(s, &s->message[i]))
			want->found = &s->message[i];
	return want->found;
}

static const struct mor_check_message *await_response(struct mor_check_case *at, struct mor_slice id,
						      bool exact)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct wanted want = { .exact = exact };
	char what[96];

	if (!mor_check_goes_on(at) || mor_doc_parse(id, 0, 0, &doc, NULL) < 0)
		return NULL;
	want.id = mor_doc_root(doc);
	if (!mor_check_wait(at->s, at->run->answer_ms, find_response, &want)) {
		snprintf(what, sizeof(what), "no answer to id %.*s", (int)id.len, id.ptr);
		mor_check_fail_silence(at, what, at->run->answer_ms);
		return NULL;
	}
	want.found->taken = true;
	return want.found;
}

const struct mor_check_message *mor_check_response(struct mor_check_case *at, struct mor_slice id)
{
	return await_response(at, id, false);
}

const struct mor_check_message *mor_check_response_exact(struct mor_check_case *at, struct mor_slice id)
{
	return await_response(at, id, true);
}

static bool has_left(struct mor_check_session *s, void *arg)
{
	return s->out_over || find_response(s, arg);
}

const struct mor_check_message *mor_check_response_or_end(struct mor_check_case *at, struct mor_slice id,
							  bool *ret_over)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct wanted want = { .exact = false };

	if (mor_doc_parse(id, 0, 0, &doc, NULL) < 0)
		return NULL;
	want.id = mor_doc_root(doc);
	mor_check_wait(at->s, at->run->answer_ms, has_left, &want);
	*ret_over = at->s->out_over;
	if (want.found)
		want.found->taken = true;
	return want.found;
}

static bool find_own(struct mor_check_session *s, void *arg)
{
	struct wanted *want = arg;

	for (size_t i = 0; i < s->messages && !want->found; i++)
		if (!s->message[i].taken && mor_text_in(mor_json_string(s->message[i].method), want->method))
			want->found = &s->message[i];
	return want->found;
}

const struct mor_check_message *mor_check_from_plugin(struct mor_check_case *at, const char *method)
{
	struct wanted want = { .method = method };
	char what[96];

	if (!mor_check_goes_on(at))
		return NULL;
	if (!mor_check_wait(at->s, at->run->answer_ms, find_own, &want)) {
		snprintf(what, sizeof(what), "no \"%s\" came", method);
		mor_check_fail_silence(at, what, at->run->answer_ms);
		return NULL;
	}
	want.found->taken = true;
	return want.found;
}
