/* SPDX-License-Identifier: Apache-2.0 */
/* A segment is read as it was written, every damage is found, and a manifest gives the stream. */
#include "leak.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "depot/segment.h"
#include "top.h"

#define KEY  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define MANY ((size_t)300000)

static struct mor_depot *depot;
static char many[MANY];

static int setup(void **state)
{
	(void)state;
	assert_int_equal(top_make("segment"), 0);
	assert_int_equal(mor_depot_open(top, MOR_DEPOT_OWN, &depot, NULL), 0);
	for (size_t i = 0; i < MANY; i++)
		many[i] = (char)(i * i / 97);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	depot = mor_depot_free(depot);
	return top_drop(state);
}

/* The bytes of a unit, and its line. */
static void put(struct mor_segment_writer *writer, const char *bytes, struct mor_segment_unit *unit)
{
	if (unit->bytes)
		assert_int_equal(mor_segment_writer_put(writer, bytes, unit->bytes, NULL), 0);
	assert_int_equal(mor_segment_writer_end(writer, true, &unit->at, NULL), 0);
	assert_int_equal(mor_segment_writer_add(writer, unit, NULL), 0);
}

/* Four units: small, without bytes, failed, and larger than any buffer. */
static void write_segment(char digest[MOR_DIGEST_SIZE])
{
	struct mor_segment_unit small = {
		.bytes = 5, .sum = mor_sum("hello", 5, 0), .records = 2, .attempts = 1
	};
	struct mor_segment_unit empty = { .sum = mor_sum("", 0, 0), .attempts = 1 };
	struct mor_segment_unit bad = { .sum = mor_sum("", 0, 0),
					.code = MORTISE_ECRASHED,
					.attempts = 3,
					.name = mor_slice_of("a\tb\n"),
					.why = mor_slice_of("it\tdied\n") };
	struct mor_segment_unit large = { .bytes = MANY, .sum = mor_sum(many, MANY, 0), .attempts = 2 };
	struct mor_segment_writer *writer = NULL;

	assert_int_equal(mor_segment_writer_new(depot, KEY, 4, &writer, NULL), 0);
	put(writer, "hello", &small);
	put(writer, "", &empty);
	put(writer, "", &bad);
	mor_segment_writer_log(writer, 2, mor_slice_of("stack\nof it"));
	put(writer, many, &large);
	assert_int_equal(mor_segment_writer_finish(writer, digest, NULL), 0);
	mor_segment_writer_free(writer);
}

static int gather(const void *bytes, size_t len, void *arg)
{
	return mor_buf_append(arg, bytes, len);
}

static void test_read_again(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_segment *segment = NULL;
	char digest[MOR_DIGEST_SIZE];

	(void)state;
	write_segment(digest);
	assert_int_equal(mor_segment_open(depot, digest, &segment, NULL), 0);
	assert_int_equal(segment->count, 4);
	assert_string_equal(segment->key, KEY);
	assert_int_equal(segment->bytes, MANY + 5);
	assert_int_equal(segment->units[0].records, 2);
	assert_int_equal(segment->units[2].code, MORTISE_ECRASHED);
	assert_int_equal(segment->units[2].attempts, 3);
	assert_memory_equal(segment->units[2].name.ptr, "a\\x09b\\x0a", segment->units[2].name.len);
	assert_int_equal(segment->log_count, 1);
	assert_int_equal(segment->logs[0].unit, 2);
	assert_int_equal(mor_segment_unpack(segment, 3, gather, &out, NULL), 0);
	assert_int_equal(out.len, MANY);
	assert_memory_equal(out.data, many, MANY);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(mor_segment_unpack(segment, i, gather, &out, NULL), 0);
	assert_int_equal(out.len, MANY + 5);
	assert_memory_equal(out.data + MANY, "hello", 5);
	mor_segment_free(segment);
}

/* The same input gives the same bytes: two workers that do a batch make one file. */
static void test_same(void **state)
{
	char a[MOR_DIGEST_SIZE], b[MOR_DIGEST_SIZE];

	(void)state;
	write_segment(a);
	write_segment(b);
	assert_string_equal(a, b);
}

