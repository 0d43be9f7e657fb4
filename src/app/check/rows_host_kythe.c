/* SPDX-License-Identifier: Apache-2.0 */
/* Rows for drivers of Kythe analyzers: the host serves, so its answers are judged. play_kythe.c has the scenes,
 * with the ids of the requests. */
#include <string.h>

#include "check/host_own.h"

#define HEARD          MOR_CHECK_HEARD
#define ROW            MOR_CHECK_HOST_ROW
#define JUDGE          MOR_CHECK_JUDGE
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

/* ---- judges ---- */

/* An error to a request whose id could not be read: id null. */
static bool answers_nameless(HEARD)
{
	for (size_t i = 0; i < heard->count; i++)
		if (mor_json_type(heard->message[i].id) == MOR_JSON_NULL &&
		    has_code(heard->message[i].root, arg))
			return true;
	return false;
}

/* The third request, with this code. */
static bool answers_with(HEARD)
{
	return has_code(answer_to(heard, 3), arg);
}

/* The request with this id, and nothing after it. */
static bool refuses(HEARD)
{
	return has_code(answer_to(heard, arg), PROTOCOL_ERROR) && heard->marks[MOR_CHECK_MARK_END];
}

static bool only_serves(HEARD)
{
	for (size_t i = 0; i < heard->count; i++)
		if (heard->message[i].method)
			return false;
	return true;
}

static bool echoes_protocol(HEARD)
{
	return strcmp(mor_json_text(mor_json_get(result_of(heard, 1), "protocol"), ""), "kythe1") == 0;
}

static bool gives_record(HEARD)
{
	const struct mor_method *row =
		mor_dialect_method(heard->dialect, MOR_FROM_PLUGIN, MOR_SLICE("analyze"));
	const struct mor_value *result = result_of(heard, 2);

	return mor_json_type(result) == MOR_JSON_OBJECT && mor_check_host_valid(row->result, result) &&
	       *mor_json_text(mor_json_get(result, "output"), "") &&
	       mor_json_type(mor_json_get(result, "inputs")) == MOR_JSON_ARRAY;
}

static bool gives_vname(HEARD)
{
	return mor_json_type(mor_json_get(result_of(heard, 3), "vname")) == MOR_JSON_OBJECT;
}

/* Nested, or flat as in the specification's transcript: another row judges that. */
static bool counts_bytes(HEARD)
{
	const struct mor_value *result = result_of(heard, 3), *vname = mor_json_get(result, "vname");

	return strcmp(mor_json_text(mor_json_get(vname ? vname : result, "path"), ""),
		      "\xc3\xa9\xe4\xb8\xad.txt") == 0;
}

static bool takes_texts(HEARD)
{
	for (size_t i = 0; i < heard->count; i++)
		if (strcmp(mor_json_text(heard->message[i].id, ""), "four") == 0)
			return true;
	return false;
}

static bool answers_once(HEARD)
{
	for (size_t i = 0; i < heard->count; i++)
		for (size_t j = 0; j < i; j++)
			if (mor_json_equal(heard->message[i].id, heard->message[j].id) &&
			    mor_json_int(heard->message[i].id, 0) != 9)
				return false;
	return true;
}

static bool answers_no_notes(HEARD)
{
	for (size_t i = 0; i < heard->count; i++)
		if (!heard->message[i].method &&
		    (!heard->message[i].id || mor_json_type(heard->message[i].id) == MOR_JSON_NULL))
			return false;
	return true;
}

static bool answers_three(HEARD)
{
	return result_of(heard, 3) && result_of(heard, 4) && result_of(heard, 5);
}

static bool answers_batch(HEARD)
{
	for (size_t i = 0; i < heard->count; i++)
		if (mor_json_type(heard->message[i].root) == MOR_JSON_ARRAY)
			return mor_json_size(heard->message[i].root) == 2;
	return false;
}

static bool starts_again(HEARD)
{
	return heard->marks[MOR_CHECK_MARK_START] > 1 && heard->status == 0;
}

#define REFUSES(id) JUDGE(refuses, id, "it did not answer ProtocolError (-1) and close the analyzer's stdin")

