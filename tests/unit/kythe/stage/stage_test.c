/* SPDX-License-Identifier: Apache-2.0 */
/* Staging of one unit: R26 to R28 of docs/dialects/kythe.md, and what cannot be shown (hostile paths, one path
 * twice, a file that is also a directory). */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zip.h>

#include "base/alloc.h"
#include "help.h"
#include "tmp.h"

static void test_working_dir(void **state)
{
	static const struct {
		const char *working_dir, *path, *want;
	} cases[] = {
		{ "", "a.c", "/kythe-unit" },         { "/w", "../../a.c", "/w" },
		{ "/w/../v/./", "a.c", "/v" },        { "/", "a.c", "/" },
		{ "", "../a.c", "/kythe-unit/d" },    { "", "x/../../../a.c", "/kythe-unit/d/d" },
		{ "sub", "a.c", "/kythe-unit/sub" },  { "../sub", "a.c", "/kythe-unit/sub" },
		{ "../..", "../a.c", "/kythe-unit" }, { "", "/usr/../../a.c", "/kythe-unit" },
		{ "", "..", "/kythe-unit/d" },        { "/..", "a", "/" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		MOR_CLEAN(mor_buf) struct mor_buf out = MOR_BUF_INIT;
		struct mor_input input = INPUT(cases[i].path, 0);
		struct mor_unit unit = unit_of(cases[i].working_dir, &input, 1);

		assert_int_equal(mor_stage_working_dir(&unit, &out), 0);
		mor_buf_byte(&out, '\0');
		assert_string_equal(out.data, cases[i].want);
	}
}

/* R26, R27: relative, absolute and `..` paths lie where the analyzer will look for them. */
static void test_root(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_unit unit =
		unit_of("/w/d", INPUTS(INPUT("a.c", 1), INPUT("./x//y/../z.h", 2), INPUT("../up.h", 3),
				       INPUT("/usr/include/q.h", 4), INPUT("../../../../../etc/shadow", 5)));
	struct mor_stage stage = { 0 };

	(void)state;
	fit(stager, &unit, MOR_STAGE_ROOT, &stage);
	assert_string_equal(stage.working_dir, "/w/d");
	expect_tree(
		&stage,
		"etc/\netc/shadow\nusr/\nusr/include/\nusr/include/q.h\nw/\nw/d/\nw/d/a.c\nw/d/x/\nw/d/x/y/\nw/d/x/z.h\nw/up.h\n");
	expect_content(&stage, "w/d/a.c", 1);
	expect_content(&stage, "w/d/x/z.h", 2);
	expect_content(&stage, "w/up.h", 3);
	expect_content(&stage, "usr/include/q.h", 4);
	expect_content(&stage, "etc/shadow", 5);
	mor_stage_drop(stager, &stage);
}

/* A record without files, or whose working directory holds none of them, has its working directory. */
static void test_empty_working_dir(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_unit none = unit_of("/deep/work", NULL, 0),
			other = unit_of("/w/d", INPUTS(INPUT("/x/a", 0)));
	struct mor_stage stage = { 0 };

	(void)state;
	fit(stager, &none, MOR_STAGE_ROOT, &stage);
	expect_tree(&stage, "deep/\ndeep/work/\n");
	fit(stager, &other, MOR_STAGE_ROOT, &stage);
	expect_tree(&stage, "w/\nw/d/\nx/\nx/a\n");
	mor_stage_drop(stager, &stage);
	mor_stage_drop(stager, &stage); /* an empty one is fine */
}

static void test_own_working_dir(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_unit unit = unit_of("", INPUTS(INPUT("a.c", 1), INPUT("../../b.h", 2), INPUT("/c.h", 3)));
	struct mor_stage stage = { 0 };

	(void)state;
	fit(stager, &unit, MOR_STAGE_ROOT, &stage);
	assert_string_equal(stage.working_dir, "/kythe-unit/d/d");
	expect_tree(&stage,
		    "c.h\nkythe-unit/\nkythe-unit/b.h\nkythe-unit/d/\nkythe-unit/d/d/\nkythe-unit/d/d/a.c\n");
	assert_string_equal(stage.directories[0], "kythe-unit/d/d"); /* none above it */
	mor_stage_drop(stager, &stage);
}

/* More "../" than we make directories for: both we and the kernel stop at "/". */
static void test_many_steps_up(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_stage stage = { 0 };
	char path[1000] = "";
	struct mor_unit unit;

	(void)state;
	for (int i = 0; i < 300; i++)
		strcat(path, "../");
	strcat(path, "x");
	unit = unit_of("", INPUTS(INPUT(path, 1)));
	fit(stager, &unit, MOR_STAGE_ROOT, &stage);
	expect_content(&stage, "x", 1);
	mor_stage_drop(stager, &stage);
}

/* What the arguments pass on their way must be there; where an input says otherwise, or the mode cannot show
 * it, it is not. */
static void test_detours_of_arguments(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	const char *arguments[] = { "cc",           "-I/opt/lib/pkgconfig/../../include",
				    "-Igen/../inc", "-isystem",
				    "sys/../inc",   "--sysroot=r/../r2",
				    "-Ia.c/../inc", "-Ia.c/deep/../../inc",
				    "-DX=1/../2",   "-I../../..",
				    "-o",           "/../x" };
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("a.c", 1), INPUT("/opt/include/b.h", 2)));
	struct mor_stage stage = { 0 };

	(void)state;
	unit.arguments = arguments;
	unit.argument_count = sizeof(arguments) / sizeof(*arguments);
	fit(stager, &unit, MOR_STAGE_ROOT, &stage);
	expect_tree(
		&stage,
		"opt/\nopt/include/\nopt/include/b.h\nopt/lib/\nopt/lib/pkgconfig/\nw/\nw/1/\nw/a.c\nw/gen/\nw/r/\nw/sys/\n");
	unit.input_count = 1;
	fit(stager, &unit, MOR_STAGE_DIR, &stage);
	expect_tree(&stage, "1/\na.c\ngen/\nr/\nsys/\n");
	mor_stage_drop(stager, &stage);
}

