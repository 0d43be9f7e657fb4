/* SPDX-License-Identifier: Apache-2.0 */
/* Archives: docs/reference/kzip.md, and the verdicts on real ones, on archives of the same shapes made here. */
#include "leak.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zip.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "base/fd.h"
#include "kythe/archive/kzip.h"
#include "kythe/bytes.h"
#include "kythe/unit/units.h"
#include "tmp.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" /* "hello" */

static char dir[TMP_ROOM];

static const char *in_dir(const char *name)
{
	static char path[4][200];
	static unsigned turn;
	char *to = path[turn++ % 4];

	snprintf(to, sizeof(path[0]), "%s/%s", dir, name);
	return to;
}

/* An archive with these entries, in this order; a name that ends in "/" is a directory. */
struct entry {
	const char *name, *content;
};

static const char *make_zip(const struct entry *entries)
{
	const char *path = in_dir("made.kzip");
	int code = 0;
	zip_t *zip;

	unlink(path);
	zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
	assert_non_null(zip);
	for (; entries->name; entries++) {
		if (entries->name[strlen(entries->name) - 1] == '/') {
			assert_true(zip_dir_add(zip, entries->name, 0) >= 0);
			continue;
		}
		assert_true(zip_file_add(zip, entries->name,
					 zip_source_buffer(zip, entries->content, strlen(entries->content), 0),
					 0) >= 0);
	}
	assert_int_equal(zip_close(zip), 0);
	return path;
}

struct heard {
	unsigned count;
	char last[600];
};

static void on_warning(const char *text, void *arg)
{
	struct heard *heard = arg;

	heard->count++;
	snprintf(heard->last, sizeof(heard->last), "%s", text);
}

static struct mor_kzip *open_with(const char *path, struct mor_kzip_options opt)
{
	struct mor_kzip *kzip = NULL;
	mortise_error err = { 0 };

	if (mor_kzip_open(path, &opt, &kzip, &err) < 0)
		fail_msg("%s", err.text);
	return kzip;
}

#define ENTRIES(...) ((const struct entry[]){ __VA_ARGS__, { NULL, NULL } })

static void expect_refused(const struct entry *entries, const char *text)
{
	const char *path = make_zip(entries);
	struct mor_kzip *kzip = NULL;
	mortise_error err = { 0 };
	char want[600];

	snprintf(want, sizeof(want), "%s: %s", path, text);
	assert_int_equal(mor_kzip_open(path, NULL, &kzip, &err), MORTISE_EINPUT);
	assert_string_equal(err.text, want);
	assert_null(kzip);
}

/* empty.kzip, malformed.kzip, and other shapes that are wrong. */
static void test_not_a_kzip(void **state)
{
	struct mor_kzip *kzip = NULL;
	mortise_error err = { 0 };
	FILE *f;

	(void)state;
	assert_int_equal(mor_kzip_open(in_dir("not-there"), NULL, &kzip, &err), MORTISE_ENOTFOUND);
	assert_int_equal(mor_kzip_open(dir, NULL, &kzip, &err), MORTISE_EINPUT);
	f = fopen(in_dir("x"), "we");
	fclose(f);
	assert_int_equal(mor_kzip_open(in_dir("x"), NULL, &kzip, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "/x: not a kzip: the file is empty"));
	f = fopen(in_dir("x"), "we");
	fputs("no zip at all, but long enough to hold one's end record, that much is certain", f);
	fclose(f);
	assert_int_equal(mor_kzip_open(in_dir("x"), NULL, &kzip, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "not a kzip: Not a zip archive"));
	expect_refused(ENTRIES({ "units/", NULL }, { "files/", NULL }),
		       "entry \"files/\" lies outside the root directory");
	expect_refused(ENTRIES({ "root/files/" EMPTY, "" }),
		       "entry \"root/files/" EMPTY
		       "\" comes first, but the first entry must be the root directory");
	expect_refused(ENTRIES({ "a/b/", NULL }),
		       "entry \"a/b/\" comes first, but the first entry must be the root directory");
	expect_refused(ENTRIES({ "/", NULL }),
		       "entry \"/\" comes first, but the first entry must be the root directory");
}

