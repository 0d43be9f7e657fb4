/* SPDX-License-Identifier: Apache-2.0 */
/* Entry streams: R32 to R35, decisions 20 and 22 (docs/dialects/kythe.md), docs/reference/kzip.md. */
#include "leak.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "kythe/entries/entries.h"
#include "tmp.h"
#include "wire/json.h"

/* A fact and an edge, as Kythe's own streams have them: fields 1,4,5 and 1,2,3,4. */
#define FACT \
	"\x0a\x06\x0a\x01s\x12\x01" \
	"c\x22\x02/f\x2a\x02\x00\xff"
#define EDGE "\x0a\x03\x0a\x01s\x12\x02/e\x1a\x03\x22\x01p\x22\x01/"
#define FACT_JSON \
	"{\"source\":{\"signature\":\"s\",\"corpus\":\"c\"},\"fact_name\":\"/f\",\"fact_value\":\"AP8=\"}"
#define EDGE_JSON \
	"{\"source\":{\"signature\":\"s\"},\"edge_kind\":\"/e\",\"target\":{\"path\":\"p\"},\"fact_name\":\"/\"}"

/* Hands out a memory in pieces of at most `step`. */
struct memory {
	const char *bytes;
	size_t len, at, step;
	int fails_with;
};

static ssize_t read_memory(void *arg, void *buffer, size_t len)
{
	struct memory *memory = arg;
	size_t n = memory->len - memory->at;

	if (n == 0 && memory->fails_with)
		return -memory->fails_with;
	if (memory->step && n > memory->step)
		n = memory->step;
	if (n > len)
		n = len;
	memcpy(buffer, memory->bytes + memory->at, n);
	memory->at += n;
	return (ssize_t)n;
}

static int collect(const void *bytes, size_t len, void *arg)
{
	return mor_buf_append(arg, bytes, len);
}

static int convert_bytes(const char *bytes, size_t len, size_t step, enum mor_stream_format from,
			 enum mor_stream_format to, size_t limit, struct mor_buf *out,
			 struct mor_convert_stats *stats, mortise_error *err)
{
	struct memory memory = { .bytes = bytes, .len = len, .step = step };
	struct mor_entries entries = {
		.records = { .read = read_memory, .arg = &memory, .format = from, .limit = limit }
	};
	int r = mor_entries_convert(&entries, to, collect, out, stats, err);

	mor_entries_fini(&entries);
	return r;
}

static void expect_converted(struct mor_slice from, enum mor_stream_format in, struct mor_slice to,
			     enum mor_stream_format out_format)
{
	for (size_t step = 0; step <= from.len; step++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		struct mor_convert_stats stats = { 0 };
		mortise_error err = { 0 };

		if (convert_bytes(from.ptr, from.len, step, in, out_format, 0, &out, &stats, &err) < 0)
			fail_msg("in steps of %zu: %s", step, err.text);
		assert_int_equal(stats.records, 2);
		assert_int_equal(stats.bytes_in, from.len);
		assert_int_equal(stats.bytes_out, to.len);
		assert_true(mor_slice_eq(mor_buf_view(&out), to));
	}
}

static const char delimited[] = "\x10" FACT "\x11" EDGE;
static const char json_records[] = "\x4e" FACT_JSON "\x53" EDGE_JSON;
static const char json_lines[] = FACT_JSON "\n" EDGE_JSON "\n";
#define WHOLE(array) ((struct mor_slice){ (array), sizeof(array) - 1 })

/* R33, R34: both encodings give the same stream, however the bytes arrive. */
static void test_every_pair_of_formats(void **state)
{
	const struct mor_slice streams[] = { WHOLE(delimited), WHOLE(json_records), WHOLE(json_lines) };

	(void)state;
	for (unsigned from = 0; from < 3; from++)
		for (unsigned to = 0; to < 3; to++)
			expect_converted(streams[from], (enum mor_stream_format)from, streams[to],
					 (enum mor_stream_format)to);
}

static int convert_error(const char *bytes, size_t len, enum mor_stream_format from, size_t limit,
			 mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

	return convert_bytes(bytes, len, 1, from, MOR_STREAM_PROTOBUF, limit, &out, NULL, err);
}

#define REFUSED(bytes, format, code, expected) \
	do { \
		mortise_error err_ = { 0 }; \
		assert_int_equal(convert_error((bytes), sizeof(bytes) - 1, (format), 0, &err_), (code)); \
		assert_string_equal(err_.text, (expected)); \
	} while (0)

