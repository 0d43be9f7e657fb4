/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for drivers of Kythe analyzers: the host serves, so its answers are judged. play_kythe.c has the scenes,
 * with the ids of the requests. */
#include <string.h>

#include "base/alloc.h"
#include "check/host_own.h"

#define HEARD          MOR_CHECK_HEARD
#define ROW            MOR_CHECK_HOST_ROW
#define KYTHE          MOR_CHECK_KYTHE
#define PROTOCOL       "Protocol Description"
#define PROTOCOL_ERROR (-1)

/* ---- finding answers ---- */

static const struct mor_value *answer_to(const struct mor_check_heard *heard, int64_t id)
{
	for (size_t i = 0; i < heard->count; i++)
		if (mor_json_is_int(heard->message[i].id) && mor_json_int(heard->message[i].id, 0) == id)
			return heard->message[i].root;
	return NULL;
}

static const struct mor_value *result_of(const struct mor_check_heard *heard, int64_t id)
{
	return mor_json_get(answer_to(heard, id), "result");
}

static bool has_code(const struct mor_value *answer, int64_t code)
{
	const struct mor_value *found = mor_json_at(answer, "/error/code");

	return mor_json_is_int(found) && mor_json_int(found, 0) == code;
}

/* An error to a request whose id could not be read: id null. */
static bool has_nameless(const struct mor_check_heard *heard, int64_t code)
{
	for (size_t i = 0; i < heard->count; i++)
		if (mor_json_type(heard->message[i].id) == MOR_JSON_NULL &&
		    has_code(heard->message[i].root, code))
			return true;
	return false;
}

static const char *refused(const struct mor_check_heard *heard, int64_t id)
{
	if (!has_code(answer_to(heard, id), PROTOCOL_ERROR))
		return "it did not answer ProtocolError (-1)";
	return heard->marks[MOR_CHECK_MARK_END] ? NULL : "it did not close the analyzer's stdin";
}

/* ---- judges ---- */

static const char *judge_server(HEARD)
{
	(void)run;
	for (size_t i = 0; i < heard->count; i++)
		if (heard->message[i].method)
			return "it sent a request or a notification";
	return NULL;
}

static const char *judge_init(HEARD)
{
	(void)run;
	return strcmp(mor_json_text(mor_json_get(result_of(heard, 1), "protocol"), ""), "kythe1") == 0 ?
		       NULL :
		       "it did not echo the protocol \"kythe1\"";
}

static const char *judge_version(HEARD)
{
	(void)run;
	return refused(heard, 1);
}

static const char *judge_early(HEARD)
{
	(void)run;
	return refused(heard, 2);
}

static const char *judge_double(HEARD)
{
	(void)run;
	return refused(heard, 3);
}

static const char *judge_record(HEARD)
{
	const struct mor_method *row = mor_dialect_method(run->dialect, MOR_FROM_PLUGIN, MOR_SLICE("analyze"));
	const struct mor_value *result = result_of(heard, 2);

	return mor_json_type(result) != MOR_JSON_OBJECT || !mor_check_host_valid(row->result, result) ||
			       !*mor_json_text(mor_json_get(result, "output"), "") ||
			       mor_json_type(mor_json_get(result, "inputs")) != MOR_JSON_ARRAY ?
		       "analyze was not answered with a record that has inputs and an output" :
		       NULL;
}

static const char *judge_inputs(HEARD)
{
	(void)run;
	return heard->marks[MOR_CHECK_MARK_INPUT] ? "an input cannot be read at its path" : NULL;
}

static const char *judge_output(HEARD)
{
	(void)run;
	return heard->marks[MOR_CHECK_MARK_OUTPUT] ? "nothing can be appended to the output" : NULL;
}

static const char *judge_vname(HEARD)
{
	(void)run;
	return mor_json_type(mor_json_get(result_of(heard, 3), "vname")) == MOR_JSON_OBJECT ?
		       NULL :
		       "vname was not answered with {\"vname\":{...}}";
}

