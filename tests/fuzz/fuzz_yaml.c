/* SPDX-License-Identifier: Apache-2.0 */
/* What is taken for YAML becomes the text of a JSON object within its bounds; what is not is
 * refused with a text. */
#include "fuzz.h"

#include "base/alloc.h"
#include "manifest/yaml.h"
#include "wire/json.h"

/* libfyaml 0.7 loses 4 KiB where a scalar of many quotes is cut off. It is read once per command, from the
 * user's own file, so nothing grows. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:fy_atom_iter_grow_chunk\n";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	MOR_CLEAN(mor_buf) struct mor_buf json = MOR_BUF_INIT;
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	mortise_error err = { 0 };
	int r = mor_yaml_to_json("f.yml", (const char *)data, size, &json, &err);

	CHECK(r == 0 || (r == MORTISE_EMANIFEST && err.text[0] && json.len == 0));
	if (r < 0)
		return 0;
	CHECK(json.len <= MOR_YAML_JSON);
	CHECK(mor_doc_parse(mor_buf_view(&json), 0, MOR_YAML_DEPTH, &doc, &err) == 0);
	CHECK(mor_json_type(mor_doc_root(doc)) == MOR_JSON_OBJECT);
	return 0;
}
