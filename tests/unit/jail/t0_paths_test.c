/* SPDX-License-Identifier: Apache-2.0 */
/* Rules on names: the longest wins, quiet names, protected ones. */
#include "leak.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/paths.h"
#include "top.h"

/* top/{ws/{.git/hooks,sub},declared,link -> ws} */
static int make_stage(void **state)
{
	(void)state;
	if (top_make("paths") < 0)
		return -1;
	mkdir(at("ws"), 0755);
	mkdir(at("ws/.git"), 0755);
	mkdir(at("ws/.git/hooks"), 0755);
	mkdir(at("ws/sub"), 0755);
	mkdir(at("declared"), 0755);
	return symlink("ws", at("link"));
}

static int drop_stage(void **state)
{
	(void)state;
	rmdir(at("ws/.git/hooks"));
	rmdir(at("ws/.git"));
	rmdir(at("ws/sub"));
	rmdir(at("ws"));
	rmdir(at("declared"));
	unlink(at("link"));
	return rmdir(top);
}

static void build(struct mor_paths *paths, unsigned workspace)
{
	assert_int_equal(mor_paths_add_defaults(paths, false, false), 0);
	/* By a link, as a person would. */
	assert_int_equal(mor_paths_add(paths, at("link"), workspace, MOR_PATH_WORKSPACE), 0);
	assert_int_equal(mor_paths_add(paths, at("declared"), MOR_MAY_READ, MOR_PATH_ASKED), 0);
	assert_int_equal(mor_paths_add(paths, at("missing"), MOR_MAY_READ, MOR_PATH_ASKED), 0);
	assert_int_equal(mor_protect_path(&paths->protects, at("link/.git/hooks"), MOR_PROTECT_ASKED), 0);
	assert_int_equal(mor_protect_path(&paths->protects, at("link/.git/config"), MOR_PROTECT_ASKED), 0);
	mor_paths_sort(paths);
}

static void expect(struct mor_ruling ruling, enum mor_ruling_kind kind, int error, const char *rule)
{
	assert_int_equal(ruling.kind, kind);
	assert_int_equal(ruling.error, error);
	if (rule)
		assert_string_equal(mor_forbidden_rows[ruling.what].rule, rule);
}

#define YES      MOR_RULING_PERFORM, 0, NULL
#define QUIET(e) MOR_RULING_QUIET, e, NULL
#define NO(rule) MOR_RULING_VIOLATION, 0, rule

static void reading(void **state)
{
	struct mor_paths paths = { 0 };

	(void)state;
	build(&paths, MOR_MAY_READ);
	expect(mor_paths_read(&paths, at("ws/a")), YES);
	expect(mor_paths_read(&paths, at("declared/b/c")), YES);
	expect(mor_paths_read(&paths, at("declared2")), NO(MOR_RULE_READ));
	expect(mor_paths_read(&paths, at("missing/x")), NO(MOR_RULE_READ));
	expect(mor_paths_read(&paths, "/etc/passwd"), NO(MOR_RULE_READ));
	expect(mor_paths_read(&paths, "/"), NO(MOR_RULE_READ));
	expect(mor_paths_read(&paths, "/usr/lib/python3/x.py"), YES);
	expect(mor_paths_read(&paths, "/usr/library"), NO(NULL));
	mor_paths_fini(&paths);
}

/* Only where nobody but the system puts files may the broker open without a look at what it is. */
static void inert(void **state)
{
	struct mor_paths paths = { 0 };

	(void)state;
	build(&paths, MOR_MAY_READ);
	assert_true(mor_paths_read(&paths, "/usr/lib/python3/x.py").inert);
	assert_false(mor_paths_read(&paths, at("ws/a")).inert);
	assert_false(mor_paths_read(&paths, at("declared/b/c")).inert);
	assert_false(mor_paths_read(&paths, "/proc/meminfo").inert);
	assert_false(mor_paths_read(&paths, "/dev/null").inert);
	assert_false(mor_paths_read(&paths, "/proc/self/maps").inert);
	mor_paths_fini(&paths);
	/* What was asked for by name as well is somebody's. */
	assert_int_equal(mor_paths_add_defaults(&paths, false, false), 0);
	assert_int_equal(mor_paths_add(&paths, "/usr/lib", MOR_MAY_READ, MOR_PATH_ASKED), 0);
	mor_paths_sort(&paths);
	assert_false(mor_paths_read(&paths, "/usr/lib/python3/x.py").inert);
	mor_paths_fini(&paths);
}

