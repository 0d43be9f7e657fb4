/* SPDX-License-Identifier: Apache-2.0 */
/* The table as JSON, and the names of its constants. */
#include <string.h>

#include "explain/inside.h"

const char *mor_role_name(enum mor_role role)
{
	static const char *const names[] = {
		[MOR_ROLE_HELLO] = "hello",   [MOR_ROLE_INIT] = "init", [MOR_ROLE_CALL] = "call",
		[MOR_ROLE_INPUT] = "input",   [MOR_ROLE_PING] = "ping", [MOR_ROLE_BYE] = "bye",
		[MOR_ROLE_CANCEL] = "cancel", [MOR_ROLE_NOTE] = "note", [MOR_ROLE_LOG] = "log",
		[MOR_ROLE_PIECE] = "piece",   [MOR_ROLE_DONE] = "done", [MOR_ROLE_FAIL] = "fail",
		[MOR_ROLE_SERVE] = "serve",   [MOR_ROLE_TAKE] = "take", [MOR_ROLE_FINISH] = "finish",
	};

	return names[role];
}

const char *mor_late_text(enum mor_late late)
{
	static const char *const names[] = { [MOR_LATE_DROP] = "drop",
					     [MOR_LATE_CANCEL] = "cancel",
					     [MOR_LATE_KILL] = "kill",
					     [MOR_LATE_FORGET] = "forget" };

	return names[late];
}

static const char *settle_name(enum mor_settle settle)
{
	static const char *const names[] = { [MOR_BY_REPLY] = "reply",
					     [MOR_BY_NOTE] = "note",
					     [MOR_BY_FIRST] = "first",
					     [MOR_BY_WRITE] = "write" };

	return names[settle];
}

static const struct mor_bit_name wire_names[] = {
	{ MOR_WIRE_JSONRPC_OPTIONAL, "jsonrpc_optional" },
	{ MOR_WIRE_ERROR_NULL_OK, "error_null_ok" },
	{ MOR_WIRE_NULL_ID_FAILS_ONLY_CALL, "null_id_fails_only_call" },
	{ MOR_WIRE_NAN_OK, "nan_ok" },
	{ MOR_WIRE_ANY_REPLY_ID, "any_reply_id" },
	{ MOR_WIRE_ANY_REF, "any_ref" },
	{ 0, NULL },
};
static const struct mor_bit_name method_names[] = {
	{ MOR_M_OPTIONAL, "optional" },
	{ MOR_M_NOTE, "note" },
	{ MOR_M_TOLERANT, "tolerant" },
	{ MOR_M_PARAMS, "params" },
	{ 0, NULL },
};

/* ---- writing ---- */

/* Leaves out absent parts of the table. */
static void text(struct mor_writer *w, const char *key, const char *value)
{
	if (value)
		mor_w_pair(w, key, value);
}

void mor_alternatives(struct mor_writer *w, const char *key, const char *list)
{
	if (!list)
		return;
	mor_w_pair_array(w, key);
	while (*list) {
		size_t len = strcspn(list, "|");

		mor_w_slice(w, (struct mor_slice){ list, len });
		list += len + (list[len] == '|');
	}
	mor_w_end(w);
}

/* Masks as lists of names: numbers would force readers to use our headers. */
static void bits(struct mor_writer *w, const char *key, const struct mor_bit_name *names, unsigned set)
{
	mor_w_pair_array(w, key);
	for (; names->name; names++)
		if (set & names->bit)
			mor_w_string(w, names->name);
	mor_w_end(w);
}

static void field_list(struct mor_writer *w, const char *key, const struct mor_field *fields);

static void field(struct mor_writer *w, const struct mor_field *f)
{
	mor_w_object(w);
	mor_w_pair(w, "name", f->name);
	mor_alternatives(w, "also", f->also);
	bits(w, "type", mor_type_names, f->type);
	mor_w_pair_bool(w, "required", f->flags & MOR_F_REQUIRED);
	if (f->flags & MOR_F_STRICT_ONLY)
		mor_w_pair_bool(w, "strict_only", true);
	if (f->flags & MOR_F_ANY_OF)
		mor_w_pair_bool(w, "any_of", true);
	if (f->flags & MOR_F_BEYOND)
		mor_w_pair_bool(w, "beyond", true);
	if (f->flags & MOR_F_CLOSED)
		mor_w_pair_bool(w, "closed", true);
	text(w, "when", f->when);
	if (f->def)
		mor_w_pair_raw(w, "default", mor_slice_of(f->def));
	mor_alternatives(w, "one_of", f->one_of);
	if (f->min < f->max) {
		mor_w_key(w, "min");
		mor_w_double(w, f->min);
		mor_w_key(w, "max");
		mor_w_double(w, f->max);
	}
	text(w, "doc", f->doc);
	field_list(w, "fields", f->fields);
	mor_w_end(w);
}

