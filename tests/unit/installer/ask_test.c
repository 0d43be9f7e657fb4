/* SPDX-License-Identifier: Apache-2.0 */
/* Who must agree to what, without a terminal: --allow, --yes, or a refusal with the line to type. */
#include "leak.h"

#include <string.h>

#include "base/alloc.h"
#include "installer/inside.h"

enum {
	NETWORK = MOR_PERMISSION_NETWORK,
	READ = MOR_PERMISSION_READ,
	SPAWN = MOR_PERMISSION_SPAWN,
	WRITE = MOR_PERMISSION_WRITE,
	UNCONFINED = MOR_PERMISSION_UNCONFINED,
	DOWNGRADE = MOR_PERMISSION_DOWNGRADE,
	REPLACE = MOR_PERMISSION_REPLACE
};

/* ---- --allow ---- */

static void test_words(void **state)
{
	static const struct {
		const char *words[3];
		unsigned wanted;
	} rows[] = {
		{ { NULL }, 0 },
		{ { "" }, 0 },
		{ { "network" }, NETWORK },
		{ { "network,read" }, NETWORK | READ },
		{ { "network,", "spawn" }, NETWORK | SPAWN },
		{ { "write,write", "unconfined,downgrade,replace" }, WRITE | UNCONFINED | DOWNGRADE | REPLACE },
	};
	unsigned allow = 77;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(mor_installer_allow(rows[i].words, &allow, NULL), 0);
		assert_int_equal(allow, rows[i].wanted);
	}
	assert_int_equal(mor_installer_allow(NULL, &allow, NULL), 0);
	assert_int_equal(allow, 0);
}

static void test_words_that_are_none(void **state)
{
	static const char *const rows[][2] = {
		{ "net", "net" },         { "network,all", "all" }, { ",", "" },
		{ "read,,write", "" },    { "Network", "Network" }, { "read write", "read write" },
		{ "\x1b[2J", "\\x1b[2J" }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *words[] = { rows[i][0], NULL };
		unsigned allow = 77;
		mortise_error err = { 0 };
		char wanted[200];

		assert_int_equal(mor_installer_allow(words, &allow, &err), MORTISE_EINVAL);
		snprintf(wanted, sizeof(wanted),
			 "--allow \"%s\": expected network, read, spawn, write, unconfined, downgrade or "
			 "replace, with commas between them",
			 rows[i][1]);
		assert_string_equal(err.text, wanted);
		assert_int_equal(allow, 77);
	}
}

/* ---- the question ---- */

struct asked {
	bool again;            /* a version is installed */
	unsigned asked, wider; /* what it wants; what is new in that */
	unsigned allow;
	bool yes, approve;
	const char *words; /* NULL: agreed; else what --allow must say, "" for --yes, "all" for everything */
};

static int ask(const struct asked *row, const struct mor_lockfile_entry *pinned, mortise_error *err)
{
	static const char *const line[] = { "a dir", "--json", NULL };
	struct mor_console console = { 0 };
	struct mor_installer_order order = { .approve = row->approve,
					     .yes = row->yes,
					     .allow = row->allow,
					     .pinned = pinned,
					     .command = row->approve ? "approve" : "install",
					     .line = line };
	struct mor_installer_visit visit = { .order = &order,
					     .console = &console,
					     .name = "greeter",
					     .version = "1.0",
					     .asked = row->asked,
					     .wider = row->wider };

	int r;

	if (row->again)
		assert_int_equal(mor_doc_parse(MOR_SLICE("{}"), 0, 0, &visit.before.doc, NULL), 0);
	r = mor_installer_ask(&visit, err);
	mor_doc_free(visit.before.doc);
	return r;
}