/* What the network's permission would open lacks that one, by whatever name. */
static void of_the_network(void **state)
{
	struct mor_paths paths = { 0 };

	(void)state;
	build(&paths, MOR_MAY_READ);
	expect(mor_paths_read(&paths, "/etc/host.conf"), NO(MOR_RULE_NETWORK));
	expect(mor_paths_read(&paths, "/etc/hosts"), NO(MOR_RULE_NETWORK));
	/* another name of the same file */
	expect(mor_paths_read(&paths, "/etc/../etc/hosts"), NO(MOR_RULE_NETWORK));
	expect(mor_paths_read(&paths, "/etc/hostname"), NO(MOR_RULE_READ));
	expect(mor_paths_read(&paths, "/etc/passwd"), NO(MOR_RULE_READ));
	expect(mor_paths_read(&paths, "/etc/nsswitch.conf"), YES);
	expect(mor_paths_read(&paths, "/etc/resolv.conf"), QUIET(ENOENT));
	mor_paths_fini(&paths);
	/* Granted, it is not what is lacking. */
	paths.network = true;
	expect(mor_paths_read(&paths, "/etc/hosts"), NO(MOR_RULE_READ));
	mor_paths_fini(&paths);
}

static void own_proc(void **state)
{
	struct mor_paths paths = { 0 };

	(void)state;
	build(&paths, MOR_MAY_READ);
	expect(mor_paths_read(&paths, "/proc/self/maps"), YES);
	expect(mor_paths_read(&paths, "/proc/self/task/17/status"), YES);
	expect(mor_paths_read(&paths, "/proc/self/environ"), YES);
	expect(mor_paths_read(&paths, "/proc/self/coredump_filter"), YES);
	expect(mor_paths_read(&paths, "/proc/self/mem"), QUIET(ENOENT));
	expect(mor_paths_read(&paths, "/proc/17/maps"), NO(NULL));
	expect(mor_paths_read(&paths, "/proc"), NO(NULL));
	expect(mor_paths_write(&paths, "/proc/self/mem", MOR_WRITE_CONTENT), NO(MOR_RULE_WRITE));
	expect(mor_paths_write(&paths, "/proc/self/task/3/comm", MOR_WRITE_CONTENT), QUIET(EACCES));
	expect(mor_paths_write(&paths, "/proc/self/coredump_filter", MOR_WRITE_CONTENT), QUIET(EACCES));
	mor_paths_fini(&paths);
}

static void quiet_names(void **state)
{
	struct mor_paths paths = { 0 };

	(void)state;
	build(&paths, MOR_MAY_READ);
	expect(mor_paths_read(&paths, "/home/package.json"), QUIET(ENOENT));
	expect(mor_paths_read(&paths, "/home/x/node_modules"), QUIET(ENOENT));
	expect(mor_paths_read(&paths, "/home/package.json/secret"), NO(NULL));
	expect(mor_paths_read(&paths, "/sys/fs/cgroup/memory.max"), QUIET(ENOENT));
	expect(mor_paths_read(&paths, "/proc/sys/kernel/hostname"), QUIET(ENOENT));
	expect(mor_paths_read(&paths, "/dev/tty"), QUIET(ENXIO));
	/* Quiet is for reading only. */
	expect(mor_paths_write(&paths, "/home/package.json", MOR_WRITE_CONTENT), NO(NULL));
	expect(mor_paths_write(&paths, "/x/__pycache__/a.pyc", MOR_WRITE_PLACE), QUIET(EACCES));
	expect(mor_paths_write(&paths, "/x/__pycache__2/a.pyc", MOR_WRITE_PLACE), NO(NULL));
	expect(mor_paths_write(&paths, "/tmp/a", MOR_WRITE_PLACE), NO(NULL));
	paths.quiet_tmp = true;
	expect(mor_paths_write(&paths, "/tmp/a", MOR_WRITE_PLACE), QUIET(EACCES));
	expect(mor_paths_write(&paths, "/tmp/a/b", MOR_WRITE_PLACE), NO(NULL));
	expect(mor_paths_write(&paths, "/tmp", MOR_WRITE_INSIDE), NO(NULL));
	paths.quiet_tmp = false;
	mor_paths_fini(&paths);
}

