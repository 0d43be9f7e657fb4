/* SPDX-License-Identifier: Apache-2.0 */
/* Which version of an index a name and a range mean. */
#include <stdio.h>
#include <string.h>

#include "leak.h"
#include "registry/registry.h"

#define SUM "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ENTRY(name, version) \
	"{\"name\":\"" name "\",\"version\":\"" version "\",\"file\":\"" name "-" version \
	".tar.zst\",\"size\":1,\"sha256\":\"" SUM "\",\"digest\":\"" SUM "\"}"
#define INDEX \
	"{\"mortise_index\":1,\"serial\":1,\"plugins\":[" ENTRY("says", "1.4.2") "," ENTRY( \
		"says", "1.10.0") "," ENTRY("says", "2.0.0-rc.1") "," ENTRY("other", "9.0.0") "]}"

static void open_index(struct mor_registry *registry)
{
	mortise_error err = { 0 };
	static char path[] = "/r";

	*registry = (struct mor_registry)MOR_REGISTRY_INIT;
	if (mor_registry_parse((struct mor_slice){ INDEX, sizeof(INDEX) - 1 }, registry, &err) < 0)
		fail_msg("%s", err.text);
	registry->path = path;
}

static void close_index(struct mor_registry *registry)
{
	registry->path = NULL;
	mor_registry_fini(registry);
}

static void test_the_newest_that_fits(void **state)
{
	static const char *const rows[][2] = {
		{ NULL, "1.10.0" },  { "*", "1.10.0" },   { "1", "1.10.0" },
		{ "~1.4", "1.4.2" }, { "<1.5", "1.4.2" }, { ">=2.0.0-rc.1", "2.0.0-rc.1" },
	};
	const struct mor_registry_entry *found;
	struct mor_registry registry;

	(void)state;
	open_index(&registry);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(mor_registry_pick(&registry, "says", rows[i][0], &found, NULL), 0);
		assert_string_equal(found->version, rows[i][1]);
	}
	close_index(&registry);
}

static void test_what_is_not_there(void **state)
{
	const struct mor_registry_entry *found = NULL;
	struct mor_registry registry;
	mortise_error err;

	(void)state;
	open_index(&registry);
	assert_int_equal(mor_registry_pick(&registry, "says", "^3", &found, &err), MORTISE_ENOTFOUND);
	assert_non_null(strstr(err.text, "fits \"^3\"; there is: 2.0.0-rc.1, 1.10.0, 1.4.2"));
	assert_int_equal(mor_registry_pick(&registry, "sayz", NULL, &found, &err), MORTISE_ENOTFOUND);
	assert_non_null(strstr(err.text, "did you mean says?"));
	assert_int_equal(mor_registry_pick(&registry, "says", "^", &found, &err), MORTISE_EINVAL);
	assert_null(found);
	close_index(&registry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_the_newest_that_fits),
		MOR_TEST(test_what_is_not_there),
	};

	return mor_run_group("registry/pick", tests);
}
