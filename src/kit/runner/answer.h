/* SPDX-License-Identifier: Apache-2.0 */
/* What a command answers when a plugin asks something and nobody is there to decide. */
#ifndef MOR_RUNNER_ANSWER_H
#define MOR_RUNNER_ANSWER_H

#include <mortise/mortise.h>

#include "base/textlist.h"

/* Rows of --answer: METHOD=JSON. MORTISE_EINVAL. */
int mor_runner_answers_check(const struct mor_text_list *answers, mortise_error *err);
/* Answers with the row of that method. Without one: null in the plain protocol, because language servers ask
 * for settings and go on with null, but an error is fatal to some of them; in the other protocols the error
 * -32601, because there a request means something, and nobody here can do it. */
void mor_runner_answer(const struct mor_text_list *answers, mortise_request *request, const char *method);

#endif
