/* SPDX-License-Identifier: Apache-2.0 */
/* What `mortise trust` keeps, one entry per kind: keys, and whatever else may be trusted. */
#ifndef MOR_CLI_TRUST_H
#define MOR_CLI_TRUST_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/mortise.h>

struct mor_trust_row {
	const char *kind; /* that of the entry below */
	char *what;       /* a key, a path */
	char *note;       /* who or why, or NULL */
	char *before;     /* what the note was until now; NULL: the same, or nothing */
};
struct mor_trust_list {
	struct mor_trust_row *items;
	size_t count, cap;
};
/* Copies the texts; `before` stays NULL. 0 or MORTISE_ENOMEM with err. */
int mor_trust_list_add(struct mor_trust_list *list, const char *kind, const char *what, const char *note,
		       mortise_error *err);

struct mor_trust_kind {
	const char *name; /* "key" */
	/* Is WORD of `add WORD` one of these? The first kind that says yes gets it. */
	bool (*takes)(const char *word);
	/* `as`: the user's name for it, or NULL. Adds the row of what it has added to `ret`. */
	int (*add)(const char *word, const char *as, struct mor_trust_list *ret, mortise_error *err);
	int (*list)(struct mor_trust_list *ret, mortise_error *err);
	/* MORTISE_ENOTFOUND: it is not of this kind, and the next kind is asked. */
	int (*remove)(const char *word, struct mor_trust_list *ret, mortise_error *err);
};

/* trust_path.c: the directories and files of YAMS plugins (trusted/trusted.h) */
extern const struct mor_trust_kind mor_trust_keys, mor_trust_paths;

#endif
