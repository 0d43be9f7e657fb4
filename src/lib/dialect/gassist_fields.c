/* SPDX-License-Identifier: Apache-2.0 */
/* What the messages of gassist carry. */
#include "dialect/gassist_fields.h"

/* ---- initialize ---- */

static const struct mor_field words[] = {
	{ "[]", MOR_T_STRING, .flags = MOR_F_STRICT_ONLY },
	{ 0 },
};
const struct mor_field mor_gassist_initialize_params[] = {
	{ "protocol_version", MOR_T_STRING, MOR_F_REQUIRED, .one_of = "2.0", .doc = "The protocol's version" },
	{ "engine_version", MOR_T_STRING, MOR_F_REQUIRED, .doc = "The host's version" },
	{ "capabilities", MOR_T_ARRAY, .doc = "What the host can do: streaming, passthrough", .fields = words },
	{ 0 },
};
static const struct mor_field commands[] = {
	{ "name", MOR_T_STRING, MOR_F_STRICT_ONLY, .doc = "Name of a function" },
	{ "description", MOR_T_STRING | MOR_T_NULL, MOR_F_STRICT_ONLY, .doc = "What it does" },
	{ 0 },
};
const struct mor_field mor_gassist_initialize_result[] = {
	{ "name", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .doc = "The plugin's name" },
	{ "version", MOR_T_STRING, MOR_F_REQUIRED | MOR_F_STRICT_ONLY, .doc = "Its version" },
	{ "capabilities", MOR_T_ARRAY, MOR_F_STRICT_ONLY, .doc = "What the plugin can do; no SDK says it",
	  .fields = words },
	{ "description", MOR_T_STRING, MOR_F_STRICT_ONLY, .doc = "What it is for (SDKs)" },
	{ "protocol_version", MOR_T_STRING, MOR_F_STRICT_ONLY, .doc = "\"2.0\" (SDKs)" },
	{ "commands", MOR_T_ARRAY, MOR_F_STRICT_ONLY, .doc = "Its functions (SDKs)", .fields = commands },
	{ 0 },
};

/* ---- ping, execute, input ---- */

const struct mor_field mor_gassist_timestamp[] = {
	{ "timestamp", MOR_T_INT | MOR_T_NULL, MOR_F_STRICT_ONLY,
	  .doc = "Unix seconds. An answer is recognised by its id: the C++ SDK cuts this to 32 bits" },
	{ 0 },
};
static const struct mor_field turn[] = {
	{ "role", MOR_T_STRING, MOR_F_STRICT_ONLY, .doc = "Who spoke: user or assistant" },
	{ "content", MOR_T_STRING, MOR_F_STRICT_ONLY, .doc = "What was said" },
	{ 0 },
};
const struct mor_field mor_gassist_execute_params[] = {
	{ "function", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Function to run" },
	{ "arguments", MOR_T_OBJECT, MOR_F_REQUIRED, .def = "{}",
	  .doc = "Its arguments; always sent, because SDKs fail without them" },
	{ "context", MOR_T_ARRAY, .doc = "The conversation so far; absent when not given", .fields = turn },
	{ "system_info", MOR_T_STRING,
	  .doc = "What the plugin may know about this machine; absent when not given" },
	{ 0 },
};
const struct mor_field mor_gassist_outcome[] = {
	{ "success", MOR_T_BOOL, .def = "true", .doc = "false: the call failed, data is the message" },
	{ "data", MOR_T_ANY, .doc = "The result: any JSON, mostly text; it follows what was streamed" },
	{ "keep_session", MOR_T_BOOL, .def = "false",
	  .doc = "The plugin waits for input; must be sent in each turn" },
	{ 0 },
};
const struct mor_field mor_gassist_input_params[] = {
	{ "content", MOR_T_STRING, MOR_F_REQUIRED, .doc = "What the user said" },
	{ "timestamp", MOR_T_INT, .doc = "Unix seconds" },
	{ 0 },
};
const struct mor_field mor_gassist_input_result[] = {
	{ "acknowledged", MOR_T_BOOL, MOR_F_STRICT_ONLY, .doc = "Read; the answer follows" },
	{ 0 },
};

/* ---- what the plugin sends ---- */

#define REQUEST_ID \
	{ \
		"request_id", MOR_T_INT | MOR_T_NULL, \
			.doc = "Which request; missing or unknown: the running one" \
	}

const struct mor_field mor_gassist_stream_params[] = {
	REQUEST_ID,
	{ "data", MOR_T_ANY, MOR_F_REQUIRED, .doc = "The next piece: any JSON, mostly text" },
	{ 0 },
};
const struct mor_field mor_gassist_complete_params[] = {
	REQUEST_ID,
	{ "success", MOR_T_BOOL, .def = "true", .doc = "false: the call failed, data is the message" },
	{ "data", MOR_T_ANY, .doc = "The result, as in a response" },
	{ "keep_session", MOR_T_BOOL, .def = "false", .doc = "The plugin waits for input" },
	{ 0 },
};
const struct mor_field mor_gassist_error_params[] = {
	REQUEST_ID,
	{ "code", MOR_T_INT, .def = "-1", .doc = "One of the error codes" },
	{ "message", MOR_T_STRING, MOR_F_REQUIRED, .doc = "What went wrong" },
	{ "data", MOR_T_ANY, .doc = "More about it, as in an error response" },
	{ 0 },
};
const struct mor_field mor_gassist_log_params[] = {
	{ "level", MOR_T_STRING, .def = "\"info\"", .one_of = "debug|info|warning|error",
	  .doc = "How serious it is" },
	{ "message", MOR_T_ANY, MOR_F_REQUIRED, .doc = "Text for people who look for a fault" },
	{ 0 },
};
