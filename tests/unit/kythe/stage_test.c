/* Staging: R26 to R28, section 5.2 (hostile paths, one path twice, a file that is also a directory), and from unit to unit. */
#include "leak.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zip.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "kythe/stage.h"
#include "kythe/stage_own.h"

#define CONTENTS 6
#define MISSING "0000000000000000000000000000000000000000000000000000000000000000"

static char dir[] = "/tmp/mortise-stage-XXXXXX";
static char digests[CONTENTS][65];
static struct mor_kzip *kzip;

/* ---- helpers ---- */

static const char *in_dir(const char *name)
{
	static char path[4][9000];
	static unsigned turn;
	char *to = path[turn++ % 4];

	snprintf(to, sizeof(path[0]), "%s/%s", dir, name);
	return to;
}

static const char *content_of(unsigned number)
{
	static const char *const contents[CONTENTS] = { "", "one\n", "two, longer\n", "int main(void);\n", "4", "five 5 five\n" };

	return contents[number];
}

static struct mor_kzip *make_kzip(const char *name, unsigned contents)
{
	MOR_CLEAN(mor_kzip_writer) struct mor_kzip_writer *writer = NULL;
	struct mor_kzip *made = NULL;
	mortise_error err = { 0 };
	char digest[65];

	assert_int_equal(mor_kzip_writer_new(in_dir(name), MOR_KZIP_JSON, &writer, &err), 0);
	for (unsigned i = 0; i < contents; i++) {
		assert_int_equal(mor_kzip_writer_add_bytes(writer, mor_slice_of(content_of(i)), digest, &err), 0);
		memcpy(digests[i], digest, sizeof(digest));
	}
	assert_int_equal(mor_kzip_writer_finish(writer, &err), 0);
	assert_int_equal(mor_kzip_open(in_dir(name), NULL, &made, &err), 0);
	return made;
}

static int group_setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	kzip = make_kzip("all.kzip", CONTENTS);
	return 0;
}

static int group_teardown(void **state)
{
	(void)state;
	mor_kzip_free(kzip);
	mor_remove_tree_at(AT_FDCWD, dir);
	return access(dir, F_OK) == 0;
}

#define INPUT(path, number) { MOR_VNAME_EMPTY, path, digests[number], NULL, 0 }
#define INPUTS(...) ((struct mor_input[]){ __VA_ARGS__ }), sizeof((struct mor_input[]){ __VA_ARGS__ }) / sizeof(struct mor_input)

static struct mor_unit unit_of(const char *working_dir, struct mor_input *inputs, size_t count)
{
	return (struct mor_unit){ .vname = MOR_VNAME_EMPTY, .inputs = inputs, .input_count = count, .output_key = "",
				  .working_directory = working_dir, .entry_context = "" };
}

static struct mor_stager *new_stager(const char *cache)
{
	struct mor_stager *stager = NULL;
	mortise_error err = { 0 };

	if (mor_stager_new(in_dir(cache), &stager, &err) < 0)
		fail_msg("%s", err.text);
	return stager;
}

static void fit(struct mor_stager *stager, const struct mor_unit *unit, enum mor_stage_mode mode, struct mor_stage *stage)
{
	mortise_error err = { 0 };

	if (mor_stage_fit(stager, kzip, unit, mode, stage, &err) < 0)
		fail_msg("%s", err.text);
}

/* Afterwards the stage is empty, and says so. */
static void expect_refused(const struct mor_unit *unit, enum mor_stage_mode mode, const char *text)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_input plain[] = { INPUT("a", 1), INPUT("b/c", 2) };
	struct mor_unit before = unit_of("", plain, 2);
	struct mor_stage stage = { 0 };
	mortise_error err = { 0 };
	char path[PATH_MAX];

	fit(stager, &before, mode, &stage);
	snprintf(path, sizeof(path), "%s", stage.path);
	assert_int_equal(mor_stage_fit(stager, kzip, unit, mode, &stage, &err), MORTISE_EINPUT);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" lacks \"%s\"", err.text, text);
	assert_null(stage.path);
	assert_null(stage.working_dir);
	assert_null(stage.items);
	assert_int_equal(access(path, F_OK), -1);
}

