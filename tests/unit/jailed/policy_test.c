/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `mortise jail` as a policy, and those that are refused. */
#include "leak.h"

#include <string.h>

#include "jailed/inside.h"

static void assert_policy(const struct mor_jailed_plan *plan, const char *const *want)
{
	struct mor_text_list policy = { 0 };
	mortise_error err = { 0 };
	size_t count = 0;

	if (mor_jailed_policy(plan, &policy, &err) < 0)
		fail_msg("%s", err.text);
	for (; want[count]; count++) {
		assert_true(count < policy.count);
		assert_string_equal(policy.item[count], want[count]);
	}
	assert_int_equal(policy.count, count);
	mor_text_list_free_texts(&policy);
}

static void test_texts(void **state)
{
	static const char *read[] = { "/usr/../etc", NULL }, *limit[] = { "files=64", NULL },
			  *unprotect[] = { ".vscode", NULL };
	const struct mor_jailed_plan plan = { .workspace = "/usr/..",
					      .write = true,
					      .git = true,
					      .on_denial = "kill",
					      .read = { .item = read, .count = 1 },
					      .limit = { .item = limit, .count = 1 },
					      .unprotect = { .item = unprotect, .count = 1 } };
	const struct mor_jailed_plan nothing = { 0 };

	(void)state;
	assert_policy(&nothing, (const char *const[]){ "level=auto", NULL });
	assert_policy(&plan, (const char *const[]){ "level=auto", "on_denial=kill", "workspace_write=true",
						    "git=true", "workspace=/", "read=/etc", "unprotect=.vscode",
						    "files=64", NULL });
}

static void test_refused(void **state)
{
	static const char *words[] = { "memory", "depth=3", NULL };
	const struct {
		struct mor_jailed_plan plan;
		int code;
		const char *text;
	} rows[] = {
		{ { .write = true }, MORTISE_EINVAL, "--write needs --workspace DIR" },
		{ { .git = true }, MORTISE_EINVAL, "--git needs --workspace DIR and --write" },
		{ { .unprotect = { .item = words, .count = 1 } }, MORTISE_EINVAL, "--unprotect needs" },
		{ { .undo = true }, MORTISE_EINVAL, "--undo needs --workspace DIR and --write" },
		{ { .limit = { .item = words, .count = 1 } }, MORTISE_EINVAL, "--limit \"memory\": expected" },
		{ { .limit = { .item = words + 1, .count = 1 } }, MORTISE_EINVAL, "--limit \"depth=3\": exp" },
		{ { .scratch = "/no/such" }, MORTISE_ENOTFOUND, "--scratch /no/such: No such file" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mor_text_list policy = { 0 };
		mortise_error err = { 0 };

		assert_int_equal(mor_jailed_policy(&rows[i].plan, &policy, &err), rows[i].code);
		assert_memory_equal(err.text, rows[i].text, strlen(rows[i].text));
		mor_text_list_free_texts(&policy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_texts), MOR_TEST(test_refused) };

	return mor_run_group("jailed/policy", tests);
}
