/* SPDX-License-Identifier: Apache-2.0 */
/* Does what a plugin's answer asks for. What cannot be done is reported and left out. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "dispatch/bot.h"

/* One answer that is being carried out. */
struct answer {
	struct mor_bot_seat *seat;
	const struct mor_bot_walk *walk;
	int index;      /* index of the action; -1: the reply */
	char echo[180]; /* "weather/7": plugin and event; on the network also the number of the call */
};

bool mor_bot_matches(mortise_json result)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;

	if (mor_doc_parse((struct mor_slice){ result.text, result.len }, MOR_JSON_NAN, 0, &doc, NULL) < 0)
		return false;
	return mor_json_bool(mor_json_get(mor_doc_root(doc), "matches"), false);
}

static void lose_action(const struct answer *answer)
{
	mor_bot_tell(answer->seat->run, answer->seat, "internal", answer->walk->number,
		     "out of memory: an answer is lost");
}

static void to_stdout(struct answer *answer, struct mor_onebot_target target, enum mor_onebot_segment segment,
		      struct mor_slice content)
{
	MOR_CLEAN(mor_buf) struct mor_buf line = MOR_BUF_INIT;

	mor_onebot_send(target, segment, content, answer->echo, &line);
	mor_buf_byte(&line, '\n');
	if (mor_buf_failed(&line) || mor_bot_out_put(answer->seat->run, mor_buf_view(&line)) < 0)
		lose_action(answer);
}

static void to_network(struct answer *answer, struct mor_onebot_target target, enum mor_onebot_segment segment,
		       struct mor_slice content)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	struct mor_bot_api_call *call = mor_bot_api_new(answer->seat, answer->walk, target, answer->index);
	struct mor_slice text = { 0 };
	char echo[sizeof(answer->echo) + 24];

	if (!call) {
		lose_action(answer);
		return;
	}
	snprintf(echo, sizeof(echo), "%s/%llu", answer->echo, (unsigned long long)call->number);
	mor_onebot_send(target, segment, content, echo, &json);
	if (!mor_buf_failed(&json))
		text = mor_buf_view(&json);
	if (mor_bot_api_put_take(answer->seat->run, call, text) < 0)
		lose_action(answer);
}

/* Every network refuses an empty message. As an answer it means "no answer". */
static void send_action(struct answer *answer, struct mor_onebot_target target, enum mor_onebot_segment segment,
			struct mor_slice content)
{
	if (content.len)
		(answer->seat->run->net.link ? to_network : to_stdout)(answer, target, segment, content);
}

/* ---- actions ---- */

/* "send": a text to the person or group that the plugin names. Returns NULL, or what is wrong. */
static const char *act_send(struct answer *answer, const struct mor_value *action)
{
	struct mor_slice type = mor_json_string(mor_json_get(action, "target_type"));
	struct mor_slice id = mor_onebot_id(mor_json_get(action, "target_id"));
	struct mor_slice message = mor_json_string(mor_json_get(action, "message"));
	char digits[24];

	if (!mor_text_in(type, "private|group"))
		return "target_type must be private or group";
	if (!id.ptr)
		return "target_id must be a whole number of 64 bits";
	if (!message.ptr)
		return "message must be a string";
	snprintf(digits, sizeof(digits), "%.*s", (int)id.len, id.ptr);
	send_action(answer, (struct mor_onebot_target){ mor_slice_is(type, "group"), digits }, MOR_ONEBOT_TEXT,
		    message);
	return NULL;
}

static const char *do_action(struct answer *answer, const struct mor_value *action)
{
	struct mor_slice type = mor_json_string(mor_json_get(action, "type"));
	struct mor_slice text = mor_json_string(mor_json_get(action, "text"));
	struct mor_slice url = mor_json_string(mor_json_get(action, "url"));

	if (mor_slice_is(type, "send"))
		return act_send(answer, action);
	if (mor_slice_is(type, "reply")) {
		send_action(answer, mor_onebot_origin(&answer->walk->event), MOR_ONEBOT_TEXT, text);
		return text.ptr ? NULL : "text must be a string";
	}
	if (!mor_slice_is(type, "image"))
		return "its type must be reply, image or send";
	if (!url.len)
		return "url must be a string";
	send_action(answer, mor_onebot_origin(&answer->walk->event), MOR_ONEBOT_IMAGE, url);
	return NULL;
}

static void do_actions(struct answer *answer, const struct mor_value *actions)
{
	struct mor_json_iter it = mor_json_iter(actions);
	char text[200], shown[60];

	for (unsigned i = 0; mor_json_type(actions) == MOR_JSON_ARRAY && mor_json_next(&it); i++) {
		const char *wrong;

		answer->index = (int)i;
		wrong = do_action(answer, it.value);
		if (!wrong)
			continue;
		mor_excerpt(mor_json_string(mor_json_get(it.value, "type")), shown, sizeof(shown));
		snprintf(text, sizeof(text), "action %u (\"%s\") is skipped: %s", i, shown, wrong);
		mor_bot_warn(answer->seat, text);
	}
}

bool mor_bot_act(struct mor_bot_seat *seat, const struct mor_bot_walk *walk, mortise_json result)
{
	struct answer answer = { .seat = seat, .walk = walk, .index = -1 };
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *root;

	if (mor_doc_parse((struct mor_slice){ result.text, result.len }, MOR_JSON_NAN, 0, &doc, NULL) < 0)
		return false;
	root = mor_doc_root(doc);
	if (mor_json_type(root) != MOR_JSON_OBJECT) {
		mor_bot_warn(seat, "its answer to \"handle\" is not an object: it is ignored");
		return false;
	}
	snprintf(answer.echo, sizeof(answer.echo), "%.120s/%llu", seat->name, (unsigned long long)walk->number);
	send_action(&answer, mor_onebot_origin(&walk->event), MOR_ONEBOT_TEXT,
		    mor_json_string(mor_json_get(root, "reply")));
	do_actions(&answer, mor_json_get(root, "actions"));
	return mor_json_bool(mor_json_get(root, "block"), false);
}
