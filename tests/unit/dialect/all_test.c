/* SPDX-License-Identifier: Apache-2.0 */
/* Every table of the registry: whole, and consistent with itself. What is checked here need not be
 * checked per dialect. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "dialect/dialect.h"
#include "explain/explain.h"
#include "json_of.h"

typedef void row_fn(const struct mor_dialect *d, const struct mor_method *m);

static void each_row(row_fn *check)
{
	for (const struct mor_dialect *const *d = mor_dialects(); *d; d++)
		for (const struct mor_method *m = (*d)->methods; m->name; m++)
			check(*d, m);
}

#define COMPLAIN(d, m, format, ...) fail_msg("%s %s: " format, (d)->name, (m)->name, ##__VA_ARGS__)

/* ---- texts ---- */

/* One line of printable text that does not end in the middle of nowhere. */
static bool is_text(const char *text)
{
	if (!text || !*text || isspace((unsigned char)*text) || isspace((unsigned char)text[strlen(text) - 1]))
		return false;
	for (; *text; text++)
		if ((unsigned char)*text < ' ')
			return false;
	return true;
}

static const struct mor_quirk *quirk_of(const struct mor_dialect *d, const char *when)
{
	size_t len = strcspn(when, "=");

	for (const struct mor_quirk *q = d->quirks; q && q->name; q++)
		if (strlen(q->name) == len && memcmp(q->name, when, len) == 0)
			return q;
	return NULL;
}

static bool is_alternative(const struct mor_dialect *d, const struct mor_method *m)
{
	const struct mor_quirk *q = m->when ? quirk_of(d, m->when) : NULL;

	return q && q->def && strcmp(q->def, m->when + strlen(q->name) + 1) != 0;
}

/* `plain` has no lifecycle to cite; "*" and the forms that a quirk brings in are no sections. */
static void check_texts(const struct mor_dialect *d, const struct mor_method *m)
{
	if (!is_text(m->doc))
		COMPLAIN(d, m, "no doc");
	if (!is_text(m->spec) && strcmp(m->name, "*") != 0 && !is_alternative(d, m))
		COMPLAIN(d, m, "no spec");
}

static void test_texts(void **state)
{
	(void)state;
	each_row(check_texts);
	for (const struct mor_dialect *const *d = mor_dialects(); *d; d++) {
		if (!is_text((*d)->title) || !is_text((*d)->doc) || !is_text((*d)->spec_url) ||
		    !is_text((*d)->example))
			fail_msg("%s: title, doc, spec_url or example is missing", (*d)->name);
		for (const struct mor_code *c = (*d)->codes; c && c->name; c++)
			if (!is_text(c->name) || !is_text(c->doc))
				fail_msg("%s: code %lld has no text", (*d)->name, (long long)c->code);
	}
}

/* ---- pointers, quirks, codes ---- */

static bool is_pointer(const char *pointer)
{
	if (*pointer != '/')
		return false;
	for (; *pointer; pointer++)
		if ((*pointer == '~' && pointer[1] != '0' && pointer[1] != '1') ||
		    (unsigned char)*pointer <= ' ')
			return false;
	return true;
}

static void check_pointers(const struct mor_dialect *d, const struct mor_method *m)
{
	const char *const pointers[] = { mor_outcome_of(m)->ref,
					 mor_outcome_of(m)->data,
					 mor_outcome_of(m)->ok && *mor_outcome_of(m)->ok == '!' ?
						 mor_outcome_of(m)->ok + 1 :
						 mor_outcome_of(m)->ok,
					 mor_outcome_of(m)->why,
					 mor_outcome_of(m)->code,
					 mor_outcome_of(m)->level,
					 mor_outcome_of(m)->keep };

	for (size_t i = 0; i < sizeof(pointers) / sizeof(*pointers); i++)
		if (pointers[i] && !is_pointer(pointers[i]))
			COMPLAIN(d, m, "\"%s\" is no JSON pointer", pointers[i]);
}

