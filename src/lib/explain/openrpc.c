/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenRPC document (spec.open-rpc.org) from the table: for editors, generators and other tools. */
#include <string.h>

#include "explain/inside.h"

static void schema(struct mor_writer *w, const struct mor_field *f);

/* JSON Schema has one name or a list of names; "anything" means no constraint. */
static void type(struct mor_writer *w, unsigned mask)
{
	bool many = mask & (mask - 1);

	if (mask == MOR_T_ANY)
		return;
	mor_w_key(w, "type");
	if (many)
		mor_w_array(w);
	for (const struct mor_bit_name *n = mor_type_names; n->name; n++)
		if (mask & n->bit)
			mor_w_string(w, n->name);
	if (many)
		mor_w_end(w);
}

/* A field that is required only with a certain other field is described in words: `required` has no
 * conditions. */
static bool is_required(const struct mor_field *f)
{
	return (f->flags & MOR_F_REQUIRED) && !f->when;
}

static bool is_member(const struct mor_field *f)
{
	return strcmp(f->name, "*") != 0 && strcmp(f->name, "[]") != 0;
}

static void required(struct mor_writer *w, const struct mor_field *fields)
{
	bool any = false;

	for (const struct mor_field *f = fields; f->name; f++)
		any = any || (is_member(f) && is_required(f));
	if (!any) /* draft 4 requires at least one name in the list */
		return;
	mor_w_pair_array(w, "required");
	for (const struct mor_field *f = fields; f->name; f++)
		if (is_member(f) && is_required(f))
			mor_w_string(w, f->name);
	mor_w_end(w);
}

static void properties(struct mor_writer *w, const struct mor_field *fields)
{
	mor_w_pair_object(w, "properties");
	for (const struct mor_field *f = fields; f->name; f++) {
		if (!is_member(f))
			continue;
		mor_w_key(w, f->name);
		schema(w, f);
	}
	mor_w_end(w);
	required(w, fields);
}

static void items(struct mor_writer *w, const struct mor_field *fields)
{
	const struct mor_field object = { .name = "[]", .type = MOR_T_OBJECT, .fields = fields };

	mor_w_key(w, "items");
	schema(w, strcmp(fields->name, "[]") == 0 ? fields : &object);
}

static void describe_field(struct mor_writer *w, const struct mor_field *f)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	if (!f->doc && !f->also && !f->when)
		return;
	mor_buf_printf(&text, "%s%s%s%s%s%s", f->doc ? f->doc : "", f->when ? " (required with " : "",
		       f->when ? f->when : "", f->when ? ")" : "", f->also ? "; also spelled " : "",
		       f->also ? f->also : "");
	mor_explain_pass_on(&text, w->out); /* nobody would notice a description that was cut */
	mor_w_pair_slice(w, "description", mor_buf_view(&text));
}

static void schema(struct mor_writer *w, const struct mor_field *f)
{
	mor_w_object(w);
	type(w, f->type);
	describe_field(w, f);
	if (f->def)
		mor_w_pair_raw(w, "default", mor_slice_of(f->def));
	mor_alternatives(w, "enum", f->one_of);
	if (f->min < f->max) {
		mor_w_key(w, "minimum");
		mor_w_double(w, f->min);
		mor_w_key(w, "maximum");
		mor_w_double(w, f->max);
	}
	if (f->fields && (f->type & MOR_T_OBJECT))
		properties(w, f->fields);
	if (f->fields && (f->type & MOR_T_ARRAY))
		items(w, f->fields);
	mor_w_end(w);
}

/* ---- methods: rows that share a name are one ---- */

/* The next row of the same side with the same name on the wire, or the first row if `after` is NULL:
 * "lifecycle" is sent for several reasons. */
static const struct mor_method *same_name(const struct mor_dialect *d, const struct mor_method *m,
					  const struct mor_method *after)
{
	for (const struct mor_method *row = after ? after + 1 : d->methods; row->name; row++)
		if (row->from == m->from && strcmp(row->name, m->name) == 0)
			return row;
	return NULL;
}

static const struct mor_field *find_field(const struct mor_field *fields, const char *name)
{
	for (; fields && fields->name; fields++)
		if (strcmp(fields->name, name) == 0)
			return fields;
	return NULL;
}

/* A param that only some rows have is optional. */
static bool in_all(const struct mor_dialect *d, const struct mor_method *m, const char *name)
{
	for (const struct mor_method *row = same_name(d, m, NULL); row; row = same_name(d, m, row)) {
		const struct mor_field *f = find_field(row->params, name);

		if (!f || !is_required(f))
			return false;
	}
	return true;
}

