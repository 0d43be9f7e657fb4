/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that several dialects share: framing, JSON-RPC, ids, the end, stdout and stderr. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "check/own.h"

#define LINES   (MOR_CHECK_PLAIN | MOR_CHECK_YAMS | MOR_CHECK_AYIOU | MOR_CHECK_SUNSCREEN)
#define SERVERS MOR_CHECK_SERVERS

#define MANY 50
/* A leak, or a buffer that is never emptied, shows only after a while. */
static void check_repeat(struct mor_check_case *at)
{
	if (!mor_check_begin(at, false))
		return;
	for (int i = 0; i < MANY && mor_check_goes_on(at); i++)
		mor_check_script(at, "alive");
}

/* All at once, answered in any order. */
static void check_pipeline(struct mor_check_case *at)
{
	char line[400], id[16];

	if (!mor_check_begin(at, false))
		return;
	mor_check_script(at, "hold");
	for (int i = 0; i < 8; i++) {
		snprintf(line, sizeof(line), MOR_CHECK_REQ "%d,%s}", 60 + i, at->run->tongue->probe);
		mor_check_script(at, line);
	}
	mor_check_script(at, "flush");
	for (int i = 0; i < 8; i++) {
		snprintf(id, sizeof(id), "%d", 60 + i);
		mor_check_response(at, mor_slice_of(id));
	}
}

#define SILENT_MS      1000 /* many times what an interpreter needs to start */
#define SILENT_MOST_MS 10000
static bool has_spoken(struct mor_check_session *s, void *arg)
{
	(void)arg;
	for (size_t i = 0; i < s->messages; i++)
		if (!s->message[i].method || s->message[i].id)
			return true;
	return false;
}

/* Notifications are allowed: a log may begin before the greeting. */
static void check_silent(struct mor_check_case *at)
{
	uint32_t ms = at->run->opt->answer_ms;

	ms = ms < SILENT_MS ? SILENT_MS : ms < SILENT_MOST_MS ? ms : SILENT_MOST_MS;
	if (mor_check_begin(at, true) && mor_check_wait(at->s, ms, has_spoken, NULL))
		mor_check_failed(at, "it sent a message although nobody had asked anything");
}

/* Two processes of one plugin are the same plugin. */
static void check_again(struct mor_check_case *at)
{
	struct mor_check_run *run = at->run;
	struct mor_doc *first = run->hello;
	MOR_CLEAN(mor_buf) struct mor_buf a = MOR_BUF_INIT, b = MOR_BUF_INIT;

	run->hello = NULL;
	if (mor_check_begin(at, false) && first && run->hello) {
		mor_json_write(mor_doc_root(first), false, &a);
		mor_json_write(mor_doc_root(run->hello), false, &b);
		if (!mor_json_equal(mor_doc_root(first), mor_doc_root(run->hello)))
			mor_check_failed(at, "first %.*s, then %.*s", (int)a.len, a.data, (int)b.len, b.data);
	} else if (!first || !run->hello) {
		mor_check_unseen(at, "the plugin has not told who it is");
	}
	if (first)
		mor_doc_free(run->hello);
	if (first)
		run->hello = first;
}

