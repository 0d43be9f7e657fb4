/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the store: killed before every call, on a full disk, two at once. The state is the old or the new
 * one, and the next command works. */
#include "leak.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/fd.h"
#include "cut.h"
#include "store/keep.h"
#include "store/permissions.h"
#include "tier.h"
#include "tmp.h"

static char top[TMP_ROOM], source[256], home[512];
static struct mor_store store;

static void put_file(const char *name, const char *text)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", source, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int setup(void **state)
{
	tmp_name(top, "keep");
	assert_non_null(mkdtemp(top));
	snprintf(source, sizeof(source), "%s/source/sub", top);
	assert_int_equal(mor_dir_make_all(AT_FDCWD, source, 0755), 0);
	*strrchr(source, '/') = '\0';
	put_file("plugin.py", "print()\n");
	put_file("sub/data", "1");
	snprintf(home, sizeof(home), "%s/link", source);
	assert_int_equal(symlink("sub/data", home), 0);
	snprintf(home, sizeof(home), "%s/home", top);
	assert_int_equal(mor_store_open(home, home, &store), 0);
	return leak_setup(state);
}

static int teardown(void **state)
{
	mor_store_fini(&store);
	mor_dir_remove_all(AT_FDCWD, top);
	return leak_teardown(state);
}

static bool aside; /* the next one is put beside the version in use */

static int put_version(const char *version, const char *seen, bool in_place, mortise_error *err)
{
	struct mor_store_facts facts = {
		.name = "dice",
		.version = version,
		.dialect = "plain",
		.permissions = MOR_SLICE("{\"confined\":true,\"network\":true,\"read\":[],\"spawn\":false,"
					 "\"write\":false}"),
		.allow = MOR_PERMISSION_NETWORK,
		.in_place = in_place,
		.aside = aside,
		.seen = seen,
	};
	struct mor_staging staging = { .dir = -1, .hold = -1 };
	struct mor_content content = { 0 };
	int r = mor_store_stage(&store, source, &staging, err);

	if (r == 0)
		r = mor_staging_copy(&staging, source, err);
	if (r == 0)
		r = mor_content_scan(staging.dir, staging.path, NULL, &content, err);
	if (r == 0)
		r = mor_store_put(&staging, &content, &facts, err);
	mor_content_fini(&content);
	mor_staging_fini(&staging);
	return r;
}

static int install_seen(const char *version, const char *seen, mortise_error *err)
{
	return put_version(version, seen, false, err);
}

static int install(const char *version, mortise_error *err)
{
	return install_seen(version, NULL, err);
}

static void must(int r, const mortise_error *err)
{
	if (r < 0)
		fail_msg("%s", err->text);
}

/* The version that is there, with its files as approved; "": none. */
static void present(char version[20])
{
	struct mor_installed plugin;
	struct mor_store_check check;
	mortise_error err = { 0 };
	int r = mor_store_find(&store, "dice", &plugin, &err);

	version[0] = '\0';
	if (r == MORTISE_ENOTFOUND)
		return;
	must(r, &err);
	must(mor_store_verify(&plugin, &check, &err), &err);
	assert_int_equal(check.found.changes.count, 0);
	assert_true(plugin.approved && mor_installed_allows(&plugin, "network"));
	snprintf(version, 20, "%s", plugin.version);
	mor_store_check_fini(&check);
	mor_installed_fini(&plugin);
}

/* Files and directories below the store that are not its lock: what a writer leaves. */
static size_t count_entries(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *item;
	size_t count = 0;

	while (dir && (item = readdir(dir)))
		count += strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0;
	if (dir)
		closedir(dir);
	return count;
}

static size_t rubbish(void)
{
	char path[300];

	return count_entries(store.plugins) - 1 /* lock */ +
	       count_entries((snprintf(path, sizeof(path), "%s/dice", store.plugins), path));
}

/* ---- whole ---- */