static void expect_content(const struct mor_stage *stage, const char *path, unsigned number)
{
	int root = open(stage->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = openat(root, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[100];
	ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text));
	struct stat st;

	if (fd < 0)
		fail_msg("%s is not there", path);
	assert_int_equal(len, strlen(content_of(number)));
	assert_memory_equal(text, content_of(number), (size_t)len);
	assert_int_equal(fstat(fd, &st), 0);
	mor_fd_close(&fd);
	mor_fd_close(&root);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0444);
	assert_int_equal(st.st_mtim.tv_sec, 1);
}

/* The tree as `find` tells it: sorted paths, directories with a "/" at their end, one per line. */
static void list_tree(const char *root, struct mor_buf *out)
{
	char command[PATH_MAX + 100], buffer[4096];
	size_t n;
	FILE *f;

	snprintf(command, sizeof(command), "cd '%s' && find . -mindepth 1 \\( -type d -printf '%%P/\\n' -o -printf '%%P\\n' \\) | LC_ALL=C sort", root);
	f = popen(command, "re");
	assert_non_null(f);
	while ((n = fread(buffer, 1, sizeof(buffer), f)) > 0)
		mor_buf_append(out, buffer, n);
	assert_int_equal(pclose(f), 0);
	mor_buf_byte(out, '\0');
}

static void expect_tree(const struct mor_stage *stage, const char *want)
{
	MOR_CLEAN(mor_buf) struct mor_buf got = MOR_BUF_INIT;

	list_tree(stage->path, &got);
	assert_string_equal(got.data, want);
}

/* ---- one unit ---- */

static void test_working_dir(void **state)
{
	static const struct {
		const char *working_dir, *path, *want;
	} cases[] = {
		{ "", "a.c", "/kythe-unit" },          { "/w", "../../a.c", "/w" },
		{ "/w/../v/./", "a.c", "/v" },         { "/", "a.c", "/" },
		{ "", "../a.c", "/kythe-unit/d" },     { "", "x/../../../a.c", "/kythe-unit/d/d" },
		{ "sub", "a.c", "/kythe-unit/sub" },   { "../sub", "a.c", "/kythe-unit/sub" },
		{ "../..", "../a.c", "/kythe-unit" },  { "", "/usr/../../a.c", "/kythe-unit" },
		{ "", "..", "/kythe-unit/d" },         { "/..", "a", "/" },
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
	struct mor_unit unit = unit_of("/w/d", INPUTS(INPUT("a.c", 1), INPUT("./x//y/../z.h", 2), INPUT("../up.h", 3),
						      INPUT("/usr/include/q.h", 4), INPUT("../../../../../etc/shadow", 5)));
	struct mor_stage stage = { 0 };

	(void)state;
	fit(stager, &unit, MOR_STAGE_ROOT, &stage);
	assert_string_equal(stage.working_dir, "/w/d");
	expect_tree(&stage, "etc/\netc/shadow\nusr/\nusr/include/\nusr/include/q.h\nw/\nw/d/\nw/d/a.c\nw/d/x/\nw/d/x/y/\nw/d/x/z.h\nw/up.h\n");
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
	struct mor_unit none = unit_of("/deep/work", NULL, 0), other = unit_of("/w/d", INPUTS(INPUT("/x/a", 0)));
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
	expect_tree(&stage, "c.h\nkythe-unit/\nkythe-unit/b.h\nkythe-unit/d/\nkythe-unit/d/d/\nkythe-unit/d/d/a.c\n");
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
	static const char *const paths[] = { "/usr/include/x.h", "../x.h", "a/../../x.h", "..", "/" };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct mor_unit unit = unit_of("/w", INPUTS(INPUT("ok.c", 1), INPUT(paths[i], 2)));

		expect_refused(&unit, MOR_STAGE_DIR, "cannot be shown without namespaces: it lies outside the working directory");
	}
}

static void test_no_path(void **state)
{
	static const char *const paths[] = { "", ".", "./", "a/..", "/", "/..", "../../.." };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct mor_unit unit = unit_of("/", INPUTS(INPUT(paths[i], 2)));

		expect_refused(&unit, MOR_STAGE_ROOT, "is no path of a file");
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
	expect_refused(&cwd, MOR_STAGE_ROOT, "the working directory /w/d is a file of the record, or lies below one");
	expect_refused(&cwd_itself, MOR_STAGE_ROOT, "the working directory /w is a file of the record");
}

