/* SPDX-License-Identifier: Apache-2.0 */
/* kythe: the roles are turned. The analyzer asks, and we are the driver: we greet back, give it a record, and
 * look at what it does. */
#include "check/rows_kythe_own.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define KYTHE MOR_CHECK_KYTHE

/* ---- init ---- */

static void check_first(struct mor_check_case *at)
{
	mor_check_kythe_begin(at);
	if (mor_check_kythe_init(at) && at->s->message[0].method &&
	    strcmp(mor_json_text(at->s->message[0].method, ""), "init") != 0)
		mor_check_failed(at, "its first message is \"%s\"",
				 mor_json_text(at->s->message[0].method, ""));
}

static void check_request(struct mor_check_case *at)
{
	const struct mor_check_message *m = mor_check_kythe_begin(at) ? mor_check_kythe_init(at) : NULL;

	if (m && !m->id)
		mor_check_failed(at, "init has no id, so it cannot be answered");
}

static void check_protocol(struct mor_check_case *at)
{
	const struct mor_check_message *m = mor_check_kythe_begin(at) ? mor_check_kythe_init(at) : NULL;
	const char *protocol = m ? mor_json_text(mor_json_at(m->root, "/params/protocol"), "") : "";

	if (m && strcmp(protocol, "kythe1") != 0)
		mor_check_failed(at, "protocol is \"%s\"", protocol);
}

static void check_encoding(struct mor_check_case *at)
{
	const struct mor_check_message *m = mor_check_kythe_begin(at) ? mor_check_kythe_init(at) : NULL;
	const char *encoding = m ? mor_json_text(mor_json_at(m->root, "/params/outputEncoding"), "") : "";

	if (m && strcmp(encoding, "json") != 0 && strcmp(encoding, "protobuf") != 0)
		mor_check_failed(at, "outputEncoding is \"%s\"", encoding);
}

static void check_once(struct mor_check_case *at)
{
	size_t count = 0;

	if (!mor_check_kythe_work(at, &(struct mor_check_kythe_record){ 0 }))
		return;
	mor_check_kythe_asks(at);
	for (size_t i = 0; i < at->s->messages; i++)
		count += strcmp(mor_json_text(at->s->message[i].method, ""), "init") == 0;
	if (count != 1)
		mor_check_failed(at, "init came %zu times", count);
}

static void check_refused(struct mor_check_case *at)
{
	const struct mor_check_message *m = mor_check_kythe_begin(at) ? mor_check_kythe_init(at) : NULL;

	if (!m)
		return;
	mor_check_kythe_error(at, m, -1);
	mor_check_script(at, "end\nexits");
}

static void check_waits(struct mor_check_case *at)
{
	if (mor_check_kythe_begin(at) && mor_check_kythe_init(at) &&
	    mor_check_kythe_hears(at, "analyze|analysis|done|vname"))
		mor_check_failed(at, "it went on before init was answered");
}

static void check_init_extra(struct mor_check_case *at)
{
	const struct mor_check_message *m = mor_check_kythe_begin(at) ? mor_check_kythe_init(at) : NULL;

	if (!m)
		return;
	mor_check_kythe_reply(at, m, "{\"protocol\":\"kythe1\",\"mortise\":{\"check\":true}}");
	mor_check_kythe_asks(at);
}

/* ---- analyze ---- */

static void check_asks(struct mor_check_case *at)
{
	const struct mor_check_message *m = mor_check_kythe_greet(at) ? mor_check_kythe_asks(at) : NULL;

	if (m && !m->id)
		mor_check_failed(at, "analyze has no id, so it cannot be answered");
}

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
	const struct mor_check_message *m = mor_check_kythe_greet(at) ? mor_check_kythe_asks(at) : NULL;
	const struct mor_value *types = m ? mor_json_at(m->root, "/params/types") : NULL;
	struct mor_json_iter it = mor_json_iter(types);

	if (m && !mor_json_size(types))
		mor_check_failed(at, "analyze has no list of types");
	while (mor_check_goes_on(at) && mor_json_next(&it))
		if (!is_type(mor_json_text(it.value, "")))
			mor_check_failed(at, "\"%s\" is no analysis type", mor_json_text(it.value, ""));
}

static void check_patient(struct mor_check_case *at)
{
	if (mor_check_kythe_greet(at) && mor_check_kythe_asks(at) &&
	    mor_check_kythe_hears(at, "analyze|analysis|done"))
		mor_check_failed(at, "it did not wait for the record that it had asked for");
}

static void check_analysis(struct mor_check_case *at)
{
	at->run->no_work = !mor_check_kythe_work(at, &(struct mor_check_kythe_record){ 0 });
}

static void check_second(struct mor_check_case *at)
{
	const struct mor_check_message *m;

	if (!mor_check_kythe_work(at, &(struct mor_check_kythe_record){ 0 }))
		return;
	m = mor_check_kythe_asks(at);
	if (m)
		mor_check_kythe_give(at, m, &(struct mor_check_kythe_record){ 0 });
	mor_check_kythe_done(at);
}

