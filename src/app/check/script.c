/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a row, one per line. Without `start` as its first line a script begins after the greeting.
 *
 *	start                  a process, without a greeting
 *	> JSON                 send a message; split JSON: in three writes; frame TEXT: any body, framed
 *	raw TEXT               bytes as they are (\n \r \t \\ \xNN)
 *	hold, flush            what is between them leaves in one write
 *	answered ID            an answer of any kind comes
 *	result ID [PATTERN]    a result comes (patterns as in .talk files)
 *	error ID CODES         an error comes: "-32601|-32602", or any
 *	valid ID METHOD        a result comes that is as the dialect's table says; letter: exactly so
 *	exact ID               an answer comes with exactly this id
 *	tells ID METHOD        an error comes, or a result that is as the dialect's table says
 *	leaves ID              an answer comes, or the process ends
 *	fails ID METHOD        an error comes, or a result that says so in the way of the dialect
 *	succeeds ID METHOD     a result comes, and it does not say that it failed
 *	implemented ID WHAT    an answer comes; -32601: the row is not observed, WHAT is not implemented
 *	framing NAME           not observed in another framing
 *	needs INTERFACE        not observed unless the plugin announces it
 *	hello ID               the answer to the greeting comes: kept for all rows
 *	alive                  a harmless request is answered
 *	quiet                  the same, and nothing else was answered meanwhile
 *	bye                    the dialect's good-bye
 *	end                    stdin is closed; term: SIGTERM
 *	exits [STATUS]         the process ends, in the time that the dialect gives
 *
 * %P stands for the members of a harmless request, %B for a string of 1 MiB, %W for the directory that is made
 * for this run.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "check/own.h"
#include "talk/talk.h"

#define BIG_BYTES ((size_t)1 << 20)
#define STEP      MOR_CHECK_STEP

/* ---- texts ---- */

static struct mor_slice next_word(struct mor_slice *rest)
{
	struct mor_slice word = mor_slice_cut(rest, ' ');

	*rest = mor_slice_trim(*rest, " ");
	return word;
}

static void write_macro(struct mor_check_case *at, char name, struct mor_buf *out)
{
	if (name == 'P') {
		mor_buf_text(out, at->run->tongue->probe);
	} else if (name == 'W') {
		mor_buf_text(out, at->run->scratch.path);
	} else if (name == 'B') {
		mor_buf_byte(out, '"');
		if (mor_buf_reserve(out, BIG_BYTES) == 0) {
			memset(out->data + out->len, 'x', BIG_BYTES);
			out->len += BIG_BYTES;
		}
		mor_buf_byte(out, '"');
	} else {
		mor_buf_byte(out, '%');
		mor_buf_byte(out, name);
	}
}

void mor_check_expand(struct mor_check_case *at, struct mor_slice line, struct mor_buf *out)
{
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] == '%' && i + 1 < line.len)
			write_macro(at, line.ptr[++i], out);
		else
			mor_buf_byte(out, line.ptr[i]);
	}
}

static void unescape(struct mor_slice text, struct mor_buf *out)
{
	static const char names[] = "n\nr\rt\t\\\\";

	for (size_t i = 0; i < text.len; i++) {
		const char *name;

		if (text.ptr[i] != '\\' || i + 1 >= text.len) {
			mor_buf_byte(out, text.ptr[i]);
			continue;
		}
		i++;
		name = strchr(names, text.ptr[i]);
		if (text.ptr[i] == 'x' && i + 2 < text.len) {
			/* our own tables: both are digits */
			unsigned high = (unsigned)mor_hex_value(text.ptr[i + 1]);

			mor_buf_byte(out, (char)(high << 4 | (unsigned)mor_hex_value(text.ptr[i + 2])));
			i += 2;
		} else if (name) {
			mor_buf_byte(out, name[1]);
		}
	}
}

/* ---- steps that send ---- */

static void step_send(STEP)
{
	mor_check_send(at->s, rest);
}

static void step_split(STEP)
{
	mor_check_send_split(at->s, rest);
}

static void step_raw(STEP)
{
	MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;

	unescape(rest, &bytes);
	mor_check_asks(at->s, mor_buf_view(&bytes));
	mor_check_send_raw(at->s, mor_buf_view(&bytes));
}

static void step_hold(STEP)
{
	at->s->holding = true;
}

static void step_flush(STEP)
{
	at->s->holding = false;
	mor_check_send_raw(at->s, (struct mor_slice){ rest.ptr, 0 });
}

static void step_end(STEP)
{
	mor_check_end_input(at->s);
}

static void step_term(STEP)
{
	mor_check_note_talk(at->s, '>', mor_slice_of("(SIGTERM)"));
	mor_proc_order(at->s->proc, MOR_ORDER_TERM);
}

static void step_bye(STEP)
{
	if (at->run->tongue->bye)
		mor_check_script(at, at->run->tongue->bye);
}

/* ---- steps that expect ---- */

static void step_answered(STEP)
{
	mor_check_response(at, rest);
}

