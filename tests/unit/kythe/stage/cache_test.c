/* SPDX-License-Identifier: Apache-2.0 */
/* Staging: its cache, and from unit to unit. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "help.h"

/* ---- the cache ---- */

static void test_second_staging_writes_nothing(void **state)
{
	struct mor_unit unit =
		unit_of("/w", INPUTS(INPUT("a", 1), INPUT("b", 2), INPUT("c", 1), INPUT("empty", 0)));
	struct mor_stager_stats stats;

	(void)state;
	for (int run = 0; run < 2; run++) {
		MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("second");
		struct mor_stage stage = { 0 };

		fit(stager, &unit, MOR_STAGE_ROOT, &stage);
		stats = mor_stager_stats(stager);
		assert_int_equal(stats.written, run ? 0 : 3);
		assert_int_equal(stats.written_bytes, run ? 0 : strlen(content_of(1)) + strlen(content_of(2)));
		assert_int_equal(stats.linked, 4);
		mor_stage_drop(stager, &stage);
	}
}

static void flip_a_bit(const char *blob)
{
	int fd = -1;
	char byte;

	assert_int_equal(chmod(blob, 0644), 0);
	fd = open(blob, O_RDWR | O_CLOEXEC);
	assert_int_equal(pread(fd, &byte, 1, 0), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, 0), 1);
	assert_int_equal(fchmod(fd, 0444), 0);
	assert_int_equal(futimens(fd, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }), 0);
	close(fd);
}

/* Hashed once per run, looked at each time. */
static void test_touched_in_a_run(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("known");
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("a", 1), INPUT("b", 2)));
	struct mor_unit other = unit_of("/v", INPUTS(INPUT("a", 1)));
	struct mor_stage stage = { 0 };
	char name[200];

	(void)state;
	snprintf(name, sizeof(name), "known/blobs/%s", digests[1]);
	fit(stager, &unit, MOR_STAGE_ROOT, &stage);
	assert_int_equal(utimensat(AT_FDCWD, in_dir(name), NULL, 0), 0);
	fit(stager, &other, MOR_STAGE_ROOT, &stage);
	assert_int_equal(mor_stager_stats(stager).written, 3);
	assert_int_equal(mor_stager_stats(stager).mended, 1);
	expect_content(&stage, "v/a", 1);
	mor_stage_drop(stager, &stage);
}

/* Mode, time and size are ours: a blob that has others was touched, and is written anew; and so is one
 * with other bytes. */
static void test_tampered_blob(void **state)
{
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("a", 1)));
	char name[200];

	(void)state;
	snprintf(name, sizeof(name), "tampered/blobs/%s", digests[1]);
	for (int way = 0; way < 7; way++) {
		MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("tampered");
		const char *blob = in_dir(name);
		struct mor_stage stage = { 0 };

		if (way == 1)
			assert_int_equal(chmod(blob, 0644), 0);
		if (way == 2)
			assert_int_equal(utimensat(AT_FDCWD, blob, NULL, 0), 0);
		if (way == 3) {
			assert_int_equal(chmod(blob, 0644), 0);
			assert_int_equal(truncate(blob, 1), 0);
			assert_int_equal(utimensat(AT_FDCWD, blob, (struct timespec[2]){ { 1, 0 }, { 1, 0 } },
						   0),
					 0);
			assert_int_equal(chmod(blob, 0444), 0);
		}
		if (way == 4) {
			assert_int_equal(unlink(blob), 0);
			assert_int_equal(symlink("/etc/passwd", blob), 0);
		}
		if (way == 5)
			assert_int_equal(unlink(blob), 0);
		if (way == 6)
			flip_a_bit(blob); /* and nothing else shows */
		fit(stager, &unit, MOR_STAGE_ROOT, &stage);
		expect_content(&stage, "w/a", 1);
		assert_int_equal(mor_stager_stats(stager).written, 1);
		assert_int_equal(mor_stager_stats(stager).mended, way != 0 && way != 5);
		mor_stage_drop(stager, &stage);
	}
}

/* Stages of runs that were killed go when the next one begins; those of the living stay, whatever
 * they are called. */
