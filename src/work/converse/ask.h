/* SPDX-License-Identifier: Apache-2.0 */
/* What plugins ask of the person. A request is answered at once (runner/answer.h), or with --ask it waits for
 * /answer or /refuse. */
#ifndef MOR_CONVERSE_ASK_H
#define MOR_CONVERSE_ASK_H

#include "converse/converse.h"

/* As mortise_request_fn; the argument is a struct mor_converse_guest. */
void mor_converse_ask_take(mortise_request *request, const char *method, mortise_json params, void *arg);
/* Answers the oldest open request; `json` NULL: refuses it with this code and text. MORTISE_EINPUT: nobody
 * asked, or it is not JSON. */
int mor_converse_ask_answer(struct mor_converse *chat, const char *json, mortise_error *err);
int mor_converse_ask_refuse(struct mor_converse *chat, int64_t code, const char *text, mortise_error *err);
/* Does one wait? */
bool mor_converse_ask_waits(void *chat);
/* Reads lines until one answers the oldest. If there are no more lines, it is answered as without --ask. */
void mor_converse_ask_person(void *chat);
/* At the end of the chat. The requests themselves belong to the host. */
void mor_converse_ask_drop_all(struct mor_converse *chat);

#endif
