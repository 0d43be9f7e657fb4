/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak-plugin [--lie] TONGUE: the plugin that the soak runs, in every dialect. It does what a call orders and
 * gives the call's token back, so that the host's history can tell whose answer an answer is.
 *
 * An order is a JSON object: {"token":"...", "ms":time to think, "late":true (answered after the next message,
 * or a moment later), "fail":true, "pieces":parts before the result}. How it travels: kit/tongue.h. --lie: some
 * answers bear the token of nobody, to see whether the history notices.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "kit/tongue.h"
#include "wire/envelope.h"
#include "wire/json.h"

#define LATE_MS     20
#define FRAME_LIMIT ((size_t)64 << 20)

static const struct tongue *tongue;
static bool lies;
static struct mor_buf held; /* replies that were ordered late */

/* ---- out ---- */

static void flush(struct mor_buf *out)
{
	if (out->len && mor_fd_write_all(STDOUT_FILENO, out->data, out->len) < 0)
		exit(0); /* nobody listens any more */
	mor_buf_reset(out, SIZE_MAX);
}

static void frame(struct mor_buf *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void frame(struct mor_buf *out, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&body, format, args);
	va_end(args);
	mor_enframe(tongue->framing, mor_buf_view(&body), out);
}

#define ID(m) (int)(m)->id.len, (m)->id.ptr

/* ---- orders ---- */

static void answer(const struct mor_message *m, const char *token, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT;

	tongue_answer(tongue, m->id, token, &body);
	mor_enframe(tongue->framing, mor_buf_view(&body), out);
}

static void obey(const struct mor_message *m, const struct mor_value *order)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	const char *token = mor_json_text(mor_json_get(order, "token"), "none");
	int64_t ms = mor_json_int(mor_json_get(order, "ms"), 0),
		pieces = mor_json_int(mor_json_get(order, "pieces"), 0);
	static unsigned obeyed;

	if (lies && ++obeyed % 8 == 0)
		token = "tok-of-nobody.";
	if (ms > 0)
		usleep((useconds_t)ms * 1000);
	for (int64_t i = 0; tongue->by_note && i < pieces; i++)
		frame(&out,
		      "{\"jsonrpc\":\"2.0\",\"method\":\"stream\",\"params\":{\"request_id\":%.*s,\"data\":\"%s\"}}",
		      ID(m), token);
	if (mor_json_bool(mor_json_get(order, "fail"), false))
		frame(&out,
		      "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32042,\"message\":\"as "
		      "ordered\",\"data\":{\"token\":\"%s\",\"recoverable\":true}}}",
		      ID(m), token);
	else
		answer(m, token, &out);
	if (mor_json_bool(mor_json_get(order, "late"), false))
		mor_buf_slice(&held, mor_buf_view(&out));
	else
		flush(&out);
}

static void take_call(const struct mor_message *m)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_doc *order = NULL;

	if (m->params.ptr && tongue_order(tongue, m->params, &text) == 0)
		mor_doc_parse(mor_buf_view(&text), 0, 0, &order, NULL);
	obey(m, mor_doc_root(order));
	mor_doc_free(order);
}

static void take_request(const struct mor_message *m)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	const char *result;

	if (m->kind == MOR_MSG_REQUEST && mor_slice_is(m->method, tongue->method)) {
		take_call(m);
		return;
	}
	if (tongue_fixed(tongue, m->method, &result)) {
		if (!result)
			exit(0);
		if (m->kind == MOR_MSG_REQUEST)
			frame(&out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}", ID(m), result);
	} else if (m->kind == MOR_MSG_REQUEST) {
		frame(&out,
		      "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32601,\"message\":\"no such "
		      "method\"}}",
		      ID(m));
	}
	flush(&out);
}

/* ---- kythe: it asks ---- */

static struct {
	int id;        /* of the last request */
	char unit[64]; /* the token of the record at hand; "": none */
	const char *asked;
} analyzer;

static void ask(const char *method, const char *params)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	analyzer.asked = method;
	frame(&out, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}", ++analyzer.id, method,
	      params);
	flush(&out);
}

static void say_done(bool mine)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	frame(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"done\",\"params\":{\"message\":\"%s\"}}",
	      mine ? analyzer.unit : "tok-of-another");
	flush(&out);
	ask("analyze", "{\"types\":[\"/\"]}");
}

/* Replies to what it did not ask, or no longer waits for, it passes over. */
static void take_answer(const struct mor_message *m)
{
	struct mor_doc *doc = NULL;
	const struct mor_value *result;
	char params[128];

	if (m->kind != MOR_MSG_RESULT || m->id_int != analyzer.id ||
	    mor_doc_parse(m->result, 0, 0, &doc, NULL) < 0)
		return;
	result = mor_doc_root(doc);
	if (strcmp(analyzer.asked, "init") == 0) {
		ask("analyze", "{\"types\":[\"/\"]}");
	} else if (strcmp(analyzer.asked, "analyze") == 0) {
		snprintf(analyzer.unit, sizeof(analyzer.unit), "%s",
			 mor_json_text(mor_json_at(result, "/inputs/0"), ""));
		snprintf(params, sizeof(params), "{\"path\":\"%s\"}", analyzer.unit);
		ask("vname", params);
	} else {
		say_done(strcmp(mor_json_text(mor_json_at(result, "/path"), ""), analyzer.unit) == 0);
	}
	mor_doc_free(doc);
}

/* ---- in ---- */

static void serve(tongue_message_fn *take)
{
	struct pollfd fd = { STDIN_FILENO, POLLIN, 0 };
	struct mor_buf in = MOR_BUF_INIT, before;
	struct mor_deframer deframer;
	ssize_t n;

	mor_deframer_init(&deframer, tongue->framing, FRAME_LIMIT, 0);
	for (;;) {
		if (held.len && poll(&fd, 1, LATE_MS) == 0) {
			flush(&held);
			continue;
		}
		if (mor_buf_reserve(&in, 65536) < 0)
			exit(9);
		n = read(STDIN_FILENO, in.data + in.len, 65536);
		if (n <= 0)
			break;
		in.len += (size_t)n;
		before = held;
		held = (struct mor_buf)MOR_BUF_INIT;
		tongue_take(&deframer, &in, false, take);
		flush(&before);
		mor_buf_fini(&before);
	}
	tongue_take(&deframer, &in, true, take);
	flush(&held);
	mor_buf_fini(&in);
	mor_buf_fini(&held);
}

int main(int argc, char **argv)
{
	lies = argc > 1 && strcmp(argv[1], "--lie") == 0;
	tongue = argc > 1 + lies ? tongue_find(argv[1 + lies]) : NULL;
	if (!tongue)
		return 2;
	if (tongue->asks)
		ask("init", "{\"protocol\":\"kythe1\"}");
	serve(tongue->asks ? take_answer : take_request);
	return 0;
}