static void refuse(const char *digest, int status)
{
	struct mor_segment *segment = NULL;
	mortise_error err = { 0 };

	assert_int_equal(mor_segment_open(depot, digest, &segment, &err), status);
	assert_null(segment);
	assert_true(err.text[0]);
}

/* A byte changed anywhere, or the file cut anywhere, does not have its digest. */
static void test_damage(void **state)
{
	char digest[MOR_DIGEST_SIZE];
	char *path, *bytes = NULL;
	size_t len = 0;

	(void)state;
	write_segment(digest);
	path = mor_depot_name(depot, MOR_DEPOT_SEGMENT, digest);
	assert_int_equal(mor_fd_read_file(path, (size_t)1 << 30, &bytes, &len), 0);
	for (size_t at = 0; at < len; at += at < len - 400 ? 1009 : 7) {
		int fd = open(path, O_WRONLY | O_CLOEXEC);
		char other = (char)(bytes[at] ^ 1);

		assert_int_equal(pwrite(fd, &other, 1, (off_t)at), 1);
		refuse(digest, MORTISE_EINPUT);
		assert_int_equal(pwrite(fd, bytes + at, 1, (off_t)at), 1);
		assert_int_equal(ftruncate(fd, (off_t)at), 0);
		refuse(digest, MORTISE_EINPUT);
		assert_int_equal(pwrite(fd, bytes + at, len - at, (off_t)at), len - at);
		close(fd);
	}
	unlink(path);
	refuse(digest, MORTISE_ENOTFOUND);
	mor_free(path);
	mor_free(bytes);
}

/* A worker that lies: the digest is right, the content is not. */
static void lie(struct mor_slice text)
{
	char digest[MOR_DIGEST_SIZE];

	assert_int_equal(mor_depot_put_text(depot, MOR_DEPOT_SEGMENT, text, digest, NULL), 0);
	refuse(digest, MORTISE_EINPUT);
}

static void lie_about(const char *list)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;

	mor_buf_text(&text, list);
	mor_buf_printf(&text, "end %016zx %016llx\n", strlen(list),
		       (unsigned long long)mor_sum(list, strlen(list), 0));
	lie(mor_buf_view(&text));
}

static void test_lies(void **state)
{
	(void)state;
	lie(mor_slice_of(""));
	lie(mor_slice_of("end 0000000000000000 0000000000000000\n"));
	lie_about("mortise-segment 1 " KEY " 0\n");
	lie_about("mortise-segment 4 " KEY " 0\n");
	lie_about("mortise-segment 3 " KEY " 1\n");
	lie_about("mortise-segment 3 x 0\n");
	lie_about("mortise-segment 3 " KEY " 99999999999\n");
	lie_about("mortise-segment 3 " KEY " 1\ndone 7 0 0000000000000000 0 1\n");
	lie_about("mortise-segment 3 " KEY " 1\ndone 0 0 zz 0 1\n");
	lie_about("mortise-segment 3 " KEY " 1\nother 0 0 0000000000000000 0 1\n");
	lie_about("mortise-segment 3 " KEY " 1\nfailed 0 0 0000000000000000 0 1 a\tb\n");
	lie_about("mortise-segment 3 " KEY " 1\nlog 5 text\ndone 0 0 0000000000000000 0 1\n");
	lie_about("mortise-segment 3 " KEY " 1\ndone 0 7 0000000000000000 0 1\n");
	lie_about("mortise-segment 3 " KEY " 0\ndone 0 0 0000000000000000 0 1\n");
}

