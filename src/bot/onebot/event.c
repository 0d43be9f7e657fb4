/* SPDX-License-Identifier: Apache-2.0 */
/* One line of input: what happened in the chat network. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "onebot/onebot.h"

void mor_onebot_event_fini(struct mor_onebot_event *event)
{
	mor_buf_fini(&event->text);
	mor_buf_fini(&event->raw);
	mor_free(event->user_id);
	mor_free(event->group_id);
	mor_free(event->self_id);
	mor_free(event->message_id);
	mor_free(event->echo);
	mor_free(event->why);
	mor_free(event->data);
	*event = (struct mor_onebot_event){ 0 };
}

/* Absent and null are the same, and leave *ret as it is. */
static int read_id(const struct mor_value *root, const char *name, char **ret, mortise_error *err)
{
	const struct mor_value *value = mor_json_get(root, name);
	struct mor_slice digits = mor_onebot_id(value);

	if (mor_json_type(value) <= MOR_JSON_NULL)
		return 0;
	if (!digits.ptr)
		return mor_fail(err, MORTISE_EINPUT, "%s must be a whole number of 64 bits", name);
	*ret = mor_strndup(digits.ptr, digits.len);
	return *ret ? 0 : mor_fail_memory(err);
}

static int read_ids(const struct mor_value *root, struct mor_onebot_event *event, mortise_error *err)
{
	int r;

	if ((r = read_id(root, "user_id", &event->user_id, err)) < 0 ||
	    (r = read_id(root, "group_id", &event->group_id, err)) < 0 ||
	    (r = read_id(root, "self_id", &event->self_id, err)) < 0)
		return r;
	return 0;
}

/* message_type says whether it is a group message. Without it, group_id decides. */
static int settle_type(struct mor_onebot_event *event, struct mor_slice type, mortise_error *err)
{
	if (type.ptr && mor_slice_is(type, "private")) {
		event->group_id = mor_free(event->group_id);
	} else if (type.ptr && !event->group_id) {
		return mor_fail(err, MORTISE_EINPUT, "message_type is group, but group_id is missing");
	}
	return 0;
}

static int set_text(struct mor_onebot_event *event, struct mor_slice text, struct mor_slice raw,
		    mortise_error *err)
{
	mor_buf_slice(&event->text, mor_cq_trim(text));
	mor_buf_slice(&event->raw, raw);
	return mor_buf_failed(&event->text) || mor_buf_failed(&event->raw) ? mor_fail_memory(err) : 0;
}

static int copy(const struct mor_value *value, char **ret, mortise_error *err)
{
	struct mor_slice text = mor_json_string(value);

	if (!text.len)
		return 0;
	*ret = mor_strndup(text.ptr, text.len);
	return *ret ? 0 : mor_fail_memory(err);
}

/* ---- OneBot v11 ---- */

static int read_content(const struct mor_value *root, struct mor_onebot_event *event, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf plain = MOR_BUF_INIT, written = MOR_BUF_INIT;
	const struct mor_value *message = mor_json_get(root, "message");
	struct mor_slice raw = mor_json_string(mor_json_get(root, "raw_message"));
	enum mor_json_type type = mor_json_type(message);

	if (type != MOR_JSON_STRING && type != MOR_JSON_ARRAY) {
		if (!raw.ptr || type != MOR_JSON_MISSING)
			return mor_fail(err, MORTISE_EINPUT,
					"message must be a string or an array of segments");
		message = mor_json_get(root, "raw_message");
	}
	if (mor_cq_plain(message, &plain) < 0)
		return mor_fail_memory(err);
	if (!raw.ptr)
		raw = mor_json_string(message);
	if (!raw.ptr) {
		if (mor_cq_write(message, &written) < 0)
			return mor_fail_memory(err);
		raw = mor_buf_view(&written);
	}
	return set_text(event, mor_buf_view(&plain), raw, err);
}

/* Tells two copies of one message from two messages. The standard has a number. Networks without one send 0. */
static int read_message_id(const struct mor_value *root, struct mor_onebot_event *event, mortise_error *err)
{
	const struct mor_value *id = mor_json_get(root, "message_id");
	struct mor_slice digits = mor_json_raw(id);

	if (!digits.ptr || mor_slice_is(digits, "0"))
		return copy(id, &event->message_id, err);
	event->message_id = mor_strndup(digits.ptr, digits.len);
	return event->message_id ? 0 : mor_fail_memory(err);
}

static int read_message(const struct mor_value *root, struct mor_onebot_event *event, mortise_error *err)
{
	struct mor_slice type = mor_json_string(mor_json_get(root, "message_type"));
	int r;

	if (!mor_text_in(type, "private|group"))
		return 0; /* event types of other networks: no plugin uses them */
	if ((r = read_ids(root, event, err)) < 0)
		return r;
	if (!event->user_id)
		return mor_fail(err, MORTISE_EINPUT, "user_id is missing");
	r = settle_type(event, type, err);
	r = r ? r : read_content(root, event, err);
	r = r ? r : read_message_id(root, event, err);
	if (r == 0)
		event->kind = MOR_ONEBOT_MESSAGE;
	return r;
}

static bool is(const struct mor_value *root, const char *name, const char *value)
{
	const char *text = mor_json_text(mor_json_get(root, name), NULL);

	return text && strcmp(text, value) == 0;
}

#define LONGEST_BEAT_MS 86400000

