/* SPDX-License-Identifier: Apache-2.0 */
/* One file: what is read of it, what kind it is, which params it makes; and why not. */
#include "stage.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "top.h"
#include "typed.h"

static void put(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int make_files(void **state)
{
	char large[1002];

	(void)state;
	if (top_make("input") < 0 || chdir(top) < 0)
		return -1;
	put("a.txt", "hello");
	put("empty", "");
	memset(large, 'l', sizeof(large));
	large[1001] = '\0';
	put("large", large);
	large[1000] = '\0';
	put("just", large);
	return mkdir("dir", 0755) | mkfifo("fifo", 0600) | symlink("nowhere", "broken");
}

static int drop_files(void **state)
{
	return chdir("/") | top_drop(state);
}

static void prepare(const char *path)
{
	mor_extract_job_clear(&job);
	job.extract = &x;
	job.path = path;
	mor_extract_job_prepare(&job);
}

/* The params, or the error's text. */
static const char *params_of(const char *path)
{
	static char text[5000];

	prepare(path);
	if (job.err.code)
		return job.err.text;
	assert_int_equal(mor_extract_job_params(&job), 0);
	snprintf(text, sizeof(text), "%.*s", (int)job.params.len, job.params.data);
	return text;
}

/* ---- what it is ---- */

static void test_extensions(void **state)
{
	static const char *const rows[][2] = {
		{ "z.txt", ".txt" },
		{ "b.TXT", ".txt" },
		{ "a.tar.gz", ".gz" },
		{ "noext", "" },
		{ ".hidden", "" },
		{ ".hidden.c", ".c" },
		{ "ends.", "" },
		{ "libfoo.so", ".so" },
		{ "libfoo.so.6", ".so" },
		{ "libfoo.so.6.1", ".so" },
		{ "a.7", ".7" },
		{ "a.so7", ".so7" },
		{ "v1.2", ".2" },
		{ "so.6", ".6" },
		{ "\xc3\xa4.\xc3\x84", ".\xc3\x84" },
		{ "a b.c d", ".c d" },
		{ "...", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put(rows[i][0], "x");
		prepare(rows[i][0]);
		assert_string_equal(job.extension ? job.extension : job.err.text, rows[i][1]);
	}
	assert_int_equal(mkdir("d.ir", 0755), 0);
	put("d.ir/plain", "x");
	prepare("d.ir/plain");
	assert_string_equal(job.extension, "");
}

static void test_an_extension_that_is_given(void **state)
{
	static const char *const rows[][2] = {
		{ "elf", ".elf" }, { ".elf", ".elf" }, { "", "" }, { "ELF", ".ELF" }
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		args.extension = rows[i][0];
		prepare("a.txt");
		assert_string_equal(job.extension, rows[i][1]);
	}
}

static void test_types_are_found(void **state)
{
	mortise_error err;

	(void)state;
	args.mime = NULL;
	if (mor_extract_magic_open(&x, &err) < 0)
		fail_msg("%s", err.text);
	prepare("a.txt");
	assert_string_equal(job.mime, "text/plain");
	typed_begin("%PDF-1.4\n");
	prepare("-");
	typed_end();
	assert_string_equal(job.mime, "application/pdf");
	assert_string_equal(job.extension, "");
	magic_close(x.magic);
}

/* ---- what cannot be used ---- */

static void test_errors(void **state)
{
	static const struct {
		const char *path, *bytes, *as_path; /* the text, with each source; NULL: fine */
		int code;
	} rows[] = {
		{ "nowhere", "no such file", "no such file", MORTISE_ENOTFOUND },
		{ "a.txt/x", "no such file", "no such file", MORTISE_ENOTFOUND },
		{ "broken", "no such file", "no such file", MORTISE_ENOTFOUND },
		{ "", "no such file", "no such file", MORTISE_ENOTFOUND },
		{ "dir", "is a directory; name the files in it", "is a directory; name the files in it",
		  MORTISE_EINPUT },
		/* nobody waits for it */
		{ "fifo", "not a regular file", "not a regular file", MORTISE_EINPUT },
		{ "empty", "is empty", "is empty", MORTISE_EINPUT },
		{ "large", "larger than --max-size 1000 bytes; --source path sends its name instead", NULL,
		  MORTISE_EINPUT },
		{ "just", NULL, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (int how = 0; how < 2; how++) {
			const char *wanted = how ? rows[i].as_path : rows[i].bytes;

			args.source = how ? "path" : "bytes";
			prepare(rows[i].path);
			assert_string_equal(job.err.text, wanted ? wanted : "");
			assert_int_equal(job.err.code, wanted ? rows[i].code : 0);
		}
}

static void test_stdin(void **state)
{
	char many[1001];

	(void)state;
	typed_begin("hello");
	assert_string_equal(
		params_of("-"),
		"{\"source\":{\"type\":\"bytes\",\"data\":\"aGVsbG8=\"},\"options\":{\"mime_type\":\"text/plain\",\"extension\":\"\"}}");
	typed_end();
	typed_begin("");
	assert_string_equal(params_of("-"), "is empty");
	typed_end();
	memset(many, 'm', sizeof(many));
	typed_bytes(many, 1001);
	assert_string_equal(params_of("-"), "larger than --max-size 1000 bytes"); /* it has no name to send */
	typed_end();
	args.source = "path";
	assert_string_equal(params_of("-"), "cannot be sent as a path; leave out --source path");
}

/* ---- params ---- */

static void test_bytes_and_path(void **state)
{
	char wanted[300];

	(void)state;
	assert_string_equal(
		params_of("a.txt"),
		"{\"source\":{\"type\":\"bytes\",\"data\":\"aGVsbG8=\"},\"options\":{\"mime_type\":\"text/plain\",\"extension\":\".txt\"}}");
	args.source = "path"; /* absolute: a plugin runs in its own directory */
	snprintf(wanted, sizeof(wanted),
		 "{\"source\":{\"type\":\"path\",\"path\":\"%s/a.txt\"},\"options\":"
		 "{\"mime_type\":\"text/plain\",\"extension\":\".txt\"}}",
		 top);
	assert_string_equal(params_of("a.txt"), wanted);
	assert_string_equal(params_of(at("a.txt")), wanted);
}

/* The user's options win; by the letter of the specification there is neither type nor extension. */
static void test_options(void **state)
{
	(void)state;
	assert_int_equal(mor_doc_parse(MOR_SLICE("{\"deep\":[1],\"extension\":\".x\"}"), 0, 0, &x.options,
				       NULL),
			 0);
	assert_non_null(strstr(params_of("a.txt"), "\"options\":{\"mime_type\":\"text/plain\",\"deep\":[1],"
						   "\"extension\":\".x\"}}"));
	plugin_args.strict = true;
	assert_non_null(strstr(params_of("a.txt"), "\"options\":{\"deep\":[1],\"extension\":\".x\"}}"));
}

/* Sizes around the groups of base64 and the blocks that a file is read in. */
static void test_files_of_many_sizes(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 4, 196607, 196608, 196609, 393216, 393217 };

	(void)state;
	args.max_size = 1 << 20;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf whole = MOR_BUF_INIT;
		char *bytes = malloc(sizes[i]);
		FILE *file = fopen("sized", "w");

		for (size_t k = 0; k < sizes[i]; k++)
			bytes[k] = (char)(k * 7 + k / 251);
		assert_int_equal(fwrite(bytes, 1, sizes[i], file), sizes[i]);
		fclose(file);
		prepare("sized");
		mor_buf_text(&whole, "{\"source\":{\"type\":\"bytes\",\"data\":\"");
		mor_base64_encode((struct mor_slice){ bytes, sizes[i] }, &whole);
		free(bytes);
		assert_int_equal(job.params.len, whole.len);
		assert_memory_equal(job.params.data, whole.data, whole.len);
	}
}

/* ---- what another machine has found ---- */

static void test_given(void **state)
{
	struct mor_extract_given given = { .place = at("a.txt"), .mime = "a/b", .extension = ".c" };

	(void)state;
	job = (struct mor_extract_job){ .extract = &x, .path = "elsewhere/a.txt", .given = &given };
	mor_extract_job_prepare(&job);
	assert_int_equal(mor_extract_job_params(&job), 0);
	assert_string_equal(job.mime, "a/b");
	assert_string_equal(job.extension, ".c");
	assert_non_null(strstr(job.params.data, "aGVsbG8="));
	mor_extract_job_clear(&job);
	given = (struct mor_extract_given){ .code = MORTISE_EINPUT, .why = "100% empty" };
	job = (struct mor_extract_job){ .extract = &x, .path = "e", .given = &given };
	mor_extract_job_prepare(&job);
	assert_int_equal(job.err.code, MORTISE_EINPUT);
	assert_string_equal(job.err.text, "100% empty");
}

/* A farm's owner looks, and reads nothing. */
static void test_look(void **state)
{
	(void)state;
	assert_int_equal(mor_extract_look(&x, "a.txt", &job), 0);
	assert_string_equal(job.extension, ".txt");
	assert_int_equal(job.params.len, 0);
	mor_extract_job_clear(&job);
	assert_int_equal(mor_extract_look(&x, "large", &job), MORTISE_EINPUT);
	assert_non_null(strstr(job.err.text, "larger than --max-size 1000 bytes"));
	mor_extract_job_clear(&job);
	args.source = "path";
	assert_int_equal(mor_extract_look(&x, "large", &job), 0);
	mor_extract_job_clear(&job);
	assert_int_equal(mor_extract_look(&x, "nowhere", &job), MORTISE_ENOTFOUND);
}

/* ---- memory of earlier messages ---- */

static struct mor_buf buffer(size_t size)
{
	struct mor_buf buf = MOR_BUF_INIT;

	assert_int_equal(mor_buf_reserve(&buf, size), 0);
	return buf;
}

/* The smallest that is enough, else the largest; and not more than were ever in work. */
static void test_spares(void **state)
{
	struct mor_buf bufs[5] = { buffer(1000), buffer(50000), buffer(9000), buffer(200), buffer(300) }, one;
	size_t caps[5];

	(void)state;
	for (int i = 0; i < 5; i++) {
		caps[i] = bufs[i].cap;
		mor_buf_text(&bufs[i], "used");
		mor_extract_spare_put(&x, &bufs[i]);
		assert_null(bufs[i].data);
	}
	assert_int_equal(x.spare_count, 4);
	assert_int_equal(x.spare_bytes, caps[0] + caps[1] + caps[2] + caps[3]);
	one = mor_extract_spare_take(&x, false, 5000);
	assert_int_equal(one.cap, caps[2]);
	assert_int_equal(one.len, 0);
	mor_buf_fini(&one);
	one = mor_extract_spare_take(&x, false, 1 << 20);
	assert_int_equal(one.cap, caps[1]);
	mor_buf_fini(&one);
	one = mor_extract_spare_take(&x, true, 1); /* none of those that grow without a copy */
	assert_null(one.data);
	assert_int_equal(x.spare_bytes, caps[0] + caps[3]);
	mor_extract_spare_put(&x, &one); /* nothing in it: not kept */
	assert_int_equal(x.spare_count, 2);
}

static void test_no_memory(void **state)
{
	(void)state;
	for (long n = 0, code = -1; code < 0; n++) {
		mor_extract_job_clear(&job);
		mor_buf_fini(&x.block);
		job.extract = &x;
		job.path = "a.txt";
		mor_alloc_fail_after(n);
		mor_extract_job_prepare(&job);
		mor_alloc_fail_after(-1);
		code = job.err.code;
		assert_true(n < 20 && (code == 0 || *job.err.text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STAGE_TEST(test_extensions),      STAGE_TEST(test_an_extension_that_is_given),
		STAGE_TEST(test_types_are_found), STAGE_TEST(test_errors),
		STAGE_TEST(test_stdin),           STAGE_TEST(test_bytes_and_path),
		STAGE_TEST(test_options),         STAGE_TEST(test_files_of_many_sizes),
		STAGE_TEST(test_given),           STAGE_TEST(test_look),
		STAGE_TEST(test_spares),          STAGE_TEST(test_no_memory),
	};

	return mor_run_group_in("extract/input", tests, make_files, drop_files);
}