static void test_dir_mode(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_unit unit = unit_of("/anywhere", INPUTS(INPUT("a.c", 1), INPUT("x/../y/./b.h", 2)));
	struct mor_stage stage = { 0 };

	(void)state;
	fit(stager, &unit, MOR_STAGE_DIR, &stage);
	assert_string_equal(stage.working_dir, stage.path);
	expect_tree(&stage, "a.c\nx/\ny/\ny/b.h\n");
	/* One tree may serve both modes in turn. */
	fit(stager, &unit, MOR_STAGE_ROOT, &stage);
	expect_tree(&stage, "anywhere/\nanywhere/a.c\nanywhere/x/\nanywhere/y/\nanywhere/y/b.h\n");
	fit(stager, &unit, MOR_STAGE_DIR, &stage);
	expect_tree(&stage, "a.c\nx/\ny/\ny/b.h\n");
	mor_stage_drop(stager, &stage);
}

static void test_dir_mode_refuses(void **state)
{
	static const char *const paths[] = { "/usr/include/x.h", "/" };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct mor_unit unit = unit_of("/w", INPUTS(INPUT("ok.c", 1), INPUT(paths[i], 2)));

		expect_refused(&unit, MOR_STAGE_DIR,
			       "cannot be shown without namespaces: the path is absolute");
	}
}

/* As much of the record's own directories as "../" goes up, and no more. */
static void test_dir_mode_steps_up(void **state)
{
	static const struct {
		const char *working_dir, *path, *below, *tree;
	} cases[] = {
		{ "/home/x/build", "../src/a.c", "/build", "build/\nbuild/ok.c\nsrc/\nsrc/a.c\n" },
		{ "/home/x/build", "a/../../../y.h", "/x/build",
		  "x/\nx/build/\nx/build/a/\nx/build/ok.c\ny.h\n" },
		{ "/w", "../../x.h", "/w", "w/\nw/ok.c\nx.h\n" },
		{ "", "../x.h", "/d", "d/\nd/ok.c\nx.h\n" },
		{ "/", "../x.h", "", "ok.c\nx.h\n" },
	};
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_stage stage = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct mor_unit unit =
			unit_of(cases[i].working_dir, INPUTS(INPUT("ok.c", 1), INPUT(cases[i].path, 2)));

		fit(stager, &unit, MOR_STAGE_DIR, &stage);
		expect_tree(&stage, cases[i].tree);
		assert_memory_equal(stage.working_dir, stage.path, strlen(stage.path));
		assert_string_equal(stage.working_dir + strlen(stage.path), cases[i].below);
	}
	mor_stage_drop(stager, &stage);
}

