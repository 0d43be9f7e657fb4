/* SPDX-License-Identifier: Apache-2.0 */
/* The acts of a .talk script: "* WORD …", what the embedder does and what it expects. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "leak.h"
#include "talk_play.h"
#include "words.h"

char *talk_copy(mortise_json json)
{
	return json.text ? mor_strndup(json.text, json.len) : NULL;
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct call_record *call = arg;

	if (reply->more) {
		assert_int_not_equal(call->piece_count, MANY);
		call->pieces[call->piece_count++] = talk_copy(reply->result);
		return;
	}
	assert_false(call->settled);
	call->settled = true;
	call->status = reply->status;
	call->result = talk_copy(reply->result);
	call->data = talk_copy(reply->error_data);
	call->error = reply->error ? mor_strdup(reply->error->text) : NULL;
	call->rpc_code = reply->error ? reply->error->rpc_code : 0;
}

static void act_start(struct play *play, struct mor_slice rest, unsigned line)
{
	mortise_error error;

	(void)rest;
	if (mortise_plugin_start(play->plugin, &error) < 0)
		die(play, line, "%s", error.text);
}

static void act_call(struct play *play, struct mor_slice rest, unsigned line)
{
	struct call_record *record = &play->calls[play->call_count++];
	mortise_call_options opt = { .size = sizeof(opt), .on_reply = on_reply, .arg = record };
	struct mor_slice method = next_word(&rest), params = { 0 }, word, value;
	MOR_CLEAN_TEXT char *name = mor_strndup(method.ptr, method.len);
	mortise_error error;

	if (play->call_count > MANY)
		die(play, line, "too many calls");
	if (rest.len && (*rest.ptr == '{' || *rest.ptr == '['))
		params = next_json(&rest);
	while ((word = next_word(&rest)).len) {
		if (mor_slice_is(word, "raw"))
			opt.flags |= MORTISE_RAW;
		else if (mor_slice_is(word, "notify"))
			opt.flags |= MORTISE_NOTIFY;
		else if (word.len > 8 && !memcmp(word.ptr, "timeout=", 8))
			value = (struct mor_slice){ word.ptr + 8, word.len - 8 },
			mor_parse_duration_ms(value, &opt.timeout_ms);
		else if (word.len > 9 && !memcmp(word.ptr, "queue_ms=", 9))
			value = (struct mor_slice){ word.ptr + 9, word.len - 9 },
			mor_parse_duration_ms(value, &opt.queue_ms);
		else if (word.len > 6 && !memcmp(word.ptr, "extra=", 6))
			opt.extra = (mortise_json){ word.ptr + 6, word.len - 6 };
		else
			die(play, line, "unknown word %.*s", (int)word.len, word.ptr);
	}
	if (mortise_call_start(play->plugin, name, (mortise_json){ params.ptr, params.len }, &opt,
			       &record->handle, &error) < 0) {
		record->settled = true;
		record->status = error.code;
		record->error = mor_strdup(error.text);
	}
}

static struct call_record *oldest(struct play *play, unsigned line)
{
	settle_loop(play);
	for (int i = 0; i < play->call_count; i++) {
		if (!play->calls[i].claimed)
			return &play->calls[i];
	}
	die(play, line, "no call is open");
}

static struct call_record *oldest_settled(struct play *play, unsigned line)
{
	struct call_record *call = oldest(play, line);

	/* Answers may come out of order: the oldest that has settled. */
	for (int i = 0; i < play->call_count; i++) {
		if (!play->calls[i].claimed && play->calls[i].settled)
			return &play->calls[i];
	}
	if (!call->settled)
		die(play, line, "the call has not settled");
	return call;
}

static void act_result(struct play *play, struct mor_slice rest, unsigned line)
{
	struct call_record *call = oldest_settled(play, line);
	mortise_error error;

	call->claimed = true;
	if (call->status < 0)
		die(play, line, "the call failed: %s", call->error);
	if (rest.len && mor_talk_match(rest, mor_slice_of(call->result), &play->vars, &error) < 0)
		die(play, line, "%s; the result is %s", error.text, call->result);
}

