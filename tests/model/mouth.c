/* SPDX-License-Identifier: Apache-2.0 */
/* What a process hears and says. Every answer carries the token of the call that it answers, and
 * nothing else does. */
#include <string.h>

#include "base/alloc.h"
#include "model.h"

#define FIRST_ASK 1000
#define WILD      "\"w\":1" /* instead of a token: in what names no call, or the wrong one */
#define GUESS     "\"x\":1" /* in what names an id that may be a call's by chance */

struct proc *proc_at(unsigned place)
{
	const struct place *at = &world.places[place % PLACES];

	return at->handle && at->proc && at->proc->announced && !at->proc->dead && !at->proc->ends ? at->proc :
												     NULL;
}

/* ---- hearing ---- */

static int64_t number_behind(struct mor_slice text, const char *key)
{
	const char *at = text.len ? memmem(text.ptr, text.len, key, strlen(key)) : NULL;
	int64_t number = 0;

	if (!at)
		return 0;
	for (at += strlen(key); at < text.ptr + text.len && *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (*at - '0');
	return number;
}

static const struct mor_dialect *dialect_of(const struct proc *p)
{
	return p->place->handle ? p->place->handle->peer.dialect : NULL;
}

static void forget_oldest(struct proc *p)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < p->heard_count; i++)
		if (!p->heard[i].over)
			p->heard[kept++] = p->heard[i];
	p->heard_count = kept;
	if (kept < HEARD)
		return;
	memmove(p->heard, p->heard + 1, (HEARD - 1) * sizeof(*p->heard));
	p->heard_count--;
}

static void hear_call(struct proc *p, const struct mor_message *message)
{
	unsigned token = world.foreign ? 0 : (unsigned)number_behind(message->params, "\"t\":");
	struct call *call = call_of(token);

	if (call && call->settled)
		model_fault("call %u is sent although its last callback has come", token);
	if (call && call->place)
		check_order(call);
	if (call) {
		call->proc = p;
		call->begin = call->proc->link.queued - message->whole.len;
		call->end = p->link.queued;
		call->touched = false;
		call->written_ms = -1;
		call->sends++;
	}
	if (message->kind != MOR_MSG_REQUEST)
		return;
	if (p->heard_count == HEARD)
		forget_oldest(p);
	p->heard[p->heard_count++] = (struct heard){
		.id = message->id_int,
		.token = token,
		.end = p->link.queued,
		.row = mor_dialect_method(dialect_of(p), MOR_FROM_HOST, message->method),
	};
}

static void hear_answer(struct proc *p, const struct mor_message *message)
{
	int64_t id = message->id_int >= 0 ? message->id_int : number_behind(message->id, "q");

	if (world.foreign)
		return;
	if (id < FIRST_ASK || id >= FIRST_ASK + ASKS) {
		p->muddled |= message->id_kind == MOR_ID_NULL; /* of whatever: a whole batch, perhaps */
		if (message->id_kind != MOR_ID_NULL && id != 0)
			model_fault("an answer to nothing that was asked: %.*s", (int)message->whole.len,
				    message->whole.ptr);
		return;
	}
	if (++p->answered[id - FIRST_ASK] > p->asked[id - FIRST_ASK])
		model_fault("request %lld of a plugin was answered more often than asked", (long long)id);
}

static void hear_one(struct proc *p, struct mor_slice body)
{
	struct mor_message message = { .id_int = -1 };
	mortise_error error;

	if (mor_envelope_scan(body, 0, 0, &message, &error) < 0)
		model_fault("the host sent what is no message: %s: %.*s", error.text, (int)body.len, body.ptr);
	if (message.kind == MOR_MSG_BATCH)
		model_fault("a batch in a batch");
	if (message.kind == MOR_MSG_REQUEST || message.kind == MOR_MSG_NOTE)
		hear_call(p, &message);
	else
		hear_answer(p, &message);
}

void mouth_listen(struct proc *p, struct mor_slice body)
{
	struct mor_slice element;
	size_t pos = 0;

	SAY("  to %u: %.*s", (unsigned)(p->place - world.places), (int)body.len, body.ptr);
	if (!body.len || body.ptr[0] != '[') {
		hear_one(p, body);
		return;
	}
	while (mor_batch_next(body, &pos, &element))
		hear_one(p, element);
}

