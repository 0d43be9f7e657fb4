/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run of a farm is: everything that its result depends on. It is a file of two lines of JSON in the
 * store, and its digest is the name of the run. The first line is the work (analyzer and options), the second
 * the inputs: archives of index, lists of files of extract (crew/files.h). The key of a batch is made from the
 * first line and from its units: so a record that is in two archives is analyzed once.
 */
#ifndef MOR_CREW_SPEC_H
#define MOR_CREW_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/digest.h"
#include "depot/depot.h"
#include "runner/runner.h"
#include "wire/json.h"

struct mor_crew_input {
	char digest[MOR_DIGEST_SIZE];
	uint64_t units;
};

struct mor_crew_kind;

struct mor_crew_spec {
	const struct mor_crew_kind *kind; /* what a unit is, and who does it (crew/inside.h) */
	void *own;                        /* the kind's fields: struct mor_crew_index_spec, ... */
	struct mor_text_list programs;    /* paths; none: argv */
	const char *const *argv;          /* NULL-terminated, or NULL */
	char files[MOR_DIGEST_SIZE];      /* of the programs' files: mor_crew_spec_files() */
	struct mor_plugin_args plugin;    /* what a farm knows of it: not the environment, nor --framing */
	uint32_t retries;
	struct mor_crew_input *inputs;
	size_t input_count;
	/* set by put and get */
	char work[MOR_DIGEST_SIZE]; /* of the first line */
	struct mor_doc *docs[2];    /* what was read; texts point into it */
	const char **words;
};

/* Writes it; *ret_run is its name. `spec` is borrowed; only `work` is set in it. */
int mor_crew_spec_put(struct mor_depot *depot, struct mor_crew_spec *spec, char ret_run[MOR_DIGEST_SIZE],
		      mortise_error *err);
/* MORTISE_ENOTFOUND: this store does not have it. MORTISE_EINPUT: it is damaged, or of another version. */
int mor_crew_spec_get(const struct mor_depot *depot, const char *run, struct mor_crew_spec *ret,
		      mortise_error *err);
void mor_crew_spec_fini(struct mor_crew_spec *spec); /* after get */
uint64_t mor_crew_spec_units(const struct mor_crew_spec *spec);

/* The digest of the programs' files as they are on this machine: of these directories or files,
 * and of each word of argv that is a file. Libraries that they load do not count. */
void mor_crew_spec_files(const struct mor_crew_spec *spec, char ret[MOR_DIGEST_SIZE]);

typedef const char *mor_crew_digest_fn(uint64_t unit, void *arg); /* of a record */
void mor_crew_key(const char *work, uint64_t first, uint32_t count, mor_crew_digest_fn *digest, void *arg,
		  char ret[MOR_DIGEST_SIZE]);

#endif
