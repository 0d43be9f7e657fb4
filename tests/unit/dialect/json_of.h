/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text -> document, for tests: the text is ours, so that it parses is asserted. */
#ifndef TESTS_UNIT_DIALECT_JSON_OF_H
#define TESTS_UNIT_DIALECT_JSON_OF_H

#include "leak.h"

#include "wire/json.h"

static inline struct mor_doc *json_of(const char *text)
{
	struct mor_doc *doc = NULL;
	mortise_error err = { 0 };

	if (mor_doc_parse(mor_slice_of(text), 0, 0, &doc, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	return doc;
}

#endif
