/* SPDX-License-Identifier: Apache-2.0 */
/* What a person types for a unit or a file of an archive. */
#include "leak.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "kythe/archive/kzip.h"
#include "kythe/bytes.h"
#include "tmp.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define HELLO "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" /* "hello" */

/* Each reads a file x.h, but another one; the units are in the order of their sources. */
#define A_UNIT(source, directory, digest) \
	"{\"unit\":{\"v_name\":{\"language\":\"c\"},\"source_file\":[\"" source \
	"\"],\"working_directory\":\"" directory \
	"\",\"required_input\":[{\"v_name\":{\"path\":\"include/" source \
	"\"},\"info\":{\"path\":\"./x.h\",\"digest\":\"" digest "\"}}]}}"

static char path[TMP_ROOM];
static struct mor_kzip *kzip;

static int make_archive(void **state)
{
	static const char *const units[] = { A_UNIT("a.c", "/a", HELLO), A_UNIT("b.c", "/b", EMPTY) };
	MOR_CLEAN(mor_kzip_writer) struct mor_kzip_writer *writer = NULL;
	int fd = mkstemp(tmp_name(path, "find")), r;

	(void)state;
	close(fd);
	r = mor_kzip_writer_new(path, MOR_KZIP_PROTO, &writer, NULL);
	for (size_t i = 0; r == 0 && i < 2; i++) {
		MOR_CLEAN(mor_unit) struct mor_unit *unit = NULL;

		r = bytes_into(writer, i ? MOR_SLICE("") : MOR_SLICE("hello"), NULL, NULL);
		if (r == 0)
			r = mor_unit_read_json(mor_slice_of(units[i]), &unit, NULL);
		if (r == 0)
			r = mor_kzip_writer_add_unit(writer, unit, NULL, NULL, NULL);
	}
	if (r == 0)
		r = mor_kzip_writer_finish(writer, NULL);
	return r < 0 ? r : mor_kzip_open(path, &(struct mor_kzip_options){ 0 }, &kzip, NULL);
}

static int remove_archive(void **state)
{
	(void)state;
	mor_kzip_free(kzip);
	return unlink(path);
}

static void expect_file(const char *unit, const char *word, const char *digest)
{
	struct mor_kzip_found found;

	assert_int_equal(mor_kzip_find_typed(kzip, unit, word, &found, NULL), 0);
	assert_string_equal(found.file, digest);
}

static void expect_none(const char *unit, const char *word, int status, const char *text)
{
	struct mor_kzip_found found;
	mortise_error err = { 0 };

	assert_int_equal(mor_kzip_find_typed(kzip, unit, word, &found, &err), status);
	assert_non_null(strstr(err.text, text));
}

static void test_digests(void **state)
{
	(void)state;
	expect_file(NULL, HELLO, HELLO);
	expect_file(NULL, "2cf24dba", HELLO);
	expect_none(NULL, "2cf24dbb", MORTISE_ENOTFOUND, "no file 2cf24dbb in it");
	/* fewer than 8 digits may be a name */
	expect_none(NULL, "2cf24db", MORTISE_ENOTFOUND, "no file 2cf24db in it");
}

static void test_paths(void **state)
{
	(void)state;
	expect_file(NULL, "include/a.c", HELLO); /* of its VName */
	expect_file(NULL, "/b/x.h", EMPTY);
	expect_none(NULL, "./x.h", MORTISE_EINPUT, "units have different contents for the path ./x.h");
	expect_none(NULL, "x.h", MORTISE_EINPUT, "choose one with --unit DIGEST");
	expect_file(mor_kzip_unit_digest(kzip, 0), "x.h", HELLO);
	expect_file(mor_kzip_unit_digest(kzip, 1), "x.h", EMPTY);
	expect_none(mor_kzip_unit_digest(kzip, 0), "/b/x.h", MORTISE_ENOTFOUND, "no file /b/x.h in it");
	/* in a unit even what could be a digest is a path */
	expect_none(mor_kzip_unit_digest(kzip, 0), HELLO, MORTISE_ENOTFOUND, "no file " HELLO);
}

static void test_units(void **state)
{
	struct mor_kzip_found found;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(mor_kzip_find_typed(kzip, mor_kzip_unit_digest(kzip, i), NULL, &found, NULL),
				 0);
		assert_int_equal(found.unit, i);
		assert_string_equal(found.file, "");
	}
	expect_none("", NULL, MORTISE_EINPUT, "2 units begin with");
	expect_none("xyz", NULL, MORTISE_ENOTFOUND, "no unit xyz in it");
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_digests), MOR_TEST(test_paths),
					    MOR_TEST(test_units) };

	return mor_run_group_in("kythe/archive/find", tests, make_archive, remove_archive);
}