/* Nested, or flat as in the specification's transcript: another row judges that. */
static const char *judge_unicode(HEARD)
{
	const struct mor_value *result = result_of(heard, 3), *vname = mor_json_get(result, "vname");

	(void)run;
	return strcmp(mor_json_text(mor_json_get(vname ? vname : result, "path"), ""),
		      "\xc3\xa9\xe4\xb8\xad.txt") == 0 ?
		       NULL :
		       "the path of the answer is not the one that was sent";
}

static const char *judge_texts(HEARD)
{
	(void)run;
	for (size_t i = 0; i < heard->count; i++)
		if (strcmp(mor_json_text(heard->message[i].id, ""), "four") == 0)
			return NULL;
	return "a request with the id \"four\" was not answered with that id";
}

static const char *judge_once(HEARD)
{
	(void)run;
	for (size_t i = 0; i < heard->count; i++)
		for (size_t j = 0; j < i; j++)
			if (mor_json_equal(heard->message[i].id, heard->message[j].id) &&
			    mor_json_int(heard->message[i].id, 0) != 9)
				return "two answers with the same id";
	return NULL;
}

static const char *judge_silent(HEARD)
{
	(void)run;
	for (size_t i = 0; i < heard->count; i++)
		if (!heard->message[i].method &&
		    (!heard->message[i].id || mor_json_type(heard->message[i].id) == MOR_JSON_NULL))
			return "a notification was answered";
	return NULL;
}

static const char *judge_joined(HEARD)
{
	(void)run;
	return result_of(heard, 3) && result_of(heard, 4) && result_of(heard, 5) ?
		       NULL :
		       "not all of three requests in one write were answered";
}

static const char *judge_batch(HEARD)
{
	(void)run;
	for (size_t i = 0; i < heard->count; i++)
		if (mor_json_type(heard->message[i].root) == MOR_JSON_ARRAY)
			return mor_json_size(heard->message[i].root) == 2 ?
				       NULL :
				       "a batch of two requests and a notification was not answered by two";
	return "a batch was not answered by an array";
}

static const char *judge_empty(HEARD)
{
	(void)run;
	return has_nameless(heard, -32600) ? NULL : "an empty batch was not answered with -32600 and id null";
}

static const char *judge_text(HEARD)
{
	(void)run;
	return has_nameless(heard, -32700) ?
		       NULL :
		       "a message that is not JSON was not answered with -32700 and id null";
}

static const char *judge_unknown(HEARD)
{
	(void)run;
	return has_code(answer_to(heard, 3), -32601) ? NULL : "an unknown method was not answered with -32601";
}

static const char *judge_params(HEARD)
{
	(void)run;
	return has_code(answer_to(heard, 3), -32602) ? NULL :
						       "a path that is a number was not answered with -32602";
}

static const char *judge_closed(HEARD)
{
	(void)run;
	return heard->marks[MOR_CHECK_MARK_END] ? NULL : "it did not close the analyzer's stdin";
}

static const char *judge_grace(HEARD)
{
	(void)run;
	return heard->marks[MOR_CHECK_MARK_SPARED] ?
		       NULL :
		       "the analyzer was ended less than ten seconds after its stdin";
}

static const char *judge_again(HEARD)
{
	(void)run;
	return heard->marks[MOR_CHECK_MARK_START] > 1 ? mor_check_host_succeeded(run, heard) :
							"it did not start the analyzer again";
}

