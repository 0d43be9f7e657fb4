/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments as people type them, checked before a plugin is called. A *signature* is what a method takes: a row
 * of the dialect's table, or what a manifest or a plugin declares, as JSON:
 *
 *	{"name": "disk", "parameters": {"properties": {"path": {"type": "string"}, …}, "required": ["path"]}}
 *
 * A parameter that is an object has properties and required, too, and is open unless it has
 * "additionalProperties": false. Open: others may be passed; only a name that looks like a known one misspelt
 * is refused. So is every row of a table. Nothing is started for a signature, and nothing is copied.
 *
 * Words, after the method:
 *
 *	KEY=VALUE, KEY:=JSON, KEY=@FILE      as in console/args.h
 *	--KEY=VALUE, --KEY VALUE             the same, unless --KEY is an option of the command: then write
 *					     KEY=VALUE
 *	--KEY, --no-KEY                      true and false, for a parameter that is a boolean
 *	VALUE                                the next parameter without a value: first the required ones, then
 *					     the others, both in the order of the signature
 *
 * In --KEY and --no-KEY a "-" may stand for "_". Where the signature wants a string, 5 and true are texts;
 * where it wants an array or an object, VALUE is JSON.
 */
#ifndef MOR_RUNNER_SIGNATURE_H
#define MOR_RUNNER_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/mortise.h>

#include "console/args.h"
#include "resolved/resolved.h"
#include "runner/member.h"
#include "wire/json.h"

/* Both NULL: not known, and anything may be passed. */
struct mor_signature {
	const struct mor_method *row;
	const struct mor_value *declared;
};
#define MOR_DECLARED(json) ((struct mor_signature){ .declared = (json) })

static inline bool mor_signature_known(struct mor_signature signature)
{
	return signature.row || signature.declared;
}

/* That of a method, or of an action of the dialect. */
struct mor_signature mor_signature_find(const struct mor_resolved *resolved, const char *method);
/* The same for a plugin of this dialect with these actions, as mortise_plugin_describe() has them; NULL:
 * none. */
struct mor_signature mor_signature_pick(const char *dialect, const struct mor_value *actions,
					const char *method);
/* The names that can be called, without starting anything; one per line. */
int mor_signature_names(const struct mor_resolved *resolved, struct mor_buf *out, mortise_error *err);
/* The same for a plugin of this dialect with these actions. */
int mor_signature_list(const char *dialect, const struct mor_value *actions, struct mor_buf *out,
		       mortise_error *err);

/* Adds the words to the tree. MORTISE_EINPUT says which word is wrong, and what the method takes. */
int mor_signature_take(struct mor_tree *tree, struct mor_signature signature, const char *const *words,
		       size_t count, mortise_error *err);
/* Does the signature have a parameter for "--KEY…", or one that is spelt like it? */
bool mor_signature_knows(struct mor_signature signature, const char *option);

/* MORTISE_EINPUT if one is missing, unknown (the nearest is offered), of another type, or not one of the
 * allowed values; members of objects too. A signature without parameters takes anything. */
int mor_signature_check(struct mor_signature signature, const struct mor_value *arguments, mortise_error *err);
/* MORTISE_EINPUT: what is wrong with the arguments, and what the method takes. */
int mor_signature_refuse(struct mor_signature signature, mortise_error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "name key=string [other=integer]" */
int mor_signature_usage(struct mor_signature signature, struct mor_buf *out);

/* The parameters of a signature. */
struct mor_members mor_signature_members(struct mor_signature signature);
/* Then 5 and true are texts too. It may be a dotted path. */
bool mor_signature_wants_text(struct mor_signature signature, struct mor_slice parameter);

#endif