static void test_orphans(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *living = new_stager("orphans"), *next = NULL;
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("a", 1)));
	struct mor_stage stage = { 0 }, mine = { 0 };
	MOR_CLEAN(mor_buf) struct mor_buf left = MOR_BUF_INIT;
	char name[100];
	pid_t child;

	(void)state;
	fit(living, &unit, MOR_STAGE_ROOT, &stage);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct mor_stager *stager = new_stager("orphans");
		struct mor_stage left_behind = { 0 };

		fit(stager, &unit, MOR_STAGE_ROOT, &left_behind);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	snprintf(name, sizeof(name), "orphans/stages/%d.0", (int)child);
	assert_int_equal(access(in_dir(name), F_OK), 0);
	/* One that a dead process with our own number left, too. */
	snprintf(name, sizeof(name), "orphans/stages/%d.7", (int)getpid());
	assert_int_equal(mkdir(in_dir(name), 0700), 0);
	next = new_stager("orphans");
	assert_int_equal(access(in_dir(name), F_OK), -1);
	snprintf(name, sizeof(name), "orphans/stages/%d.0", (int)child);
	assert_int_equal(access(in_dir(name), F_OK), -1);
	expect_content(&stage, "w/a", 1);
	fit(next, &unit, MOR_STAGE_ROOT, &mine);
	assert_string_not_equal(mine.path, stage.path);
	mor_stage_drop(next, &mine);
	mor_stage_drop(living, &stage);
	next = mor_stager_free(next);
	living = mor_stager_free(living);
	list_tree(in_dir("orphans/stages"), &left);
	assert_string_equal(left.data, ""); /* and nothing is left of those that ended well */
}

