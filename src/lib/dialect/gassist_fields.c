/* SPDX-License-Identifier: Apache-2.0 */
/* What the messages of gassist carry. */
#include "dialect/gassist_fields.h"

#include "dialect/internal.h"

/* ---- initialize ---- */

static const struct mor_field words[] = {
	{ .name = "[]", .type = MOR_T_STRING, .flags = MOR_F_STRICT_ONLY },
	{ 0 },
};
const struct mor_field mor_gassist_initialize_params[] = {
	{ .name = "protocol_version",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .one_of = "2.0",
	  .doc = "The protocol's version" },
	{ .name = "engine_version",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED,
	  .doc = "The host's version" },
	{ .name = "capabilities",
	  .type = MOR_T_ARRAY,
	  .doc = "What the host can do: streaming, passthrough",
	  .fields = words },
	{ 0 },
};
static const struct mor_field commands[] = {
	{ .name = "name", .type = MOR_T_STRING, .flags = MOR_F_STRICT_ONLY, .doc = "Name of a function" },
	{ .name = "description",
	  .type = MOR_T_STRING | MOR_T_NULL,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "What it does" },
	{ 0 },
};
const struct mor_field mor_gassist_initialize_result[] = {
	{ .name = "name",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "The plugin's name" },
	{ .name = "version",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_REQUIRED | MOR_F_STRICT_ONLY,
	  .doc = "Its version" },
	{ .name = "capabilities",
	  .type = MOR_T_ARRAY,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "What the plugin can do; no SDK says it",
	  .fields = words },
	{ .name = "description",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "What it is for (SDKs)" },
	{ .name = "protocol_version",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "\"2.0\" (SDKs)" },
	{ .name = "commands",
	  .type = MOR_T_ARRAY,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "Its functions (SDKs)",
	  .fields = commands },
	{ 0 },
};

/* ---- ping, execute, input ---- */

const struct mor_field mor_gassist_timestamp[] = {
	{ .name = "timestamp",
	  .type = MOR_T_INT | MOR_T_NULL,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "Unix seconds. An answer is recognised by its id: the C++ SDK cuts this to 32 bits" },
	{ 0 },
};
static const struct mor_field turn[] = {
	{ .name = "role",
	  .type = MOR_T_STRING,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "Who spoke: user or assistant" },
	{ .name = "content", .type = MOR_T_STRING, .flags = MOR_F_STRICT_ONLY, .doc = "What was said" },
	{ 0 },
};
const struct mor_field mor_gassist_execute_params[] = {
	{ .name = "function", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "Function to run" },
	{ .name = "arguments",
	  .type = MOR_T_OBJECT,
	  .flags = MOR_F_REQUIRED,
	  .def = "{}",
	  .doc = "Its arguments; always sent, because SDKs fail without them" },
	{ .name = "context",
	  .type = MOR_T_ARRAY,
	  .doc = "The conversation so far; absent when not given",
	  .fields = turn },
	{ .name = "system_info",
	  .type = MOR_T_STRING,
	  .doc = "What the plugin may know about this machine; absent when not given" },
	{ 0 },
};
const struct mor_field mor_gassist_outcome[] = {
	{ .name = "success",
	  .type = MOR_T_BOOL,
	  .def = "true",
	  .doc = "false: the call failed, data is the message" },
	{ .name = "data",
	  .type = MOR_T_ANY,
	  .doc = "The result: any JSON, mostly text; it follows what was streamed" },
	{ .name = "keep_session",
	  .type = MOR_T_BOOL,
	  .def = "false",
	  .doc = "The plugin waits for input; must be sent in each turn" },
	{ 0 },
};
const struct mor_field mor_gassist_input_params[] = {
	{ .name = "content", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "What the user said" },
	{ .name = "timestamp", .type = MOR_T_INT, .doc = "Unix seconds" },
	{ 0 },
};
const struct mor_field mor_gassist_input_result[] = {
	{ .name = "acknowledged",
	  .type = MOR_T_BOOL,
	  .flags = MOR_F_STRICT_ONLY,
	  .doc = "Read; the answer follows" },
	{ 0 },
};

/* ---- what the plugin sends ---- */

#define REQUEST_ID \
	{ \
		.name = "request_id", .type = MOR_T_INT | MOR_T_NULL, \
		.doc = "Which request; missing or unknown: the running one" \
	}

const struct mor_field mor_gassist_stream_params[] = {
	REQUEST_ID,
	{ .name = "data",
	  .type = MOR_T_ANY,
	  .flags = MOR_F_REQUIRED,
	  .doc = "The next piece: any JSON, mostly text" },
	{ 0 },
};
const struct mor_field mor_gassist_complete_params[] = {
	REQUEST_ID,
	{ .name = "success",
	  .type = MOR_T_BOOL,
	  .def = "true",
	  .doc = "false: the call failed, data is the message" },
	{ .name = "data", .type = MOR_T_ANY, .doc = "The result, as in a response" },
	{ .name = "keep_session", .type = MOR_T_BOOL, .def = "false", .doc = "The plugin waits for input" },
	{ 0 },
};
const struct mor_field mor_gassist_error_params[] = {
	REQUEST_ID,
	{ .name = "code", .type = MOR_T_INT, .def = "-1", .doc = "One of the error codes" },
	{ .name = "message", .type = MOR_T_STRING, .flags = MOR_F_REQUIRED, .doc = "What went wrong" },
	{ .name = "data", .type = MOR_T_ANY, .doc = "More about it, as in an error response" },
	{ 0 },
};
const struct mor_field mor_gassist_log_params[] = {
	{ .name = "level",
	  .type = MOR_T_STRING,
	  .def = "\"info\"",
	  .one_of = "debug|info|warning|error",
	  .doc = "How serious it is" },
	{ .name = "message",
	  .type = MOR_T_ANY,
	  .flags = MOR_F_REQUIRED,
	  .doc = "Text for people who look for a fault" },
	{ 0 },
};
