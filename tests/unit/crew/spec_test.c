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
#include "crew/inside.h"
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

static struct mor_crew_spec a_spec(const struct mor_crew_kind *kind, void *own)
{
	struct mor_crew_spec spec = { .kind = kind, .own = own, .retries = 2 };

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
	struct mor_crew_index_spec own = { .unit_ms = 5 }, lenient = own;
	struct mor_crew_extract_spec files = { .source = "bytes" };
	struct mor_crew_spec specs[6];

	(void)state;
	for (size_t i = 0; i < 6; i++)
		specs[i] = a_spec(&mor_crew_kind_index, &own);
	specs[1] = a_spec(&mor_crew_kind_extract, &files);
	specs[2].retries = 3;
	lenient.lenient = true;
	specs[3].own = &lenient;
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

static struct mor_text_list one_text(const char **item)
{
	return (struct mor_text_list){ .item = item, .count = 1 };
}

/* The first line is the same as ever: else a run that goes on has another name, and its batches other keys. */
static void test_a_name_stays_the_same(void **state)
{
	const char *set[] = { "a.b=1", NULL }, *config[] = { "{}", NULL }, *timeout[] = { "30s", NULL };
	const char *network[] = { "h:1", NULL }, *types[] = { "/kythe/index/c", NULL };
	const char *plugins[] = { "/p", "/q", NULL }, *options[] = { "k=v", NULL };
	const char *words[] = { "/opt/a", "-x", NULL }, *analyzer[] = { "/opt/a", NULL };
	struct mor_crew_index_spec own = {
		.view = "namespace", .lenient = true, .unit_ms = 5, .types = one_text(types)
	};
	struct mor_crew_extract_spec files = {
		.source = "path", .picked = true, .metadata = true, .json = true, .options = one_text(options)
	};
	struct mor_crew_spec index = a_spec(&mor_crew_kind_index, &own);
	struct mor_crew_spec extract = a_spec(&mor_crew_kind_extract, &files);
	struct mor_crew_input input = { .units = 3 };
	char run[MOR_DIGEST_SIZE];

	(void)state;
	memset(input.digest, 'c', MOR_DIGEST_SIZE - 1);
	memset(own.vnames, 'b', MOR_DIGEST_SIZE - 1);
	index.plugin = (struct mor_plugin_args){ .set = one_text(set),
						 .config = one_text(config),
						 .timeout = one_text(timeout),
						 .network = one_text(network),
						 .level = "guarded",
						 .on_denial = "warn",
						 .confine = true };
	extract.plugin = (struct mor_plugin_args){
		.set = one_text(set), .dialect = "yams", .strict = true, .unconfined = true
	};
	extract.retries = 1;
	extract.programs = (struct mor_text_list){ .item = plugins, .count = 2 };
	index.programs = one_text(analyzer);
	extract.argv = words;
	index.inputs = extract.inputs = &input;
	index.input_count = extract.input_count = 1;
	assert_int_equal(mor_crew_spec_put(depot, &index, run, NULL), 0);
	assert_string_equal(run, "939b5b5528e7dcc98828c9f79ec9986fc454f757f8e51994196821ed568edc13");
	assert_string_equal(index.work, "1d57a0f54ad42e5a5930a21c9179b670549a25c59e202a9fe4fa44afb039fcd1");
	assert_int_equal(mor_crew_spec_put(depot, &extract, run, NULL), 0);
	assert_string_equal(run, "8a48306652e103296d36b08259f6e9663eff3dc128ae4dc0755d64cb949115fb");
	assert_string_equal(extract.work, "5cce781c5d95d50a37189d0b1831895025995cb993d4e099258c16a4f4adb5d2");
}

static void test_what_was_put_is_got(void **state)
{
	const char *options[] = { "x=1", NULL };
	struct mor_crew_extract_spec files = { .options = one_text(options), .json = true };
	struct mor_crew_spec spec = a_spec(&mor_crew_kind_extract, &files), got;
	const struct mor_crew_extract_spec *own;
	struct mor_crew_input inputs[2] = { { .units = 3 }, { .units = 4 } };
	char run[MOR_DIGEST_SIZE];

	(void)state;
	memset(inputs[0].digest, 'c', MOR_DIGEST_SIZE - 1);
	memset(inputs[1].digest, 'd', MOR_DIGEST_SIZE - 1);
	spec.inputs = inputs;
	spec.input_count = 2;
	assert_int_equal(mor_crew_spec_put(depot, &spec, run, NULL), 0);
	assert_int_equal(mor_crew_spec_get(depot, run, &got, NULL), MORTISE_EINPUT); /* from where? */
	files.source = "bytes";
	assert_int_equal(mor_crew_spec_put(depot, &spec, run, NULL), 0);
	assert_int_equal(mor_crew_spec_get(depot, run, &got, NULL), 0);
	assert_ptr_equal(got.kind, &mor_crew_kind_extract);
	own = got.own;
	assert_string_equal(own->options.item[0], "x=1");
	assert_string_equal(got.work, spec.work);
	assert_true(own->json && !own->metadata);
	assert_int_equal(mor_crew_spec_units(&got), 7);
	mor_crew_spec_fini(&got);
	run[0] = run[0] == '0' ? '1' : '0';
	assert_int_equal(mor_crew_spec_get(depot, run, &got, NULL), MORTISE_ENOTFOUND);
}

static void test_a_command_that_is_not_known(void **state)
{
	struct mor_crew_spec got;
	mortise_error err = { 0 };
	char run[MOR_DIGEST_SIZE];

	(void)state;
	assert_int_equal(mor_depot_put_text(depot, MOR_DEPOT_SPEC,
					    mor_slice_of("{\"version\":3,\"command\":\"knit\"}\n[]"), run,
					    NULL),
			 0);
	assert_int_equal(mor_crew_spec_get(depot, run, &got, &err), MORTISE_EINPUT);
	assert_string_equal(err.text, "it needs another version of mortise");
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
		MOR_TEST(test_a_name_stays_the_same),
		MOR_TEST(test_what_was_put_is_got),
		MOR_TEST(test_a_command_that_is_not_known),
		MOR_TEST(test_rule_10_keys),
		MOR_TEST(test_rule_10_a_file_is_its_name_type_place_and_bytes),
		MOR_TEST(test_a_list_of_files),
	};

	return mor_run_group_in("crew/spec", tests, make_store, remove_store);
}