static void act_fails(struct play *play, struct mor_slice rest, unsigned line)
{
	struct call_record *call = oldest_settled(play, line);
	struct mor_slice status = next_word(&rest), key, value;
	mortise_error error;
	int64_t code = 0;

	call->claimed = true;
	if (call->status >= 0)
		die(play, line, "the call succeeded: %s", call->result);
	if (!mor_slice_is(status, mortise_status_name(call->status)))
		die(play, line, "the call failed with %s: %s", mortise_status_name(call->status), call->error);
	while (next_pair(&rest, &key, &value)) {
		if (mor_slice_is(key, "text") && !contains(call->error, value))
			die(play, line, "the text is: %s", call->error);
		if (mor_slice_is(key, "code") && (!mor_parse_i64(value, &code) || code != call->rpc_code))
			die(play, line, "the code is %lld", (long long)call->rpc_code);
		if (mor_slice_is(key, "data") &&
		    (!call->data || mor_talk_match(value, mor_slice_of(call->data), &play->vars, &error) < 0))
			die(play, line, "the data is: %s", call->data ? call->data : "absent");
	}
}

static void act_piece(struct play *play, struct mor_slice rest, unsigned line)
{
	struct call_record *call = oldest(play, line);
	mortise_error error;

	if (call->pieces_claimed == call->piece_count)
		die(play, line, "no piece has come");
	if (mor_talk_match(rest, mor_slice_of(call->pieces[call->pieces_claimed++]), &play->vars, &error) < 0)
		die(play, line, "%s", error.text);
}

static void act_cancel(struct play *play, struct mor_slice rest, unsigned line)
{
	(void)rest;
	if (mortise_call_cancel(play->calls[play->call_count - 1].handle, NULL) < 0)
		die(play, line, "cannot be cancelled");
}

static void act_request(struct play *play, struct mor_slice rest, unsigned line)
{
	struct mor_slice method = next_word(&rest);
	mortise_error error;

	settle_loop(play);
	for (int i = 0; i < play->asked_count; i++) {
		struct asked_record *asked = &play->asked[i];

		if (asked->claimed)
			continue;
		asked->claimed = true;
		if (!mor_slice_is(method, asked->method))
			die(play, line, "the plugin asked for %s", asked->method);
		if (rest.len && (!asked->params ||
				 mor_talk_match(rest, mor_slice_of(asked->params), &play->vars, &error) < 0))
			die(play, line, "params are %s", asked->params ? asked->params : "absent");
		return;
	}
	die(play, line, "no request has come");
}

static mortise_request *open_request(struct play *play, unsigned line)
{
	for (int i = 0; i < play->asked_count; i++) {
		if (!play->asked[i].answered) {
			play->asked[i].answered = true;
			return play->asked[i].request;
		}
	}
	die(play, line, "no request is open");
}

/* The oldest one with this method. */
static mortise_request *open_request_of(struct play *play, struct mor_slice method, unsigned line)
{
	for (int i = 0; i < play->asked_count; i++) {
		if (!play->asked[i].answered && mor_slice_is(method, play->asked[i].method)) {
			play->asked[i].answered = true;
			return play->asked[i].request;
		}
	}
	die(play, line, "no request \"%.*s\" is open", (int)method.len, method.ptr);
}

static void act_answer(struct play *play, struct mor_slice rest, unsigned line)
{
	mortise_request *request = open_request_of(play, next_word(&rest), line);
	int r = mortise_request_reply(request, (mortise_json){ rest.ptr, rest.len }, NULL);

	if (r < 0)
		die(play, line, "the answer was not taken: %s", mortise_status_name(r));
}

