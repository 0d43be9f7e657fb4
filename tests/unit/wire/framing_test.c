/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include "base/alloc.h"
#include "wire/framing.h"

#include <mortise/mortise.h>

/* Everything a reader said of a stream, as one text: "F{1} N(abc) B B T3 S5 C(truncated)". Skipped bytes
 * are summed up, since how they are cut depends on the reads. */
struct story {
	struct mor_buf text;
	uint64_t skipped;
	bool over;
};

static void tell_skipped(struct story *story)
{
	if (story->skipped)
		mor_buf_printf(&story->text, "S%llu ", (unsigned long long)story->skipped);
	story->skipped = 0;
}

static void tell(struct story *story, enum mor_item_kind kind, const struct mor_item *item)
{
	if (kind == MOR_ITEM_SKIP) {
		story->skipped += item->used;
		return;
	}
	tell_skipped(story);
	if (kind == MOR_ITEM_FRAME || kind == MOR_ITEM_NOISE)
		mor_buf_printf(&story->text, "%c(%.*s)%zu ", kind == MOR_ITEM_FRAME ? 'F' : 'N',
			       item->body.len < 60 ? (int)item->body.len : 60, item->body.ptr, item->used);
	else if (kind == MOR_ITEM_BLANK)
		mor_buf_printf(&story->text, "B%zu ", item->used);
	else if (kind == MOR_ITEM_TOO_BIG)
		mor_buf_printf(&story->text, "T%llu:%zu ", (unsigned long long)item->size, item->used);
	else
		mor_buf_printf(&story->text, "C(%s) ", item->why);
	story->over = kind == MOR_ITEM_CORRUPT;
}

/* Reads what the window holds; returns the bytes used. The copy has no byte behind its end (ASan). */
static size_t read_window(struct mor_deframer *d, const char *window, size_t len, bool at_eof,
			  struct story *story)
{
	char *copy = mor_alloc(len);
	size_t used = 0;

	assert_non_null(copy);
	memcpy(copy, window, len);
	while (!story->over) {
		struct mor_item item;
		enum mor_item_kind kind = mor_deframe(d, copy + used, len - used, at_eof, &item);

		if (kind == MOR_ITEM_MORE) {
			assert_true(item.want == 0 || item.want > len - used);
			assert_true(!at_eof || used == len);
			assert_true(d->scanned <= len - used);
			break;
		}
		assert_true(item.used > 0 && item.used <= len - used);
		assert_int_equal(d->scanned, 0);
		tell(story, kind, &item);
		used += item.used;
	}
	mor_free(copy);
	return used;
}

struct stream {
	enum mor_framing framing;
	size_t limit;
	unsigned flags;
	struct mor_slice bytes;
	const char *story;
	unsigned reads;
};

/* The stream in two parts, or byte by byte with split SIZE_MAX. */
static char *story_of(const struct stream *s, size_t split)
{
	struct mor_deframer d;
	struct story story = { .over = false };
	size_t start = 0, end = 0;

	mor_deframer_init(&d, s->framing, s->limit, s->flags);
	d.reads = s->reads;
	while (end < s->bytes.len && !story.over) {
		end = split == SIZE_MAX ? end + 1 : end < split ? split : s->bytes.len;
		start += read_window(&d, s->bytes.ptr + start, end - start, false, &story);
	}
	if (!story.over)
		read_window(&d, s->bytes.ptr + start, end - start, true, &story);
	tell_skipped(&story);
	assert_false(mor_buf_failed(&story.text));
	return mor_buf_detach(&story.text);
}

static void check_stream(const struct stream *s)
{
	MOR_CLEAN_TEXT char *at_once = story_of(s, s->bytes.len);
	MOR_CLEAN_TEXT char *by_byte = story_of(s, SIZE_MAX);

	if (strcmp(at_once, s->story) != 0)
		fail_msg("%s: told \"%s\" instead of \"%s\"", mor_framing_name(s->framing), at_once, s->story);
	assert_string_equal(by_byte, at_once);
	for (size_t split = 0; split < s->bytes.len; split++) {
		MOR_CLEAN_TEXT char *in_two = story_of(s, split);

		assert_string_equal(in_two, at_once);
	}
}