static void test_same_path_same_content(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("a", 1), INPUT("./a", 1), INPUT("../w/a", 1), INPUT("b", 1)));
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
	struct mor_unit long_name = unit_of("/w", INPUTS(INPUT(name, 1))), long_file = unit_of("/w", INPUTS(INPUT("a", 1)));
	struct mor_unit whole = unit_of("/w", INPUTS(INPUT(path, 1))), cwd = unit_of("/", INPUTS(INPUT("a", 1)));
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
	struct mor_unit deep = unit_of("/", INPUTS(INPUT(path, 1))), flat = unit_of("/", INPUTS(INPUT("deep.0/x", 2), INPUT("deep.1", 2)));
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
	assert_int_equal(mor_stage_fit(stager, bad, &unit, MOR_STAGE_ROOT, &stage, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "bad.h"));
	assert_null(stage.path);
	list_tree(in_dir("wrong-cache/blobs"), &left);
	assert_string_equal(left.data, "");
}

/* A record does not depend on what lies there from the one before: its own archive has its contents, or it fails. */
static void test_other_archive_lacks_it(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("cache");
	MOR_CLEAN(mor_kzip) struct mor_kzip *small = make_kzip("small.kzip", 2);
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("a", 1), INPUT("b", 4)));
	struct mor_stage stage = { 0 };
	mortise_error err = { 0 };

	(void)state;
	fit(stager, &unit, MOR_STAGE_ROOT, &stage);
	assert_int_equal(mor_stage_fit(stager, small, &unit, MOR_STAGE_ROOT, &stage, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "b: the archive lacks its content"));
	assert_null(stage.path);
}

/* ---- the cache ---- */

static void test_second_staging_writes_nothing(void **state)
{
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("a", 1), INPUT("b", 2), INPUT("c", 1), INPUT("empty", 0)));
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

/* Mode, time and size are ours: a blob that has others was touched, and is written anew. */
static void test_tampered_blob(void **state)
{
	struct mor_unit unit = unit_of("/w", INPUTS(INPUT("a", 1)));
	char name[200];

	(void)state;
	snprintf(name, sizeof(name), "tampered/blobs/%.2s/%s", digests[1], digests[1]);
	for (int way = 0; way < 6; way++) {
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
			assert_int_equal(utimensat(AT_FDCWD, blob, (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0), 0);
			assert_int_equal(chmod(blob, 0444), 0);
		}
		if (way == 4) {
			assert_int_equal(unlink(blob), 0);
			assert_int_equal(symlink("/etc/passwd", blob), 0);
		}
		if (way == 5)
			assert_int_equal(unlink(blob), 0);
		fit(stager, &unit, MOR_STAGE_ROOT, &stage);
		expect_content(&stage, "w/a", 1);
		assert_int_equal(mor_stager_stats(stager).written, 1);
		mor_stage_drop(stager, &stage);
	}
}

/* Stages of runs that were killed go when the next one begins; those of the living stay, whatever they are called. */
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
	assert_int_equal(mor_stager_new(in_dir("linked"), &stager, &err), MORTISE_ESYSTEM); /* no links inside it */
	assert_null(stager);
}

/* ---- from unit to unit ---- */