/* ---- saying ---- */

static void say(struct proc *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct proc *p, const char *format, ...)
{
	char body[2048];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(body, sizeof(body), format, args);
	va_end(args);
	SAY("  of %u: %s", (unsigned)(p->place - world.places), body);
	mor_enframe(p->opt->framing, (struct mor_slice){ body, (size_t)len }, &p->out);
	proc_act(p);
}

static void say_bytes(struct proc *p, struct mor_slice bytes)
{
	mor_buf_slice(&p->out, bytes);
	proc_act(p);
}

void mouth_say_frame(struct proc *p, struct mor_slice body, bool framed)
{
	p->muddled = true;
	if (framed)
		mor_enframe(p->opt->framing, body, &p->out);
	else
		mor_buf_slice(&p->out, body);
	proc_act(p);
}

static const char *or_null(const char *text)
{
	return text ? text : "null";
}

static const char *duty_result(const struct proc *p, const struct mor_method *row)
{
	const struct tongue *tongue = p->place->tongue;

	switch (row->role) {
	case MOR_ROLE_HELLO:
		return or_null(tongue->hello);
	case MOR_ROLE_INIT:
		return or_null(tongue->init);
	case MOR_ROLE_PING:
		return or_null(tongue->ping);
	default:
		return or_null(tongue->bye);
	}
}

enum how {
	HOW_OK,
	HOW_ERROR,
	HOW_RECOVERABLE,
	HOW_TWICE,
	HOW_NOT_OK,
	HOW_KEEP,
	HOW_ACK,
	HOW_DONE,
	HOW_FAIL,
	HOW_BROKEN,
	HOW_LAX,
	HOW_COUNT
};

static void say_end_note(struct proc *p, const struct heard *heard, bool fail)
{
	if (fail)
		say(p,
		    "{\"jsonrpc\":\"2.0\",\"method\":\"error\",\"params\":{\"request_id\":%lld,\"code\":-3,\"message\":\"m\",\"t\":%u}}",
		    (long long)heard->id, heard->token);
	else
		say(p,
		    "{\"jsonrpc\":\"2.0\",\"method\":\"complete\",\"params\":{\"request_id\":%lld,\"data\":{\"t\":%u},\"t\":%u}}",
		    (long long)heard->id, heard->token, heard->token);
}

/* An answer is HEAD "id":ID BEFORE TOKEN AFTER. */
#define VERSION "{\"jsonrpc\":\"2.0\","
static const struct form {
	const char *head, *before, *after;
} forms[] = {
	[HOW_OK] = { VERSION, "\"result\":{\"success\":true,\"t\":", "}}" },
	[HOW_ERROR] = { VERSION, "\"error\":{\"code\":-32000,\"message\":\"m\",\"data\":{\"t\":", "}}}" },
	[HOW_RECOVERABLE] = { VERSION, "\"error\":{\"code\":-32000,\"message\":\"m\",\"data\":{\"t\":",
			      ",\"recoverable\":true}}}" },
	[HOW_TWICE] = { VERSION, "\"result\":{\"success\":true,\"t\":", "}}" },
	[HOW_NOT_OK] = { VERSION, "\"result\":{\"success\":false,\"t\":", "}}" },
	[HOW_KEEP] = { VERSION,
		       "\"result\":{\"success\":true,\"keep_session\":true,\"again\":true,\"t\":", "}}" },
	[HOW_ACK] = { VERSION, "\"result\":{\"t\":", "}}" },
	[HOW_BROKEN] = { VERSION, "\"result\":{\"t\":", "}" },
	[HOW_LAX] = { "{", "\"result\":{\"t\":", "}}" },
};

static void answer_call(struct proc *p, const struct heard *heard, unsigned how)
{
	const struct form *form = &forms[how];

	if (how == HOW_DONE || how == HOW_FAIL) {
		say_end_note(p, heard, how == HOW_FAIL);
		return;
	}
	for (int i = 0; i < 1 + (how == HOW_TWICE); i++)
		say(p, "%s\"id\":%lld,%s%u%s", form->head, (long long)heard->id, form->before, heard->token,
		    form->after);
}

