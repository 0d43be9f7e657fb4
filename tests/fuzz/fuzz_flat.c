/* SPDX-License-Identifier: Apache-2.0 */
/* What the short cut for small flat objects calls valid, the tree parser calls an object too, with the same
 * end, and the scan agrees. The text is in memory of exactly its size. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "wire/flat.h"

static void check_taken(const unsigned char *text, size_t len)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	struct mor_slice taken = { (const char *)text, len };
	bool spaced;
	size_t at;

	CHECK(mor_doc_parse(taken, 0, 0, &doc, NULL) == 0);
	CHECK(mor_json_type(mor_doc_root(doc)) == MOR_JSON_OBJECT);
	CHECK(mor_json_valid(taken, 0, 1, NULL));
	CHECK(mor_json_valid_params(taken, &spaced, &at));
	CHECK(!spaced && !memchr(text, '\n', len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned char *text = malloc(size ? size : 1);
	mor_spot end;

	CHECK(text);
	memcpy(text, data, size);
	end = size && *text == '{' ? mor_flat_object(text, text + size) : NULL;
	if (end)
		check_taken(text, (size_t)(end - text));
	free(text);
	return 0;
}