/* clang-format off */
#define LINES(limit, flags, bytes, story) { MOR_FRAMING_LINES, limit, flags, MOR_SLICE(bytes), story, 0 }
#define DECIMAL(limit, flags, bytes, story) { MOR_FRAMING_DECIMAL, limit, flags, MOR_SLICE(bytes), story, 0 }
#define BE32(limit, flags, bytes, story) { MOR_FRAMING_BE32, limit, flags, MOR_SLICE(bytes), story, 0 }
#define HEADERS(limit, flags, bytes, story) { MOR_FRAMING_HEADERS, limit, flags, MOR_SLICE(bytes), story, 0 }
/* clang-format on */
#define STRICT MOR_DEFRAME_STRICT

static const struct stream line_streams[] = {
	LINES(0, 0, "", ""),
	LINES(0, 0, "{}\n[1]\r\n", "F({})3 F([1])5 "),
	LINES(0, 0, "\n\r\n \t\n{}\n", "B1 B2 B3 F({})3 "),
	LINES(0, 0, " {\"a\":1} \n", "F( {\"a\":1} )10 "),
	LINES(0, 0, "hello\n{}\nbye\r\n", "N(hello)6 F({})3 N(bye)5 "),
	LINES(0, 0, "{}\n{\"half", "F({})3 C(truncated) "),
	LINES(0, 0, "{}\nBye", "F({})3 N(Bye)3 "),
	LINES(0, 0, "{}\n  ", "F({})3 B2 "),
	LINES(0, STRICT, "{}\n\n{}\nx\n{}\n", "F({})3 B1 F({})3 C(line is no JSON object or array) "),
	LINES(4, 0, "[12]\n[12]\r\n[123]\n{}\n", "F([12])5 F([12])6 T0:5 S1 F({})3 "),
	LINES(4, 0, "[12]\r\r\n{}\n", "T0:5 S2 F({})3 "),
	LINES(4, 0, "[123456789", "T0:5 S5 "),
	LINES(4, 0, "[1234567\n", "T0:5 S4 "),
	LINES(4, 0, "noise is not judged by the limit\n[1]\n",
	      "N(noise is not judged by the limit)33 F([1])4 "),
	LINES(0, 0, "\xef\xbb\xbf{}\n", "N(\xef\xbb\xbf{})6 "),
	LINES(SIZE_MAX, 0, "{}\n", "F({})3 "),
};

static const struct stream decimal_streams[] = {
	DECIMAL(0, STRICT, "6\nfoobar2\n{}", "F(foobar)8 F({})4 "),
	DECIMAL(0, STRICT, "3\na\nb10\n0123456789", "F(a\nb)5 F(0123456789)13 "),
	DECIMAL(0, STRICT, "0\n1\nx", "F()2 F(x)3 "),
	DECIMAL(0, 0, "0\n1\nx", "B2 F(x)3 "),
	DECIMAL(0, STRICT, "007\n", "C(length tag is no minimum-width decimal number) "),
	DECIMAL(0, STRICT | MOR_DEFRAME_LEADING_ZEROS, "003\nabc00\n", "F(abc)7 F()3 "),
	DECIMAL(0, STRICT, "\n", "C(length tag is no minimum-width decimal number) "),
	DECIMAL(0, STRICT, "5\r\n", "C(length tag is no minimum-width decimal number) "),
	DECIMAL(0, STRICT, "+5\n", "C(length tag is no minimum-width decimal number) "),
	DECIMAL(0, STRICT, "5 \n", "C(length tag is no minimum-width decimal number) "),
	DECIMAL(0, STRICT, "2\nab0x5\n", "F(ab)4 C(length tag is no minimum-width decimal number) "),
	DECIMAL(0, STRICT, "1234567890123456789\n", "C(truncated) "),
	DECIMAL(0, STRICT, "12345678901234567890\n", "C(length tag is no minimum-width decimal number) "),
	DECIMAL(0, STRICT, "9999999999999999999\n", "C(announces a message over the limit (limits.frame)) "),
	DECIMAL(0, 0, "12345678901234567890\n1\nx", "N(12345678901234567890)21 F(x)3 "),
	DECIMAL(0, STRICT, "5\nabc", "C(truncated) "),
	DECIMAL(0, STRICT, "12", "C(truncated) "),
	DECIMAL(3, 0, "3\nabc4\nabcd1\nx", "F(abc)5 T4:2 S4 F(x)3 "),
	DECIMAL(3, STRICT, "3\nabc4\nabcd1\nx",
		"F(abc)5 C(announces a message over the limit (limits.frame)) "),
	DECIMAL(300, STRICT, "12345x", "C(announces a message over the limit (limits.frame)) "),
	DECIMAL(3, 0, "9223372036854775807\nabc", "T9223372036854775807:20 S3 "),
	DECIMAL(3, STRICT | MOR_DEFRAME_LEADING_ZEROS, "00000000000000000003",
		"C(length tag is no minimum-width decimal number) "),
	DECIMAL(0, 0, "warning: x\n2\nab\n\n12x\n1\ny", "N(warning: x)11 F(ab)4 B1 B1 N(12x)4 F(y)3 "),
	DECIMAL(0, 0, "012\n1\nz", "N(012)4 F(z)3 "),
	DECIMAL(0, 0, "oops", "N(oops)4 "),
};