/* A segment with these packed bytes, and one unit, "hello". */
static int open_other(int version, struct mor_slice packed, struct mor_segment **ret, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
	char list[200], digest[MOR_DIGEST_SIZE];
	int len = snprintf(list, sizeof(list), "mortise-segment %d " KEY " 1\ndone 0 5 %016llx 1 1\n", version,
			   (unsigned long long)mor_sum("hello", 5, 0));

	mor_buf_append(&text, packed.ptr, packed.len);
	mor_buf_printf(&text, "%send %016x %016llx\n", list, (unsigned)len,
		       (unsigned long long)mor_sum(list, (size_t)len, 0));
	assert_int_equal(mor_depot_put_text(depot, MOR_DEPOT_SEGMENT, mor_buf_view(&text), digest, NULL), 0);
	return mor_segment_open(depot, digest, ret, err);
}

/* Stores and manifests are older than this version: what version 3 has packed is read, with its folds. What a
 * later one packs is refused, and the line says why. */
static void test_versions(void **state)
{
	/* frames of one raw block (RFC 8878, section 3.1.1): as it is, and folded: 3, "hel", 1
	 * from 2, 1, "o", 0 */
	static const char now[] = "\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello";
	static const char old[] = "\x28\xb5\x2f\xfd\x20\x09\x49\0\0\3hel\1\2\1o\0";
	static const struct {
		int version;
		const char *packed;
		size_t len;
		int opened, unpacked;
	} rows[] = { { 2, now, sizeof(now) - 1, 0, 0 },
		     { 3, old, sizeof(old) - 1, 0, 0 },
		     { 2, old, sizeof(old) - 1, 0, MORTISE_EINPUT },
		     { 3, now, sizeof(now) - 1, 0, MORTISE_EINPUT },
		     { 4, now, sizeof(now) - 1, MORTISE_EINPUT, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		struct mor_segment *segment = NULL;
		mortise_error err = { 0 };
		struct mor_slice packed = { rows[i].packed, rows[i].len };

		assert_int_equal(open_other(rows[i].version, packed, &segment, &err), rows[i].opened);
		if (rows[i].opened < 0) {
			assert_non_null(strstr(err.text, "of another version of mortise: this one reads"));
			continue;
		}
		assert_int_equal(mor_segment_unpack(segment, 0, gather, &out, &err), rows[i].unpacked);
		if (!rows[i].unpacked) {
			assert_int_equal(out.len, 5);
			assert_memory_equal(out.data, "hello", 5);
		}
		mor_segment_free(segment);
	}
}

/* Bytes that are no frame, that are more than they should be, and that are missing. */
static void test_false_frames(void **state)
{
	static const char list[] = "mortise-segment 3 " KEY " 1\ndone 0 %s 0000000000000000 0 1\n";
	static const char *const sizes[] = { "5", "0", "1000" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf text = MOR_BUF_INIT;
		struct mor_segment *segment = NULL;
		char digest[MOR_DIGEST_SIZE], lines[200];
		mortise_error err = { 0 };
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		char *format = strdup(list), *place = strstr(format, "%s");

		*place = '\0';
		snprintf(lines, sizeof(lines), "%s%s%s", format, sizes[i], place + 2);
		free(format);
		mor_buf_printf(&text, "bytes%send %016zx %016llx\n", lines, strlen(lines),
			       (unsigned long long)mor_sum(lines, strlen(lines), 0));
		assert_int_equal(mor_depot_put_text(depot, MOR_DEPOT_SEGMENT, mor_buf_view(&text), digest,
						    NULL),
				 0);
		if (sizes[i][0] == '0') {
			refuse(digest, MORTISE_EINPUT);
			continue;
		}
		assert_int_equal(mor_segment_open(depot, digest, &segment, &err), 0);
		assert_int_equal(mor_segment_unpack(segment, 0, gather, &out, &err), MORTISE_EINPUT);
		assert_non_null(strstr(err.text, "unit 1: "));
		mor_segment_free(segment);
	}
}

/* Units whose bytes are put as they end: the second one first, and two attempts that are taken back. */
static void put_units(size_t bad_len, char digest[MOR_DIGEST_SIZE])
{
	struct mor_segment_unit first = { .bytes = MANY, .sum = mor_sum(many, MANY, 0), .attempts = 2 };
	struct mor_segment_unit second = { .bytes = 5, .sum = mor_sum("hello", 5, 0), .attempts = 1 };
	struct mor_segment_writer *writer = NULL;
	uint64_t at;

	assert_int_equal(mor_segment_writer_new(depot, KEY, 2, &writer, NULL), 0);
	assert_int_equal(mor_segment_writer_put(writer, many + 1, bad_len, NULL), 0);
	assert_int_equal(mor_segment_writer_end(writer, false, &at, NULL), 0);
	assert_int_equal(mor_segment_writer_put(writer, "hel", 3, NULL), 0);
	assert_int_equal(mor_segment_writer_put(writer, "lo", 2, NULL), 0);
	assert_int_equal(mor_segment_writer_end(writer, true, &second.at, NULL), 0);
	assert_int_equal(mor_segment_writer_put(writer, many + 2, bad_len, NULL), 0);
	assert_int_equal(mor_segment_writer_end(writer, false, &at, NULL), 0);
	assert_int_equal(mor_segment_writer_put(writer, many, MANY, NULL), 0);
	assert_int_equal(mor_segment_writer_end(writer, true, &first.at, NULL), 0);
	assert_int_equal(second.at, 0);
	assert_int_equal(first.at, 5);
	assert_int_equal(mor_segment_writer_add(writer, &first, NULL), 0);
	assert_int_equal(mor_segment_writer_add(writer, &second, NULL), 0);
	assert_int_equal(mor_segment_writer_finish(writer, digest, NULL), 0);
	mor_segment_writer_free(writer);
}

static void test_taken_back(void **state)
{
	static const size_t lengths[] = { 1, 1000, MANY - 2 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		struct mor_segment *segment = NULL;
		char digest[MOR_DIGEST_SIZE];

		put_units(lengths[i], digest);
		assert_int_equal(mor_segment_open(depot, digest, &segment, NULL), 0);
		assert_int_equal(segment->bytes, MANY + 5);
		for (size_t unit = 0; unit < 2; unit++)
			assert_int_equal(mor_segment_unpack(segment, unit, gather, &out, NULL), 0);
		assert_int_equal(out.len, MANY + 5);
		assert_memory_equal(out.data, many, MANY);
		assert_memory_equal(out.data + MANY, "hello", 5);
		mor_segment_free(segment);
	}
}

/* A worker that packs more than it says: a small frame can hold any amount. */
static void test_more_than_said(void **state)
{
	struct mor_segment_unit unit = { .bytes = 5, .sum = mor_sum("hello", 5, 0), .attempts = 1 };
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_segment_writer *writer = NULL;
	struct mor_segment *segment = NULL;
	char digest[MOR_DIGEST_SIZE];
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_segment_writer_new(depot, KEY, 1, &writer, NULL), 0);
	assert_int_equal(mor_segment_writer_put(writer, "hello and more", 14, NULL), 0);
	assert_int_equal(mor_segment_writer_end(writer, true, &unit.at, NULL), 0);
	assert_int_equal(mor_segment_writer_add(writer, &unit, NULL), 0);
	assert_int_equal(mor_segment_writer_finish(writer, digest, NULL), 0);
	mor_segment_writer_free(writer);
	assert_int_equal(mor_segment_open(depot, digest, &segment, &err), 0);
	assert_int_equal(mor_segment_unpack(segment, 0, gather, &out, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "longer than its list says"));
	mor_segment_free(segment);
}

