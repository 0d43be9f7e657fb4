/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With workspace_write: what others run or obey later. The stage has in ws/: tools/plug/ (may only be read),
 * .git with a submodule, a linked working tree and core.hooksPath = scripts/hooks, vendor/lib/ (a repository),
 * linked/.git (a file), bare.git/ (a repository without a working tree).
 */
#include "attempt.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>

#define EXCHANGE 2

static struct result make(const char *path)
{
	return got(path, open(path, O_CREAT | O_WRONLY, 0755));
}

static struct result append_to(const char *path)
{
	return got(path, open(path, O_WRONLY | O_APPEND));
}

static bool touch(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0644);

	return fd >= 0 && close(fd) == 0;
}

/* ---- its own permissions, and what it may only read ---- */

static struct result o_policy(const struct stage *s)
{
	(void)s;
	return make("mortise.toml");
}
static struct result o_policy_deep(const struct stage *s)
{
	(void)s;
	return make("sub/plugin.toml");
}
static struct result o_policy_rename(const struct stage *s)
{
	(void)s;
	return got("rename to mortise.toml", rename("data.txt", "sub/mortise.toml"));
}
static struct result o_policy_link(const struct stage *s)
{
	(void)s;
	return got("link to mortise.toml", symlink("data.txt", "mortise.toml"));
}
static struct result o_project(const struct stage *s)
{
	(void)s;
	return append_to("sunscreen.yml");
}
static struct result o_read(const struct stage *s)
{
	(void)s;
	return append_to("tools/plug/main.txt");
}
static struct result o_read_move(const struct stage *s)
{
	(void)s;
	return got("rename the parent", rename("tools", "tools.old"));
}
static struct result o_read_up(const struct stage *s)
{
	(void)s;
	return got("rename it", rename("tools/plug", "plug"));
}
static struct result o_read_exchange(const struct stage *s)
{
	(void)s;
	return got("exchange the parent", renameat2(AT_FDCWD, "swapdir", AT_FDCWD, "tools", EXCHANGE));
}
static struct result o_read_by_link(const struct stage *s)
{
	(void)s;
	if (symlink(".", "here") < 0)
		return no("symlink");
	return got("rename through a link", rename("here/tools", "here/tools.old"));
}
static struct result o_read_by_fd(const struct stage *s)
{
	int fd = open(in(s, "ws"), O_RDONLY | O_DIRECTORY);

	return got("renameat", renameat(fd, "sub/../tools", fd, "tools.old"));
}
static struct result o_read_hard(const struct stage *s)
{
	(void)s;
	if (link("tools/plug/main.txt", "second") < 0)
		return no("link");
	return append_to("second");
}

/* ---- git ---- */

