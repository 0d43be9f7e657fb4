/* SPDX-License-Identifier: Apache-2.0 */
/* gassist: plugins of G-Assist. A request ends with a response, or with the notification complete or error. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "check/own.h"

#define GASSIST MOR_CHECK_GASSIST
#define INIT    "Protocol Methods, initialize"
#define PING    "Protocol Methods, ping"
#define EXECUTE "Protocol Methods, execute"
#define INPUT   "Protocol Methods, input"
#define BYE     "Protocol Methods, shutdown"
#define PING_MS 1000 /* by the specification */
#define HELLO \
	MOR_CHECK_REQ \
	"1,\"method\":\"initialize\",\"params\":{\"protocol_version\":\"2.0\",\"engine_version\":\"1.0.0\"," \
	"\"capabilities\":[\"streaming\",\"passthrough\"]}}\n"
#define NO_FUNCTION MOR_CHECK_REQ "51,\"method\":\"execute\",\"params\":{\"function\":\"mortise_check\""

/* ---- the end of a request ---- */

struct turn_end {
	const char *id;
	const struct mor_check_message *end;
};

static bool find_end(struct mor_check_session *s, void *arg)
{
	struct turn_end *turn = arg;
	char id[32];

	for (size_t i = 0; i < s->messages && !turn->end; i++) {
		const struct mor_check_message *m = &s->message[i];

		snprintf(id, sizeof(id), "%lld", (long long)mor_json_int(m->id, -1));
		if (mor_check_is_response(m) && strcmp(id, turn->id) == 0)
			turn->end = m;
		if (mor_text_in(mor_json_string(m->method), "complete|error"))
			turn->end = m;
	}
	return turn->end;
}

/* The message that ended request `id`; NULL: the case has failed. */
static const struct mor_check_message *await_end(struct mor_check_case *at, const char *id)
{
	struct turn_end turn = { id, NULL };

	if (!mor_check_goes_on(at))
		return NULL;
	if (!mor_check_wait(at->s, mor_check_call_ms(at->run), find_end, &turn))
		mor_check_fail_silence(at, "the request was not ended", mor_check_call_ms(at->run));
	return turn.end;
}

static void check_unknown(struct mor_check_case *at)
{
	const struct mor_check_message *end;
	bool success;

	mor_check_script(at, NO_FUNCTION ",\"arguments\":{}}}");
	end = await_end(at, "51");
	if (!end)
		return;
	success = end->result ? mor_json_bool(mor_json_get(end->result, "success"), true) :
				!end->error && mor_json_bool(mor_json_at(end->root, "/params/success"), true) &&
					!mor_slice_is(mor_json_string(end->method), "error");
	if (success)
		mor_check_failed(at, "it told success for a function that does not exist");
	mor_check_script(at, "alive");
}

static void check_context(struct mor_check_case *at)
{
	mor_check_script(
		at, NO_FUNCTION
		",\"arguments\":{},\"context\":[{\"role\":\"user\",\"content\":\"hi\"}],\"system_info\":\"none\"}}");
	await_end(at, "51");
	mor_check_script(at, "alive");
}

static void check_no_arguments(struct mor_check_case *at)
{
	mor_check_script(at, NO_FUNCTION "}}");
	await_end(at, "51");
	mor_check_script(at, "alive");
}

/* ---- while it works ---- */

static bool begin_call(struct mor_check_case *at)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	const char *const *names = at->run->opt->call;

	if (!names || strcmp(names[0], "true") == 0) {
		mor_check_unseen(at, "it needs a function that takes its time: --call=NAME");
		return false;
	}
	if (!mor_check_begin(at, false))
		return false;
	mor_buf_text(&text, "{\"jsonrpc\":\"2.0\",\"id\":71,\"method\":\"execute\",\"params\":{\"function\":");
	mor_buf_json_string(&text, mor_slice_of(names[0]));
	mor_buf_text(&text, ",\"arguments\":{}}}");
	mor_check_send(at->s, mor_buf_view(&text));
	return true;
}

static void check_busy(struct mor_check_case *at)
{
	if (begin_call(at))
		mor_check_script(at, MOR_CHECK_REQ
				 "72,\"method\":\"ping\",\"params\":{\"timestamp\":1}}\nexact 72");
}

/* A plugin that ends requests without naming them ends the wrong one some day. */
static void check_request_id(struct mor_check_case *at)
{
	if (!begin_call(at) || !await_end(at, "71"))
		return;
	for (size_t i = 0; i < at->s->messages; i++) {
		const struct mor_check_message *m = &at->s->message[i];

		if (mor_text_in(mor_json_string(m->method), "stream|complete|error") &&
		    mor_json_int(mor_json_at(m->root, "/params/request_id"), -1) != 71)
			mor_check_failed(at, "a notification \"%s\" without request_id 71",
					 mor_json_text(m->method, ""));
	}
}

/* ---- ping and shutdown ---- */

static bool has_pong(struct mor_check_session *s, void *arg)
{
	(void)arg;
	return s->asked_count && s->asked[s->asked_count - 1].answers;
}

static void check_in_time(struct mor_check_case *at)
{
	uint32_t ms = at->run->opt->answer_ms > PING_MS ? at->run->opt->answer_ms : PING_MS;

	mor_check_script(at, "alive\n" MOR_CHECK_REQ "9500,\"method\":\"ping\",\"params\":{\"timestamp\":2}}");
	if (mor_check_goes_on(at) && !mor_check_wait(at->s, ms, has_pong, NULL))
		mor_check_fail_silence(at, "no answer to a ping", ms);
}

static void check_shutdown_note(struct mor_check_case *at)
{
	mor_check_script(at, "bye\nend\nexits");
	for (size_t i = 0; mor_check_goes_on(at) && i < at->s->messages; i++)
		if (mor_check_is_response(&at->s->message[i]))
			mor_check_failed(at, "it answered shutdown, which is a notification");
}