/* The machine's own file under that name will do, if it is the same. */
static void test_dir_mode_counts_on_the_machine(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	char path[TMP_ROOM];
	int fd = mkstemp(tmp_name(path, "here"));
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("ok.c", 1), INPUT(path, 2)));
	struct mor_stage stage = { 0 };

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, content_of(2), strlen(content_of(2))), strlen(content_of(2)));
	fit(stager, &unit, MOR_STAGE_DIR, &stage);
	expect_tree(&stage, "ok.c\n");
	mor_stage_drop(stager, &stage);
	assert_int_equal(write(fd, "!", 1), 1);
	close(fd);
	expect_refused(&unit, MOR_STAGE_DIR, "this machine has no such file with this content");
	unlink(path);
}

static void test_no_path(void **state)
{
	static const char *const paths[] = { "", ".", "./", "a/..", "/", "/..", "../../.." };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct mor_unit unit = unit_of("/", INPUTS(INPUT(paths[i], 2)));

		expect_refused(&unit, MOR_STAGE_ROOT, "is not the path of a file");
	}
}

/* Section 5.2: what cannot be shown fails by name. */
static void test_contradictions(void **state)
{
	struct mor_unit twice = unit_of("/w", INPUTS(INPUT("a", 1), INPUT("/w/./a", 2)));
	struct mor_unit below = unit_of("/w", INPUTS(INPUT("a-b", 1), INPUT("a/b/c", 2), INPUT("a", 3)));
	struct mor_unit cwd = unit_of("/w/d", INPUTS(INPUT("/w", 1)));
	struct mor_unit cwd_itself = unit_of("/w", INPUTS(INPUT("/w", 1)));

	(void)state;
	expect_refused(&twice, MOR_STAGE_ROOT, "one path with two contents");
	expect_refused(&below, MOR_STAGE_ROOT, "a/b/c: its directory is also a file of the record (a)");
	expect_refused(&cwd, MOR_STAGE_ROOT,
		       "the working directory /w/d is a file of the record, or lies below one");
	expect_refused(&cwd_itself, MOR_STAGE_ROOT, "the working directory /w is a file of the record");
}

static void test_same_path_same_content(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_unit unit =
		unit_of("/w", INPUTS(INPUT("a", 1), INPUT("./a", 1), INPUT("../w/a", 1), INPUT("b", 1)));
	struct mor_stage stage = { 0 };
	struct stat a, b;
	char path[PATH_MAX];

	(void)state;
	fit(stager, &unit, MOR_STAGE_ROOT, &stage);
	expect_tree(&stage, "w/\nw/a\nw/b\n");
	snprintf(path, sizeof(path), "%s/w/a", stage.path);
	assert_int_equal(stat(path, &a), 0);
	snprintf(path, sizeof(path), "%s/w/b", stage.path);
	assert_int_equal(stat(path, &b), 0);
	assert_int_equal(a.st_ino, b.st_ino); /* equal digests are one inode */
	mor_stage_drop(stager, &stage);
}

static char *long_path(size_t elements, size_t each)
{
	char *path = malloc(elements * (each + 1) + 2), *at = path;

	for (size_t i = 0; i < elements; i++) {
		memset(at, 'n', each);
		at += each;
		*at++ = '/';
	}
	strcpy(at, "f");
	return path;
}

static void test_long_names(void **state)
{
	char *name = long_path(1, 256), *path = long_path(17, 250);
	struct mor_unit long_name = unit_of("/w", INPUTS(INPUT(name, 1))),
			long_file = unit_of("/w", INPUTS(INPUT("a", 1)));
	struct mor_unit whole = unit_of("/w", INPUTS(INPUT(path, 1))),
			cwd = unit_of("/", INPUTS(INPUT("a", 1)));
	char leaf[300] = "", deep_cwd[5000] = "";

	(void)state;
	expect_refused(&long_name, MOR_STAGE_ROOT, "File name too long");
	memset(leaf, 'l', 256);
	long_file.inputs[0].path = leaf;
	expect_refused(&long_file, MOR_STAGE_DIR, "File name too long");
	expect_refused(&whole, MOR_STAGE_ROOT, "the path is longer than 4094 bytes");
	expect_refused(&whole, MOR_STAGE_DIR, "the path is longer than 4094 bytes");
	snprintf(deep_cwd, sizeof(deep_cwd), "/%s", path);
	cwd.working_directory = deep_cwd;
	expect_refused(&cwd, MOR_STAGE_ROOT, "the working directory is too long");
	snprintf(deep_cwd, sizeof(deep_cwd), "/%s", name);
	expect_refused(&cwd, MOR_STAGE_ROOT, "the working directory is too long");
	free(name);
	free(path);
}

