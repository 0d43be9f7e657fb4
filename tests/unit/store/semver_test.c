/* SPDX-License-Identifier: Apache-2.0 */
/* Semantic Versioning 2.0.0: what is a version, the order of section 11, and our ranges. */
#include "store/semver.h"

#include <stdio.h>
#include <string.h>

#include "leak.h"

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

static void test_valid(void **state)
{
	static const char *const good[] = {
		"0.0.0",
		"0.0.4",
		"1.2.3",
		"10.20.30",
		"1.1.2-prerelease+meta",
		"1.1.2+meta",
		"1.1.2+meta-valid",
		"1.0.0-alpha",
		"1.0.0-alpha.beta.1",
		"1.0.0-alpha0.valid",
		"1.0.0-alpha.0valid",
		"1.0.0-alpha-a.b-c-somethinglong+build.1-aef.1-its-okay",
		"1.0.0-rc.1+build.1",
		"2.0.0+build.1848",
		"1.0.0+0.build.1-rc.10000aaa-kk-0.1",
		"99999999999999999999999.999999999999999999.1",
		"1.0.0-0A.is.legal",
		"1.2.3----RC-SNAPSHOT.12.9.1--.12",
	};
	static const char *const bad[] = {
		"",
		"1",
		"1.2",
		"1.2.3-0123",
		"1.2.3-0123.0123",
		"1.1.2+.123",
		"+invalid",
		"-invalid",
		"alpha",
		"1.0.0-alpha_beta",
		"1.0.0-alpha..",
		"1.0.0-alpha..1",
		"01.1.1",
		"1.01.1",
		"1.1.01",
		"1.2.3.DEV",
		"1.2-SNAPSHOT",
		"1.2.31.2.3----RC",
		"-1.0.3-gamma+b7718",
		"+justmeta",
		"9.8.7+meta+meta",
		"9.8.7-whatever+meta+meta",
		"v1.2.3",
		" 1.2.3",
		"1.2.3-",
		"1.2.3+",
		"1.2.3/..",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		if (!mor_semver_valid(good[i]))
			fail_msg("%s is one", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		if (mor_semver_valid(bad[i]))
			fail_msg("%s is none", bad[i]);
}

/* Each is newer than all before it. */
static void test_order(void **state)
{
	static const char *const order[] = {
		"0.0.0-0",
		"0.0.0",
		"0.0.1",
		"0.9.0",
		"1.0.0-1",
		"1.0.0-2",
		"1.0.0-10",
		"1.0.0-alpha",
		"1.0.0-alpha.1",
		"1.0.0-alpha.beta",
		"1.0.0-beta",
		"1.0.0-beta.2",
		"1.0.0-beta.11",
		"1.0.0-rc.1",
		"1.0.0",
		"1.0.1-0",
		"1.9.0",
		"1.10.0",
		"1.11.0",
		"2.0.0",
		"2.1.0",
		"2.1.1",
		"18446744073709551616.0.0",
		"18446744073709551617.0.0",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(order); i++)
		for (size_t k = 0; k < COUNT(order); k++) {
			int want = (i > k) - (i < k);

			assert_true(mor_semver_valid(order[i]));
			if (mor_store_compare_versions(order[i], order[k]) != want)
				fail_msg("%s and %s", order[i], order[k]);
		}
	assert_int_equal(mor_store_compare_versions("1.0.0+a", "1.0.0+b"), 0);
	assert_int_equal(mor_store_compare_versions("1.0.0+a-b", "1.0.0"), 0);
}

static void test_ranges(void **state)
{
	static const struct {
		const char *range, *fits, *others; /* separated by blanks */
	} rows[] = {
		{ "*", "0.0.0 1.2.3 99.0.0", "1.0.0-rc.1" },
		{ "1.2.3", "1.2.3 1.2.3+build", "1.2.4 1.2.2 1.2.3-rc.1" },
		{ "=1.2.3", "1.2.3", "1.2.4" },
		{ "1.2.3-rc.1", "1.2.3-rc.1", "1.2.3 1.2.3-rc.2" },
		{ "1", "1.0.0 1.99.0", "0.9.9 2.0.0 2.0.0-rc.1 1.0.0-rc.1" },
		{ "=1.2", "1.2.0 1.2.9", "1.3.0 1.1.9" },
		{ "0", "0.0.0 0.9.0", "1.0.0" },
		{ "^1.2", "1.2.0 1.99.0", "1.1.9 2.0.0 2.0.0-0" },
		{ "^1.2.3", "1.2.3 1.3.0", "1.2.2 2.0.0" },
		{ "^0.2.3", "0.2.3 0.2.9", "0.3.0 0.2.2" },
		{ "^0.0.3", "0.0.3", "0.0.4 0.0.2" },
		{ "^0.0", "0.0.0 0.0.9", "0.1.0" },
		{ "^0", "0.0.0 0.9.0", "1.0.0" },
		{ "^1.2.3-rc.2", "1.2.3-rc.2 1.2.3-rc.10 1.2.3 1.4.0", "1.2.3-rc.1 1.2.4-rc.1 2.0.0" },
		{ "~1.2.3", "1.2.3 1.2.9", "1.3.0 1.2.2" },
		{ "~1.2", "1.2.0 1.2.9", "1.3.0" },
		{ "~1", "1.0.0 1.9.0", "2.0.0" },
		{ ">=1.2", "1.2.0 9.0.0", "1.1.9" },
		{ ">1.2", "1.3.0", "1.2.0 1.2.9" },
		{ ">1.2.3", "1.2.4 1.3.0", "1.2.3 1.2.4-rc.1" },
		{ "<1.2", "1.1.9 0.0.0", "1.2.0 1.2.0-rc.1" },
		{ "<=1.2", "1.2.9 1.1.0", "1.3.0" },
		{ "<=1.2.3", "1.2.3", "1.2.4" },
		{ ">=1,<2", "1.0.0 1.9.9", "0.9.0 2.0.0 2.0.0-rc.1" },
		{ " >= 1.1 , < 1.4 ", "1.1.0 1.3.9", "1.0.9 1.4.0" },
		{ ">=2.0.0-rc.1", "2.0.0-rc.1 2.0.0 3.0.0", "2.0.0-beta 2.0.1-rc.1 3.0.0-rc.1" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		for (int should = 0; should < 2; should++) {
			const char *list = should ? rows[i].fits : rows[i].others;
			struct mor_semver_range range;
			mortise_error err = { 0 };

			if (mor_semver_range_parse(rows[i].range, &range, &err) < 0)
				fail_msg("%s: %s", rows[i].range, err.text);
			while (*list) {
				char version[80];
				size_t len = strcspn(list, " ");

				snprintf(version, sizeof(version), "%.*s", (int)len, list);
				if (mor_semver_range_fits(&range, version) != (bool)should)
					fail_msg("%s and %s", rows[i].range, version);
				list += len + (list[len] == ' ');
			}
		}
}

static void test_no_ranges(void **state)
{
	static const char *const rows[] = {
		"",
		"x",
		"1.x",
		"1.2.3.4",
		"^",
		">=",
		"1,",
		",1",
		"1 2",
		"01",
		"1.02",
		"v1",
		"1.2-rc.1",
		"1.2.3-",
		"||",
		"1||2",
		"18446744073709551615",
		"18446744073709551616",
		"-1",
		"1.",
		"1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
		"1.2.3-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct mor_semver_range range;
		mortise_error err = { 0 };

		if (mor_semver_range_parse(rows[i], &range, &err) != MORTISE_EINVAL)
			fail_msg("\"%s\" is taken", rows[i]);
		assert_non_null(strstr(err.text, "is no range of versions"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_valid),
		MOR_TEST(test_order),
		MOR_TEST(test_ranges),
		MOR_TEST(test_no_ranges),
	};

	return mor_run_group("store/semver", tests);
}
