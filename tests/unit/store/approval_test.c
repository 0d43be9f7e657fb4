/* SPDX-License-Identifier: Apache-2.0 */
/* Approvals: kept and found for one directory and permission set, for this user only, and never half. */
#include "leak.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "store/approval.h"
#include "tmp.h"

static char dir[TMP_ROOM];

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static struct mor_approval subject(void)
{
	return (struct mor_approval){ .directory = "/plugins/p",
				      .name = "p",
				      .version = "1",
				      .manifest = "0a1b",
				      .permission = "network",
				      .state_home = dir };
}

static int setup(void **state)
{
	tmp_name(dir, "approval");
	assert_non_null(mkdtemp(dir));
	return leak_setup(state);
}

static void remove_all(const char *path)
{
	DIR *list = opendir(path);
	struct dirent *entry;
	char child[512];

	while (list && (entry = readdir(list))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(child, sizeof(child), "%.200s/%.255s", path, entry->d_name);
		if (unlink(child) < 0)
			remove_all(child);
	}
	if (list)
		closedir(list);
	rmdir(path);
}

static int teardown(void **state)
{
	remove_all(dir);
	return leak_teardown(state);
}

static void kept_and_found(void **state)
{
	struct mor_approval a = subject();
	mortise_error err;

	(void)state;
	assert_int_equal(mor_approval_find(&a, &err), 0);
	assert_int_equal(mor_approval_grant(&a, &err), 0);
	assert_int_equal(mor_approval_find(&a, &err), 1);
	assert_int_equal(mor_approval_grant(&a, &err), 0);
}

static void anything_else_is_another(void **state)
{
	struct mor_approval a = subject(), other;

	(void)state;
	assert_int_equal(mor_approval_grant(&a, NULL), 0);
	other = a, other.directory = "/plugins/q";
	assert_int_equal(mor_approval_find(&other, NULL), 0);
	other = a, other.name = "q";
	assert_int_equal(mor_approval_find(&other, NULL), 0);
	other = a, other.version = NULL;
	assert_int_equal(mor_approval_find(&other, NULL), 0);
	other = a, other.permission = "spawn";
	assert_int_equal(mor_approval_find(&other, NULL), 0);
	other = a, other.manifest = "0a1c";
	assert_int_equal(mor_approval_find(&other, NULL), 0);
	assert_int_equal(mor_approval_find(&a, NULL), 1);
}

static void for_this_user_only(void **state)
{
	struct mor_approval a = subject();
	char path[256];
	struct stat info;

	(void)state;
	assert_int_equal(mor_approval_grant(&a, NULL), 0);
	snprintf(path, sizeof(path), "%s/mortise/approvals", dir);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0700);
}

static void failures_name_the_place(void **state)
{
	struct mor_approval a = subject();
	char path[256];
	mortise_error err = { 0 };

	(void)state;
	snprintf(path, sizeof(path), "%s/mortise", dir);
	put(path, "in the way");
	assert_int_equal(mor_approval_grant(&a, &err), MORTISE_ESYSTEM);
	assert_non_null(strstr(err.text, "mortise/approvals"));
}

/* Every allocation fails in turn: never a yes that nobody gave. */
static void memory(void **state)
{
	struct mor_approval a = subject();
	int r = -1;

	(void)state;
	for (long n = 0; r != 0; n++) {
		mor_alloc_fail_after(n);
		assert_true(mor_approval_find(&a, NULL) <= 0);
		mor_alloc_fail_after(n);
		r = mor_approval_grant(&a, NULL);
		mor_alloc_fail_after(-1);
		assert_true(r == 0 || r == MORTISE_ENOMEM || r == MORTISE_ESYSTEM);
	}
	assert_int_equal(mor_approval_find(&a, NULL), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(kept_and_found),
		TEST(anything_else_is_another),
		TEST(for_this_user_only),
		TEST(failures_name_the_place),
		TEST(memory),
	};

	return mor_run_group("store/approval", tests);
}