/* Both tell functions; a user sees those of the file. */
static void check_functions(struct mor_check_case *at)
{
	const struct mor_manifest *m = at->run->opt->manifest;
	struct mor_json_iter it = mor_json_iter(mor_doc_root(m->actions)), told;
	const struct mor_value *commands;

	if (!m->file || m->more_actions) {
		mor_check_unseen(at, "there is no manifest.json with all functions");
		return;
	}
	commands = mor_json_get(mor_check_hello(at), "commands");
	if (mor_check_goes_on(at) && !mor_json_size(commands))
		mor_check_unseen(at, "the answer to initialize lists no commands");
	while (mor_check_goes_on(at) && mor_json_next(&it)) {
		const char *name = mor_json_text(mor_json_get(it.value, "name"), "");
		bool found = false;

		told = mor_json_iter(commands);
		while (mor_json_next(&told))
			found |= strcmp(mor_json_text(mor_json_get(told.value, "name"), ""), name) == 0;
		if (!found)
			mor_check_failed(at, "manifest.json has the function %s, initialize does not tell it",
					 name);
	}
}

#define ROW(id, text, section, level, how, cure) MOR_CHECK_ROW(id, text, section, level, GASSIST, how, cure)

static const struct mor_check_row rows[] = {
	ROW("initialize.answer", "answers initialize with success", INIT, must,
	    .script = "start\n" HELLO "succeeds 1 initialize",
	    "answer {\"name\",\"version\",\"capabilities\"} before you start anything slow"),
	ROW("initialize.letter", "answers initialize with all members of the specification", INIT, should,
	    .script = "start\n" HELLO "letter 1 initialize", "name and version are required"),
	ROW("initialize.bare", "accepts initialize without capabilities", INIT, must,
	    .script =
		    "start\n" MOR_CHECK_REQ
		    "1,\"method\":\"initialize\",\"params\":{\"protocol_version\":\"2.0\",\"engine_version\":\"1.0.0\"}}\nsucceeds "
		    "1 initialize",
	    "NVIDIA's emulator does not send them"),
	ROW("manifest.warnings", "has a manifest.json without oddities", "Manifest Requirements", should,
	    .fn = mor_check_manifest_warnings, "docs/reference/manifests.md lists the keys"),
	ROW("manifest.functions", "tells the functions that its manifest.json lists", "Manifest Requirements",
	    should, .fn = check_functions, "keep both in one place"),
	ROW("ping.answer", "answers ping within one second", PING, must, .fn = check_in_time,
	    "read messages in one thread and work in another"),
	ROW("ping.timestamp", "returns the timestamp of a ping", PING, should,
	    .script = MOR_CHECK_REQ "53,\"method\":\"ping\",\"params\":{\"timestamp\":1234567890}}\n"
				    "result 53 {\"timestamp\":1234567890,...}",
	    "\"result\":{\"timestamp\":...} with the number that came"),
	ROW("ping.absent", "answers ping without params", PING, should,
	    .script = MOR_CHECK_REQ "54,\"method\":\"ping\"}\nexact 54",
	    "a ping asks whether you live; the timestamp is not needed for that"),
	ROW("ping.busy", "answers ping while a function runs", PING, should, .fn = check_busy,
	    "run functions in a thread of their own: two missed pings end the plugin"),
	ROW("execute.unknown", "fails for a function that it does not have", EXECUTE, must, .fn = check_unknown,
	    "answer -32601, or send complete with success false"),
	ROW("execute.context", "ends a request that has context and system_info", EXECUTE, must,
	    .fn = check_context, "ignore what you do not need"),
	ROW("execute.no-arguments", "ends a request without arguments", EXECUTE, should,
	    .fn = check_no_arguments, "take missing arguments for {}, or answer -32602"),
	ROW("execute.named", "ends the functions named by --call", EXECUTE, must, .fn = mor_check_calls,
	    "send a response, complete or error for every execute"),
	ROW("execute.request-id", "names the request in stream, complete and error",
	    "Plugin -> Engine, complete", should, .fn = check_request_id,
	    "add \"request_id\" with the id of the execute"),
	ROW("input.stray", "goes on after input outside a session", INPUT, should,
	    .script = MOR_CHECK_REQ
	    "61,\"method\":\"input\",\"params\":{\"content\":\"hello\",\"timestamp\":1}}\nalive",
	    "acknowledge it, or answer with an error"),
	ROW("shutdown.exit", "exits after shutdown and the end of stdin", BYE, must,
	    .script = "bye\nend\nexits", "leave the loop; the host sends SIGTERM 3 s after shutdown"),
	ROW("shutdown.silent", "does not answer shutdown", BYE, should, .fn = check_shutdown_note,
	    "shutdown is a notification"),
	{ 0 },
};

const struct mor_check_tongue mor_check_tongue_gassist = {
	.dialect = GASSIST,
	.name = "gassist",
	.wire = "Message Framing",
	.stop = "Protocol Methods, shutdown",
	.greet = MOR_CHECK_REQ
	"1,\"method\":\"initialize\",\"params\":{\"protocol_version\":\"2.0\",\"engine_version\":\"1.0.0\",\"capabilities\":[\"streaming\",\"passthrough\"]}}\nhello "
	"1",
	.greet_id = "initialize.answer",
	.probe = "\"method\":\"ping\",\"params\":{\"timestamp\":1}",
	.call = "\"method\":\"execute\",\"params\":{\"function\":%s,\"arguments\":{}}",
	.call_method = "execute",
	.bye = "> {\"jsonrpc\":\"2.0\",\"method\":\"shutdown\",\"params\":{}}",
	.rows = rows,
};
