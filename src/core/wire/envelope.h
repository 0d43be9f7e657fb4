/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON-RPC 2.0 envelopes: frames <-> messages.
 *
 * mor_envelope_scan() is the hot path. It reads a frame once, finds the envelope members, remembers the
 * bounds of params, result and error as slices of the frame, and validates the rest (strict RFC 8259, UTF-8,
 * depth) without building a tree and without allocating. Keys are compared as unescaped strings with their
 * length ("\u0069d" is "id"): NUL bytes and upper case do not help an attacker, and a duplicate envelope key
 * is refused in every spelling.
 */
#ifndef MOR_WIRE_ENVELOPE_H
#define MOR_WIRE_ENVELOPE_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"

enum mor_message_kind {
	MOR_MSG_REQUEST, /* method and id                                            */
	MOR_MSG_NOTE,    /* method, no id                                            */
	MOR_MSG_RESULT,  /* result, id                                               */
	MOR_MSG_ERROR,   /* error, id (may be null)                                  */
	MOR_MSG_BATCH    /* the frame is an array; walk it with mor_batch_next()     */
};

/* Null params always count as absent: many real peers write them, and the other reading of the specification
 * would only lose their calls. A reply without any id is refused, but an id of null is not. */
enum mor_envelope_flags {
	MOR_ENV_JSONRPC_OPTIONAL = 1 << 0, /* "jsonrpc" may be missing or not "2.0": then .lax is set */
	MOR_ENV_ERROR_NULL_OK = 1 << 1,    /* "error": null beside a result counts as absent, also
						"result": null beside an error, and either beside a method */
	MOR_ENV_NAN = 1 << 2,              /* NaN, Infinity, -Infinity are numbers                       */
	MOR_ENV_RESULT_OPTIONAL = 1 << 3   /* id with neither result nor error nor method: result null   */
};

enum mor_id_kind { MOR_ID_NONE, MOR_ID_NULL, MOR_ID_NUMBER, MOR_ID_STRING };

struct mor_message {
	enum mor_message_kind kind;
	enum mor_id_kind id_kind;
	struct mor_slice id;     /* verbatim JSON text: 12, "a\u00e9", null                          */
	int64_t id_int;          /* if the id is an integer within int64 without '.' and 'e'; else -1 */
	struct mor_slice method; /* the string's content, as it was sent */
	bool method_escaped;     /* it has escapes: call mor_envelope_unescape() before comparing it */
	bool lax;                /* accepted only because of JSONRPC_OPTIONAL */
	struct mor_slice params, result, error; /* verbatim JSON texts; ptr NULL: absent            */
	/* the message without blanks around it; ptr NULL: it came without an envelope (mor_envelope_imply()) */
	struct mor_slice whole;
};

/* 0, or MORTISE_EPROTO with `err` saying what is wrong and where ("/id: boolean is no id", "byte 17:
 * unexpected '}'"). max_depth 0: MOR_JSON_DEPTH. On failure ret_message->id/id_int are set if an id was
 * found before the fault (kind is undefined), so that the caller can fail the right call. */
int mor_envelope_scan(struct mor_slice frame, unsigned flags, unsigned max_depth,
		      struct mor_message *ret_message, mortise_error *err);

/* Unescapes the method into `out` and makes `method` point there. 0 or the buffer's status. */
int mor_envelope_unescape(struct mor_message *message, struct mor_buf *out);

/* Elements of a batch frame that mor_envelope_scan() called MOR_MSG_BATCH (already validated as JSON).
 * `*pos` starts at 0. Returns 1 with the element's text, 0 at the end. An empty batch gives 0 at once. */
int mor_batch_next(struct mor_slice frame, size_t *pos, struct mor_slice *ret_element);

/* The three members of an error object. `message` is unescaped into `text` (cut to fit). */
struct mor_rpc_error {
	int64_t code;
	bool code_ok;          /* there was an integral code */
	struct mor_slice data; /* verbatim; ptr NULL: absent */
	char text[320];
};
void mor_envelope_error(struct mor_slice error, struct mor_rpc_error *ret);

/* Writing. Each appends one compact message without framing. params/result/data are JSON texts, copied
 * unchanged; with lines framing they must have no raw newline. Absent params and data are left out; an
 * absent id or result is written as null. */
int mor_write_request(struct mor_buf *out, int64_t id, struct mor_slice method, struct mor_slice params);
int mor_write_note(struct mor_buf *out, struct mor_slice method, struct mor_slice params);
int mor_write_result(struct mor_buf *out, struct mor_slice id, struct mor_slice result);
int mor_write_error(struct mor_buf *out, struct mor_slice id, int64_t code, const char *message,
		    struct mor_slice data);

/* The object that is `error` of such a message. */
int mor_write_error_object(struct mor_buf *out, int64_t code, const char *message, struct mor_slice data);

/* Messages that came without an envelope, because their link carries calls: kind, id, and result, error, or
 * method and params are set. */

/* Sets `whole`: no bytes, but the length that they would have. */
void mor_envelope_imply(struct mor_message *message);
/* Appends any message: as it came, or as it would have come. 0 or the buffer's status. */
int mor_envelope_copy(struct mor_buf *out, const struct mor_message *message);

/* The validating scanner alone: true if `text` is exactly one JSON text. Only the flag MOR_ENV_NAN counts.
 * ret_error_at (NULL is fine) gets the byte of the first fault. */
bool mor_json_valid(struct mor_slice text, unsigned flags, unsigned max_depth, size_t *ret_error_at);
/* The same for params that are to be sent. *ret_spaced: there may be newlines outside its strings. */
bool mor_json_valid_params(struct mor_slice text, bool *ret_spaced, size_t *ret_error_at);

#endif
