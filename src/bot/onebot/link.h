/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bot's connections to OneBot v11 over WebSockets: forward (we connect, and connect again) and reverse
 * (implementations connect to us), both at once if needed, and several accounts. They have their own loop
 * behind one descriptor.
 *
 *	token      "Authorization: Bearer" forward; that or ?access_token= reverse
 *	roles      X-Client-Role of reverse connections: Universal; or Event and API, one for each
 *	reconnect  after 1, 2, 4 ... 60 s, each shortened by up to half at random, so that many bots do not
 *		   come at the same moment; from 1 s again when a connection has brought something
 *	silence    pings of the WebSocket, and OneBot's own heartbeat: after three of its intervals without
 *		   a message the connection is closed
 *	twice      a message that has come before, over any connection, is dropped
 *	rubbish    is reported; a connection that brings too much of it is closed
 */
#ifndef MOR_ONEBOT_LINK_H
#define MOR_ONEBOT_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include <mortise/mortise.h>

#include "base/url.h"
#include "onebot/onebot.h"

#define MOR_ONEBOT_LINK_LIMIT ((size_t)16 << 20) /* bytes of one message */

struct mor_onebot_link;

/* None of these may free the link. */
struct mor_onebot_link_handler {
	/* A message, connect or response event. The callback may take its contents. */
	void (*event)(void *arg, struct mor_onebot_event *event);
	/* For people: `what` is one word, "connected", "disconnected", "refused", "input", "warning". */
	void (*note)(void *arg, const char *what, const char *text);
	/* A connection can take calls now. */
	void (*opened)(void *arg);
	/* Calls sent over this connection will get no answer any more. */
	void (*lost)(void *arg, uint64_t peer);
};

struct mor_onebot_link_options {
	const struct mor_url *connect, *listen; /* NULL: not used */
	const char *token;                      /* NULL: none                              */
	const char *ca_file, *cert_file, *key_file;
	uint32_t ping_ms;
	const struct mor_onebot_link_handler *handler;
	void *arg;
};

/* The texts in the options must outlive the link. MORTISE_EMANIFEST for a file that cannot be used,
 * MORTISE_ESYSTEM if we cannot listen. A server that does not answer is no error: we try again. */
int mor_onebot_link_new(const struct mor_onebot_link_options *options, struct mor_onebot_link **ret,
			mortise_error *err);
void mor_onebot_link_free(struct mor_onebot_link *link); /* NULL is fine */
int mor_onebot_link_fd(const struct mor_onebot_link *link);
void mor_onebot_link_dispatch(struct mor_onebot_link *link);

/* Sends one call for an account (NULL: any account). Returns the connection that took it, or 0: no connection
 * fits. */
uint64_t mor_onebot_link_send(struct mor_onebot_link *link, const char *self_id, struct mor_slice call);
/* While this is on, nothing is read, and silence of a peer does not count. */
void mor_onebot_link_pause(struct mor_onebot_link *link, bool on);
/* Closes every connection politely, after its queued messages, and opens no more. */
void mor_onebot_link_close(struct mor_onebot_link *link);
bool mor_onebot_link_is_closed(const struct mor_onebot_link *link);

#endif