/* Hostile names are compared and refused, never followed. */
static void test_names(void **state)
{
	MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;

	(void)state;
	expect_refused(ENTRIES({ "root/", NULL }, { "../../etc/passwd", "x" }),
		       "entry \"../../etc/passwd\" lies outside the root directory");
	expect_refused(ENTRIES({ "root/", NULL }, { "/root/x", "x" }),
		       "entry \"/root/x\" lies outside the root directory");
	expect_refused(ENTRIES({ "root/", NULL }, { "rootfiles", "x" }),
		       "entry \"rootfiles\" lies outside the root directory");
	expect_refused(ENTRIES({ "root/", NULL }, { "root/files/../x", "x" }),
		       "entry \"root/files/../x\" is not named by a SHA-256 digest");
	expect_refused(ENTRIES({ "root/", NULL }, { "root/units/README", "x" }),
		       "entry \"root/units/README\" is not named by a SHA-256 digest");
	expect_refused(ENTRIES({ "root/", NULL }, { "root/files/" EMPTY "/", NULL }),
		       "entry \"root/files/" EMPTY "/\" is not named by a SHA-256 digest");
	/* A unit or a file must not vanish for one flipped bit. */
	expect_refused(ENTRIES({ "root/", NULL }, { "root/qbunits/" EMPTY, "x" }),
		       "entry \"root/qbunits/" EMPTY
		       "\" is damaged: one bit away from files/, pbunits/ or units/");
	expect_refused(ENTRIES({ "root/", NULL }, { "root/units." EMPTY, "x" }),
		       "entry \"root/units." EMPTY
		       "\" is damaged: one bit away from files/, pbunits/ or units/");
	/* Whatever else lies below the root is nobody's business. */
	kzip = open_with(make_zip(ENTRIES({ "any name/", NULL }, { "any name/../../x", "x" },
					  { "any name/notes", "x" }, { "any name/other/" EMPTY, "x" })),
			 (struct mor_kzip_options){ 0 });
	assert_string_equal(mor_kzip_root(kzip), "any name");
	assert_int_equal(mor_kzip_unit_count(kzip), 0);
	assert_int_equal(mor_kzip_file_count(kzip), 0);
}

/* missing-unit.kzip, missing-pbunit.kzip: the two sets of units must be equal. */
static void test_both_encodings(void **state)
{
	static const char proto_foo[] = "\n\x15\n\n\x12\x03"
					"foo*\x03"
					"bar2\x07"
					"blodgit\x12\t\n\x01"
					"a\n\x01"
					"b\n\x01"
					"c";
	MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
	MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;
	struct heard heard = { 0 };

	(void)state;
	expect_refused(ENTRIES({ "root/", NULL }, { "root/pbunits/", NULL },
			       { "root/pbunits/" UNIT_FOO_DIGEST, proto_foo },
			       { "root/pbunits/" UNIT_BAR_DIGEST, proto_foo }, { "root/units/", NULL },
			       { "root/units/" UNIT_FOO_DIGEST, UNIT_FOO }),
		       "pbunits/" UNIT_BAR_DIGEST " is missing in units/: both must hold the same units");
	expect_refused(ENTRIES({ "root/", NULL }, { "root/pbunits/" UNIT_FOO_DIGEST, proto_foo },
			       { "root/units/" UNIT_FOO_DIGEST, UNIT_FOO },
			       { "root/units/" UNIT_BAR_DIGEST, UNIT_BAR }),
		       "units/" UNIT_BAR_DIGEST " is missing in pbunits/: both must hold the same units");
	/* Where both are there, the protobuf one is read. */
	kzip = open_with(make_zip(ENTRIES({ "root/", NULL }, { "root/pbunits/" UNIT_FOO_DIGEST, proto_foo },
					  { "root/units/" UNIT_FOO_DIGEST, "{\"broken\":1}" })),
			 (struct mor_kzip_options){ .on_warning = on_warning, .arg = &heard });
	assert_int_equal(mor_kzip_encoding(kzip), MOR_KZIP_ALL);
	assert_int_equal(mor_kzip_unit_count(kzip), 1);
	assert_int_equal(mor_kzip_unit_read(kzip, 0, &unit, NULL), 0);
	assert_string_equal(unit->sources[0], "blodgit");
	assert_int_equal(heard.count, 0);
}