static struct result g_commondir(const struct stage *s)
{
	(void)s;
	return make(".git/commondir");
}
static struct result g_worktree_config(const struct stage *s)
{
	(void)s;
	return make(".git/config.worktree");
}
static struct result g_attributes(const struct stage *s)
{
	(void)s;
	return make(".git/info/attributes");
}
static struct result g_index(const struct stage *s)
{
	(void)s;
	return make(".git/index");
}
static struct result g_module_config(const struct stage *s)
{
	(void)s;
	return append_to(".git/modules/dep/config");
}
static struct result g_module_hook(const struct stage *s)
{
	(void)s;
	return make(".git/modules/dep/hooks/post-checkout");
}
static struct result g_worktree(const struct stage *s)
{
	(void)s;
	return append_to(".git/worktrees/other/commondir");
}
static struct result g_chmod(const struct stage *s)
{
	(void)s;
	return got("chmod of a hook", chmod(".git/hooks/pre-commit", 0755));
}
static struct result g_exchange(const struct stage *s)
{
	(void)s;
	return got("exchange .git", renameat2(AT_FDCWD, "swapdir", AT_FDCWD, ".git", EXCHANGE));
}
static struct result g_file(const struct stage *s)
{
	(void)s;
	if (unlink("linked/.git") < 0 || mkdir("linked/.git", 0755) < 0)
		return no(".git as a file");
	return make("linked/.git/config");
}
static struct result g_file_write(const struct stage *s)
{
	(void)s;
	return append_to("linked/.git");
}
static struct result g_nested(const struct stage *s)
{
	(void)s;
	return append_to("vendor/lib/.git/config");
}
static struct result g_nested_hook(const struct stage *s)
{
	(void)s;
	return make("vendor/lib/.git/hooks/post-checkout");
}
static struct result g_nested_move(const struct stage *s)
{
	(void)s;
	return got("rename above a repository", rename("vendor", "vendor.old"));
}
static struct result g_new(const struct stage *s)
{
	(void)s;
	return got("mkdir .git", mkdir("sub/.git", 0755));
}
static struct result g_new_link(const struct stage *s)
{
	(void)s;
	return got("symlink .git", symlink("../swapdir", "sub/.git"));
}
static struct result g_new_rename(const struct stage *s)
{
	(void)s;
	return got("rename to .git", rename("swapdir", "sub/.git"));
}
static struct result g_hooks_path(const struct stage *s)
{
	(void)s;
	return make("scripts/hooks/post-checkout");
}
static struct result g_hooks_path_move(const struct stage *s)
{
	(void)s;
	return got("rename above core.hooksPath", rename("scripts", "scripts.old"));
}

/* ---- repositories without a working tree ---- */

static struct result g_bare_config(const struct stage *s)
{
	(void)s;
	return append_to("bare.git/config");
}
static struct result g_bare_hook(const struct stage *s)
{
	(void)s;
	return make("bare.git/hooks/post-receive");
}
static struct result g_bare_replace(const struct stage *s)
{
	(void)s;
	return got("rename to config", rename("data.txt", "bare.git/config"));
}
static struct result g_bare_move(const struct stage *s)
{
	(void)s;
	return got("rename a repository", rename("bare.git", "other.git"));
}
static bool begin_repository(void)
{
	return mkdir("fresh", 0755) == 0 && mkdir("fresh/objects", 0755) == 0 && mkdir("fresh/refs", 0755) == 0;
}
static struct result g_bare_config_last(const struct stage *s)
{
	(void)s;
	if (!begin_repository() || !touch("fresh/HEAD"))
		return no("HEAD, objects and refs");
	return make("fresh/config");
}
static struct result g_bare_config_first(const struct stage *s)
{
	(void)s;
	if (!begin_repository() || !touch("fresh/config"))
		return no("config, objects and refs");
	return make("fresh/HEAD");
}
static struct result g_bare_config_middle(const struct stage *s)
{
	(void)s;
	if (mkdir("fresh", 0755) < 0 || !touch("fresh/HEAD") || !touch("fresh/config") ||
	    mkdir("fresh/refs", 0755) < 0)
		return no("config, HEAD and refs");
	return got("rename to objects", rename("swapdir", "fresh/objects"));
}
static struct result g_bare_hooks_first(const struct stage *s)
{
	(void)s;
	if (!begin_repository() || mkdir("fresh/hooks", 0755) < 0)
		return no("hooks, objects and refs");
	return got("link to HEAD", link("data.txt", "fresh/HEAD"));
}
static struct result g_bare_again(const struct stage *s)
{
	(void)s;
	if (rename("bare.git/HEAD", "head") < 0 || !touch("bare.git/config"))
		return no("HEAD aside");
	return got("HEAD back", rename("head", "bare.git/HEAD"));
}
static struct result g_common(const struct stage *s)
{
	(void)s;
	if (mkdir("fresh", 0755) < 0 || !touch("fresh/HEAD"))
		return no("HEAD");
	return make("fresh/commondir");
}

/* ---- what tools run by themselves ---- */

#define RUN(name, path) \
	static struct result r_##name(const struct stage *s) \
	{ \
		(void)s; \
		return make(path); \
	}
