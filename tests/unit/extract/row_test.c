/* SPDX-License-Identifier: Apache-2.0 */
/* What manifests claim, and what an answer becomes on stdout. */
#include "stage.h"

#include "base/error.h"

static struct mor_doc *parse(const char *json)
{
	struct mor_doc *doc = NULL;

	if (json)
		assert_int_equal(mor_doc_parse(mor_slice_of(json), 0, 0, &doc, NULL), 0);
	return doc;
}

/* ---- types ---- */

static void test_types_in_yams_words(void **state)
{
	static const char *const rows[][2] = {
		{ "application/x-pie-executable", "application/x-executable" },
		{ "Application/X-ELF", "application/x-executable" },
		{ "application/x-dosexec", "application/x-msdownload" },
		{ "application/x-java-class", "application/java-vm" },
		{ "Text/Plain", "text/plain" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN_TEXT char *normal = mor_extract_claim_normal(rows[i][0]);

		assert_string_equal(normal, rows[i][1]);
	}
}

/* The YAMS word, the word that was found, or another for the same. */
static void test_listed_types(void **state)
{
	struct mor_extract_kind kind = { .found = "application/x-pie-executable",
					 .mime = "application/x-executable",
					 .extension = ".so" };
	static const struct {
		const char *can, *word;
		bool covers;
	} rows[] = {
		{ NULL, NULL, false },
		{ "{}", NULL, false },
		{ "{\"formats\":[\"application/X-executable\"]}", "application/X-executable", true },
		{ "{\"formats\":[\"application/x-pie-executable\"]}", "application/x-pie-executable", true },
		{ "{\"formats\":[\"text/plain\",\"application/x-elf\"]}", "application/x-elf", true },
		{ "{\"formats\":[\"text/plain\",5,null]}", NULL, false },
		{ "{\"formats\":\"application/x-executable\"}", NULL, false },
		{ "{\"extensions\":[\"so\"]}", NULL, true },
		{ "{\"extensions\":[\".SO\"]}", NULL, true },
		{ "{\"extensions\":[\"s\",\"\",\".\"]}", NULL, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(rows[i].can);
		const char *word = mor_extract_claim_mime(mor_doc_root(doc), &kind);

		if (rows[i].word)
			assert_string_equal(word, rows[i].word);
		else
			assert_null(word);
		assert_int_equal(mor_extract_claim_covers(mor_doc_root(doc), &kind), rows[i].covers);
	}
	kind.extension = ""; /* a file without one is not every file */
	{
		MOR_CLEAN(mor_doc) struct mor_doc *doc = parse("{\"extensions\":[\"\"]}");

		assert_false(mor_extract_claim_covers(mor_doc_root(doc), &kind));
	}
}

/* Plugins that were found are asked in rounds; those that the user named, at once. */
static void test_rounds(void **state)
{
	static const struct {
		const char *manifest;
		unsigned round;
		bool extracts;
	} rows[] = {
		{ "{}", 2, true },
		{ "{\"interfaces\":[\"content_extractor_v1\"]}", 2, true },
		{ "{\"interfaces\":[{\"id\":\"content_extractor_v1\"}]}", 2, true },
		{ "{\"interfaces\":[\"kg_v1\"]}", 2, false },
		{ "{\"interfaces\":[\"kg_v1\"],\"capabilities\":{\"content_extraction\":{}}}", 2, true },
		{ "{\"capabilities\":{\"content_extraction\":{\"formats\":[\"text/plain\"]}}}", 1, true },
		{ "{\"capabilities\":{\"content_extraction\":{\"formats\":[\"a/b\"]}}}", 0, true },
		{ "{\"capabilities\":{\"content_extraction\":{\"formats\":[],\"extensions\":[\"txt\"]}}}", 1,
		  true },
		{ "{\"capabilities\":{\"content_extraction\":{\"formats\":[],\"extensions\":[]}}}", 2, true },
	};
	struct mor_extract_kind kind = { .found = "text/plain", .mime = "text/plain", .extension = ".txt" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN(mor_doc) struct mor_doc *doc = parse(rows[i].manifest);
		struct mor_manifest manifest = { .name = "p", .doc = doc };
		struct mor_extract_plugin plugin = { .extract = &x, .manifest = &manifest };

		assert_int_equal(mor_extract_claim_extracts(&manifest), rows[i].extracts);
		args.picked = true;
		assert_int_equal(mor_extract_claim_round(&plugin, &kind), rows[i].round);
		args.picked = false;
		assert_int_equal(mor_extract_claim_round(&plugin, &kind), 1);
	}
}

static void test_why_a_plugin_was_chosen(void **state)
{
	struct mor_manifest names[] = {
		{ .name = "a" }, { .name = "b\x1b" }, { .name = "c" }, { .name = "d" }, { .name = "e" }
	};
	struct mor_extract_plugin plugins[5] = { 0 };
	struct mor_extract_kind *kind = mor_zalloc(sizeof(*kind) + 5 * sizeof(kind->answers[0]));

	(void)state;
	x.extractor_count = 5;
	for (int i = 0; i < 5; i++) {
		plugins[i].manifest = &names[i];
		kind->answers[i] =
			(struct mor_extract_answer){ .kind = kind, .extractor = &plugins[i], .round = 1 };
	}
	kind->extract = &x;
	kind->mime = "text/plain";
	kind->extension = ".txt";
	kind->round = 1;
	kind->answers[0].verdict = MOR_EXTRACT_SUPPORTS_YES;
	kind->answers[0].confidence = 0.25;
	kind->answers[1].verdict = MOR_EXTRACT_SUPPORTS_UNKNOWN;
	kind->answers[2].round = 0;
	kind->answers[3].round = 2;
	plugins[4].refused = true;
	kind->best = &kind->answers[0];
	mor_extract_claim_tell(kind);
	assert_string_equal(
		heard_err(),
		"text/plain, extension \".txt\": chosen: a (confidence 0.25); others: b\\x1b (does not say), c "
		"(not started: its manifest lists other types), d (not started: its manifest lists nothing), e "
		"(cannot be used)\n");
	kind->best = NULL;
	x.extractor_count = 1;
	kind->answers[0].verdict = MOR_EXTRACT_SUPPORTS_NO;
	mor_extract_claim_tell(kind);
	assert_string_equal(heard_err(),
			    "text/plain, extension \".txt\": no plugin takes it; others: a (no)\n");
	mor_free(kind);
}

/* ---- answers ---- */

/* The row that an answer makes, or the error's text. */
static const char *row_of(const char *result)
{
	static char text[1000];

	mor_buf_reset(&job.row, SIZE_MAX);
	job.err = (mortise_error){ 0 };
	mor_extract_job_take_reply(&job, &(mortise_reply){ .status = MORTISE_OK,
							   .result = { result, strlen(result) } });
	snprintf(text, sizeof(text), "%.*s", (int)job.row.len, job.row.data ? job.row.data : "");
	return job.err.code ? job.err.text : text;
}

static void test_text_rows(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"content\":\"a\"}", "a\n" }, /* its last line is ended */
		{ "{\"content\":\"a\\n\"}", "a\n" },
		{ "{\"content\":\"\"}", "" },
		{ "{\"text\":\"t\"}", "t\n" },
		{ "{\"text\":\"t\",\"content\":\"c\"}", "c\n" },
		{ "{\"text\":\"t\",\"content\":null}", "t\n" },
		{ "{\"content\":\"\\u00e4\\ud83d\\ude00\"}", "\xc3\xa4\xf0\x9f\x98\x80\n" },
		{ "{\"content\":\"a\",\"success\":true,\"error\":null}", "a\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(row_of(rows[i][0]), rows[i][1]);
}

static void test_metadata_before_the_content(void **state)
{
	(void)state;
	args.metadata = true;
	assert_string_equal(row_of("{\"content\":\"c\",\"metadata\":{\"n\":1,\"s\":\"x y\",\"l\":[1, 2]}}"),
			    "n: 1\ns: x y\nl: [1,2]\n\nc\n");
	assert_string_equal(row_of("{\"content\":\"c\",\"metadata\":{}}"), "c\n");
	assert_string_equal(row_of("{\"content\":\"c\",\"metadata\":5}"), "c\n");
	assert_string_equal(row_of("{\"content\":\"c\"}"), "c\n");
}

/* A result may say that it is a failure. */
static void test_results_that_are_failures(void **state)
{
	(void)state;
	assert_string_equal(row_of("{\"content\":\"a\",\"error\":\"broken\\n\"}"),
			    "extraction failed: broken\\x0a");
	assert_int_equal(job.err.code, MORTISE_EREMOTE);
	assert_string_equal(row_of("{\"content\":\"a\",\"error\":{\"code\":1}}"),
			    "extraction failed: {\"code\":1}");
	assert_string_equal(row_of("{\"content\":\"a\",\"success\":false}"),
			    "extraction failed, and the plugin does not say why");
	assert_non_null(strstr(row_of("{\"content\":5}"), " answered without \"content\""));
	assert_int_equal(job.err.code, MORTISE_EPROTO);
	assert_non_null(strstr(row_of("[]"), " answered without \"content\""));
}

static void test_an_error_of_the_plugin_keeps_its_data(void **state)
{
	mortise_error error = { .code = MORTISE_ETIMEOUT, .text = "late" };

	(void)state;
	mor_extract_job_take_reply(&job, &(mortise_reply){ .status = MORTISE_ETIMEOUT,
							   .error = &error,
							   .error_data = { "{\"reason\":1}zzz", 12 } });
	assert_string_equal(job.err_data, "{\"reason\":1}");
	mor_extract_job_tell(&job);
	assert_string_equal(heard_err(), "timeout: a.txt: late; reason: 1\n");
	assert_int_equal(job.row.len, 0);
	args.json = true;
	mor_extract_job_tell(&job);
	mor_buf_byte(&job.row, '\0');
	assert_non_null(strstr(job.row.data, "{\"file\":\"a.txt\",\"ok\":false,\"kind\":\"timeout\""));
}

static void test_headings(void **state)
{
	static const struct {
		size_t files;
		bool first, json, shard;
		int code;
		const char *path, *heading;
	} rows[] = {
		{ 1, true, false, false, 0, "a", "" },
		{ 2, true, false, false, 0, "a", "==> a <==\n" },
		{ 2, false, false, false, 0, "a", "\n==> a <==\n" },
		{ 2, false, false, false, 0, "-", "\n==> standard input <==\n" },
		{ 2, false, true, false, 0, "a", "" },
		{ 2, false, false, false, MORTISE_EINPUT, "a", "" },
		{ 2, false, false, true, 0, "a", "==> a <==\n" }, /* mortise join adds the blank line */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;

		args.file_count = rows[i].files;
		args.json = rows[i].json;
		args.shard.shards = rows[i].shard;
		job.err.code = rows[i].code;
		job.path = rows[i].path;
		mor_extract_job_heading(&job, rows[i].first, &out);
		mor_buf_byte(&out, '\0');
		assert_string_equal(out.data, rows[i].heading);
	}
}

/* A blank line before each but the first that is printed, whatever failed before it. */
static void test_headings_of_a_run(void **state)
{
	(void)state;
	args.file_count = 3;
	for (int i = 0; i < 3; i++) {
		job.err = (mortise_error){ .code = i ? 0 : MORTISE_EINPUT, .text = "bad" };
		mor_buf_reset(&job.row, SIZE_MAX);
		mor_buf_text(&job.row, "row\n");
		mor_extract_job_print(&job);
	}
	assert_string_equal(heard_out(), "==> a.txt <==\nrow\n\n==> a.txt <==\nrow\n");
	assert_string_equal(heard_err(), "input: a.txt: bad\n");
}

/* ---- shards ---- */

/* The sum of a run in the head of its part. */
static void run_sum(char out[65])
{
	static const char *const files[] = { "a", "b", "c" };
	const char *run;

	args.files = files;
	args.file_count = 3;
	mor_buf_reset(&x.part, SIZE_MAX);
	assert_int_equal(mor_extract_shard_take(&x, NULL), 0);
	mor_buf_byte(&x.part, '\0');
	run = strstr(x.part.data, "extract ");
	assert_non_null(run);
	snprintf(out, 65, "%.64s", run + strlen("extract "));
	assert_int_equal(strlen(out), 64);
}

/* Shards of a run are started by the same command line, but for K. */
static void test_shards_of_one_run(void **state)
{
	char first[65], other[65];

	(void)state;
	args.shard = (struct mor_shard){ 1, 3 };
	run_sum(first);
	assert_int_equal(x.file_count, 1);
	assert_string_equal(x.files[0], "a");
	args.shard = (struct mor_shard){ 3, 3 };
	run_sum(other);
	assert_string_equal(x.files[0], "c");
	assert_string_equal(first, other);
	args.metadata = true;
	run_sum(other);
	assert_string_not_equal(first, other);
	args.metadata = false;
	args.mime = NULL;
	args.extension = "text/plain"; /* the same text in another place */
	run_sum(other);
	assert_string_not_equal(first, other);
}

static void test_without_a_shard_nothing_is_added(void **state)
{
	(void)state;
	args.files = (const char *const[]){ "a" };
	assert_int_equal(mor_extract_shard_take(&x, NULL), 0);
	assert_int_equal(x.file_count, 1);
	mor_extract_shard_note(&job, MOR_SLICE("h"));
	assert_int_equal(mor_extract_shard_end(&x), 0);
	assert_int_equal(x.part.len, 0);
	assert_string_equal(heard_out(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGE_TEST(test_types_in_yams_words),
		STAGE_TEST(test_listed_types),
		STAGE_TEST(test_rounds),
		STAGE_TEST(test_why_a_plugin_was_chosen),
		STAGE_TEST(test_text_rows),
		STAGE_TEST(test_metadata_before_the_content),
		STAGE_TEST(test_results_that_are_failures),
		STAGE_TEST(test_an_error_of_the_plugin_keeps_its_data),
		STAGE_TEST(test_headings),
		STAGE_TEST(test_headings_of_a_run),
		STAGE_TEST(test_shards_of_one_run),
		STAGE_TEST(test_without_a_shard_nothing_is_added),
	};

	return mor_run_group("extract/row", tests);
}