static void read_heartbeat(const struct mor_value *root, struct mor_onebot_event *event)
{
	int64_t interval = mor_json_int(mor_json_get(root, "interval"), 0);

	event->kind = MOR_ONEBOT_HEARTBEAT;
	event->interval_ms = interval > 0 && interval < LONGEST_BEAT_MS ? (uint32_t)interval : 0;
	event->offline = !mor_json_bool(mor_json_at(root, "/status/online"), true);
}

static int read_meta(const struct mor_value *root, struct mor_onebot_event *event, mortise_error *err)
{
	int r;

	if (is(root, "meta_event_type", "heartbeat"))
		read_heartbeat(root, event);
	if (!is(root, "meta_event_type", "lifecycle") || !is(root, "sub_type", "connect"))
		return 0;
	r = read_id(root, "self_id", &event->self_id, err);
	if (r == 0 && !event->self_id)
		return mor_fail(err, MORTISE_EINPUT, "self_id is missing");
	if (r == 0)
		event->kind = MOR_ONEBOT_CONNECT;
	return r;
}

/* Implementations put the reason into different members. */
static int read_response(const struct mor_value *root, struct mor_onebot_event *event, mortise_error *err)
{
	static const char *const reasons[] = { "wording", "message", "msg" };
	const struct mor_value *data = mor_json_get(root, "data");
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	char number[48];
	int r = copy(mor_json_get(root, "echo"), &event->echo, err);

	event->failed = is(root, "status", "failed");
	event->retcode = mor_json_int(mor_json_get(root, "retcode"), 0);
	if (r == 0 && mor_json_type(data) > MOR_JSON_NULL &&
	    (mor_json_write(data, false, &json) < 0 || !(event->data = mor_buf_detach(&json))))
		r = mor_fail_memory(err);
	for (size_t i = 0; r == 0 && !event->why && i < sizeof(reasons) / sizeof(reasons[0]); i++)
		r = copy(mor_json_get(root, reasons[i]), &event->why, err);
	snprintf(number, sizeof(number), "retcode %lld", (long long)event->retcode);
	if (r == 0 && !event->why && !(event->why = mor_strdup(number)))
		r = mor_fail_memory(err);
	if (r == 0)
		event->kind = MOR_ONEBOT_RESPONSE;
	return r;
}

/* ---- our short form ---- */

static int read_short(const struct mor_value *root, struct mor_onebot_event *event, mortise_error *err)
{
	struct mor_slice type = mor_json_string(mor_json_get(root, "message_type"));
	struct mor_slice text = mor_json_string(mor_json_get(root, "text"));
	struct mor_slice raw = mor_json_string(mor_json_get(root, "raw_message"));
	int r;

	if (!text.ptr)
		return mor_fail(err, MORTISE_EINPUT,
				"neither an event of OneBot (with post_type) nor a short one such as "
				"{\"text\":\"/ping\",\"user_id\":1,\"group_id\":2}");
	if (type.ptr && !mor_text_in(type, "private|group"))
		return mor_fail(err, MORTISE_EINPUT, "message_type must be private or group");
	r = read_ids(root, event, err);
	if (r == 0 && !event->user_id && !(event->user_id = mor_strdup("0")))
		r = mor_fail_memory(err);
	r = r ? r : settle_type(event, type, err);
	if (r == 0)
		r = set_text(event, text, raw.ptr ? raw : text, err);
	event->is_short = true;
	if (r == 0)
		event->kind = MOR_ONEBOT_MESSAGE;
	return r;
}

int mor_onebot_read(struct mor_slice line, struct mor_onebot_event *ret, mortise_error *err)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	const struct mor_value *root;
	mortise_error why;
	int r;

	*ret = (struct mor_onebot_event){ 0 };
	if ((r = mor_doc_parse(line, 0, 0, &doc, &why)) < 0)
		return r == MORTISE_ENOMEM ? mor_fail_memory(err) :
					     mor_fail(err, MORTISE_EINPUT, "not JSON: %s", why.text);
	root = mor_doc_root(doc);
	if (mor_json_type(root) != MOR_JSON_OBJECT)
		return mor_fail(err, MORTISE_EINPUT, "an event is an object, not %s",
				mor_json_type_name(mor_json_type(root)));
	if (is(root, "post_type", "message"))
		return read_message(root, ret, err);
	if (is(root, "post_type", "meta_event"))
		return read_meta(root, ret, err);
	if (mor_json_get(root, "post_type"))
		return 0;
	if (mor_json_get(root, "retcode"))
		return read_response(root, ret, err);
	return read_short(root, ret, err);
}

/* ---- to plugins ---- */

static void put_text(struct mor_writer *w, const char *name, const struct mor_buf *text)
{
	mor_w_pair_slice(w, name, mor_buf_view(text));
}

static void put_id(struct mor_writer *w, const char *name, const char *id)
{
	if (id)
		mor_w_pair_raw(w, name, mor_slice_of(id));
}

static void put_origin(struct mor_writer *w, const struct mor_onebot_event *event)
{
	mor_w_pair(w, "message_type", event->group_id ? "group" : "private");
	put_id(w, "user_id", event->user_id);
	/* plugins index it */
	mor_w_pair_raw(w, "group_id", mor_slice_of(event->group_id ? event->group_id : "null"));
}

int mor_onebot_matches(const struct mor_onebot_event *event, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	put_text(&w, "text", &event->text);
	put_origin(&w, event);
	mor_w_end(&w);
	return out->status;
}

int mor_onebot_handle(const struct mor_onebot_event *event, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	put_origin(&w, event);
	put_text(&w, "text", &event->text);
	put_text(&w, "raw_message", &event->raw);
	put_id(&w, "self_id", event->self_id);
	mor_w_end(&w);
	return out->status;
}