static const struct stream be32_streams[] = {
	BE32(0, 0, "\0\0\0\2{}\0\0\0\3[1]", "F({})6 F([1])7 "),
	BE32(0, 0, "\0\0\0\0\0\0\0\2{}", "B4 F({})6 "),
	BE32(0, 0, "\0\0\0\4\n {}\0\0\0\2[]", "F(\n {})8 F([])6 "),
	BE32(0, 0, "Loading\nmodel\0\0\0\2{}", "N(Loading)8 N(model)5 F({})6 "),
	BE32(0, 0, "\0\0\0\2xy\0\0\0\2{}", "N()6 F({})6 "),
	BE32(0, 0, "ab\n\0\0\0\2{}", "N(ab)3 F({})6 "),
	BE32(0, 0, "a\0\0\0\0\0\0\2{}", "N(a)4 F({})6 "),
	BE32(0, 0, "{\"bare\":1}\n", "N({\"bare\":1})11 "),
	BE32(4, 0, "\0\0\0\5{1234\0\0\0\2{}", "T5:4 S5 F({})6 "),
	BE32(4, 0, "\0\0\0\5x1234\0\0\0\2{}", "N()9 F({})6 "),
	BE32(4, 0, "\0\0\0\5{12", "T5:4 S3 "),
	BE32(0, 0, "\1\0\0\0{", "C(truncated) "),
	/* Over the limit: skipped by its exact length where the body begins like JSON, whatever
	 * the first byte. */
	BE32(4, 0, "\0\0\0\6[12345\0\0\0\2{}", "T6:4 S6 F({})6 "),
	BE32(4, 0, "\0\0\0\5 1234\0\0\0\2{}", "N()9 F({})6 "),
	BE32(4, 0, "\4\0\0\0{\"a\":1}", "T67108864:4 S7 "),
	BE32(4, 0, "\x0c\x80\0\0{\"a\":1}", "T209715200:4 S7 "),
	BE32(4, 0, "\x40\0\0\0{\"a\":1}", "T1073741824:4 S7 "),
	BE32(4, 0, "\xff\xff\xff\xff[1,2,3]", "T4294967295:4 S7 "),
	BE32(4, 0, "print\4\0\0\0{\"a\":1}", "N(print)5 T67108864:4 S7 "),
	/* But what prints is no length, and neither is the end of a print before a true header. */
	BE32(0, 0, "INFO[0000] up\n\0\0\0\2{}", "N(INFO[0000] up)14 F({})6 "),
	BE32(0, 0, "dict{'a': 1}\0\0\0\2{}", "N(dict{'a': 1})12 F({})6 "),
	BE32(1000, 0, "\n\0\0\0\x7b{\"a\":1}", "N()1 C(truncated) "),
	BE32(1000, 0, "ab\0\0\0\2{}", "N(ab)2 F({})6 "),
	BE32(1000, 0, "\n\0\0\0\2{}", "N()1 F({})6 "),
	BE32(0, 0, "\0\0\0\2{", "C(truncated) "),
	BE32(0, 0, "\0\0\0\2", "C(truncated) "),
	BE32(0, 0, "\0\0", "C(truncated) "),
	BE32(0, 0, "x\0\0\0\2", "N(x)5 "),
	BE32(0, STRICT, "\0\0\0\2{}print\n", "F({})6 C(no length header) "),
	BE32(0, STRICT, "\0\0\0\2xy", "C(no length header) "),
};

