/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of commands: from JSON, from words of a command line, from words of a chat message. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dialect.h"

#define SHOWN_MAX 60 /* bytes of a wrong value in an error's text */

struct type_row {
	const char *name;     /* JSON schema's */
	const char *expected; /* in an error */
};

static const struct type_row types[] = {
	[TENON_FIELD_STRING] = { "string", "a string" }, [TENON_FIELD_INTEGER] = { "integer", "an integer" },
	[TENON_FIELD_NUMBER] = { "number", "a number" }, [TENON_FIELD_BOOLEAN] = { "boolean", "a boolean" },
	[TENON_FIELD_ARRAY] = { "array", "an array" },   [TENON_FIELD_OBJECT] = { "object", "an object" },
	[TENON_FIELD_ANY] = { NULL, "a value" },
};

/* ---- Checking ---- */

/* 2.0 is one; so is what no int64_t can hold. */
static bool is_integer(const struct mor_value *value)
{
	return mor_json_is_int(value) || mor_json_int(value, 0) == mor_json_int(value, 1);
}

static bool has_type(const tenon_field *field, const struct mor_value *value)
{
	static const enum mor_json_type json[] = {
		[TENON_FIELD_STRING] = MOR_JSON_STRING, [TENON_FIELD_INTEGER] = MOR_JSON_NUMBER,
		[TENON_FIELD_NUMBER] = MOR_JSON_NUMBER, [TENON_FIELD_BOOLEAN] = MOR_JSON_BOOL,
		[TENON_FIELD_ARRAY] = MOR_JSON_ARRAY,   [TENON_FIELD_OBJECT] = MOR_JSON_OBJECT,
	};

	if (field->type == TENON_FIELD_ANY)
		return true;
	return mor_json_type(value) == json[field->type] &&
	       (field->type != TENON_FIELD_INTEGER || is_integer(value));
}

static bool is_choice(const char *choices, struct mor_slice text)
{
	while (*choices) {
		size_t len = strcspn(choices, "|");

		if (mor_slice_eq(text, (struct mor_slice){ choices, len }))
			return true;
		choices += len + (choices[len] == '|');
	}
	return false;
}

/* Never cut inside a character. */
static void cut_text(struct mor_buf *text)
{
	if (text->len <= SHOWN_MAX)
		return;
	text->len = SHOWN_MAX;
	while (text->len > 0 && ((unsigned char)text->data[text->len] & 0xc0) == 0x80)
		text->len--;
	mor_buf_text(text, "…");
}

static bool refuse_value(tenon_call *call, const tenon_field *field, const struct mor_value *value)
{
	MOR_CLEAN(mor_buf) struct mor_buf shown = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf choices = MOR_BUF_INIT;

	mor_json_write(value, false, &shown);
	cut_text(&shown);
	mor_buf_byte(&shown, '\0');
	for (const char *c = field->choices; c && *c; c++)
		mor_buf_text(&choices, *c == '|' ? ", " : (char[]){ *c, '\0' });
	mor_buf_byte(&choices, '\0');
	if (mor_buf_failed(&shown) || mor_buf_failed(&choices))
		tn_refuse(call, TENON_EPARAMS, field->name, (struct mor_slice){ 0 });
	else if (field->choices && has_type(field, value))
		tn_refuse_text(call, TENON_EPARAMS, "%s: one of %s is expected, not %s", field->name,
			       choices.data, shown.data);
	else
		tn_refuse_text(call, TENON_EPARAMS, "%s: %s is expected, not %s", field->name,
			       types[field->type].expected, shown.data);
	return false;
}

/* The value, NULL where it is missing or null. */
static const struct mor_value *find_value(const struct mor_value *given, const tenon_field *field, size_t at)
{
	const struct mor_value *value;

	if (mor_json_type(given) == MOR_JSON_ARRAY)
		value = mor_json_item(given, at);
	else
		value = mor_json_get(given, field->name);
	return mor_json_type(value) == MOR_JSON_NULL ? NULL : value;
}

static bool check_field(tenon_call *call, const tenon_field *field, const struct mor_value *value)
{
	if (!value) {
		if (field->required && !field->fallback)
			tn_refuse_text(call, TENON_EPARAMS, "%s: is missing", field->name);
		return !field->required || field->fallback;
	}
	if (!has_type(field, value))
		return refuse_value(call, field, value);
	if (field->choices && mor_json_type(value) == MOR_JSON_STRING &&
	    !is_choice(field->choices, mor_json_string(value)))
		return refuse_value(call, field, value);
	return true;
}

/* ---- Filling in ---- */

static void put_fallback(struct mor_writer *w, const tenon_field *field)
{
	mor_w_key(w, field->name);
	if (field->type == TENON_FIELD_STRING || !mor_json_valid(mor_slice_of(field->fallback), 0, 0, NULL))
		mor_w_string(w, field->fallback);
	else
		mor_w_raw(w, mor_slice_of(field->fallback));
}

