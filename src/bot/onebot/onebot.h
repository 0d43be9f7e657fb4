/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OneBot v11, as far as a bot's plugins need it: events from a chat network, and calls to it. Only bytes in
 * and bytes out; the network connections are in link.h.
 *
 * A message is an array of segments {"type","data"}, or one string in which everything but text is a CQ
 * code: "[CQ:at,qq=123] hello". In such a string & [ ] are written &amp; &#91; &#93;, and inside a code , is
 * &#44;. We always send segments: so a person's text can never become a code.
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

/* A piece of text, or one code. Slices of the input, still escaped. */
struct mor_cq_part {
	bool is_code;
	struct mor_slice text;   /* the text; of a code: all of it with brackets */
	struct mor_slice type;   /* of a code: "at"                                           */
	struct mor_slice params; /* of a code: "qq=123,name=x"                                */
};
/* Takes the next part from `rest`; false at its end. Text that only begins like a code is text. */
bool mor_cq_next(struct mor_slice *rest, struct mor_cq_part *ret);
int mor_cq_escape(struct mor_slice text, enum mor_cq_place place, struct mor_buf *out);
/* Unknown entities stay as they are. */
int mor_cq_unescape(struct mor_slice text, enum mor_cq_place place, struct mor_buf *out);
/* An array of segments as one string. Elements that are not segments are left out. */
int mor_cq_write(const struct mor_value *segments, struct mor_buf *out);
/* Only the text of a message (a string with codes, or segments); not trimmed. */
int mor_cq_plain(const struct mor_value *message, struct mor_buf *out);
/* Without white space at both ends, also that of other scripts (U+3000). */
struct mor_slice mor_cq_trim(struct mor_slice text);

/* ---- event.c: one line of input ---- */

enum mor_onebot_kind {
	MOR_ONEBOT_OTHER, /* not for plugins: notices, our own messages */
	MOR_ONEBOT_MESSAGE,
	MOR_ONEBOT_CONNECT,   /* meta_event, lifecycle, connect: self_id is set                    */
	MOR_ONEBOT_HEARTBEAT, /* meta_event, heartbeat                                             */
	MOR_ONEBOT_RESPONSE   /* the answer to one of our calls */
};

/* Ids are kept as the digits that came, so that numbers beyond 2^53 do not change. */
struct mor_onebot_event {
	enum mor_onebot_kind kind;
	struct mor_buf text; /* plain and trimmed                                                  */
	struct mor_buf raw;  /* raw_message as it came; without it: the message as one string */
	char *user_id;
	char *group_id;       /* NULL: private                                                        */
	char *self_id;        /* NULL: not given */
	char *message_id;     /* MESSAGE: its digits, or text; NULL: it has none                      */
	bool is_short;        /* MESSAGE: in our short form */
	bool failed;          /* RESPONSE: its status is "failed"                                     */
	int64_t retcode;      /* RESPONSE                                                             */
	char *echo, *why;     /* RESPONSE: the echo of the call, and the text; or NULL */
	char *data;           /* RESPONSE: JSON, or NULL                                              */
	uint32_t interval_ms; /* HEARTBEAT: time to the next one; 0: not given */
	bool offline;         /* HEARTBEAT: the account is not in the chat network                    */
};

/* An event of OneBot v11, or our short form {"text": "/ping", "user_id": 1, "group_id": 2}, where only the
 * text is required. 0, MORTISE_ENOMEM, or MORTISE_EINPUT with what is wrong. `ret` is filled in every case:
 * call mor_onebot_event_fini(). */
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

/* send_private_msg or send_group_msg with one segment, a text or the URL of an image, without a newline. `echo`
 * comes back in the response; NULL: none. */
enum mor_onebot_segment { MOR_ONEBOT_TEXT, MOR_ONEBOT_IMAGE };
int mor_onebot_send(struct mor_onebot_target target, enum mor_onebot_segment segment, struct mor_slice content,
		    const char *echo, struct mor_buf *out);

/* Digits of an id: an integer, or a string with an integer and nothing else. {NULL, 0}: not an id, or over
 * 64 bits. */
struct mor_slice mor_onebot_id(const struct mor_value *value);

#endif
