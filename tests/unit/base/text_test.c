/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <stdio.h>

#include "base/text.h"

static void numbers(void **state)
{
	uint64_t u = 7;
	int64_t i = 7;
	uint32_t w = 7;

	(void)state;
	assert_true(mor_parse_u64(MOR_SLICE("18446744073709551615"), &u));
	assert_true(u == UINT64_MAX);
	assert_true(mor_parse_i64(MOR_SLICE("-9223372036854775808"), &i));
	assert_true(i == INT64_MIN);
	assert_true(mor_parse_i64(MOR_SLICE("9223372036854775807"), &i));
	assert_true(i == INT64_MAX);
	assert_true(mor_parse_u32(MOR_SLICE("4294967295"), &w));
	assert_true(w == UINT32_MAX);
	assert_false(mor_parse_u64(MOR_SLICE("18446744073709551616"), &u));
	assert_false(mor_parse_i64(MOR_SLICE("9223372036854775808"), &i));
	assert_false(mor_parse_i64(MOR_SLICE("-9223372036854775809"), &i));
	assert_false(mor_parse_u32(MOR_SLICE("4294967296"), &w));
	assert_true(i == INT64_MAX);
}

static void what_is_no_number(void **state)
{
	static const char *const bad[] = { "", "-", "+1", " 1", "1 ", "0x1", "1.0", "1e3", "--1", "a" };
	int64_t i;

	(void)state;
	for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++)
		assert_false(mor_parse_i64(mor_slice_of(bad[n]), &i));
	assert_false(mor_parse_i64((struct mor_slice){ NULL, 0 }, &i));
	assert_false(mor_parse_i64((struct mor_slice){ "1\0", 2 }, &i));
}

static void rates(void **state)
{
	static const struct {
		const char *text;
		uint32_t billionths;
	} good[] = { { "0", 0 },          { "1", 1000000000 },    { "0.01", 10000000 },
		     { "1%", 10000000 },  { "100%", 1000000000 }, { "2.5%", 25000000 },
		     { "0.5", 500000000 } };
	static const char *const bad[] = {
		"", "%", "-0.1", "1.5", "101%", "0.1 ", "1e-3", ".5", "often", "5", "99999999999999999999"
	};
	uint32_t rate;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(mor_parse_rate(mor_slice_of(good[i].text), &rate));
		assert_int_equal(rate, good[i].billionths);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(mor_parse_rate(mor_slice_of(bad[i]), &rate));
}

static void durations(void **state)
{
	static const struct {
		const char *text;
		uint32_t ms;
	} good[] = { { "30s", 30000 },   { "500ms", 500 },           { "2m", 120000 },
		     { "2min", 120000 }, { "1.5s", 1500 },           { "30", 30000 },
		     { "0", 0 },         { "0.0001s", 1 },           { "1h", 3600000 },
		     { "0.5ms", 1 },     { "2.25", 2250 },           { "4294967295ms", UINT32_MAX },
		     { "1.0s", 1000 },   { "0.1000000000001s", 101 } };
	static const char *const bad[] = { "",
					   "s",
					   "-1s",
					   "1 s",
					   "1.s",
					   ".5s",
					   "1d",
					   "1.2.3s",
					   "4294967296ms",
					   "50d",
					   "99999999999999999999s",
					   "4294967.296s",
					   "1S" };
	uint32_t ms;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(mor_parse_duration_ms(mor_slice_of(good[i].text), &ms));
		assert_int_equal(ms, good[i].ms);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(mor_parse_duration_ms(mor_slice_of(bad[i]), &ms));
}