/* Decision 20: an incomplete trailing record or a bad varint is an error, with its place. */
static void test_truncated(void **state)
{
	(void)state;
	for (size_t len = 1; len < sizeof(delimited) - 1; len++) {
		bool whole = len == 1 + sizeof(FACT) - 1;
		mortise_error err = { 0 };
		int r = convert_error(delimited, len, MOR_STREAM_PROTOBUF, 0, &err);

		assert_int_equal(r, whole ? 0 : MORTISE_EINPUT);
		if (!whole)
			assert_string_equal(err.text, len < sizeof(FACT) ?
							      "record 1 at byte 0: the stream ends inside it" :
							      "record 2 at byte 17: the stream ends inside it");
	}
	REFUSED("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", MOR_STREAM_PROTOBUF, MORTISE_EINPUT,
		"record 1 at byte 0: its length is not a varint");
	REFUSED("\x80", MOR_STREAM_JSON, MORTISE_EINPUT, "record 1 at byte 0: the stream ends inside it");
}

static void test_limit(void **state)
{
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(convert_error(delimited, sizeof(delimited) - 1, MOR_STREAM_PROTOBUF, 16, &err),
			 MORTISE_ELIMIT);
	assert_string_equal(err.text, "record 2 at byte 17: its 17 bytes are over the limit of 16 bytes");
	assert_int_equal(convert_error(json_lines, sizeof(json_lines) - 1, MOR_STREAM_LINES, 70, &err),
			 MORTISE_ELIMIT);
	/* A length that is only claimed costs no memory. */
	assert_int_equal(convert_error("\xff\xff\xff\xff\x7f", 5, MOR_STREAM_PROTOBUF, 0, &err),
			 MORTISE_ELIMIT);
}

/* 3.4, ValidEntry: source set; fact_name non-empty; edge_kind empty <=> target unset. */
static void test_valid_entry(void **state)
{
	(void)state;
	REFUSED("\x04\x22\x02/f", MOR_STREAM_PROTOBUF, MORTISE_EINPUT,
		"record 1 at byte 0: an entry without source");
	REFUSED("\x02\x0a\x00", MOR_STREAM_PROTOBUF, MORTISE_EINPUT,
		"record 1 at byte 0: an entry without fact name");
	REFUSED("\x09\x0a\x00\x12\x02/e\x22\x01/", MOR_STREAM_PROTOBUF, MORTISE_EINPUT,
		"record 1 at byte 0: an edge without target");
	REFUSED("\x07\x0a\x00\x1a\x00\x22\x01/", MOR_STREAM_PROTOBUF, MORTISE_EINPUT,
		"record 1 at byte 0: a target without edge kind");
	REFUSED("{\"source\":{}}\n", MOR_STREAM_LINES, MORTISE_EINPUT,
		"record 1 at byte 0: an entry without fact name");
	REFUSED("\x00", MOR_STREAM_PROTOBUF, MORTISE_EINPUT, "record 1 at byte 0: an entry without source");
}

static void test_bad_records(void **state)
{
	(void)state;
	REFUSED("\x02\x0a\x05", MOR_STREAM_PROTOBUF, MORTISE_EINPUT,
		"record 1 at byte 0: not a kythe.proto.Entry");
	REFUSED("\x02\x08\x01", MOR_STREAM_PROTOBUF, MORTISE_EINPUT,
		"record 1 at byte 0: not a kythe.proto.Entry");
	REFUSED("\x04\x22\x02\xc3\x28", MOR_STREAM_PROTOBUF, MORTISE_EINPUT,
		"record 1 at byte 0: fact_name is not UTF-8");
	REFUSED("\x05\x0a\x03\x0a\x01\xff", MOR_STREAM_PROTOBUF, MORTISE_EINPUT,
		"record 1 at byte 0: signature is not UTF-8");
	REFUSED("\x02[]", MOR_STREAM_JSON, MORTISE_EINPUT, "record 1 at byte 0: not a JSON object");
	REFUSED("\n{\"sauce\":1}", MOR_STREAM_LINES, MORTISE_EINPUT,
		"record 1 at byte 0: sauce: unknown field of an Entry");
	REFUSED("{\"source\":{\"corpse\":\"\"}}", MOR_STREAM_LINES, MORTISE_EINPUT,
		"record 1 at byte 0: corpse: unknown field of a VName");
	REFUSED("{\"source\":1}", MOR_STREAM_LINES, MORTISE_EINPUT,
		"record 1 at byte 0: source: expected an object");
	REFUSED("{\"source\":{\"path\":1}}", MOR_STREAM_LINES, MORTISE_EINPUT,
		"record 1 at byte 0: path: expected a string");
	REFUSED("{\"factValue\":\"=\"}", MOR_STREAM_LINES, MORTISE_EINPUT,
		"record 1 at byte 0: factValue: not base64");
	REFUSED("{\"source\":{},\"source\":{}}", MOR_STREAM_LINES, MORTISE_EINPUT,
		"record 1 at byte 0: source: given twice");
}

