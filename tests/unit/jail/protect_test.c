/* SPDX-License-Identifier: Apache-2.0 */
/* What a writable workspace keeps: names as file systems compare them, git directories, repositories. */
#include "leak.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/fold.h"
#include "jail/protect.h"
#include "top.h"

static size_t root;

static void make(const char *name)
{
	size_t len = strlen(name);
	int fd;

	if (name[len - 1] == '/') {
		assert_int_equal(mkdir(at(name), 0755), 0);
		return;
	}
	fd = open(at(name), O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	close(fd);
}

static int make_top(void **state)
{
	(void)state;
	if (top_make("protect") < 0)
		return -1;
	root = strlen(top);
	return 0;
}

static void fresh(void)
{
	assert_int_equal(top_drop(NULL), 0);
	assert_int_equal(make_top(NULL), 0);
}

/* ---- names ---- */

static bool alike(const char *name, const char *plain)
{
	return mor_fold_alike(name, strlen(name), plain, strlen(plain));
}

static void names_alike(void **state)
{
	(void)state;
	assert_true(alike(".git", ".git"));
	assert_true(alike(".GiT", ".git"));
	assert_false(alike(".gi", ".git"));
	assert_false(alike(".gitx", ".git"));
	assert_false(alike("", ".git"));
	/* letters that fold to those of ASCII, and characters that are not seen */
	assert_true(alike("hoo\u212a\u017f", "hooks"));
	assert_true(alike("con\ufb01g", "config"));
	assert_true(alike(".g\u200dit", ".git"));
	assert_true(alike("ma\u00df", "mass"));
	assert_false(alike("h\u00f6oks", "hoks2"));
	assert_false(alike("caf\u00e9", "hooks"));
	assert_false(alike("\u00e9t\u00e9", ".git"));
	/* the short names of FAT */
	assert_true(alike("GIT~1", ".git"));
	assert_true(alike("gi1a2b~1", ".git"));
	assert_false(alike("AB~1", ".git"));
	assert_false(alike("GIT~", ".git"));
	assert_false(alike("backup~1.txt", ".git"));
	/* in doubt */
	assert_true(alike("PL\u00dcG", "pl\u00fcg"));
}

static void this_one_does_not_fold(void **state)
{
	(void)state;
	fresh();
	assert_false(mor_fold_in(top, root));
	assert_true(mor_fold_in("/nonexistent/directory", 22)); /* cannot be told */
}

/* ---- paths and names ---- */

static struct mor_protects protects;

static int why(const char *name, enum mor_write_kind kind)
{
	return mor_protect_find(&protects, at(name), root, true, kind);
}

static void paths_and_names(void **state)
{
	(void)state;
	fresh();
	make("tools/");
	make("tools/plug/");
	assert_int_equal(mor_protect_path(&protects, at("tools/plug"), MOR_PROTECT_POLICY), 0);
	assert_int_equal(mor_protect_name(&protects, ".hg/hgrc", MOR_PROTECT_TOOL), 0);
	assert_int_equal(mor_protect_name(&protects, ".envrc", MOR_PROTECT_TOOL), 0);
	assert_int_equal(why("tools/plug/x", MOR_WRITE_CONTENT), MOR_PROTECT_POLICY);
	assert_int_equal(why("tools/plug", MOR_WRITE_REMOVE), MOR_PROTECT_POLICY);
	assert_int_equal(why("tools", MOR_WRITE_PLACE), MOR_PROTECT_BELOW);
	assert_int_equal(why("tools", MOR_WRITE_GRAFT), MOR_PROTECT_BELOW);
	assert_int_equal(why("tools", MOR_WRITE_INSIDE), MOR_PROTECT_NOT);
	assert_int_equal(why("tools/plugin", MOR_WRITE_PLACE), MOR_PROTECT_NOT);
	assert_int_equal(why("Tools/plug/x", MOR_WRITE_CONTENT), MOR_PROTECT_NOT); /* another one, here */
	assert_int_equal(why("a/b/.envrc", MOR_WRITE_PLACE), MOR_PROTECT_TOOL);
	assert_int_equal(why("a/.envrc/b", MOR_WRITE_PLACE), MOR_PROTECT_TOOL);
	assert_int_equal(why("a/.envrc.bak", MOR_WRITE_PLACE), MOR_PROTECT_NOT);
	assert_int_equal(why("a/.hg/hgrc", MOR_WRITE_PLACE), MOR_PROTECT_TOOL);
	assert_int_equal(why("a/.hg/store", MOR_WRITE_PLACE), MOR_PROTECT_NOT);
	assert_int_equal(why("a/.hg", MOR_WRITE_MKDIR), MOR_PROTECT_NOT);
	assert_int_equal(why("a/.hg", MOR_WRITE_GRAFT), MOR_PROTECT_BELOW);
	/* Where names do not count, paths still do. */
	assert_int_equal(mor_protect_find(&protects, at(".envrc"), root, false, MOR_WRITE_PLACE),
			 MOR_PROTECT_NOT);
	assert_int_equal(mor_protect_find(&protects, at("tools"), root, false, MOR_WRITE_PLACE),
			 MOR_PROTECT_BELOW);
	mor_protect_fini(&protects);
}

/* ---- git ---- */

static void without_commits(void **state)
{
	(void)state;
	fresh();
	assert_int_equal(mor_protect_name(&protects, ".git", MOR_PROTECT_GIT), 0);
	assert_int_equal(why(".git", MOR_WRITE_MKDIR), MOR_PROTECT_GIT);
	assert_int_equal(why("a/.git", MOR_WRITE_PLACE), MOR_PROTECT_GIT);
	assert_int_equal(why(".git/index", MOR_WRITE_PLACE), MOR_PROTECT_GIT);
	assert_int_equal(why(".git/hooks/x", MOR_WRITE_PLACE), MOR_PROTECT_GIT_RUNS);
	assert_int_equal(why(".git/config", MOR_WRITE_CONTENT), MOR_PROTECT_GIT_RUNS);
	assert_int_equal(why(".gitignore", MOR_WRITE_PLACE), MOR_PROTECT_NOT);
	mor_protect_fini(&protects);
}

/* below .git, where commits are granted */
static const char *const granted[] = {
	"index",
	"index.lock",
	"HEAD.lock",
	"COMMIT_EDITMSG",
	"packed-refs.new",
	"next-index-17.lock",
	"index.stash.17.lock",
	"info/refs",
	"info/refs_aBcDeF",
	"objects/ab/cdef",
	"objects/pack/tmp_pack_1",
	"refs/heads/.envrc",
	"logs/HEAD",
	"worktrees/w/index",
	"worktrees/objects/HEAD",
	"modules/dep/index",
	"modules/dep/modules/inner/objects/ab/cdef",
	"modules/a/b/logs/HEAD",
};
static const char *const refused[] = {
	"hooks/pre-commit",
	"config",
	"config.lock",
	"config.worktree",
	"commondir",
	"description",
	"info/attributes",
	"info/grafts",
	"objects/info/alternates",
	"rebase-merge/git-rebase-todo",
	"worktrees/w/gitdir",
	"worktrees/w/config.worktree",
	"worktrees/w",
	"worktrees/objects",
	"modules/dep/config",
	"modules/dep/hooks/x",
	"modules/objects/config",
	"modules/none/index",
	"modules/a/HEAD",
	"HEADS",
	"index/x",
	"objects",
	"Index",
};

static void commits(void **state)
{
	char name[128];

	(void)state;
	fresh();
	make(".git/");
	make(".git/modules/");
	make(".git/modules/dep/");
	make(".git/modules/dep/HEAD");
	make(".git/modules/dep/modules/");
	make(".git/modules/dep/modules/inner/");
	make(".git/modules/dep/modules/inner/HEAD");
	make(".git/modules/objects/");
	make(".git/modules/objects/HEAD");
	make(".git/modules/a/");
	make(".git/modules/a/b/");
	make(".git/modules/a/b/HEAD");
	assert_int_equal(mor_protect_name(&protects, ".git", MOR_PROTECT_GIT), 0);
	assert_int_equal(mor_protect_name(&protects, ".envrc", MOR_PROTECT_TOOL), 0);
	protects.commits = true;
	for (size_t i = 0; i < sizeof(granted) / sizeof(*granted); i++) {
		snprintf(name, sizeof(name), ".git/%s", granted[i]);
		if (why(name, MOR_WRITE_PLACE) != MOR_PROTECT_NOT)
			fail_msg("%s is refused", name);
		/* A link would send git's own writes elsewhere. */
		if (why(name, MOR_WRITE_GRAFT) == MOR_PROTECT_NOT)
			fail_msg("a link %s is granted", name);
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		snprintf(name, sizeof(name), ".git/%s", refused[i]);
		if (why(name, MOR_WRITE_PLACE) == MOR_PROTECT_NOT)
			fail_msg("%s is granted", name);
	}
	assert_int_equal(why(".git/objects/ab", MOR_WRITE_MKDIR), MOR_PROTECT_NOT);
	assert_int_equal(why(".git/HEAD", MOR_WRITE_MKDIR), MOR_PROTECT_GIT);
	mor_protect_fini(&protects);
}

/* ---- a directory that becomes a repository ---- */

static void repositories(void **state)
{
	(void)state;
	fresh();
	assert_int_equal(mor_protect_name(&protects, ".git", MOR_PROTECT_GIT), 0);
	make("r/");
	assert_int_equal(why("r/config", MOR_WRITE_PLACE), MOR_PROTECT_NOT);
	make("r/objects/");
	make("r/refs/");
	assert_int_equal(why("r/config", MOR_WRITE_PLACE), MOR_PROTECT_NOT);
	assert_int_equal(why("r/HEAD", MOR_WRITE_PLACE), MOR_PROTECT_NOT); /* nothing to obey so far */
	make("r/config");
	assert_int_equal(why("r/HEAD", MOR_WRITE_PLACE), MOR_PROTECT_GIT_RUNS);
	assert_int_equal(why("r/HEAD.lock", MOR_WRITE_PLACE), MOR_PROTECT_NOT);
	make("r/HEAD");
	assert_int_equal(why("r/HEAD", MOR_WRITE_PLACE), MOR_PROTECT_NOT); /* a commit */
	assert_int_equal(why("r/refs/heads/main", MOR_WRITE_PLACE), MOR_PROTECT_NOT);
	assert_int_equal(why("r/config", MOR_WRITE_CONTENT), MOR_PROTECT_GIT_RUNS);
	assert_int_equal(why("r/config", MOR_WRITE_REMOVE), MOR_PROTECT_GIT_RUNS);
	assert_int_equal(why("r/hooks", MOR_WRITE_MKDIR), MOR_PROTECT_GIT_RUNS);
	assert_int_equal(why("r/hooks/deep/x", MOR_WRITE_PLACE), MOR_PROTECT_GIT_RUNS);
	assert_int_equal(why("r/config.worktree", MOR_WRITE_PLACE), MOR_PROTECT_GIT_RUNS);
	assert_int_equal(why("r/commondir", MOR_WRITE_PLACE), MOR_PROTECT_GIT_RUNS);
	make("c/");
	assert_int_equal(why("c/commondir", MOR_WRITE_PLACE), MOR_PROTECT_NOT);
	make("c/HEAD");
	assert_int_equal(why("c/commondir", MOR_WRITE_PLACE), MOR_PROTECT_GIT_RUNS);
	make("d/");
	make("d/commondir");
	assert_int_equal(why("d/HEAD", MOR_WRITE_PLACE), MOR_PROTECT_GIT_RUNS);
	/* ordinary directories with such names */
	make("app/");
	make("app/HEAD");
	make("app/config/");
	assert_int_equal(why("app/config/x", MOR_WRITE_PLACE), MOR_PROTECT_NOT);
	assert_int_equal(why("app/refs", MOR_WRITE_MKDIR), MOR_PROTECT_NOT);
	mor_protect_fini(&protects);
	/* who takes git off the list means all of it */
	assert_int_equal(why("r/config", MOR_WRITE_CONTENT), MOR_PROTECT_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(names_alike),     MOR_TEST(this_one_does_not_fold),
		MOR_TEST(paths_and_names), MOR_TEST(without_commits),
		MOR_TEST(commits),         MOR_TEST(repositories),
	};

	return mor_run_group_in("jail/protect", tests, make_top, top_drop);
}