static void test_life(void **state)
{
	mortise_error err = { 0 };
	char version[20], *used = NULL;

	(void)state;
	must(install("1.0", &err), &err);
	present(version);
	assert_string_equal(version, "1.0");
	put_file("plugin.py", "print(2)\n");
	must(install("2.0", &err), &err);
	present(version);
	assert_string_equal(version, "2.0");
	must(mor_store_use(&store, "dice", NULL, &used, &err), &err);
	assert_string_equal(used, "1.0");
	mor_free(used);
	present(version);
	assert_string_equal(version, "1.0");
	must(mor_store_use(&store, "dice", NULL, &used, &err), &err);
	assert_string_equal(used, "2.0");
	mor_free(used);
	must(mor_store_remove(&store, "dice", "2.0", &err), &err);
	present(version);
	assert_string_equal(version, "1.0");
	assert_int_equal(mor_store_use(&store, "dice", NULL, &used, &err), MORTISE_ENOTFOUND);
	assert_int_equal(mor_store_remove(&store, "dice", "3", &err), MORTISE_ENOTFOUND);
	must(mor_store_remove(&store, "dice", NULL, &err), &err);
	present(version);
	assert_string_equal(version, "");
	assert_int_equal(rubbish(), 0);
}

/* The same version again: with other content, and after somebody damaged it. */
static void test_again(void **state)
{
	mortise_error err = { 0 };
	struct mor_installed plugin;
	char version[20], path[400], *used = NULL;

	(void)state;
	must(install("1.0", &err), &err);
	assert_int_equal(mor_store_find(&store, "dice", &plugin, &err), 0);
	snprintf(path, sizeof(path), "%s/plugin.py", plugin.path);
	assert_int_equal(truncate(path, 0), 0);
	mor_installed_fini(&plugin);
	must(install("1.0", &err), &err);
	present(version);
	put_file("plugin.py", "other\n");
	must(install("1.0", &err), &err);
	present(version);
	assert_string_equal(version, "1.0");
	must(mor_store_use(&store, "dice", NULL, &used, &err), &err);
	assert_memory_equal(used, "1.0~", 4);
	mor_free(used);
	present(version);
	must(mor_store_remove(&store, "dice", NULL, &err), &err);
	assert_int_equal(rubbish(), 0);
}

static void test_refused(void **state)
{
	mortise_error err = { 0 };
	struct mor_store nowhere = { 0 };
	struct mor_staging staging;

	(void)state;
	must(install_seen("1.0", "", &err), &err);
	assert_int_equal(install_seen("2.0", "", &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "meanwhile"));
	assert_int_equal(install("../2", &err), MORTISE_EINPUT);
	assert_int_equal(mor_store_stage(&nowhere, source, &staging, &err), MORTISE_ESYSTEM);
	assert_non_null(strstr(err.text, "XDG_DATA_HOME"));
}

/* ---- killed, and full ---- */

typedef int action_fn(mortise_error *err);

static int install_first(mortise_error *err)
{
	return install("1.0", err);
}
static int upgrade(mortise_error *err)
{
	return install("2.0", err);
}
static int replace_same(mortise_error *err)
{
	return install("1.0", err);
}
static int replace_other(mortise_error *err)
{
	put_file("plugin.py", "print('other')\n");
	return install("1.0", err);
}
static int approve(mortise_error *err)
{
	put_file("plugin.py", "print('changed')\n");
	return put_version("1.0", NULL, true, err);
}
static int put_aside(mortise_error *err)
{
	int r;

	aside = true;
	r = install("1.0", err);
	aside = false;
	return r;
}
static int remove_one(mortise_error *err)
{
	return mor_store_remove(&store, "dice", "1.0", err);
}
static int remove_every(mortise_error *err)
{
	return mor_store_remove(&store, "dice", NULL, err);
}
static int go_back(mortise_error *err)
{
	char *version = NULL;
	int r = mor_store_use(&store, "dice", "1.0", &version, err);

	mor_free(version);
	return r;
}