static bool in_earlier(const struct mor_dialect *d, const struct mor_method *m, const struct mor_method *until,
		       const char *name)
{
	for (const struct mor_method *row = same_name(d, m, NULL); row && row != until;
	     row = same_name(d, m, row))
		if (find_field(row->params, name))
			return true;
	return false;
}

static void param(struct mor_writer *w, const struct mor_field *f, bool must)
{
	mor_w_object(w);
	mor_w_pair(w, "name", f->name);
	if (f->doc)
		mor_w_pair(w, "description", f->doc);
	mor_w_pair_bool(w, "required", must);
	mor_w_key(w, "schema");
	schema(w, f);
	mor_w_end(w);
}

/* Required ones first: the meta-schema does not require that, but generators do. */
static void params(struct mor_writer *w, const struct mor_dialect *d, const struct mor_method *m)
{
	mor_w_pair_array(w, "params");
	for (int round = 0; round < 2; round++) {
		for (const struct mor_method *row = same_name(d, m, NULL); row; row = same_name(d, m, row)) {
			for (const struct mor_field *f = row->params; f && f->name; f++)
				if (is_member(f) && in_all(d, m, f->name) == (round == 0) &&
				    !in_earlier(d, m, row, f->name))
					param(w, f, round == 0);
		}
	}
	mor_w_end(w);
}

/* Without fields: anything; or nothing, if there is never an answer. */
static void result(struct mor_writer *w, const struct mor_method *m)
{
	const struct mor_field whole = { .name = "result",
					 .type = m->result                 ? MOR_T_OBJECT :
						 m->settle == MOR_BY_WRITE ? MOR_T_NULL :
									     MOR_T_ANY,
					 .fields = m->result };

	mor_w_pair_object(w, "result");
	mor_w_pair(w, "name", "result");
	mor_w_key(w, "schema");
	schema(w, &whole);
	mor_w_end(w);
}

static void errors(struct mor_writer *w, const struct mor_code *codes)
{
	mor_w_pair_array(w, "errors");
	for (const struct mor_code *c = codes; c && c->name; c++) {
		mor_w_object(w);
		mor_w_pair_int(w, "code", c->code);
		mor_w_pair(w, "message", c->name);
		mor_w_pair(w, "data", c->doc);
		mor_w_end(w);
	}
	mor_w_end(w);
}

static void write_openrpc_method(struct mor_writer *w, const struct mor_dialect *d, const struct mor_method *m)
{
	mor_w_object(w);
	mor_w_pair(w, "name", m->name);
	if (m->doc)
		mor_w_pair(w, "description", m->doc);
	if (m->from == MOR_FROM_PLUGIN)
		mor_w_pair(w, "x-called-by", "plugin");
	if (m->settle == MOR_BY_WRITE)
		mor_w_pair_bool(w, "x-notification", true);
	mor_w_pair_int(w, "x-timeout-ms", mor_timing_of(m)->timeout_ms);
	if (m->spec)
		mor_w_pair(w, "x-specification", m->spec);
	if (m->needs)
		mor_w_pair(w, "x-needs-interface", m->needs);
	mor_w_pair(w, "paramStructure", "by-name");
	params(w, d, m);
	result(w, m);
	errors(w, d->codes);
	mor_w_end(w);
}

int mor_explain_openrpc(const struct mor_dialect *dialect, struct mor_buf *out)
{
	struct mor_writer w = { .out = out };

	mor_w_object(&w);
	mor_w_pair(&w, "openrpc", "1.2.6");
	mor_w_pair_object(&w, "info");
	mor_w_pair(&w, "title", dialect->title);
	mor_w_pair(&w, "description", dialect->doc);
	mor_w_pair(&w, "version", MORTISE_VERSION);
	mor_w_end(&w);
	if (dialect->spec_url) {
		mor_w_pair_object(&w, "externalDocs");
		mor_w_pair(&w, "url", dialect->spec_url);
		mor_w_end(&w);
	}
	mor_w_pair_array(&w, "methods");
	/* "*" is not a method: a document lists the names that it knows, each once. */
	for (const struct mor_method *m = dialect->methods; m->name; m++)
		if (strcmp(m->name, "*") != 0 && mor_dialect_is_first(dialect, m))
			write_openrpc_method(&w, dialect, m);
	mor_w_end(&w);
	mor_w_end(&w);
	return out->status;
}
