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

static const struct mor_check_row rows[] = {
	{ .name = "call.answer",
	  .title = "answers a call",
	  .spec = STDIO,
	  .must = JSON,
	  .script = CALL("[]") "answered 1",
	  .advice = "read the request, write one response, exit" },
	{ .name = "call.exit",
	  .title = "exits with status 0 after its answer",
	  .spec = STDIO,
	  .must = JSON,
	  .script = CALL("[]") "answered 1\nexits 0",
	  .advice = "any other status fails the call, whatever the answer says" },
	{ .name = "call.single",
	  .title = "writes one answer",
	  .spec = STDIO,
	  .must = JSON,
	  .fn = check_single,
	  .advice = "the runtime takes everything on stdout for one answer" },
	{ .name = "call.framed",
	  .title = "writes its answer with Content-Length",
	  .spec = STDIO,
	  .should = JSON,
	  .fn = check_framed,
	  .advice = "Content-Length: N, CR LF, CR LF, then N bytes" },
	{ .name = "call.headers",
	  .title = "reads header names in any case, and skips other headers",
	  .spec = STDIO,
	  .should = JSON,
	  .fn = check_headers,
	  .advice = "compare header names without case, and ignore those that you do not know" },
	{ .name = "call.split",
	  .title = "reads a request that arrives in pieces",
	  .spec = STDIO,
	  .must = JSON,
	  .script = "start\nsplit " BODY("1", "[]", "app") "\nend\nanswered 1",
	  .advice = "read as many bytes as Content-Length says, or until the end of stdin" },
	{ .name = "call.large",
	  .title = "reads a request of 1 MiB",
	  .spec = STDIO,
	  .must = JSON,
	  .script = CALL("[%B]") "answered 1\nexits 0",
	  .advice = "use no buffer of a fixed size for a message" },
	{ .name = "call.unicode",
	  .title = "reads text outside ASCII",
	  .spec = STDIO,
	  .must = JSON,
	  .script = CALL("[\"\xc3\xa9\xe4\xb8\xad\",\"\\u00e9\"]") "answered 1\nexits 0",
	  .advice = "Content-Length counts bytes, not characters" },
	{ .name = "call.words",
	  .title = "reads arguments with blanks, quotes, newlines and dashes",
	  .spec = STDIO,
	  .must = JSON,
	  .script = CALL("[\"--flag\",\"a b\",\"\\\"q\\\"\",\"x\\ny\",\"\"]") "answered 1\nexits 0",
	  .advice = "arguments are verbatim: never put them into a shell command" },
	{ .name = "call.order",
	  .title = "reads the members of a request in any order",
	  .spec = "RFC 8259, section 4",
	  .must = JSON,
	  .script =
		  "start\n> "
		  "{\"params\":{\"workspace\":\"%W\",\"scratch\":\"%W/scratch\",\"plugin\":\"check\",\"kind\":\"app\",\"command\":\"mortise-check\",\"args\":[]},\"method\":\"sunscreen.command/run\",\"id\":1,\"jsonrpc\":\"2.0\"}\nend\nanswered "
		  "1",
	  .advice = "use a JSON parser, not a search in the text" },
	{ .name = "call.id",
	  .title = "returns another id than 1 unchanged",
	  .spec = "JSON-RPC 2.0, section 5",
	  .should = JSON,
	  .script = "start\n> " BODY("7", "[]", "app") "\nend\nexact 7",
	  .advice = "copy the request's id into the response" },
	{ .name = "call.scaffold",
	  .title = "answers a call of the kind scaffold",
	  .spec = STDIO,
	  .must = JSON,
	  .script = "start\n> " BODY("1", "[\"X\"]", "scaffold") "\nend\nanswered 1\nexits 0",
	  .advice = "kind is app or scaffold, as the manifest says" },
	{ .name = "call.unknown",
	  .title = "refuses a command that it does not have",
	  .spec = STDIO,
	  .should = JSON,
	  .script = CALL("[]") "error 1 any",
	  .advice = "look at params.command; answer an error with a message for the user" },
	{ .name = "call.named",
	  .title = "runs the command named by --call",
	  .spec = STDIO,
	  .must = JSON,
	  .fn = check_named,
	  .advice = "answer with a result, and exit with status 0" },
	{ .name = "method.unknown",
	  .title = "answers an unknown method with -32601",
	  .spec = "JSON-RPC 2.0, section 5.1",
	  .should = JSON,
	  .script = "start\n> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"mortise.check\",\"params\":{}}\nend\n"
		    "error 1 -32601",
	  .advice = "look at the method: sunscreen.command/run or sunscreen.hook/run" },
	{ .name = "hook.answer",
	  .title = "answers a hook",
	  .spec = STDIO,
	  .must = JSON,
	  .script = HOOK "answered 1\nexits 0",
	  .advice = "answer sunscreen.hook/run as you answer sunscreen.command/run" },
	{ .name = "hook.unknown",
	  .title = "refuses a hook that it does not have",
	  .spec = STDIO,
	  .should = JSON,
	  .script = HOOK "error 1 any",
	  .advice = "look at params.command" },
	{ .name = "stop.nothing",
	  .title = "exits if no request comes",
	  .spec = STDIO,
	  .should = JSON,
	  .script = "start\nend\nexits",
	  .advice = "the end of stdin is the end" },
	{ .name = "manifest.summaries",
	  .title = "says what its commands do",
	  .spec = "upstream runtime, manifest.rs",
	  .should = JSON,
	  .fn = check_summaries,
	  .advice = "add \"summary\" to each command: users see it in lists" },
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
