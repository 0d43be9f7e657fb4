/* SPDX-License-Identifier: Apache-2.0 */
/* kythe: the roles are turned. The analyzer asks, and we are the driver: we greet back, give it a record, and
 * look at what it does. */
#include "check/own.h"

#include <stdio.h>
#include <string.h>

#define KYTHE MOR_CHECK_KYTHE
/* beginnings of scripts */
#define GREETS "start\ninit\n"
#define ASKS   GREETS "accept\nasks\n"
#define WORKS  "start\nwork"

/* ---- init ---- */

static void check_first(struct mor_check_case *at)
{
	mor_check_script(at, "start\ninit");
	if (mor_check_goes_on(at) && at->s->message[0].method &&
	    strcmp(mor_json_text(at->s->message[0].method, ""), "init") != 0)
		mor_check_failed(at, "its first message is \"%s\"",
				 mor_json_text(at->s->message[0].method, ""));
}

static void check_once(struct mor_check_case *at)
{
	size_t count = 0;

	mor_check_script(at, WORKS "\nasks");
	if (!at->s)
		return;
	for (size_t i = 0; i < at->s->messages; i++)
		count += strcmp(mor_json_text(at->s->message[i].method, ""), "init") == 0;
	if (count != 1)
		mor_check_failed(at, "init came %zu times", count);
}

/* ---- analyze ---- */