static void byte_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = { { "4096", 4096 },
		     { "0", 0 },
		     { "4096B", 4096 },
		     { "64KiB", 65536 },
		     { "64K", 65536 },
		     { "64k", 65536 },
		     { "64KB", 64000 },
		     { "64M", 64ULL << 20 },
		     { "64m", 64ULL << 20 },
		     { "64MiB", 64ULL << 20 },
		     { "64mib", 64ULL << 20 },
		     { "64MB", 64000000 },
		     { "64mb", 64000000 },
		     { "1G", 1ULL << 30 },
		     { "1GiB", 1ULL << 30 },
		     { "1GB", 1000000000 },
		     { "2T", 2ULL << 40 },
		     { "2TB", 2000000000000 },
		     { "1.5G", 3ULL << 29 },
		     { "0.5K", 512 },
		     { "1.5MB", 1500000 },
		     { "0.1", 1 },
		     { "0.000000001T", 1100 },
		     { "0.999999999T", (1ULL << 40) - 1099 },
		     { "18446744073709551615", UINT64_MAX } };
	static const char *const bad[] = { "",
					   "KiB",
					   "1 KiB",
					   "1Ki",
					   "1X",
					   "1KBs",
					   "-1K",
					   "1.K",
					   ".5K",
					   "1.2.3K",
					   "1e3",
					   "M",
					   "1 M",
					   "18446744073709551615K",
					   "16777216T",
					   "18446744073709551615.5",
					   "99999999999999999999" };
	uint64_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		n = 1;
		assert_true(mor_parse_bytes(mor_slice_of(good[i].text), &n));
		assert_int_equal(n, good[i].bytes);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(mor_parse_bytes(mor_slice_of(bad[i]), &n));
}

static void formats(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal(mor_format_ms(0, out), "0 ms");
	assert_string_equal(mor_format_ms(500, out), "500 ms");
	assert_string_equal(mor_format_ms(1500, out), "1.5 s");
	assert_string_equal(mor_format_ms(30000, out), "30 s");
	assert_string_equal(mor_format_ms(300000, out), "5 min");
	assert_string_equal(mor_format_ms(61234, out), "61234 ms");
	assert_string_equal(mor_format_bytes(1, out), "1 byte");
	assert_string_equal(mor_format_bytes(1000, out), "1000 bytes");
	assert_string_equal(mor_format_bytes(65536, out), "64 KiB");
	assert_string_equal(mor_format_bytes(1572864, out), "1.5 MiB");
	mor_format_bytes(UINT64_MAX, out);
	mor_format_ms(UINT64_MAX, out);
}

