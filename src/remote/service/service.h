/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC service in the words of a dialect: a JSON-RPC method and its params become a gRPC method and the bytes
 * of its message, and the answer becomes a result or an error. No connection, no clock. The service of
 * `sunscreen` is sunscreen.plugin.v1.Plugin; docs/design/0009-grpc.md has the table of both sides.
 *
 *	initialize  {"workspace_root"}               Initialize {"protocol_version","accepted_capabilities":[]}
 *	commands    none                             Capabilities  {KIND:{NAME:SUMMARY},"hook":{NAME:""}}
 *	run         {"command","args" or "words"}    RunCommand    the JSON in json_result
 *	hook        {"name","context"}               RunHook       the same
 *	shutdown    none                             Shutdown      null
 */
#ifndef MOR_SERVICE_SERVICE_H
#define MOR_SERVICE_SERVICE_H

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

#define MOR_SERVICE_COMMANDS 1000 /* in one answer of Capabilities */
#define MOR_SERVICE_FAILED   9    /* the code of an answer that is not ok: "Plugin runtime" in Sunscreen */

struct mor_service_row {
	const char *method, *path; /* "run", "/sunscreen.plugin.v1.Plugin/RunCommand" */
	/* Appends the message. 0; MORTISE_EINPUT: a member is missing, of the wrong type, or a text that
	 * protobuf cannot carry (with a NUL); MORTISE_ENOMEM. `params` may be NULL. */
	int (*ask)(const struct mor_value *params, struct mor_buf *out, mortise_error *err);
	/* Appends the result, as JSON. 0; MORTISE_EREMOTE: it says that it has failed. If its JSON is an error
	 * of JSON-RPC, with a number `code` and a text `message`, these are rpc_code and text, and `data` is
	 * appended to `ret_data`; else rpc_code is MOR_SERVICE_FAILED, the text is what it says (`message` or
	 * `error` of its JSON, or all of it), and its JSON is appended to `ret_data`; MORTISE_EPROTO: not such
	 * a message, or json_result is no JSON; MORTISE_ENOMEM. */
	int (*answer)(struct mor_slice message, struct mor_buf *ret_result, struct mor_buf *ret_data,
		      mortise_error *err);
	/* the same call as a stream, where the plugin offers it; NULL: no such stream */
	const struct mor_service_stream *stream;
};

/* What a plugin says during a call, besides its result. */
enum mor_service_said { MOR_SERVICE_NOTE, MOR_SERVICE_RESULT, MOR_SERVICE_NOTHING };
struct mor_service_stream {
	const char *path;
	/* Turns the message of the unary call into the first one of the stream. 0 or MORTISE_ENOMEM. */
	int (*begin)(struct mor_slice message, struct mor_buf *out);
	struct mor_slice cancel; /* the message that asks for an early end */
	/* One message of the plugin: a note, with its method and params; or the result, as the message of the
	 * unary answer, in the memory of `message`; or nothing that we know. enum mor_service_said, or
	 * MORTISE_EPROTO, MORTISE_ENOMEM. */
	int (*hear)(struct mor_slice message, const char **ret_method, struct mor_buf *ret_params,
		    struct mor_slice *ret_result, mortise_error *err);
};

/* What a connection needs to know of a service. All functions are there; those of hello only with it. */
struct mor_service {
	const char *dialect;
	const char *health; /* the name that grpc.health.v1.Health is asked for */
	/* methods: the first call and the last one; NULL: the service has no such method */
	const char *hello, *bye;
	/* Any other method is one that service/described.h finds. The rest as HashiCorp's go-plugin has it:
	 * its variables, and its service that forwards stdout and stderr. */
	bool described;
	/* Params of hello, from the environment that the plugin gets: appended as JSON. */
	int (*hello_params)(const char *const *env, struct mor_buf *out);
	/* The result of hello, as JSON. 0, or a status: this plugin cannot be used. */
	int (*helloed)(const struct mor_value *result, mortise_error *err);
	const struct mor_service_row *(*find)(struct mor_slice method); /* NULL: it has no such method */
	/* This answer says that the calls with a `stream` may be made so. */
	bool (*offers_streams)(const struct mor_service_row *row, struct mor_slice message);
};
#define MOR_SERVICE_LIST "services" /* the method whose result is mor_described_list(), without the plugin */
/* The service of a dialect; NULL: the dialect has no service. */
const struct mor_service *mor_service_of(const char *dialect);

/* grpc.health.v1.Health, which belongs to no dialect: a request, and whether the answer says SERVING. */
#define MOR_SERVICE_HEALTH "/grpc.health.v1.Health/Check"
int mor_service_ask_health(const char *service, struct mor_buf *out); /* 0 or MORTISE_ENOMEM */
bool mor_service_is_serving(struct mor_slice answer);

/* ---- that of sunscreen ---- */

/* NULL: the service has no such method. */
const struct mor_service_row *mor_service_find(struct mor_slice method);

#endif
