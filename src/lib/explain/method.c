/* SPDX-License-Identifier: Apache-2.0 */
/* The methods of `mortise explain`: one row each, with its fields. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "explain/inside.h"

#define NAME_WIDTH 26 /* width of a field's name with its indentation */
#define TYPE_WIDTH 28
#define TEXT_AT    (NAME_WIDTH + 1 + TYPE_WIDTH + 1)

static void list_fields(struct mor_buf *out, unsigned indent, const struct mor_field *fields);

static const char *necessity(const struct mor_field *f, char out[64])
{
	if (f->when && (f->flags & MOR_F_REQUIRED))
		snprintf(out, 64, ", if %s", f->when);
	else if (f->flags & MOR_F_REQUIRED)
		return f->flags & MOR_F_STRICT_ONLY ? ", if strict" : ", required";
	else if (f->flags & MOR_F_BEYOND)
		return ", unless strict";
	else if (f->flags & MOR_F_ANY_OF)
		return ", one at least";
	else
		return "";
	return out;
}

/* doc, values, default, other spellings in one sentence. */
static void field_text(const struct mor_field *f, struct mor_buf *text)
{
	if (f->one_of)
		mor_buf_printf(text, "%s%s", f->one_of, f->doc ? ": " : "");
	mor_buf_text(text, f->doc ? f->doc : "");
	if (f->def)
		mor_buf_printf(text, "%sdefault %s", text->len ? "; " : "", f->def);
	if (f->also)
		mor_buf_printf(text, "%salso spelled %s", text->len ? "; " : "", f->also);
	mor_buf_byte(text, '\0');
}

static void one_field(struct mor_buf *out, unsigned indent, const struct mor_field *f)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	char type[96], must[64], kind[192];
	const char *name = strcmp(f->name, "*") == 0 ? "(any other)" : f->name;
	unsigned at = TEXT_AT;

	snprintf(kind, sizeof(kind), "%s%s", mor_field_type_text(f->type, type), necessity(f, must));
	field_text(f, &text);
	mor_explain_pass_on(&text, out);
	mor_buf_printf(out, "%*s%-*s ", (int)indent, "", (int)(NAME_WIDTH - indent), name);
	if (strlen(kind) > TYPE_WIDTH) {
		mor_buf_printf(out, "%s\n", kind);
		at = 0;
	} else {
		mor_buf_printf(out, "%-*s ", TYPE_WIDTH, kind);
	}
	mor_explain_wrap(out, at, TEXT_AT, text.data ? text.data : "");
	if (f->fields)
		list_fields(out, indent + 2, f->fields);
}

/* An array's elements get their own line only if there is something to say about them. */
static void list_fields(struct mor_buf *out, unsigned indent, const struct mor_field *fields)
{
	for (const struct mor_field *f = fields; f->name; f++)
		if (strcmp(f->name, "[]") != 0 || f->doc)
			one_field(out, indent, f);
}

__attribute__((format(printf, 2, 3))) static void fact(struct mor_buf *out, const char *format, ...)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	va_list args;

	va_start(args, format);
	mor_buf_vprintf(&text, format, args);
	va_end(args);
	mor_buf_byte(&text, '\0');
	mor_explain_pass_on(&text, out);
	mor_explain_wrap(out, 0, 4, text.data ? text.data : "");
}

/* "complete or error": the notifications that end a call. */
static void enders(const struct mor_dialect *d, struct mor_buf *out)
{
	for (const struct mor_method *m = d->methods; m->name; m++)
		if (m->from == MOR_FROM_PLUGIN && (m->role == MOR_ROLE_DONE || m->role == MOR_ROLE_FAIL))
			mor_buf_printf(out, "%s%s", out->len ? " or " : "", m->name);
	mor_buf_byte(out, '\0');
}

/* With blanks between the members, so that the line can break. */
static void template(const struct mor_method *m, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	for (const char *c = m->template; *c; c++)
		mor_buf_printf(&text, "%c%s", *c, *c == ',' ? " " : "");
	mor_buf_byte(&text, '\0');
	mor_explain_pass_on(&text, out);
	fact(out, m->from == MOR_FROM_HOST ? "Sent as %s" : "Answered by the host itself: %s",
	     text.data ? text.data : "");
}

/* How it is called, and what ends it. */
static void course(const struct mor_dialect *d, const struct mor_method *m, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf ends = MOR_BUF_INIT;
	char limit[32];

	enders(d, &ends);
	if (m->when)
		fact(out, "Only with the quirk %s%s", m->when,
		     mor_explain_in_force(d, m) ? " (the default)" : "");
	if (m->action && strcmp(m->action, "*") == 0)
		fact(out, "Used for every name that no other method has");
	else if (m->action && strcmp(m->action, m->name) != 0)
		fact(out, "Called as %s", m->action);
	if (m->flags & MOR_M_NOTE)
		fact(out, "A notification: nothing comes back");
	if (m->settle == MOR_BY_FIRST && ends.data)
		fact(out, "Ended by its response, %s, whichever comes first", ends.data);
	if (m->settle == MOR_BY_NOTE && m->from == MOR_FROM_HOST && ends.data)
		fact(out, "Its response only acknowledges%s%s; ended by %s",
		     mor_timing_of(m)->ack_ms ? ", within " : "",
		     mor_timing_of(m)->ack_ms ? mor_format_ms(mor_timing_of(m)->ack_ms, limit) : "", ends.data);
	if (mor_outcome_of(m)->keep)
		fact(out, "%s true opens or keeps a session, in which the plugin takes input",
		     mor_outcome_of(m)->keep);
	if (m->template)
		template(m, out);
	mor_explain_pass_on(&ends, out);
}

