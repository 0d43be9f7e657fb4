/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/answer.h"

#include <string.h>

#include "base/error.h"
#include "wire/json.h"

int mor_runner_answers_check(const struct mor_text_list *answers, mortise_error *err)
{
	for (size_t i = 0; i < answers->count; i++) {
		struct mor_doc *doc = NULL;
		const char *equals = strchr(answers->item[i], '=');

		if (!equals || equals == answers->item[i] ||
		    mor_doc_parse(mor_slice_of(equals + 1), 0, 0, &doc, NULL) < 0)
			return mor_fail(err, MORTISE_EINVAL, "--answer \"%s\": expected METHOD=JSON",
					answers->item[i]);
		mor_doc_free(doc);
	}
	return 0;
}

static const char *find_row(const struct mor_text_list *answers, const char *method)
{
	size_t len = strlen(method);

	for (size_t i = 0; i < answers->count; i++) {
		const char *row = answers->item[i];

		if (strncmp(row, method, len) == 0 && row[len] == '=')
			return row + len + 1;
	}
	return NULL;
}

void mor_runner_answer(const struct mor_text_list *answers, mortise_request *request, const char *method)
{
	mortise_plugin *plugin = mortise_request_plugin(request);
	const char *answer = find_row(answers, method);

	if (!answer && plugin && strcmp(mortise_plugin_dialect(plugin), "plain") == 0)
		answer = "null";
	if (answer)
		mortise_request_reply(request, (mortise_json){ answer, strlen(answer) }, NULL);
	else
		mortise_request_fail(request, -32601, "Method not found", (mortise_json){ 0 }, NULL);
}