static void field_list(struct mor_writer *w, const char *key, const struct mor_field *fields)
{
	if (!fields)
		return;
	mor_w_pair_array(w, key);
	for (; fields->name; fields++)
		field(w, fields);
	mor_w_end(w);
}

static void timing(struct mor_writer *w, const struct mor_timing *t)
{
	static const char *const clocks[] = {
		[MOR_FROM_WRITE] = "write", [MOR_FROM_SIGN] = "sign", [MOR_FROM_PIECE] = "piece"
	};
	mor_w_pair_int(w, "ack_ms", t->ack_ms);
	mor_w_pair_int(w, "timeout_ms", t->timeout_ms);
	mor_w_pair_int(w, "late_ms", t->late_ms);
	mor_w_pair_int(w, "max_ms", t->max_ms);
	mor_w_pair(w, "clock", clocks[t->clock]);
	mor_w_pair(w, "late", mor_late_text(t->late));
}

static void outcome(struct mor_writer *w, const struct mor_outcome *o)
{
	text(w, "ref", o->ref);
	text(w, "data", o->data);
	text(w, "ok", o->ok);
	text(w, "why", o->why);
	if (o->why_fails)
		mor_w_pair_bool(w, "why_fails", true);
	text(w, "code", o->code);
	text(w, "level", o->level);
	text(w, "keep", o->keep);
	if (!o->page)
		return;
	mor_w_pair_object(w, "page");
	text(w, "more", o->page->more);
	mor_w_pair(w, "next", o->page->next);
	mor_w_pair(w, "param", o->page->param);
	mor_w_end(w);
}

static void write_method(struct mor_writer *w, const struct mor_method *m)
{
	mor_w_object(w);
	mor_w_pair(w, "name", m->name);
	mor_alternatives(w, "also", m->also);
	text(w, "action", m->action);
	mor_w_pair(w, "from", m->from == MOR_FROM_HOST ? "host" : "plugin");
	mor_w_pair(w, "role", mor_role_name(m->role));
	mor_w_pair(w, "settled_by", settle_name(m->settle));
	bits(w, "flags", method_names, m->flags);
	timing(w, mor_timing_of(m));
	field_list(w, "params", m->params);
	field_list(w, "result", m->result);
	text(w, "template", m->template);
	outcome(w, mor_outcome_of(m));
	text(w, "when", m->when);
	text(w, "needs", m->needs);
	text(w, "spec", m->spec);
	text(w, "doc", m->doc);
	mor_w_end(w);
}

static void stop_and_restart(struct mor_writer *w, const struct mor_dialect *d)
{
	mor_w_pair_object(w, "stop");
	mor_w_pair_int(w, "bye_ms", d->life.stop.bye_ms);
	mor_w_pair_int(w, "term_ms", d->life.stop.term_ms);
	mor_w_pair_int(w, "kill_ms", d->life.stop.kill_ms);
	mor_w_pair_bool(w, "hold", d->life.stop.hold);
	mor_w_end(w);
	mor_w_pair_object(w, "restart");
	mor_w_pair_int(w, "first_ms", d->life.restart.first_ms);
	mor_w_pair_int(w, "cap_ms", d->life.restart.cap_ms);
	mor_w_pair_int(w, "intensity", d->life.restart.intensity);
	mor_w_pair_int(w, "period_ms", d->life.restart.period_ms);
	mor_w_pair_int(w, "clean", d->life.restart.clean);
	mor_w_end(w);
}

static void write_health(struct mor_writer *w, const struct mor_health *h)
{
	mor_w_pair_object(w, "health");
	mor_w_pair_bool(w, "first", h->first);
	mor_w_pair_bool(w, "after_timeout", h->after_timeout);
	mor_w_pair_int(w, "every_ms", h->every_ms);
	text(w, "at", h->at);
	mor_alternatives(w, "good", h->good);
	mor_alternatives(w, "fair", h->fair);
	mor_alternatives(w, "bad", h->bad);
	mor_w_end(w);
}

static void write_watchdog(struct mor_writer *w, const struct mor_watchdog *dog)
{
	mor_w_pair_object(w, "watchdog");
	mor_w_pair_int(w, "every_ms", dog->every_ms);
	mor_w_pair_int(w, "misses", dog->misses);
	mor_w_pair_bool(w, "beside_calls", dog->beside_calls);
	mor_w_pair_bool(w, "learn", dog->learn);
	mor_w_end(w);
}

