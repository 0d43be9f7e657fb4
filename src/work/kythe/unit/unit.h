/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compilation unit: kythe.proto.IndexedCompilation as one plain struct. Read it from JSON or from the
 * wire, write it as either, get its digest, and turn its parts into members of an AnalyzeReply.
 *
 * No text is NULL: a missing one is "". All texts are UTF-8 without NUL bytes; other records are refused.
 * Paths and digests are as the writer of the record spelled them: do not trust them before they are checked.
 */
#ifndef MOR_KYTHE_UNIT_UNIT_H
#define MOR_KYTHE_UNIT_UNIT_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/mortise.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

struct mor_vname {
	const char *signature, *corpus, *root, *path, *language;
};
/* clang-format off */
#define MOR_VNAME_EMPTY { "", "", "", "", "" }
/* clang-format on */

/* google.protobuf.Any. A known type has `value`. An unknown type has `value` if it was read from the wire,
 * and only `json` (one object, with "@type") if it was read from JSON. */
struct mor_any {
	const char *type_url;
	struct mor_slice value; /* wire bytes; ptr NULL: only JSON is there */
	struct mor_slice json;
};

struct mor_input {
	struct mor_vname vname;
	const char *path;   /* as the build spells it: absolute, or relative to the working directory */
	const char *digest; /* digest of the content, 64 lower-case hex digits in a correct record */
	struct mor_any *details;
	size_t detail_count;
};

struct mor_unit_env {
	const char *name, *value;
};

struct mor_unit {
	struct mor_vname vname;
	struct mor_input *inputs; /* required_input */
	size_t input_count;
	bool has_compile_errors;
	const char **arguments; /* each list may be NULL when its count is 0 */
	size_t argument_count;
	const char **sources; /* source_file */
	size_t source_count;
	const char *output_key, *working_directory, *entry_context;
	struct mor_unit_env *env;
	size_t env_count;
	struct mor_any *details;
	size_t detail_count;
	const char **revisions; /* of the index */
	size_t revision_count;
	/* what the reader allocated; NULL in a unit that you fill yourself; then you own its parts */
	void *memory;
};

/* Both fail with MORTISE_EINPUT (or MORTISE_ENOMEM) and a text that says where:
 * `unit.required_input[3].info.pth: ...`. JSON: proto names and camelCase; an unknown member is an error,
 * null means "absent"; a JSON string may hold the JSON object (some writers encode twice). Wire: unknown
 * fields are skipped. */
int mor_unit_read_json(struct mor_slice json, struct mor_unit **ret, mortise_error *err);
int mor_unit_read_wire(struct mor_slice bytes, struct mor_unit **ret, mortise_error *err);
struct mor_unit *mor_unit_free(struct mor_unit *unit); /* of the two readers; NULL is fine; returns NULL */
MOR_FINI_BY_FREE(mor_unit);

/* One line of JSON with proto names; wire with fields in number order. The wire writer fails with
 * MORTISE_EUNSUPPORTED if a detail has only JSON. */
int mor_unit_write_json(const struct mor_unit *unit, struct mor_buf *out, mortise_error *err);
int mor_unit_write_wire(const struct mor_unit *unit, struct mor_buf *out, mortise_error *err);

/* The name of a unit in a kzip: SHA-256 over its parts, required inputs sorted and without duplicates, as
 * Kythe's own code does it. MORTISE_EUNSUPPORTED if a detail has only JSON. */
int mor_unit_digest(const struct mor_unit *unit, char ret_hex[65], mortise_error *err);

/* The name of a unit for people: its first source file, else its output key, else the signature of its
 * VName, else "". */
const char *mor_unit_title(const struct mor_unit *unit);

/* ---- an AnalyzeReply and its pieces ---- */

/* The whole of it: workingDir, inputs, arguments, environment, output, entryContext, outputKey, details, and
 * `input` for analyzers that follow the example and not the table (decision 4 of docs/dialects/kythe.md).
 * working_dir is the directory that the analyzer is told: the unit's own unless that is "". */
void mor_unit_reply_json(const struct mor_unit *unit, const char *working_dir, const char *output,
			 struct mor_writer *w);

/* A member: "name":[texts] */
void mor_unit_texts_json(struct mor_writer *w, const char *name, const char *const *texts, size_t count);
/* [{"name":"PATH","value":"..."},...] */
void mor_unit_env_json(const struct mor_unit *unit, struct mor_writer *w);
/* Any in canonical JSON (camelCase): {"@type":...,members...}; unknown types as
 * {"@type":...,"value":base64}, or as they were read. */
void mor_any_json(const struct mor_any *any, struct mor_writer *w);
void mor_unit_details_json(const struct mor_unit *unit, struct mor_writer *w); /* an array of them */
/* {"signature":...,...}; members that are "" are left out. */
void mor_vname_json(const struct mor_vname *vname, struct mor_writer *w);

#endif