/* The meaning of its answer, or of the notification itself. */
static void meaning(const struct mor_method *m, struct mor_buf *out)
{
	const struct mor_outcome *says = mor_outcome_of(m);
	const char *also = says->why_fails ? says->why : NULL;
	bool inverted = says->ok && says->ok[0] == '!';

	if (m->flags & MOR_M_OPTIONAL)
		fact(out, "The answer -32601 means \"not implemented\" and is not a fault");
	if (m->flags & MOR_M_TOLERANT)
		fact(out, "An error, null or silence as answer is only a warning");
	if (m->role == MOR_ROLE_TAKE)
		fact(out, "One at a time: a second one before the first has ended is a breach of the protocol");
	if (says->ok)
		fact(out, "Failed when %s is %s%s%s%s", says->ok + inverted, inverted ? "true" : "false",
		     also ? ", or when " : "", also ? also : "", also ? " is not null" : "");
	if (says->why && says->ok && !also)
		fact(out, "%s then says why", says->why);
	if (says->ref)
		fact(out, "Belongs to the call whose id is at %s", says->ref);
	if (says->data)
		fact(out, "Its data is at %s%s%s", says->data, says->level ? ", how serious it is at " : "",
		     says->level ? says->level : "");
	if (says->code)
		fact(out, "Its code is at %s%s%s", says->code, says->why ? ", its text at " : "",
		     says->why ? says->why : "");
}

static void facts(const struct mor_dialect *d, const struct mor_method *m, struct mor_buf *out)
{
	course(d, m, out);
	if (m->needs)
		fact(out, "Needs interface %s", m->needs);
	meaning(m, out);
	if (m->also)
		fact(out, "Also spelled %s", m->also);
	if (m->spec)
		fact(out, "Specification: %s", m->spec);
}

const char *mor_explain_name(const struct mor_dialect *dialect, const struct mor_method *method)
{
	if (strcmp(method->name, "*") != 0)
		return method->name;
	for (const struct mor_method *m = dialect->methods; m->name; m++)
		if (m->from == method->from && strcmp(m->name, "*") != 0)
			return "any other method";
	return "any method";
}

/* Has a message of this name several roles? */
static bool has_other_part(const struct mor_dialect *dialect, const struct mor_method *method)
{
	for (const struct mor_method *m = dialect->methods; m->name; m++)
		if (m->from == method->from && m->role != method->role && strcmp(m->name, method->name) == 0)
			return true;
	return false;
}

const char *mor_explain_label(const struct mor_dialect *dialect, const struct mor_method *method, char out[80])
{
	const char *part = method->role == MOR_ROLE_INIT ? "start" :
			   method->role == MOR_ROLE_BYE  ? "stop" :
							   NULL;

	if (method->action && !strchr(method->action, '*') && strcmp(method->action, method->name) != 0)
		part = method->action;
	else if (part && !has_other_part(dialect, method))
		part = NULL;
	snprintf(out, 80, "%s%s%s%s", mor_explain_name(dialect, method), part ? " (" : "", part ? part : "",
		 part ? ")" : "");
	return out;
}

/* An earlier row that has already shown the same fields. */
static bool told_above(const struct mor_dialect *d, const struct mor_method *m)
{
	for (const struct mor_method *before = d->methods; before != m; before++)
		if (strcmp(before->name, m->name) == 0 && before->params == m->params &&
		    before->result == m->result)
			return m->params || m->result;
	return false;
}

static void one_method(const struct mor_dialect *d, const struct mor_method *m, struct mor_buf *out)
{
	char limit[32], label[80];

	mor_buf_printf(out, "  %-40s %s%s%s\n", mor_explain_label(d, m, label),
		       m->from == MOR_FROM_HOST ? "host -> plugin" : "plugin -> host",
		       mor_timing_of(m)->timeout_ms ? "    " : "",
		       mor_timing_of(m)->timeout_ms ? mor_format_ms(mor_timing_of(m)->timeout_ms, limit) : "");
	if (m->doc)
		mor_explain_wrap(out, 0, 4, m->doc);
	facts(d, m, out);
	if (told_above(d, m)) {
		fact(out, "Params and result as above");
		return;
	}
	if (m->params) {
		mor_buf_text(out, "    params\n");
		list_fields(out, 6, m->params);
	}
	if (m->result) {
		mor_buf_text(out, "    result\n");
		list_fields(out, 6, m->result);
	}
}

void mor_explain_methods(const struct mor_dialect *dialect, struct mor_buf *out)
{
	for (const struct mor_method *m = dialect->methods; m->name; m++) {
		if (m != dialect->methods)
			mor_buf_byte(out, '\n');
		one_method(dialect, m, out);
	}
}