/* A result in pages names where the next one begins, and where that goes. */
static void check_page(const struct mor_dialect *d, const struct mor_method *m)
{
	const struct mor_page *page = mor_outcome_of(m)->page;

	if (!page)
		return;
	if (!page->next || !is_pointer(page->next) || (page->more && !is_pointer(page->more)))
		COMPLAIN(d, m, "its pages: next and more are JSON pointers, and next must be there");
	if (!is_text(page->param) || strpbrk(page->param, "/ "))
		COMPLAIN(d, m, "its pages: no param for the next one (\"opts.offset\")");
}

static void check_when(const struct mor_dialect *d, const struct mor_method *m)
{
	const struct mor_quirk *q = m->when ? quirk_of(d, m->when) : NULL;

	if (!m->when)
		return;
	if (!q)
		COMPLAIN(d, m, "when \"%s\" names no quirk", m->when);
	if (!mor_text_in(mor_slice_of(m->when + strlen(q->name) + 1), q->one_of))
		COMPLAIN(d, m, "when \"%s\" is none of %s", m->when, q->one_of);
}

static void test_pointers_and_quirks(void **state)
{
	(void)state;
	each_row(check_pointers);
	each_row(check_page);
	each_row(check_when);
	for (const struct mor_dialect *const *d = mor_dialects(); *d; d++) {
		const struct mor_offer *offer = (*d)->offer;
		const char *const pointers[] = { (*d)->recoverable, (*d)->called,
						 offer ? offer->interfaces : NULL,
						 (*d)->health ? (*d)->health->at : NULL };

		for (size_t i = 0; i < sizeof(pointers) / sizeof(*pointers); i++)
			if (pointers[i] && !is_pointer(pointers[i]))
				fail_msg("%s: \"%s\" is no JSON pointer", (*d)->name, pointers[i]);
		for (const struct mor_inferred *in = offer ? offer->inferred : NULL; in && in->at; in++)
			assert_true(is_pointer(in->at) && in->interface);
		for (const struct mor_quirk *q = (*d)->quirks; q && q->name; q++) {
			if (!is_text(q->doc))
				fail_msg("%s: quirk %s has no doc", (*d)->name, q->name);
			if (q->one_of && !mor_text_in(mor_slice_of(q->def ? q->def : ""), q->one_of))
				fail_msg("%s: the default of %s is none of its values", (*d)->name, q->name);
		}
		for (const struct mor_code *c = (*d)->codes; c && c->name; c++)
			for (const struct mor_code *other = c + 1; other->name; other++)
				if (c->code == other->code)
					fail_msg("%s: code %lld twice", (*d)->name, (long long)c->code);
	}
}

/* ---- actions ---- */

static const char *action(const struct mor_method *m)
{
	return m->action ? m->action : m->name;
}

static bool is_called(const struct mor_method *m)
{
	return m->from == MOR_FROM_HOST &&
	       (m->role == MOR_ROLE_CALL || m->role == MOR_ROLE_INPUT || m->role == MOR_ROLE_NOTE);
}

/* The same quirk cannot have two values. */
static bool exclude_each_other(const struct mor_dialect *d, const struct mor_method *a,
			       const struct mor_method *b)
{
	return a->when && b->when && quirk_of(d, a->when) == quirk_of(d, b->when) &&
	       strcmp(a->when, b->when) != 0;
}

static void check_action(const struct mor_dialect *d, const struct mor_method *m)
{
	for (const struct mor_method *other = m + 1; is_called(m) && other->name; other++)
		if (is_called(other) && strcmp(action(m), action(other)) == 0 &&
		    !exclude_each_other(d, m, other))
			COMPLAIN(d, m, "another row is called \"%s\", too", action(m));
}

static void test_actions(void **state)
{
	(void)state;
	each_row(check_action);
}

/* ---- sides and order ---- */

enum { HOST = 1 << MOR_FROM_HOST, PLUGIN = 1 << MOR_FROM_PLUGIN };

