/* SPDX-License-Identifier: Apache-2.0 */
/* A lock that is written: sorted, the same bytes from the same plugins; killed before every call and on a full
 * disk, the old one or the new one, whole. */
#include "leak.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../store/cut.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "lockfile/lockfile.h"
#include "top.h"

#define DIGEST "0123456789012345678901234567890123456789012345678901234567890123"

static char path[256];
static struct mor_lockfile where = { .path = path, .dir = top };
static struct mor_doc *permissions;

static int setup(void **state)
{
	assert_int_equal(top_make("lock"), 0);
	snprintf(path, sizeof(path), "%s/mortise.lock", top);
	assert_int_equal(setenv("HOME", "/home/alice", 1), 0);
	assert_int_equal(mor_doc_parse(MOR_SLICE("{\"confined\":true,\"read\":[\"/home/alice/x\",\"/etc/y\","
						 "\"/home/alicex\"]}"),
				       0, 0, &permissions, NULL),
			 0);
	return leak_setup(state);
}

static int teardown(void **state)
{
	permissions = mor_doc_free(permissions);
	assert_int_equal(top_drop(state), 0);
	return leak_teardown(state);
}

static struct mor_lockfile_facts facts_of(const char *name, const char *version)
{
	return (struct mor_lockfile_facts){ .name = name,
					    .version = version,
					    .digest = DIGEST,
					    .dialect = "plain",
					    .from = top,
					    .permissions = mor_doc_root(permissions) };
}

static int write_one(const char *name, const char *version, bool *ret_changed, mortise_error *err)
{
	const struct mor_lockfile_facts facts = facts_of(name, version);
	const struct mor_lockfile_edit edit = { name, &facts };

	return mor_lockfile_write(&where, &edit, 1, ret_changed, err);
}

static char *read_lock(void)
{
	char *text = NULL;

	assert_int_equal(mor_fd_read_file(path, 1 << 20, &text, NULL), 0);
	return text;
}

/* ---- whole ---- */

static void test_text(void **state)
{
	const struct mor_lockfile_facts one = facts_of("zebra", "1.0.0"), two = facts_of("ant", "2.0.0");
	const struct mor_lockfile_edit edits[] = { { "zebra", &one }, { "ant", &two }, { "mouse", NULL } };
	MOR_CLEAN_TEXT char *text = NULL;
	struct mor_lockfile lock = { 0 };
	mortise_error err = { 0 };
	bool changed = false, no_memory;

	(void)state;
	assert_int_equal(mor_lockfile_write(&where, edits, 3, &changed, &err), 0);
	assert_true(changed);
	assert_int_equal(mor_lockfile_write(&where, edits, 3, &changed, &err), 0);
	assert_false(changed);
	text = read_lock();
	assert_int_equal(mor_lockfile_parse(mor_slice_of(text), &lock, &err), 0);
	assert_int_equal(lock.count, 2);
	assert_string_equal(lock.items[0].name, "ant");
	assert_string_equal(lock.items[1].path, ".");
	assert_non_null(strstr(text, "\"/etc/y\",\n          \"/home/alicex\",\n          \"~/x\"\n"));
	assert_null(mor_lockfile_differs(&lock.items[0], &two, &no_memory));
	assert_string_equal(mor_lockfile_differs(&lock.items[0], &one, &no_memory), "version");
	assert_int_equal(setenv("HOME", "/home/bob", 1), 0);
	assert_string_equal(mor_lockfile_differs(&lock.items[0], &two, &no_memory), "permissions");
	assert_false(no_memory);
	mor_lockfile_fini(&lock);
}

/* ---- killed, and full ---- */

/* In a process of its own. True: it got to its end, with *ret_ok. */
static bool run_cut(long n, int error, bool *ret_ok)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		mortise_error err = { 0 };
		bool changed;
		int r;

		cut_at(n, error);
		r = write_one("ant", "2.0.0", &changed, &err);
		cut_at(-1, 0);
		leak_exit(r == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	*ret_ok = WEXITSTATUS(status) == 0;
	return WEXITSTATUS(status) != CUT_STATUS;
}

static size_t count_entries(void)
{
	DIR *dir = opendir(top);
	struct dirent *item;
	size_t count = 0;

	while (dir && (item = readdir(dir)))
		count += item->d_name[0] != '.' || strncmp(item->d_name, ".mortise-", 9) == 0;
	if (dir)
		closedir(dir);
	return count;
}

static void check_cuts(int error)
{
	MOR_CLEAN_TEXT char *old = NULL;
	MOR_CLEAN_TEXT char *new = NULL;
	mortise_error err = { 0 };
	bool changed, end = false, ok = false;
	long n = 0;

	assert_int_equal(write_one("ant", "2.0.0", &changed, &err), 0);
	new = read_lock();
	assert_int_equal(write_one("ant", "1.0.0", &changed, &err), 0);
	old = read_lock();
	for (; !end || !ok; n++) {
		MOR_CLEAN_TEXT char *now = NULL;

		assert_int_equal(write_one("ant", "1.0.0", &changed, &err), 0);
		end = run_cut(n, error, &ok);
		now = read_lock();
		assert_true(strcmp(now, new) == 0 || (!ok && strcmp(now, old) == 0));
		if (error)
			assert_int_equal(count_entries(), 1);
	}
	assert_true(n > 2);
}

static void test_killed(void **state)
{
	(void)state;
	check_cuts(0);
}

static void test_full(void **state)
{
	(void)state;
	check_cuts(ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_text, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
	};

	return mor_run_group("lockfile/write", tests);
}
