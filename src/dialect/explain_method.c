/* The methods of `mortise explain`: a row each, with its fields. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "dialect/internal.h"

#define NAME_WIDTH 26 /* of a field's name with its indentation */
#define TYPE_WIDTH 28
#define TEXT_AT (NAME_WIDTH + 1 + TYPE_WIDTH + 1)

static void list_fields(struct mor_buf *out, unsigned indent, const struct mor_field *fields);

static const char *necessity(const struct mor_field *f, char out[64])
{
	if (f->when && (f->flags & MOR_F_REQUIRED))
		snprintf(out, 64, ", if %s", f->when);
	else if (f->flags & MOR_F_REQUIRED)
		return ", required";
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
	struct mor_buf text = MOR_BUF_INIT;
	char type[96], must[64], kind[192];
	const char *name = strcmp(f->name, "*") == 0 ? "(any other)" : f->name;
	unsigned at = TEXT_AT;

	snprintf(kind, sizeof(kind), "%s%s", mor_field_type_text(f->type, type), necessity(f, must));
	field_text(f, &text);
	if (mor_buf_failed(&text) && !out->status)
		out->status = text.status;
	mor_buf_printf(out, "%*s%-*s ", (int)indent, "", (int)(NAME_WIDTH - indent), name);
	if (strlen(kind) > TYPE_WIDTH) {
		mor_buf_printf(out, "%s\n", kind);
		at = 0;
	} else {
		mor_buf_printf(out, "%-*s ", TYPE_WIDTH, kind);
	}
	mor_explain_wrap(out, at, TEXT_AT, text.data ? text.data : "");
	mor_buf_fini(&text);
	if (f->fields)
		list_fields(out, indent + 2, f->fields);
}

/* An array's elements need a line of their own only where there is something to say about them. */
static void list_fields(struct mor_buf *out, unsigned indent, const struct mor_field *fields)
{
	for (const struct mor_field *f = fields; f->name; f++)
		if (strcmp(f->name, "[]") != 0 || f->doc)
			one_field(out, indent, f);
}

const char *mor_explain_sent(const struct mor_dialect *dialect, const struct mor_method *method)
{
	for (const struct mor_method *m = dialect->methods; m->name; m++)
		if (m != method && m->from == method->from && strcmp(m->name, method->name) == 0)
			return method->template;
	return NULL;
}

static void facts(const struct mor_dialect *d, const struct mor_method *m, struct mor_buf *out)
{
	const char *also = m->flags & MOR_M_WHY_FAILS ? m->why : NULL;

	if (mor_explain_sent(d, m))
		mor_buf_printf(out, "    Sent as %s\n", mor_explain_sent(d, m));
	if (m->when)
		mor_buf_printf(out, "    With the quirk %s\n", m->when);
	if (m->needs)
		mor_buf_printf(out, "    Needs interface %s\n", m->needs);
	if (m->flags & MOR_M_OPTIONAL)
		mor_buf_text(out, "    -32601 as answer means \"not implemented\" and is no fault\n");
	if (m->ok)
		mor_buf_printf(out, "    Failed when %s is false%s%s%s\n", m->ok, also ? ", or when " : "", also ? also : "",
			       also ? " is not null" : "");
	if (m->spec)
		mor_buf_printf(out, "    Specification: %s\n", m->spec);
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

/* Another form of a message has the fields of the first. */
static bool is_told(const struct mor_dialect *d, const struct mor_method *m)
{
	const struct mor_method *first = mor_dialect_method(d, m->from, mor_slice_of(m->name));

	return first != m && first->params == m->params && first->result == m->result;
}

bool mor_explain_is_default(const struct mor_dialect *dialect, const struct mor_method *method)
{
	const char *equals = method->when ? strchr(method->when, '=') : NULL;

	for (const struct mor_quirk *q = dialect->quirks; equals && q && q->name; q++)
		if (strlen(q->name) == (size_t)(equals - method->when) && strncmp(q->name, method->when, strlen(q->name)) == 0)
			return q->def && strcmp(q->def, equals + 1) == 0;
	return true;
}

static void one_method(const struct mor_dialect *d, const struct mor_method *m, struct mor_buf *out)
{
	char limit[32];

	mor_buf_printf(out, "  %-40s %s%s%s\n", mor_explain_name(d, m), m->from == MOR_FROM_HOST ? "host -> plugin" : "plugin -> host",
		       m->timeout_ms ? "    " : "", m->timeout_ms ? mor_format_ms(m->timeout_ms, limit) : "");
	if (m->doc)
		mor_explain_wrap(out, 0, 4, m->doc);
	facts(d, m, out);
	if (is_told(d, m))
		return;
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