static void writing(void **state)
{
	struct mor_paths paths = { 0 };

	(void)state;
	build(&paths, MOR_MAY_READ);
	expect(mor_paths_write(&paths, at("ws/a"), MOR_WRITE_PLACE), NO(MOR_RULE_WORKSPACE_WRITE));
	expect(mor_paths_write(&paths, at("declared/a"), MOR_WRITE_PLACE), NO(MOR_RULE_WRITE));
	mor_paths_fini(&paths);
	build(&paths, MOR_MAY_READ | MOR_MAY_WRITE);
	expect(mor_paths_write(&paths, at("ws/a"), MOR_WRITE_PLACE), YES);
	expect(mor_paths_write(&paths, at("ws/sub/a"), MOR_WRITE_CONTENT), YES);
	/* The workspace itself is not the plugin's to move. */
	expect(mor_paths_write(&paths, at("ws"), MOR_WRITE_PLACE), NO(NULL));
	expect(mor_paths_write(&paths, at("ws"), MOR_WRITE_REMOVE), NO(NULL));
	expect(mor_paths_write(&paths, "/dev/null", MOR_WRITE_CONTENT), YES);
	mor_paths_fini(&paths);
}

static void protected_names(void **state)
{
	struct mor_paths paths = { 0 };

	(void)state;
	build(&paths, MOR_MAY_READ | MOR_MAY_WRITE);
	expect(mor_paths_write(&paths, at("ws/.git/hooks/pre-commit"), MOR_WRITE_PLACE),
	       NO("no write to a protected path"));
	/* it does not exist yet */
	expect(mor_paths_write(&paths, at("ws/.git/config"), MOR_WRITE_PLACE), NO(NULL));
	expect(mor_paths_write(&paths, at("ws/.git/config.lock"), MOR_WRITE_PLACE), YES);
	expect(mor_paths_write(&paths, at("ws/.git/HEAD"), MOR_WRITE_CONTENT), YES);
	/* Neither moved away, nor put in place as a link or a file that leads elsewhere. */
	expect(mor_paths_write(&paths, at("ws/.git"), MOR_WRITE_PLACE), NO(NULL));
	expect(mor_paths_write(&paths, at("ws/.git"), MOR_WRITE_CONTENT), NO(NULL));
	expect(mor_paths_write(&paths, at("ws/.git"), MOR_WRITE_MKDIR), YES);
	/* A nameless file in the workspace, a new mode of it. */
	expect(mor_paths_write(&paths, at("ws"), MOR_WRITE_INSIDE), YES);
	expect(mor_paths_write(&paths, at("ws/.git/hooks"), MOR_WRITE_INSIDE), NO(NULL));
	mor_paths_fini(&paths);
}

static void executing(void **state)
{
	struct mor_paths paths = { 0 };

	(void)state;
	assert_int_equal(mor_paths_add_defaults(&paths, false, true), 0);
	mor_paths_sort(&paths);
	expect(mor_paths_execute(&paths, "/usr/bin/cat"), YES);
	expect(mor_paths_execute(&paths, "/usr/sbin/reboot"), NO(NULL));
	expect(mor_paths_execute(&paths, "/tmp/x"), NO(NULL));
	expect(mor_paths_execute(&paths, "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"), NO(NULL));
	mor_paths_fini(&paths);
}