/* As deep as a path can be, with fewer descriptors than that: made, changed and gone. */
static void test_deep(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	char *path = long_path(2040, 1), tree[PATH_MAX];
	struct mor_unit deep = unit_of("/", INPUTS(INPUT(path, 1))),
			flat = unit_of("/", INPUTS(INPUT("deep.0/x", 2), INPUT("deep.1", 2)));
	struct rlimit before, few;
	struct mor_stage stage = { 0 };

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ 200, before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	fit(stager, &deep, MOR_STAGE_ROOT, &stage);
	expect_content(&stage, path, 1);
	fit(stager, &flat, MOR_STAGE_ROOT, &stage);
	expect_tree(&stage, "deep.0/\ndeep.0/x\ndeep.1\n");
	fit(stager, &deep, MOR_STAGE_ROOT, &stage);
	snprintf(tree, sizeof(tree), "%s", stage.path);
	mor_stage_drop(stager, &stage);
	assert_int_equal(access(tree, F_OK), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	free(path);
}

static void test_lacking(void **state)
{
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("ok", 1), INPUT("gone.h", 2)));
	static const char *const wrong[] = { MISSING, "", "xyz", "../../../../etc/passwd" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		unit.inputs[1].digest = wrong[i];
		expect_refused(&unit, MOR_STAGE_ROOT, "gone.h: the archive lacks its content");
	}
}

/* An archive whose file is not what its name says: nothing of it is left, not even in the cache. */
static void test_wrong_digest(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("wrong-cache");
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("bad.h", 1)));
	MOR_CLEAN(mor_kzip) struct mor_kzip *bad = NULL;
	MOR_CLEAN(mor_buf) struct mor_buf left = MOR_BUF_INIT;
	struct mor_stage stage = { 0 };
	mortise_error err = { 0 };
	char name[100];
	zip_t *zip = zip_open(in_dir("bad.kzip"), ZIP_CREATE | ZIP_TRUNCATE, NULL);

	(void)state;
	snprintf(name, sizeof(name), "root/files/%s", digests[1]);
	zip_dir_add(zip, "root/", 0);
	zip_dir_add(zip, "root/units/", 0);
	zip_dir_add(zip, "root/files/", 0);
	zip_file_add(zip, name, zip_source_buffer(zip, "evil", 4, 0), 0);
	assert_int_equal(zip_close(zip), 0);
	assert_int_equal(mor_kzip_open(in_dir("bad.kzip"), NULL, &bad, &err), 0);
	assert_int_equal(fit_stage(stager, bad, &unit, MOR_STAGE_ROOT, &stage, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "bad.h"));
	assert_null(stage.path);
	list_tree(in_dir("wrong-cache/blobs"), &left);
	assert_string_equal(left.data, "");
}

/* A record does not depend on what lies there from the one before: its own archive has its
 * contents, or it fails. */
static void test_other_archive_lacks_it(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	MOR_CLEAN(mor_kzip) struct mor_kzip *small = make_kzip("small.kzip", 2);
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("a", 1), INPUT("b", 4)));
	struct mor_stage stage = { 0 };
	mortise_error err = { 0 };

	(void)state;
	fit(stager, &unit, MOR_STAGE_ROOT, &stage);
	assert_int_equal(fit_stage(stager, small, &unit, MOR_STAGE_ROOT, &stage, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "b: the archive lacks its content"));
	assert_null(stage.path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_working_dir),
		MOR_TEST(test_root),
		MOR_TEST(test_empty_working_dir),
		MOR_TEST(test_own_working_dir),
		MOR_TEST(test_many_steps_up),
		MOR_TEST(test_detours_of_arguments),
		MOR_TEST(test_dir_mode),
		MOR_TEST(test_dir_mode_refuses),
		MOR_TEST(test_dir_mode_counts_on_the_machine),
		MOR_TEST(test_dir_mode_steps_up),
		MOR_TEST(test_no_path),
		MOR_TEST(test_contradictions),
		MOR_TEST(test_same_path_same_content),
		MOR_TEST(test_long_names),
		MOR_TEST(test_deep),
		MOR_TEST(test_lacking),
		MOR_TEST(test_wrong_digest),
		MOR_TEST(test_other_archive_lacks_it),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("kythe/stage/stage", tests, group_setup, group_teardown);
}