static bool is_call(const struct heard *heard)
{
	return heard->token || !heard->row || heard->row->role == MOR_ROLE_CALL ||
	       heard->row->role == MOR_ROLE_INPUT;
}

static void answer(struct proc *p, struct heard *heard, unsigned how)
{
	const struct mor_method *row = heard->row;

	heard->over = true;
	/* Not every dialect knows these; and what only acknowledges leaves the call open. */
	p->muddled |= how >= HOW_DONE || (how != HOW_OK && row && row->settle == MOR_BY_NOTE);
	if (is_call(heard)) {
		/* Where the answer only acknowledges, a note must follow. */
		if (row && row->settle == MOR_BY_NOTE && how == HOW_OK)
			answer_call(p, heard, HOW_ACK);
		answer_call(p, heard, row && row->settle == MOR_BY_NOTE && how == HOW_OK ? HOW_DONE : how);
		heard->over = how != HOW_ACK;
	} else if (how == HOW_ERROR || how == HOW_NOT_OK) {
		say(p,
		    "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":%d,\"message\":\"no\",\"data\":{\"g\":1}}}",
		    (long long)heard->id, how == HOW_ERROR ? -32601 : -32603);
	} else {
		say(p, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%s}", (long long)heard->id,
		    duty_result(p, row));
	}
}

static unsigned manner_for(const struct heard *heard)
{
	if (is_call(heard))
		return ANSWERS;
	if (heard->row->role == MOR_ROLE_PING)
		return PONGS;
	return heard->row->role == MOR_ROLE_BYE ? SAYS_BYE : GREETS;
}

void mouth_answer_duties(struct proc *p)
{
	for (unsigned i = 0; i < p->heard_count; i++) {
		struct heard *heard = &p->heard[i];

		if (!heard->over && heard->end <= p->link.written && (p->manners & manner_for(heard)))
			answer(p, heard, HOW_OK);
	}
}

void mouth_greet(struct proc *p)
{
	if (p->place->tongue->greeting)
		say(p, "{\"jsonrpc\":\"2.0\",\"id\":0,%s}", p->place->tongue->greeting);
}

/* The n-th that it can have read and has not dealt with; NULL: none. */
static struct heard *pick(struct proc *p, unsigned n)
{
	struct heard *found = NULL;

	for (unsigned i = 0, seen = 0; i < p->heard_count && seen <= n; i++) {
		if (p->heard[i].over || p->heard[i].end > p->link.written)
			continue;
		found = &p->heard[i];
		seen++;
	}
	return found;
}

/* ---- operations ---- */

void mouth_answer(const struct op *op)
{
	struct proc *p = proc_at(op->a);
	struct heard *heard = p ? pick(p, op->b & 3) : NULL;

	if (heard)
		answer(p, heard, (op->b >> 2) % HOW_COUNT);
}

void mouth_ignore(const struct op *op)
{
	struct proc *p = proc_at(op->a);
	struct heard *heard = p ? pick(p, op->b & 3) : NULL;

	if (heard)
		heard->over = p->muddled = true;
}

void mouth_note(const struct op *op)
{
	struct proc *p = proc_at(op->a);
	struct heard *heard = p ? pick(p, op->b & 3) : NULL;
	const char *method = p ? p->place->tongue->asks[op->b >> 2 & 3] : "";

	if (!p)
		return;
	if (op->b & 0x10 && heard)
		say(p,
		    "{\"jsonrpc\":\"2.0\",\"method\":\"stream\",\"params\":{\"request_id\":%lld,\"data\":{\"t\":%u}}}",
		    (long long)heard->id, heard->token);
	else if (op->b & 0x20)
		say(p,
		    "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{" WILD
		    ",\"level\":2,\"message\":\"m\",\"data\":{" WILD "}}}",
		    method);
	else if (op->b & 0x40)
		say(p,
		    "{\"jsonrpc\":\"2.0\",\"method\":\"complete\",\"params\":{\"request_id\":%u," GUESS
		    ",\"data\":{" GUESS "}}}",
		    op->b & 3);
	else
		say(p, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":[{" WILD "}]}", method);
}

