/* SPDX-License-Identifier: Apache-2.0 */
/* The small tree of level t1, looked at from inside; and that it can be tried without a trace. */
#include "leak.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/root.h"
#include "top.h"

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
}

/* top/{ws/{.git/{hooks,config},sub},declared/deep,secret,link -> ws} */
static int make_stage(void **state)
{
	(void)state;
	if (top_make("root") < 0)
		return -1;
	mkdir(at("ws"), 0755);
	mkdir(at("ws/.git"), 0755);
	mkdir(at("ws/.git/hooks"), 0755);
	mkdir(at("ws/sub"), 0755);
	mkdir(at("declared"), 0755);
	mkdir(at("declared/deep"), 0755);
	make_file(at("ws/.git/config"));
	make_file(at("secret"));
	return symlink("ws", at("link"));
}

static int drop_stage(void **state)
{
	static const char *const names[] = {
		"ws/.git/config",    "ws/.git/hooks", "ws/.git",  "ws/sub", "ws/new", "ws",
		"declared/deep/new", "declared/deep", "declared", "secret", "link"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (unlink(at(names[i])) < 0)
			rmdir(at(names[i]));
	return rmdir(top);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), status;

	if (fd < 0)
		return -1;
	status = write(fd, text, strlen(text)) < 0 ? -1 : 0;
	close(fd);
	return status;
}

static int map_users(uid_t uid, gid_t gid)
{
	char text[48];

	snprintf(text, sizeof(text), "%u %u 1", (unsigned)uid, (unsigned)uid);
	if (write_text("/proc/self/uid_map", text) < 0 || write_text("/proc/self/setgroups", "deny") < 0)
		return -1;
	snprintf(text, sizeof(text), "%u %u 1", (unsigned)gid, (unsigned)gid);
	return write_text("/proc/self/gid_map", text);
}

enum { NO_NAMESPACES = 100 };

/* What fn returns in a child with namespaces of its own, which is the first in its PID namespace. */
static int apart(int (*fn)(void))
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	long pid = syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
	int status = 0;

	if (pid == 0)
		_exit(map_users(uid, gid) < 0 ? NO_NAMESPACES : fn());
	if (pid < 0)
		return NO_NAMESPACES;
	assert_int_equal(waitpid((pid_t)pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int add(struct mor_paths *paths)
{
	return mor_paths_add_defaults(paths, false, false) == 0 &&
			       mor_paths_add(paths, at("link"), MOR_MAY_READ | MOR_MAY_WRITE,
					     MOR_PATH_WORKSPACE) == 0 &&
			       mor_paths_add(paths, at("declared"), MOR_MAY_READ, MOR_PATH_ASKED) == 0 &&
			       mor_paths_add(paths, at("declared/deep"), MOR_MAY_READ | MOR_MAY_WRITE,
					     MOR_PATH_ASKED) == 0 ?
		       0 :
		       -1;
}

static int make(void)
{
	struct mor_paths paths = { 0 };
	char *argv[] = { "/bin/true", NULL };
	struct mor_plan plan = { .argv = argv, .argc = 1, .cwd = top };
	const char *step = "";
	int status = add(&paths);

	mor_paths_sort(&paths);
	if (status == 0)
		status = mor_protect_path(&paths.protects, at("ws/.git/hooks"), MOR_PROTECT_ASKED);
	if (status == 0)
		status = mor_protect_path(&paths.protects, at("ws/.git/config"), MOR_PROTECT_ASKED);
	if (status == 0)
		status = mor_root_make(&paths, &plan, &step);
	if (status < 0)
		fprintf(stderr, "# %s: %d\n", step, status);
	mor_paths_fini(&paths);
	return status;
}

static int enter(void)
{
	const char *step = "";

	return make() < 0 ? -1 : mor_root_leave(&step);
}

static int made(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	return fd < 0 ? errno : close(fd);
}

/* Each answer has a number of its own, to be told by the exit code. */
static int look(void)
{
	struct stat st;
	char text[64] = "";

	if (enter() < 0)
		return 1;
	if (stat(at("secret"), &st) == 0 || errno != ENOENT || stat("/etc/passwd", &st) == 0 ||
	    stat("/root", &st) == 0)
		return 2;
	if (stat(at("ws/sub"), &st) < 0 || stat(at("link/sub"), &st) < 0 || lstat(at("link"), &st) < 0 ||
	    !S_ISLNK(st.st_mode))
		return 3;
	if (made(at("ws/new")) != 0 || made(at("declared/new")) != EROFS || made(at("declared/deep/new")) != 0)
		return 4;
	if (made(at("ws/.git/hooks/x")) != EROFS || open(at("ws/.git/config"), O_WRONLY | O_CLOEXEC) >= 0 ||
	    errno != EROFS)
		return 5;
	if (made(at("new")) != EROFS || made("/new") != EROFS)
		return 6;
	if (readlink("/proc/self", text, sizeof(text)) != 1 || text[0] != '1' || stat("/dev/fd/0", &st) < 0)
		return 7;
	if (write_text("/dev/null", "x") < 0 || stat("/dev/sda", &st) == 0 || stat("/dev/kmsg", &st) == 0)
		return 8;
	if (stat("/usr/lib", &st) < 0 || stat("/lib", &st) < 0 || stat("/lib64/ld-linux-x86-64.so.2", &st) < 0)
		/* only where the machine has them */
		return errno == ENOENT && access("/lib64", F_OK) < 0 ? 0 : 9;
	return 0;
}

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* within.c tells by this whether the host's tree is gone. */
static int see_the_host_go(void)
{
	struct stat host, ours, above;
	const char *step = "";
	int proc;

	if (stat("/", &host) < 0 || make() < 0 || stat(".", &ours) < 0)
		return 1;
	proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || fstatat(proc, "..", &above, 0) < 0 || !same(&above, &host) || same(&above, &ours))
		return 2;
	if (mor_root_leave(&step) < 0)
		return 3;
	return fstatat(proc, "..", &above, 0) < 0 || !same(&above, &ours) ? 4 : 0;
}

/* ".." from the deepest place of the new tree ends at its root. */
static int climb(void)
{
	struct stat root, st;

	if (enter() < 0 || chdir(at("ws/sub")) < 0 || stat("/", &root) < 0)
		return 1;
	for (int i = 0; i < 16; i++)
		if (chdir("..") < 0)
			return 2;
	return stat(".", &st) == 0 && st.st_ino == root.st_ino && st.st_dev == root.st_dev &&
			       stat("home", &st) < 0 ?
		       0 :
		       3;
}

static void expect(int (*fn)(void))
{
	int got = apart(fn);

	if (got == NO_NAMESPACES)
		leak_skip("no user namespace with rights can be made here");
	assert_int_equal(got, 0);
}

static void test_tree(void **state)
{
	(void)state;
	expect(look);
	assert_int_equal(access(at("ws/new"), F_OK), 0); /* the workspace is the host's own */
}

static void test_climb(void **state)
{
	(void)state;
	expect(climb);
}

static void test_see_the_host_go(void **state)
{
	(void)state;
	expect(see_the_host_go);
}

int main(void)
{
	const struct CMUnitTest tests[] = { MOR_TEST(test_tree), MOR_TEST(test_climb),
					    MOR_TEST(test_see_the_host_go) };

	return mor_run_group_in("jail/t1_root", tests, make_stage, drop_stage);
}
