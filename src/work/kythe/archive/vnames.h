/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vnames.json: gives paths their VNames. Also answers an analyzer's `vname` request, from a unit's own
 * names, these rules and the unit's defaults.
 *
 * A rule file is an array of {"pattern": REGEX, "vname": {"corpus","root","path","signature"}}. The first
 * pattern that matches the whole path wins. In the vname's texts, @1@ and @name@ stand for groups of the
 * pattern.
 */
#ifndef MOR_KYTHE_ARCHIVE_VNAMES_H
#define MOR_KYTHE_ARCHIVE_VNAMES_H

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/slice.h"
#include "kythe/unit/unit.h"

/* A VName with its own memory. */
struct mor_vname_own {
	struct mor_vname vname;
	char *memory;
};
static inline void mor_vname_own_fini(struct mor_vname_own *own)
{
	mor_free(own->memory);
	own->memory = NULL;
}

/* Copies all five texts into one block. The old value of *ret is ignored. 0 or MORTISE_ENOMEM. */
int mor_vname_own_set(struct mor_vname_own *ret, const struct mor_vname *from);

struct mor_vname_rules;

/* MORTISE_EINPUT with the number of the rule, counted from 1: `vnames.json: rule 3: "(a": missing closing
 * parenthesis at character 2`. Back-references, look-around and other things that RE2 does not have are
 * refused. `name` is used in texts. */
int mor_vname_rules_parse(const char *name, struct mor_slice json, struct mor_vname_rules **ret,
			  mortise_error *err);
int mor_vname_rules_load(const char *path, struct mor_vname_rules **ret, mortise_error *err);
struct mor_vname_rules *mor_vname_rules_free(struct mor_vname_rules *rules); /* NULL is fine; returns NULL */
MOR_FINI_BY_FREE(mor_vname_rules);
size_t mor_vname_rules_count(const struct mor_vname_rules *rules);
/* 1: a rule matched, and *ret holds its VName (the given path if the rule's path is ""; language is always
 * ""). 0: no rule matched, or rules is NULL, and *ret is unchanged. MORTISE_ELIMIT, with the rule's number,
 * if a pattern needs too many steps. */
int mor_vname_rules_apply(const struct mor_vname_rules *rules, const char *path, struct mor_vname_own *ret,
			  mortise_error *err);

/* ---- the `vname` method ---- */

/* Answers for one unit. Unit and rules are borrowed and must outlive it. */
struct mor_namer;

/* working_dir: the directory given to the analyzer; NULL: the unit's own. rules may be NULL. */
int mor_namer_new(const struct mor_unit *unit, const char *working_dir, const struct mor_vname_rules *rules,
		  struct mor_namer **ret, mortise_error *err);
struct mor_namer *mor_namer_free(struct mor_namer *namer); /* NULL is fine; returns NULL */
MOR_FINI_BY_FREE(mor_namer);
/* A required input has the name from its record. Other paths get a name from the rules, else the unit's
 * corpus and root. The language is the unit's if there is a signature, else "": a file's name has neither.
 * *ret may borrow from unit and signature. */
int mor_namer_ask(const struct mor_namer *namer, const char *path, const char *signature,
		  struct mor_vname_own *ret, mortise_error *err);
/* Without a unit: only the rules. MORTISE_ENOTFOUND if no rule matches. */
int mor_vname_without_unit(const struct mor_vname_rules *rules, const char *path, const char *signature,
			   struct mor_vname_own *ret, mortise_error *err);
/* The result of the method, in both forms at once: {"vname":{...},"signature":...,"corpus":...}. All five
 * members are always there. */
void mor_vname_reply_json(const struct mor_vname *vname, struct mor_buf *out);

#endif
