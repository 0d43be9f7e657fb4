/* SPDX-License-Identifier: Apache-2.0 */
/* Analysis types: what is valid keeps to the grammar, what is mended stays mended, and every type is
 * what it asks for. */
#include "fuzz.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "kythe/drive/atype.h"

static void check_valid(struct mor_slice type)
{
	for (size_t i = 0; i < type.len; i++) {
		unsigned char c = (unsigned char)type.ptr[i];

		CHECK(c >= 0x80 || c == '/' || (c > ' ' && c < 0x7f && !strchr("!\"'*,;<=>?[\\]^`{|}~", c)));
		CHECK(c != '/' || i == 0 || type.ptr[i - 1] != '/');
	}
	CHECK(type.ptr[0] == '/' && (type.len == 1 || type.ptr[type.len - 1] != '/'));
	CHECK(mor_utf8_valid(type));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mor_slice type = { (const char *)data, size }, once, again;
	MOR_CLEAN(mor_buf) struct mor_buf normal = MOR_BUF_INIT;
	MOR_CLEAN(mor_buf) struct mor_buf twice = MOR_BUF_INIT;
	bool valid = mor_atype_valid(type);

	if (valid)
		check_valid(type);
	CHECK(mor_atype_normal(type, &normal) == 0);
	once = mor_buf_view(&normal);
	CHECK(once.len > 0 && once.ptr[0] == '/');
	CHECK(mor_atype_valid(once) || !valid);
	CHECK(mor_atype_normal(once, &twice) == 0);
	again = mor_buf_view(&twice);
	CHECK(again.len == once.len && memcmp(again.ptr, once.ptr, once.len) == 0);
	CHECK(mor_atype_matches(once, once));
	CHECK(mor_atype_matches(MOR_SLICE("/"), once));
	for (size_t cut = 0; cut < once.len && cut < 64; cut++)
		if (mor_atype_matches((struct mor_slice){ once.ptr, cut }, once))
			CHECK(once.ptr[cut] == '/' || (cut == 1 && once.ptr[0] == '/'));
	return 0;
}
