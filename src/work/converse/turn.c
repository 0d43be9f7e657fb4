/* SPDX-License-Identifier: Apache-2.0 */
#include "converse/turn.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "console/warned.h"

/* ---- for people ---- */

/* Length of what must not reach the terminal at this place; 0: it may. */
static size_t steering_at(struct mor_slice text, size_t at)
{
	char c = text.ptr[at];

	return c == '\n' || c == '\t' ? 0 : mor_steering_len(text.ptr + at, text.len - at);
}

/* A plugin's text must not contain control sequences for the terminal. Newlines and tabs may stay. A pipe
 * gets the text as it is. */
static void print_text(struct mor_converse_turn *turn, struct mor_slice text)
{
	struct mor_console *console = turn->runner->console;

	if (!text.len)
		return;
	turn->in_line = text.ptr[text.len - 1] != '\n';
	for (size_t from = 0, at, n = 0; console->out_terminal && from < text.len; from = at) {
		for (at = from; at < text.len && !(n = steering_at(text, at));) {
			size_t step = mor_utf8_sequence(text.ptr + at, text.len - at);

			at += step ? step : 1;
		}
		mor_out(console, (struct mor_slice){ text.ptr + from, at - from });
		for (; at < text.len && n; n--)
			mor_outf(console, "\\x%02x", (unsigned char)text.ptr[at++]);
	}
	if (!console->out_terminal)
		mor_out(console, text);
}

static void end_line(struct mor_converse_turn *turn)
{
	if (turn->in_line)
		mor_out_text(turn->runner->console, "\n");
	turn->in_line = false;
}

/* A string is text; anything else is JSON on lines of its own; null is nothing. */
static void print_value(struct mor_converse_turn *turn, const struct mor_value *value)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_console *console = turn->runner->console;

	if (mor_json_type(value) <= MOR_JSON_NULL)
		return;
	if (mor_json_type(value) == MOR_JSON_STRING) {
		print_text(turn, mor_json_string(value));
		return;
	}
	end_line(turn);
	if (mor_json_write(value, console->out_terminal, &json) < 0)
		return;
	mor_buf_byte(&json, '\n');
	mor_out(console, mor_buf_view(&json));
}

/* ---- the end ---- */

/* {"success", "data", "keep_session"}. If a plugin answers with something else, that is its data. */
static const struct mor_value *data_of(const struct mor_converse_turn *turn, const struct mor_value *result)
{
	const struct mor_value *data = mor_json_get(result, "data");

	if (turn->whole)
		return result;
	if (data || mor_json_get(result, "success") || mor_json_get(result, "keep_session"))
		return data;
	return result;
}

static void print_json(struct mor_converse_turn *turn, const struct mor_value *data, bool more)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };

	mor_w_object(&w);
	mor_w_pair_bool(&w, "ok", true);
	if (more)
		mor_w_pair_bool(&w, "more", true);
	mor_w_key(&w, "data");
	if (data)
		mor_w_value(&w, data);
	else
		mor_w_null(&w);
	if (!more) {
		mor_w_pair_bool(&w, "keep_session", turn->keep);
		mor_w_pair(&w, "plugin", mortise_plugin_name(turn->plugin));
		mor_w_pair_int(&w, "time_ms", mor_clock_ms() - turn->begun_ms);
		mor_warned_write(turn->runner->console, &w);
	}
	mor_w_end(&w);
	mor_out_json_line(turn->runner->console, mor_buf_view(&json));
}

static void show_data(struct mor_converse_turn *turn, const struct mor_value *data, bool more)
{
	if (turn->runner->console->json) {
		print_json(turn, data, more);
		return;
	}
	print_value(turn, data);
	if (!more)
		end_line(turn);
	mor_out_flush(turn->runner->console);
}

static void on_reply(const mortise_reply *reply, void *arg)
{
	struct mor_converse_turn *turn = arg;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice text = { reply->result.text ? reply->result.text : "null",
				  reply->result.text ? reply->result.len : 4 };
	const struct mor_value *root;

	if (!reply->more)
		turn->call = NULL;
	if (reply->status < 0) {
		end_line(turn);
		turn->failure = *reply->error;
		if (!turn->cancelled)
			turn->exit_code = mor_runner_report(turn->runner, turn->typed, reply);
		return;
	}
	/* The library has already parsed this text, so parsing fails only without memory. */
	if (mor_doc_parse(text, MOR_JSON_NAN, MOR_JSON_DEPTH_MAX, &doc, NULL) < 0)
		return;
	root = mor_doc_root(doc);
	if (!reply->more)
		turn->keep = mor_json_bool(mor_json_get(root, "keep_session"), false);
	show_data(turn, reply->more ? root : data_of(turn, root), reply->more);
}

/* Nobody reads any more: the rest of the answer is of no use. */
static bool turn_settled(void *arg)
{
	const struct mor_converse_turn *turn = arg;

	return !turn->call || mor_out_broken(turn->runner->console) || (turn->waits && turn->waits(turn->arg));
}

static int run_to_end(struct mor_converse_turn *turn)
{
	int r = mor_runner_run(turn->runner, turn_settled, turn);

	while (r == 0 && turn->call && turn->waits && turn->waits(turn->arg)) {
		end_line(turn);
		turn->meanwhile(turn->arg);
		r = mor_runner_run(turn->runner, turn_settled, turn);
	}
	return r;
}

int mor_converse_turn_run(struct mor_converse_turn *turn, const char *action, mortise_json params,
			  mortise_error *err)
{
	mortise_call_options opt = {
		.size = sizeof(opt),
		.timeout_ms = turn->runner->timeout_ms,
		.flags = turn->flags,
		.on_reply = on_reply,
		.arg = turn,
		.extra = turn->extra,
	};
	int r;

	turn->begun_ms = mor_clock_ms();
	turn->in_line = turn->cancelled = turn->keep = false;
	turn->exit_code = 0;
	if ((r = mortise_call_start(turn->plugin, action, params, &opt, &turn->call, err)) < 0)
		return r;
	r = run_to_end(turn);
	if (turn->call) {
		turn->cancelled = true;
		mortise_call_cancel(turn->call, NULL);
	}
	/* The last callback comes later, in another turn of the loop. It must still find this struct. */
	while (turn->call)
		mortise_host_wait(turn->runner->host, -1);
	end_line(turn);
	return r < 0 ? mor_fail(err, r, "interrupted") : 0;
}
