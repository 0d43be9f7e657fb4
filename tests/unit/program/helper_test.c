/* SPDX-License-Identifier: Apache-2.0 */
/* Which helpers are refused. Where they are sought is tried on an installed tree: tests/install. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "leak.h"
#include "program/helper.h"
#include "tmp.h"

static char top[TMP_ROOM], dir[256], file[512], fault[MOR_PROGRAM_FAULT];

/* As if the code of `owner` ran, from a place that has nothing to do with the helper's. */
static bool is_ours(uid_t owner)
{
	return mor_file_is_ours(file, &(struct mor_running_code){ "/elsewhere/libmortise.so", owner }, fault);
}

static int enter(void **state)
{
	int fd;

	tmp_name(top, "helper");
	if (!mkdtemp(top))
		return -1;
	snprintf(dir, sizeof(dir), "%s/dir", top);
	if (mkdir(dir, 0755) < 0 || chmod(top, 0755) < 0)
		return -1;
	snprintf(file, sizeof(file), "%s/helper", dir);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	return fd < 0 || close(fd) < 0 || chmod(dir, 0755) < 0 ? -1 : leak_setup(state);
}

static int leave(void **state)
{
	return unlink(file) < 0 || rmdir(dir) < 0 || rmdir(top) < 0 ? -1 : leak_teardown(state);
}

/* ---- modes ---- */

static void test_modes(void **state)
{
	static const struct {
		mode_t file, dir, top;
		const char *fault; /* NULL: fine */
	} rows[] = {
		{ 0755, 0755, 0755, NULL },
		{ 0500, 0700, 0700, NULL },
		{ 0757, 0755, 0755, "everybody can write it: chmod o-w " },
		{ 0755, 0757, 0755, "everybody can write its directory: chmod o-w " },
		/* others could have been there first */
		{ 0755, 01777, 0755, "everybody can write its directory" },
		/* they could replace its directory */
		{ 0755, 0755, 0777, "everybody can write a directory above it: chmod o-w " },
		{ 0755, 0755, 01777, NULL }, /* and here they cannot */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(chmod(file, rows[i].file), 0);
		assert_int_equal(chmod(dir, rows[i].dir), 0);
		assert_int_equal(chmod(top, rows[i].top), 0);
		assert_int_equal(is_ours(geteuid()), !rows[i].fault);
		if (!rows[i].fault)
			assert_string_equal(fault, "");
		else
			assert_memory_equal(fault, rows[i].fault, strlen(rows[i].fault));
		if (rows[i].fault && strstr(rows[i].fault, "chmod"))
			assert_memory_equal(fault + strlen(rows[i].fault), top, strlen(top));
	}
}

static void test_absent(void **state)
{
	const struct mor_running_code nobodys = { "", 0 };

	(void)state;
	assert_true(mor_file_is_ours("/no/such/helper", &nobodys, fault));
	assert_string_equal(fault, "");
	assert_true(mor_file_is_ours("/helper-that-is-not-there", &nobodys, fault));
}

/* ---- owners and groups: only root can set them ---- */

enum { DAEMON = 1, STAFF = 50, NOBODY = 65534 };

static void test_owners(void **state)
{
	static const struct {
		uid_t file, dir, top, keeper;
		const char *fault;
	} rows[] = {
		{ 0, 0, 0, 0, NULL },
		{ DAEMON, 0, 0, 0, "it belongs to another user (1): install it anew" },
		{ 0, DAEMON, 0, 0, "its directory belongs to another user (1): install it anew" },
		{ 0, 0, DAEMON, 0,
		  "a directory above it belongs to another user (1): install it anew, or chown" },
		{ DAEMON, DAEMON, DAEMON, DAEMON, NULL }, /* whose code we run, his helper we may run */
		{ 0, DAEMON, 0, DAEMON, NULL },
		{ NOBODY, DAEMON, 0, DAEMON, "it belongs to another user (65534): install it anew" },
	};

	(void)state;
	if (geteuid() != 0)
		leak_skip("needs root");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(chown(file, rows[i].file, 0), 0);
		assert_int_equal(chown(dir, rows[i].dir, 0), 0);
		assert_int_equal(chown(top, rows[i].top, 0), 0);
		assert_int_equal(is_ours(rows[i].keeper), !rows[i].fault);
		assert_memory_equal(fault, rows[i].fault ? rows[i].fault : "",
				    rows[i].fault ? strlen(rows[i].fault) : 1);
	}
}

