/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be a member of an object of arguments, from either source: the fields of a row of a dialect's table,
 * or the JSON that a manifest or a plugin declares, which has "properties" and "required" as JSON Schema does.
 * Nothing is copied: the names and the JSON belong to the source.
 */
#ifndef MOR_RUNNER_MEMBER_H
#define MOR_RUNNER_MEMBER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/slice.h"
#include "dialect/dialect.h"
#include "wire/json.h"

/* The members of one object. Both NULL: nothing is known about it. */
struct mor_members {
	const struct mor_field *fields;
	const struct mor_value *schema;
};

struct mor_member {
	struct mor_slice name; /* ends in NUL. Its ptr is NULL: there is no such member */
	const struct mor_field *field;
	const struct mor_value *schema;
};

struct mor_member_iter {
	struct mor_member at;
	const struct mor_field *next;
	struct mor_json_iter json;
};

/* In their order, without the "*" of a table. */
struct mor_member_iter mor_member_iter(struct mor_members members);
bool mor_member_next(struct mor_member_iter *it);
struct mor_member mor_member_get(struct mor_members members, struct mor_slice name);
/* "a", "a.b" as a name, or the member b of the object a. */
struct mor_member mor_member_at(struct mor_members members, struct mor_slice path);
/* The members of a member that is an object. */
struct mor_members mor_member_inside(struct mor_member member);
bool mor_members_known(struct mor_members members); /* an empty list is known */
bool mor_members_any(struct mor_members members);
/* May others be there? */
bool mor_members_open(struct mor_members members);

/* The names that must be there, in their order; the ptr of the one behind the last is NULL. What the host fills
 * in by itself, what only the specification wants, and what depends on another member is not among them. */
struct mor_slice mor_members_required(struct mor_members members, size_t at);
bool mor_member_required(struct mor_members members, struct mor_slice name);

/* The only type of a member, in the word of its source ("string", "str"); NULL: there are several, or none. */
const char *mor_member_type(struct mor_member member);
bool mor_member_is(struct mor_member member, const char *types); /* "boolean|bool" */
/* Does the value have one of its types? Is it one of the allowed values? */
bool mor_member_fits(struct mor_member member, const struct mor_value *value);
bool mor_member_allows(struct mor_member member, const struct mor_value *value);
/* Types and values for a text: a word, or a JSON array. */
const char *mor_member_types(struct mor_member member, char out[120]);
const char *mor_member_values(struct mor_member member, char out[120]);

#endif
