/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON as trees. json.c is the only file that uses yyjson; everybody else uses these functions.
 *
 * A document is one block of memory: values and strings are freed with it. Depth is checked before parsing,
 * so that no recursion depends on a plugin. Numbers are kept as their text (mor_json_raw), so that ids and
 * 64-bit values do not change. Text is strict RFC 8259; valid UTF-8; lone surrogates are refused;
 * MOR_JSON_NAN also accepts NaN, Infinity and -Infinity as numbers.
 */
#ifndef MOR_WIRE_JSON_H
#define MOR_WIRE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"

#define MOR_JSON_DEPTH     128  /* default limit */
#define MOR_JSON_DEPTH_MAX 1024 /* a larger limit counts as this one */

enum mor_json_flags { MOR_JSON_NAN = 1 << 0 };

enum mor_json_type {
	MOR_JSON_MISSING, /* the type of a NULL value */
	MOR_JSON_NULL,
	MOR_JSON_BOOL,
	MOR_JSON_NUMBER,
	MOR_JSON_STRING,
	MOR_JSON_ARRAY,
	MOR_JSON_OBJECT
};

struct mor_doc;   /* owns */
struct mor_value; /* borrowed from a document; NULL means "missing", and every function accepts it */

/* Parses one JSON text. 0, MORTISE_ENOMEM, or MORTISE_EPROTO with what and where in err's text ("unexpected
 * character at byte 17 (line 1, column 18)"). max_depth 0: MOR_JSON_DEPTH. */
int mor_doc_parse(struct mor_slice text, unsigned flags, unsigned max_depth, struct mor_doc **ret,
		  mortise_error *err);
struct mor_doc *mor_doc_free(struct mor_doc *doc); /* NULL is fine; returns NULL */
static inline void mor_doc_fini(struct mor_doc **doc)
{
	*doc = mor_doc_free(*doc);
}
const struct mor_value *mor_doc_root(const struct mor_doc *doc);

/* True if brackets never nest deeper than max_depth. Does not check the JSON otherwise. */
bool mor_json_depth_ok(struct mor_slice text, unsigned max_depth);

enum mor_json_type mor_json_type(const struct mor_value *value);
const char *mor_json_type_name(enum mor_json_type type); /* "string", "object", ... */
/* Member of an object, by exact name; NULL if it has no such member or value is not an object. */
const struct mor_value *mor_json_get(const struct mor_value *object, const char *name);
const struct mor_value *mor_json_get_slice(const struct mor_value *object, struct mor_slice name);
/* By JSON pointer ("/a/b/0"); "" is the value itself. */
const struct mor_value *mor_json_at(const struct mor_value *value, const char *pointer);
/* Element of an array; NULL behind its end, or if value is no array. */
const struct mor_value *mor_json_item(const struct mor_value *array, size_t index);
size_t mor_json_size(const struct mor_value *value); /* members or elements; 0 for scalars */

/* Iteration over arrays (name is absent) and objects:
 *	struct mor_json_iter it = mor_json_iter(value);
 *	while (mor_json_next(&it)) ... it.name, it.value ... */
struct mor_json_iter {
	struct mor_slice name;
	const struct mor_value *value;
	void *state[4];
};
struct mor_json_iter mor_json_iter(const struct mor_value *value);
bool mor_json_next(struct mor_json_iter *iter);

/* Each returns the fallback if the value is missing or of another type. */
struct mor_slice mor_json_string(const struct mor_value *value); /* NUL-terminated in the arena; {NULL,0} */
const char *mor_json_text(const struct mor_value *value, const char *fallback);
bool mor_json_bool(const struct mor_value *value, bool fallback);
/* integral (2.0 is) and in range, else fallback */
int64_t mor_json_int(const struct mor_value *value, int64_t fallback);
double mor_json_double(const struct mor_value *value, double fallback);
bool mor_json_is_int(const struct mor_value *value);           /* a number without fraction or exponent */
struct mor_slice mor_json_raw(const struct mor_value *number); /* digits as sent, NUL-terminated; {NULL,0} */
bool mor_json_equal(const struct mor_value *a, const struct mor_value *b); /* compared as values: member
	   order does not matter, 1 equals
	   1.0; integers beyond 2^53
	   compare digit by digit */

/* Appends the value as compact (one-line) text. pretty: two-space indentation. */
int mor_json_write(const struct mor_value *value, bool pretty, struct mor_buf *out);
/* Copies a JSON text without raw newlines (they are legal only between tokens), so that it fits on one line.
 * If it has none, the bytes are appended unchanged. */