/* Who may send what. */
static const unsigned senders[] = {
	[MOR_ROLE_HELLO] = HOST | PLUGIN, [MOR_ROLE_INIT] = HOST,          [MOR_ROLE_CALL] = HOST,
	[MOR_ROLE_INPUT] = HOST,          [MOR_ROLE_PING] = HOST | PLUGIN, [MOR_ROLE_BYE] = HOST,
	[MOR_ROLE_CANCEL] = HOST,         [MOR_ROLE_NOTE] = HOST | PLUGIN, [MOR_ROLE_LOG] = PLUGIN,
	[MOR_ROLE_PIECE] = PLUGIN,        [MOR_ROLE_DONE] = PLUGIN,        [MOR_ROLE_FAIL] = PLUGIN,
	[MOR_ROLE_SERVE] = PLUGIN,        [MOR_ROLE_TAKE] = PLUGIN,        [MOR_ROLE_FINISH] = PLUGIN,
};

static bool shares_name(const struct mor_method *a, const struct mor_method *b)
{
	return strcmp(a->name, b->name) == 0 || (a->also && mor_text_in(mor_slice_of(b->name), a->also)) ||
	       (b->also && mor_text_in(mor_slice_of(a->name), b->also));
}

/* The host finds its rows by action, but what the plugin sends only by name, and by whether it is a note: a
 * second row would be dead. */
static void check_side(const struct mor_dialect *d, const struct mor_method *m)
{
	if (!(senders[m->role] & 1u << m->from))
		COMPLAIN(d, m, "this side does not send messages of this role");
	for (const struct mor_method *other = m + 1; m->from == MOR_FROM_PLUGIN && other->name; other++)
		if (other->from == MOR_FROM_PLUGIN &&
		    (other->settle == MOR_BY_WRITE) == (m->settle == MOR_BY_WRITE) && shares_name(m, other) &&
		    !exclude_each_other(d, m, other))
			COMPLAIN(d, m, "\"%s\" is the name of another row, too", other->name);
	if (m->role == MOR_ROLE_INIT && mor_dialect_role(d, MOR_FROM_HOST, MOR_ROLE_HELLO, m))
		COMPLAIN(d, m, "INIT before HELLO: they are sent in table order");
}

static void test_sides(void **state)
{
	(void)state;
	each_row(check_side);
}

/* ---- time ---- */

/* Whatever we wait for ends. A plugin's own HELLO counts from the start of the process. */
static void check_limits(const struct mor_dialect *d, const struct mor_method *m)
{
	bool waited_for = m->from == MOR_FROM_HOST ? m->settle != MOR_BY_WRITE : m->role == MOR_ROLE_HELLO;

	if (waited_for && !mor_timing_of(m)->timeout_ms)
		COMPLAIN(d, m, "no time limit");
	if (m->settle == MOR_BY_NOTE && m->from == MOR_FROM_HOST &&
	    mor_timing_of(m)->ack_ms > mor_timing_of(m)->timeout_ms)
		COMPLAIN(d, m, "the acknowledgement may take longer than the whole");
	if (mor_timing_of(m)->max_ms && (mor_timing_of(m)->max_ms < mor_timing_of(m)->timeout_ms ||
					 mor_timing_of(m)->clock == MOR_FROM_WRITE))
		COMPLAIN(d, m, "max_ms can never matter");
	if ((m->flags & MOR_M_NOTE) && m->settle != MOR_BY_WRITE)
		COMPLAIN(d, m, "a notification that is answered");
	if (m->from == MOR_FROM_HOST && m->settle >= MOR_BY_NOTE && m->settle <= MOR_BY_FIRST &&
	    !mor_dialect_role(d, MOR_FROM_PLUGIN, MOR_ROLE_DONE, NULL))
		COMPLAIN(d, m, "settled by a note, and there is none");
}

static void test_limits(void **state)
{
	(void)state;
	each_row(check_limits);
	for (const struct mor_dialect *const *d = mor_dialects(); *d; d++) {
		const struct mor_dialect_life *life = &(*d)->life;

		if (!life->stop.term_ms || !life->stop.kill_ms || life->stop.bye_ms > life->stop.term_ms)
			fail_msg("%s: the stop ladder's times", (*d)->name);
		if (!(*d)->link.frame_limit || !(*d)->link.queue_limit)
			fail_msg("%s: no limit on messages", (*d)->name);
		if (life->shape == MOR_SHAPE_SESSION &&
		    (!life->restart.first_ms || !life->restart.intensity || !life->restart.period_ms))
			fail_msg("%s: restart", (*d)->name);
	}
}

