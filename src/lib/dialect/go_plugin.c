/* SPDX-License-Identifier: Apache-2.0 */
/* go-plugin: plugins of HashiCorp's library of that name whose protocol is gRPC. It fixes how a plugin is
 * started, met, asked for its health and stopped; the services are the application's, so a method is called by
 * its full name and its messages are read from a descriptor set, or from the plugin's reflection. */
#include "dialect/internal.h"

#define GUIDE "internals.md" /* of the library's own documentation */

static const struct mor_field method_fields[] = {
	{ "name", MOR_T_STRING, MOR_F_REQUIRED, .doc = "Its name in the service" },
	{ "input", MOR_T_STRING, MOR_F_REQUIRED, .doc = "The message it takes" },
	{ "output", MOR_T_STRING, MOR_F_REQUIRED, .doc = "The message it returns" },
	{ "streams", MOR_T_STRING, .one_of = "client|server|both",
	  .doc = "Who sends more than one message; such a method cannot be called" },
	{ 0 },
};

static const struct mor_field service_fields[] = {
	{ "name", MOR_T_STRING, MOR_F_REQUIRED, .doc = "With its package" },
	{ "methods", MOR_T_ARRAY, MOR_F_REQUIRED, .doc = "In the order of its file", .fields = method_fields },
	{ 0 },
};

static const struct mor_field services_result[] = {
	{ "services", MOR_T_ARRAY, MOR_F_REQUIRED, .doc = "Empty: nobody describes them",
	  .fields = service_fields },
	{ 0 },
};

static const struct mor_method methods[] = {
	{ "services", MOR_ROLE_HELLO, .from = MOR_FROM_HOST, .settle = MOR_BY_REPLY,
	  .timing = MOR_TIMING(.timeout_ms = 10000), .result = services_result, .spec = GUIDE,
	  .doc = "What can be called. Answered by the host itself, from the descriptor set or the "
		 "reflection." },
	{ "*", MOR_ROLE_CALL, .from = MOR_FROM_HOST, .settle = MOR_BY_REPLY,
	  .timing = MOR_TIMING(.timeout_ms = 30000, .late = MOR_LATE_FORGET), .spec = GUIDE,
	  .doc = "A unary method by its full name, package.Service/Method, with its message as JSON." },
	{ 0 },
};

static const struct mor_code codes[] = {
	{ -32601, "UNIMPLEMENTED", "the plugin has no such method", MORTISE_EUNSUPPORTED },
	{ -32602, "INVALID_ARGUMENT", "it does not take this message", MORTISE_EINPUT },
	{ -32001, "CANCELLED", "it was cancelled", MORTISE_ECANCELED },
	{ -32002, "UNKNOWN", "what most plugins answer for any error", 0 },
	{ -32004, "DEADLINE_EXCEEDED", "it took too long", MORTISE_ETIMEOUT },
	{ -32005, "NOT_FOUND", "what was asked for is not there", 0 },
	{ -32006, "ALREADY_EXISTS", "what should be made is there", 0 },
	{ -32007, "PERMISSION_DENIED", "not allowed", 0 },
	{ -32008, "RESOURCE_EXHAUSTED", "a limit is reached", 0 },
	{ -32009, "FAILED_PRECONDITION", "not in this state", 0 },
	{ -32010, "ABORTED", "it gave up, for example after a conflict", 0 },
	{ -32011, "OUT_OF_RANGE", "past the end", 0 },
	{ -32013, "INTERNAL", "something broke in the plugin", 0 },
	{ -32014, "UNAVAILABLE", "not now", 0 },
	{ -32015, "DATA_LOSS", "data is lost or damaged", 0 },
	{ -32016, "UNAUTHENTICATED", "it does not know who asks", 0 },
	{ 0 },
};

const struct mor_dialect mor_dialect_go_plugin = {
	.name = "go-plugin",
	.title = "Plugins of HashiCorp's go-plugin, over gRPC",
	.spec_url = "https://github.com/hashicorp/go-plugin",
	.doc = "The plugin prints where it listens, is asked for its health (grpc.health.v1.Health), and is "
	       "stopped through plugin.GRPCController. Any unary method of any service is called by its full "
	       "name, with JSON in and out. grpc.cookie_key and grpc.cookie_value are what the plugin wants to "
	       "see. What it prints comes through plugin.GRPCStdio where it has that; plugin.GRPCBroker is not "
	       "offered.",
	.example = "mortise call ./kv --proto kv.desc test.KV/Get key=a",
	.link = { .framing = MOR_FRAMING_LINES,
		  .frame_limit = 64 * MOR_MIB,
		  .queue_limit = 64 * MOR_MIB,
		  .grpc = true },
	.life = { .stop = { .bye_ms = 2000, .term_ms = 2000, .kill_ms = 2000 }, .restart = MOR_RESTART_USUAL },
	.methods = methods,
	.codes = codes,
};