static const struct stream header_streams[] = {
	HEADERS(0, 0, "Content-Length: 2\r\n\r\n{}Content-Length:3\n\n[1]", "F({})23 F([1])21 "),
	HEADERS(0, 0, "Content-Type: x; charset=utf-8\r\ncontent-LENGTH: \t2 \r\n\r\n{}", "F({})57 "),
	HEADERS(0, 0, "\r\n\nContent-Length: 2\r\n\r\n{}\n", "B2 B1 F({})23 B1 "),
	HEADERS(0, 0, "Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}", "B21 F({})23 "),
	HEADERS(0, 0, "a print\nContent-Length: 2\r\n\r\n{}", "N(a print)8 F({})23 "),
	HEADERS(0, 0, "{\"bare\":1}\nContent-Length: 2\r\n\r\n{}", "N({\"bare\":1})11 F({})23 "),
	HEADERS(0, 0, "X: 1\r\n\r\nContent-Length: 2\r\n\r\n{}", "N(X: 1\r\n)8 F({})23 "),
	HEADERS(0, 0, "Content-Length: x\r\n\r\nContent-Length: 1\r\n\r\n7",
		"N(Content-Length: x\r\n)21 F(7)22 "),
	HEADERS(0, 0, "Content-Length: -1\n\n", "N(Content-Length: -1\n)20 "),
	HEADERS(0, 0, "Content-Length: 1\nContent-Length: 2\n\n",
		"N(Content-Length: 1\nContent-Length: 2\n)37 "),
	HEADERS(0, 0, "Content-Length: 1\nContent-Length: 1\n\n5", "F(5)38 "),
	HEADERS(0, 0, "INFO: up\nContent-Length: 1\n\n5", "F(5)29 "),
	HEADERS(0, 0, "INFO: up\nplain text\nContent-Length: 1\n\n5", "N(INFO: up\nplain text)20 F(5)20 "),
	HEADERS(3, 0, "Content-Length: 4\n\n1234Content-Length: 3\n\n123", "T4:19 S4 F(123)22 "),
	HEADERS(0, 0, "Content-Length: 4\n\n123", "C(truncated) "),
	HEADERS(0, 0, "Content-Length: 4\n", "C(truncated) "),
	HEADERS(0, 0, "Content-Length: 4", "C(truncated) "),
	HEADERS(0, 0, "Bye", "N(Bye)3 "),
	HEADERS(0, STRICT, "a print\n", "C(no Content-Length header) "),
	HEADERS(0, STRICT, "X: 1\n\n", "C(no Content-Length header) "),
	HEADERS(0, 0, "\0: 1\n", "N()5 "),
};

/* Other framings than the own: the first bytes decide. */
/* clang-format off */
#define READS(framing, bytes, story, reads) { framing, 0, 0, MOR_SLICE(bytes), story, reads }
#define TEXT(limit, bytes, story) \
	{ MOR_FRAMING_HEADERS, limit, MOR_DEFRAME_EOF_ENDS, MOR_SLICE(bytes), story, 1 << MOR_FRAMING_LINES }
/* clang-format on */

