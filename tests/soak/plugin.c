/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak-plugin [--lie] DIALECT [FRAMING]: the plugin that the soak runs, in every dialect. It does what a call orders and
 * gives the call's token back, so that the host's history can tell whose answer an answer is.
 *
 * An order is a JSON object: {"token":"...", "ms":time to think, "late":true (answered after the next message, or a
 * moment later), "fail":true, "pieces":parts before the result}. How it travels is the dialect's row below.
 * --lie: some answers bear the token of nobody, to see whether the history notices.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "wire/envelope.h"
#include "wire/framing.h"
#include "wire/json.h"

#define LATE_MS 20
#define FRAME_LIMIT ((size_t)64 << 20)

enum form { AS_OBJECT, AS_TEXT, AS_BASE64 };

struct fixed {
	const char *method, *result; /* result NULL: it ends there */
};

static const struct tongue {
	const char *name;
	enum mor_framing framing;
	const char *method, *at; /* of a call; where in its params the order is */
	enum form form;
	const char *head, *tail; /* of the result: what stands around the token */
	bool by_note;            /* settled by a notification, as in G-Assist */
	struct fixed fixed[6];   /* what else it is asked */
} tongues[] = {
	{ "plain", MOR_FRAMING_LINES, "echo", "", AS_OBJECT, "{\"token\":\"", "\"}", false, { { 0 } } },
	{ "yams", MOR_FRAMING_LINES, "extractor.extract", "/source/data", AS_BASE64, "{\"success\":true,\"content\":\"", "\"}", false,
	  { { "handshake.manifest", "{\"name\":\"soak\",\"version\":\"1.0.0\",\"interfaces\":[\"content_extractor_v1\"]}" },
	    { "plugin.init", "{\"status\":\"initialized\"}" },
	    { "plugin.health", "{\"status\":\"ok\"}" },
	    { "plugin.shutdown", "null" } } },
	{ "gassist", MOR_FRAMING_BE32, "execute", "/arguments", AS_OBJECT, "", "", true,
	  { { "initialize", "{\"name\":\"soak\",\"version\":\"1.0.0\",\"protocol_version\":\"2.0\"}" },
	    { "ping", "{}" },
	    { "shutdown", NULL } } },
	{ "ayiou", MOR_FRAMING_LINES, "handle", "/text", AS_TEXT, "{\"handled\":true,\"block\":false,\"reply\":\"", "\"}", false,
	  { { "metadata", "{\"name\":\"soak\",\"description\":\"d\",\"version\":\"1\",\"commands\":[]}" },
	    { "lifecycle", "{\"ok\":true}" },
	    { "matches", "{\"matches\":true}" } } },
	{ "sunscreen", MOR_FRAMING_LINES, "run", "/flags/order", AS_TEXT, "{\"files_written\":[],\"summary\":\"", "\"}", false,
	  { { "commands", "{\"scaffold\":{\"echo\":\"e\"},\"hook\":{}}" } } },
	{ "sunscreen-json", MOR_FRAMING_HEADERS, "sunscreen.command/run", "/args/0", AS_TEXT, "{\"token\":\"", "\"}", false, { { 0 } } },
};

static const struct tongue *tongue;
static enum mor_framing framing;
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
	mor_enframe(framing, mor_buf_view(&body), out);
}

#define ID(m) (int)(m)->id.len, (m)->id.ptr

/* ---- orders ---- */

static void obey(const struct mor_message *m, const struct mor_value *order)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	const char *token = mor_json_text(mor_json_get(order, "token"), "none");
	int64_t ms = mor_json_int(mor_json_get(order, "ms"), 0), pieces = mor_json_int(mor_json_get(order, "pieces"), 0);
	bool fail = mor_json_bool(mor_json_get(order, "fail"), false);
	static unsigned obeyed;
	char result[256];

	if (lies && ++obeyed % 8 == 0)
		token = "tok-of-nobody.";
	if (ms > 0)
		usleep((useconds_t)ms * 1000);
	for (int64_t i = 0; tongue->by_note && i < pieces; i++)
		frame(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"stream\",\"params\":{\"request_id\":%.*s,\"data\":\"%s\"}}", ID(m), token);
	snprintf(result, sizeof(result), "%s%s%s", tongue->head, token, tongue->tail);
	if (fail)
		frame(&out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32042,\"message\":\"as ordered\",\"data\":{\"token\":\"%s\","
			    "\"recoverable\":true}}}", ID(m), token);
	else if (tongue->by_note)
		frame(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"complete\",\"params\":{\"request_id\":%.*s,\"success\":true,\"data\":\"%s\"}}",
		      ID(m), result);
	else
		frame(&out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}", ID(m), result);
	if (mor_json_bool(mor_json_get(order, "late"), false))
		mor_buf_slice(&held, mor_buf_view(&out));
	else
		flush(&out);
}

/* The order inside the params, as its own document. */
static struct mor_doc *find_order(const struct mor_value *params)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	const struct mor_value *value = mor_json_at(params, tongue->at);
	struct mor_doc *order = NULL;

	if (tongue->form == AS_OBJECT)
		mor_json_write(value, false, &text);
	else if (tongue->form == AS_TEXT)
		mor_buf_slice(&text, mor_json_string(value));
	else
		mor_base64_decode(mor_json_string(value), &text);
	mor_doc_parse(mor_buf_view(&text), 0, 0, &order, NULL);
	return order;
}

