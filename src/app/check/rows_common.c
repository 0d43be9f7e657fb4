/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that several dialects share: framing, JSON-RPC, ids, the end, stdout and stderr. */
#include "base/alloc.h"
#include "check/own.h"

#define LINES   (MOR_CHECK_PLAIN | MOR_CHECK_YAMS | MOR_CHECK_AYIOU | MOR_CHECK_SUNSCREEN)
#define SERVERS MOR_CHECK_SERVERS

/* Eight requests at once, answered in any order. */
#define ASK(id)    MOR_CHECK_REQ id ",%P}\n"
#define ASK_EIGHT  ASK("60") ASK("61") ASK("62") ASK("63") ASK("64") ASK("65") ASK("66") ASK("67")
#define ANSWERS_60 "answered 60\nanswered 61\nanswered 62\nanswered 63\n"
#define ANSWERS_64 "answered 64\nanswered 65\nanswered 66\nanswered 67"

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

#define ROW(...) MOR_CHECK_ROW(__VA_ARGS__)
/* a must for some, and a should for others */
#define BOTH(id, text, section, musts, shoulds, how, cure) \
	{ \
		.name = id, .title = text, .spec = section, .must = musts, .should = shoulds, how, \
		.advice = cure \
	}

const struct mor_check_row mor_check_common_rows[] = {
	/* ---- framing ---- */
	ROW("framing.split", "reads a request that arrives in pieces", NULL, must, SERVERS,
	    .script = "split {\"jsonrpc\":\"2.0\",\"id\":11,%P}\nexact 11",
	    "read until a whole message is there; one read() is not one message"),
	BOTH("framing.joined", "reads two requests that arrive together", NULL,
	     MOR_CHECK_PLAIN | MOR_CHECK_GASSIST, SERVERS,
	     .script = "hold\n" MOR_CHECK_REQ "12,%P}\n" MOR_CHECK_REQ "13,%P}\nflush\nexact 12\nexact 13",
	     "keep what is behind the first message for the next round"),
	ROW("framing.large", "reads a request of 1 MiB", NULL, must, SERVERS,
	    .script = MOR_CHECK_REQ "14,\"pad\":%B,%P}\nanswered 14\nalive",
	    "use no buffer of a fixed size for a message"),
	ROW("framing.unicode", "reads text outside ASCII, plain and escaped", NULL, must, SERVERS,
	    .script = MOR_CHECK_REQ
	    "15,\"pad\":\"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x8c\x8d \\u00e9\\ud83c\\udf0d\",%P}\n"
	    "answered 15\nalive",
	    "read and write UTF-8, whatever the locale is; the length counts bytes"),
	ROW("framing.spaces", "reads JSON with blanks between its parts", "RFC 8259, section 2", must, SERVERS,
	    .script = "> { \"jsonrpc\" : \"2.0\" ,\t\"id\" :  16 , %P }\nanswered 16",
	    "use a JSON parser, not a search in the text"),
	ROW("framing.order", "reads the members of a request in any order", "RFC 8259, section 4", must,
	    SERVERS, .script = "> {%P,\"id\":17,\"jsonrpc\":\"2.0\"}\nanswered 17",
	    "use a JSON parser, not a search in the text"),
	ROW("framing.crlf", "reads a line that ends in CR LF", NULL, should, LINES,
	    .script = "framing lines\nraw {\"jsonrpc\":\"2.0\",\"id\":18,%P}\\r\\n\nanswered 18",
	    "remove white space at the end of a line before it is parsed"),
	ROW("framing.blank", "skips an empty line", NULL, should, LINES,
	    .script = "framing lines\nraw \\n\nquiet", "an empty line is no message: read the next one"),

	/* ---- requests ---- */
	ROW("request.extra", "ignores members of a request that it does not know", "JSON-RPC 2.0, section 4",
	    should, SERVERS, .script = MOR_CHECK_REQ "21,\"mortise\":true,%P}\nanswered 21",
	    "look at jsonrpc, id, method and params, and skip the rest"),
	ROW("request.no-method", "answers a request without a method with -32600", "JSON-RPC 2.0, section 5.1",
	    should, SERVERS, .script = MOR_CHECK_REQ "22}\nerror 22 -32600\nalive",
	    "answer {\"error\":{\"code\":-32600,...}} and go on"),
	ROW("request.method-type", "answers a request whose method is a number with -32600",
	    "JSON-RPC 2.0, section 5.1", should, SERVERS,
	    .script = MOR_CHECK_REQ "23,\"method\":7}\nerror 23 -32600\nalive",
	    "answer {\"error\":{\"code\":-32600,...}} and go on"),
	ROW("request.not-json", "goes on after a message that is not JSON", "JSON-RPC 2.0, section 5.1", should,
	    SERVERS, .script = "frame {\"jsonrpc\":\"2.0\",\"id\":24,\nalive",
	    "catch the parser's error; the next message may be good"),
	ROW("request.not-json-code", "answers a message that is not JSON with -32700 and id null",
	    "JSON-RPC 2.0, section 5.1", should, SERVERS,
	    .script = "frame {\"jsonrpc\":\"2.0\",\"id\":25,\nerror null -32700",
	    "answer {\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,...}}"),
	ROW("request.positions", "answers a request whose params are an array", "JSON-RPC 2.0, section 4.2",
	    should, MOR_CHECK_PLAIN | MOR_CHECK_YAMS | MOR_CHECK_AYIOU | MOR_CHECK_SUNSCREEN,
	    .script =
		    MOR_CHECK_REQ "26,\"method\":\"mortise.check\",\"params\":[1,\"two\"]}\nanswered 26\nalive",
	    "params may be an array: take it, or answer -32602"),
	ROW("method.unknown", "answers an unknown method with -32601", "JSON-RPC 2.0, section 5.1", must,
	    SERVERS,
	    .script = MOR_CHECK_REQ "27,\"method\":\"mortise.check\",\"params\":{}}\nerror 27 -32601\nalive",
	    "answer {\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}"),

	/* ---- notifications ---- */
	BOTH("note.unknown", "does not answer an unknown notification", "JSON-RPC 2.0, section 4.1",
	     MOR_CHECK_PLAIN, SERVERS, .script = "> {\"jsonrpc\":\"2.0\",\"method\":\"mortise.check\"}\nquiet",
	     "a message without an id is a notification: never answer it, not even with an error"),
	ROW("note.known", "does not answer a notification of a method that it has", "JSON-RPC 2.0, section 4.1",
	    should, SERVERS & ~MOR_CHECK_PLAIN, .script = "> {\"jsonrpc\":\"2.0\",%P}\nquiet",
	    "a message without an id is a notification: never answer it"),

	/* ---- ids ---- */
	ROW("ids.large", "returns the id 2147483647 unchanged", "JSON-RPC 2.0, section 5", must, SERVERS,
	    .script = MOR_CHECK_REQ "2147483647,%P}\nexact 2147483647",
	    "keep the id as it came, as a JSON value"),
	ROW("ids.jump", "accepts ids in any order", "JSON-RPC 2.0, section 4", must, SERVERS,
	    .script = MOR_CHECK_REQ "500,%P}\nexact 500\n" MOR_CHECK_REQ "3,%P}\nexact 3",
	    "an id only names a request; do not count with it"),
	ROW("ids.zero", "takes the id 0 for an id", "JSON-RPC 2.0, section 4", should, SERVERS,
	    .script = MOR_CHECK_REQ "0,%P}\nexact 0",
	    "test whether the member id is there, not whether its value counts as true"),
	ROW("ids.string", "returns an id that is a string unchanged", "JSON-RPC 2.0, section 4", must,
	    MOR_CHECK_PLAIN, .script = MOR_CHECK_REQ "\"a-\\u00e9-1\",%P}\nexact \"a-\xc3\xa9-1\"",
	    "keep the id as it came, as a JSON value"),
	ROW("ids.digits", "returns an id of 17 digits with all its digits", "JSON-RPC 2.0, section 5", should,
	    MOR_CHECK_PLAIN, .script = MOR_CHECK_REQ "36028797018963969,%P}\nexact 36028797018963969",
	    "a number of JSON is not always a double: keep the id's text, or use 64-bit integers"),
	BOTH("ids.echo", "answers only what was asked, with the id that was sent", "JSON-RPC 2.0, section 5",
	     MOR_CHECK_ALL & ~(MOR_CHECK_KYTHE | MOR_CHECK_SUNSCREEN_JSON), MOR_CHECK_SUNSCREEN_JSON,
	     .fault = MOR_CHECK_STRANGE_ID, "copy the request's id into the response: same value, same type"),
	ROW("ids.once", "answers each request once", "JSON-RPC 2.0, section 5", must,
	    MOR_CHECK_ALL & ~MOR_CHECK_KYTHE, .fault = MOR_CHECK_TWICE,
	    "after an error was sent, send no result; look for two places that answer"),

	/* ---- batches: only where hosts may send them ---- */
	ROW("batch.answers", "answers a batch with one array", "JSON-RPC 2.0, section 6", should,
	    MOR_CHECK_PLAIN,
	    .script = "> [{\"jsonrpc\":\"2.0\",\"id\":31,%P},{\"jsonrpc\":\"2.0\",\"id\":32,%P}]\nanswered 31\n"
		      "answered 32",
	    "if the message is an array, answer each element, and send the answers as one array"),
	ROW("batch.notes", "answers a batch of notifications with nothing", "JSON-RPC 2.0, section 6", should,
	    MOR_CHECK_PLAIN, .script = "> [{\"jsonrpc\":\"2.0\",\"method\":\"mortise.check\"}]\nquiet",
	    "if no element of a batch needs an answer, send nothing, not even []"),
	ROW("batch.empty", "answers an empty batch with -32600", "JSON-RPC 2.0, section 6", should,
	    MOR_CHECK_PLAIN, .script = "> []\nerror null -32600\nalive",
	    "an empty array is an invalid request: one error with id null"),

	/* ---- many ---- */
	ROW("load.repeat", "answers 50 requests in a row", NULL, must, SERVERS, .script = "alive 50",
	    "look for a buffer, file or thread that is not given back"),
	BOTH("load.pipeline", "answers eight requests that were written at once", NULL,
	     MOR_CHECK_PLAIN | MOR_CHECK_GASSIST, SERVERS,
	     .script = "hold\n" ASK_EIGHT "flush\n" ANSWERS_60 ANSWERS_64,
	     "process all whole messages that are in the buffer before the next read()"),

	/* ---- the end ---- */
	ROW("stop.eof", "exits when its stdin ends", "%S", must, SERVERS, .script = "end\nexits",
	    "read() returned 0: leave the loop, end all threads, and exit"),
	ROW("stop.status", "exits with status 0 when its stdin ends", "%S", should, SERVERS,
	    .script = "end\nexits 0", "the end of stdin is no error"),
	ROW("stop.answers-first", "answers what it was asked before it exits", "%S", should, SERVERS,
	    .script = MOR_CHECK_REQ "41,%P}\nend\nanswered 41\nexits",
	    "process what was read before the end of stdin, and flush stdout"),
	ROW("stop.term", "ends on SIGTERM", "%S", should, SERVERS, .script = "alive\nterm\nexits",
	    "do not ignore SIGTERM: after it comes SIGKILL"),

	/* ---- the whole run ---- */
	ROW("start.silent", "says nothing before it is asked", NULL, must, SERVERS, .fn = check_silent,
	    "send the first message as an answer to the first request"),
	ROW("start.again", "tells the same about itself in every process", NULL, should,
	    MOR_CHECK_YAMS | MOR_CHECK_AYIOU | MOR_CHECK_GASSIST | MOR_CHECK_SUNSCREEN, .fn = check_again,
	    "name, version and what it offers must not depend on time or on chance"),
	ROW("stdout.clean", "writes nothing but messages to stdout", NULL, must, MOR_CHECK_ALL,
	    .fault = MOR_CHECK_NOISE,
	    "print to stderr; look for print(), console.log() and libraries that log to stdout"),
	ROW("stdout.whole", "writes whole messages", NULL, must, MOR_CHECK_ALL, .fault = MOR_CHECK_TRUNCATED,
	    "end each message as the framing says, and flush stdout before the exit"),
	ROW("json.valid", "writes valid JSON in UTF-8", "RFC 8259", must, MOR_CHECK_ALL,
	    .fault = MOR_CHECK_BAD_JSON,
	    "use a JSON library to write: no NaN, no lone surrogates, no raw bytes"),
	ROW("json.message", "writes only requests, notifications and responses",
	    "JSON-RPC 2.0, sections 4 and 5", must, MOR_CHECK_ALL, .fault = MOR_CHECK_NO_MESSAGE,
	    "a response has result or error; write \"result\":null where there is nothing to say"),
	BOTH("json.version", "writes \"jsonrpc\":\"2.0\" in every message", "JSON-RPC 2.0, sections 4 and 5",
	     MOR_CHECK_PLAIN | MOR_CHECK_SUNSCREEN_JSON | MOR_CHECK_KYTHE, MOR_CHECK_ALL,
	     .fault = MOR_CHECK_NO_VERSION,
	     "add \"jsonrpc\":\"2.0\": strict hosts refuse the message without it"),
	ROW("response.one", "answers with a result or an error, never with both", "JSON-RPC 2.0, section 5",
	    must, MOR_CHECK_ALL & ~MOR_CHECK_KYTHE, .fault = MOR_CHECK_BOTH,
	    "leave out result where there is an error"),
	BOTH("response.null", "leaves out error in a result, and result in an error", "JSON-RPC 2.0, section 5",
	     MOR_CHECK_PLAIN, MOR_CHECK_ALL & ~MOR_CHECK_KYTHE, .fault = MOR_CHECK_NULL_BESIDE,
	     "do not write \"error\":null: some hosts take it for an error"),
	ROW("error.object", "writes errors with an integer code and a message", "JSON-RPC 2.0, section 5.1",
	    must, MOR_CHECK_ALL & ~MOR_CHECK_KYTHE, .fault = MOR_CHECK_BAD_ERROR,
	    "\"error\":{\"code\":-32000,\"message\":\"what happened\"}"),
	ROW("plugin.asks", "sends no requests: this protocol's hosts answer none", NULL, should,
	    MOR_CHECK_ALL & ~(MOR_CHECK_PLAIN | MOR_CHECK_KYTHE), .fault = MOR_CHECK_ASKS,
	    "send it as a notification (without id), or not at all"),
	ROW("notes.params", "sends notifications with the params that the protocol says", NULL, must,
	    MOR_CHECK_GASSIST | MOR_CHECK_KYTHE, .fault = MOR_CHECK_BAD_NOTE,
	    "mortise explain DIALECT lists the members and their types"),
	ROW("stderr.small", "writes little to stderr while nothing is wrong", NULL, should, MOR_CHECK_ALL,
	    .fault = MOR_CHECK_STDERR_MUCH, "log less by default: hosts keep stderr, and some stop reading it"),
	ROW("stderr.text", "writes text to stderr", NULL, should, MOR_CHECK_ALL, .fault = MOR_CHECK_STDERR_ODD,
	    "stderr is shown to people: write UTF-8 lines"),
	ROW("sandbox.denied", "tries nothing that its permissions do not allow", "Sandbox", must,
	    MOR_CHECK_SUNSCREEN | MOR_CHECK_SUNSCREEN_JSON, .fault = MOR_CHECK_DENIED,
	    "ask for the permission in the manifest, or do without"),
	{ 0 },
};