/* A part and the rows that bring it to life belong together. */
static void test_parts(void **state)
{
	(void)state;
	for (const struct mor_dialect *const *d = mor_dialects(); *d; d++) {
		const struct mor_method *take = mor_dialect_role(*d, MOR_FROM_PLUGIN, MOR_ROLE_TAKE, NULL);
		const struct mor_method *finish = mor_dialect_role(*d, MOR_FROM_PLUGIN, MOR_ROLE_FINISH, NULL);

		if (((*d)->health || (*d)->watchdog) !=
		    !!mor_dialect_role(*d, MOR_FROM_HOST, MOR_ROLE_PING, NULL))
			fail_msg("%s: a ping without health or watchdog, or the other way round", (*d)->name);
		if ((*d)->watchdog && (!(*d)->watchdog->every_ms || !(*d)->watchdog->misses))
			fail_msg("%s: the watchdog's numbers", (*d)->name);
		if (!(*d)->conversation != !mor_dialect_role(*d, MOR_FROM_HOST, MOR_ROLE_INPUT, NULL))
			fail_msg("%s: a conversation without input, or the other way round", (*d)->name);
		if (!(*d)->serve != !mor_dialect_role(*d, MOR_FROM_PLUGIN, MOR_ROLE_HELLO, NULL))
			fail_msg("%s: serve without a greeting of the plugin, or the other way round",
				 (*d)->name);
		if ((take && take->settle == MOR_BY_NOTE) != !!finish)
			fail_msg("%s: work that is taken and never finished, or the other way round",
				 (*d)->name);
		if ((*d)->offer && !(*d)->offer->interfaces)
			fail_msg("%s: an offer of nothing", (*d)->name);
	}
}

/* ---- fields, and validation by them ---- */

static void sample(const struct mor_field *f, struct mor_writer *w);

static void sample_members(const struct mor_field *fields, const struct mor_field *without,
			   struct mor_writer *w)
{
	mor_w_object(w);
	for (const struct mor_field *f = fields; f && f->name; f++) {
		if (f == without || (f->flags & MOR_F_BEYOND) || strcmp(f->name, "[]") == 0)
			continue;
		mor_w_key(w, strcmp(f->name, "*") == 0 ? "anything-else" : f->name);
		sample(f, w);
	}
	mor_w_end(w);
}

static void sample_elements(const struct mor_field *fields, struct mor_writer *w)
{
	mor_w_array(w);
	if (fields && strcmp(fields->name, "[]") == 0)
		sample(fields, w);
	else if (fields)
		sample_members(fields, NULL, w);
	mor_w_end(w);
}

/* A value that the field allows: its first type, its first word. */
static void sample(const struct mor_field *f, struct mor_writer *w)
{
	if (f->one_of)
		mor_w_slice(w, (struct mor_slice){ f->one_of, strcspn(f->one_of, "|") });
	else if (f->def)
		mor_w_raw(w, mor_slice_of(f->def));
	else if (f->type & MOR_T_STRING)
		mor_w_string(w, "x");
	else if (f->type & (MOR_T_INT | MOR_T_NUMBER))
		mor_w_int(w, f->min < f->max ? (int64_t)f->max : 1);
	else if (f->type & MOR_T_BOOL)
		mor_w_bool(w, true);
	else if (f->type & MOR_T_OBJECT)
		sample_members(f->fields, NULL, w);
	else if (f->type & MOR_T_ARRAY)
		sample_elements(f->fields, w);
	else
		mor_w_null(w);
}

/* A value of a type that the field does not allow; false: it allows all of them. */
static bool wrong(const struct mor_field *f, struct mor_writer *w)
{
	if (!(f->type & MOR_T_BOOL))
		mor_w_bool(w, true);
	else if (!(f->type & MOR_T_ARRAY))
		mor_w_raw(w, mor_slice_of("[]"));
	else if (!(f->type & MOR_T_STRING))
		mor_w_string(w, "x");
	else
		return false;
	return true;
}