/* What the tree must be, from the unit alone: every file, every directory above one, the working directory. */
static void wanted_tree(const struct mor_unit *unit, struct mor_buf *out)
{
	MOR_CLEAN(mor_buf) struct mor_buf script = MOR_BUF_INIT;
	const char *model = in_dir("model");

	mor_remove_tree_at(AT_FDCWD, model);
	mor_buf_printf(&script, "mkdir -p %s%s", model, unit->working_directory);
	for (size_t i = 0; i < unit->input_count; i++)
		mor_buf_printf(&script, " && mkdir -p $(dirname %s%s) && touch %s%s", model, unit->inputs[i].path, model,
			       unit->inputs[i].path);
	mor_buf_byte(&script, '\0');
	assert_int_equal(system(script.data), 0);
	list_tree(model, out);
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* After any sequence of units the tree is exactly that of the last one; R28. Some units contradict themselves: then the
 * stage is empty, and the next one starts anew. */
static void test_random_sequences(void **state)
{
	static const char *const names[] = { "/a", "/b", "/a/b", "/a/b/c", "/a/x", "/b/a/a", "/w/a", "/w/b/c", "/w/b", "/c/d/e/f",
					     "/c/d", "/w/v/u", "/a/q/../x", "/c/d/../y" };
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
			inputs[i] = (struct mor_input)INPUT(names[next_random(&seed) % 14], next_random(&seed) % CONTENTS);
		r = mor_stage_fit(stager, kzip, &unit, MOR_STAGE_ROOT, &stage, &err);
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
	struct mor_unit none = unit_of("/", INPUTS(INPUT("f", 3))), second = unit_of("/", INPUTS(INPUT("g/h/i", 1), INPUT("g/j", 2), INPUT("f", 3)));
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

/* Of several stages the nearest is changed, but never the one that is shown; a record that fails spoils none. */
static void test_nearest(void **state)
{
	MOR_CLEAN(mor_stager) struct mor_stager *stager = new_stager("nearest");
	struct mor_input many[100], others[100];
	struct mor_unit a = unit_of("/w", many, 100), b = unit_of("/w", others, 100), half = unit_of("/w", many, 90);
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
		assert_int_equal(mor_stage_fit_nearest(stager, kzip, &a, MOR_STAGE_ROOT, stages, 3, &shown, &err), 0);
		expect_content(&stages[shown], "w/a/99", 1);
		assert_int_equal(shown, 1);
		assert_int_equal(mor_stage_fit_nearest(stager, kzip, &b, MOR_STAGE_ROOT, stages, 3, &shown, &err), 0);
		expect_content(&stages[shown], "w/b/99", 2);
		assert_int_equal(shown, 0);
		assert_int_equal(mor_stage_fit_nearest(stager, kzip, &bad, MOR_STAGE_ROOT, stages, 3, &shown, &err), MORTISE_EINPUT);
		assert_int_equal(shown, 0);
	}
	assert_int_equal(mor_stager_stats(stager).linked, 200);
	assert_int_equal(mor_stage_fit_nearest(stager, kzip, &half, MOR_STAGE_ROOT, stages, 3, &shown, &err), 0);
	assert_int_equal(shown, 1);
	assert_int_equal(mor_stager_stats(stager).linked, 200);
	assert_int_equal(mor_stage_fit_nearest(stager, kzip, &half, MOR_STAGE_ROOT, stages, 3, &shown, &err), 0);
	assert_int_equal(shown, 2); /* though the other one fits: it is shown */
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
	struct mor_unit first = unit_of("", INPUTS(INPUT("a", 1), INPUT("../b", 2))), second = unit_of("/w", INPUTS(INPUT("a", 1), INPUT("c", 3)));
	struct mor_stage stage = { 0 };
	int r = MORTISE_ENOMEM, failures = 0;

	(void)state;
	for (long n = 0; n < 1000 && r != 0; n++) {
		mortise_error err = { 0 };

		fit(stager, &first, MOR_STAGE_ROOT, &stage);
		mor_alloc_fail_after(n);
		r = mor_stage_fit(stager, kzip, &second, MOR_STAGE_ROOT, &stage, &err);
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
		MOR_TEST(test_working_dir), MOR_TEST(test_root), MOR_TEST(test_empty_working_dir), MOR_TEST(test_own_working_dir),
		MOR_TEST(test_many_steps_up), MOR_TEST(test_dir_mode), MOR_TEST(test_dir_mode_refuses), MOR_TEST(test_no_path),
		MOR_TEST(test_contradictions), MOR_TEST(test_same_path_same_content), MOR_TEST(test_long_names), MOR_TEST(test_deep),
		MOR_TEST(test_lacking), MOR_TEST(test_wrong_digest), MOR_TEST(test_other_archive_lacks_it),
		MOR_TEST(test_second_staging_writes_nothing), MOR_TEST(test_tampered_blob), MOR_TEST(test_orphans),
		MOR_TEST(test_output_dir), MOR_TEST(test_cache_refused), MOR_TEST(test_random_sequences), MOR_TEST(test_squatters), MOR_TEST(test_nearest),
		MOR_TEST(test_only_what_differs), MOR_TEST(test_starved),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("kythe/stage", tests, group_setup, group_teardown);
}