const struct mor_check_row mor_check_common_rows[] = {
	/* ---- framing ---- */
	{ .name = "framing.split",
	  .title = "reads a request that arrives in pieces",
	  .must = SERVERS,
	  .script = "split {\"jsonrpc\":\"2.0\",\"id\":11,%P}\nexact 11",
	  .advice = "read until a whole message is there; one read() is not one message" },
	{ .name = "framing.joined",
	  .title = "reads two requests that arrive together",
	  .must = MOR_CHECK_PLAIN | MOR_CHECK_GASSIST,
	  .should = SERVERS,
	  .script = "hold\n" MOR_CHECK_REQ "12,%P}\n" MOR_CHECK_REQ "13,%P}\nflush\nexact 12\nexact 13",
	  .advice = "keep what is behind the first message for the next round" },
	{ .name = "framing.large",
	  .title = "reads a request of 1 MiB",
	  .must = SERVERS,
	  .script = MOR_CHECK_REQ "14,\"pad\":%B,%P}\nanswered 14\nalive",
	  .advice = "use no buffer of a fixed size for a message" },
	{ .name = "framing.unicode",
	  .title = "reads text outside ASCII, plain and escaped",
	  .must = SERVERS,
	  .script = MOR_CHECK_REQ
	  "15,\"pad\":\"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x8c\x8d \\u00e9\\ud83c\\udf0d\",%P}\n"
	  "answered 15\nalive",
	  .advice = "read and write UTF-8, whatever the locale is; the length counts bytes" },
	{ .name = "framing.spaces",
	  .title = "reads JSON with blanks between its parts",
	  .spec = "RFC 8259, section 2",
	  .must = SERVERS,
	  .script = "> { \"jsonrpc\" : \"2.0\" ,\t\"id\" :  16 , %P }\nanswered 16",
	  .advice = "use a JSON parser, not a search in the text" },
	{ .name = "framing.order",
	  .title = "reads the members of a request in any order",
	  .spec = "RFC 8259, section 4",
	  .must = SERVERS,
	  .script = "> {%P,\"id\":17,\"jsonrpc\":\"2.0\"}\nanswered 17",
	  .advice = "use a JSON parser, not a search in the text" },
	{ .name = "framing.crlf",
	  .title = "reads a line that ends in CR LF",
	  .should = LINES,
	  .script = "framing lines\nraw {\"jsonrpc\":\"2.0\",\"id\":18,%P}\\r\\n\nanswered 18",
	  .advice = "remove white space at the end of a line before it is parsed" },
	{ .name = "framing.blank",
	  .title = "skips an empty line",
	  .should = LINES,
	  .script = "framing lines\nraw \\n\nquiet",
	  .advice = "an empty line is no message: read the next one" },

	/* ---- requests ---- */
	{ .name = "request.extra",
	  .title = "ignores members of a request that it does not know",
	  .spec = "JSON-RPC 2.0, section 4",
	  .should = SERVERS,
	  .script = MOR_CHECK_REQ "21,\"mortise\":true,%P}\nanswered 21",
	  .advice = "look at jsonrpc, id, method and params, and skip the rest" },
	{ .name = "request.no-method",
	  .title = "answers a request without a method with -32600",
	  .spec = "JSON-RPC 2.0, section 5.1",
	  .should = SERVERS,
	  .script = MOR_CHECK_REQ "22}\nerror 22 -32600\nalive",
	  .advice = "answer {\"error\":{\"code\":-32600,...}} and go on" },
	{ .name = "request.method-type",
	  .title = "answers a request whose method is a number with -32600",
	  .spec = "JSON-RPC 2.0, section 5.1",
	  .should = SERVERS,
	  .script = MOR_CHECK_REQ "23,\"method\":7}\nerror 23 -32600\nalive",
	  .advice = "answer {\"error\":{\"code\":-32600,...}} and go on" },
	{ .name = "request.not-json",
	  .title = "goes on after a message that is not JSON",
	  .spec = "JSON-RPC 2.0, section 5.1",
	  .should = SERVERS,
	  .script = "frame {\"jsonrpc\":\"2.0\",\"id\":24,\nalive",
	  .advice = "catch the parser's error; the next message may be good" },
	{ .name = "request.not-json-code",
	  .title = "answers a message that is not JSON with -32700 and id null",
	  .spec = "JSON-RPC 2.0, section 5.1",
	  .should = SERVERS,
	  .script = "frame {\"jsonrpc\":\"2.0\",\"id\":25,\nerror null -32700",
	  .advice = "answer {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,...}}" },
	{ .name = "request.positions",
	  .title = "answers a request whose params are an array",
	  .spec = "JSON-RPC 2.0, section 4.2",
	  .should = MOR_CHECK_PLAIN | MOR_CHECK_YAMS | MOR_CHECK_AYIOU | MOR_CHECK_SUNSCREEN,
	  .script = MOR_CHECK_REQ "26,\"method\":\"mortise.check\",\"params\":[1,\"two\"]}\nanswered 26\nalive",
	  .advice = "params may be an array: take it, or answer -32602" },
	{ .name = "method.unknown",
	  .title = "answers an unknown method with -32601",
	  .spec = "JSON-RPC 2.0, section 5.1",
	  .must = SERVERS,
	  .script = MOR_CHECK_REQ "27,\"method\":\"mortise.check\",\"params\":{}}\nerror 27 -32601\nalive",
	  .advice = "answer {\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}" },

	/* ---- notifications ---- */
	{ .name = "note.unknown",
	  .title = "does not answer an unknown notification",
	  .spec = "JSON-RPC 2.0, section 4.1",
	  .must = MOR_CHECK_PLAIN,
	  .should = SERVERS,
	  .script = "> {\"jsonrpc\":\"2.0\",\"method\":\"mortise.check\"}\nquiet",
	  .advice = "a message without an id is a notification: never answer it, not even with an error" },
	{ .name = "note.known",
	  .title = "does not answer a notification of a method that it has",
	  .spec = "JSON-RPC 2.0, section 4.1",
	  .should = SERVERS & ~MOR_CHECK_PLAIN,
	  .script = "> {\"jsonrpc\":\"2.0\",%P}\nquiet",
	  .advice = "a message without an id is a notification: never answer it" },

	/* ---- ids ---- */
	{ .name = "ids.large",
	  .title = "returns the id 2147483647 unchanged",
	  .spec = "JSON-RPC 2.0, section 5",
	  .must = SERVERS,
	  .script = MOR_CHECK_REQ "2147483647,%P}\nexact 2147483647",
	  .advice = "keep the id as it came, as a JSON value" },
	{ .name = "ids.jump",
	  .title = "accepts ids in any order",
	  .spec = "JSON-RPC 2.0, section 4",
	  .must = SERVERS,
	  .script = MOR_CHECK_REQ "500,%P}\nexact 500\n" MOR_CHECK_REQ "3,%P}\nexact 3",
	  .advice = "an id only names a request; do not count with it" },
	{ .name = "ids.zero",
	  .title = "takes the id 0 for an id",
	  .spec = "JSON-RPC 2.0, section 4",
	  .should = SERVERS,
	  .script = MOR_CHECK_REQ "0,%P}\nexact 0",
	  .advice = "test whether the member id is there, not whether its value counts as true" },
	{ .name = "ids.string",
	  .title = "returns an id that is a string unchanged",
	  .spec = "JSON-RPC 2.0, section 4",
	  .must = MOR_CHECK_PLAIN,
	  .script = MOR_CHECK_REQ "\"a-\\u00e9-1\",%P}\nexact \"a-\xc3\xa9-1\"",
	  .advice = "keep the id as it came, as a JSON value" },
	{ .name = "ids.digits",
	  .title = "returns an id of 17 digits with all its digits",
	  .spec = "JSON-RPC 2.0, section 5",
	  .should = MOR_CHECK_PLAIN,
	  .script = MOR_CHECK_REQ "36028797018963969,%P}\nexact 36028797018963969",
	  .advice = "a number of JSON is not always a double: keep the id's text, or use 64-bit integers" },
	{ .name = "ids.echo",
	  .title = "answers only what was asked, with the id that was sent",
	  .spec = "JSON-RPC 2.0, section 5",
	  .must = MOR_CHECK_ALL & ~(MOR_CHECK_KYTHE | MOR_CHECK_SUNSCREEN_JSON),
	  .should = MOR_CHECK_SUNSCREEN_JSON,
	  .fault = MOR_CHECK_STRANGE_ID,
	  .advice = "copy the request's id into the response: same value, same type" },
	{ .name = "ids.once",
	  .title = "answers each request once",
	  .spec = "JSON-RPC 2.0, section 5",
	  .must = MOR_CHECK_ALL & ~MOR_CHECK_KYTHE,
	  .fault = MOR_CHECK_TWICE,
	  .advice = "after an error was sent, send no result; look for two places that answer" },

	/* ---- batches: only where hosts may send them ---- */
	{ .name = "batch.answers",
	  .title = "answers a batch with one array",
	  .spec = "JSON-RPC 2.0, section 6",
	  .should = MOR_CHECK_PLAIN,
	  .script = "> [{\"jsonrpc\":\"2.0\",\"id\":31,%P},{\"jsonrpc\":\"2.0\",\"id\":32,%P}]\nanswered 31\n"
		    "answered 32",
	  .advice = "if the message is an array, answer each element, and send the answers as one array" },
	{ .name = "batch.notes",
	  .title = "answers a batch of notifications with nothing",
	  .spec = "JSON-RPC 2.0, section 6",
	  .should = MOR_CHECK_PLAIN,
	  .script = "> [{\"jsonrpc\":\"2.0\",\"method\":\"mortise.check\"}]\nquiet",
	  .advice = "if no element of a batch needs an answer, send nothing, not even []" },
	{ .name = "batch.empty",
	  .title = "answers an empty batch with -32600",
	  .spec = "JSON-RPC 2.0, section 6",
	  .should = MOR_CHECK_PLAIN,
	  .script = "> []\nerror null -32600\nalive",
	  .advice = "an empty array is an invalid request: one error with id null" },

	/* ---- many ---- */
	{ .name = "load.repeat",
	  .title = "answers 50 requests in a row",
	  .must = SERVERS,
	  .fn = check_repeat,
	  .advice = "look for a buffer, file or thread that is not given back" },
	{ .name = "load.pipeline",
	  .title = "answers eight requests that were written at once",
	  .must = MOR_CHECK_PLAIN | MOR_CHECK_GASSIST,
	  .should = SERVERS,
	  .fn = check_pipeline,
	  .advice = "process all whole messages that are in the buffer before the next read()" },

	/* ---- the end ---- */
	{ .name = "stop.eof",
	  .title = "exits when its stdin ends",
	  .spec = "%S",
	  .must = SERVERS,
	  .script = "end\nexits",
	  .advice = "read() returned 0: leave the loop, end all threads, and exit" },
	{ .name = "stop.status",
	  .title = "exits with status 0 when its stdin ends",
	  .spec = "%S",
	  .should = SERVERS,
	  .script = "end\nexits 0",
	  .advice = "the end of stdin is no error" },
	{ .name = "stop.answers-first",
	  .title = "answers what it was asked before it exits",
	  .spec = "%S",
	  .should = SERVERS,
	  .script = MOR_CHECK_REQ "41,%P}\nend\nanswered 41\nexits",
	  .advice = "process what was read before the end of stdin, and flush stdout" },
	{ .name = "stop.term",
	  .title = "ends on SIGTERM",
	  .spec = "%S",
	  .should = SERVERS,
	  .script = "alive\nterm\nexits",
	  .advice = "do not ignore SIGTERM: after it comes SIGKILL" },

	/* ---- the whole run ---- */
	{ .name = "start.silent",
	  .title = "says nothing before it is asked",
	  .must = SERVERS,
	  .fn = check_silent,
	  .advice = "send the first message as an answer to the first request" },
	{ .name = "start.again",
	  .title = "tells the same about itself in every process",
	  .should = MOR_CHECK_YAMS | MOR_CHECK_AYIOU | MOR_CHECK_GASSIST | MOR_CHECK_SUNSCREEN,
	  .fn = check_again,
	  .advice = "name, version and what it offers must not depend on time or on chance" },
	{ .name = "stdout.clean",
	  .title = "writes nothing but messages to stdout",
	  .must = MOR_CHECK_ALL,
	  .fault = MOR_CHECK_NOISE,
	  .advice = "print to stderr; look for print(), console.log() and libraries that log to stdout" },
	{ .name = "stdout.whole",
	  .title = "writes whole messages",
	  .must = MOR_CHECK_ALL,
	  .fault = MOR_CHECK_TRUNCATED,
	  .advice = "end each message as the framing says, and flush stdout before the exit" },
	{ .name = "json.valid",
	  .title = "writes valid JSON in UTF-8",
	  .spec = "RFC 8259",
	  .must = MOR_CHECK_ALL,
	  .fault = MOR_CHECK_BAD_JSON,
	  .advice = "use a JSON library to write: no NaN, no lone surrogates, no raw bytes" },
	{ .name = "json.message",
	  .title = "writes only requests, notifications and responses",
	  .spec = "JSON-RPC 2.0, sections 4 and 5",
	  .must = MOR_CHECK_ALL,
	  .fault = MOR_CHECK_NO_MESSAGE,
	  .advice = "a response has result or error; write \"result\":null where there is nothing to say" },
	{ .name = "json.version",
	  .title = "writes \"jsonrpc\":\"2.0\" in every message",
	  .spec = "JSON-RPC 2.0, sections 4 and 5",
	  .must = MOR_CHECK_PLAIN | MOR_CHECK_SUNSCREEN_JSON | MOR_CHECK_KYTHE,
	  .should = MOR_CHECK_ALL,
	  .fault = MOR_CHECK_NO_VERSION,
	  .advice = "add \"jsonrpc\":\"2.0\": strict hosts refuse the message without it" },
	{ .name = "response.one",
	  .title = "answers with a result or an error, never with both",
	  .spec = "JSON-RPC 2.0, section 5",
	  .must = MOR_CHECK_ALL & ~MOR_CHECK_KYTHE,
	  .fault = MOR_CHECK_BOTH,
	  .advice = "leave out result where there is an error" },
	{ .name = "response.null",
	  .title = "leaves out error in a result, and result in an error",
	  .spec = "JSON-RPC 2.0, section 5",
	  .must = MOR_CHECK_PLAIN,
	  .should = MOR_CHECK_ALL & ~MOR_CHECK_KYTHE,
	  .fault = MOR_CHECK_NULL_BESIDE,
	  .advice = "do not write \"error\":null: some hosts take it for an error" },
	{ .name = "error.object",
	  .title = "writes errors with an integer code and a message",
	  .spec = "JSON-RPC 2.0, section 5.1",
	  .must = MOR_CHECK_ALL & ~MOR_CHECK_KYTHE,
	  .fault = MOR_CHECK_BAD_ERROR,
	  .advice = "\"error\":{\"code\":-32000,\"message\":\"what happened\"}" },
	{ .name = "plugin.asks",
	  .title = "sends no requests: this protocol's hosts answer none",
	  .should = MOR_CHECK_ALL & ~(MOR_CHECK_PLAIN | MOR_CHECK_KYTHE),
	  .fault = MOR_CHECK_ASKS,
	  .advice = "send it as a notification (without id), or not at all" },
	{ .name = "notes.params",
	  .title = "sends notifications with the params that the protocol says",
	  .must = MOR_CHECK_GASSIST | MOR_CHECK_KYTHE,
	  .fault = MOR_CHECK_BAD_NOTE,
	  .advice = "mortise explain DIALECT lists the members and their types" },
	{ .name = "stderr.small",
	  .title = "writes little to stderr while nothing is wrong",
	  .should = MOR_CHECK_ALL,
	  .fault = MOR_CHECK_STDERR_MUCH,
	  .advice = "log less by default: hosts keep stderr, and some stop reading it" },
	{ .name = "stderr.text",
	  .title = "writes text to stderr",
	  .should = MOR_CHECK_ALL,
	  .fault = MOR_CHECK_STDERR_ODD,
	  .advice = "stderr is shown to people: write UTF-8 lines" },
	{ .name = "sandbox.denied",
	  .title = "tries nothing that its permissions do not allow",
	  .spec = "Sandbox",
	  .must = MOR_CHECK_SUNSCREEN | MOR_CHECK_SUNSCREEN_JSON,
	  .fault = MOR_CHECK_DENIED,
	  .advice = "ask for the permission in the manifest, or do without" },
	{ 0 },
};
