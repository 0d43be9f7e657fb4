/* SPDX-License-Identifier: Apache-2.0 */
/* CQ codes, by the rules of OneBot v11 ("message/string"). */
#include "leak.h"

#include <stdio.h>

#include "onebot/onebot.h"

static void expect(struct mor_buf *out, const char *wanted)
{
	if (!mor_slice_is(mor_buf_view(out), wanted))
		fail_msg("\"%.*s\", not \"%s\"", (int)out->len, out->data ? out->data : "", wanted);
	mor_buf_fini(out);
}

static void test_escape(void **state)
{
	struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	mor_cq_escape(MOR_SLICE("a&b[c]d,e"), MOR_CQ_IN_TEXT, &out);
	expect(&out, "a&amp;b&#91;c&#93;d,e");
	mor_cq_escape(MOR_SLICE("a&b[c]d,e"), MOR_CQ_IN_CODE, &out);
	expect(&out, "a&amp;b&#91;c&#93;d&#44;e");
	mor_cq_unescape(MOR_SLICE("&amp;&#91;&#93;&#44;"), MOR_CQ_IN_TEXT, &out);
	expect(&out, "&[]&#44;");
	mor_cq_unescape(MOR_SLICE("&amp;&#91;&#93;&#44;"), MOR_CQ_IN_CODE, &out);
	expect(&out, "&[],");
	/* Once, and only what is an entity. */
	mor_cq_unescape(MOR_SLICE("&amp;#91; &lt; & &am"), MOR_CQ_IN_TEXT, &out);
	expect(&out, "&#91; &lt; & &am");
}

/* Parts as "t<text>" and "c<type>|<params>", joined by a slash. */
static void expect_parts(const char *text, const char *wanted)
{
	struct mor_slice rest = mor_slice_of(text);
	struct mor_buf out = MOR_BUF_INIT;
	struct mor_cq_part part;
	size_t total = 0;

	while (mor_cq_next(&rest, &part)) {
		total += part.text.len;
		mor_buf_text(&out, out.len ? "/" : "");
		if (part.is_code)
			mor_buf_printf(&out, "c%.*s|%.*s", (int)part.type.len, part.type.ptr,
				       (int)part.params.len, part.params.ptr);
		else
			mor_buf_printf(&out, "t%.*s", (int)part.text.len, part.text.ptr);
	}
	assert_int_equal(total, strlen(text));
	expect(&out, wanted);
}

static void test_parts(void **state)
{
	(void)state;
	expect_parts("", "");
	expect_parts("hello", "thello");
	expect_parts("[CQ:shake]", "cshake|");
	expect_parts("[CQ:face,id=178]/echo", "cface|id=178/t/echo");
	expect_parts("a[CQ:at,qq=1] b[CQ:at,qq=all]", "ta/cat|qq=1/t b/cat|qq=all");
	expect_parts("[CQ:image,file=http://x/?a=1&#44;b]", "cimage|file=http://x/?a=1&#44;b");
	/* What only begins like a code is text. */
	expect_parts("[CQ:", "t[CQ:");
	expect_parts("[CQ:at,qq=1", "t[CQ:at,qq=1");
	expect_parts("[CQ:]x", "t[CQ:]x");
	expect_parts("[cq:at]", "t[cq:at]");
	expect_parts("[CQ:a t]", "t[CQ:a t]");
	expect_parts("[CQ:at,[CQ:shake]", "t[CQ:at,/cshake|");
	expect_parts("[[CQ:shake]]", "t[/cshake|/t]");
	expect_parts("[CQ:shake,]", "cshake|");
}

static struct mor_doc *parse(const char *json)
{
	struct mor_doc *doc = NULL;

	assert_int_equal(mor_doc_parse(mor_slice_of(json), 0, 0, &doc, NULL), 0);
	return doc;
}

static void test_plain(void **state)
{
	static const struct {
		const char *message, *plain;
	} cases[] = {
		{ "\"hello\"", "hello" },
		{ "\"[CQ:at,qq=1] /echo a &amp;&#91;b&#93;\"", " /echo a &[b]" },
		{ "\"&#91;CQ:at,qq=1&#93;\"", "[CQ:at,qq=1]" },
		{ "[{\"type\":\"at\",\"data\":{\"qq\":\"1\"}},{\"type\":\"text\",\"data\":{\"text\":\" /echo "
		  "\"}},{\"type\":\"face\",\"data\":{\"id\":\"178\"}},{\"type\":\"text\",\"data\":{\"text\":\"&amp; "
		  "[x]\"}}]",
		  " /echo &amp; [x]" },
		{ "[]", "" },
		{ "[1,{},{\"type\":\"text\"},{\"type\":\"text\",\"data\":{\"text\":5}},\"x\"]", "" },
		{ "\"\\u5929\\u6c14\"", "天气" },
		{ "7", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mor_doc *doc = parse(cases[i].message);
		struct mor_buf out = MOR_BUF_INIT;

		assert_int_equal(mor_cq_plain(mor_doc_root(doc), &out), 0);
		expect(&out, cases[i].plain);
		mor_doc_free(doc);
	}
}

static void test_write(void **state)
{
	struct mor_doc *doc = parse(
		"[{\"type\":\"text\",\"data\":{\"text\":\"a [b], "
		"c\"}},{\"type\":\"image\",\"data\":{\"file\":\"x,y&z\",\"n\":9007199254740993,\"no\":null}},{\"type\":\"a]b\",\"data\":{}},{\"type\":\"shake\"}]");
	struct mor_buf out = MOR_BUF_INIT;

	(void)state;
	assert_int_equal(mor_cq_write(mor_doc_root(doc), &out), 0);
	expect(&out, "a &#91;b&#93;, c[CQ:image,file=x&#44;y&amp;z,n=9007199254740993][CQ:shake]");
	mor_doc_free(doc);
}

static void test_trim(void **state)
{
	static const struct {
		const char *text, *trimmed;
	} cases[] = {
		{ "", "" },
		{ "  ", "" },
		{ " \t\r\n/ping\v\f ", "/ping" },
		{ "　/天气　", "/天气" },
		{ "\xc2\xa0 a b \xe2\x80\xa9", "a b" },
		{ "\xe2\x80\x8b"
		  "a",
		  "\xe2\x80\x8b"
		  "a" },
		{ "天", "天" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_true(mor_slice_is(mor_cq_trim(mor_slice_of(cases[i].text)), cases[i].trimmed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_escape), MOR_TEST(test_parts), MOR_TEST(test_plain),
		MOR_TEST(test_write),  MOR_TEST(test_trim),
	};

	return mor_run_group("onebot/cq", tests);
}
