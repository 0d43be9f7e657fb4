/* SPDX-License-Identifier: Apache-2.0 */
/* sunscreen-json: one process per call. The request is written, stdin is closed, one answer and
 * exit 0 follow. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "check/own.h"

#define JSON        MOR_CHECK_SUNSCREEN_JSON
#define STDIO       "upstream runtime, stdio.rs"
#define CALL_PLACES "\"plugin\":\"check\",\"scratch\":\"%W/scratch\",\"workspace\":\"%W\"}}"
#define BODY(id, args, kind) \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"sunscreen.command/run\",\"params\":{\"args\":" args \
	",\"command\":\"mortise-check\",\"kind\":\"" kind "\"," CALL_PLACES
#define CALL(args) "start\n> " BODY("1", args, "app") "\nend\n"
#define HOOK \
	"start\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sunscreen.hook/run\",\"params\":{\"args\":[]," \
	"\"command\":\"mortise-check\",\"kind\":\"hook\"," CALL_PLACES "\nend\n"

/* What the runtime would not accept a second of. */
static void check_single(struct mor_check_case *at)
{
	size_t answers = 0;

	mor_check_script(at, CALL("[]") "answered 1\nexits");
	for (size_t i = 0; mor_check_goes_on(at) && i < at->s->messages; i++)
		answers += at->s->message[i].result || at->s->message[i].error;
	if (mor_check_goes_on(at) && answers != 1)
		mor_check_failed(at, "%zu answers came; the runtime reads one", answers);
}

static void check_framed(struct mor_check_case *at)
{
	mor_check_script(at, CALL("[]") "answered 1");
	if (mor_check_goes_on(at) && !at->s->headers)
		mor_check_failed(at, "the answer has no Content-Length");
}

/* Spelt otherwise, and with another header before it. */
static void check_headers(struct mor_check_case *at)
{
	MOR_CLEAN(mor_buf) struct mor_buf body = MOR_BUF_INIT, frame = MOR_BUF_INIT;

	if (!mor_check_begin(at, true))
		return;
	mor_check_expand(at, mor_slice_of(BODY("1", "[]", "app")), &body);
	mor_buf_printf(&frame, "Content-Type: application/json\r\ncontent-length: %zu\r\n\r\n%.*s", body.len,
		       (int)body.len, body.data);
	mor_check_asks(at->s, mor_buf_view(&body));
	mor_check_send_raw(at->s, mor_buf_view(&frame));
	mor_check_script(at, "end\nanswered 1");
}

static const char *kind_of(const struct mor_check_run *run, const char *name)
{
	struct mor_json_iter it = mor_json_iter(mor_doc_root(run->opt->manifest->actions));

	while (mor_json_next(&it))
		if (strcmp(mor_json_text(mor_json_get(it.value, "name"), ""), name) == 0)
			return mor_json_text(mor_json_get(it.value, "kind"), "app");
	return "app";
}

static void check_named(struct mor_check_case *at)
{
	const char *name = at->run->opt->call ? at->run->opt->call[0] : NULL;
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	if (!name || strcmp(name, "true") == 0) {
		mor_check_unseen(at, "commands of the author are called only with --call=NAME");
		return;
	}
	mor_buf_text(
		&line,
		"start\n> "
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sunscreen.command/run\",\"params\":{\"args\":[],\"command\":");
	mor_buf_json_string(&line, mor_slice_of(name));
	mor_buf_printf(&line, ",\"kind\":\"%s\",", kind_of(at->run, name));
	mor_buf_text(&line, CALL_PLACES "\nend\nresult 1\nexits 0");
	if (mor_buf_byte(&line, '\0') == 0)
		mor_check_script(at, line.data);
}

static void check_summaries(struct mor_check_case *at)
{
	const struct mor_manifest *m = at->run->opt->manifest;
	struct mor_json_iter it = mor_json_iter(mor_json_get(m->doc ? mor_doc_root(m->doc) : NULL, "commands"));

	if (!m->file)
		mor_check_unseen(at, "there is no sunscreen-plugin.json");
	while (mor_check_goes_on(at) && mor_json_next(&it))
		if (!*mor_json_text(mor_json_get(it.value, "summary"), ""))
			mor_check_failed(at, "the command %s has no summary",
					 mor_json_text(mor_json_get(it.value, "name"), "?"));
}

#define ROW(id, text, section, level, how, cure) MOR_CHECK_ROW(id, text, section, level, JSON, how, cure)

