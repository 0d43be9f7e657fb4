/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked for and what was learnt, as options and as a table. */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "jailed/inside.h"

static struct mor_learn learnt(void)
{
	static struct mor_learn_path paths[] = {
		{ .path = (char *)"/etc/one file" },
		{ .path = (char *)"/home/a/.ssh/id", .why = MOR_LEARN_SECRET },
		{ .path = (char *)"a\nb", .why = MOR_LEARN_ODD },
		{ .path = (char *)"", .why = MOR_LEARN_NETWORK },
		{ .path = (char *)"ptrace", .why = MOR_LEARN_NEVER },
	};

	return (struct mor_learn){ .spawn = true, .write = true, .git = true, .paths = paths, .count = 5 };
}

static struct mor_jailed_plan asked(bool workspace)
{
	static const char *const argv[] = { "make", "a b", NULL };
	static const char *read[] = { "/usr/../etc", NULL }, *limit[] = { "files=64", "memory=1G", NULL },
			  *network[] = { "a.example:443", NULL };

	return (struct mor_jailed_plan){ .workspace = workspace ? "/" : NULL,
					 .argv = argv,
					 .read = { .item = read, .count = 1 },
					 .limit = { .item = limit, .count = 2 },
					 .network = { .item = network, .count = 1 } };
}

static void assert_texts(const struct mor_jailed_plan *plan, const char *options, const char *table)
{
	MOR_CLEAN(mor_buf) struct mor_buf told = MOR_BUF_INIT, written = MOR_BUF_INIT;
	const struct mor_learn learn = learnt();
	struct mor_jailed_plan granted;

	assert_int_equal(mor_learnt_plan(plan, &learn, &granted), 0);
	mor_learnt_options(&granted, &told);
	mor_learnt_table(&granted, plan->read.count, &learn, &written);
	mor_free(granted.read.item);
	mor_buf_byte(&told, '\0');
	mor_buf_byte(&written, '\0');
	assert_string_equal(told.data, options);
	assert_string_equal(written.data, table);
}

static void test_workspace(void **state)
{
	const struct mor_jailed_plan plan = asked(true);
	MOR_CLEAN(mor_buf) struct mor_buf table = MOR_BUF_INIT;

	(void)state;
	mor_buf_printf(&table,
		       "[sandbox]\nworkspace = \"/\"\nworkspace_write = true\ngit = true\nspawn = true\n"
		       "network = [\"a.example:443\"]\nfiles = 64\nmemory = \"1G\"\n"
		       "read = [\n  \"/etc\",\n  \"/etc/one file\",\n]\n"
		       "# Not granted: %s.\n#   \"/home/a/.ssh/id\",\n"
		       "# Not granted: %s.\n#   \"a\\\\x0ab\",\n"
		       "# Not granted: %s.\n# network = true\n"
		       "# Not granted: %s.\n#   \"ptrace\"\n",
		       mor_learn_why_text(MOR_LEARN_SECRET), mor_learn_why_text(MOR_LEARN_ODD),
		       mor_learn_why_text(MOR_LEARN_NETWORK), mor_learn_why_text(MOR_LEARN_NEVER));
	mor_buf_byte(&table, '\0');
	assert_texts(&plan,
		     "mortise jail -w / --write --git --spawn --network=a.example:443 --limit files=64 "
		     "--limit memory=1G --read /usr/../etc --read '/etc/one file' -- make 'a b'",
		     table.data);
}

/* Without a workspace nobody is told to write in it; the whole network has no list. */
static void test_no_workspace(void **state)
{
	static const char *all[] = { "true", NULL };
	struct mor_jailed_plan plan = asked(false);
	MOR_CLEAN(mor_buf) struct mor_buf options = MOR_BUF_INIT, table = MOR_BUF_INIT;
	const struct mor_learn nothing = { .write = true };
	struct mor_jailed_plan granted;

	(void)state;
	plan.read.count = plan.limit.count = 0;
	plan.network.item = all;
	assert_int_equal(mor_learnt_plan(&plan, &nothing, &granted), 0);
	mor_learnt_options(&granted, &options);
	mor_learnt_table(&granted, 0, &nothing, &table);
	mor_buf_byte(&options, '\0');
	mor_buf_byte(&table, '\0');
	assert_string_equal(options.data, "mortise jail --network -- make 'a b'");
	assert_string_equal(table.data, "[sandbox]\nnetwork = true\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_workspace), MOR_TEST(test_no_workspace) };

	return mor_run_group("jailed/learnt", tests);
}