/* Who is in a group cannot be found out: another user can have it as his first one. Only root's is trusted. */
static void test_groups(void **state)
{
	static const struct {
		uid_t owner;
		gid_t group;
		bool fine;
	} rows[] = {
		{ 0, 0, true },
		{ DAEMON, 0, true },
		{ DAEMON, DAEMON, false },
		{ DAEMON, STAFF, false },
		{ 0, STAFF, false },
		{ NOBODY, NOBODY, false },
		{ 4000000, 4000000, false },
	};

	(void)state;
	if (geteuid() != 0)
		leak_skip("needs root");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(chown(file, rows[i].owner, rows[i].group), 0);
		assert_int_equal(chown(dir, rows[i].owner, rows[i].group), 0);
		assert_int_equal(chmod(dir, 0775), 0);
		assert_int_equal(is_ours(rows[i].owner), rows[i].fine);
		assert_int_equal(strncmp(fault, "others can write its directory (group ", 38) == 0,
				 !rows[i].fine);
	}
}

/* A person's clone in which root has built: that person could have replaced the code that runs as well. But
 * what leads to the helper only must be ours. */
static void test_directory_on_the_way_to_the_code(void **state)
{
	char near[256], far[256];

	(void)state;
	if (geteuid() != 0)
		leak_skip("needs root");
	snprintf(near, sizeof(near), "%s/mortise", top);
	snprintf(far, sizeof(far), "%s-of-another/mortise", top);
	assert_int_equal(chown(top, DAEMON, 0), 0);
	assert_true(mor_file_is_ours(file, &(struct mor_running_code){ near, 0 }, fault));
	assert_false(mor_file_is_ours(file, &(struct mor_running_code){ far, 0 }, fault));
	assert_int_equal(chown(dir, DAEMON, 0), 0);
	assert_false(mor_file_is_ours(file, &(struct mor_running_code){ near, 0 }, fault));
	assert_int_equal(chmod(top, 0777), 0);
	assert_false(mor_file_is_ours(file, &(struct mor_running_code){ near, 0 }, fault));
}

/* ---- links: what holds one is looked at, and what it leads to ---- */

/* The helper's name is now a link `to` another place. */
static void be_link(const char *to)
{
	assert_int_equal(unlink(file), 0);
	assert_int_equal(symlink(to, file), 0);
}

static void test_links(void **state)
{
	char other[256];

	(void)state;
	be_link("/bin/true");
	assert_true(is_ours(geteuid()));
	assert_int_equal(chmod(dir, 0777), 0);
	assert_false(is_ours(geteuid()));
	assert_int_equal(chmod(dir, 0755), 0);
	snprintf(other, sizeof(other), "%s/other", top);
	assert_int_equal(mkdir(other, 0777) | chmod(other, 0777), 0);
	be_link("../other/./helper");
	assert_false(is_ours(geteuid()));
	assert_memory_equal(fault, "everybody can write its directory: chmod o-w ", 45);
	assert_non_null(strstr(fault, other));
	assert_int_equal(rmdir(other), 0);
	be_link("helper");
	assert_false(is_ours(geteuid()));
	assert_non_null(strstr(fault, "cannot be followed"));
}

/* Somebody named in an access control list; to stat() the group's bits are the list's mask. */
static void test_access_control_list(void **state)
{
	static const struct {
		uint32_t version;
		struct {
			uint16_t tag, may;
			uint32_t id;
		} entry[5];
	} list = {
		2,
		{ { 0x01, 7, ~0u }, { 0x02, 7, NOBODY }, { 0x04, 5, ~0u }, { 0x10, 7, ~0u }, { 0x20, 5, ~0u } }
	};

	(void)state;
	if (geteuid() != 0)
		leak_skip("needs root");
	assert_int_equal(chmod(dir, 0775), 0); /* fine, but for the list */
	if (setxattr(dir, "system.posix_acl_access", &list, sizeof(list), 0) < 0) {
		assert_int_equal(errno, EOPNOTSUPP);
		leak_skip("this file system has no access control lists");
	}
	assert_false(is_ours(DAEMON));
	assert_memory_equal(fault, "others can write its directory", 30);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, enter, leave)

int main(void)
{
	static const struct CMUnitTest tests[] = { TEST(test_modes),
						   TEST(test_absent),
						   TEST(test_owners),
						   TEST(test_groups),
						   TEST(test_access_control_list),
						   TEST(test_directory_on_the_way_to_the_code),
						   TEST(test_links) };

	return mor_run_group("program/helper", tests);
}