struct found {
	unsigned count;
	char pointers[MOR_FINDINGS_MAX][160], text[256];
};

static void remember(const struct mor_finding *finding, void *arg)
{
	struct found *found = arg;

	snprintf(found->text, sizeof(found->text), "%s", finding->text);
	snprintf(found->pointers[found->count++], 160, "%s", finding->pointer);
}

static struct found validate(const struct mor_field *fields, struct mor_buf *json)
{
	struct found found = { 0 };
	struct mor_doc *doc;

	mor_buf_byte(json, '\0');
	doc = json_of(json->data);
	mor_validate(fields, mor_doc_root(doc), remember, &found);
	mor_doc_free(doc);
	mor_buf_fini(json);
	return found;
}

static bool points_at(const struct found *found, const char *name)
{
	for (unsigned i = 0; i < found->count; i++)
		if (strcmp(found->pointers[i] + 1, name) == 0)
			return true;
	return false;
}

static void check_field(const struct mor_dialect *d, const struct mor_method *m, const struct mor_field *f)
{
	char at[100];

	if (strcmp(f->name, "[]") != 0 && !is_text(f->doc))
		COMPLAIN(d, m, "field %s has no doc", f->name);
	if (!f->type)
		COMPLAIN(d, m, "field %s has no type", f->name);
	if (f->one_of && !(f->type & MOR_T_STRING))
		COMPLAIN(d, m, "field %s lists words and is no string", f->name);
	if (f->def) { /* a default that its own field refuses would be sent by us */
		const struct mor_field alone[] = { *f, { 0 } };
		struct mor_buf json = MOR_BUF_INIT;
		struct found found;

		snprintf(at, sizeof(at), "{\"%s\":%s}", f->name, f->def);
		mor_buf_text(&json, at);
		found = validate(alone, &json);
		if (found.count)
			COMPLAIN(d, m, "the default of %s: %s", f->name, found.text);
	}
	for (const struct mor_field *below = f->fields; below && below->name; below++)
		check_field(d, m, below);
}

/* Each member left out, each with another type: found exactly there. */
static void check_each(const struct mor_dialect *d, const struct mor_method *m, const struct mor_field *fields,
		       const struct mor_field *f)
{
	struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct found found;

	if ((f->flags & MOR_F_REQUIRED) && !f->when && !(f->flags & MOR_F_ANY_OF)) {
		sample_members(fields, f, &w);
		found = validate(fields, &json);
		if (!points_at(&found, f->name) && !points_at(&found, ""))
			COMPLAIN(d, m, "%s is required, and not missed", f->name);
	}
	w = (struct mor_writer){ .out = &json };
	mor_w_object(&w);
	mor_w_key(&w, f->name);
	if (wrong(f, &w)) {
		mor_w_end(&w);
		found = validate(fields, &json);
		if (!points_at(&found, f->name))
			COMPLAIN(d, m, "%s of another type is taken", f->name);
	}
	mor_buf_fini(&json);
}

static void check_fields(const struct mor_dialect *d, const struct mor_method *m,
			 const struct mor_field *fields)
{
	struct mor_buf json = MOR_BUF_INIT;
	struct mor_writer w = { .out = &json };
	struct found found;

	if (!fields)
		return;
	sample_members(fields, NULL, &w);
	found = validate(fields, &json);
	if (found.count)
		COMPLAIN(d, m, "what the fields describe is refused: %s", found.text);
	for (const struct mor_field *f = fields; f->name; f++) {
		check_field(d, m, f);
		if (strcmp(f->name, "*") != 0 && strcmp(f->name, "[]") != 0)
			check_each(d, m, fields, f);
	}
}

static void check_both_sides(const struct mor_dialect *d, const struct mor_method *m)
{
	check_fields(d, m, m->params);
	check_fields(d, m, m->result);
}

static void test_validation(void **state)
{
	(void)state;
	each_row(check_both_sides);
}