static void test_output_dir(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_stage first = { 0 }, second = { 0 };
	mortise_error err = { 0 };
	struct stat st;

	(void)state;
	assert_int_equal(mor_stage_dir(stager, &first.path, &err), 0);
	assert_int_equal(mor_stage_dir(stager, &second.path, &err), 0);
	assert_string_not_equal(first.path, second.path);
	assert_int_equal(stat(first.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	mor_stage_drop(stager, &first);
	mor_stage_drop(stager, &second);
}

static void test_cache_refused(void **state)
{
	struct mor_stager *stager = NULL;
	mortise_error err = { 0 };
	FILE *f = fopen(in_dir("file"), "we");

	(void)state;
	fclose(f);
	assert_int_equal(mor_stager_new(in_dir("file/cache"), &stager, &err), MORTISE_ESYSTEM);
	assert_non_null(strstr(err.text, "file/cache: Not a directory"));
	assert_int_equal(mkdir(in_dir("linked"), 0700), 0);
	assert_int_equal(symlink("/tmp", in_dir("linked/blobs")), 0);
	/* no links inside it */
	assert_int_equal(mor_stager_new(in_dir("linked"), &stager, &err), MORTISE_ESYSTEM);
	assert_null(stager);
}

/* ---- from unit to unit ---- */

/* What the tree must be, from the unit alone: every file, every directory above one, the working directory. */
static void wanted_tree(const struct mor_unit *unit, struct mor_buf *out)
{
	char model[200], path[300];

	snprintf(model, sizeof(model), "%s", in_dir("model"));
	mor_dir_remove_all(AT_FDCWD, model);
	snprintf(path, sizeof(path), "%s%s", model, unit->working_directory);
	assert_int_equal(mor_dir_make_all(AT_FDCWD, path, 0755), 0);
	for (size_t i = 0; i < unit->input_count; i++) {
		char *name = NULL;

		snprintf(path, sizeof(path), "%s%s", model, unit->inputs[i].path);
		name = strrchr(path, '/');
		*name = '\0';
		assert_int_equal(mor_dir_make_all(AT_FDCWD, path, 0755), 0);
		*name = '/';
		close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)); /* the same one twice is allowed */
	}
	list_tree(model, out);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* After any sequence of units the tree is exactly that of the last one (R28 of docs/dialects/kythe.md). Some
 * units contradict themselves: then the stage is empty, and the next one starts anew. */
static void test_random_sequences(void **state)
{
	static const char *const names[] = { "/a",     "/b",     "/a/b",      "/a/b/c",   "/a/x",
					     "/b/a/a", "/w/a",   "/w/b/c",    "/w/b",     "/c/d/e/f",
					     "/c/d",   "/w/v/u", "/a/q/../x", "/c/d/../y" };
	static const char *const dirs[] = { "/", "/w", "/w/b", "/a", "/nowhere/at/all", "/c/d" };
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("random");
	struct mor_stage stage = { 0 };
	uint32_t seed = 1;
	unsigned shown = 0, refused = 0;

	(void)state;
	for (int step = 0; step < 250; step++) {
		MOR_CLEAN(mor_buf) struct mor_buf want = MOR_BUF_INIT;
		struct mor_input inputs[6];
		struct mor_unit unit = unit_of(dirs[next_random(&seed) % 6], inputs, next_random(&seed) % 6);
		mortise_error err = { 0 };
		int r;

		for (size_t i = 0; i < unit.input_count; i++)
			inputs[i] = (struct mor_input)INPUT(names[next_random(&seed) % 14],
							    next_random(&seed) % CONTENTS);
		r = fit_stage(stager, kzip, &unit, MOR_STAGE_ROOT, &stage, &err);
		if (r < 0) {
			if (r != MORTISE_EINPUT)
				fail_msg("step %d: %s", step, err.text);
			assert_null(stage.path);
			refused++;
			continue;
		}
		wanted_tree(&unit, &want);
		expect_tree(&stage, want.data);
		for (size_t i = 0; i < unit.input_count; i++)
			for (unsigned c = 0; c < CONTENTS; c++)
				if (inputs[i].digest == digests[c])
					expect_content(&stage, inputs[i].path + 1, c);
		shown++;
	}
	assert_true(shown > 100 && refused > 20);
	mor_stage_drop(stager, &stage);
}

/* Directories are used again under other names. One that somebody has put something into is not. */
static void test_squatters(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("squatters");
	struct mor_unit first = unit_of("/", INPUTS(INPUT("a/b/c", 1), INPUT("a/d/e", 2), INPUT("f", 3)));
	struct mor_unit none = unit_of("/", INPUTS(INPUT("f", 3))),
			second = unit_of("/", INPUTS(INPUT("g/h/i", 1), INPUT("g/j", 2), INPUT("f", 3)));
	struct mor_stage stage = { 0 };
	int root;

	(void)state;
	fit(stager, &first, MOR_STAGE_ROOT, &stage);
	root = open(stage.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(root, "a/b/squatter", 0700), 0);
	assert_int_equal(mknodat(root, "a/d/squatter", S_IFREG | 0600, 0), 0);
	close(root);
	fit(stager, &none, MOR_STAGE_ROOT, &stage);
	expect_tree(&stage, "f\n");
	fit(stager, &second, MOR_STAGE_ROOT, &stage);
	expect_tree(&stage, "f\ng/\ng/h/\ng/h/i\ng/j\n");
	mor_stage_drop(stager, &stage);
}

/* Of several stages the nearest is changed, but never the one that is shown; a record that
 * fails spoils none. */
static void test_nearest(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("nearest");
	struct mor_input many[100], others[100];
	struct mor_unit a = unit_of("/w", many, 100), b = unit_of("/w", others, 100),
			half = unit_of("/w", many, 90);
	struct mor_unit less = unit_of("/w", many, 89);
	struct mor_kzip *lacking = make_kzip("lacking.kzip", 1);
	struct mor_unit bad = unit_of("/w", INPUTS(INPUT("x", 1), INPUT("x", 2)));
	struct mor_stage stages[3] = { 0 };
	char names[2][100][16];
	mortise_error err = { 0 };
	unsigned shown = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		snprintf(names[0][i], 16, "a/%u", i);
		snprintf(names[1][i], 16, "b/%u", i);
		many[i] = (struct mor_input)INPUT(names[0][i], 1);
		others[i] = (struct mor_input)INPUT(names[1][i], 2);
	}
	for (int round = 0; round < 3; round++) {
		assert_int_equal(mor_stage_fit_nearest(stager, kzip, &a, MOR_STAGE_ROOT, stages, 3, &shown,
						       &err),
				 0);
		expect_content(&stages[shown], "w/a/99", 1);
		assert_int_equal(shown, 1);
		assert_int_equal(mor_stage_fit_nearest(stager, kzip, &b, MOR_STAGE_ROOT, stages, 3, &shown,
						       &err),
				 0);
		expect_content(&stages[shown], "w/b/99", 2);
		assert_int_equal(shown, 0);
		assert_int_equal(mor_stage_fit_nearest(stager, kzip, &bad, MOR_STAGE_ROOT, stages, 3, &shown,
						       &err),
				 MORTISE_EINPUT);
		assert_int_equal(shown, 0);
	}
	assert_int_equal(mor_stager_stats(stager).linked, 200);
	assert_int_equal(mor_stage_fit_nearest(stager, kzip, &half, MOR_STAGE_ROOT, stages, 3, &shown, &err),
			 0);
	assert_int_equal(shown, 1);
	assert_int_equal(mor_stager_stats(stager).linked, 200);
	assert_int_equal(mor_stage_fit_nearest(stager, kzip, &half, MOR_STAGE_ROOT, stages, 3, &shown, &err),
			 0);
	assert_int_equal(shown, 1); /* it fits as it is */
	assert_int_equal(mor_stage_fit_nearest(stager, kzip, &less, MOR_STAGE_ROOT, stages, 3, &shown, &err),
			 0);
	/* though the other one is nearer: it is shown, and would have to be changed */
	assert_int_equal(shown, 2);
	assert_int_equal(mor_stage_fit_nearest(stager, lacking, &less, MOR_STAGE_ROOT, stages, 3, &shown, &err),
			 MORTISE_EINPUT);
	mor_kzip_free(lacking);
	for (unsigned i = 0; i < 3; i++)
		mor_stage_drop(stager, &stages[i]);
}