static bool fill(tenon_call *call, const struct mor_buf *text)
{
	struct mor_doc *doc = NULL;

	if (mor_buf_failed(text) || mor_doc_parse(mor_buf_view(text), 0, 0, &doc, NULL) < 0) {
		tn_refuse(call, TENON_EINTERNAL, "out of memory", (struct mor_slice){ 0 });
		return false;
	}
	mor_doc_free(call->filled);
	call->filled = doc;
	return true;
}

bool tn_take_fields(tenon_call *call, const tenon_field *fields, const struct mor_value *given)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	struct mor_writer w = { .out = &text };
	bool array = mor_json_type(given) == MOR_JSON_ARRAY, lacks = array;
	size_t at = 0;

	tn_call_give(call, given);
	if (!fields)
		return true;
	for (const tenon_field *field = fields; field->name; field++, at++) {
		const struct mor_value *value = find_value(given, field, at);

		if (!check_field(call, field, value))
			return false;
		lacks = lacks || (!value && field->fallback);
	}
	if (!lacks)
		return true;
	mor_w_object(&w);
	at = 0;
	for (const tenon_field *field = fields; field->name; field++, at++) {
		const struct mor_value *value = find_value(given, field, at);

		if (!value && field->fallback) {
			put_fallback(&w, field);
		} else if (value && array) {
			mor_w_key(&w, field->name);
			mor_w_value(&w, value);
		}
	}
	for (struct mor_json_iter it = mor_json_iter(given); given && !array && mor_json_next(&it);)
		if (mor_json_type(it.value) != MOR_JSON_NULL) {
			mor_w_key_slice(&w, it.name);
			mor_w_value(&w, it.value);
		}
	mor_w_end(&w);
	return fill(call, &text);
}

/* ---- Words ---- */

/* A word as the type that is wanted. One that cannot be is left a text: the check then says what is wrong. */
static void put_word(struct mor_writer *w, const tenon_field *field, struct mor_slice word)
{
	bool json = field->type != TENON_FIELD_STRING && field->type != TENON_FIELD_ANY && word.len > 0 &&
		    mor_json_valid(word, 0, 0, NULL);

	if (field->type == TENON_FIELD_ARRAY && (!json || word.ptr[0] != '[')) {
		mor_w_array(w);
		mor_w_slice(w, word);
		mor_w_end(w);
	} else if (json) {
		mor_w_raw(w, word);
	} else {
		mor_w_slice(w, word);
	}
}

static void put_words_value(struct mor_writer *w, const tenon_field *field, const struct mor_value *value)
{
	mor_w_key(w, field->name);
	if (mor_json_type(value) == MOR_JSON_STRING)
		put_word(w, field, mor_json_string(value));
	else
		mor_w_value(w, value);
}

/* What a walk over words knows. */
struct walk {
	struct mor_writer w;
	const tenon_field *fields, *next; /* next: for the next positional word */
	unsigned long long taken;         /* one bit per field */
};

static const tenon_field *find_field(const tenon_field *fields, struct mor_slice name)
{
	for (const tenon_field *field = fields; field->name; field++)
		if (mor_slice_is(name, field->name))
			return field;
	return NULL;
}

static bool take_field(struct walk *walk, const tenon_field *field)
{
	unsigned long long bit = 1ULL << ((field - walk->fields) & 63);

	if (walk->taken & bit)
		return false;
	walk->taken |= bit;
	return true;
}

static void take_positional(struct walk *walk, struct mor_slice word)
{
	while (walk->next->name && !take_field(walk, walk->next))
		walk->next++;
	if (!walk->next->name)
		return;
	mor_w_key(&walk->w, walk->next->name);
	put_word(&walk->w, walk->next, word);
}

/* --NAME VALUE, --NAME=VALUE, --NAME; a word that begins with a dash is no value. Returns the words it took. */
static size_t take_flag(struct walk *walk, struct mor_slice word, struct mor_slice after)
{
	struct mor_slice name = { word.ptr + 2, word.len - 2 };
	const char *equals = memchr(name.ptr, '=', name.len);
	const tenon_field *field;
	bool bare;

	if (equals) {
		after = (struct mor_slice){ equals + 1, (size_t)(word.ptr + word.len - equals - 1) };
		name.len = (size_t)(equals - name.ptr);
	}
	field = find_field(walk->fields, name);
	bare = !equals && (!after.ptr || (after.len > 0 && after.ptr[0] == '-') ||
			   (field && field->type == TENON_FIELD_BOOLEAN));
	if (field && take_field(walk, field)) {
		mor_w_key(&walk->w, field->name);
		if (bare)
			mor_w_bool(&walk->w, true);
		else
			put_word(&walk->w, field, after);
	}
	return equals || bare ? 1 : 2;
}

