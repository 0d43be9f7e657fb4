/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of an extract run, as the owner saw them: lists in the store, as JSON, of MOR_CREW_LIST files each.
 * A list is an input of the run, as an archive is one of index. Type and extension are the owner's word: a
 * worker's libmagic may be of another version.
 */
#ifndef MOR_CREW_FILES_H
#define MOR_CREW_FILES_H

#include "base/digest.h"
#include "depot/depot.h"
#include "wire/json.h"

#define MOR_CREW_LIST 1024

struct mor_crew_file {
	const char *name; /* as the user typed it */
	const char *mime, *extension;
	const char *place;            /* absolute, the same on all machines; "": it is in the store */
	char digest[MOR_DIGEST_SIZE]; /* of its bytes */
	int code;                     /* it could not be read: its status ... */
	const char *why;              /* ... and "" if it could */
};

struct mor_crew_files {
	struct mor_crew_file *files;
	size_t count;
	struct mor_doc *doc; /* texts point into it */
};

/* Everything that the result of a file depends on, beside the run. */
void mor_crew_file_digest(const struct mor_crew_file *file, char ret[MOR_DIGEST_SIZE]);
/* The next one of a list; then its end. */
void mor_crew_files_add(struct mor_writer *list, const struct mor_crew_file *file);
/* MORTISE_ENOTFOUND; MORTISE_EINPUT: it is damaged. */
int mor_crew_files_get(const struct mor_depot *depot, const char *digest, struct mor_crew_files *ret,
		       mortise_error *err);
void mor_crew_files_fini(struct mor_crew_files *files);

#endif
