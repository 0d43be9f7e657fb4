/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of analysis types (R36 of docs/dialects/kythe.md), the slips of the specification's own examples,
 * and what is offered for what is asked. */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "kythe/drive/atype.h"

#define VALID(text)   assert_true(mor_atype_valid(MOR_SLICE(text)))
#define INVALID(text) assert_false(mor_atype_valid(MOR_SLICE(text)))

static void test_r36_ascii(void **state)
{
	(void)state;
	VALID("/");
	VALID("/kythe/index/java");
	VALID("/kythe/index/c++");
	VALID("/a");
	VALID("/-.@#$%&_+:()");
	VALID("/0/9/a/z/A/Z");
	INVALID("");
	INVALID("//");
	INVALID("a");
	INVALID("kythe/index");
	INVALID("/a/");
	INVALID("/a//b");
	INVALID("//a");
	INVALID("/a b");
	INVALID("/a\n");
	INVALID("/a\0");
	INVALID("/a\0b");
	INVALID("/\x7f");
}

/* Every byte of ASCII, alone in a word. */
static void test_r36_every_byte(void **state)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.@#$%&_+:()";

	(void)state;
	for (int c = 0; c < 256; c++) {
		char type[3] = { '/', (char)c, 'x' };
		bool want = c && c < 128 && strchr(allowed, c);

		assert_int_equal(mor_atype_valid((struct mor_slice){ type, 2 }), want);
		assert_int_equal(mor_atype_valid((struct mor_slice){ type, 3 }), want);
	}
}

static void test_r36_categories(void **state)
{
	(void)state;
	VALID("/\xc3\x84");           /* Lu: A with diaeresis */
	VALID("/\xc3\xbc");           /* Ll */
	VALID("/\xc7\x85");           /* Lt: Dz with caron */
	VALID("/\xca\xb0");           /* Lm: modifier letter small h */
	VALID("/\xe6\x97\xa5");       /* Lo: CJK */
	VALID("/\xd7\x90");           /* Lo: alef */
	VALID("/\xd9\xa3");           /* Nd: Arabic-Indic 3 */
	VALID("/\xf0\x9d\x9f\x98");   /* Nd: mathematical 0 */
	VALID("/\xf0\x90\x8c\xb0");   /* Lo: Gothic */
	INVALID("/\xc2\xb2");         /* No: superscript 2 */
	INVALID("/\xe2\x85\xa7");     /* Nl: Roman 8 */
	INVALID("/a\xcc\x88");        /* Mn: combining diaeresis */
	INVALID("/\xe0\xa4\xbe");     /* Mc: Devanagari sign */
	INVALID("/\xc2\xa0");         /* Zs: no-break space */
	INVALID("/\xe2\x80\xa8");     /* Zl */
	INVALID("/\xe2\x82\xac");     /* Sc: euro */
	INVALID("/\xc3\x97");         /* Sm: times */
	INVALID("/\xe2\x80\x93");     /* Pd: en dash */
	INVALID("/\xf0\x9f\x98\x80"); /* So */
	INVALID("/\xee\x80\x80");     /* Co: private use */
	INVALID("/\xcd\xb8");         /* Cn: not assigned */
	INVALID("/\xef\xbc\x8f");     /* Po: fullwidth solidus is no slash */
}

static void test_not_utf8(void **state)
{
	(void)state;
	INVALID("/\xc3");
	INVALID("/\xff");
	INVALID("/\xc0\xaf");         /* an overlong "/" */
	INVALID("/\xed\xa0\x80");     /* a surrogate */
	INVALID("/\xf4\x90\x80\x80"); /* beyond Unicode */
}

static void test_normal(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{ "/kythe/index/c", "/kythe/index/c" },
		{ "kythe/index/c", "/kythe/index/c" },
		{ "/kythe/indexer/c", "/kythe/index/c" },
		{ "kythe/indexer/c", "/kythe/index/c" },
		{ "/kythe/indexer", "/kythe/indexer" },
		{ "/kythe/indexers/c", "/kythe/indexers/c" },
		{ "/team/kythe/indexer/c", "/team/kythe/indexer/c" },
		{ "", "/" },
		{ "/", "/" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

		mor_buf_text(&out, "keep");
		assert_int_equal(mor_atype_normal(mor_slice_of(cases[i].from), &out), 0);
		mor_buf_byte(&out, '\0');
		assert_memory_equal(out.data, "keep", 4);
		assert_string_equal(out.data + 4, cases[i].to);
	}
}

static void test_matches(void **state)
{
#define MATCHES(asked, offered) mor_atype_matches(MOR_SLICE(asked), MOR_SLICE(offered))
	(void)state;
	assert_true(MATCHES("/kythe/index/c", "/kythe/index/c"));
	assert_true(MATCHES("/kythe", "/kythe/index/c"));
	assert_true(MATCHES("/", "/anything"));
	assert_false(MATCHES("/kythe/index/c", "/kythe/index/c++"));
	assert_false(MATCHES("/kythe/index/c", "/kythe/index"));
	assert_false(MATCHES("/kythe/ind", "/kythe/index"));
	assert_false(MATCHES("/a", "/"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_r36_ascii), MOR_TEST(test_r36_every_byte), MOR_TEST(test_r36_categories),
		MOR_TEST(test_not_utf8),  MOR_TEST(test_normal),         MOR_TEST(test_matches),
	};

	return mor_run_group("kythe/drive/atype", tests);
}