static bool is_word(const char *c)
{
	return (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
	       (*c & 0x80) || (*c && strchr("-.@#$%&_+:()", *c));
}

/* "/" | 1*("/" word) */
static bool is_type(const char *text)
{
	if (strcmp(text, "/") == 0)
		return true;
	if (*text != '/')
		return false;
	for (; *text; text++)
		if (*text == '/' ? !is_word(text + 1) : !is_word(text))
			return false;
	return true;
}

static void check_types(struct mor_check_case *at)
{
	const struct mor_value *types;
	struct mor_json_iter it;

	mor_check_script(at, ASKS);
	types = mor_check_goes_on(at) ? mor_json_at(at->asked->root, "/params/types") : NULL;
	it = mor_json_iter(types);
	if (!mor_json_size(types))
		mor_check_failed(at, "analyze has no list of types");
	while (mor_check_goes_on(at) && mor_json_next(&it))
		if (!is_type(mor_json_text(it.value, "")))
			mor_check_failed(at, "\"%s\" is no analysis type", mor_json_text(it.value, ""));
}

static void check_analysis(struct mor_check_case *at)
{
	mor_check_script(at, WORKS);
	at->run->no_work = !mor_check_goes_on(at);
}

/* ---- done, ids ---- */

static void check_done_note(struct mor_check_case *at)
{
	const struct mor_check_message *m = NULL;

	mor_check_script(at, WORKS);
	if (!mor_check_goes_on(at))
		return;
	for (size_t i = 0; i < at->s->messages; i++)
		if (strcmp(mor_json_text(at->s->message[i].method, ""), "done") == 0)
			m = &at->s->message[i];
	if (m && m->id)
		mor_check_failed(at, "done has an id; the driver does not answer it");
}

static void check_ids(struct mor_check_case *at)
{
	mor_check_script(at, WORKS "\nasks");
	if (!at->s)
		return;
	for (size_t i = 0; i < at->s->messages; i++) {
		const struct mor_check_message *m = &at->s->message[i];

		for (size_t j = 0; j < i && m->id; j++)
			if (at->s->message[j].method && mor_json_equal(m->id, at->s->message[j].id))
				mor_check_failed(at, "two requests with the same id: %s and %s",
						 mor_json_text(at->s->message[j].method, ""),
						 mor_json_text(m->method, ""));
	}
}

#define ROW(id, text, section, level, how, cure) MOR_CHECK_ROW(id, text, section, level, KYTHE, how, cure)

static const struct mor_check_row rows[] = {
	ROW("init.first", "sends init first", "Methods, init", must, .fn = check_first,
	    "send init before anything else"),
	ROW("init.request", "sends init as a request", "Methods, init", must, .script = GREETS "with-id init",
	    "give it an id, and wait for the answer"),
	ROW("init.protocol", "asks for the protocol kythe1", "Methods, init", must,
	    .script = GREETS "says protocol kythe1", "\"params\":{\"protocol\":\"kythe1\",...}"),
	ROW("init.encoding", "says how it encodes its output", "Messages, InitRequest", should,
	    .script = GREETS "says outputEncoding json|protobuf",
	    "\"outputEncoding\":\"json\" or \"protobuf\""),
	ROW("init.waits", "waits for the answer to init", "Methods, init", must,
	    .script = GREETS "silent analyze|analysis|done|vname it went on before init was answered",
	    "any other method before it is a ProtocolError"),
	ROW("init.refused", "exits when init is refused", "Methods, init", must,
	    .script = GREETS "refuse -1\nend\nexits", "the driver closes stdin: exit"),
	ROW("init.extra", "ignores unknown members in the answer to init", "Messages, InitReply", should,
	    .script = GREETS "accept {\"protocol\":\"kythe1\",\"mortise\":{\"check\":true}}\nasks",
	    "look at protocol, and skip the rest"),
	ROW("analyze.request", "asks for work with a request", "Methods, analyze", must,
	    .script = ASKS "with-id analyze", "give it an id, and wait for the answer"),
	ROW("analyze.types", "asks for valid analysis types", "Messages, analysis-type", should,
	    .fn = check_types, "\"types\":[\"/kythe/index/c++\"]"),
	ROW("analyze.patient", "waits until there is work", "Methods, analyze", must,
	    .script = ASKS "silent analyze|analysis|done it did not wait for the record that it had asked for",
	    "one analyze at a time: a second one is a ProtocolError"),
	ROW("analyze.done", "does an analysis, and says done", "Methods, done", must, .fn = check_analysis,
	    "write to output, then send done"),
	ROW("init.once", "sends init once", "Methods, init", must, .fn = check_once,
	    "a second init is a ProtocolError"),
	ROW("analyze.second", "does a second analysis", "Methods, analyze", must,
	    .script = WORKS "\nasks\ngive\ndone", "after done ask again, or exit with status 0"),
	ROW("analyze.split", "reads an answer that arrives in pieces", "Protocol Description", must,
	    .script = WORKS " split", "read until the whole body is there"),
	ROW("analyze.large", "reads an answer of 1 MiB", "Protocol Description", must, .script = WORKS " large",
	    "use no buffer of a fixed size for a message"),
	ROW("analyze.extra", "ignores unknown members in the answer to analyze", "Messages, AnalyzeReply", must,
	    .script = WORKS " extra", "look at what you need, and skip the rest"),
	ROW("analyze.unicode", "finds an input whose name is not ASCII", "Messages, AnalyzeReply", should,
	    .script = WORKS " unicode", "paths are UTF-8"),
	ROW("analyze.error", "survives an error as the answer to analyze", "Errors", must,
	    .script = ASKS "refuse -32603\nsurvives", "ask again later, or exit; do not crash"),
	ROW("analyze.missing", "survives an input that is not there", "Input filesystem", should,
	    .script = ASKS "give missing\nsurvives", "log it, and say done"),
	ROW("analyze.no-inputs", "survives a record without inputs", "Messages, AnalyzeReply", should,
	    .script = ASKS "give empty\nsurvives", "say done"),
	ROW("vname.refused", "survives an error as the answer to vname", "Methods, vname", should,
	    .script = ASKS "give vname-refused\nvname\nsurvives", "go on without it, or log and say done"),
	ROW("done.note", "sends done as a notification", "Methods, done", should, .fn = check_done_note,
	    "leave out the id: nobody answers it"),
	ROW("done.once", "sends done once for each analysis", "Methods, done", must,
	    .script = WORKS "\nasks\nsilent done a second done for one analysis",
	    "the next done would end the next analysis"),
	ROW("output.records", "writes whole records to its output", "Output", must,
	    .fn = mor_check_kythe_output,
	    "json: one object after the other; protobuf: a varint length before each record"),
	ROW("output.written", "writes something for its input", "Output", should, .fn = mor_check_kythe_written,
	    "at least the file's own node"),
	ROW("ids.unique", "uses each id once", "JSON-RPC 2.0, section 4", must, .fn = check_ids,
	    "count from 1"),
	ROW("stop.eof", "exits when its stdin ends", "Protocol Description", must, .script = ASKS "end\nexits",
	    "it must terminate within 10 seconds"),
	ROW("stop.early", "exits when its stdin ends before init is answered", "Protocol Description", must,
	    .script = GREETS "end\nexits", "it must terminate within 10 seconds"),
	ROW("stop.corrupt", "exits after a corrupt frame", "Protocol Description", must,
	    .script = ASKS "raw hello\\n\nexits", "a length that is no number: exit"),
	ROW("stop.half", "exits when its stdin ends inside a frame", "Protocol Description", must,
	    .script = ASKS "raw 100\\n{\nend\nexits", "that is a corrupt frame: exit"),
	ROW("stop.term", "ends on SIGTERM", "Protocol Description", should, .script = ASKS "term\nexits",
	    "do not ignore SIGTERM: after it comes SIGKILL"),
	{ 0 },
};

const struct mor_check_tongue mor_check_tongue_kythe = {
	.dialect = KYTHE,
	.name = "kythe",
	.wire = "Protocol Description",
	.stop = "Protocol Description",
	.greet_id = "init.first",
	.probe = "\"method\":\"none\"",
	.rows = rows,
};