static void utf8(void **state)
{
	static const char *const bad[] = { "\x80",
					   "\xbf",
					   "\xc0\x80",
					   "\xc1\xbf",
					   "\xc3",
					   "\xe0\x9f\xbf",
					   "\xed\xa0\x80",
					   "\xed\xbf\xbf",
					   "\xf0\x8f\xbf\xbf",
					   "\xf4\x90\x80\x80",
					   "\xf5\x80\x80\x80",
					   "\xff",
					   "\xe2\x82",
					   "\xf0\x9f\x98",
					   "\xe2\x28\xa1",
					   "\xf0\x9f\x28\x80" };
	static const char *const good[] = { "\x7f",         "\xc2\x80",         "\xdf\xbf",
					    "\xe0\xa0\x80", "\xed\x9f\xbf",     "\xee\x80\x80",
					    "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(mor_utf8_sequence(bad[i], strlen(bad[i])), 0);
		assert_false(mor_utf8_valid(mor_slice_of(bad[i])));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(mor_utf8_sequence(good[i], strlen(good[i])), strlen(good[i]));
	assert_true(mor_utf8_valid(MOR_SLICE("a\0b")));
	assert_true(mor_utf8_valid((struct mor_slice){ NULL, 0 }));
}

static size_t encode(uint32_t code, char out[4])
{
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* Each byte as \xNN, or the character itself. */
static void assert_shown(uint32_t code, bool as_it_is)
{
	char bytes[4], out[24], hex[9], wanted[24] = "";
	size_t n = encode(code, bytes);

	mor_printable((struct mor_slice){ bytes, n }, out, sizeof(out));
	mor_hex(bytes, n, hex);
	for (size_t i = 0; i < n; i++)
		snprintf(wanted + strlen(wanted), sizeof(wanted) - strlen(wanted), "\\x%.2s", hex + 2 * i);
	if (as_it_is)
		snprintf(wanted, sizeof(wanted), "%.*s", (int)n, bytes);
	assert_string_equal(out, wanted);
}

/* What nobody sees, and what changes the order of others, at both ends of each range; and their neighbours. */
static void unseen(void **state)
{
	static const uint32_t hidden[] = { 0x80,   0x9f,   0xad,   0x34f,  0x61c,  0x115f,  0x1160,  0x17b4,
					   0x180b, 0x180e, 0x200b, 0x200c, 0x200d, 0x200e,  0x200f,  0x2028,
					   0x2029, 0x202a, 0x202e, 0x2060, 0x2064, 0x2066,  0x2069,  0x206f,
					   0x3164, 0xfeff, 0xffa0, 0xfff9, 0xfffb, 0x1d173, 0xe0001, 0xe007f };
	static const uint32_t seen[] = { 0xa0,   0xac,   0xae,    0x61b,   0x61d,   0x2010,  0x2027,
					 0x202f, 0x205f, 0x2070,  0x20ac,  0x3163,  0x3165,  0xfe0f,
					 0xff9f, 0xfffd, 0x1f600, 0x1f468, 0xe1000, 0x10fffd };

	(void)state;
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		assert_shown(hidden[i], false);
	for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
		assert_shown(seen[i], true);
}

static void excerpts(void **state)
{
	char out[16], tiny[4], one[1];

	(void)state;
	assert_string_equal(mor_excerpt(MOR_SLICE("short"), out, sizeof(out)), "short");
	assert_string_equal(mor_excerpt(MOR_SLICE("a\nb\x1b\xff"), out, sizeof(out)), "a\\x0ab\\x1b\\xff");
	assert_string_equal(mor_excerpt(MOR_SLICE("say \"\\\""), out, sizeof(out)), "say \\\"\\\\\\\"");
	assert_string_equal(mor_excerpt(MOR_SLICE("123456789012345"), out, sizeof(out)), "123456789012345");
	assert_string_equal(mor_excerpt(MOR_SLICE("1234567890123456"), out, sizeof(out)), "123456789012...");
	assert_string_equal(mor_excerpt(MOR_SLICE("12345678901\xe2\x82\xac-"), out, sizeof(out)),
			    "12345678901\xe2\x82\xac-");
	assert_string_equal(mor_excerpt(MOR_SLICE("12345678901\xe2\x82\xac--"), out, sizeof(out)),
			    "12345678901...");
	assert_string_equal(mor_excerpt(MOR_SLICE("\xc2\x9b"), out, sizeof(out)), "\\xc2\\x9b");
	assert_string_equal(mor_excerpt(MOR_SLICE("abcd"), tiny, sizeof(tiny)), "...");
	assert_string_equal(mor_excerpt(MOR_SLICE("abc"), tiny, sizeof(tiny)), "abc");
	assert_string_equal(mor_excerpt(MOR_SLICE("abc"), one, sizeof(one)), "");
	assert_string_equal(mor_excerpt((struct mor_slice){ NULL, 0 }, out, sizeof(out)), "");
}

static void alternatives(void **state)
{
	(void)state;
	assert_true(mor_text_in(MOR_SLICE("b"), "a|b|c"));
	assert_true(mor_text_in(MOR_SLICE("c"), "a|b|c"));
	assert_true(mor_text_in(MOR_SLICE("a"), "a"));
	assert_false(mor_text_in(MOR_SLICE("a|b"), "a|b|c"));
	assert_false(mor_text_in(MOR_SLICE(""), "a|b"));
	assert_false(mor_text_in(MOR_SLICE("a"), NULL));
	assert_false(mor_text_in(MOR_SLICE("aa"), "a|b"));
}

/* Whole characters: a byte inside of one is not a control by itself. */
static void steering(void **state)
{
	static const char *const harmless[] = { "", "abc \"\\", "\xc3\x80", "\xe4\xb8\x80\xe4\xba\x9b",
						"\xff" };
	static const char *const others[] = { "a\x1b",        "\n",   "a\x7f",       "\xc2\x9b",
					      "\xe2\x80\xae", "\x9b", "\xc3\x80\x80" };

	(void)state;
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		assert_false(mor_text_steers(mor_slice_of(harmless[i])));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_true(mor_text_steers(mor_slice_of(others[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(numbers),    MOR_TEST(what_is_no_number), MOR_TEST(durations), MOR_TEST(rates),
		MOR_TEST(byte_sizes), MOR_TEST(formats),           MOR_TEST(utf8),      MOR_TEST(excerpts),
		MOR_TEST(unseen),     MOR_TEST(alternatives),      MOR_TEST(steering),
	};

	return mor_run_group("base/text", tests);
}