/* In the order of the archive; a digest that does not fit is a warning. */
static void test_units(void **state)
{
	MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
	struct mor_unit *unit = NULL;
	mortise_error err = { 0 };
	struct heard heard = { 0 };

	(void)state;
	kzip = open_with(make_zip(ENTRIES({ "root/", NULL }, { "root/units/" UNIT_FOO_DIGEST, UNIT_FOO },
					  { "root/units/" UNIT_BAR_DIGEST, UNIT_BAR },
					  { "root/units/" EMPTY, UNIT_JAVA_EMPTY },
					  { "root/units/" HELLO, "{\"cos\":1}" })),
			 (struct mor_kzip_options){ .on_warning = on_warning, .arg = &heard });
	assert_int_equal(mor_kzip_encoding(kzip), MOR_KZIP_JSON);
	assert_int_equal(mor_kzip_unit_count(kzip), 4);
	assert_string_equal(mor_kzip_unit_digest(kzip, 0), UNIT_FOO_DIGEST);
	assert_string_equal(mor_kzip_unit_digest(kzip, 1), UNIT_BAR_DIGEST);
	assert_int_equal(mor_kzip_unit_read(kzip, 1, &unit, &err), 0);
	assert_string_equal(unit->sources[0], "ineffable");
	assert_int_equal(heard.count, 0);
	unit = mor_unit_free(unit);
	assert_int_equal(mor_kzip_unit_read(kzip, 2, &unit, &err), 0);
	assert_int_equal(heard.count, 1);
	assert_string_equal(heard.last, "unit " EMPTY ": its digest is " UNIT_JAVA_EMPTY_DIGEST);
	unit = mor_unit_free(unit);
	assert_int_equal(mor_kzip_unit_read(kzip, 3, &unit, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "made.kzip: units/" HELLO ": cos: unknown field"));
}

/* files/<hex> is the SHA-256 of the content; the empty file reads as 0 bytes. */
static void test_files(void **state)
{
	MOR_CLEAN(mor_kzip)
	struct mor_kzip *kzip =
		open_with(make_zip(ENTRIES({ "root/", NULL }, { "root/files/" HELLO, "hello" },
					   { "root/files/" EMPTY, "" },
					   { "root/files/" UNIT_FOO_DIGEST, "not what it says" })),
			  (struct mor_kzip_options){ 0 });
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	mortise_error err = { 0 };
	size_t number;

	(void)state;
	assert_int_equal(mor_kzip_file_count(kzip), 3);
	assert_true(mor_kzip_file_find(kzip, HELLO, &number));
	assert_string_equal(mor_kzip_file_digest(kzip, number), HELLO);
	assert_int_equal(mor_kzip_file_size(kzip, number), 5);
	assert_int_equal(bytes_of(kzip, EMPTY, &out, &err), 0);
	assert_int_equal(out.len, 0);
	assert_int_equal(bytes_of(kzip, HELLO, &out, &err), 0);
	assert_true(mor_slice_is(mor_buf_view(&out), "hello"));
	assert_int_equal(bytes_of(kzip, UNIT_FOO_DIGEST, &out, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, ": its content has another digest"));
	assert_true(mor_slice_is(mor_buf_view(&out), "hello"));
	assert_int_equal(bytes_of(kzip, UNIT_BAR_DIGEST, &out, &err), MORTISE_ENOTFOUND);
	assert_int_equal(bytes_of(kzip, "../../etc/passwd", &out, &err), MORTISE_ENOTFOUND);
}

static void test_limits(void **state)
{
	const char *path = make_zip(ENTRIES({ "root/", NULL }, { "root/files/" HELLO, "hello" },
					    { "root/units/" UNIT_FOO_DIGEST, UNIT_FOO }));
	MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct mor_unit *unit = NULL;
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_kzip_open(path, &(struct mor_kzip_options){ .max_entries = 2 }, &kzip, &err),
			 MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "3 entries are over the limit of 2"));
	kzip = open_with(path, (struct mor_kzip_options){ .max_file_bytes = 4, .max_unit_bytes = 20 });
	assert_int_equal(bytes_of(kzip, HELLO, &out, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "its 5 bytes are over the limit of 4 bytes"));
	assert_int_equal(mor_kzip_unit_read(kzip, 0, &unit, &err), MORTISE_EINPUT);
}

/* A bomb: 16 MiB of zeros are refused by their ratio, and read where more is allowed. */
static void test_ratio(void **state)
{
	size_t len = (size_t)16 << 20;
	char *zeros = mor_zalloc(len), digest[65], name[100];
	MOR_CLEAN(mor_kzip) struct mor_kzip *tight = NULL, *loose = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	struct sha256_ctx sha;
	mortise_error err = { 0 };
	const char *path;

	(void)state;
	memset(zeros, 'z', len - 1);
	mor_digest_begin(&sha);
	mor_digest_add(&sha, zeros, len - 1);
	mor_digest_end(&sha, digest);
	snprintf(name, sizeof(name), "root/files/%s", digest);
	path = make_zip(ENTRIES({ "root/", NULL }, { name, zeros }));
	mor_free(zeros);
	tight = open_with(path, (struct mor_kzip_options){ 0 });
	assert_int_equal(bytes_of(tight, digest, &out, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "packed more than 250 to 1"));
	loose = open_with(path, (struct mor_kzip_options){ .max_ratio = 5000 });
	assert_int_equal(bytes_of(loose, digest, &out, &err), 0);
	assert_int_equal(out.len, len - 1);
}

