/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kythe: analyzers of source code, by Kythe's RFC 3339. Rules (R1 to R36) and decisions have their numbers
 * in docs/dialects/kythe.md. Here the plugin calls and the host serves. The driver handles records, files
 * and entries. It is an embedder that knows only mortise.h: it answers `analyze` and `vname` and gets `log`
 * and `done` as events.
 */
#include <string.h>

#include "base/error.h"
#include "dialect/internal.h"

#define PROTOCOL "kythe1"
#define GRACE_MS 10000 /* R13: "must be at least 10 seconds" */

/* ---- init ---- */

static const struct mor_field init_params[] = {
	{ "protocol", MOR_T_STRING, MOR_F_REQUIRED, .one_of = PROTOCOL, .doc = "Protocol version label" },
	{ .name = "outputEncoding",
	  .also = "output-encoding|output_encoding",
	  .type = MOR_T_STRING,
	  .def = "\"protobuf\"",
	  .one_of = "json|protobuf",
	  .doc = "How the output file will be written" },
	{ 0 },
};
static const struct mor_field init_result[] = {
	{ "protocol", MOR_T_STRING, MOR_F_REQUIRED, .doc = "The same label" },
	{ "outputEncoding", MOR_T_STRING, .doc = "What was agreed on; not in the specification" },
	{ 0 },
};

/* ---- analyze ---- */