/* Decision 22: camelCase and snake_case names, base64 standard or URL, padded or not. */
static void test_json_spellings(void **state)
{
	static const char *const records[] = {
		"{\"source\":{\"signature\":\"s\",\"corpus\":\"c\"},\"factName\":\"/f\",\"factValue\":\"AP8\"}",
		"{\"fact_value\":\"AP8=\",\"source\":{\"corpus\":\"c\",\"signature\":\"s\",\"root\":null},\"target\":null,\"fact_name\":\"/f\",\"edgeKind\":\"\"}",
		"\t{\"fact_value\":\"AAAA\",\"fact_value\":\"AP8=\",\"source\":{\"corpus\":\"c\",\"signature\":\"s\"},\"fact_name\":\"/f\"} ",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		mortise_error err = { 0 };

		if (convert_bytes(records[i], strlen(records[i]), 0, MOR_STREAM_LINES, MOR_STREAM_PROTOBUF, 0,
				  &out, NULL, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(mor_slice_eq(mor_buf_view(&out), (struct mor_slice){ delimited, 17 }));
	}
}

/* R35: other analyses' records pass without being looked into. */
static void test_records_of_any_kind(void **state)
{
	struct memory memory = { .bytes = "\x03"
					  "abc\x00\x01z",
				 .len = 7,
				 .step = 2 };
	struct mor_records records = { .read = read_memory, .arg = &memory, .format = MOR_STREAM_PROTOBUF };
	struct mor_slice record;

	(void)state;
	assert_int_equal(mor_records_next(&records, &record, NULL), 1);
	assert_true(mor_slice_is(record, "abc"));
	assert_int_equal(mor_records_next(&records, &record, NULL), 1);
	assert_int_equal(record.len, 0);
	assert_int_equal(mor_records_next(&records, &record, NULL), 1);
	assert_true(mor_slice_is(record, "z"));
	assert_int_equal(mor_records_next(&records, &record, NULL), 0);
	assert_int_equal(mor_records_next(&records, &record, NULL), 0);
	assert_int_equal(records.count, 3);
	assert_int_equal(records.offset, 7);
	mor_records_fini(&records);
}

static void test_read_error(void **state)
{
	struct memory memory = { .bytes = "\x03"
					  "ab",
				 .len = 3,
				 .fails_with = EIO };
	struct mor_records records = { .read = read_memory, .arg = &memory };
	struct mor_slice record;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_records_next(&records, &record, &err), MORTISE_ESYSTEM);
	assert_int_equal(err.os_errno, EIO);
	mor_records_fini(&records);
}

/* A file that grows after `done` is read to the size that it had. */
static void test_descriptor_up_to_an_end(void **state)
{
	char path[TMP_ROOM];
	struct mor_fd_source source = { .fd = mkostemp(tmp_name(path, "entries"), O_CLOEXEC), .end = 17 };
	struct mor_entries entries = { .records = { .read = mor_fd_read_source, .arg = &source } };
	struct mor_entry entry;

	(void)state;
	unlink(path);
	assert_int_equal(pwrite(source.fd, delimited, sizeof(delimited) - 1, 0), sizeof(delimited) - 1);
	assert_int_equal(mor_entries_next(&entries, &entry, NULL), 1);
	assert_true(mor_slice_is(entry.fact_name, "/f"));
	assert_int_equal(entry.fact_value.len, 2);
	assert_int_equal(mor_entries_next(&entries, &entry, NULL), 0);
	mor_entries_fini(&entries);
	close(source.fd);
}

/* Skipping looks at most records in a quicker way: it must come to what reading comes to. */
static void expect_same_judgement(const char *bytes, size_t len, size_t step)
{
	struct memory read = { .bytes = bytes, .len = len, .step = step }, skipped = read;
	struct mor_entries entries = { .records = { .read = read_memory, .arg = &read } };
	struct mor_entries again = { .records = { .read = read_memory, .arg = &skipped } };
	mortise_error first = { 0 }, second = { 0 };
	struct mor_entry entry;
	int r, skip;

	while ((r = mor_entries_next(&entries, &entry, &first)) > 0) {
	}
	while ((skip = mor_entries_skip(&again, &second)) > 0) {
	}
	assert_int_equal(skip, r);
	assert_string_equal(second.text, first.text);
	assert_int_equal(again.records.count, entries.records.count);
	assert_int_equal(again.records.offset, entries.records.offset);
	mor_entries_fini(&entries);
	mor_entries_fini(&again);
}

#define FORTY "1234567890123456789012345678901234567890"
#define SOURCE \
	"\x0a\x1d\x0a\x12signature-of-thing\x12\x02" \
	"co\x2a\x03" \
	"c++"
/* The same source twice, texts around the 16 bytes that are looked at in one go, a length of two bytes. */
static const char plain[] =
	"\x2b" SOURCE "\x22\x05/fact\x2a\x03"
	"a\xff\x00"
	"\x26" SOURCE "\x22\x05/fact"
	"\x44" SOURCE "\x12\x0a/edge/kind\x1a\x14\x0a\x0csome-target/\x22\x04path\x22\x01/"
	"\x82\x01" SOURCE "\x22\x0f/fifteen-bytes/\x2a\x50"
	"12345678901234567890123456789012345678901234567890123456789012345678901234567890\xa8\x01\x0a\x88\x01\x0a\x82\x01" FORTY
		FORTY FORTY "0123456789\x12\x01k\x12\x05/edge\x1a\x03\x0a\x01t\x22\x01/\x2a\x0c"
	"x\xff"
	"0123456789";

/* The last tests make over 100,000 readers. Each makes room for 256 KiB and uses a few hundred bytes: to fill
 * all of it (MALLOC_PERTURB_) would be most of their work. */
static int leave_memory_unfilled(void **state)
{
	mallopt(M_PERTURB, 0);
	return leak_setup(state);
}

static void test_quick_and_careful_agree(void **state)
{
	char bytes[sizeof(plain) - 1];
	uint64_t count = 0;

	(void)state;
	assert_int_equal(mor_entries_quick((struct mor_slice){ plain, sizeof(bytes) }, &count), sizeof(bytes));
	assert_int_equal(count, 5);
	for (size_t len = 0; len <= sizeof(bytes); len++)
		expect_same_judgement(plain, len, 0);
	for (size_t at = 0; at < sizeof(bytes); at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			memcpy(bytes, plain, sizeof(bytes));
			bytes[at] = (char)((unsigned char)bytes[at] ^ 1u << bit);
			expect_same_judgement(bytes, sizeof(bytes), 0);
			expect_same_judgement(bytes, sizeof(bytes), 100);
		}
}

/* One record: a source with a path, a fact with a name, each as long as it is asked for. */
static size_t put_record(char *to, unsigned path_len, unsigned name_len)
{
	char *at = to;

	*at++ = (char)(path_len + name_len + 6);
	if (path_len + name_len + 6 >= 0x80) {
		at[-1] = (char)((path_len + name_len + 6) | 0x80);
		*at++ = (char)((path_len + name_len + 6) >> 7);
	}
	*at++ = 0x0a;
	*at++ = (char)(path_len + 2);
	*at++ = 0x22;
	*at++ = (char)path_len;
	memset(at, 'p', path_len);
	at += path_len;
	*at++ = 0x22;
	*at++ = (char)name_len;
	*at = '/';
	memset(at + 1, 'n', name_len - 1);
	return (size_t)(at + name_len - to);
}

/* Texts of every length, with a byte in every place that is no ASCII; the second record has the source
 * of the first. */
static void test_quick_lengths(void **state)
{
	char bytes[600];

	(void)state;
	for (unsigned len = 1; len < 126; len++) {
		size_t first = put_record(bytes, len, 126 - len),
		       all = first + put_record(bytes + first, len, 2);
		uint64_t count = 0;

		assert_int_equal(mor_entries_quick((struct mor_slice){ bytes, all }, &count), all);
		for (size_t at = 0; at < all; at++) {
			bytes[at] = (char)((unsigned char)bytes[at] ^ 0x80);
			expect_same_judgement(bytes, all, 0);
			bytes[at] = (char)((unsigned char)bytes[at] ^ 0x81);
			expect_same_judgement(bytes, all, 0);
			bytes[at] = (char)((unsigned char)bytes[at] ^ 0x01);
		}
	}
}

static int refuse_all(const void *bytes, size_t len, void *arg)
{
	(void)bytes;
	(void)len;
	(void)arg;
	return MORTISE_ECANCELED;
}

static void test_sink_that_refuses(void **state)
{
	struct memory memory = { .bytes = delimited, .len = sizeof(delimited) - 1 };
	struct mor_entries entries = { .records = { .read = read_memory, .arg = &memory } };

	(void)state;
	assert_int_equal(mor_entries_convert(&entries, MOR_STREAM_LINES, refuse_all, NULL, NULL, NULL),
			 MORTISE_ECANCELED);
	mor_entries_fini(&entries);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_every_pair_of_formats),
		MOR_TEST(test_truncated),
		MOR_TEST(test_limit),
		MOR_TEST(test_valid_entry),
		MOR_TEST(test_bad_records),
		MOR_TEST(test_json_spellings),
		MOR_TEST(test_records_of_any_kind),
		MOR_TEST(test_read_error),
		MOR_TEST(test_descriptor_up_to_an_end),
		MOR_TEST(test_sink_that_refuses),
		cmocka_unit_test_setup_teardown(test_quick_lengths, leave_memory_unfilled, leak_teardown),
		cmocka_unit_test_setup_teardown(test_quick_and_careful_agree, leave_memory_unfilled,
						leak_teardown),
	};

	return mor_run_group("kythe/entries/entries", tests);
}