static void serve(struct mor_writer *w, const struct mor_serve *s)
{
	mor_w_pair_object(w, "serve");
	mor_w_pair_bool(w, "noise_is_breach", s->noise_is_breach);
	mor_w_pair_bool(w, "answer_faults", s->answer_faults);
	mor_w_end(w);
}

static void offer(struct mor_writer *w, const struct mor_offer *o)
{
	mor_w_pair_object(w, "offer");
	mor_w_pair(w, "interfaces", o->interfaces);
	mor_w_pair_object(w, "inferred");
	for (const struct mor_inferred *i = o->inferred; i && i->at; i++)
		mor_w_pair(w, i->at, i->interface);
	mor_w_end(w);
	mor_w_end(w);
}

/* Parts that a dialect does not have are left out. */
static void parts(struct mor_writer *w, const struct mor_dialect *d)
{
	if (d->health)
		write_health(w, d->health);
	if (d->watchdog)
		write_watchdog(w, d->watchdog);
	if (d->conversation) {
		mor_w_pair_object(w, "conversation");
		mor_w_pair_int(w, "total_ms", d->conversation->total_ms);
		mor_w_end(w);
	}
	if (d->serve)
		serve(w, d->serve);
	if (d->offer)
		offer(w, d->offer);
}

static void write_codes(struct mor_writer *w, const struct mor_code *c)
{
	mor_w_pair_array(w, "codes");
	for (; c && c->name; c++) {
		mor_w_object(w);
		mor_w_pair_int(w, "code", c->code);
		mor_w_pair(w, "name", c->name);
		mor_w_pair(w, "doc", c->doc);
		mor_w_end(w);
	}
	mor_w_end(w);
}

static void quirks(struct mor_writer *w, const struct mor_quirk *q)
{
	mor_w_pair_array(w, "quirks");
	for (; q && q->name; q++) {
		mor_w_object(w);
		mor_w_pair(w, "name", q->name);
		text(w, "default", q->def);
		mor_alternatives(w, "one_of", q->one_of);
		text(w, "doc", q->doc);
		mor_w_end(w);
	}
	mor_w_end(w);
}

/* A limit of 0 is written as the value it stands for, so that readers need not know our rules. */
static void head(struct mor_writer *w, const struct mor_dialect *d)
{
	static const char *const shapes[] = { "session", "one_call", "one_run" };

	mor_w_pair(w, "name", d->name);
	text(w, "title", d->title);
	text(w, "spec_url", d->spec_url);
	text(w, "doc", d->doc);
	text(w, "manifest", d->manifest);
	text(w, "called", d->called);
	mor_w_pair(w, "shape", shapes[d->life.shape]);
	mor_w_pair(w, "env",
		   d->life.env == MOR_ENVIRON_INHERIT ? "inherit" :
		   d->life.env == MOR_ENVIRON_BARE    ? "bare" :
							"clean");
	mor_w_pair(w, "confine", d->life.confine == MOR_GUARDED ? "guarded" : "confined");
	mor_w_pair(w, "framing", mor_framing_name(d->link.framing));
	mor_w_pair_array(w, "reads");
	for (int i = 0; i < MOR_FRAMINGS; i++)
		if (d->link.reads & 1u << i)
			mor_w_string(w, mor_framing_name((enum mor_framing)i));
	mor_w_end(w);
	bits(w, "wire", wire_names, d->wire);
	mor_w_pair_int(w, "max_in_flight", d->life.max_in_flight);
	mor_w_pair_int(w, "max_waiting", d->life.max_waiting ? d->life.max_waiting : 65536);
	mor_w_pair_int(w, "frame_limit", (int64_t)d->link.frame_limit);
	mor_w_pair_int(w, "send_limit",
		       (int64_t)(d->link.send_limit ? d->link.send_limit : d->link.frame_limit));
	mor_w_pair_int(w, "queue_limit", (int64_t)d->link.queue_limit);
	text(w, "recoverable", d->recoverable);
}

int mor_explain_json(const struct mor_dialect *dialect, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	head(&w, dialect);
	stop_and_restart(&w, dialect);
	parts(&w, dialect);
	mor_w_pair_array(&w, "methods");
	for (const struct mor_method *m = dialect->methods; m->name; m++)
		write_method(&w, m);
	mor_w_end(&w);
	write_codes(&w, dialect->codes);
	quirks(&w, dialect->quirks);
	text(&w, "example", dialect->example);
	mor_w_end(&w);
	return out->status;
}