/* Any single byte of an archive changed: an error or the same bytes, never others. */
static void test_damage(void **state)
{
	const char *path = make_zip(ENTRIES({ "root/", NULL }, { "root/files/" HELLO, "hello" }));
	char *bytes = NULL;
	size_t len = 0;

	(void)state;
	assert_int_equal(mor_fd_read_file(path, 1 << 20, &bytes, &len), 0);
	for (size_t i = 0; i < 8 * len; i++) {
		MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		int r;

		bytes[i / 8] ^= (char)(1 << i % 8);
		r = mor_kzip_open_bytes("x", (struct mor_slice){ bytes, len }, NULL, &kzip, NULL);
		if (r == 0)
			r = bytes_of(kzip, HELLO, &out, NULL);
		assert_true(r < 0 || mor_slice_is(mor_buf_view(&out), "hello"));
		bytes[i / 8] ^= (char)(1 << i % 8);
	}
	mor_free(bytes);
}

/* ---- writing ---- */

static struct mor_unit *unit_of(const char *json)
{
	struct mor_unit *unit = NULL;

	assert_int_equal(mor_unit_read_json(mor_slice_of(json), &unit, NULL), 0);
	return unit;
}

/* Two units and two files, added in one order or the other. */
static void write_sample(const char *path, enum mor_kzip_encoding encoding, bool backwards)
{
	MOR_CLEAN(mor_kzip_writer) struct mor_kzip_writer *writer = NULL;
	MOR_CLEAN(mor_unit) struct mor_unit *foo = unit_of(UNIT_FOO), *bar = unit_of(UNIT_BAR);
	bool added = false;
	char digest[65];

	assert_int_equal(mor_kzip_writer_new(path, encoding, &writer, NULL), 0);
	assert_int_equal(bytes_into(writer, backwards ? MOR_SLICE("") : MOR_SLICE("hello"), digest, NULL), 0);
	assert_string_equal(digest, backwards ? EMPTY : HELLO);
	assert_int_equal(mor_kzip_writer_add_unit(writer, backwards ? foo : bar, NULL, &added, NULL), 0);
	assert_true(added);
	assert_int_equal(mor_kzip_writer_add_unit(writer, backwards ? bar : foo, NULL, &added, NULL), 0);
	assert_int_equal(bytes_into(writer, backwards ? MOR_SLICE("hello") : MOR_SLICE(""), NULL, NULL), 0);
	assert_int_equal(bytes_into(writer, MOR_SLICE("hello"), NULL, NULL), 0);
	assert_int_equal(mor_kzip_writer_add_unit(writer, foo, NULL, &added, NULL), 0);
	assert_false(added);
	assert_int_equal(mor_kzip_writer_units(writer), 2);
	assert_int_equal(mor_kzip_writer_files(writer), 2);
	assert_int_equal(mor_kzip_writer_finish(writer, NULL), 0);
}

static void expect_same_file(const char *a, const char *b)
{
	MOR_CLEAN_TEXT char *x = NULL;
	MOR_CLEAN_TEXT char *y = NULL;
	size_t x_len = 0, y_len = 0;

	assert_int_equal(mor_fd_read_file(a, 1 << 20, &x, &x_len), 0);
	assert_int_equal(mor_fd_read_file(b, 1 << 20, &y, &y_len), 0);
	assert_true(mor_slice_eq((struct mor_slice){ x, x_len }, (struct mor_slice){ y, y_len }));
}