static const struct asked decisions[] = {
	/* new: nothing to ask */
	{ .words = NULL },
	{ .yes = true },
	/* new: it wants something */
	{ .asked = NETWORK, .words = "network" },
	{ .asked = NETWORK, .yes = true },
	{ .asked = NETWORK | READ, .allow = NETWORK, .words = "read" },
	{ .asked = NETWORK | READ, .allow = NETWORK | READ },
	{ .asked = NETWORK | READ, .allow = NETWORK, .yes = true },
	/* new: everything. --yes is not enough */
	{ .asked = UNCONFINED, .words = "all" },
	{ .asked = UNCONFINED, .yes = true, .words = "all" },
	{ .asked = UNCONFINED, .allow = NETWORK, .words = "all" },
	{ .asked = UNCONFINED, .allow = UNCONFINED },
	/* again, as before: it was granted, but somebody must say that this version may too */
	{ .again = true, .asked = NETWORK, .words = "network" },
	{ .again = true, .asked = NETWORK, .yes = true },
	{ .again = true },
	/* again, wider: only --allow grants what is new, and need not repeat the rest */
	{ .again = true, .asked = NETWORK | READ, .wider = READ, .words = "network,read" },
	{ .again = true, .asked = NETWORK | READ, .wider = READ, .yes = true, .words = "network,read" },
	{ .again = true, .asked = NETWORK | READ, .wider = READ, .allow = READ },
	{ .again = true, .asked = NETWORK | READ, .wider = READ, .allow = NETWORK, .words = "read" },
	{ .again = true,
	  .asked = NETWORK | READ,
	  .wider = READ,
	  .allow = NETWORK,
	  .yes = true,
	  .words = "read" },
	{ .again = true, .asked = UNCONFINED, .wider = UNCONFINED, .yes = true, .words = "all" },
	{ .again = true, .asked = UNCONFINED, .yes = true }, /* it could do everything before */
	{ .again = true, .wider = DOWNGRADE, .words = "downgrade" },
	{ .again = true, .wider = DOWNGRADE, .yes = true, .words = "downgrade" },
	{ .again = true, .wider = DOWNGRADE, .allow = DOWNGRADE },
	{ .again = true, .wider = DOWNGRADE | REPLACE, .allow = REPLACE, .words = "downgrade" },
	/* approve: changed files are a question of their own */
	{ .again = true, .approve = true, .words = "" },
	{ .again = true, .approve = true, .yes = true },
	{ .again = true, .approve = true, .allow = NETWORK },
	{ .again = true, .approve = true, .asked = READ, .wider = READ, .yes = true, .words = "read" },
	{ .again = true, .approve = true, .asked = READ, .wider = READ, .allow = READ },
};

static void test_decisions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(decisions) / sizeof(*decisions); i++) {
		mortise_error err = { 0 };
		char wanted[120];
		int r = ask(&decisions[i], NULL, &err);

		if ((r == 0) != !decisions[i].words)
			fail_msg("row %zu: %d %s", i, r, err.text);
		if (r == 0)
			continue;
		assert_int_equal(r, MORTISE_EINPUT);
		snprintf(wanted, sizeof(wanted), "type: mortise %s %s%s 'a dir' --json",
			 decisions[i].approve ? "approve" : "install",
			 *decisions[i].words ? "--allow " : "--yes",
			 strcmp(decisions[i].words, "all") == 0 ? "unconfined" : decisions[i].words);
		if (!strstr(err.text, wanted))
			fail_msg("row %zu: %s", i, err.text);
	}
}

static void test_what_a_refusal_says(void **state)
{
	struct asked row = { .asked = NETWORK | SPAWN };
	mortise_error err = { 0 };

	(void)state;
	ask(&row, NULL, &err);
	assert_string_equal(
		err.text,
		"greeter 1.0 was not installed: nobody has agreed to network, spawn; to agree, type: mortise "
		"install --allow network,spawn 'a dir' --json");
	row = (struct asked){ .again = true, .approve = true };
	ask(&row, NULL, &err);
	assert_string_equal(
		err.text,
		"greeter 1.0 was not approved: nobody has agreed to its changed files; to agree, type: mortise "
		"approve --yes 'a dir' --json");
	row = (struct asked){ .asked = UNCONFINED };
	ask(&row, NULL, &err);
	assert_string_equal(
		err.text,
		"greeter may do everything that you may, and nobody has agreed to that: to run it confined, "
		"type: mortise install --confine 'a dir' --json; to agree, type: mortise install --allow "
		"unconfined 'a dir' --json");
	/* a lock pins the permissions: with others it would be refused */
	ask(&row, &(struct mor_lockfile_entry){ .name = "greeter" }, &err);
	assert_string_equal(err.text,
			    "greeter may do everything that you may, and nobody has agreed to that: to agree, "
			    "type: mortise install --allow unconfined 'a dir' --json");
}

static void test_no_memory_is_no_yes(void **state)
{
	static const struct asked rows[] = { { .asked = NETWORK }, { .asked = UNCONFINED } };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		int r = MORTISE_ENOMEM;

		for (long n = 0; r == MORTISE_ENOMEM; n++) {
			mortise_error err = { 0 };

			mor_alloc_fail_after(n);
			r = ask(&rows[i], NULL, &err);
			mor_alloc_fail_after(-1);
			assert_true(r == MORTISE_ENOMEM || r == MORTISE_EINPUT);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_words),
		MOR_TEST(test_words_that_are_none),
		MOR_TEST(test_decisions),
		MOR_TEST(test_what_a_refusal_says),
		MOR_TEST(test_no_memory_is_no_yes),
	};

	return mor_run_group("installer/ask", tests);
}