/* With spawn come the data of programs, but not all that is installed. */
static void tools(void **state)
{
	struct mor_paths paths = { 0 };

	(void)state;
	assert_int_equal(mor_paths_add_defaults(&paths, false, true), 0);
	paths.quiet_software = true;
	mor_paths_sort(&paths);
	expect(mor_paths_read(&paths, "/usr/include/stdio.h"), YES);
	expect(mor_paths_read(&paths, "/usr/share/zoneinfo/UTC"), YES);
	expect(mor_paths_read(&paths, "/usr/share/perl/x"), YES);
	expect(mor_paths_read(&paths, "/usr/share/common-licenses/GPL-3"), NO(MOR_RULE_READ));
	expect(mor_paths_read(&paths, "/etc/shadow"), NO(MOR_RULE_READ));
	expect(mor_paths_read(&paths, "/etc/gitconfig"), QUIET(ENOENT));
	expect(mor_paths_read(&paths, "/opt"), QUIET(ENOENT));
	expect(mor_paths_execute(&paths, "/usr/lib/git-core/git"), YES);
	expect(mor_paths_write(&paths, "/usr/include/x.h", MOR_WRITE_PLACE), NO(MOR_RULE_WRITE));
	mor_paths_fini(&paths);
}

#define NEEDS(what) (1ull << (what))

static void needs(struct mor_ruling ruling, uint64_t what, bool with_spawn)
{
	assert_int_equal(ruling.kind, MOR_RULING_PERFORM);
	assert_true(ruling.needs == what);
	assert_int_equal(ruling.with_spawn, with_spawn);
}

/* A program that is watched: what it lacks is told, and what no policy should grant stays refused. */
static void learning(void **state)
{
	struct mor_paths paths = { .learning = true };

	(void)state;
	build(&paths, MOR_MAY_READ);
	needs(mor_paths_read(&paths, "/usr/lib/x"), 0, false);
	needs(mor_paths_read(&paths, "/srv/x"), NEEDS(MOR_FORBID_READ), false);
	needs(mor_paths_read(&paths, "/srv/package.json"), NEEDS(MOR_FORBID_READ), false);
	needs(mor_paths_read(&paths, "/usr/include/stdio.h"), NEEDS(MOR_FORBID_READ), true);
	needs(mor_paths_read(&paths, "/usr/share/zoneinfo/UTC"), 0, false);
	needs(mor_paths_execute(&paths, "/usr/bin/cat"), 0, false);
	needs(mor_paths_execute(&paths, "/srv/tool"), NEEDS(MOR_FORBID_PROGRAM), false);
	needs(mor_paths_write(&paths, at("ws/x"), MOR_WRITE_PLACE), NEEDS(MOR_FORBID_WORKSPACE_WRITE), false);
	expect(mor_paths_write(&paths, at("ws/.git/hooks/x"), MOR_WRITE_PLACE), NO(NULL));
	expect(mor_paths_write(&paths, "/srv/x", MOR_WRITE_PLACE), NO(MOR_RULE_WRITE));
	expect(mor_paths_write(&paths, at("declared/x"), MOR_WRITE_PLACE), NO(MOR_RULE_WRITE));
	expect(mor_paths_read(&paths, "/etc/gitconfig"), QUIET(ENOENT));
	expect(mor_paths_read(&paths, "/dev/sda"), NO(MOR_RULE_READ));
	expect(mor_paths_read(&paths, "/proc"), NO(MOR_RULE_READ));
	expect(mor_paths_read(&paths, "/proc/1/environ"), NO(MOR_RULE_READ));
	expect(mor_paths_execute(&paths, "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"), NO(NULL));
	mor_paths_fini(&paths);
}