static void test_written_is_read(void **state)
{
	(void)state;
	for (int encoding = MOR_KZIP_JSON; encoding <= MOR_KZIP_ALL; encoding++) {
		MOR_CLEAN(mor_kzip) struct mor_kzip *kzip = NULL;
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		struct heard heard = { 0 };

		write_sample(in_dir("a.kzip"), (enum mor_kzip_encoding)encoding, false);
		setenv("TZ", "America/New_York", 1);
		write_sample(in_dir("b.kzip"), (enum mor_kzip_encoding)encoding, true);
		setenv("TZ", "UTC", 1);
		expect_same_file(in_dir("a.kzip"), in_dir("b.kzip"));
		kzip = open_with(in_dir("a.kzip"),
				 (struct mor_kzip_options){ .on_warning = on_warning, .arg = &heard });
		assert_int_equal(mor_kzip_encoding(kzip), encoding);
		assert_int_equal(mor_kzip_unit_count(kzip), 2);
		for (size_t i = 0; i < 2; i++) {
			MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;

			/* By their sources; the digests would have them the other way round. */
			assert_string_equal(mor_kzip_unit_digest(kzip, i),
					    i ? UNIT_BAR_DIGEST : UNIT_FOO_DIGEST);
			assert_int_equal(mor_kzip_unit_read(kzip, i, &unit, NULL), 0);
			assert_int_equal(unit->revision_count, 3);
		}
		assert_int_equal(bytes_of(kzip, HELLO, &out, NULL), 0);
		assert_int_equal(bytes_of(kzip, EMPTY, &out, NULL), 0);
		assert_int_equal(heard.count, 0);
	}
}

/* 3.1: root/ first, the comment, 1970, mode 0600. */
static void test_what_kythe_writes(void **state)
{
	zip_t *zip;
	int code = 0, comment = 0;

	(void)state;
	write_sample(in_dir("a.kzip"), MOR_KZIP_PROTO, false);
	zip = zip_open(in_dir("a.kzip"), ZIP_RDONLY, &code);
	assert_non_null(zip);
	assert_string_equal(zip_get_name(zip, 0, 0), "root/");
	assert_string_equal(zip_get_archive_comment(zip, &comment, 0), "Kythe kzip archive");
	for (zip_uint64_t i = 1; i < (zip_uint64_t)zip_get_num_entries(zip, 0); i++) {
		zip_uint8_t system = 0;
		zip_uint32_t mode = 0;
		zip_uint16_t len = 0;
		const zip_uint8_t *extra =
			zip_file_extra_field_get_by_id(zip, i, 0x5455, 0, &len, ZIP_FL_CENTRAL);

		assert_int_equal(zip_file_get_external_attributes(zip, i, 0, &system, &mode), 0);
		assert_int_equal(mode >> 16, S_IFREG | 0600);
		assert_int_equal(len, 5);
		assert_memory_equal(extra, "\x01\0\0\0", 5);
		if (i > 1 && strncmp(zip_get_name(zip, i, 0), "root/files/", 11) == 0)
			assert_true(strcmp(zip_get_name(zip, i - 1, 0), zip_get_name(zip, i, 0)) < 0);
	}
	zip_discard(zip);
}

static void test_writer_errors(void **state)
{
	MOR_CLEAN(mor_kzip_writer) struct mor_kzip_writer *writer = NULL;
	mortise_error err = { 0 };
	char digest[65];

	(void)state;
	assert_int_equal(mor_kzip_writer_new(in_dir("no/such/x.kzip"), MOR_KZIP_JSON, &writer, &err),
			 MORTISE_ENOTFOUND);
	assert_int_equal(mor_kzip_writer_new(in_dir("gone.kzip"), MOR_KZIP_JSON, &writer, &err), 0);
	assert_int_equal(mor_kzip_writer_add_path(writer, in_dir("not-there"), digest, &err),
			 MORTISE_ENOTFOUND);
	assert_int_equal(mor_kzip_writer_add_path(writer, dir, digest, &err), MORTISE_EINPUT);
	assert_int_equal(mor_kzip_writer_add_path(writer, "/dev/null", digest, &err), MORTISE_EINPUT);
	writer = mor_kzip_writer_free(writer);
	/* Without finish nothing appears. */
	assert_int_equal(access(in_dir("gone.kzip"), F_OK), -1);
}

/* Details of a type that is not known: JSON goes through under its old name, protobuf is refused. */
static void test_unknown_details(void **state)
{
	MOR_CLEAN(mor_unit)
	struct mor_unit *unit = unit_of("{\"unit\":{\"details\":[{\"@type\":\"a/b\",\"c\":1}]}}");

	(void)state;
	for (int encoding = MOR_KZIP_JSON; encoding <= MOR_KZIP_ALL; encoding++) {
		MOR_CLEAN(mor_kzip_writer) struct mor_kzip_writer *writer = NULL;
		bool json = encoding == MOR_KZIP_JSON;

		assert_int_equal(mor_kzip_writer_new(in_dir("d.kzip"), (enum mor_kzip_encoding)encoding,
						     &writer, NULL),
				 0);
		assert_int_equal(mor_kzip_writer_add_unit(writer, unit, NULL, NULL, NULL),
				 MORTISE_EUNSUPPORTED);
		assert_int_equal(mor_kzip_writer_add_unit(writer, unit, HELLO, NULL, NULL),
				 json ? 0 : MORTISE_EUNSUPPORTED);
		assert_int_equal(mor_kzip_writer_units(writer), json);
	}
}

