/* SPDX-License-Identifier: Apache-2.0 */
/* What git runs besides its own directory, as the plan tells the guardian. */
#include "leak.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/dir.h"
#include "policy/protect.h"
#include "top.h"

static void put(const char *name, const char *text)
{
	char dir[256];
	FILE *f;

	snprintf(dir, sizeof(dir), "%s", at(name));
	*strrchr(dir, '/') = '\0';
	assert_int_equal(mor_dir_make_all(AT_FDCWD, dir, 0755), 0);
	f = fopen(at(name), "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int make_top(void **state)
{
	(void)state;
	if (top_make("git") < 0 || mkdir(at("home"), 0755) < 0 || mkdir(at("ws"), 0755) < 0)
		return -1;
	unsetenv("XDG_CONFIG_HOME");
	return setenv("HOME", at("home"), 1);
}

static void fresh(void)
{
	assert_int_equal(top_drop(NULL), 0);
	assert_int_equal(make_top(NULL), 0);
}

/* Does the plan protect ws/NAME for this reason? */
static bool protects(const char *workspace, const char *name, enum mor_protect_why why)
{
	struct mor_policy policy = { .workspace = (char *)(uintptr_t)workspace, .workspace_write = true };
	struct mor_buf buf = MOR_BUF_INIT;
	struct mor_plan plan;
	bool found = false;

	assert_int_equal(mor_plan_begin(&buf), 0);
	assert_int_equal(mor_protected_look_around(&buf, &policy, true), 0);
	assert_int_equal(mor_plan_read(buf.data, buf.len, &plan), MOR_PLAN_DAMAGED); /* no command */
	for (size_t at_byte = sizeof(struct mor_plan_head); at_byte < buf.len;) {
		const struct mor_plan_op *op = (const struct mor_plan_op *)(buf.data + at_byte);
		const struct mor_op_protect *protect = mor_plan_payload(op);

		found = found || (strcmp(protect->text, at(name)) == 0 && protect->why == why);
		at_byte += sizeof(*op) + (op->size + 7) / 8 * 8;
	}
	mor_buf_fini(&buf);
	return found;
}

static bool runs(const char *name)
{
	char workspace[128];

	snprintf(workspace, sizeof(workspace), "%s", at("ws"));
	return protects(workspace, name, MOR_PROTECT_GIT_RUNS);
}

static void hooks_path(void **state)
{
	static const char *const spellings[] = {
		"[core]\n\thooksPath = my/hooks\n",
		"[CORE] HooksPath=\"my/hooks\"\n",
		"# x\n[user]\n\tname = a\n[core]\n  bare = false\n  hookspath\t=  my/hooks  ; where\r\n",
		"[core]\n\thooksPath = ./a/../my/hooks/\n",
	};
	static const char *const others[] = {
		"[core]\n\t# hooksPath = my/hooks\n",
		"[corex]\n\thooksPath = my/hooks\n",
		"[core]\n\thooksPath\n",
		"[core\n\thooksPath = my/hooks\n",
		"",
	};

	(void)state;
	fresh();
	for (size_t i = 0; i < sizeof(spellings) / sizeof(*spellings); i++) {
		put("ws/.git/config", spellings[i]);
		if (!runs("ws/my/hooks"))
			fail_msg("not seen: %s", spellings[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		put("ws/.git/config", others[i]);
		if (runs("ws/my/hooks"))
			fail_msg("seen: %s", others[i]);
	}
}

static void other_places(void **state)
{
	char deep[128];

	(void)state;
	fresh();
	put("ws/.git/config", "[include]\n\tpath = ../team.gitconfig\n");
	put("ws/team.gitconfig", "[core]\n\thooksPath = team/hooks\n");
	assert_true(runs("ws/team.gitconfig"));
	assert_true(runs("ws/team/hooks"));
	/* of the user, for every repository */
	put("home/.gitconfig", "[core]\n\thooksPath = .user-hooks\n");
	put("ws/a/b/.git/config", "[core]\n\thooksPath = ../hooks\n");
	assert_true(runs("ws/.user-hooks"));
	assert_true(runs("ws/a/b/.user-hooks"));
	assert_true(runs("ws/a/hooks"));
	/* the repository around the workspace */
	put("ws/.git/config", "[core]\n\thooksPath = inner/deep/hooks\n");
	snprintf(deep, sizeof(deep), "%s", at("ws/inner"));
	assert_int_equal(mkdir(deep, 0755), 0);
	assert_true(protects(deep, "ws/inner/deep/hooks", MOR_PROTECT_GIT_RUNS));
	/* outside of the workspace there is nothing to protect */
	put("ws/.git/config", "[core]\n\thooksPath = /usr/share/hooks\n");
	assert_false(runs("usr/share/hooks"));
}

static void links_and_directories(void **state)
{
	char workspace[128];

	(void)state;
	fresh();
	put("ws/.git/hooks/pre-push", "");
	put("ws/scripts/pre-commit", "");
	assert_int_equal(symlink("../../scripts/pre-commit", at("ws/.git/hooks/pre-commit")), 0);
	assert_true(runs("ws/scripts/pre-commit"));
	/* git directories of other names */
	put("ws/tree/.git", "gitdir: ../store\n");
	put("ws/store/HEAD", "");
	put("ws/store/config", "[core]\n\thooksPath = h\n");
	snprintf(workspace, sizeof(workspace), "%s", at("ws"));
	assert_true(protects(workspace, "ws/store", MOR_PROTECT_GIT));
	assert_true(runs("ws/tree/h"));
	/* a second working tree: its configuration is where commondir says */
	put("ws/second/.git", "gitdir: ../store/worktrees/s\n");
	put("ws/store/worktrees/s/commondir", "../..\n");
	assert_true(runs("ws/second/h"));
}

/* No less is protected because there is no memory. */
/* Names that tools run by themselves may be links, or directories with links in them. */
static void links_of_other_names(void **state)
{
	char workspace[128];

	(void)state;
	fresh();
	snprintf(workspace, sizeof(workspace), "%s", at("ws"));
	put("ws/editor/tasks.json", "{}");
	put("ws/deep/er/settings.json", "{}");
	put("ws/deep/.claude/other", "");
	put("ws/cargo/config.toml", "");
	assert_int_equal(symlink("editor", at("ws/.vscode")), 0);
	assert_int_equal(symlink("later/envrc", at("ws/.envrc")), 0);
	assert_int_equal(symlink("../er/settings.json", at("ws/deep/.claude/settings.json")), 0);
	assert_int_equal(symlink("cargo", at("ws/.cargo")), 0);
	assert_true(protects(workspace, "ws/editor", MOR_PROTECT_TOOL));
	assert_true(protects(workspace, "ws/later/envrc", MOR_PROTECT_TOOL));
	assert_true(protects(workspace, "ws/deep/er/settings.json", MOR_PROTECT_TOOL));
	assert_true(protects(workspace, "ws/cargo/config.toml", MOR_PROTECT_TOOL));
	assert_true(protects(workspace, "ws/cargo/config", MOR_PROTECT_TOOL)); /* not there yet */
	assert_false(protects(workspace, "ws/cargo", MOR_PROTECT_TOOL));
	assert_false(protects(workspace, "ws/deep/.claude/other", MOR_PROTECT_TOOL)); /* protected by name */
	assert_int_equal(symlink(".", at("ws/.idea")), 0);
	assert_false(protects(workspace, "ws", MOR_PROTECT_TOOL));
}

static void without_memory(void **state)
{
	char workspace[128];
	struct mor_policy policy = { .workspace = workspace, .workspace_write = true };
	int r = MORTISE_ENOMEM;

	(void)state;
	fresh();
	snprintf(workspace, sizeof(workspace), "%s", at("ws"));
	put("ws/.git/config", "[core]\n\thooksPath = my/hooks\n");
	for (long n = 0; r == MORTISE_ENOMEM && n < 200; n++) {
		struct mor_buf buf = MOR_BUF_INIT;

		mor_alloc_fail_after(n);
		r = mor_protected_look_around(&buf, &policy, true);
		mor_alloc_fail_after(-1);
		if (r == 0)
			assert_non_null(memmem(buf.data, buf.len, "my/hooks", 8));
		mor_buf_fini(&buf);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(hooks_path),           MOR_TEST(other_places),   MOR_TEST(links_and_directories),
		MOR_TEST(links_of_other_names), MOR_TEST(without_memory),
	};

	return mor_run_group_in("policy/protect_git", tests, make_top, top_drop);
}