/* Units at places that are not a stream: over each other, with a hole, and back too often. */
static void test_places(void **state)
{
	static const uint64_t at[][2] = { { 0, 0 }, { 0, 3 }, { 0, 6 }, { 4, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++) {
		struct mor_segment_writer *writer = NULL;
		struct mor_segment *segment = NULL;
		char digest[MOR_DIGEST_SIZE];
		uint64_t place;

		assert_int_equal(mor_segment_writer_new(depot, KEY, 2, &writer, NULL), 0);
		assert_int_equal(mor_segment_writer_put(writer, "hellohello", 10, NULL), 0);
		assert_int_equal(mor_segment_writer_end(writer, true, &place, NULL), 0);
		for (size_t k = 0; k < 2; k++) {
			struct mor_segment_unit unit = {
				.at = at[i][k], .bytes = 5, .sum = mor_sum("hello", 5, 0), .attempts = 1
			};

			assert_int_equal(mor_segment_writer_add(writer, &unit, NULL), 0);
		}
		assert_int_equal(mor_segment_writer_finish(writer, digest, NULL), 0);
		mor_segment_writer_free(writer);
		assert_int_equal(mor_segment_open(depot, digest, &segment, NULL), MORTISE_EINPUT);
	}
}

static void test_back_and_back(void **state)
{
	struct mor_segment_writer *writer = NULL;
	struct mor_segment *segment = NULL;
	char digest[MOR_DIGEST_SIZE];
	uint64_t place;

	(void)state;
	assert_int_equal(mor_segment_writer_new(depot, KEY, 1000, &writer, NULL), 0);
	assert_int_equal(mor_segment_writer_put(writer, many, 1000, NULL), 0);
	assert_int_equal(mor_segment_writer_end(writer, true, &place, NULL), 0);
	for (size_t i = 1000; i-- > 0;) {
		struct mor_segment_unit unit = {
			.at = i, .bytes = 1, .sum = mor_sum(many + i, 1, 0), .attempts = 1
		};

		assert_int_equal(mor_segment_writer_add(writer, &unit, NULL), 0);
	}
	assert_int_equal(mor_segment_writer_finish(writer, digest, NULL), 0);
	mor_segment_writer_free(writer);
	assert_int_equal(mor_segment_open(depot, digest, &segment, NULL), MORTISE_EINPUT);
}

static void test_manifest(void **state)
{
	struct mor_segment_list list = { .format = "entries", .units = 8, .store = top }, read;
	struct mor_manifest_part part = { .first = 0, .count = 4, .bytes = MANY + 5 };
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_segment *segment = NULL;
	mortise_error err = { 0 };
	char path[256];
	int fd;

	(void)state;
	write_segment(part.segment);
	snprintf(path, sizeof(path), "%s/out", top);
	assert_int_equal(mor_segment_list_add(&list, &part), 0);
	part.first = 4;
	assert_int_equal(mor_segment_list_add(&list, &part), 0);
	assert_int_equal(mor_segment_list_write(&list, path, &err), 0);
	assert_int_equal(mor_segment_list_read(path, &read, &err), 1);
	assert_int_equal(read.count, 2);
	assert_string_equal(read.store, top);
	assert_int_equal(mor_segment_list_open(&read, depot, 1, &segment, &err), 0);
	for (size_t i = 0; i < segment->count; i++)
		assert_int_equal(mor_segment_unpack(segment, i, gather, &out, &err), 0);
	assert_int_equal(out.len, MANY + 5);
	segment = mor_segment_free(segment);
	read.parts[1].count = 3; /* another segment than the manifest means */
	assert_int_equal(mor_segment_list_open(&read, depot, 1, &segment, &err), MORTISE_EINPUT);
	assert_null(segment);
	mor_segment_list_fini(&read);
	mor_free(list.parts);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(mor_segment_list_read(path, &read, &err), MORTISE_EINPUT);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_int_equal(mor_fd_write_all(fd, many, MANY), 0);
	close(fd);
	assert_int_equal(mor_segment_list_read(path, &read, &err), 0);
	assert_int_equal(mor_segment_list_read("/nowhere", &read, &err), MORTISE_ENOTFOUND);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_read_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_same, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lies, setup, teardown),
		cmocka_unit_test_setup_teardown(test_versions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_false_frames, setup, teardown),
		cmocka_unit_test_setup_teardown(test_taken_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_than_said, setup, teardown),
		cmocka_unit_test_setup_teardown(test_places, setup, teardown),
		cmocka_unit_test_setup_teardown(test_back_and_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_manifest, setup, teardown),
	};

	return mor_run_group("segment", tests);
}