int mor_json_one_line(struct mor_slice text, struct mor_buf *out);

/* A text of which nothing is known, without the most of its long strings (MOR_JSON_LONG): those are looked at,
 * and are right, so the text is valid if the outline is. false: it has no long string, or one is wrong, or
 * there is no memory. `out` is empty before, and then. */
bool mor_json_outline(struct mor_slice text, struct mor_buf *out);

/* ---- Texts that are known to be valid, without a tree (raw.c): for results with one large member ---- */

struct mor_json_pick {
	const char *name;
	struct mor_slice value; /* its text; ptr NULL: not found */
};
/* Finds members of an object by name, of several with one name the first, as mor_json_get() does. `picks` ends
 * with a name NULL. If `text` is not an object, nothing is found. */
void mor_json_pick(struct mor_slice text, struct mor_json_pick *picks);
/* Both append a string that is given with its quotes: its characters, or JSON as mor_buf_json_string() writes
 * it. */
int mor_json_string_plain(struct mor_slice string, struct mor_buf *out);
int mor_json_string_again(struct mor_slice string, struct mor_buf *out);
/* Like mor_doc_parse(), to look at everything but long strings: those are cut to about MOR_JSON_LONG bytes, and
 * neither copied nor parsed. */
#define MOR_JSON_LONG 4096
int mor_doc_outline(struct mor_slice text, unsigned flags, unsigned max_depth, struct mor_doc **ret,
		    mortise_error *err);

/* A finite number in the shortest form that reads back the same, in every locale. Returns out. */
#define MOR_JSON_DOUBLE 40
const char *mor_json_format_double(double number, char out[MOR_JSON_DOUBLE]);

/* Building text without a tree: keeps track of commas. mor_writer w = { .out = &buf };
 *	mor_w_object(&w); mor_w_key(&w, "a"); mor_w_int(&w, 1); mor_w_end(&w);
 * Errors stick in the buffer. Depth at most 64. */
struct mor_writer {
	struct mor_buf *out;
	unsigned depth;
	uint64_t nonempty; /* one bit per level: a comma is due */
	uint64_t arrays;   /* one bit per level: array, not object */
	bool after_key;
};
void mor_w_object(struct mor_writer *w);
void mor_w_array(struct mor_writer *w);
void mor_w_end(struct mor_writer *w);
void mor_w_key(struct mor_writer *w, const char *name);
void mor_w_key_slice(struct mor_writer *w, struct mor_slice name);
void mor_w_string(struct mor_writer *w, const char *text); /* NULL: null */
void mor_w_slice(struct mor_writer *w, struct mor_slice text);
void mor_w_int(struct mor_writer *w, int64_t number);
void mor_w_uint(struct mor_writer *w, uint64_t number);
void mor_w_double(struct mor_writer *w, double number); /* shortest form that reads back the same; NaN: null */
void mor_w_bool(struct mor_writer *w, bool value);
void mor_w_null(struct mor_writer *w);
void mor_w_raw(struct mor_writer *w, struct mor_slice json);            /* one JSON text, as it is */
void mor_w_string_again(struct mor_writer *w, struct mor_slice string); /* mor_json_string_again() */
void mor_w_value(struct mor_writer *w, const struct mor_value *value);  /* NULL: null */
/* Key and value at once. */
void mor_w_pair(struct mor_writer *w, const char *name, const char *text);
void mor_w_pair_int(struct mor_writer *w, const char *name, int64_t number);
void mor_w_pair_bool(struct mor_writer *w, const char *name, bool value);
void mor_w_pair_maybe(struct mor_writer *w, const char *name, int value); /* below 0 is not known: null */
void mor_w_pair_raw(struct mor_writer *w, const char *name, struct mor_slice json);
void mor_w_pair_value(struct mor_writer *w, const char *name, const struct mor_value *value);
void mor_w_pair_slice(struct mor_writer *w, const char *name, struct mor_slice text);
/* Key and the beginning of a value, which ends with mor_w_end(). */
void mor_w_pair_object(struct mor_writer *w, const char *name);
void mor_w_pair_array(struct mor_writer *w, const char *name);

/* Base64 (standard alphabet, padded), for file contents inside JSON. */
int mor_base64_encode(struct mor_slice bytes, struct mor_buf *out);
int mor_base64_decode(struct mor_slice text, struct mor_buf *out); /* MORTISE_EPROTO if it is not base64 */

#endif