static const struct mor_field analysis_types[] = {
	{ "[]", MOR_T_STRING, MOR_F_REQUIRED, .doc = "\"/kythe/index/go\"; \"/\" is any" },
	{ 0 },
};
static const struct mor_field analyze_params[] = {
	{ "types", MOR_T_ARRAY, .doc = "Types of analysis that it can do; missing or empty: any",
	  .fields = analysis_types },
	{ "language", MOR_T_STRING, .doc = "RFC 2966: L stands for types [/kythe/index/L]" },
	{ 0 },
};
static const struct mor_field paths[] = {
	{ "[]", MOR_T_STRING, .flags = MOR_F_REQUIRED },
	{ 0 },
};
static const struct mor_field variables[] = {
	{ "name", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Of the variable" },
	{ "value", MOR_T_STRING, .doc = "Missing: empty" },
	{ 0 },
};
static const struct mor_field analyze_result[] = {
	{ "workingDir", MOR_T_STRING, .doc = "Absolute; relative paths are relative to it" },
	{ "inputs", MOR_T_ARRAY, MOR_F_REQUIRED, .doc = "Where to begin, as the record spells them",
	  .fields = paths },
	{ "input", MOR_T_STRING, .doc = "The first of them, for plugins that follow the example" },
	{ "arguments", MOR_T_ARRAY, .doc = "Of the compiler", .fields = paths },
	{ "environment", MOR_T_ARRAY, .doc = "Of the compiler", .fields = variables },
	{ "output", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Absolute; empty, and to be appended to" },
	{ "entryContext", MOR_T_STRING, .doc = "Of the record: its preprocessor context" },
	{ "outputKey", MOR_T_STRING, .doc = "Of the record: what the compiler would have written" },
	{ "details", MOR_T_ARRAY, .doc = "Objects with \"@type\"" },
	{ 0 },
};

/* ---- vname, log, done ---- */

static const struct mor_field vname_params[] = {
	{ "path", MOR_T_STRING, .doc = "As the record spells it" },
	{ "signature", MOR_T_STRING, .def = "\"\"", .doc = "Of the node; none for the file itself" },
	{ 0 },
};
#define VNAME_FIELDS \
	{ "signature", MOR_T_STRING, .doc = "As asked" }, \
		{ "corpus", MOR_T_STRING, .doc = "Collection of related files" }, \
		{ "root", MOR_T_STRING, .doc = "Subset of the corpus" }, \
		{ "path", MOR_T_STRING, .doc = "Relative to the root" }, \
	{ \
		.name = "language", .type = MOR_T_STRING, .doc = "Of the node; none for a file" \
	}
static const struct mor_field vname[] = { VNAME_FIELDS, { 0 } };
static const struct mor_field vname_result[] = {
	{ "vname", MOR_T_OBJECT, MOR_F_REQUIRED, .doc = "The complete VName", .fields = vname },
	VNAME_FIELDS, /* and once more as flat members, as in the transcript */
	{ 0 },
};
static const struct mor_field log_params[] = {
	{ "message", MOR_T_STRING | MOR_T_OBJECT, .doc = "kythe.proto.common.Diagnostic, or its text alone" },
	{ 0 },
};

static const struct mor_method methods[] = {
	{ "init", MOR_ROLE_HELLO, .from = MOR_FROM_PLUGIN, .timing = MOR_TIMING(.timeout_ms = 30000),
	  .params = init_params, .result = init_result, .spec = "Methods, init",
	  .doc = "The first message, and the only one of its kind. An unknown version or encoding, "
		 "another method before, a second init: ProtocolError, and its stdin is closed." },
	{ "analyze", MOR_ROLE_TAKE, .also = "analysis", .from = MOR_FROM_PLUGIN, .settle = MOR_BY_NOTE,
	  .params = analyze_params, .result = analyze_result, .spec = "Methods, analyze",
	  .doc = "Asks for a record and waits until there is one; nothing else waits meanwhile. A second "
		 "one before done: ProtocolError, and its stdin is closed. At the end of the work it is "
		 "not answered: its stdin is closed." },
	{ "vname", MOR_ROLE_SERVE, .from = MOR_FROM_PLUGIN, .params = vname_params, .result = vname_result,
	  .spec = "Methods, vname", .doc = "The complete VName for a path and a signature." },
	{ "log", MOR_ROLE_LOG, .from = MOR_FROM_PLUGIN, .settle = MOR_BY_WRITE,
	  .outcome = MOR_OUTCOME(.data = "/message"), .params = log_params, .spec = "Methods, log",
	  .doc = "Something to be logged with the current analysis. Not answered, with or without an id." },
	{ "done", MOR_ROLE_FINISH, .from = MOR_FROM_PLUGIN, .settle = MOR_BY_WRITE, .params = log_params,
	  .spec = "Methods, done",
	  .doc = "The current analysis is complete, whatever the message says. Not answered, with or "
		 "without an id. To report a failure, the plugin exits without it." },
	{ 0 },
};

static const struct mor_code codes[] = {
	{ -1, "ProtocolError", "A violation of the protocol; its stdin is closed", MORTISE_EPROTO },
	{ -32700, "Parse error", "A frame that is not JSON", 0 },
	{ -32600, "Invalid Request", "JSON that is not a request", 0 },
	{ -32601, "Method not found", "Not one of the five methods", 0 },
	{ -32602, "Invalid params", "Wrong types, positions instead of names, an invalid analysis type", 0 },
	{ -32603, "Internal error", "The driver failed inside", 0 },
	{ 0 },
};

static const struct mor_quirk quirks[] = {
	{ "reply_to_notifications", "false", "true|false",
	  "answer log and done that carry an id with null, for generic clients that wait for it",
	  MOR_QUIRK_REPLY_TO_NOTES },
	{ "leading_zeros", "false", "true|false", "accept 007 as a length; without this it is a corrupt frame",
	  MOR_QUIRK_LEADING_ZEROS },
	{ 0 },
};

/* ---- the answer to init ---- */

static int refuse_init(mortise_error *err, int status, int64_t code, const char *what,
		       const struct mor_value *value, const char *known)
{
	mor_fail(err, status, "%s \"%.40s\": this host knows %s", what, mor_json_text(value, ""), known);
	err->rpc_code = code;
	return status;
}

/* In any of its three spellings. A plugin that sends several must send the same value. */
static int read_encoding(const struct mor_value *params, const char **ret, mortise_error *err)
{
	static const char *const names[] = { "outputEncoding", "output-encoding", "output_encoding" };
	const struct mor_value *found = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct mor_value *value = mor_json_get(params, names[i]);

		if (!value || mor_json_type(value) == MOR_JSON_NULL)
			continue;
		if (found && !mor_json_equal(found, value))
			return refuse_init(err, MORTISE_EINPUT, -32602, "two encodings, one of them", value,
					   "only one");
		found = value;
	}
	*ret = mor_json_text(found, found ? "" : "protobuf");
	if (strcmp(*ret, "json") != 0 && strcmp(*ret, "protobuf") != 0)
		return refuse_init(err, MORTISE_EPROTO, -1, "output encoding", found, "json and protobuf");
	return 0;
}

static int on_request(struct mor_peer *peer, const struct mor_method *method, const struct mor_value *params,
		      struct mor_buf *ret_result, mortise_error *err)
{
	struct mor_writer w = { .out = ret_result };
	const struct mor_value *protocol = mor_json_get(params, "protocol");
	const char *encoding;
	int r;

	(void)peer;
	if (method->role != MOR_ROLE_HELLO)
		return 0;
	if (mor_json_type(params) == MOR_JSON_ARRAY)
		return refuse_init(err, MORTISE_EINPUT, -32602, "params by position", NULL, "only names");
	if (strcmp(mor_json_text(protocol, ""), PROTOCOL) != 0)
		return refuse_init(err, MORTISE_EPROTO, -1, "protocol", protocol, PROTOCOL);
	if ((r = read_encoding(params, &encoding, err)) < 0)
		return r;
	mor_w_object(&w);
	mor_w_pair(&w, "protocol", PROTOCOL);
	mor_w_pair(&w, "outputEncoding", encoding);
	mor_w_end(&w);
	return ret_result->status < 0 ? mor_fail_memory(err) : 1;
}

static const struct mor_hooks hooks = { .on_request = on_request };

static const struct mor_serve serve = { .noise_is_breach = true, .answer_faults = true };

const struct mor_dialect mor_dialect_kythe = {
	.name = "kythe",
	.title = "Kythe analyzers",
	.spec_url = "https://github.com/kythe/kythe/pull/3339",
	.doc = "The plugin is the client: it asks for a compilation record, reads the files at the record's "
	       "paths, appends entries to the output file, says done and asks for the next. The host sends no "
	       "request of its own.",
	.example = "mortise index project.kzip --analyzer ./my-analyzer -o project.entries",
	.link = { .framing = MOR_FRAMING_DECIMAL, .frame_limit = 256 * MOR_MIB, .queue_limit = 64 * MOR_MIB },
	.life = {
		.stop = { .term_ms = GRACE_MS, .kill_ms = 2000, .hold = true },
		.restart = { .first_ms = 100, .cap_ms = 10000, .intensity = 5, .period_ms = 60000, .clean = 5 },
	},
	.serve = &serve,
	.methods = methods,
	.codes = codes,
	.quirks = quirks,
	.hooks = &hooks,
};
