/* SPDX-License-Identifier: Apache-2.0 */
/* With Kythe's public names and field numbers. Only what is used: fields that are not here are ignored on the
 * wire and refused in JSON. */
#include "kythe/unit/proto.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "kythe/unit/unit.h"

/* ---- the table ---- */

/* clang-format off */
#define SLICE(text) { text, sizeof(text) - 1 }
#define FIELD(n, k, proto, camel, ...) \
	{ .number = n, .kind = k, .oneof = -1, .name = SLICE(proto), .json_name = SLICE(camel), __VA_ARGS__ }
#define TEXT(n, proto, camel, ...) FIELD(n, MOR_PB_STRING, proto, camel, __VA_ARGS__)
#define SUB(n, proto, camel, sub, ...) FIELD(n, MOR_PB_MESSAGE, proto, camel, .type = &sub, __VA_ARGS__)
/* Where a field is in its struct. A list without a struct is just REPEATED. */
#define IN(holder, member) .at = offsetof(struct holder, member)
#define LIST(holder, member, length) REPEATED, IN(holder, member), .count_at = offsetof(struct holder, length)
#define REPEATED .repeated = true
#define FIELDS(symbol, ...) static const struct mor_pb_field symbol##_fields[] = { __VA_ARGS__ }
#define TYPE(symbol, text, ...) \
	const struct mor_pb_type symbol = { .name = SLICE("kythe.proto." text), .fields = symbol##_fields, \
		.count = sizeof(symbol##_fields) / sizeof(*symbol##_fields), __VA_ARGS__ }

FIELDS(vname,
	TEXT(1, "signature", "signature", IN(mor_vname, signature)),
	TEXT(2, "corpus", "corpus", IN(mor_vname, corpus)),
	TEXT(3, "root", "root", IN(mor_vname, root)),
	TEXT(4, "path", "path", IN(mor_vname, path)),
	TEXT(5, "language", "language", IN(mor_vname, language)));
static TYPE(vname, "VName", .size = sizeof(struct mor_vname));

FIELDS(mor_proto_any,
	TEXT(MOR_PROTO_ANY_TYPE, "type_url", "typeUrl", IN(mor_any, type_url)),
	FIELD(MOR_PROTO_ANY_VALUE, MOR_PB_BLOB, "value", "value", IN(mor_any, value)),
	FIELD(MOR_PROTO_ANY_JSON, MOR_PB_BLOB, "json", "json", IN(mor_any, json)));
TYPE(mor_proto_any, "Any", .size = sizeof(struct mor_any), .known = MOR_PB_OWN, .own = &mor_any_own);

/* In a struct, `info` is part of the input, and `unit` and `index` are one. */
FIELDS(file_info,
	TEXT(1, "path", "path", IN(mor_input, path)),
	TEXT(2, "digest", "digest", IN(mor_input, digest)));
static TYPE(file_info, "FileInfo");
FIELDS(file_input,
	SUB(1, "v_name", "vName", vname, IN(mor_input, vname)),
	SUB(2, "info", "info", file_info, .presence = true),
	SUB(4, "details", "details", mor_proto_any, LIST(mor_input, details, detail_count)));
static TYPE(file_input, "FileInput", .size = sizeof(struct mor_input));
FIELDS(env,
	TEXT(1, "name", "name", IN(mor_unit_env, name)),
	TEXT(2, "value", "value", IN(mor_unit_env, value)));
static TYPE(env, "Env", .size = sizeof(struct mor_unit_env));
FIELDS(unit,
	SUB(1, "v_name", "vName", vname, IN(mor_unit, vname)),
	SUB(3, "required_input", "requiredInput", file_input, LIST(mor_unit, inputs, input_count)),
	FIELD(4, MOR_PB_BOOL, "has_compile_errors", "hasCompileErrors", IN(mor_unit, has_compile_errors)),
	TEXT(5, "argument", "argument", LIST(mor_unit, arguments, argument_count)),
	TEXT(6, "source_file", "sourceFile", LIST(mor_unit, sources, source_count)),
	TEXT(7, "output_key", "outputKey", IN(mor_unit, output_key)),
	TEXT(8, "working_directory", "workingDirectory", IN(mor_unit, working_directory)),
	TEXT(9, "entry_context", "entryContext", IN(mor_unit, entry_context)),
	SUB(10, "environment", "environment", env, LIST(mor_unit, env, env_count)),
	SUB(11, "details", "details", mor_proto_any, LIST(mor_unit, details, detail_count)));
static TYPE(unit, "CompilationUnit");
FIELDS(revisions, TEXT(1, "revisions", "revisions", LIST(mor_unit, revisions, revision_count)));
static TYPE(revisions, "Index");
FIELDS(mor_proto_compilation,
	SUB(1, "unit", "unit", unit, .presence = true),
	SUB(2, "index", "index", revisions));
TYPE(mor_proto_compilation, "IndexedCompilation", .size = sizeof(struct mor_unit));

/* What `details` holds; those of a FileInput are JarEntryDetails and ContextDependentVersion. */
FIELDS(go,
	TEXT(1, "goos", "goos"), TEXT(2, "goarch", "goarch"), TEXT(3, "goroot", "goroot"),
	TEXT(4, "gopath", "gopath"), TEXT(5, "compiler", "compiler"),
	TEXT(6, "build_tags", "buildTags", REPEATED),
	FIELD(7, MOR_PB_BOOL, "cgo_enabled", "cgoEnabled"));
FIELDS(java,
	TEXT(1, "classpath", "classpath", REPEATED), TEXT(2, "sourcepath", "sourcepath", REPEATED),
	TEXT(3, "bootclasspath", "bootclasspath", REPEATED),
	TEXT(10, "extra_javacopts", "extraJavacopts", REPEATED));
FIELDS(build,
	TEXT(1, "build_target", "buildTarget"), TEXT(2, "rule_type", "ruleType"),
	TEXT(3, "build_config", "buildConfig"));
FIELDS(jar, SUB(1, "v_name", "vName", vname));
static TYPE(jar, "JarDetails.Jar");
FIELDS(jars, SUB(1, "jar", "jar", jar, REPEATED));
FIELDS(jar_entry, FIELD(1, MOR_PB_INT32, "jar_container", "jarContainer"));
FIELDS(dir,
	TEXT(1, "path", "path"),
	FIELD(2, MOR_PB_INT32, "characteristic_kind", "characteristicKind"),
	FIELD(3, MOR_PB_BOOL, "is_framework", "isFramework"));
static TYPE(dir, "CxxCompilationUnitDetails.HeaderSearchDir");
FIELDS(search,
	FIELD(1, MOR_PB_INT32, "first_angled_dir", "firstAngledDir"),
	FIELD(2, MOR_PB_INT32, "first_system_dir", "firstSystemDir"),
	SUB(3, "dir", "dir", dir, REPEATED));
static TYPE(search, "CxxCompilationUnitDetails.HeaderSearchInfo");
FIELDS(prefix,
	TEXT(1, "prefix", "prefix"),
	FIELD(2, MOR_PB_BOOL, "is_system_header", "isSystemHeader"));
static TYPE(prefix, "CxxCompilationUnitDetails.SystemHeaderPrefix");
FIELDS(cxx,
	SUB(1, "header_search_info", "headerSearchInfo", search),
	SUB(2, "system_header_prefix", "systemHeaderPrefix", prefix, REPEATED));
FIELDS(column,
	FIELD(1, MOR_PB_INT32, "offset", "offset"),
	TEXT(2, "linked_context", "linkedContext"));
static TYPE(column, "ContextDependentVersion.Column");
FIELDS(row,
	TEXT(1, "source_context", "sourceContext"),
	SUB(2, "column", "column", column, REPEATED),
	FIELD(3, MOR_PB_BOOL, "always_process", "alwaysProcess"));
static TYPE(row, "ContextDependentVersion.Row");
FIELDS(version, SUB(1, "row", "row", row, REPEATED));

static TYPE(go, "GoDetails");
static TYPE(java, "JavaDetails");
static TYPE(build, "BuildDetails");
static TYPE(jars, "JarDetails");
static TYPE(jar_entry, "JarEntryDetails");
static TYPE(cxx, "CxxCompilationUnitDetails");
static TYPE(version, "ContextDependentVersion");
/* clang-format on */

const struct mor_pb_type *mor_proto_detail(struct mor_slice url)
{
	static const struct mor_pb_type *const types[] = {
		&go, &java, &build, &jars, &jar_entry, &cxx, &version
	};
	const char *slash = url.len ? memrchr(url.ptr, '/', url.len) : NULL;

	if (slash)
		url = (struct mor_slice){ slash + 1, url.len - (size_t)(slash + 1 - url.ptr) };
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (mor_slice_eq(types[i]->name, url))
			return types[i];
	return NULL;
}

/* ---- the bytes ---- */

struct check {
	size_t fields;
	bool exact;
	mortise_error *err;
};

static int check_message(struct check *check, const struct mor_pb_type *type, struct mor_slice message);

static const char *short_name(const struct mor_pb_type *type)
{
	return strrchr(type->name.ptr, '.') + 1;
}

static int wrong_field(struct check *check, const struct mor_pb_type *type, const struct mor_pb_field *field,
		       const char *why)
{
	return mor_fail(check->err, MORTISE_EINPUT, "%s.%s %s", short_name(type), field->name.ptr, why);
}

/* Is this how a number or a length is written, and is it there for a reason? `len`: of the whole field. */
static bool is_exact_field(const struct mor_pb_field *field, const struct mor_pb *pb, size_t len)
{
	size_t want = mor_pb_varint_len((uint64_t)field->number << 3) + mor_pb_varint_len(pb->number);

	if (pb->wire == MOR_PB_BYTES)
		return len == want + pb->bytes.len && (pb->bytes.len || field->repeated || field->type);
	return len == want && pb->number &&
	       (field->kind == MOR_PB_BOOL ? pb->number == 1 : (int64_t)pb->number == (int32_t)pb->number);
}

static int check_field(struct check *check, const struct mor_pb_type *type, const struct mor_pb_field *field,
		       const struct mor_pb *pb)
{
	if (pb->wire != mor_pb_kind_wire(field->kind))
		return wrong_field(check, type, field, "has the wrong wire type");
	if (field->type)
		return check_message(check, field->type, pb->bytes);
	if (field->kind != MOR_PB_STRING)
		return 0;
	if (pb->bytes.len && memchr(pb->bytes.ptr, '\0', pb->bytes.len))
		return wrong_field(check, type, field, "holds a NUL byte");
	if (!mor_utf8_valid(pb->bytes))
		return wrong_field(check, type, field, "is not UTF-8");
	return 0;
}

/* The recursion is only as deep as the types nest: none contains itself. */
static int check_message(struct check *check, const struct mor_pb_type *type, struct mor_slice message)
{
	struct mor_pb pb = { .left = message };
	const struct mor_pb_field *last = NULL;
	const char *at = message.ptr;
	int r;

	for (; (r = mor_pb_next(&pb)) > 0; at = pb.left.ptr) {
		const struct mor_pb_field *field = mor_pb_type_field(type, pb.field);

		if (++check->fields > MOR_PROTO_FIELDS)
			return mor_fail(check->err, MORTISE_EINPUT, "more than %d fields", MOR_PROTO_FIELDS);
		if (field && (r = check_field(check, type, field, &pb)) < 0)
			return r;
		check->exact = check->exact && field &&
			       (!last || field > last || (field == last && field->repeated)) &&
			       is_exact_field(field, &pb, (size_t)(pb.left.ptr - at));
		last = field;
	}
	return r < 0 ? mor_fail(check->err, r, "%s is not a protocol buffer, or it is cut short",
				short_name(type)) :
		       0;
}

int mor_proto_check(const struct mor_pb_type *type, struct mor_slice message, bool *ret_exact,
		    mortise_error *err)
{
	struct check check = { .exact = ret_exact != NULL, .err = err };
	int r = check_message(&check, type, message);

	if (r == 0 && ret_exact)
		*ret_exact = check.exact;
	return r;
}