const struct mor_check_host_row mor_check_host_kythe[] = {
	ROW("wire.server", "sends no requests of its own", PROTOCOL, "good", must, KYTHE,
	    JUDGE(only_serves, 0, "it sent a request or a notification"), "the analyzer is the client"),
	ROW("init.answer", "echoes the protocol in its answer to init", "Methods, init", "good", must, KYTHE,
	    JUDGE(echoes_protocol, 0, "it did not echo the protocol \"kythe1\""),
	    "answer {\"protocol\":\"kythe1\"}"),
	ROW("analyze.record", "answers analyze with a record", "Methods, analyze", "good", must, KYTHE,
	    JUDGE(gives_record, 0, "analyze was not answered with a record that has inputs and an output"),
	    "mortise explain kythe lists the members and their types"),
	ROW("analyze.inputs", "shows the record's files at their paths", "Input filesystem", "good", must,
	    KYTHE, JUDGE(mor_check_host_unmarked, MOR_CHECK_MARK_INPUT, "an input cannot be read at its path"),
	    "open() of each input, relative to workingDir, must work"),
	ROW("analyze.output", "gives an output file that can be appended to", "Output", "good", must, KYTHE,
	    JUDGE(mor_check_host_unmarked, MOR_CHECK_MARK_OUTPUT, "nothing can be appended to the output"),
	    "make the file before you answer"),
	ROW("vname.answer", "answers vname", "Methods, vname", "good", must, KYTHE,
	    JUDGE(gives_vname, 0, "vname was not answered with {\"vname\":{...}}"),
	    "answer {\"vname\":{\"corpus\":...,\"path\":...}}"),
	ROW("ids.text", "answers a request whose id is a text", "JSON-RPC 2.0, section 5", "good", must, KYTHE,
	    JUDGE(takes_texts, 0, "a request with the id \"four\" was not answered with that id"),
	    "copy the request's id into the response"),
	ROW("ids.once", "answers each request once", "JSON-RPC 2.0, section 5", "good", must, KYTHE,
	    JUDGE(answers_once, 0, "two answers with the same id"), "one response for one request"),
	ROW("notes.silent", "does not answer log and done", "Methods, log", "good", must, KYTHE,
	    JUDGE(answers_no_notes, 0, "a notification was answered"),
	    "the environment does not reply to notifications"),
	ROW("frame.split", "reads a request that arrives in pieces", PROTOCOL, "split", must, KYTHE,
	    MOR_CHECK_SUCCEEDS, "read as many bytes as the length tag says"),
	ROW("frame.joined", "answers three requests that arrive together", PROTOCOL, "joined", must, KYTHE,
	    JUDGE(answers_three, 0, "not all of three requests in one write were answered"),
	    "one read may have several frames: the server must support concurrent requests"),
	ROW("frame.bytes", "counts bytes, not characters", PROTOCOL, "unicode", must, KYTHE,
	    JUDGE(counts_bytes, 0, "the path of the answer is not the one that was sent"),
	    "the length tag is the number of bytes of the body in UTF-8"),
	ROW("batch.array", "answers a batch with an array", PROTOCOL, "batch", must, KYTHE,
	    JUDGE(answers_batch, 0,
		  "a batch of two requests and a notification was not answered by an array of two"),
	    "one array with the answers to the requests, none to notifications"),
	ROW("batch.empty", "answers an empty batch with -32600", "JSON-RPC 2.0, section 6", "empty", must,
	    KYTHE, JUDGE(answers_nameless, -32600, "an empty batch was not answered with -32600 and id null"),
	    "answer one error object with id null, not an array"),
	ROW("method.unknown", "answers an unknown method with -32601", "JSON-RPC 2.0, section 5.1", "unknown",
	    must, KYTHE, JUDGE(answers_with, -32601, "an unknown method was not answered with -32601"),
	    "answer the error and go on"),
	ROW("params.refused", "answers params of a wrong type with -32602", "JSON-RPC 2.0, section 5.1",
	    "params", should, KYTHE,
	    JUDGE(answers_with, -32602, "a path that is a number was not answered with -32602"),
	    "answer the error and go on"),
	ROW("json.refused", "answers a message that is not JSON with -32700", "JSON-RPC 2.0, section 5.1",
	    "text", must, KYTHE,
	    JUDGE(answers_nameless, -32700,
		  "a message that is not JSON was not answered with -32700 and id null"),
	    "the frame was good: answer the error with id null and go on"),
	ROW("init.first", "refuses analyze before init, and closes", "Methods, init", "early", must, KYTHE,
	    REFUSES(2), "answer ProtocolError (-1), then close the analyzer's stdin"),
	ROW("init.version", "refuses a protocol that it does not know, and closes", "Methods, init", "version",
	    must, KYTHE, REFUSES(1), "answer ProtocolError (-1), then close the analyzer's stdin"),
	ROW("analyze.double", "refuses a second analyze before done, and closes", "Methods, analyze", "double",
	    must, KYTHE, REFUSES(3), "answer ProtocolError (-1), then close the analyzer's stdin"),
	ROW("frame.corrupt", "closes the analyzer's stdin after a corrupt frame", PROTOCOL, "corrupt", must,
	    KYTHE, JUDGE(mor_check_host_marked, MOR_CHECK_MARK_END, "it did not close the analyzer's stdin"),
	    "a tag that is no number cannot be followed"),
	ROW("start.again", "starts an analyzer again that has exited with status 0 and has no work", PROTOCOL,
	    "again", should, KYTHE, JUDGE(starts_again, 0, "it did not start the analyzer again, or failed"),
	    "some analyzers clear their state in this way"),
	ROW("stop.grace", "gives the analyzer ten seconds after the end of its stdin", PROTOCOL, "linger", must,
	    KYTHE,
	    JUDGE(mor_check_host_marked, MOR_CHECK_MARK_SPARED,
		  "the analyzer was ended less than ten seconds after its stdin"),
	    "wait ten seconds before SIGTERM or SIGKILL"),
	{ 0 },
};