static const struct stream mixed_streams[] = {
	READS(MOR_FRAMING_LINES, "{}\nContent-Length: 2\r\n\r\n[]{}\n", "F({})3 F([])23 F({})3 ",
	      1 << MOR_FRAMING_HEADERS),
	READS(MOR_FRAMING_LINES, "log\ncontent-length: 2\n\n[]", "N(log)4 F([])21 ", 1 << MOR_FRAMING_HEADERS),
	READS(MOR_FRAMING_LINES, "Cont", "N(Cont)4 ", 1 << MOR_FRAMING_HEADERS),
	READS(MOR_FRAMING_LINES, "Contents: 5\n{}\n", "N(Contents: 5)12 F({})3 ", 1 << MOR_FRAMING_HEADERS),
	READS(MOR_FRAMING_HEADERS, "Content-Length: 2\r\n\r\n[]{}\n \t{}\n", "F([])23 F({})3 F( \t{})5 ",
	      1 << MOR_FRAMING_LINES),
	READS(MOR_FRAMING_HEADERS, "info: up\n{}\n", "N(info: up)9 F({})3 ", 1 << MOR_FRAMING_LINES),
	READS(MOR_FRAMING_HEADERS, "  ", "N(  )2 ", 1 << MOR_FRAMING_LINES),
	READS(MOR_FRAMING_LINES, "2\n[]{}\n", "F([])4 F({})3 ", 1 << MOR_FRAMING_DECIMAL),
	READS(MOR_FRAMING_LINES, "\0\0\0\2[]{}\n", "F([])6 F({})3 ", 1 << MOR_FRAMING_BE32),
	READS(MOR_FRAMING_BE32, "{}\n\0\0\0\2[]print\n", "F({})3 F([])6 N(print)6 ", 1 << MOR_FRAMING_LINES),
	/* A bare JSON text over several lines, which the stream's end may end. */
	TEXT(0, "{\n  \"a\": [\n1]\n}\n", "F({\n  \"a\": [\n1]\n})16 "),
	TEXT(0, "{\n}", "F({\n})3 "),
	TEXT(0, "{}", "F({})2 "),
	TEXT(0, "{}\r\n{\r\n}\r\nlog\n", "F({})4 F({\r\n})6 N(log)4 "),
	TEXT(0, "{\"}\":\"\\\"}\",\n\"{\":1}", "F({\"}\":\"\\\"}\",\n\"{\":1})18 "),
	TEXT(0, "{ log\n{}\n[1]", "F({ log)6 F({})3 F([1])3 "),
	TEXT(0, "{ log \"\n}\n{}", "F({ log \"\n})10 F({})2 "),
	TEXT(0, "}\n{}", "N(})2 F({})2 "),
	TEXT(0, "Content-Length: 2\r\n\r\n{}", "F({})23 "),
	TEXT(0, "{\nlog\nContent-Length: 2\r\n\r\n{}", "F({)2 N(log)4 F({})23 "),
	TEXT(0, "{\"half", "C(truncated) "),
	TEXT(4, "{\n}\n{\n\n}\n{\n\n\n}\n{}", "F({\n})4 F({\n\n})5 T0:5 S1 F({})2 "),
	TEXT(4, "[\n123\n]\n{}", "T0:5 S1 N(])2 F({})2 "),
};

#define EACH(streams) \
	for (size_t i_ = 0; i_ < sizeof(streams) / sizeof((streams)[0]); i_++) \
	check_stream(&(streams)[i_])

static void lines(void **state)
{
	(void)state;
	EACH(line_streams);
}

static void decimal(void **state)
{
	(void)state;
	EACH(decimal_streams);
}

static void be32(void **state)
{
	(void)state;
	EACH(be32_streams);
}

static void headers(void **state)
{
	(void)state;
	EACH(header_streams);
}

static void mixed(void **state)
{
	(void)state;
	EACH(mixed_streams);
}

/* Noise without end comes in pieces of a fixed size, whatever the reads were. */
static void endless_noise(void **state)
{
	static const size_t lengths[] = { MOR_NOISE_MAX - 1, MOR_NOISE_MAX, MOR_NOISE_MAX + 1,
					  2 * MOR_NOISE_MAX + 7 };

	(void)state;
	for (int framing = 0; framing < MOR_FRAMINGS; framing++) {
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			MOR_CLEAN(mor_buf) struct mor_buf bytes = MOR_BUF_INIT;
			MOR_CLEAN_TEXT char *at_once = NULL;
			struct stream s = { framing, 0, 0, { NULL, 0 }, NULL, 0 };

			for (size_t n = 0; n < lengths[i]; n++)
				mor_buf_byte(&bytes, 'x');
			mor_buf_byte(&bytes, '\n');
			mor_enframe(framing, MOR_SLICE("{}"), &bytes);
			s.bytes = mor_buf_view(&bytes);
			at_once = story_of(&s, s.bytes.len);
			assert_non_null(strstr(at_once, "F({})"));
			for (size_t split = lengths[i] - 3; split < s.bytes.len; split++) {
				MOR_CLEAN_TEXT char *in_two = story_of(&s, split);

				assert_string_equal(in_two, at_once);
			}
		}
	}
}

