/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the OneBot v11 API, as one line of JSON each. */
#include "base/text.h"
#include "onebot/onebot.h"

/* A string may hold digits that are not a JSON number: 007. */
static bool has_leading_zero(struct mor_slice digits)
{
	size_t at = digits.len && digits.ptr[0] == '-';

	return digits.len > at + 1 && digits.ptr[at] == '0';
}

struct mor_slice mor_onebot_id(const struct mor_value *value)
{
	struct mor_slice digits = mor_json_is_int(value) ? mor_json_raw(value) : mor_json_string(value);
	int64_t number;

	if (!digits.ptr || !mor_parse_i64(digits, &number) || has_leading_zero(digits))
		return (struct mor_slice){ 0 };
	return digits;
}

struct mor_onebot_target mor_onebot_origin(const struct mor_onebot_event *event)
{
	return (struct mor_onebot_target){ event->group_id,
					   event->group_id ? event->group_id : event->user_id };
}

/* Always segments, never a string: then the text stays text, whatever it contains. */
int mor_onebot_send(struct mor_onebot_target target, enum mor_onebot_segment segment, struct mor_slice content,
		    const char *echo, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair(&w, "action", target.group ? "send_group_msg" : "send_private_msg");
	mor_w_pair_object(&w, "params");
	mor_w_pair_raw(&w, target.group ? "group_id" : "user_id", mor_slice_of(target.id));
	mor_w_pair_array(&w, "message");
	mor_w_object(&w);
	mor_w_pair(&w, "type", segment == MOR_ONEBOT_IMAGE ? "image" : "text");
	mor_w_pair_object(&w, "data");
	mor_w_pair_slice(&w, segment == MOR_ONEBOT_IMAGE ? "file" : "text", content);
	mor_w_end(&w);
	mor_w_end(&w);
	mor_w_end(&w);
	mor_w_end(&w);
	if (echo)
		mor_w_pair(&w, "echo", echo);
	mor_w_end(&w);
	return out->status;
}
