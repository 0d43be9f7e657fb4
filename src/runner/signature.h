/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments as people type them, checked before a plugin is called. A *signature* is what a
 * method takes, as JSON:
 *
 *	{"name": "disk", "parameters": {"properties": {"path": {"type": "string"}, …}, "required": ["path"],
 *	 "any_of": ["mime_type", "extension"]}, "open": true}
 *
 * A parameter that is an object has properties, required and any_of too, and is open unless it has
 * "additionalProperties": false. "when": "type=bytes" in a property: it is required beside that value.
 *
 * It is the manifest's own entry, or made from the dialect's table. Nothing is started for it. `open`: other
 * parameters may be passed; only a name that looks like a known one misspelt is refused. NULL: not known, and
 * anything may be passed.
 *
 * Words, after the method:
 *
 *	KEY=VALUE, KEY:=JSON, KEY=@FILE      as in console/args.h
 *	--KEY=VALUE, --KEY VALUE             the same, unless --KEY is an option of the command: then write
 * KEY=VALUE
 *	--KEY, --no-KEY                      true and false, for a parameter that is a boolean
 *	VALUE                                the next parameter without a value: first the required ones, then
 * the others, both in the order of the signature
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
#include "runner/runner.h"
#include "wire/json.h"

/* The signature of a method, or of an action of the dialect; *ret NULL: not known. Free it with mor_doc_free().
 * 0 or MORTISE_ENOMEM: a manifest that cannot be read is the host's to report. */
int mor_signature_find(const struct mor_plugin_args *args, const char *path, const char *const *argv,
		       const char *method, struct mor_doc **ret, mortise_error *err);
/* The same for a plugin of this dialect with these actions, as mortise_plugin_describe() has them; NULL:
 * none. */
int mor_signature_pick(const char *dialect, const struct mor_value *actions, const char *method,
		       struct mor_doc **ret, mortise_error *err);
/* The names that can be called, without starting anything; one per line. */
int mor_signature_names(const struct mor_plugin_args *args, const char *path, const char *const *argv,
			struct mor_buf *out, mortise_error *err);
/* The same for a plugin of this dialect with these actions. */
int mor_signature_list(const char *dialect, const struct mor_value *actions, struct mor_buf *out,
		       mortise_error *err);

/* Adds the words to the tree. MORTISE_EINPUT says which word is wrong, and what the method takes. */
int mor_signature_take(struct mor_tree *tree, const struct mor_value *signature, const char *const *words,
		       size_t count, mortise_error *err);
/* Does the signature, which may be NULL, have a parameter for "--KEY…", or one that is spelt like it? */
bool mor_signature_knows(const struct mor_value *signature, const char *option);

/* MORTISE_EINPUT if one is missing, unknown (the nearest is offered), of another type, or not one of the
 * allowed values; members of objects too. A signature without parameters takes anything. */
int mor_signature_check(const struct mor_value *signature, const struct mor_value *arguments,
			mortise_error *err);
/* MORTISE_EINPUT: what is wrong with the arguments, and what the method takes. */
int mor_signature_refuse(const struct mor_value *signature, mortise_error *err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* "name key=string [other=integer]" */
int mor_signature_usage(const struct mor_value *signature, struct mor_buf *out);

const struct mor_value *mor_signature_properties(const struct mor_value *signature);
bool mor_signature_requires(const struct mor_value *signature, struct mor_slice parameter);
/* Then 5 and true are texts too. It may be a dotted path. */
bool mor_signature_wants_text(const struct mor_value *signature, struct mor_slice parameter);

#endif