/* The newline search remembers how far it looked. */
static void long_lines_are_searched_once(void **state)
{
	struct mor_deframer d;
	struct mor_item item;
	char window[4096];

	(void)state;
	memset(window, ' ', sizeof(window));
	window[0] = '{';
	mor_deframer_init(&d, MOR_FRAMING_LINES, 0, 0);
	for (size_t len = 1; len < sizeof(window); len += 100) {
		assert_int_equal(mor_deframe(&d, window, len, false, &item), MOR_ITEM_MORE);
		assert_int_equal(d.scanned, len);
	}
	/* A newline behind what was searched is found; one before it would be overlooked: proof that the
	 * bytes were not looked at again. */
	window[10] = '\n';
	assert_int_equal(mor_deframe(&d, window, sizeof(window) - 1, false, &item), MOR_ITEM_MORE);
	window[sizeof(window) - 1] = '\n';
	assert_int_equal(mor_deframe(&d, window, sizeof(window), false, &item), MOR_ITEM_FRAME);
	assert_int_equal(item.used, sizeof(window));
}

/* A byte that has been seen is spoilt afterwards: a second look at it sees noise. */
static void blanks_are_passed_once(void **state)
{
	static const unsigned reads[] = { 0, 1 << MOR_FRAMING_LINES };
	char window[] = "      {}\n";

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct mor_deframer d;
		struct mor_item item;

		mor_deframer_init(&d, i ? MOR_FRAMING_HEADERS : MOR_FRAMING_LINES, 0, 0);
		d.reads = reads[i];
		window[0] = ' ';
		assert_int_equal(mor_deframe(&d, window, 5, false, &item), MOR_ITEM_MORE);
		window[0] = 'x';
		assert_int_equal(mor_deframe(&d, window, sizeof(window) - 1, false, &item), MOR_ITEM_FRAME);
		assert_int_equal(d.blanks, 0);
	}
}

static void want_tells_what_is_needed(void **state)
{
	struct mor_deframer d;
	struct mor_item item;

	(void)state;
	mor_deframer_init(&d, MOR_FRAMING_DECIMAL, 0, STRICT);
	assert_int_equal(mor_deframe(&d, "100\nabc", 7, false, &item), MOR_ITEM_MORE);
	assert_int_equal(item.want, 104);
	mor_deframer_init(&d, MOR_FRAMING_BE32, 0, 0);
	assert_int_equal(mor_deframe(&d, "\0\0\1\0{", 5, false, &item), MOR_ITEM_MORE);
	assert_int_equal(item.want, 260);
	assert_int_equal(mor_deframe(&d, "\0", 1, false, &item), MOR_ITEM_MORE);
	assert_int_equal(item.want, 4);
	mor_deframer_init(&d, MOR_FRAMING_HEADERS, 0, 0);
	assert_int_equal(mor_deframe(&d, "Content-Length: 10\n\n", 20, false, &item), MOR_ITEM_MORE);
	assert_int_equal(item.want, 30);
}

static void what_is_written_is_read(void **state)
{
	(void)state;
	for (int framing = 0; framing < MOR_FRAMINGS; framing++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		struct mor_deframer d;
		struct mor_item item;
		char head[MOR_FRAME_HEAD];
		const char *tail;
		size_t len = mor_frame_head(framing, 7, head, &tail);

		assert_int_equal(mor_enframe(framing, MOR_SLICE("{\"a\":1}"), &out), 0);
		assert_int_equal(out.len, len + 7 + strlen(tail));
		assert_memory_equal(out.data, head, len);
		mor_deframer_init(&d, framing, 0, STRICT);
		assert_int_equal(mor_deframe(&d, out.data, out.len, false, &item), MOR_ITEM_FRAME);
		assert_true(mor_slice_is(item.body, "{\"a\":1}"));
		assert_int_equal(item.used, out.len);
	}
}

