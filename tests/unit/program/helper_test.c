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

static char dir[64], file[80], fault[MOR_PROGRAM_FAULT];

static int enter(void **state)
{
	int fd;

	snprintf(dir, sizeof(dir), "/tmp/mortise-helper-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(file, sizeof(file), "%s/helper", dir);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	return fd < 0 || close(fd) < 0 || chmod(dir, 0755) < 0 ? -1 : leak_setup(state);
}

static int leave(void **state)
{
	return unlink(file) < 0 || rmdir(dir) < 0 ? -1 : leak_teardown(state);
}

/* ---- modes ---- */

static void test_modes(void **state)
{
	static const struct {
		mode_t file, dir;
		const char *fault; /* NULL: fine */
	} rows[] = {
		{ 0755, 0755, NULL },
		{ 0500, 0700, NULL },
		{ 0757, 0755, "everybody can write it: chmod o-w /tmp/mortise-helper-" },
		{ 0755, 0757, "everybody can write its directory: chmod o-w /tmp/mortise-helper-" },
		{ 0755, 01777, "everybody can write its directory" }, /* others could have been there first */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(chmod(file, rows[i].file), 0);
		assert_int_equal(chmod(dir, rows[i].dir), 0);
		assert_int_equal(mor_file_is_ours(file, geteuid(), fault), !rows[i].fault);
		if (!rows[i].fault)
			assert_string_equal(fault, "");
		else
			assert_memory_equal(fault, rows[i].fault, strlen(rows[i].fault));
	}
}

static void test_absent(void **state)
{
	(void)state;
	assert_true(mor_file_is_ours("/no/such/helper", 0, fault));
	assert_string_equal(fault, "");
	assert_true(mor_file_is_ours("/helper-that-is-not-there", 0, fault));
}

/* ---- owners and groups: only root can set them ---- */

enum { DAEMON = 1, STAFF = 50, NOBODY = 65534 };

static void test_owners(void **state)
{
	static const struct {
		uid_t file, dir, keeper;
		const char *fault;
	} rows[] = {
		{ 0, 0, 0, NULL },
		{ DAEMON, 0, 0, "it belongs to another user (1): install it anew" },
		{ 0, DAEMON, 0, "its directory belongs to another user (1): install it anew" },
		{ DAEMON, DAEMON, DAEMON, NULL }, /* whose code we run, his helper we may run */
		{ 0, DAEMON, DAEMON, NULL },
		{ NOBODY, DAEMON, DAEMON, "it belongs to another user (65534): install it anew" },
	};

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(chown(file, rows[i].file, 0), 0);
		assert_int_equal(chown(dir, rows[i].dir, 0), 0);
		assert_int_equal(mor_file_is_ours(file, rows[i].keeper, fault), !rows[i].fault);
		assert_string_equal(fault, rows[i].fault ? rows[i].fault : "");
	}
}

/* umask 002: fine where the group is the owner's own. */
static void test_groups(void **state)
{
	static const struct {
		uid_t owner;
		gid_t group;
		bool fine;
	} rows[] = {
		{ DAEMON, DAEMON, true },  { DAEMON, STAFF, false },    { 0, STAFF, false },
		{ NOBODY, NOBODY, false }, { 4000000, 4000000, false }, /* nobody knows them */
	};

	(void)state;
	if (geteuid() != 0)
		skip();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(chown(file, rows[i].owner, rows[i].group), 0);
		assert_int_equal(chown(dir, rows[i].owner, rows[i].group), 0);
		assert_int_equal(chmod(dir, 0775), 0);
		assert_int_equal(mor_file_is_ours(file, rows[i].owner, fault), rows[i].fine);
		assert_int_equal(strncmp(fault, "others can write its directory (group ", 38) == 0,
				 !rows[i].fine);
	}
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
		skip();
	assert_int_equal(chown(dir, DAEMON, DAEMON), 0);
	if (setxattr(dir, "system.posix_acl_access", &list, sizeof(list), 0) < 0) {
		assert_int_equal(errno, EOPNOTSUPP);
		skip();
	}
	assert_false(mor_file_is_ours(file, DAEMON, fault));
	assert_memory_equal(fault, "others can write its directory", 30);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, enter, leave)

int main(void)
{
	static const struct CMUnitTest tests[] = { TEST(test_modes), TEST(test_absent), TEST(test_owners),
						   TEST(test_groups), TEST(test_access_control_list) };

	return mor_run_group("program/helper", tests);
}