static void describe_error(const struct mor_check_message *m, char out[160])
{
	char text[100];

	snprintf(out, 160, "error %lld \"%s\"", (long long)mor_json_int(mor_json_get(m->error, "code"), 0),
		 mor_excerpt(mor_json_string(mor_json_get(m->error, "message")), text, sizeof(text)));
}

static const struct mor_check_message *await_result(struct mor_check_case *at, struct mor_slice id)
{
	const struct mor_check_message *m = mor_check_response(at, id);
	char text[160];

	if (m && !m->result) {
		describe_error(m, text);
		mor_check_failed(at, "expected a result, got %s", text);
		return NULL;
	}
	at->last = m ? m->result : NULL;
	return m;
}

static void step_result(STEP)
{
	struct mor_slice id = next_word(&rest);
	const struct mor_check_message *m = await_result(at, id);
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_talk_vars vars = { 0 };
	mortise_error err = { 0 };

	if (m && rest.len) {
		mor_json_write(m->result, false, &text);
		if (mor_talk_match(rest, mor_buf_view(&text), &vars, &err) < 0)
			mor_check_failed(at, "the result is not as expected: %s", err.text);
	}
	mor_talk_vars_fini(&vars);
}

static void step_error(STEP)
{
	struct mor_slice id = next_word(&rest);
	const struct mor_check_message *m = mor_check_response(at, id);
	char list[64], code[32], text[160];

	if (!m)
		return;
	snprintf(list, sizeof(list), "%.*s", (int)rest.len, rest.ptr);
	if (!m->error) {
		mor_check_failed(at, "expected an error (%s), got a result", list);
		return;
	}
	snprintf(code, sizeof(code), "%lld", (long long)mor_json_int(mor_json_get(m->error, "code"), 0));
	describe_error(m, text);
	if (!mor_slice_is(rest, "any") && !mor_text_in(mor_slice_of(code), list))
		mor_check_failed(at, "expected the error code %s, got %s", list, text);
}

struct judged {
	struct mor_check_case *at;
	bool letter;
};

static void judge_finding(const struct mor_finding *finding, void *arg)
{
	const struct judged *judged = arg;

	if (finding->fatal != judged->letter)
		mor_check_failed(judged->at, "result: %s", finding->text);
}

static void judge_result(struct mor_check_case *at, struct mor_slice rest, bool letter)
{
	struct mor_slice id = next_word(&rest);
	const struct mor_check_message *m = await_result(at, id);
	const struct mor_method *row = mor_dialect_method(at->run->dialect, MOR_FROM_HOST, rest);
	struct judged judged = { at, letter };

	if (m && row && row->result)
		mor_validate(row->result, m->result, judge_finding, &judged);
}

static void step_valid(STEP)
{
	judge_result(at, rest, false);
}

static void step_letter(STEP)
{
	judge_result(at, rest, true);
}

static void step_tells(STEP)
{
	struct mor_slice id = next_word(&rest);
	const struct mor_check_message *m = mor_check_response(at, id);
	const struct mor_method *row = mor_dialect_method(at->run->dialect, MOR_FROM_HOST, rest);
	struct judged judged = { at, false };

	if (m && m->result && row && row->result)
		mor_validate(row->result, m->result, judge_finding, &judged);
}

static void step_leaves(STEP)
{
	bool over = false;

	if (!mor_check_response_or_end(at, rest, &over) && !over)
		mor_check_fail_silence(at, "neither an answer nor an exit", at->run->answer_ms);
}

/* The message stays, for the step that looks at it. */
static void step_implemented(STEP)
{
	struct mor_slice id = next_word(&rest);
	struct mor_check_message *m = (struct mor_check_message *)(uintptr_t)mor_check_response(at, id);

	if (!m)
		return;
	m->taken = false;
	if (m->error && mor_json_int(mor_json_get(m->error, "code"), 0) == -32601)
		mor_check_unseen(at, "the plugin does not implement %.*s", (int)rest.len, rest.ptr);
}

static void step_exact(STEP)
{
	mor_check_response_exact(at, rest);
}

/* Does the result say in the way of the dialect that it failed? */
static bool tells_failure(const struct mor_check_case *at, struct mor_slice method,
			  const struct mor_value *result)
{
	const struct mor_method *row = mor_dialect_method(at->run->dialect, MOR_FROM_HOST, method);
	const struct mor_outcome *outcome = row ? mor_outcome_of(row) : &mor_outcome_none;
	const struct mor_value *why;

	if (outcome->ok && !mor_json_bool(mor_json_at(result, outcome->ok), true))
		return true;
	why = outcome->why_fails ? mor_json_at(result, outcome->why) : NULL;
	return why && mor_json_type(why) != MOR_JSON_NULL;
}

static void step_fails(STEP)
{
	struct mor_slice id = next_word(&rest);
	const struct mor_check_message *m = mor_check_response(at, id);

	if (m && !m->error && !tells_failure(at, rest, m->result))
		mor_check_failed(at, "expected a failure, got a good result");
}

