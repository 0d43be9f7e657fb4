/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a new plugin: every language with every dialect, from the templates of this tree. What the
 * folders do is tested by tests/e2e/test_new.py. */
#include "leak.h"

#include <dirent.h>
#include <fcntl.h>
#include <regex.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"
#include "starter/inside.h"
#include "top.h"

static const char *const languages[] = { "c", "python", "node" };
static const char *const dialects[] = { "yams",           "gassist", "ayiou", "sunscreen",
					"sunscreen-json", "kythe",   "plain" };

static int make(const char *language, const char *dialect, const char *path, bool no_sdk,
		struct mor_starter_made *ret, mortise_error *err)
{
	struct mor_starter_order order = { .no_sdk = no_sdk };
	int r = mor_starter_order_take(&order, language, dialect, path, err);

	if (r == 0)
		r = mor_starter_make(&order, ret, err);
	mor_starter_order_fini(&order);
	return r;
}

static char *read_text(const char *path)
{
	char *text = NULL;
	size_t len = 0;

	if (mor_fd_read_file(path, 1 << 20, &text, &len) < 0)
		fail_msg("%s cannot be read", path);
	assert_null(memchr(text, '\0', len));
	text = mor_realloc(text, len + 1);
	text[len] = '\0';
	return text;
}

static bool is_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static void put(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_int_equal(mor_fd_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	mor_fd_close(&fd);
}

static size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

/* ---- the folders ---- */

static bool has_file(const struct mor_starter_made *made, const char *name)
{
	for (size_t i = 0; i < made->files.count; i++)
		if (strcmp(made->files.item[i], name) == 0)
			return true;
	return false;
}

/* Every file that is named is there and complete, in order, and knows its plugin. */
static void check_folder(const char *path, const char *name, const char *program,
			 const struct mor_starter_made *made)
{
	static const char *const always[] = { "README.md", ".gitignore", "plugin.talk" };
	bool named = false;
	regex_t mark;

	assert_int_equal(regcomp(&mark, "@[A-Z]+@", REG_EXTENDED | REG_NOSUB), 0);
	for (size_t i = 0; i < 3; i++)
		assert_true(has_file(made, always[i]));
	for (size_t i = 0; i < made->files.count; i++) {
		char file[400];
		MOR_CLEAN_TEXT char *text = NULL;

		snprintf(file, sizeof(file), "%s/%s", path, made->files.item[i]);
		text = read_text(file);
		if (regexec(&mark, text, 0, NULL, 0) == 0)
			fail_msg("%s has a placeholder left", file);
		named |= strstr(text, name) != NULL;
		assert_true(i == 0 || strcmp(made->files.item[i - 1], made->files.item[i]) < 0);
		assert_string_not_equal(made->files.item[i], "steps");
	}
	regfree(&mark);
	assert_true(named);
	assert_true(made->steps.len > 0 && made->steps.data[made->steps.len - 1] == '\n');
	if (strcmp(program, "plugin") != 0) /* of C it is built */
		assert_true(has_file(made, program));
}

static void test_every_language_with_every_dialect(void **state)
{
	static const char *const programs[] = { "plugin", "plugin.py", "plugin.js" };

	(void)state;
	for (size_t i = 0; i < 21; i++) {
		struct mor_starter_made made = { 0 };
		mortise_error err = { 0 };
		char name[100];

		snprintf(name, sizeof(name), "new_%zu", i);
		if (make(languages[i / 7], dialects[i % 7], at(name), true, &made, &err) < 0)
			fail_msg("%s %s: %s", languages[i / 7], dialects[i % 7], err.text);
		check_folder(at(name), name, programs[i / 7], &made);
		mor_starter_made_fini(&made);
	}
}

static void test_the_sdk_comes_along(void **state)
{
	static const struct {
		const char *language, *there, *without;
	} rows[] = { { "python", "tenon/__init__.py", "pip install" },
		     { "node", "node_modules/tenon/package.json", "npm install" } };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct mor_starter_made made = { 0 };
		MOR_CLEAN_TEXT char *readme = NULL;
		bool no_sdk = i % 2;
		char file[100];

		snprintf(file, sizeof(file), "sdk%zu", i);
		assert_int_equal(make(rows[i / 2].language, "plain", at(file), no_sdk, &made, NULL), 0);
		assert_false(has_file(&made, rows[i / 2].there)); /* it is not what a person looks at */
		snprintf(file, sizeof(file), "sdk%zu/%s", i, rows[i / 2].there);
		assert_int_equal(is_there(at(file)), !no_sdk);
		snprintf(file, sizeof(file), "sdk%zu/README.md", i);
		readme = read_text(at(file));
		assert_true(!no_sdk || strstr(readme, rows[i / 2].without));
		mor_starter_made_fini(&made);
	}
	assert_false(is_there(at("sdk2/node_modules/tenon/meson.build")));
}

