/* SPDX-License-Identifier: Apache-2.0 */
/* The short cut for small flat objects (wire/flat.h) against the tree parser, on texts made of tokens. */
#include "leak.h"

#include "base/alloc.h"
#include "base/buf.h"
#include "wire/envelope.h"
#include "wire/flat.h"

#define TEXTS 200000

static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Mostly what belongs there, sometimes anything. */
static const char *pick(uint32_t *seed, const char *usual)
{
	static const char *const any[] = { "{",        "}",  "[",   "]",  ":",    ",",       "\"",
					   "\"k\"",    " ",  "\n",  "\t", "true", "null",    "fals",
					   "12",       "-",  "0",   "07", "1.5",  "\"\\n\"", "\"\xc3\xa9\"",
					   "\"\x01\"", "\\", "\x7f" };

	return next_random(seed) % 24 ? usual : any[next_random(seed) % (sizeof(any) / sizeof(any[0]))];
}

static const char *pick_value(uint32_t *seed)
{
	static const char *const values[] = { "\"\"",  "\"v\"", "\"a longer text with blanks\"",
					      "0",     "-7",    "-0",
					      "31415", "true",  "false",
					      "null" };

	return pick(seed, values[next_random(seed) % (sizeof(values) / sizeof(values[0]))]);
}

static void make_text(uint32_t *seed, struct mor_buf *out)
{
	unsigned members = 1 + next_random(seed) % 5;
	bool spaced = next_random(seed) % 2;

	mor_buf_reset(out, SIZE_MAX);
	mor_buf_text(out, "{");
	for (unsigned i = 0; i < members; i++) {
		mor_buf_text(out, i ? pick(seed, spaced ? ", " : ",") : "");
		mor_buf_text(out, pick(seed, i % 2 ? "\"name\"" : "\"a_long_name\""));
		mor_buf_text(out, pick(seed, spaced ? ": " : ":"));
		mor_buf_text(out, pick_value(seed));
	}
	mor_buf_text(out, pick(seed, "}"));
	mor_buf_text(out, pick(seed, ""));
}

/* True: it was taken. The text is in memory of exactly its size, so that a sanitizer sees every
 * byte too far. */
static bool judge(struct mor_slice made)
{
	MOR_CLEAN(mor_doc) struct mor_doc *doc = NULL;
	unsigned char *text = mor_alloc(made.len);
	mor_spot end;

	memcpy(text, made.ptr, made.len);
	end = mor_flat_object(text, text + made.len);
	if (end &&
	    mor_doc_parse((struct mor_slice){ (char *)text, (size_t)(end - text) }, 0, 0, &doc, NULL) < 0)
		fail_msg("taken, but no JSON: %.*s", (int)made.len, made.ptr);
	if (end)
		assert_int_equal(mor_json_type(mor_doc_root(doc)), MOR_JSON_OBJECT);
	mor_free(text);
	return end != NULL;
}

static void takes_only_what_is_json(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	uint32_t seed = 20;
	unsigned taken = 0;

	(void)state;
	for (unsigned i = 0; i < TEXTS; i++) {
		make_text(&seed, &text);
		taken += judge(mor_buf_view(&text));
	}
#ifdef __SSE2__
	assert_true(taken > TEXTS / 10);
	assert_true(taken < TEXTS);
#endif
}

static void depth_counts_here_too(void **state)
{
	struct mor_slice one = MOR_SLICE("{\"text\":\"the quick brown fox\"}");
	struct mor_slice reply =
		MOR_SLICE("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"text\":\"the quick brown fox\"}}");
	struct mor_message message;

	(void)state;
	assert_true(mor_json_valid(one, 0, 1, NULL));
	assert_int_equal(mor_envelope_scan(reply, 0, 2, &message, NULL), 0);
	assert_int_equal(message.id_int, 7);
	assert_int_equal(message.result.len, one.len);
	assert_int_equal(mor_envelope_scan(reply, 0, 1, &message, NULL), MORTISE_EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(takes_only_what_is_json),
		MOR_TEST(depth_counts_here_too),
	};

	return mor_run_group("wire/flat", tests);
}
