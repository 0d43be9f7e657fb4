/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins that call and are served: their greeting, one request at a time, ends that do not count as deaths.
 * Fields of the dialect say what applies. For any other plugin these functions do nothing and allow
 * everything.
 */
#ifndef MOR_HOST_CLIENT_H
#define MOR_HOST_CLIENT_H

#include <stdbool.h>

#include <mortise/mortise.h>

#include "base/slice.h"
#include "link/link.h"

struct mor_batch;
struct mor_message;
struct mor_method;

/* The time limit of the plugin's own greeting begins. */
void mor_client_await_hello(mortise_plugin *plugin);
/* Is this request or note allowed now? false: it was a breach, which has been handled. */
bool mor_client_admits(mortise_plugin *plugin, const struct mor_method *row, const struct mor_message *message,
		       struct mor_batch *batch);
void mor_client_greeted(mortise_plugin *plugin, const struct mor_method *row, struct mor_slice answer);
/* Like mor_client_admits(), for requests of which only one may be open (TAKE): is there none yet?
 * mor_client_asked() counts it as open. */
bool mor_client_has_place(mortise_plugin *plugin, const struct mor_method *row,
			  const struct mor_message *message, struct mor_batch *batch);
void mor_client_asked(mortise_plugin *plugin, const struct mor_method *row);
void mor_client_answered(mortise_plugin *plugin, const struct mor_method *row, bool success);
/* FINISH came. true: some work has ended; tell the embedder. */
bool mor_client_finished(mortise_plugin *plugin, const struct mor_message *message);
/* An end that does not count as a death (restart.clean), and the plugin's next state. */
bool mor_client_left(const mortise_plugin *plugin, const struct mor_link_end *how);
enum mortise_state mor_client_after_leaving(mortise_plugin *plugin, mortise_error *failure);
/* The fault is answered as in JSON-RPC, and the session goes on. */
void mor_client_answer_fault(mortise_plugin *plugin, enum mor_fault fault, const char *text);

#endif
