/* Between the files of this room. */
#ifndef MOR_DIALECT_INTERNAL_H
#define MOR_DIALECT_INTERNAL_H

#include "dialect/dialect.h"
#include "wire/json.h"

extern const struct mor_dialect mor_dialect_plain;
extern const struct mor_dialect mor_dialect_yams;
extern const struct mor_dialect mor_dialect_kythe;
extern const struct mor_dialect mor_dialect_ayiou;
extern const struct mor_dialect mor_dialect_gassist;
extern const struct mor_dialect mor_dialect_sunscreen, mor_dialect_sunscreen_json;
extern const struct mor_hooks mor_yams_hooks;
extern const struct mor_hooks mor_sunscreen_hooks, mor_sunscreen_json_hooks;

/* One of the interfaces in a list: "id" or {"id": ...}; {NULL, 0} for anything else. */
struct mor_slice mor_interface_id(const struct mor_value *element);

/* Names of the bits of a mask; NULL ends the list. */
struct mor_bit_name {
	unsigned bit;
	const char *name;
};
extern const struct mor_bit_name mor_type_names[];

/* "string or null": at most about 60 bytes. */
const char *mor_field_type_text(unsigned type, char out[96]);
const char *mor_role_name(enum mor_role role);
const char *mor_late_text(enum mor_late late);

/* Calls `each` for "a", "b", "c" of "a|b|c"; `list` may be NULL. */
typedef void mor_alternative_fn(struct mor_slice one, void *arg);
void mor_alternatives(const char *list, mor_alternative_fn *each, void *arg);

/* False: a row that another value of its quirk would bring in. */
bool mor_explain_in_force(const struct mor_dialect *dialect, const struct mor_method *method);
void mor_explain_heading(struct mor_buf *out, const char *title);
/* The drawing, in a file of its own. */
void mor_explain_session(const struct mor_dialect *dialect, struct mor_buf *out);
/* "any other method" for "*". */
const char *mor_explain_name(const struct mor_dialect *dialect, const struct mor_method *method);
/* The same, with what the embedder calls it where that tells rows apart: "lifecycle (startup)". */
const char *mor_explain_label(const struct mor_dialect *dialect, const struct mor_method *method, char out[80]);
/* Per-method part of `explain`, in a file of its own. */
void mor_explain_methods(const struct mor_dialect *dialect, struct mor_buf *out);
/* Text wrapped at 100 columns, every line behind `indent` blanks; the first begins at column `at`. */
void mor_explain_wrap(struct mor_buf *out, unsigned at, unsigned indent, const char *text);

#endif