/* A file of ours instead of the machine's: read, never written, and never opened to a lock. */
static void made_up(void **state)
{
	struct mor_paths paths = { 0 };

	(void)state;
	build(&paths, MOR_MAY_READ);
	assert_int_equal(mor_paths_make_up(&paths, "/etc/passwd", MOR_MAY_READ, "me:x:1:1::/:/bin/sh\n"), 0);
	assert_int_equal(mor_paths_make_up(&paths, at("ws/passwd"), MOR_MAY_READ, "not shown"), 0);
	mor_paths_sort(&paths);
	expect(mor_paths_read(&paths, "/etc/passwd"), YES);
	expect(mor_paths_write(&paths, "/etc/passwd", MOR_WRITE_CONTENT), NO(MOR_RULE_WRITE));
	assert_string_equal(mor_paths_read(&paths, "/etc/passwd").under->text, "me:x:1:1::/:/bin/sh\n");
	assert_null(mor_paths_read(&paths, "/etc/nsswitch.conf").under->text);
	/* in what was asked for: the true one */
	assert_null(mor_paths_read(&paths, at("ws/passwd")).under->text);
	for (size_t i = 0; i < paths.count; i++)
		assert_true(!paths.rules[i].text || paths.rules[i].fd < 0);
	mor_paths_forget(&paths, MOR_PATH_MADE_UP);
	expect(mor_paths_read(&paths, "/etc/passwd"), NO(MOR_RULE_READ));
	mor_paths_fini(&paths);
}

/* Rules that come and go with a view: they win over one on the same name, lose against a longer one, and answer
 * a write as a read-only file system does. */
static void a_view(void **state)
{
	struct mor_paths paths = { 0 };
	size_t count;

	(void)state;
	build(&paths, MOR_MAY_READ | MOR_MAY_WRITE);
	count = paths.count;
	assert_int_equal(mor_paths_add_view(&paths, top, MOR_MAY_READ), 0);
	assert_int_equal(mor_paths_add_view(&paths, "/zz", MOR_MAY_READ), 0);
	assert_int_equal(mor_paths_add_view(&paths, at("declared"), MOR_MAY_READ | MOR_MAY_WRITE), 0);
	expect(mor_paths_read(&paths, at("other/x")), YES);
	expect(mor_paths_read(&paths, "/zz/x"), YES);
	expect(mor_paths_read(&paths, "/zzz"), NO(NULL));
	expect(mor_paths_write(&paths, at("other/x"), MOR_WRITE_CONTENT), MOR_RULING_QUIET, EROFS, NULL);
	expect(mor_paths_write(&paths, at("other"), MOR_WRITE_PLACE), MOR_RULING_QUIET, EROFS, NULL);
	expect(mor_paths_write(&paths, at("ws/x"), MOR_WRITE_CONTENT), YES);
	expect(mor_paths_write(&paths, at("ws/.git/hooks/x"), MOR_WRITE_PLACE), NO(NULL));
	expect(mor_paths_write(&paths, at("declared/x"), MOR_WRITE_PLACE), YES);
	expect(mor_paths_execute(&paths, at("other/x")), NO(NULL));
	mor_paths_forget(&paths, MOR_PATH_VIEW);
	assert_int_equal(paths.count, count);
	expect(mor_paths_read(&paths, at("other/x")), NO(NULL));
	expect(mor_paths_write(&paths, at("declared/x"), MOR_WRITE_PLACE), NO(NULL));
	mor_paths_fini(&paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(reading),     MOR_TEST(inert),   MOR_TEST(of_the_network),  MOR_TEST(own_proc),
		MOR_TEST(quiet_names), MOR_TEST(writing), MOR_TEST(protected_names), MOR_TEST(executing),
		MOR_TEST(a_view),      MOR_TEST(tools),   MOR_TEST(made_up),         MOR_TEST(learning),
	};

	return mor_run_group_in("jail/t0_paths", tests, make_stage, drop_stage);
}