static const struct {
	const char *name;
	action_fn *action;
	const char *have; /* versions before it, separated by blanks */
	const char *before, *after;
} actions[] = {
	{ "install", install_first, "", "", "1.0" },     { "upgrade", upgrade, "1.0", "1.0", "2.0" },
	{ "same", replace_same, "1.0", "1.0", "1.0" },   { "remove one", remove_one, "1.0 2.0", "2.0", "2.0" },
	{ "other", replace_other, "1.0", "1.0", "1.0" }, { "approve", approve, "1.0 2.0", "2.0", "2.0" },
	{ "remove", remove_every, "1.0", "1.0", "" },    { "back", go_back, "1.0 2.0", "2.0", "1.0" },
	{ "aside", put_aside, "2.0", "2.0", "2.0" },
};
#define ACTIONS (sizeof(actions) / sizeof(*actions))

static void prepare(size_t i)
{
	mortise_error err = { 0 };

	mor_dir_remove_all(AT_FDCWD, home);
	put_file("plugin.py", "print()\n");
	if (strstr(actions[i].have, "1.0"))
		must(install("1.0", &err), &err);
	if (strstr(actions[i].have, "2.0"))
		must(install("2.0", &err), &err);
}

/* In a process of its own. True: it got to its end, with `*ret_ok`. */
static bool run_cut(size_t i, long n, int error, bool *ret_ok, char text[500])
{
	int status, fds[2];
	pid_t pid;
	ssize_t len;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		mortise_error err = { 0 };
		int r;

		cut_at(n, error);
		r = actions[i].action(&err);
		cut_at(-1, 0);
		if (r < 0)
			(void)!write(fds[1], err.text, strlen(err.text));
		leak_exit(r == 0 ? 0 : 1);
	}
	close(fds[1]);
	len = read(fds[0], text, 499);
	text[len < 0 ? 0 : len] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	*ret_ok = WEXITSTATUS(status) == 0;
	return WEXITSTATUS(status) != CUT_STATUS;
}

/* In the first tier each action is cut before every n-th call, beginning with another one. */
enum { STRIDE = 5 };

/* Old or new, and the next one works. */
static void check_after(size_t i, bool ok)
{
	char version[20];
	mortise_error err = { 0 };

	present(version);
	if (strcmp(version, actions[i].after) != 0 && (ok || strcmp(version, actions[i].before) != 0))
		fail_msg("%s: \"%s\" is there", actions[i].name, version);
	must(install("3.0", &err), &err);
	present(version);
	assert_string_equal(version, "3.0");
	must(mor_store_remove(&store, "dice", NULL, &err), &err);
	if (rubbish())
		fail_msg("%s: something is left in %s", actions[i].name, store.plugins);
}

static void test_killed(void **state)
{
	long stride = tier_rounds(STRIDE, 1);

	(void)state;
	for (size_t i = 0; i < ACTIONS; i++) {
		bool end = false, ok = false;
		char text[500];
		long n = (long)i % stride;

		for (; !end; n += stride) {
			prepare(i);
			end = run_cut(i, n, 0, &ok, text);
			check_after(i, end);
		}
		assert_true(ok);
		if (n < 4)
			fail_msg("%s: only %ld calls were cut", actions[i].name, n);
	}
}

static void test_full(void **state)
{
	static const int errors[] = { ENOSPC, EDQUOT };
	long stride = tier_rounds(STRIDE, 1);

	(void)state;
	for (size_t k = 0; k < tier_rounds(1, 2); k++)
		for (size_t i = 0; i < ACTIONS; i++) {
			bool ok = false;
			char text[500];

			for (long n = (long)i % stride; !ok; n += stride) {
				prepare(i);
				run_cut(i, n, errors[k], &ok, text);
				if (!ok && (!strstr(text, "nothing was changed") || !strstr(text, home)))
					fail_msg("%s: %s", actions[i].name, text);
				check_after(i, ok);
			}
		}
}

/* Several processes at once: each ends well, and what is there is whole. */
static void test_together(void **state)
{
	enum { COUNT = 6 };
	pid_t pids[COUNT];
	char version[20];

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			mortise_error err = { 0 };
			char name[20];

			snprintf(name, sizeof(name), "%d.0", i / 2 + 1);
			leak_exit(install(name, &err) == 0 ? 0 : 1);
		}
	}
	for (int i = 0; i < COUNT; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	present(version);
	assert_true(version[0] >= '1' && version[0] <= '3');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_together, setup, teardown),
	};

	return mor_run_group("store/keep", tests);
}