static void take_call(const struct mor_message *m)
{
	struct mor_doc *params = NULL, *order = NULL;

	if (m->params.ptr && mor_doc_parse(m->params, 0, 0, &params, NULL) == 0)
		order = find_order(mor_doc_root(params));
	obey(m, mor_doc_root(order));
	mor_doc_free(order);
	mor_doc_free(params);
}

static void take_message(const struct mor_message *m)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	if (m->kind == MOR_MSG_REQUEST && mor_slice_is(m->method, tongue->method)) {
		take_call(m);
		return;
	}
	for (const struct fixed *f = tongue->fixed; f->method; f++) {
		if (!mor_slice_is(m->method, f->method))
			continue;
		if (!f->result)
			exit(0);
		if (m->kind == MOR_MSG_REQUEST)
			frame(&out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}", ID(m), f->result);
		flush(&out);
		return;
	}
	if (m->kind == MOR_MSG_REQUEST)
		frame(&out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32601,\"message\":\"no such method\"}}", ID(m));
	flush(&out);
}

/* ---- kythe: it asks ---- */

static struct {
	int id;          /* of the last request */
	char unit[64];   /* the token of the record at hand; "": none */
	const char *asked;
} analyzer;

static void ask(const char *method, const char *params)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	analyzer.asked = method;
	frame(&out, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}", ++analyzer.id, method, params);
	flush(&out);
}

static void say_done(bool mine)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	frame(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"done\",\"params\":{\"message\":\"%s\"}}", mine ? analyzer.unit : "tok-of-another");
	flush(&out);
	ask("analyze", "{\"types\":[\"/\"]}");
}

/* Replies to what it did not ask, or no longer waits for, it passes over. */
static void take_answer(const struct mor_message *m)
{
	struct mor_doc *doc = NULL;
	const struct mor_value *result;
	char params[128];

	if (m->kind != MOR_MSG_RESULT || m->id_int != analyzer.id || mor_doc_parse(m->result, 0, 0, &doc, NULL) < 0)
		return;
	result = mor_doc_root(doc);
	if (strcmp(analyzer.asked, "init") == 0) {
		ask("analyze", "{\"types\":[\"/\"]}");
	} else if (strcmp(analyzer.asked, "analyze") == 0) {
		snprintf(analyzer.unit, sizeof(analyzer.unit), "%s", mor_json_text(mor_json_at(result, "/inputs/0"), ""));
		snprintf(params, sizeof(params), "{\"path\":\"%s\"}", analyzer.unit);
		ask("vname", params);
	} else {
		say_done(strcmp(mor_json_text(mor_json_at(result, "/path"), ""), analyzer.unit) == 0);
	}
	mor_doc_free(doc);
}

/* ---- in ---- */

static void take_frames(struct mor_deframer *deframer, struct mor_buf *in, bool at_end)
{
	size_t used = 0;
	enum mor_item_kind kind;
	struct mor_item item;
	struct mor_message m;

	while ((item = (struct mor_item){ 0 },
		kind = mor_deframe(deframer, in->data + used, in->len - used, at_end, &item)) != MOR_ITEM_MORE) {
		if (kind == MOR_ITEM_FRAME && mor_envelope_scan(item.body, 0, 0, &m, NULL) == 0) {
			if (tongue)
				take_message(&m);
			else
				take_answer(&m);
		}
		used += item.used;
	}
	mor_buf_consume(in, used);
}

static void serve(void)
{
	struct pollfd fd = { STDIN_FILENO, POLLIN, 0 };
	struct mor_buf in = MOR_BUF_INIT, before;
	struct mor_deframer deframer;
	ssize_t n;

	mor_deframer_init(&deframer, framing, FRAME_LIMIT, 0);
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
		take_frames(&deframer, &in, false);
		flush(&before);
		mor_buf_fini(&before);
	}
	take_frames(&deframer, &in, true);
	flush(&held);
	mor_buf_fini(&in);
	mor_buf_fini(&held);
}

int main(int argc, char **argv)
{
	const char *dialect;
	int other;

	lies = argc > 1 && strcmp(argv[1], "--lie") == 0;
	argv += lies;
	argc -= lies;
	dialect = argc > 1 ? argv[1] : "";
	other = argc > 2 ? mor_framing_by_name(argv[2]) : -1;
	if (strcmp(dialect, "kythe") == 0) {
		framing = MOR_FRAMING_DECIMAL;
		ask("init", "{\"protocol\":\"kythe1\"}");
		serve();
		return 0;
	}
	for (size_t i = 0; i < sizeof(tongues) / sizeof(tongues[0]); i++)
		if (strcmp(tongues[i].name, dialect) == 0)
			tongue = &tongues[i];
	if (!tongue || (argc > 2 && other < 0))
		return 2;
	framing = other >= 0 ? (enum mor_framing)other : tongue->framing;
	serve();
	return 0;
}