static void walk_args(struct walk *walk, const struct tn_words *words)
{
	struct mor_json_iter it = mor_json_iter(words->args);
	bool flags = words->dashes, more = mor_json_type(words->args) == MOR_JSON_ARRAY && mor_json_next(&it);

	while (more) {
		struct mor_slice word = mor_json_string(it.value), after = { NULL, 0 };
		size_t count = 1;

		more = mor_json_next(&it);
		if (more)
			after = mor_json_string(it.value);
		if (flags && mor_slice_is(word, "--"))
			flags = false;
		else if (flags && word.len > 2 && memcmp(word.ptr, "--", 2) == 0)
			count = take_flag(walk, word, after);
		else if (word.ptr)
			take_positional(walk, word);
		if (count == 2 && more)
			more = mor_json_next(&it);
	}
}

static void walk_flags(struct walk *walk, const struct mor_value *flags)
{
	struct mor_json_iter it = mor_json_iter(flags);

	while (mor_json_type(flags) == MOR_JSON_OBJECT && mor_json_next(&it)) {
		const tenon_field *field = find_field(walk->fields, it.name);

		if (field && take_field(walk, field))
			put_words_value(&walk->w, field, it.value);
	}
}

/* One word of a line, quotes as in a shell; false at its end. */
static bool line_word(const char **line, struct mor_buf *word)
{
	const char *at = *line + strspn(*line, " \t\r\n");
	char quote = '\0';

	mor_buf_reset(word, 4096);
	if (!*at)
		return false;
	for (; *at && (quote || !strchr(" \t\r\n", *at)); at++) {
		if (*at == quote)
			quote = '\0';
		else if (!quote && (*at == '"' || *at == '\''))
			quote = *at;
		else if (*at == '\\' && quote != '\'' && at[1])
			mor_buf_byte(word, *++at);
		else
			mor_buf_byte(word, *at);
	}
	*line = at;
	return true;
}

/* The last text takes the rest of the line as it stands: "/remind 5m tea isn't ready". */
static void walk_line(struct walk *walk, const char *line)
{
	MOR_CLEAN(mor_buf) struct mor_buf word = MOR_BUF_INIT;

	for (; walk->next->name; walk->next++) {
		line += strspn(line, " \t\r\n");
		if (!*line)
			return;
		if (!walk->next[1].name && walk->next->type == TENON_FIELD_STRING && *line != '"' &&
		    *line != '\'') {
			mor_w_key(&walk->w, walk->next->name);
			mor_w_slice(&walk->w, mor_slice_trim(mor_slice_of(line), " \t\r\n"));
			return;
		}
		if (line_word(&line, &word)) {
			mor_w_key(&walk->w, walk->next->name);
			put_word(&walk->w, walk->next, word.len ? mor_buf_view(&word) : MOR_SLICE(""));
		}
	}
}

bool tn_take_words(tenon_call *call, const tenon_field *fields, const struct tn_words *words)
{
	static const tenon_field none[] = { { 0 } };
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct walk walk = { .w = { .out = &text } };
	bool taken;

	walk.fields = walk.next = fields ? fields : none;
	mor_w_object(&walk.w);
	if (words->line) {
		walk_line(&walk, words->line);
	} else {
		walk_flags(&walk, words->flags);
		walk_args(&walk, words);
	}
	mor_w_end(&walk.w);
	if (!fill(call, &text))
		return false;
	doc = call->filled;
	call->filled = NULL;
	taken = tn_take_fields(call, walk.fields, mor_doc_root(doc));
	if (taken && !call->filled) {
		call->filled = doc; /* as it is: nothing was missing */
		doc = NULL;
	}
	call->given = NULL;
	return taken;
}

/* ---- The schema ---- */

static void put_choices(struct mor_writer *w, const char *choices)
{
	mor_w_key(w, "enum");
	mor_w_array(w);
	while (*choices) {
		size_t len = strcspn(choices, "|");

		mor_w_slice(w, (struct mor_slice){ choices, len });
		choices += len + (choices[len] == '|');
	}
	mor_w_end(w);
}

static void put_property(struct mor_writer *w, const tenon_field *field)
{
	mor_w_key(w, field->name);
	mor_w_object(w);
	tn_put_known(w, "type", types[field->type].name);
	tn_put_known(w, "description", field->doc);
	if (field->choices)
		put_choices(w, field->choices);
	if (field->fallback) {
		tenon_field same = *field;

		same.name = "default";
		put_fallback(w, &same);
	}
	mor_w_end(w);
}

void tn_put_schema(struct mor_writer *w, const tenon_field *fields)
{
	mor_w_key(w, "properties");
	mor_w_object(w);
	for (const tenon_field *field = fields; field && field->name; field++)
		put_property(w, field);
	mor_w_end(w);
	mor_w_key(w, "required");
	mor_w_array(w);
	for (const tenon_field *field = fields; field && field->name; field++)
		if (field->required && !field->fallback)
			mor_w_string(w, field->name);
	mor_w_end(w);
}
