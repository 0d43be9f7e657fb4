/* SPDX-License-Identifier: Apache-2.0 */
/* What a run is, its name, and the keys of its batches (rule 10 of docs/design/0010-farm.md). */
#include "leak.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/dir.h"
#include "crew/files.h"
#include "crew/spec.h"
#include "tmp.h"

static char store[TMP_ROOM];
static struct mor_depot *depot;

static int make_store(void **state)
{
	(void)state;
	return !mkdtemp(tmp_name(store, "spec")) || mor_depot_open(store, MOR_DEPOT_OWN, &depot, NULL) < 0;
}

static int remove_store(void **state)
{
	(void)state;
	mor_depot_free(depot);
	mor_dir_remove_all(AT_FDCWD, store);
	return 0;
}

static struct mor_crew_spec a_spec(void)
{
	struct mor_crew_spec spec = { .command = "index", .analyzer = "/opt/a", .retries = 2, .unit_ms = 5 };

	memset(spec.files, 'a', MOR_DIGEST_SIZE - 1);
	return spec;
}

static const char *digest_of(uint64_t unit, void *arg)
{
	return ((const char *const *)arg)[unit];
}

static void test_rule_10_everything_has_a_part_in_the_name(void **state)
{
	char first[MOR_DIGEST_SIZE], other[MOR_DIGEST_SIZE];
	struct mor_crew_input input = { .units = 3 };
	struct mor_crew_spec specs[6];

	(void)state;
	for (size_t i = 0; i < 6; i++)
		specs[i] = a_spec();
	specs[1].command = "extract";
	specs[2].retries = 3;
	specs[3].lenient = true;
	specs[4].files[0] = 'b';
	memset(input.digest, 'c', MOR_DIGEST_SIZE - 1);
	specs[5].inputs = &input;
	specs[5].input_count = 1;
	assert_int_equal(mor_crew_spec_put(depot, &specs[0], first, NULL), 0);
	for (size_t i = 1; i < 6; i++) {
		assert_int_equal(mor_crew_spec_put(depot, &specs[i], other, NULL), 0);
		assert_string_not_equal(first, other);
		/* inputs have no part in the work: a record in two archives is analyzed once */
		assert_int_equal(strcmp(specs[0].work, specs[i].work) == 0, i == 5);
	}
}

static void test_what_was_put_is_got(void **state)
{
	struct mor_crew_spec spec = a_spec(), got;
	struct mor_crew_input inputs[2] = { { .units = 3 }, { .units = 4 } };
	char run[MOR_DIGEST_SIZE];
	const char *options[] = { "x=1", NULL };

	(void)state;
	memset(inputs[0].digest, 'c', MOR_DIGEST_SIZE - 1);
	memset(inputs[1].digest, 'd', MOR_DIGEST_SIZE - 1);
	spec.command = "extract";
	spec.options = (struct mor_text_list){ .item = options, .count = 1 };
	spec.inputs = inputs;
	spec.input_count = 2;
	spec.json = true;
	assert_int_equal(mor_crew_spec_put(depot, &spec, run, NULL), 0);
	assert_int_equal(mor_crew_spec_get(depot, run, &got, NULL), MORTISE_EINPUT); /* from where? */
	spec.source = "bytes";
	assert_int_equal(mor_crew_spec_put(depot, &spec, run, NULL), 0);
	assert_int_equal(mor_crew_spec_get(depot, run, &got, NULL), 0);
	assert_string_equal(got.command, "extract");
	assert_string_equal(got.options.item[0], "x=1");
	assert_string_equal(got.work, spec.work);
	assert_true(got.json && !got.metadata);
	assert_int_equal(mor_crew_spec_units(&got), 7);
	mor_crew_spec_fini(&got);
	run[0] = run[0] == '0' ? '1' : '0';
	assert_int_equal(mor_crew_spec_get(depot, run, &got, NULL), MORTISE_ENOTFOUND);
}

static void test_rule_10_keys(void **state)
{
	const char *units[] = { "u0", "u1", "u2" };
	char keys[4][MOR_DIGEST_SIZE], work[MOR_DIGEST_SIZE], other[MOR_DIGEST_SIZE];

	(void)state;
	mor_digest_of("work", 4, work);
	mor_digest_of("other", 5, other);
	mor_crew_key(work, 0, 2, digest_of, units, keys[0]);
	mor_crew_key(work, 0, 3, digest_of, units, keys[1]);
	mor_crew_key(work, 1, 2, digest_of, units, keys[2]);
	mor_crew_key(other, 0, 2, digest_of, units, keys[3]);
	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(keys[i], keys[k]);
}

static void test_rule_10_a_file_is_its_name_type_place_and_bytes(void **state)
{
	struct mor_crew_file files[6];
	char digests[6][MOR_DIGEST_SIZE];

	(void)state;
	for (size_t i = 0; i < 6; i++)
		files[i] = (struct mor_crew_file){
			.name = "a", .mime = "m", .extension = "", .place = "", .digest = "d", .why = ""
		};
	files[1].name = "b";
	files[2].mime = "n";
	files[3].place = "/a";
	files[4].digest[0] = 'e';
	files[5].code = MORTISE_EINPUT;
	for (size_t i = 0; i < 6; i++) {
		mor_crew_file_digest(&files[i], digests[i]);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(digests[i], digests[k]);
	}
}

static void test_a_list_of_files(void **state)
{
	struct mor_crew_file file = { .name = "a b", .mime = "m", .extension = ".c", .place = "", .why = "" };
	struct mor_crew_file failed = {
		.name = "x", .mime = "", .extension = "", .place = "", .why = "no", .code = MORTISE_EINPUT
	};
	struct mor_buf text = MOR_BUF_INIT;
	struct mor_writer w = { .out = &text };
	struct mor_crew_files got;
	char digest[MOR_DIGEST_SIZE];

	(void)state;
	memset(file.digest, 'f', MOR_DIGEST_SIZE - 1);
	mor_w_array(&w);
	mor_crew_files_add(&w, &file);
	mor_crew_files_add(&w, &failed);
	mor_w_end(&w);
	assert_int_equal(mor_depot_put_text(depot, MOR_DEPOT_SPEC, mor_buf_view(&text), digest, NULL), 0);
	assert_int_equal(mor_crew_files_get(depot, digest, &got, NULL), 0);
	assert_int_equal(got.count, 2);
	assert_string_equal(got.files[0].name, "a b");
	assert_string_equal(got.files[1].why, "no");
	assert_int_equal(got.files[1].code, MORTISE_EINPUT);
	mor_crew_files_fini(&got);
	mor_buf_fini(&text);
	/* a place must be absolute, and a digest a digest: names come from elsewhere */
	assert_int_equal(mor_depot_put_text(depot, MOR_DEPOT_SPEC, mor_slice_of("[{\"digest\":\"../x\"}]"),
					    digest, NULL),
			 0);
	assert_int_equal(mor_crew_files_get(depot, digest, &got, NULL), MORTISE_EINPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_rule_10_everything_has_a_part_in_the_name),
		MOR_TEST(test_what_was_put_is_got),
		MOR_TEST(test_rule_10_keys),
		MOR_TEST(test_rule_10_a_file_is_its_name_type_place_and_bytes),
		MOR_TEST(test_a_list_of_files),
	};

	return mor_run_group_in("crew/spec", tests, make_store, remove_store);
}
