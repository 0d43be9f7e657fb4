/* SPDX-License-Identifier: Apache-2.0 */
/* Files in a store have their digest as their name, and nothing else is taken for them. */
#include "leak.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "depot/depot.h"
#include "top.h"

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static bool has(const struct mor_depot *in, enum mor_depot_kind kind, const char *name)
{
	MOR_CLEAN_TEXT char *path = mor_digest_valid(name) ? mor_depot_name(in, kind, name) : NULL;

	return path && access(path, F_OK) == 0;
}

static struct mor_depot *depot;

static int setup(void **state)
{
	(void)state;
	assert_int_equal(top_make("depot"), 0);
	assert_int_equal(mor_depot_open(top, MOR_DEPOT_OWN, &depot, NULL), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	depot = mor_depot_free(depot);
	return top_drop(state);
}

static void spoil(enum mor_depot_kind kind, const char *digest)
{
	MOR_CLEAN_TEXT char *path = mor_depot_name(depot, kind, digest);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(write(fd, "?", 1), 1);
	close(fd);
}

static void test_text(void **state)
{
	MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
	char digest[MOR_DIGEST_SIZE];
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_depot_put_text(depot, MOR_DEPOT_SPEC, mor_slice_of("{}"), digest, &err), 0);
	assert_true(has(depot, MOR_DEPOT_SPEC, digest));
	assert_false(has(depot, MOR_DEPOT_KZIP, digest));
	assert_int_equal(mor_depot_get_text(depot, MOR_DEPOT_SPEC, digest, 100, &out, &err), 0);
	assert_int_equal(out.len, 2);
	spoil(MOR_DEPOT_SPEC, digest);
	assert_int_equal(mor_depot_get_text(depot, MOR_DEPOT_SPEC, digest, 100, &out, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "not those that its name promises"));
	assert_int_equal(mor_depot_get_text(depot, MOR_DEPOT_SPEC, KEY, 100, &out, &err), MORTISE_ENOTFOUND);
}

static void test_file(void **state)
{
	char path[256], digest[MOR_DIGEST_SIZE], again[MOR_DIGEST_SIZE];
	mortise_error err = { 0 };
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/input", top);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "bytes", 5), 5);
	close(fd);
	assert_int_equal(mor_depot_put_file(depot, MOR_DEPOT_KZIP, path, digest, &err), 0);
	assert_int_equal(mor_depot_put_file(depot, MOR_DEPOT_KZIP, path, again, &err), 0);
	assert_string_equal(digest, again);
	fd = mor_depot_open_file(depot, MOR_DEPOT_KZIP, digest, &err);
	assert_true(fd >= 0);
	close(fd);
	spoil(MOR_DEPOT_KZIP, digest);
	assert_int_equal(mor_depot_open_file(depot, MOR_DEPOT_KZIP, digest, &err), MORTISE_EINPUT);
	assert_int_equal(mor_depot_put_file(depot, MOR_DEPOT_KZIP, "/nowhere", digest, &err),
			 MORTISE_ENOTFOUND);
}

/* A name that is no digest could lead out of the store. */
static void test_names(void **state)
{
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_depot_open_file(depot, MOR_DEPOT_KZIP, "../../../etc/passwd", &err),
			 MORTISE_EINPUT);
	assert_false(has(depot, MOR_DEPOT_KZIP, "../../../etc/passwd"));
	assert_int_equal(mor_depot_open("/nowhere/at/all", MOR_DEPOT_OWN, &depot, &err), MORTISE_ENOTFOUND);
	assert_int_equal(mor_depot_open("/etc/passwd", MOR_DEPOT_OWN, &depot, &err), MORTISE_EINPUT);
	assert_int_equal(mor_depot_open("/etc", MOR_DEPOT_OWN, &depot, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "it has files, but no " MOR_DEPOT_MARK));
	assert_int_equal(mor_depot_open("/etc", MOR_DEPOT_WORK, &depot, &err), MORTISE_EINPUT);
}

/* A key counts only while its segment is there. */
static void test_keys(void **state)
{
	char digest[MOR_DIGEST_SIZE], found[MOR_DIGEST_SIZE];
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_depot_put_text(depot, MOR_DEPOT_SEGMENT, mor_slice_of("x"), digest, &err), 0);
	assert_false(mor_depot_key_get(depot, KEY, found));
	assert_int_equal(mor_depot_key_set(depot, KEY, digest, &err), 0);
	assert_true(mor_depot_key_get(depot, KEY, found));
	assert_string_equal(found, digest);
	mor_depot_remove(depot, MOR_DEPOT_SEGMENT, digest);
	assert_false(mor_depot_key_get(depot, KEY, found));
}

static void test_sweep(void **state)
{
	static const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char kept[MOR_DIGEST_SIZE], gone[MOR_DIGEST_SIZE];
	struct mor_depot_swept swept;
	mortise_error err = { 0 };
	char *path;

	(void)state;
	assert_int_equal(mor_depot_put_text(depot, MOR_DEPOT_SEGMENT, mor_slice_of("new"), kept, &err), 0);
	assert_int_equal(mor_depot_put_text(depot, MOR_DEPOT_SEGMENT, mor_slice_of("old"), gone, &err), 0);
	path = mor_depot_name(depot, MOR_DEPOT_SEGMENT, gone);
	assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
	mor_free(path);
	assert_int_equal(mor_depot_sweep(depot, 7, NULL, &swept, &err), 0);
	assert_int_equal(swept.files, 1);
	assert_int_equal(swept.bytes, 3);
	assert_true(has(depot, MOR_DEPOT_SEGMENT, kept));
	assert_false(has(depot, MOR_DEPOT_SEGMENT, gone));
}

/* What is dropped, or cannot be written, leaves nothing. */
static void test_drop(void **state)
{
	struct mor_depot_file file;
	mortise_error err = { 0 };
	char path[300];

	(void)state;
	assert_int_equal(mor_depot_create(depot, &file, &err), 0);
	snprintf(path, sizeof(path), "%s", file.path);
	assert_int_equal(mor_depot_write(&file, "half", 4, &err), 0);
	assert_int_equal(access(path, F_OK), 0);
	mor_depot_drop(&file);
	mor_depot_drop(&file);
	assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sweep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drop, setup, teardown),
	};

	return mor_run_group("depot", tests);
}