static const struct mor_check_row rows[] = {
	ROW("call.answer", "answers a call", STDIO, must, .script = CALL("[]") "answered 1",
	    "read the request, write one response, exit"),
	ROW("call.exit", "exits with status 0 after its answer", STDIO, must,
	    .script = CALL("[]") "answered 1\nexits 0",
	    "any other status fails the call, whatever the answer says"),
	ROW("call.single", "writes one answer", STDIO, must, .fn = check_single,
	    "the runtime takes everything on stdout for one answer"),
	ROW("call.framed", "writes its answer with Content-Length", STDIO, should, .fn = check_framed,
	    "Content-Length: N, CR LF, CR LF, then N bytes"),
	ROW("call.headers", "reads header names in any case, and skips other headers", STDIO, should,
	    .fn = check_headers, "compare header names without case, and ignore those that you do not know"),
	ROW("call.split", "reads a request that arrives in pieces", STDIO, must,
	    .script = "start\nsplit " BODY("1", "[]", "app") "\nend\nanswered 1",
	    "read as many bytes as Content-Length says, or until the end of stdin"),
	ROW("call.large", "reads a request of 1 MiB", STDIO, must, .script = CALL("[%B]") "answered 1\nexits 0",
	    "use no buffer of a fixed size for a message"),
	ROW("call.unicode", "reads text outside ASCII", STDIO, must,
	    .script = CALL("[\"\xc3\xa9\xe4\xb8\xad\",\"\\u00e9\"]") "answered 1\nexits 0",
	    "Content-Length counts bytes, not characters"),
	ROW("call.words", "reads arguments with blanks, quotes, newlines and dashes", STDIO, must,
	    .script = CALL("[\"--flag\",\"a b\",\"\\\"q\\\"\",\"x\\ny\",\"\"]") "answered 1\nexits 0",
	    "arguments are verbatim: never put them into a shell command"),
	ROW("call.order", "reads the members of a request in any order", "RFC 8259, section 4", must,
	    .script =
		    "start\n> "
		    "{\"params\":{\"workspace\":\"%W\",\"scratch\":\"%W/scratch\",\"plugin\":\"check\",\"kind\":\"app\",\"command\":\"mortise-check\",\"args\":[]},\"method\":\"sunscreen.command/run\",\"id\":1,\"jsonrpc\":\"2.0\"}\nend\nanswered "
		    "1",
	    "use a JSON parser, not a search in the text"),
	ROW("call.id", "returns another id than 1 unchanged", "JSON-RPC 2.0, section 5", should,
	    .script = "start\n> " BODY("7", "[]", "app") "\nend\nexact 7",
	    "copy the request's id into the response"),
	ROW("call.scaffold", "answers a call of the kind scaffold", STDIO, must,
	    .script = "start\n> " BODY("1", "[\"X\"]", "scaffold") "\nend\nanswered 1\nexits 0",
	    "kind is app or scaffold, as the manifest says"),
	ROW("call.unknown", "refuses a command that it does not have", STDIO, should,
	    .script = CALL("[]") "error 1 any",
	    "look at params.command; answer an error with a message for the user"),
	ROW("call.named", "runs the command named by --call", STDIO, must, .fn = check_named,
	    "answer with a result, and exit with status 0"),
	ROW("method.unknown", "answers an unknown method with -32601", "JSON-RPC 2.0, section 5.1", should,
	    .script =
		    "start\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"mortise.check\",\"params\":{}}\nend\n"
		    "error 1 -32601",
	    "look at the method: sunscreen.command/run or sunscreen.hook/run"),
	ROW("hook.answer", "answers a hook", STDIO, must, .script = HOOK "answered 1\nexits 0",
	    "answer sunscreen.hook/run as you answer sunscreen.command/run"),
	ROW("hook.unknown", "refuses a hook that it does not have", STDIO, should, .script = HOOK "error 1 any",
	    "look at params.command"),
	ROW("stop.nothing", "exits if no request comes", STDIO, should, .script = "start\nend\nexits",
	    "the end of stdin is the end"),
	ROW("manifest.summaries", "says what its commands do", "upstream runtime, manifest.rs", should,
	    .fn = check_summaries, "add \"summary\" to each command: users see it in lists"),
	{ 0 },
};

const struct mor_check_tongue mor_check_tongue_sunscreen_json = {
	.dialect = JSON,
	.name = "sunscreen-json",
	.wire = STDIO,
	.stop = STDIO,
	.greet_id = "call.answer",
	.probe = "\"method\":\"mortise.check\"",
	.rows = rows,
};