/* What the dialect calls a notification is not answered, whatever its id. */
static void count_ask(struct proc *p, unsigned id, const char *method)
{
	const struct mor_method *row = mor_dialect_method(dialect_of(p), MOR_FROM_PLUGIN, mor_slice_of(method));

	p->asked[id]++;
	p->owed[id] = (uint8_t)(p->owed[id] + !(row && row->settle == MOR_BY_WRITE));
}

static void ask_batch(struct proc *p, unsigned id, const char *method)
{
	count_ask(p, id, method);
	count_ask(p, id, "unknown");
	say(p,
	    "[{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{" WILD "}},"
	    "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{" WILD
	    "}},1,{\"jsonrpc\":\"2.0\",\"id\":\"q%u\",\"method\":\"unknown\"}]",
	    FIRST_ASK + id, method, method, FIRST_ASK + id);
}

void mouth_ask(const struct op *op)
{
	struct proc *p = proc_at(op->a);
	const char *method = p ? p->place->tongue->asks[op->b & 3] : "";
	unsigned id;

	if (!p || p->next_ask == ASKS)
		return;
	/* The same id again is the plugin's fault, and its business. */
	id = op->b & 0x80 && p->next_ask ? p->next_ask - 1 : p->next_ask++;
	if (p->asked[id] > 200)
		return;
	switch (op->b >> 2 & 7) {
	case 0:
		ask_batch(p, id, method);
		break;
	case 1:
		count_ask(p, id, method);
		say(p, "{\"jsonrpc\":\"2.0\",\"id\":\"q%u\",\"method\":\"%s\",\"params\":[{" WILD "}]}",
		    FIRST_ASK + id, method);
		break;
	case 2:
		say(p, "[]");
		break;
	default:
		count_ask(p, id, method);
		say(p, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\",\"params\":{\"path\":\"x\"," WILD "}}",
		    FIRST_ASK + id, method);
	}
}

void mouth_noise(const struct op *op)
{
	static const char *const noises[] = {
		"Loading model...\n",
		"{broken\n",
		"\n\n\n",
		"{\"jsonrpc\":\"2.0\",\"id\":true}\n",
		"\xff\xfe\x00\x01garbage\n",
		"[[[[[[[[[[[[[[[[\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":",
		"99999999999999999999\n",
		"Content-Length: 7\r\n\r\n[1,2,3]",
		"0\n",
		"12\n{\"half\":",
	};
	struct proc *p = proc_at(op->a);

	if (!p)
		return;
	p->muddled = true;
	say_bytes(p, mor_slice_of(noises[op->b % (sizeof(noises) / sizeof(*noises))]));
}

/* Answers that nobody waits for. */
void mouth_stray(const struct op *op)
{
	struct proc *p = proc_at(op->a);
	unsigned id = op->b >> 3;

	if (!p)
		return;
	switch (op->b & 7) {
	case 0:
		say(p, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"result\":{" WILD "}}", 100000 + id);
		break;
	case 1:
		say(p, "{\"jsonrpc\":\"2.0\",\"id\":\"%u\",\"result\":{" WILD "}}", id);
		break;
	case 2:
		say(p, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse "
		       "error\",\"data\":{" WILD "}}}");
		break;
	case 3:
		say(p, "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{" WILD "}}");
		break;
	case 4:
		say(p, "{\"jsonrpc\":\"2.0\",\"id\":%u.0,\"result\":{" WILD "}}", id);
		break;
	case 5:
		say(p, "{\"jsonrpc\":\"2.0\",\"id\":9223372036854775807,\"result\":{" WILD "}}");
		break;
	case 6:
		say(p, "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{" WILD "}}");
		break;
	default: /* every one that it has dealt with already, once more */
		for (unsigned i = 0; i < p->heard_count; i++)
			if (p->heard[i].over && is_call(&p->heard[i]))
				answer_call(p, &p->heard[i], HOW_OK);
	}
}