static void step_succeeds(STEP)
{
	struct mor_slice id = next_word(&rest);
	const struct mor_check_message *m = await_result(at, id);

	if (m && tells_failure(at, rest, m->result))
		mor_check_failed(at, "expected success, got a result that tells a failure");
}

static void step_framing(STEP)
{
	if (!mor_slice_is(rest, mor_framing_name(at->run->framing)))
		mor_check_unseen(at, "the framing is %s", mor_framing_name(at->run->framing));
}

static void step_needs(STEP)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)rest.len, rest.ptr);
	if (!mor_dialect_announces(at->run->dialect, mor_doc_root(at->run->hello), name))
		mor_check_unseen(at, "the plugin does not announce the interface %s", name);
}

static void step_hello(STEP)
{
	const struct mor_check_message *m = await_result(at, rest);
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (m && !at->run->hello && mor_json_write(m->result, false, &text) == 0)
		mor_doc_parse(mor_buf_view(&text), MOR_JSON_NAN, 0, &at->run->hello, NULL);
}

static void send_probe(struct mor_check_case *at, char id[24])
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	snprintf(id, 24, "%lld", (long long)at->next_id++);
	mor_buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}", id, at->run->tongue->probe);
	mor_check_send(at->s, mor_buf_view(&text));
}

/* Once, or so many times: a leak, or a buffer that is never emptied, shows only after a while. */
static void step_alive(STEP)
{
	uint32_t times = 1;
	char id[24];

	(void)mor_parse_u32(rest, &times);
	for (uint32_t i = 0; i < times && mor_check_goes_on(at); i++) {
		send_probe(at, id);
		mor_check_response_exact(at, mor_slice_of(id));
	}
}

static void step_quiet(STEP)
{
	char id[24], text[120];

	send_probe(at, id);
	if (!mor_check_response_exact(at, mor_slice_of(id)))
		return;
	for (size_t i = 0; i < at->s->messages; i++)
		if (mor_check_is_response(&at->s->message[i]))
			mor_check_failed(at, "expected no answer, but one came%s%s",
					 at->s->message[i].id ? " with the id " : " without an id",
					 at->s->message[i].id ?
						 mor_printable_value(at->s->message[i].id, text, sizeof(text)) :
						 "");
}

/* As long as the host of this dialect waits before it uses force, where the user names no time. */
static void step_exits(STEP)
{
	const struct mor_dialect_life *life = &at->run->dialect->life;
	uint32_t ms = life->shape == MOR_SHAPE_ONE_CALL ? at->run->answer_ms : life->stop.term_ms;
	char time[32];

	if (at->run->opt->answer_ms)
		ms = at->run->opt->answer_ms;
	if (!mor_check_wait_exit(at->s, ms))
		mor_check_failed(at, "it still runs %s later", mor_format_ms(ms, time));
	else if (rest.len && (at->s->how.how.by_signal || at->s->how.how.status != rest.ptr[0] - '0'))
		mor_check_failed(at, "it %s", at->s->how.text);
}

/* ---- the steps ---- */

static const struct mor_check_step steps[] = {
	{ ">", step_send },
	{ "split", step_split },
	{ "frame", step_send },
	{ "raw", step_raw },
	{ "hold", step_hold },
	{ "flush", step_flush },
	{ "answered", step_answered },
	{ "result", step_result },
	{ "error", step_error },
	{ "valid", step_valid },
	{ "letter", step_letter },
	{ "implemented", step_implemented },
	{ "tells", step_tells },
	{ "leaves", step_leaves },
	{ "exact", step_exact },
	{ "fails", step_fails },
	{ "succeeds", step_succeeds },
	{ "framing", step_framing },
	{ "needs", step_needs },
	{ "hello", step_hello },
	{ "alive", step_alive },
	{ "quiet", step_quiet },
	{ "bye", step_bye },
	{ "end", step_end },
	{ "term", step_term },
	{ "exits", step_exits },
	{ 0 },
};

static const struct mor_check_step *find_step(const struct mor_check_step *step, struct mor_slice word)
{
	while (step->name && !mor_slice_is(word, step->name))
		step++;
	return step->name ? step : NULL;
}

static void run_step(struct mor_check_case *at, struct mor_slice line)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	const struct mor_check_step *step;
	struct mor_slice rest, word;

	mor_check_expand(at, line, &text);
	rest = mor_buf_view(&text);
	word = next_word(&rest);
	step = find_step(steps, word);
	if (!step)
		step = find_step(mor_check_kythe_steps, word);
	if (step)
		step->run(at, rest);
	else
		mor_check_failed(at, "a step that does not exist: %.*s", (int)line.len, line.ptr);
}

void mor_check_script(struct mor_check_case *at, const char *script)
{
	struct mor_slice rest = mor_slice_of(script);
	bool bare = rest.len >= 5 && memcmp(rest.ptr, "start", 5) == 0;

	if (!at->s && !mor_check_begin(at, bare))
		return;
	while (rest.len && mor_check_goes_on(at)) {
		struct mor_slice line = mor_slice_cut(&rest, '\n');

		if (line.len && !mor_slice_is(line, "start"))
			run_step(at, line);
	}
}
