/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sunscreen's gRPC service, sunscreen.plugin.v1.Plugin, in the words of the dialect `sunscreen`: a JSON-RPC
 * method and its params become a gRPC method and the bytes of its message, and the answer becomes a result or
 * an error. No connection, no clock. docs/design/0009-grpc.md has the table of both sides.
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

struct mor_service_row;
/* NULL: the service has no such method. */
const struct mor_service_row *mor_service_find(struct mor_slice method);
/* "/sunscreen.plugin.v1.Plugin/RunCommand" */
const char *mor_service_path(const struct mor_service_row *row);
/* Appends the message. 0; MORTISE_EINPUT: a member is missing, of the wrong type, or a text that protobuf
 * cannot carry (with a NUL); MORTISE_ENOMEM. `params` may be NULL. */
int mor_service_ask(const struct mor_service_row *row, const struct mor_value *params, struct mor_buf *out,
		    mortise_error *err);
/* Appends the result, as JSON. 0; MORTISE_EREMOTE: it says that it has failed; rpc_code is MOR_SERVICE_FAILED,
 * the text is what it says (`message` or `error` of its JSON, or all of it), and its JSON is appended to
 * `ret_data`; MORTISE_EPROTO: not such a message, or json_result is no JSON; MORTISE_ENOMEM. */
int mor_service_answer(const struct mor_service_row *row, struct mor_slice message, struct mor_buf *ret_result,
		       struct mor_buf *ret_data, mortise_error *err);

#endif