static void check_split(struct mor_check_case *at)
{
	mor_check_kythe_work(at, &(struct mor_check_kythe_record){ .split = true });
}

static void check_large(struct mor_check_case *at)
{
	mor_check_kythe_work(at, &(struct mor_check_kythe_record){ .big = true });
}

static void check_extra(struct mor_check_case *at)
{
	mor_check_kythe_work(at, &(struct mor_check_kythe_record){ .more = ",\"mortise\":[1,{}]" });
}

static void check_unicode(struct mor_check_case *at)
{
	mor_check_kythe_work(at, &(struct mor_check_kythe_record){ .prefix = "\xc3\xa9\xe4\xb8\xad-" });
}

/* An analyzer may say that it failed in any way but a crash. */
static void judge_survival(struct mor_check_case *at)
{
	if (mor_check_goes_on(at) && !mor_check_kythe_goes_on(at))
		mor_check_failed(at, at->s->ended ? "it %s" : "neither done, nor a new analyze, nor an exit%s",
				 at->s->ended ? at->s->how.text : "");
}

static void check_error(struct mor_check_case *at)
{
	const struct mor_check_message *m = mor_check_kythe_greet(at) ? mor_check_kythe_asks(at) : NULL;

	if (!m)
		return;
	mor_check_kythe_error(at, m, -32603);
	judge_survival(at);
}

static void check_missing(struct mor_check_case *at)
{
	const struct mor_check_message *m = mor_check_kythe_greet(at) ? mor_check_kythe_asks(at) : NULL;

	if (!m)
		return;
	mor_check_kythe_give(at, m, &(struct mor_check_kythe_record){ .missing = true });
	judge_survival(at);
}

static void check_no_inputs(struct mor_check_case *at)
{
	const struct mor_check_message *m = mor_check_kythe_greet(at) ? mor_check_kythe_asks(at) : NULL;

	if (!m)
		return;
	mor_check_kythe_give(at, m, &(struct mor_check_kythe_record){ .empty = true });
	judge_survival(at);
}

/* ---- vname, done, output ---- */

static void check_vname(struct mor_check_case *at)
{
	const struct mor_check_message *m = mor_check_kythe_greet(at) ? mor_check_kythe_asks(at) : NULL;

	if (!m)
		return;
	mor_check_kythe_give(at, m, &(struct mor_check_kythe_record){ .refuse_vname = true });
	if (!at->vnames)
		mor_check_unseen(at, "the analyzer asked for no vname");
	else
		judge_survival(at);
}

static void check_done_note(struct mor_check_case *at)
{
	const struct mor_check_message *m = NULL;

	if (!mor_check_kythe_work(at, &(struct mor_check_kythe_record){ 0 }))
		return;
	for (size_t i = 0; i < at->s->messages; i++)
		if (strcmp(mor_json_text(at->s->message[i].method, ""), "done") == 0)
			m = &at->s->message[i];
	if (m && m->id)
		mor_check_failed(at, "done has an id; the driver does not answer it");
}

static void check_done_once(struct mor_check_case *at)
{
	if (mor_check_kythe_work(at, &(struct mor_check_kythe_record){ 0 }) && mor_check_kythe_asks(at) &&
	    mor_check_kythe_hears(at, "done"))
		mor_check_failed(at, "a second done for one analysis");
}

static void check_ids(struct mor_check_case *at)
{
	if (!mor_check_kythe_work(at, &(struct mor_check_kythe_record){ 0 }))
		return;
	mor_check_kythe_asks(at);
	for (size_t i = 0; i < at->s->messages; i++) {
		const struct mor_check_message *m = &at->s->message[i];

		for (size_t j = 0; j < i && m->id; j++)
			if (at->s->message[j].method && mor_json_equal(m->id, at->s->message[j].id))
				mor_check_failed(at, "two requests with the same id: %s and %s",
						 mor_json_text(at->s->message[j].method, ""),
						 mor_json_text(m->method, ""));
	}
}

/* ---- the end ---- */

static void check_eof(struct mor_check_case *at)
{
	if (mor_check_kythe_greet(at) && mor_check_kythe_asks(at))
		mor_check_script(at, "end\nexits");
}

static void check_eof_early(struct mor_check_case *at)
{
	if (mor_check_kythe_begin(at) && mor_check_kythe_init(at))
		mor_check_script(at, "end\nexits");
}

static void check_corrupt(struct mor_check_case *at)
{
	if (mor_check_kythe_greet(at) && mor_check_kythe_asks(at))
		mor_check_script(at, "raw hello\\n\nexits");
}

static void check_half(struct mor_check_case *at)
{
	if (mor_check_kythe_greet(at) && mor_check_kythe_asks(at))
		mor_check_script(at, "raw 100\\n{\nend\nexits");
}

static void check_term(struct mor_check_case *at)
{
	if (mor_check_kythe_greet(at) && mor_check_kythe_asks(at))
		mor_check_script(at, "term\nexits");
}

