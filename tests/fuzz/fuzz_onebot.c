/* SPDX-License-Identifier: Apache-2.0 */
/* A line of input is an event or a fault; what plugins are given and what is sent is JSON, and text stays text.
 * As a CQ string, every byte is in one part, and escaping can be undone. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "onebot/onebot.h"

static void check_json(const struct mor_buf *json, struct mor_doc **ret)
{
	CHECK(json->status == 0);
	CHECK(mor_doc_parse(mor_buf_view(json), 0, 0, ret, NULL) == 0);
	CHECK(!memchr(json->data, '\n', json->len));
}

static void check_event(struct mor_slice line)
{
	MOR_CLEAN(mor_buf) struct mor_buf handle = MOR_BUF_INIT, call = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *params = NULL, *sent = NULL;
	struct mor_onebot_event event;
	mortise_error err = { 0 };
	int r = mor_onebot_read(line, &event, &err);

	CHECK(r == 0 || (r == MORTISE_EINPUT && err.text[0] && event.kind == MOR_ONEBOT_OTHER));
	if (r == 0 && event.kind == MOR_ONEBOT_MESSAGE) {
		mor_onebot_handle(&event, &handle);
		check_json(&handle, &params);
		CHECK(mor_json_is_int(mor_json_get(mor_doc_root(params), "user_id")));
		mor_onebot_send(mor_onebot_origin(&event), MOR_ONEBOT_TEXT, mor_buf_view(&event.text), "e",
				&call);
		check_json(&call, &sent);
		CHECK(mor_slice_eq(mor_json_string(
					   mor_json_at(mor_doc_root(sent), "/params/message/0/data/text")),
				   mor_buf_view(&event.text)));
	}
	mor_onebot_event_fini(&event);
}

static void check_text(struct mor_slice text, enum mor_cq_place place)
{
	MOR_CLEAN(mor_buf) struct mor_buf there = MOR_BUF_INIT, back = MOR_BUF_INIT;
	struct mor_slice rest;
	struct mor_cq_part part;

	CHECK(mor_cq_escape(text, place, &there) == 0 &&
	      mor_cq_unescape(mor_buf_view(&there), place, &back) == 0);
	CHECK(mor_slice_eq(mor_buf_view(&back), text));
	rest = mor_buf_view(&there);
	while (mor_cq_next(&rest, &part))
		CHECK(!part.is_code);
}

static void check_string(struct mor_slice text)
{
	struct mor_slice rest = text;
	struct mor_cq_part part;
	size_t total = 0;

	while (mor_cq_next(&rest, &part)) {
		CHECK(part.text.len > 0 && part.text.ptr == text.ptr + total);
		total += part.text.len;
	}
	CHECK(total == text.len);
	CHECK(mor_cq_trim(text).len <= text.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mor_slice input = { (const char *)data, size };

	check_event(input);
	check_string(input);
	check_text(input, MOR_CQ_IN_TEXT);
	check_text(input, MOR_CQ_IN_CODE);
	return 0;
}