/* Files that two units share are not touched. */
static void test_only_what_differs(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("differs");
	struct mor_unit first = unit_of("/w", INPUTS(INPUT("a", 1), INPUT("b", 2), INPUT("d/e", 3)));
	struct mor_unit second = unit_of("/w", INPUTS(INPUT("d/e", 3), INPUT("b", 4), INPUT("a", 1)));
	struct mor_stage stage = { 0 };

	(void)state;
	fit(stager, &first, MOR_STAGE_ROOT, &stage);
	assert_int_equal(mor_stager_stats(stager).linked, 3);
	fit(stager, &second, MOR_STAGE_ROOT, &stage);
	assert_int_equal(mor_stager_stats(stager).linked, 4);
	expect_content(&stage, "w/b", 4);
	fit(stager, &second, MOR_STAGE_ROOT, &stage);
	assert_int_equal(mor_stager_stats(stager).linked, 4);
	mor_stage_drop(stager, &stage);
}

/* Every allocation failed in turn: an error, an empty stage, and the right tree once memory is back. */
static void test_starved(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_unit first = unit_of("", INPUTS(INPUT("a", 1), INPUT("../b", 2))),
			second = unit_of("/w", INPUTS(INPUT("a", 1), INPUT("c", 3)));
	struct mor_stage stage = { 0 };
	int r = MORTISE_ENOMEM, failures = 0;

	(void)state;
	for (long n = 0; n < 1000 && r != 0; n++) {
		mortise_error err = { 0 };

		fit(stager, &first, MOR_STAGE_ROOT, &stage);
		mor_alloc_fail_after(n);
		r = fit_stage(stager, kzip, &second, MOR_STAGE_ROOT, &stage, &err);
		mor_alloc_fail_after(-1);
		if (r < 0) {
			assert_null(stage.path);
			failures++;
			continue;
		}
		expect_tree(&stage, "w/\nw/a\nw/c\n");
	}
	assert_int_equal(r, 0);
	assert_true(failures > 5);
	mor_stage_drop(stager, &stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_second_staging_writes_nothing),
		MOR_TEST(test_tampered_blob),
		MOR_TEST(test_touched_in_a_run),
		MOR_TEST(test_orphans),
		MOR_TEST(test_output_dir),
		MOR_TEST(test_cache_refused),
		MOR_TEST(test_random_sequences),
		MOR_TEST(test_squatters),
		MOR_TEST(test_nearest),
		MOR_TEST(test_only_what_differs),
		MOR_TEST(test_starved),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("kythe/stage/cache", tests, group_setup, group_teardown);
}