static void act_gone(struct play *play, struct mor_slice rest, unsigned line)
{
	mortise_request *request = open_request_of(play, next_word(&rest), line);

	if (mortise_request_plugin(request))
		die(play, line, "its process is still there");
	if (mortise_request_reply(request, (mortise_json){ "{}", 2 }, NULL) != MORTISE_ECLOSED)
		die(play, line, "it could be answered");
}

static void act_never(struct play *play, struct mor_slice rest, unsigned line)
{
	struct event_record *event = find_event(play, rest, line);

	if (event)
		die(play, line, "there was one: %s", event->text);
}

static void act_quiet(struct play *play, struct mor_slice rest, unsigned line)
{
	struct script_link *script = running(play, line);

	(void)rest;
	if (script->terminated || script->killed)
		die(play, line, "the host has sent %s", script->killed ? "SIGKILL" : "SIGTERM");
}

static void act_reply(struct play *play, struct mor_slice rest, unsigned line)
{
	mortise_request_reply(open_request(play, line), (mortise_json){ rest.ptr, rest.len }, NULL);
}

static void act_refuse(struct play *play, struct mor_slice rest, unsigned line)
{
	struct mor_slice code = next_word(&rest), message = next_json(&rest);
	int64_t number = 0;
	char text[128];

	if (!mor_parse_i64(code, &number) || message.len < 2)
		die(play, line, "refuse CODE \"message\"");
	snprintf(text, sizeof(text), "%.*s", (int)message.len - 2, message.ptr + 1);
	mortise_request_fail(open_request(play, line), number, text, (mortise_json){ 0 }, NULL);
}

static void act_state(struct play *play, struct mor_slice rest, unsigned line)
{
	settle_loop(play);
	if (!mor_slice_is(trim(rest), mortise_state_name(mortise_plugin_state(play->plugin))))
		die(play, line, "the state is %s", mortise_state_name(mortise_plugin_state(play->plugin)));
}

static void act_health(struct play *play, struct mor_slice rest, unsigned line)
{
	int wanted = mor_slice_is(trim(rest), "good") ? 1 : mor_slice_is(trim(rest), "bad") ? 0 : -1;

	settle_loop(play);
	if (play->plugin->now.health.healthy != wanted)
		die(play, line, "its health is %d (%s)", play->plugin->now.health.healthy,
		    mor_kept_text(&play->plugin->now.health.reason));
}

static void act_stop(struct play *play, struct mor_slice rest, unsigned line)
{
	enum mortise_stop how = MORTISE_STOP_POLITE;

	if (mor_slice_is(trim(rest), "input"))
		how = MORTISE_STOP_INPUT;
	else if (mor_slice_is(trim(rest), "now"))
		how = MORTISE_STOP_NOW;
	else if (rest.len)
		die(play, line, "stop, stop input or stop now");
	mortise_plugin_stop(play->plugin, how, NULL);
}

/* Read before the start, by open_plugin(). */
static void act_before(struct play *play, struct mor_slice rest, unsigned line)
{
	(void)rest;
	if (script_starts)
		die(play, line, "must stand before the start");
}

static const struct {
	const char *name;
	void (*fn)(struct play *play, struct mor_slice rest, unsigned line);
} acts[] = {
	{ "start", act_start },     { "call", act_call },       { "result", act_result },
	{ "fails", act_fails },     { "piece", act_piece },     { "cancel", act_cancel },
	{ "request", act_request }, { "reply", act_reply },     { "refuse", act_refuse },
	{ "state", act_state },     { "health", act_health },   { "stop", act_stop },
	{ "answer", act_answer },   { "gone", act_gone },       { "never", act_never },
	{ "quiet", act_quiet },     { "set", act_before },      { "config", act_before },
	{ "strict", act_before },   { "manifest", act_before },
};

void do_act(struct play *play, const struct mor_talk_step *step)
{
	struct mor_slice rest = step->text, name = next_word(&rest);

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		if (mor_slice_is(name, acts[i].name)) {
			acts[i].fn(play, rest, step->line);
			return;
		}
	}
	die(play, step->line, "unknown act %.*s", (int)name.len, name.ptr);
}
