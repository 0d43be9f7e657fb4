/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new plugin's folder, made from templates: behind `mortise new`. templates/README.md says what the templates
 * look like.
 *
 *	order.c     what was asked for: language, dialect, name
 *	fill.c      placeholders in a text
 *	copy.c      a tree of files into another
 *	make.c      the whole folder
 *
 * The folder is made beside its place under another name and gets its name when it is complete. Nothing that
 * exists is overwritten.
 */
#ifndef MOR_STARTER_STARTER_H
#define MOR_STARTER_STARTER_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/textlist.h"

/* A language: its templates are languages/NAME, those of its plugins plugins/NAME/DIALECT. */
struct mor_starter_language {
	const char *name, *title;
	const char *program;  /* what a host runs, in the folder */
	const char *sdk;      /* below the SDKs: what is copied ...; NULL: nothing */
	const char *sdk_into; /* ... and where to */
};

/* A dialect and its rule for names. Its templates are dialects/NAME. */
struct mor_starter_dialect {
	const char *name;
	bool letter_first;
	const char *extra; /* allowed beside letters and digits */
};

struct mor_starter_order {
	const struct mor_starter_language *language;
	const struct mor_starter_dialect *dialect;
	const char *path; /* of the folder; its last part is the plugin's name */
	char *name;       /* that part */
	bool no_sdk;
};

/* Words of a command line. MORTISE_EINVAL: unknown (the nearest is offered) or missing (all are listed), or a
 * name that the dialect does not allow. mor_starter_order_fini() in every case. */
int mor_starter_order_take(struct mor_starter_order *order, const char *language, const char *dialect,
			   const char *path, mortise_error *err);
void mor_starter_order_fini(struct mor_starter_order *order);

struct mor_starter_made {
	struct mor_text_list files; /* relative to the folder, sorted; without the SDK's. The texts are ours. */
	struct mor_buf steps;       /* commands for a person in the folder, one per line */
};
void mor_starter_made_fini(struct mor_starter_made *made);

/* MORTISE_EINPUT: the folder exists and is not empty, or cannot be made. MORTISE_ESYSTEM: the templates are
 * missing, or others could have written them. On failure nothing is left. */
int mor_starter_make(const struct mor_starter_order *order, struct mor_starter_made *ret, mortise_error *err);

#endif
