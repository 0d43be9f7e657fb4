/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compilation unit: kythe.proto.IndexedCompilation as one plain struct. Read it from JSON or from the wire, write
 * it as either, ask for its digest, turn its parts into the members of an AnalyzeReply.
 *
 * No text is ever NULL: what a record leaves out is "". No text holds a NUL byte, and all are UTF-8: a record where that
 * is not so is refused. Paths and digests are as spelled by whoever wrote the record: hostile until proven otherwise.
 */
#ifndef MOR_KYTHE_UNIT_UNIT_H
#define MOR_KYTHE_UNIT_UNIT_H

#include <stdbool.h>
#include <stddef.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

struct mor_vname {
	const char *signature, *corpus, *root, *path, *language;
};
/* clang-format off */
#define MOR_VNAME_EMPTY { "", "", "", "", "" }
/* clang-format on */

/* google.protobuf.Any. A type that we know has `value`; one that we do not know has `value` when it was read from the
 * wire, and only `json` (one object, "@type" included) when it was read from JSON. */
struct mor_any {
	const char *type_url;
	struct mor_slice value; /* wire bytes; ptr NULL: there are only the JSON ones */
	struct mor_slice json;
};

struct mor_input {
	struct mor_vname vname;
	const char *path;   /* as the build spells it: absolute, or relative to the working directory */
	const char *digest; /* of the content, 64 lower-case hex digits where the record is right */
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
	void *memory; /* what the reader allocated; NULL in a unit that you fill yourself, whose parts stay yours */
};

enum mor_unit_flags {
	MOR_UNIT_STRICT = 1 << 0 /* refuse a JSON string that holds the JSON object (some writers encode twice) */
};

/* Both fail with MORTISE_EINPUT (or MORTISE_ENOMEM) and a text that says where: `unit.required_input[3].info.pth: ...`.
 * JSON: proto names and camelCase; an unknown member is an error, null is "absent". Wire: unknown fields are skipped. */
int mor_unit_read_json(struct mor_slice json, unsigned flags, struct mor_unit **ret, mortise_error *err);
int mor_unit_read_wire(struct mor_slice bytes, struct mor_unit **ret, mortise_error *err);
struct mor_unit *mor_unit_free(struct mor_unit *unit); /* of the two readers; NULL is fine; returns NULL */
static inline void mor_unit_fini(struct mor_unit **unit)
{
	*unit = mor_unit_free(*unit);
}

/* One line of JSON with proto names; wire with fields in number order. The wire writer fails with MORTISE_EUNSUPPORTED
 * when a detail has only JSON. */
int mor_unit_write_json(const struct mor_unit *unit, struct mor_buf *out, mortise_error *err);
int mor_unit_write_wire(const struct mor_unit *unit, struct mor_buf *out, mortise_error *err);

/* The name that a unit has in a kzip: SHA-256 over its parts, required inputs sorted and without doubles, as Kythe's own
 * code does it. MORTISE_EUNSUPPORTED when a detail has only JSON. */
int mor_unit_digest(const struct mor_unit *unit, char ret_hex[65], mortise_error *err);

/* What names a unit to people: its first source file, else its output key, else the signature of its VName, else "". */
const char *mor_unit_title(const struct mor_unit *unit);

/* ---- an AnalyzeReply and its pieces ---- */

/* The whole of it: workingDir, inputs, arguments, environment, output, entryContext, outputKey, details, and `input` for
 * those who read the example and not the table (decision 4 of docs/dialects/kythe.md). The directory is what the analyzer is told, which is the
 * unit's own unless that is "". */
void mor_unit_reply_json(const struct mor_unit *unit, const char *working_dir, const char *output, struct mor_writer *w);

/* [{"name":"PATH","value":"..."},...] */
void mor_unit_env_json(const struct mor_unit *unit, struct mor_writer *w);
/* Any in canonical JSON (camelCase): {"@type":...,members...}; types that we do not know as {"@type":...,"value":base64},
 * or as they were read. */
void mor_any_json(const struct mor_any *any, struct mor_writer *w);
void mor_unit_details_json(const struct mor_unit *unit, struct mor_writer *w); /* an array of them */
/* True when type_url names a type of kythe.proto; what stands before its last "/" does not count. */
bool mor_any_known(const char *type_url);
/* {"signature":...,...}; members that are "" are left out. */
void mor_vname_json(const struct mor_vname *vname, struct mor_writer *w);

#endif