#define REQUIRES(digest) \
	"{\"unit\":{\"output_key\":\"" digest \
	"\",\"required_input\":[{\"info\":{\"path\":\"p\",\"digest\":\"" digest "\"}}]}}"

static void test_merge(void **state)
{
	MOR_CLEAN(mor_kzip_writer) struct mor_kzip_writer *writer = NULL;
	MOR_CLEAN(mor_kzip) struct mor_kzip *one = NULL, *two = NULL, *lacks = NULL, *merged = NULL;
	mortise_error err = { 0 };

	(void)state;
	one = open_with(make_zip(ENTRIES({ "root/", NULL }, { "root/units/" UNIT_FOO_DIGEST, REQUIRES(HELLO) },
					 { "root/files/" HELLO, "hello" },
					 { "root/files/" UNIT_BAR_DIGEST, "nobody needs it" })),
			(struct mor_kzip_options){ 0 });
	assert_int_equal(rename(in_dir("made.kzip"), in_dir("one.kzip")), 0);
	two = open_with(make_zip(ENTRIES({ "x/", NULL }, { "x/units/" UNIT_BAR_DIGEST, REQUIRES(HELLO) },
					 { "x/units/" EMPTY, REQUIRES(EMPTY) }, { "x/files/" HELLO, "hello" },
					 { "x/files/" EMPTY, "" })),
			(struct mor_kzip_options){ 0 });
	assert_int_equal(rename(in_dir("made.kzip"), in_dir("two.kzip")), 0);
	lacks = open_with(make_zip(ENTRIES({ "x/", NULL }, { "x/units/" EMPTY, REQUIRES("0") })),
			  (struct mor_kzip_options){ 0 });
	assert_int_equal(mor_kzip_writer_new(in_dir("m.kzip"), MOR_KZIP_PROTO, &writer, &err), 0);
	assert_int_equal(mor_kzip_writer_add_kzip(writer, one, &err), 0);
	assert_int_equal(mor_kzip_writer_add_kzip(writer, two, &err), 0);
	assert_int_equal(mor_kzip_writer_units(writer), 2);
	assert_int_equal(mor_kzip_writer_files(writer), 2);
	assert_int_equal(mor_kzip_writer_add_kzip(writer, lacks, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "the content of its input \"p\" is not in the archive"));
	assert_int_equal(mor_kzip_writer_finish(writer, &err), 0);
	merged = open_with(in_dir("m.kzip"), (struct mor_kzip_options){ 0 });
	assert_int_equal(mor_kzip_unit_count(merged), 2);
	assert_int_equal(mor_kzip_file_count(merged), 2);
}

static void test_encoding_names(void **state)
{
	enum mor_kzip_encoding encoding;

	(void)state;
	assert_true(mor_kzip_encoding_parse("ALL", &encoding));
	assert_int_equal(encoding, MOR_KZIP_ALL);
	assert_false(mor_kzip_encoding_parse("xml", &encoding));
	assert_string_equal(mor_kzip_encoding_name(MOR_KZIP_PROTO), "proto");
}

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(tmp_name(dir, "kzip")) ? 0 : -1;
}

static int remove_dir(void **state)
{
	static const char *const names[] = { "made.kzip", "x",      "a.kzip",   "b.kzip",
					     "d.kzip",    "m.kzip", "one.kzip", "two.kzip" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(in_dir(names[i]));
	return rmdir(dir); /* fails if a temporary file was left behind */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_not_a_kzip),      MOR_TEST(test_names),
		MOR_TEST(test_both_encodings),  MOR_TEST(test_units),
		MOR_TEST(test_files),           MOR_TEST(test_limits),
		MOR_TEST(test_ratio),           MOR_TEST(test_damage),
		MOR_TEST(test_written_is_read), MOR_TEST(test_what_kythe_writes),
		MOR_TEST(test_writer_errors),   MOR_TEST(test_unknown_details),
		MOR_TEST(test_merge),           MOR_TEST(test_encoding_names),
	};

	return mor_run_group_in("kythe/archive/kzip", tests, make_dir, remove_dir);
}
