/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a plugin. Each is answered exactly once, now or later, by the dialect, the embedder, or with
 * -32601. The answers to a batch are collected and sent as one array.
 */
#ifndef MOR_HOST_REQUEST_H
#define MOR_HOST_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/buf.h"
#include "base/list.h"
#include "base/slice.h"

struct mor_message;
struct mor_method;

#define MOR_OPEN_REQUESTS 4096 /* per plugin; more are refused with -32000 */
/* Limits of one batch, and of the size of its answers while it is read: the rest is refused with one error. */
#define MOR_BATCH_ELEMENTS 4096
#define MOR_BATCH_BYTES    (1 << 20)

struct mor_batch {
	unsigned open;      /* elements not answered yet, plus one while the batch is being read */
	struct mor_buf out; /* "[...": replies so far */
	bool sent;          /* sent early, because of a breach: nothing is added any more */
};

struct mortise_request {
	struct mor_list node;
	mortise_host *host;
	mortise_plugin *plugin; /* NULL after its death */
	struct mor_batch *batch;
	const struct mor_method *row; /* NULL: no row names it */
	char *id;                     /* verbatim JSON */
};

void mor_request_receive(mortise_plugin *plugin, const struct mor_message *message, struct mor_batch *batch);
void mor_request_batch(mortise_plugin *plugin, const struct mor_message *message);
/* The process is gone: the embedder's handles stay, without a plugin, until they are answered. */
void mor_request_drop_all(mortise_plugin *plugin);
void mor_request_free_orphans(mortise_host *host);
/* Answers without a handle. */
void mor_request_refuse(mortise_plugin *plugin, struct mor_slice id, struct mor_batch *batch, int64_t code,
			const char *message);
/* Sends an error response if the message has an id. Code MORTISE_EPROTO is a breach: the batch so far is
 * sent, and the session ends. */
void mor_request_error(mortise_plugin *plugin, const struct mor_message *message, struct mor_batch *batch,
		       mortise_error *error);

#endif