/* Modes are those of a file that an editor would make; programs can be executed. */
static void test_umask(void **state)
{
	struct mor_starter_made made = { 0 };
	mode_t before = umask(027);
	struct stat st;

	(void)state;
	assert_int_equal(make("python", "plain", at("modes"), true, &made, NULL), 0);
	umask(before);
	mor_starter_made_fini(&made);
	assert_int_equal(stat(at("modes"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0750);
	assert_int_equal(stat(at("modes/plugin.py"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0750);
	assert_int_equal(stat(at("modes/README.md"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
}

static void test_what_exists_stays(void **state)
{
	struct mor_starter_made made = { 0 };
	mortise_error err = { 0 };
	char wanted[200];
	size_t before;

	(void)state;
	assert_int_equal(mkdir(at("mine"), 0700), 0);
	put(at("mine/file"), "kept", 0600);
	put(at("a-file"), "kept", 0600);
	before = count_entries(top);
	assert_int_equal(make("c", "plain", at("mine"), false, &made, &err), MORTISE_EINPUT);
	snprintf(wanted, sizeof(wanted), "%s exists: choose another name, or remove it; nothing was changed",
		 at("mine"));
	assert_string_equal(err.text, wanted);
	assert_int_equal(make("c", "plain", at("a-file"), false, &made, &err), MORTISE_EINPUT);
	assert_int_equal(count_entries(at("mine")), 1);
	assert_int_equal(count_entries(top), before);
	assert_int_equal(made.files.count, 0);
	/* an empty folder is as good as none */
	assert_int_equal(mkdir(at("empty"), 0700), 0);
	assert_int_equal(make("c", "plain", at("empty/"), false, &made, &err), 0);
	assert_true(is_there(at("empty/Makefile")));
	mor_starter_made_fini(&made);
}

static void test_nothing_is_left_of_a_failure(void **state)
{
	size_t before = count_entries(top);
	mortise_error err = { 0 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct mor_starter_made made = { 0 };

		assert_int_equal(make("c", "plain", i ? "/dev/null/x" : at("nowhere/x"), false, &made, &err),
				 MORTISE_EINPUT);
		assert_non_null(strstr(err.text, "cannot make "));
	}
	assert_int_equal(count_entries(top), before);
}

static void test_no_memory(void **state)
{
	size_t before = count_entries(top);
	int r = MORTISE_ENOMEM;

	(void)state;
	for (long n = 0; r < 0; n += 3) {
		struct mor_starter_made made = { 0 };
		mortise_error err = { 0 };

		mor_alloc_fail_after(n);
		r = make("c", "plain", at("hard"), true, &made, &err);
		mor_alloc_fail_after(-1);
		if (r < 0)
			assert_int_equal(count_entries(top), before);
		mor_starter_made_fini(&made);
	}
}

/* ---- a tree ---- */

static int copy_tree(const char *into, const struct mor_starter_value *values, struct mor_text_list *files,
		     mortise_error *err)
{
	struct mor_starter_copy copy = { .from = at("from"), .into = into, .values = values, .files = files };
	int r;

	assert_int_equal(mkdir(at("into"), 0700), 0);
	copy.root = open(at("into"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	r = mor_starter_copy(&copy, err);
	mor_fd_close(&copy.root);
	return r;
}

static void drop_trees(void)
{
	mor_dir_remove_all(AT_FDCWD, at("into"));
	mor_dir_remove_all(AT_FDCWD, at("from"));
}

static void make_tree(void)
{
	assert_int_equal(mkdir(at("from"), 0700), 0);
	assert_int_equal(mkdir(at("from/sub"), 0700), 0);
	put(at("from/a.txt"), "@NAME@", 0600);
	put(at("from/run"), "x", 0700);
	put(at("from/dot-gitignore"), "x", 0600);
	put(at("from/steps"), "x", 0600);
	put(at("from/.hidden"), "x", 0600);
	put(at("from/sub/package-lock.json"), "x", 0600);
}

static void test_a_template(void **state)
{
	static const struct mor_starter_value values[] = { { "NAME", MOR_SLICE("greeter") }, { 0 } };
	struct mor_text_list files = { 0 };
	MOR_CLEAN_TEXT char *text = NULL;

	(void)state;
	make_tree();
	assert_int_equal(copy_tree("", values, &files, NULL), 0);
	assert_int_equal(files.count, 5);
	assert_true(is_there(at("into/.gitignore")) && is_there(at("into/.hidden")));
	assert_true(is_there(at("into/sub/package-lock.json")));
	assert_false(is_there(at("into/dot-gitignore")) || is_there(at("into/steps")));
	assert_int_equal(access(at("into/run"), X_OK), 0);
	text = read_text(at("into/a.txt"));
	assert_string_equal(text, "greeter");
	mor_text_list_free_texts(&files);
	drop_trees();
}

/* An SDK: nothing is filled in, and what a build or an editor left there stays. */
static void test_a_tree_without_values(void **state)
{
	MOR_CLEAN_TEXT char *text = NULL;

	(void)state;
	make_tree();
	put(at("from/tenon-1.tgz"), "x", 0600);
	put(at("from/.tgz"), "x", 0600);
	assert_int_equal(mkdir(at("from/__pycache__"), 0700), 0);
	assert_int_equal(copy_tree("a/b", NULL, NULL, NULL), 0);
	text = read_text(at("into/a/b/a.txt"));
	assert_string_equal(text, "@NAME@");
	assert_true(is_there(at("into/a/b/dot-gitignore")) && is_there(at("into/a/b/steps")));
	assert_int_equal(count_entries(at("into/a/b")), 5);
	assert_int_equal(count_entries(at("into/a/b/sub")), 0);
	drop_trees();
}

static void test_what_is_no_file_is_refused(void **state)
{
	mortise_error err = { 0 };

	(void)state;
	make_tree();
	assert_int_equal(symlink("/etc/passwd", at("from/link")), 0);
	assert_int_equal(copy_tree("", NULL, NULL, &err), MORTISE_ESYSTEM);
	assert_non_null(strstr(err.text, "/from/link: neither a file nor a directory"));
	drop_trees();
	assert_int_equal(copy_tree("", NULL, NULL, &err), MORTISE_ESYSTEM);
	assert_non_null(strstr(err.text, "/from: No such file or directory"));
	drop_trees();
}

/* Two templates with one name are a mistake of ours. */
static void test_two_files_of_one_name_are_not_mixed(void **state)
{
	static const struct mor_starter_value values[] = { { 0 } };
	mortise_error err = { 0 };

	(void)state;
	make_tree();
	put(at("from/.gitignore"), "y", 0600);
	assert_int_equal(copy_tree("", values, NULL, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, ".gitignore: File exists"));
	drop_trees();
}

static int make_top(void **state)
{
	(void)state;
	return top_make("starter");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_every_language_with_every_dialect),
		MOR_TEST(test_the_sdk_comes_along),
		MOR_TEST(test_umask),
		MOR_TEST(test_what_exists_stays),
		MOR_TEST(test_nothing_is_left_of_a_failure),
		MOR_TEST(test_no_memory),
		MOR_TEST(test_a_template),
		MOR_TEST(test_a_tree_without_values),
		MOR_TEST(test_what_is_no_file_is_refused),
		MOR_TEST(test_two_files_of_one_name_are_not_mixed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("starter/make", tests, make_top, top_drop);
}
