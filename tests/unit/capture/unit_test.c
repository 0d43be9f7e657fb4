/* SPDX-License-Identifier: Apache-2.0 */
/* One compilation becomes one record: which files it has, and what they are called. */
#include "leak.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "capture/capture.h"
#include "top.h"

#define COUNT(list) (sizeof(list) / sizeof(*(list)))

struct work {
	struct mor_capture capture;
	char cwd[200], out[200];
};

static void put(const char *name, const char *text)
{
	FILE *file = fopen(at(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void begin(struct work *w, const char *rules)
{
	*w = (struct work){ 0 };
	snprintf(w->cwd, sizeof(w->cwd), "%s", at("work"));
	snprintf(w->out, sizeof(w->out), "%s", at("out.kzip"));
	w->capture.cwd = w->cwd;
	assert_int_equal(mor_kzip_writer_new(w->out, MOR_KZIP_PROTO, &w->capture.writer, NULL), 0);
	if (rules)
		assert_int_equal(mor_vname_rules_parse("rules", mor_slice_of(rules), &w->capture.rules, NULL),
				 0);
}

static void end(struct work *w)
{
	mor_capture_forget(&w->capture);
	mor_kzip_writer_free(w->capture.writer);
	mor_vname_rules_free(w->capture.rules);
	unlink(w->out);
}

static int add(struct work *w, const char *const *sources, size_t source_count, const char *const *inputs,
	       size_t input_count, mortise_error *err)
{
	static const char *const arguments[] = { "cc", "-c", "a.c", "-o", "a.o" };
	struct mor_capture_source what = { .directory = w->cwd,
					   .arguments = arguments,
					   .argument_count = COUNT(arguments),
					   .sources = sources,
					   .source_count = source_count,
					   .inputs = inputs,
					   .input_count = input_count };

	return mor_capture_unit(&w->capture, &what, err);
}

/* The archive as a reader sees it; its only unit. */
static struct mor_unit *read_back(struct work *w, struct mor_kzip **ret)
{
	struct mor_unit *unit = NULL;

	assert_int_equal(mor_kzip_writer_finish(w->capture.writer, NULL), 0);
	assert_int_equal(mor_kzip_open(w->out, NULL, ret, NULL), 0);
	assert_int_equal(mor_kzip_unit_count(*ret), 1);
	assert_int_equal(mor_kzip_unit_read(*ret, 0, &unit, NULL), 0);
	return unit;
}

static const struct mor_input *input_of(const struct mor_unit *unit, const char *path)
{
	for (size_t i = 0; i < unit->input_count; i++)
		if (strcmp(unit->inputs[i].path, path) == 0)
			return &unit->inputs[i];
	fail_msg("no input %s", path);
	return NULL;
}

/* Below the working directory by its path from there, elsewhere by its absolute path without the first "/". */
static void test_names_of_files(void **state)
{
	const char *const sources[] = { "a.c" }, *const inputs[] = { "sub/../a.h", at("else.h"), "a.c" };
	struct mor_kzip *kzip;
	struct mor_unit *unit;
	struct work w;

	(void)state;
	begin(&w, NULL);
	w.capture.corpus = "corpus";
	assert_int_equal(add(&w, sources, 1, inputs, 3, NULL), 0);
	unit = read_back(&w, &kzip);
	assert_int_equal(unit->input_count, 3); /* the source once */
	assert_string_equal(input_of(unit, "a.c")->vname.path, "a.c");
	/* the record has the build's spelling */
	assert_string_equal(input_of(unit, "sub/../a.h")->vname.path, "a.h");
	assert_string_equal(input_of(unit, at("else.h"))->vname.path, at("else.h") + 1);
	assert_string_equal(input_of(unit, "a.c")->vname.corpus, "corpus");
	assert_string_equal(input_of(unit, "a.c")->vname.language, "");
	assert_string_equal(unit->vname.corpus, "corpus");
	assert_string_equal(unit->vname.language, "c++");
	assert_string_equal(unit->output_key, "a.o");
	assert_string_equal(unit->working_directory, w.cwd);
	assert_int_equal(unit->argument_count, 5);
	mor_unit_free(unit);
	mor_kzip_free(kzip);
	end(&w);
}

/* Rules see the "/" of what lies elsewhere; a corpus of theirs is kept, a signature is not. */
static void test_rules(void **state)
{
	static const char rules[] =
		"[{\"pattern\":\"(.*)[.]h\",\"vname\":{\"corpus\":\"own\",\"root\":\"r\",\"path\":\"@1@\",\"signature\":\"s\"}},{\"pattern\":\"/.*\",\"vname\":{\"path\":\"system\"}}]";
	const char *const sources[] = { "a.c" }, *const inputs[] = { "a.h", at("else.inc") };
	struct mor_kzip *kzip;
	struct mor_unit *unit;
	struct work w;

	(void)state;
	begin(&w, rules);
	w.capture.corpus = "corpus";
	assert_int_equal(add(&w, sources, 1, inputs, 2, NULL), 0);
	unit = read_back(&w, &kzip);
	assert_string_equal(input_of(unit, "a.h")->vname.corpus, "own");
	assert_string_equal(input_of(unit, "a.h")->vname.path, "a");
	assert_string_equal(input_of(unit, "a.h")->vname.signature, "");
	assert_string_equal(input_of(unit, at("else.inc"))->vname.path, "system");
	assert_string_equal(input_of(unit, at("else.inc"))->vname.corpus, "corpus");
	assert_string_equal(input_of(unit, "a.c")->vname.path, "a.c");
	mor_unit_free(unit);
	mor_kzip_free(kzip);
	end(&w);
}

static void test_language(void **state)
{
	static const char *const unknown[] = { "sub/note", "sub/note" }, *const mixed[] = { "sub/note",
											    "a.go" };
	mortise_error err = { 0 };
	struct mor_kzip *kzip;
	struct mor_unit *unit;
	struct work w;

	(void)state;
	begin(&w, NULL);
	assert_int_equal(add(&w, unknown, 2, NULL, 0, &err), MORTISE_EINVAL);
	assert_string_equal(err.text, "the language cannot be told by the name of a source: use --language");
	assert_int_equal(add(&w, mixed, 2, NULL, 0, &err), 0); /* the first that says it */
	unit = read_back(&w, &kzip);
	assert_string_equal(unit->vname.language, "go");
	mor_unit_free(unit);
	mor_kzip_free(kzip);
	end(&w);
	begin(&w, NULL);
	w.capture.language = "note";
	assert_int_equal(add(&w, unknown, 2, NULL, 0, &err), 0);
	unit = read_back(&w, &kzip);
	assert_string_equal(unit->vname.language, "note");
	assert_int_equal(unit->input_count, 1);
	mor_unit_free(unit);
	mor_kzip_free(kzip);
	end(&w);
}

/* A header that a thousand units read is read once. */
static void test_a_file_is_read_once(void **state)
{
	static const char *const sources[] = { "a.c" }, *const inputs[] = { "once.h" };
	mortise_error err = { 0 };
	char wanted[300];
	struct work w;

	(void)state;
	put("work/once.h", "once");
	begin(&w, NULL);
	assert_int_equal(add(&w, sources, 1, inputs, 1, &err), 0);
	assert_int_equal(unlink(at("work/once.h")), 0);
	assert_int_equal(add(&w, sources, 1, inputs, 1, &err), 0);
	mor_capture_forget(&w.capture);
	assert_true(add(&w, sources, 1, inputs, 1, &err) < 0);
	snprintf(wanted, sizeof(wanted), "%s/once.h", w.cwd);
	assert_non_null(strstr(err.text, wanted));
	end(&w);
}

/* Many files with one content; also more than the table has room for at first. */
static void test_many_files(void **state)
{
	enum { FILES = 1200 };
	static char text[FILES][16];
	static const char *inputs[FILES];
	static const char *const sources[] = { "a.c" };
	struct work w;

	(void)state;
	for (size_t i = 0; i < FILES; i++) {
		char path[100];

		snprintf(text[i], sizeof(text[i]), "s%zu.h", i);
		snprintf(path, sizeof(path), "work/%s", text[i]);
		assert_int_equal(link(at("work/a.h"), at(path)), 0);
		inputs[i] = text[i];
	}
	begin(&w, NULL);
	assert_int_equal(add(&w, sources, 1, inputs, FILES, NULL), 0);
	assert_int_equal(w.capture.seen_count, FILES + 1);
	assert_int_equal(mor_kzip_writer_files(w.capture.writer), 2);
	end(&w);
}

static void test_no_memory(void **state)
{
	static const char *const sources[] = { "a.c" }, *const inputs[] = { "a.h" };
	int r = MORTISE_ENOMEM;

	(void)state;
	for (long n = 0; r < 0; n++) {
		mortise_error err = { 0 };
		struct work w;

		begin(&w, NULL);
		mor_alloc_fail_after(n);
		r = add(&w, sources, 1, inputs, 1, &err);
		mor_alloc_fail_after(-1);
		assert_true(r == 0 || r == MORTISE_ENOMEM);
		end(&w);
	}
}

static int make_place(void **state)
{
	(void)state;
	if (top_make("capture") < 0 || mkdir(at("work"), 0700) < 0 || mkdir(at("work/sub"), 0700) < 0)
		return -1;
	put("work/a.c", "int a;");
	put("work/a.h", "int h;");
	put("work/a.go", "package a");
	put("work/sub/note", "note");
	put("else.h", "int e;");
	put("else.inc", "int i;");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_names_of_files),      MOR_TEST(test_rules),      MOR_TEST(test_language),
		MOR_TEST(test_a_file_is_read_once), MOR_TEST(test_many_files), MOR_TEST(test_no_memory),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("capture/unit", tests, make_place, top_drop);
}