/* ---- templates ---- */

/* Each word with a value of its kind. */
static void fill(const struct mor_dialect *d, const struct mor_method *m, struct mor_buf *out)
{
	static const struct {
		const char *word, *json;
	} words[] = {
		{ "${params}", "{}" },  { "${action}", "\"a\"" },
		{ "${extra}", "{}" },   { "${config}", "{\"k\":1}" },
		{ "${name}", "\"n\"" }, { "${version}", "\"1\"" },
		{ "${pid}", "1" },      { "${time}", "1767225600" },
		{ "${id}", "1" },
	};
	const char *at = m->template;

	while (*at) {
		size_t i = 0, count = sizeof(words) / sizeof(*words);

		while (i < count && strncmp(at, words[i].word, strlen(words[i].word)) != 0)
			i++;
		if (i == count && strncmp(at, "${", 2) == 0)
			COMPLAIN(d, m, "the template has an unknown word: %s", at);
		mor_buf_text(out, i < count ? words[i].json : (char[]){ *at, '\0' });
		at += i < count ? strlen(words[i].word) : 1;
	}
}

/* What we send from a template of our own alone must be what its fields say; what the embedder adds is checked
 * when it is sent. */
static void check_template(const struct mor_dialect *d, const struct mor_method *m)
{
	const struct mor_field *fields = m->from == MOR_FROM_HOST ? m->params : m->result;
	struct mor_buf json = MOR_BUF_INIT;
	struct found found;

	if (!m->template)
		return;
	fill(d, m, &json);
	found = validate(strstr(m->template, "${params}") ? NULL : fields, &json);
	if (found.count)
		COMPLAIN(d, m, "its template breaks its own fields: %s", found.text);
}

static void test_templates(void **state)
{
	(void)state;
	each_row(check_template);
}

/* ---- what is printed ---- */

/* Every row, field, code, limit and quirk is on the page: the table is all there is. */
static void test_page_is_whole(void **state)
{
	(void)state;
	for (const struct mor_dialect *const *d = mor_dialects(); *d; d++) {
		struct mor_buf page = MOR_BUF_INIT;

		assert_int_equal(mor_explain_text(*d, &page), 0);
		mor_buf_byte(&page, '\0');
		for (const struct mor_method *m = (*d)->methods; m->name; m++) {
			if (strcmp(m->name, "*") != 0 && !strstr(page.data, m->name))
				COMPLAIN(*d, m, "is not on the page");
			for (const struct mor_field *f = m->params; f && f->name; f++)
				if (!strstr(page.data, strcmp(f->name, "*") == 0 ? "(any other)" : f->name))
					COMPLAIN(*d, m, "param %s is not on the page", f->name);
			if (mor_outcome_of(m)->keep && !strstr(page.data, mor_outcome_of(m)->keep))
				COMPLAIN(*d, m, "keep is not on the page");
			if (m->when && !strstr(page.data, m->when))
				COMPLAIN(*d, m, "when is not on the page");
		}
		for (const struct mor_code *c = (*d)->codes; c && c->name; c++)
			assert_non_null(strstr(page.data, c->name));
		for (const struct mor_quirk *q = (*d)->quirks; q && q->name; q++)
			assert_non_null(strstr(page.data, q->name));
		assert_true(!(*d)->conversation || !(*d)->conversation->total_ms ||
			    strstr(page.data, "a session in all"));
		assert_true(!(*d)->life.restart.clean || strstr(page.data, "After exit 0"));
		assert_true(!(*d)->link.reads || strstr(page.data, "Also read"));
		assert_true(!(*d)->watchdog || !(*d)->watchdog->learn || strstr(page.data, "While it works"));
		mor_buf_fini(&page);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_texts),         MOR_TEST(test_pointers_and_quirks),
		MOR_TEST(test_actions),       MOR_TEST(test_sides),
		MOR_TEST(test_limits),        MOR_TEST(test_parts),
		MOR_TEST(test_validation),    MOR_TEST(test_templates),
		MOR_TEST(test_page_is_whole),
	};

	return mor_run_group("dialect/all", tests);
}