#define ROW(id, text, section, level, function, cure) \
	{ \
		.name = id, .title = text, .spec = section, .level = KYTHE, .fn = function, .advice = cure \
	}

/* clang-format off */
static const struct mor_check_row rows[] = {
	ROW("init.first", "sends init first", "Methods, init", must, check_first,
	    "send init before anything else"),
	ROW("init.request", "sends init as a request", "Methods, init", must, check_request,
	    "give it an id, and wait for the answer"),
	ROW("init.protocol", "asks for the protocol kythe1", "Methods, init", must, check_protocol,
	    "\"params\":{\"protocol\":\"kythe1\",...}"),
	ROW("init.encoding", "says how it encodes its output", "Messages, InitRequest", should, check_encoding,
	    "\"outputEncoding\":\"json\" or \"protobuf\""),
	ROW("init.waits", "waits for the answer to init", "Methods, init", must, check_waits,
	    "any other method before it is a ProtocolError"),
	ROW("init.refused", "exits when init is refused", "Methods, init", must, check_refused,
	    "the driver closes stdin: exit"),
	ROW("init.extra", "ignores unknown members in the answer to init", "Messages, InitReply", should,
	    check_init_extra, "look at protocol, and skip the rest"),
	ROW("analyze.request", "asks for work with a request", "Methods, analyze", must, check_asks,
	    "give it an id, and wait for the answer"),
	ROW("analyze.types", "asks for valid analysis types", "Messages, analysis-type", should, check_types,
	    "\"types\":[\"/kythe/index/c++\"]"),
	ROW("analyze.patient", "waits until there is work", "Methods, analyze", must, check_patient,
	    "one analyze at a time: a second one is a ProtocolError"),
	ROW("analyze.done", "does an analysis, and says done", "Methods, done", must, check_analysis,
	    "write to output, then send done"),
	ROW("init.once", "sends init once", "Methods, init", must, check_once,
	    "a second init is a ProtocolError"),
	ROW("analyze.second", "does a second analysis", "Methods, analyze", must, check_second,
	    "after done ask again, or exit with status 0"),
	ROW("analyze.split", "reads an answer that arrives in pieces", "Protocol Description", must,
	    check_split,
	    "read until the whole body is there"),
	ROW("analyze.large", "reads an answer of 1 MiB", "Protocol Description", must, check_large,
	    "use no buffer of a fixed size for a message"),
	ROW("analyze.extra", "ignores unknown members in the answer to analyze", "Messages, AnalyzeReply", must,
	    check_extra, "look at what you need, and skip the rest"),
	ROW("analyze.unicode", "finds an input whose name is not ASCII", "Messages, AnalyzeReply", should,
	    check_unicode, "paths are UTF-8"),
	ROW("analyze.error", "survives an error as the answer to analyze", "Errors", must, check_error,
	    "ask again later, or exit; do not crash"),
	ROW("analyze.missing", "survives an input that is not there", "Input filesystem", should, check_missing,
	    "log it, and say done"),
	ROW("analyze.no-inputs", "survives a record without inputs", "Messages, AnalyzeReply", should,
	    check_no_inputs, "say done"),
	ROW("vname.refused", "survives an error as the answer to vname", "Methods, vname", should, check_vname,
	    "go on without it, or log and say done"),
	ROW("done.note", "sends done as a notification", "Methods, done", should, check_done_note,
	    "leave out the id: nobody answers it"),
	ROW("done.once", "sends done once for each analysis", "Methods, done", must, check_done_once,
	    "the next done would end the next analysis"),
	ROW("output.records", "writes whole records to its output", "Output", must,
	    mor_check_kythe_check_output,
	    "json: one object after the other; protobuf: a varint length before each record"),
	ROW("output.written", "writes something for its input", "Output", should, mor_check_kythe_check_written,
	    "at least the file's own node"),
	ROW("ids.unique", "uses each id once", "JSON-RPC 2.0, section 4", must, check_ids,
	    "count from 1"),
	ROW("stop.eof", "exits when its stdin ends", "Protocol Description", must, check_eof,
	    "it must terminate within 10 seconds"),
	ROW("stop.early", "exits when its stdin ends before init is answered", "Protocol Description", must,
	    check_eof_early, "it must terminate within 10 seconds"),
	ROW("stop.corrupt", "exits after a corrupt frame", "Protocol Description", must, check_corrupt,
	    "a length that is no number: exit"),
	ROW("stop.half", "exits when its stdin ends inside a frame", "Protocol Description", must, check_half,
	    "that is a corrupt frame: exit"),
	ROW("stop.term", "ends on SIGTERM", "Protocol Description", should, check_term,
	    "do not ignore SIGTERM: after it comes SIGKILL"),
	{ 0 },
};
/* clang-format on */

const struct mor_check_tongue mor_check_tongue_kythe = {
	.dialect = KYTHE,
	.name = "kythe",
	.wire = "Protocol Description",
	.stop = "Protocol Description",
	.greet_id = "init.first",
	.probe = "\"method\":\"none\"",
	.rows = rows,
};