/* Strict: a plugin that announces too much is not waited for. */
static void strict_over_the_limit(void **state)
{
	static const struct {
		enum mor_framing framing;
		const char *text;
		size_t len;
	} table[] = {
		{ MOR_FRAMING_DECIMAL, "11\n", 3 },
		{ MOR_FRAMING_BE32, "\0\0\0\x0b{", 5 },
		{ MOR_FRAMING_HEADERS, "Content-Length: 11\r\n\r\n", 22 },
	};
	struct mor_deframer d;
	struct mor_item item;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		mor_deframer_init(&d, table[i].framing, 10, MOR_DEFRAME_STRICT);
		item = (struct mor_item){ 0 };
		assert_int_equal(mor_deframe(&d, table[i].text, table[i].len, false, &item), MOR_ITEM_CORRUPT);
		assert_string_equal(item.why, "announces a message over the limit (limits.frame)");
	}
}

/* So many blanks say nothing of what framing follows them. */
static void blanks_without_end(void **state)
{
	static char blanks[MOR_NOISE_MAX + 2];
	struct mor_deframer d;
	struct mor_item item = { 0 };

	(void)state;
	memset(blanks, ' ', sizeof(blanks));
	mor_deframer_init(&d, MOR_FRAMING_HEADERS, 0, 0);
	d.reads = 1u << MOR_FRAMING_LINES;
	assert_int_not_equal(mor_deframe(&d, blanks, sizeof(blanks), true, &item), MOR_ITEM_MORE);
}

static void half_frames_are_not_written(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = { .limit = 12 };

	(void)state;
	assert_int_equal(mor_enframe(MOR_FRAMING_DECIMAL, MOR_SLICE("{}"), &out), 0);
	assert_int_equal(mor_enframe(MOR_FRAMING_DECIMAL, MOR_SLICE("{\"a\":1}"), &out), MORTISE_ELIMIT);
	assert_true(mor_slice_is(mor_buf_view(&out), "2\n{}"));
}

static void names(void **state)
{
	(void)state;
	for (int i = 0; i < MOR_FRAMINGS; i++)
		assert_int_equal(mor_framing_by_name(mor_framing_name(i)), i);
	assert_string_equal(mor_framing_name(MOR_FRAMING_HEADERS), "headers");
	assert_int_equal(mor_framing_by_name("tcp"), -1);
	assert_int_equal(mor_framing_by_name(NULL), -1);
	assert_string_equal(mor_framing_name(MOR_FRAMINGS), "unknown");
}

/* What somebody else has written, recognised by its beginning. */
static void guesses(void **state)
{
	static const struct {
		struct mor_slice bytes;
		int framing;
	} table[] = {
		{ MOR_SLICE("{\"id\":1}"), MOR_FRAMING_LINES },
		{ MOR_SLICE("Content-Length: 8\r"), MOR_FRAMING_HEADERS },
		{ MOR_SLICE("content-length:8"), MOR_FRAMING_HEADERS },
		{ MOR_SLICE("8\n{\"id\":1}"), MOR_FRAMING_DECIMAL },
		{ { "\0\0\0\x08{\"id\":1}", 12 }, MOR_FRAMING_BE32 },
		{ { "\0\0\0\x08", 4 }, -1 },
		{ MOR_SLICE("8"), -1 },
		{ MOR_SLICE("8\nready"), -1 },
		{ MOR_SLICE("[info] ready"), -1 },
		{ MOR_SLICE("{ready}"), -1 },
		{ MOR_SLICE("Content-Type: x"), -1 },
		{ { NULL, 0 }, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_int_equal(mor_framing_guess(table[i].bytes), table[i].framing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(lines),
		MOR_TEST(decimal),
		MOR_TEST(be32),
		MOR_TEST(headers),
		MOR_TEST(mixed),
		MOR_TEST(endless_noise),
		MOR_TEST(long_lines_are_searched_once),
		MOR_TEST(blanks_are_passed_once),
		MOR_TEST(want_tells_what_is_needed),
		MOR_TEST(what_is_written_is_read),
		MOR_TEST(strict_over_the_limit),
		MOR_TEST(blanks_without_end),
		MOR_TEST(half_frames_are_not_written),
		MOR_TEST(names),
		MOR_TEST(guesses),
	};

	return mor_run_group("wire/framing", tests);
}
