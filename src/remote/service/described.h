/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services that are not known when Mortise is built: any unary method of any service, by its full name, with
 * JSON in and out. What the messages are is read from a descriptor set, or the server is asked (reflection). No
 * connection, no clock.
 *
 *	1. mor_described_new()
 *	2. mor_described_load(); or mor_described_ask() and mor_described_hear() in turn, until _ask() returns 0
 *	3. mor_described_list(), _find(), _encode(), _decode()
 *
 * Who is asked may be hostile: at most MOR_DESCRIBED_BYTES of descriptions are taken, in MOR_DESCRIBED_ANSWERS
 * answers.
 */
#ifndef MOR_SERVICE_DESCRIBED_H
#define MOR_SERVICE_DESCRIBED_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/slice.h"
#include "wire/json.h"

#define MOR_DESCRIBED_BYTES   ((size_t)8 << 20)
#define MOR_DESCRIBED_ANSWERS 2000
/* Two names of one service: newer servers have the first, older ones the second. */
#define MOR_DESCRIBED_REFLECTION       "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
#define MOR_DESCRIBED_REFLECTION_ALPHA "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"

struct mor_described;
struct mor_pb_method;

struct mor_described *mor_described_new(void);                             /* NULL: no memory */
struct mor_described *mor_described_free(struct mor_described *described); /* returns NULL */
/* Takes a descriptor set. 0, MORTISE_EINPUT, MORTISE_ELIMIT, MORTISE_ENOMEM. */
int mor_described_load(struct mor_described *described, struct mor_slice set, mortise_error *err);

/* The next question to the server: 1, and it is appended; 0: all is known; or a status. */
int mor_described_ask(struct mor_described *described, struct mor_buf *out, mortise_error *err);
/* The answer of the server. 0, MORTISE_EPROTO, MORTISE_ELIMIT, MORTISE_ENOMEM. */
int mor_described_hear(struct mor_described *described, struct mor_slice message, mortise_error *err);

/* {"services":[{"name":...,"methods":[{"name":...,"input":...,"output":...,"streams":"server"}]}]}; "streams"
 * only where it does. 0 or MORTISE_ENOMEM. */
int mor_described_list(const struct mor_described *described, struct mor_buf *out);
/* By "package.Service/Method". MORTISE_EUNSUPPORTED: not there, or it streams, or nothing is known; the text
 * says what to do. */
int mor_described_find(const struct mor_described *described, struct mor_slice method,
		       const struct mor_pb_method **ret, mortise_error *err);
/* JSON to its input; `params` NULL: an empty message. MORTISE_EINPUT, MORTISE_ENOMEM. */
int mor_described_encode(const struct mor_described *described, const struct mor_pb_method *method,
			 const struct mor_value *params, struct mor_buf *out, mortise_error *err);
/* The method's output to JSON, at most out->limit bytes. MORTISE_EPROTO, MORTISE_ELIMIT, MORTISE_ENOMEM. */
int mor_described_decode(const struct mor_described *described, const struct mor_pb_method *method,
			 struct mor_slice message, struct mor_buf *out, mortise_error *err);

/* ---- go-plugin's stdio ---- */

#define MOR_DESCRIBED_STDIO "/plugin.GRPCStdio/StreamStdio"
/* One message of that stream. False: not such a message. */
bool mor_described_stdio(struct mor_slice message, bool *ret_is_stderr, struct mor_slice *ret_bytes);

#endif
