/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that read a bot's TOML. */
#ifndef MOR_BOTFILE_INSIDE_H
#define MOR_BOTFILE_INSIDE_H

#include "botfile/botfile.h"
#include "wire/json.h"

/* One file that is being read. */
struct mor_botfile_reading {
	const char *shown;
	char *dir; /* absolute */
	struct mor_doc *doc, *lines;
	struct mor_botfile *bot;
	mortise_error *err;
};

struct mor_botfile_place {
	unsigned line, column;
	char shown[256]; /* "FILE:LINE:COLUMN: KEY" */
};

#define MOR_BOTFILE_IS(type) (1u << MOR_JSON_##type)

struct mor_botfile_key {
	const char *name;
	unsigned types; /* MOR_BOTFILE_IS(), one or several */
	const char *wanted;
};

/* `path` is a section, or contains several; `under` is one of these. `under` and `key` may be NULL. For a
 * missing key it gives the place where the key should be. */
struct mor_botfile_place mor_botfile_place(const struct mor_botfile_reading *r, const char *path,
					   const char *under, const char *key);
/* Checks every member: an unknown one is a warning, a wrong type is an error. The table ends with a key
 * without a name. */
int mor_botfile_check_keys(struct mor_botfile_reading *r, const struct mor_botfile_key *keys,
			   const struct mor_value *table, const char *path, const char *under);
/* MORTISE_EMANIFEST: "FILE:LINE:COLUMN: KEY must be WANTED". */
int mor_botfile_wrong(const struct mor_botfile_reading *r, const char *path, const char *under, const char *key,
		      const char *wanted);
int mor_botfile_no_memory(const struct mor_botfile_reading *r);
/* A string that can be a word of a command line, or a path. NULL: it cannot. */
const char *mor_botfile_word(const struct mor_value *value);

/* network.c: [bot] */
int mor_botfile_read_network(struct mor_botfile_reading *r);
void mor_botfile_network_fini(struct mor_botfile_network *network);

bool mor_botfile_same_text(const char *a, const char *b); /* NULL is only NULL */

#endif