/* clang-format off */
const struct mor_check_host_row mor_check_host_kythe[] = {
	ROW("wire.server", "sends no requests of its own", PROTOCOL, "good", must, KYTHE, judge_server,
	    "the analyzer is the client"),
	ROW("init.answer", "echoes the protocol in its answer to init", "Methods, init", "good", must, KYTHE,
	    judge_init, "answer {\"protocol\":\"kythe1\"}"),
	ROW("analyze.record", "answers analyze with a record", "Methods, analyze", "good", must, KYTHE,
	    judge_record, "mortise explain kythe lists the members and their types"),
	ROW("analyze.inputs", "shows the record's files at their paths", "Input filesystem", "good", must,
	    KYTHE, judge_inputs, "open() of each input, relative to workingDir, must work"),
	ROW("analyze.output", "gives an output file that can be appended to", "Output", "good", must, KYTHE,
	    judge_output, "make the file before you answer"),
	ROW("vname.answer", "answers vname", "Methods, vname", "good", must, KYTHE, judge_vname,
	    "answer {\"vname\":{\"corpus\":...,\"path\":...}}"),
	ROW("ids.text", "answers a request whose id is a text", "JSON-RPC 2.0, section 5", "good", must, KYTHE,
	    judge_texts, "copy the request's id into the response"),
	ROW("ids.once", "answers each request once", "JSON-RPC 2.0, section 5", "good", must, KYTHE, judge_once,
	    "one response for one request"),
	ROW("notes.silent", "does not answer log and done", "Methods, log", "good", must, KYTHE, judge_silent,
	    "the environment does not reply to notifications"),
	ROW("frame.split", "reads a request that arrives in pieces", PROTOCOL, "split", must, KYTHE,
	    mor_check_host_succeeded, "read as many bytes as the length tag says"),
	ROW("frame.joined", "answers three requests that arrive together", PROTOCOL, "joined", must, KYTHE,
	    judge_joined, "one read may have several frames: the server must support concurrent requests"),
	ROW("frame.bytes", "counts bytes, not characters", PROTOCOL, "unicode", must, KYTHE, judge_unicode,
	    "the length tag is the number of bytes of the body in UTF-8"),
	ROW("batch.array", "answers a batch with an array", PROTOCOL, "batch", must, KYTHE, judge_batch,
	    "one array with the answers to the requests, none to notifications"),
	ROW("batch.empty", "answers an empty batch with -32600", "JSON-RPC 2.0, section 6", "empty", must,
	    KYTHE, judge_empty, "answer one error object with id null, not an array"),
	ROW("method.unknown", "answers an unknown method with -32601", "JSON-RPC 2.0, section 5.1", "unknown",
	    must, KYTHE, judge_unknown, "answer the error and go on"),
	ROW("params.refused", "answers params of a wrong type with -32602", "JSON-RPC 2.0, section 5.1",
	    "params", should, KYTHE, judge_params, "answer the error and go on"),
	ROW("json.refused", "answers a message that is not JSON with -32700", "JSON-RPC 2.0, section 5.1",
	    "text", must, KYTHE, judge_text, "the frame was good: answer the error with id null and go on"),
	ROW("init.first", "refuses analyze before init, and closes", "Methods, init", "early", must, KYTHE,
	    judge_early, "answer ProtocolError (-1), then close the analyzer's stdin"),
	ROW("init.version", "refuses a protocol that it does not know, and closes", "Methods, init", "version",
	    must, KYTHE, judge_version, "answer ProtocolError (-1), then close the analyzer's stdin"),
	ROW("analyze.double", "refuses a second analyze before done, and closes", "Methods, analyze", "double",
	    must, KYTHE, judge_double, "answer ProtocolError (-1), then close the analyzer's stdin"),
	ROW("frame.corrupt", "closes the analyzer's stdin after a corrupt frame", PROTOCOL, "corrupt", must,
	    KYTHE, judge_closed, "a tag that is no number cannot be followed"),
	ROW("start.again", "starts an analyzer again that has exited with status 0 and has no work", PROTOCOL,
	    "again", should, KYTHE, judge_again, "some analyzers clear their state in this way"),
	ROW("stop.grace", "gives the analyzer ten seconds after the end of its stdin", PROTOCOL, "linger", must,
	    KYTHE, judge_grace, "wait ten seconds before SIGTERM or SIGKILL"),
	{ 0 },
};
/* clang-format on */