#define RUN_IN(name, directory, path) \
	static struct result r_##name(const struct stage *s) \
	{ \
		(void)s; \
		if (mkdir(directory, 0755) < 0 && errno != EEXIST) \
			return no(directory); \
		return make(directory "/" path); \
	}
RUN_IN(husky, ".husky", "pre-commit")
RUN_IN(githooks, "sub/.githooks", "pre-commit")
RUN_IN(hgrc, ".hg", "hgrc")
RUN(envrc, ".envrc")
RUN_IN(vscode, ".vscode", "tasks.json")
RUN_IN(idea, "sub/deep/.idea", "workspace.xml")
RUN_IN(devcontainer, ".devcontainer", "devcontainer.json")
RUN_IN(claude, ".claude", "settings.json")
RUN_IN(cursor, ".cursor", "mcp.json")
RUN(mcp, ".mcp.json")
RUN_IN(cargo, ".cargo", "config.toml")
RUN_IN(cargo_old, "sub/.cargo", "config")
RUN(npmrc, "sub/.npmrc")

static struct result r_hg_link(const struct stage *s)
{
	(void)s;
	return got("symlink .hg", symlink("swapdir", ".hg"));
}
static struct result r_hg_move(const struct stage *s)
{
	(void)s;
	if (!touch("swapdir/hgrc"))
		return no("hgrc elsewhere");
	return got("rename to .hg", rename("swapdir", ".hg"));
}
static struct result r_tmpfile(const struct stage *s)
{
	char path[64];
	int fd = open(".", O_TMPFILE | O_WRONLY, 0644);

	(void)s;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return got("linkat of an unnamed file", linkat(AT_FDCWD, path, AT_FDCWD, ".envrc", AT_SYMLINK_FOLLOW));
}

#define D(function, row) \
	{ \
#function, "write", row, 'D', 0, 0, NEEDS_WRITE, function \
	}
const struct attempt protect_attempts[] = {
	D(o_policy, 87),
	D(o_policy_deep, 87),
	D(o_policy_rename, 87),
	D(o_policy_link, 87),
	D(o_project, 87),
	D(o_read, 87),
	D(o_read_move, 87),
	D(o_read_up, 87),
	D(o_read_exchange, 87),
	D(o_read_by_link, 87),
	D(o_read_by_fd, 87),
	D(o_read_hard, 87),
	D(g_commondir, 88),
	D(g_worktree_config, 88),
	D(g_attributes, 88),
	D(g_index, 88),
	D(g_module_config, 88),
	D(g_module_hook, 88),
	D(g_worktree, 88),
	D(g_chmod, 88),
	D(g_exchange, 88),
	D(g_file, 88),
	D(g_file_write, 88),
	D(g_nested, 88),
	D(g_nested_hook, 88),
	D(g_nested_move, 88),
	D(g_new, 88),
	D(g_new_link, 88),
	D(g_new_rename, 88),
	D(g_hooks_path, 88),
	D(g_hooks_path_move, 88),
	D(g_bare_config, 89),
	D(g_bare_hook, 89),
	D(g_bare_replace, 89),
	D(g_bare_move, 89),
	D(g_bare_config_last, 89),
	D(g_bare_config_first, 89),
	D(g_bare_config_middle, 89),
	D(g_bare_hooks_first, 89),
	D(g_bare_again, 89),
	D(g_common, 89),
	D(r_husky, 90),
	D(r_githooks, 90),
	D(r_hgrc, 90),
	D(r_envrc, 90),
	D(r_vscode, 90),
	D(r_idea, 90),
	D(r_devcontainer, 90),
	D(r_claude, 90),
	D(r_cursor, 90),
	D(r_mcp, 90),
	D(r_cargo, 90),
	D(r_cargo_old, 90),
	D(r_npmrc, 90),
	D(r_hg_link, 90),
	D(r_hg_move, 90),
	D(r_tmpfile, 90),
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
