/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OneBot v11, as far as a bot's plugins need it: what a chat network tells (events) and what it is asked to do
 * (calls). Pure: bytes in, bytes out. How they come and go over the network is in link.h.
 *
 * A message is an array of segments {"type","data"}, or one string in which everything but text is a CQ code:
 * "[CQ:at,qq=123] hello". In such a string & [ ] are written &amp; &#91; &#93;, and inside a code , is &#44;.
 * What we send are always segments: text that a person wrote cannot become a code that way.
 */
#ifndef MOR_ONEBOT_ONEBOT_H
#define MOR_ONEBOT_ONEBOT_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

/* ---- cq.c: messages as one string ---- */

enum mor_cq_place { MOR_CQ_IN_TEXT, MOR_CQ_IN_CODE };

/* A run of text, or one code. Slices of what was given, still escaped. */
struct mor_cq_part {
	bool is_code;
	struct mor_slice text;   /* the text; of a code: all of it, brackets included         */
	struct mor_slice type;   /* of a code: "at"                                           */
	struct mor_slice params; /* of a code: "qq=123,name=x"                                */
};
/* Takes the next part off `rest`; false at its end. What begins like a code and is none is text. */
bool mor_cq_next(struct mor_slice *rest, struct mor_cq_part *ret);
/* Takes the next "name=value" off a code's params; false at their end. One without "=" has an empty value. */
bool mor_cq_param(struct mor_slice *params, struct mor_slice *ret_name, struct mor_slice *ret_value);
int mor_cq_escape(struct mor_slice text, enum mor_cq_place place, struct mor_buf *out);
/* What is no entity stays as it is. */
int mor_cq_unescape(struct mor_slice text, enum mor_cq_place place, struct mor_buf *out);
/* An array of segments as one string. What is no segment is left out. */
int mor_cq_write(const struct mor_value *segments, struct mor_buf *out);
/* The text of a message (a string with codes, or segments) without everything else; not trimmed. */
int mor_cq_plain(const struct mor_value *message, struct mor_buf *out);
/* Without white space at both ends, that of other scripts included (U+3000). */
struct mor_slice mor_cq_trim(struct mor_slice text);

/* ---- event.c: one line of input ---- */

enum mor_onebot_kind {
	MOR_ONEBOT_OTHER,     /* nothing for plugins: notices, our own messages                    */
	MOR_ONEBOT_MESSAGE,
	MOR_ONEBOT_CONNECT,   /* meta_event, lifecycle, connect: self_id is set                    */
	MOR_ONEBOT_HEARTBEAT, /* meta_event, heartbeat                                             */
	MOR_ONEBOT_RESPONSE   /* the answer to a call of ours                                      */
};

/* Ids are kept as the digits they came in, so that none beyond 2^53 changes on its way. */
struct mor_onebot_event {
	enum mor_onebot_kind kind;
	struct mor_buf text; /* plain and trimmed                                                  */
	struct mor_buf raw;  /* raw_message as it came; where there is none: the message as one string */
	char *user_id;
	char *group_id;    /* NULL: private                                                        */
	char *self_id;     /* NULL: not said                                                       */
	char *message_id;  /* MESSAGE: its digits, or text; NULL: it has none                      */
	bool is_short;     /* MESSAGE: in our own form                                             */
	bool failed;       /* RESPONSE: its status is "failed"                                     */
	int64_t retcode;   /* RESPONSE                                                             */
	char *echo, *why;  /* RESPONSE: whose it was, and what it says; or NULL                    */
	char *data;        /* RESPONSE: JSON, or NULL                                              */
	uint32_t interval_ms; /* HEARTBEAT: until the next one; 0: not said                        */
	bool offline;      /* HEARTBEAT: the account is not in the chat network                    */
};

/* An event of OneBot v11, or our own short form {"text": "/ping", "user_id": 1, "group_id": 2}, in which only the
 * text is required. 0, MORTISE_ENOMEM, or MORTISE_EINPUT with what is wrong. `ret` is filled in either case and
 * wants mor_onebot_event_fini(). */
int mor_onebot_read(struct mor_slice line, struct mor_onebot_event *ret, mortise_error *err);
void mor_onebot_event_fini(struct mor_onebot_event *event);

/* Params of matches and of handle as the ayiou dialect has them. */
int mor_onebot_matches(const struct mor_onebot_event *event, struct mor_buf *out);
int mor_onebot_handle(const struct mor_onebot_event *event, struct mor_buf *out);

/* ---- call.c: one line of output ---- */

struct mor_onebot_target {
	bool group;
	const char *id; /* digits */
};
struct mor_onebot_target mor_onebot_origin(const struct mor_onebot_event *event);

/* send_private_msg or send_group_msg with one text or image segment, without a newline. `echo` comes back in the
 * response; NULL: none. */
int mor_onebot_send_text(struct mor_onebot_target target, struct mor_slice text, const char *echo, struct mor_buf *out);
int mor_onebot_send_image(struct mor_onebot_target target, struct mor_slice url, const char *echo, struct mor_buf *out);

/* Digits of an id: an integer, or a string that holds one and nothing else. {NULL, 0}: it is none, or not in 64 bits. */
struct mor_slice mor_onebot_id(const struct mor_value *value);

#endif
