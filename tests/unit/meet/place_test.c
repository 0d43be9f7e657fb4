/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a plugin that listens, the connection, and who may answer there. */
#include "leak.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "meet/meet.h"

static struct mor_meet meet;

static void set_up(void)
{
	mortise_error err;

	if (mor_meet_open(&meet, "/tmp", &err) < 0)
		fail_msg("%s", err.text);
}

static int listen_on(const char *path, int backlog)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	if (backlog >= 0)
		assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

static void expect_connect(const char *path, struct mor_meet_tree tree)
{
	mortise_error err;
	int fd;

	if (mor_meet_connect(&meet, path, &tree, &fd, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static void expect_refused(const char *path, struct mor_meet_tree tree, int code, const char *part)
{
	mortise_error err = { 0 };
	int fd = -7;

	assert_int_equal(mor_meet_connect(&meet, path, &tree, &fd, &err), code);
	if (!strstr(err.text, part))
		fail_msg("%s, not %s", err.text, part);
	assert_int_equal(fd, -7);
}

static struct mor_meet_tree ours(void)
{
	return (struct mor_meet_tree){ .plugin = getpid() };
}

static void test_directory(void **state)
{
	struct mor_meet_tree tree = ours();
	struct stat st;
	char path[sizeof(meet.scratch.path)];
	int fd;

	(void)state;
	set_up();
	snprintf(path, sizeof(path), "%s", meet.scratch.path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(strncmp(meet.socket, path, strlen(path)), 0);
	expect_refused(meet.socket, tree, MORTISE_ENOTFOUND, "does not exist");
	fd = listen_on(meet.socket, 8);
	expect_connect(meet.socket, tree);
	close(fd);
	mor_meet_close(&meet);
	assert_int_equal(stat(path, &st), -1); /* with the socket in it */
	mor_meet_close(&meet);
}

static void test_no_directory(void **state)
{
	mortise_error err;
	char deep[120] = "/tmp/";

	(void)state;
	assert_int_equal(mor_meet_open(&meet, "/nosuch", &err), MORTISE_ESYSTEM);
	assert_non_null(strstr(err.text, "a directory for its socket in /nosuch: No such file or directory"));
	mor_meet_close(&meet);
	memset(deep + 5, 'd', 90);
	assert_int_equal(mkdir(deep, 0700), 0);
	assert_int_equal(mor_meet_open(&meet, deep, &err), MORTISE_ESYSTEM);
	assert_non_null(strstr(err.text, "too long for a socket"));
	assert_int_equal(rmdir(deep), 0); /* nothing is left in it */
}

static void test_other_paths(void **state)
{
	static const char *const below[] = {
		"/tmp/x.sock",     "plugin.sock",    "", "%s", "%s/", "%s/.", "%s/..", "%s/../x", "%s/a/b",
		"%sx/plugin.sock", "%s//plugin.sock"
	};
	char path[300];

	(void)state;
	set_up();
	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		const char *at = strstr(below[i], "%s");

		snprintf(path, sizeof(path), "%.100s%s", at ? meet.scratch.path : "", at ? at + 2 : below[i]);
		expect_refused(path, ours(), MORTISE_EVIOLATION, "only a socket directly in its TMPDIR");
	}
	mor_meet_close(&meet);
}

static void test_not_a_socket(void **state)
{
	char real[130];
	int fd;

	(void)state;
	set_up();
	close(open(meet.socket, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	expect_refused(meet.socket, ours(), MORTISE_EVIOLATION, "is not a socket");
	assert_int_equal(unlink(meet.socket), 0);
	snprintf(real, sizeof(real), "%.100s/r", meet.scratch.path);
	fd = listen_on(real, 1);
	assert_int_equal(symlink(real, meet.socket), 0);
	expect_refused(meet.socket, ours(), MORTISE_EVIOLATION, "is a link");
	if (geteuid() == 0) {
		assert_int_equal(lchown(real, 65534, 65534), 0);
		expect_refused(real, ours(), MORTISE_EVIOLATION, "belongs to another user");
	}
	close(fd);
	mor_meet_close(&meet);
}

static void test_nobody_listens(void **state)
{
	mortise_error err;
	struct mor_meet_tree tree = ours();
	int fd, first, second, r;

	(void)state;
	set_up();
	fd = listen_on(meet.socket, -1);
	expect_refused(meet.socket, tree, MORTISE_ECLOSED, "nobody listens on its socket");
	assert_int_equal(listen(fd, 0), 0);
	assert_int_equal(mor_meet_connect(&meet, meet.socket, &tree, &first, &err), 0);
	r = mor_meet_connect(&meet, meet.socket, &tree, &second, &err); /* one may wait; it does not block */
	assert_int_equal(r, MORTISE_EOVERLOAD);
	assert_non_null(strstr(err.text, "accepts no connection"));
	close(first);
	close(fd);
	mor_meet_close(&meet);
}

/* A child that does as told, and lives until the other end of its pipe is closed. */
struct child {
	int pid, end;
	bool listens; /* its own child does, while it waits */
};

static void wait_for_end(int pipe)
{
	char byte;

	(void)!read(pipe, &byte, 1);
}

static void start_child(struct child *child)
{
	int hold[2], ready[2];
	char byte;

	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child->pid = fork();
	if (child->pid == 0) {
		int grandchild;

		close(hold[1]);
		grandchild = child->listens ? fork() : -1;
		if (grandchild <= 0) {
			if (child->listens)
				listen_on(meet.socket, 8);
			(void)!write(ready[1], "r", 1);
		}
		wait_for_end(hold[0]);
		if (grandchild > 0)
			waitpid(grandchild, NULL, 0);
		leak_exit(0);
	}
	close(hold[0]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	child->end = hold[1];
}

static void end_child(struct child *child)
{
	close(child->end);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static void test_who_answers(void **state)
{
	struct child plugin = { .listens = true }, stranger = { 0 };
	struct mor_meet_tree tree;

	(void)state;
	set_up();
	start_child(&plugin);
	start_child(&stranger);
	expect_connect(meet.socket, (struct mor_meet_tree){ .plugin = plugin.pid }); /* a child of it */
	tree = (struct mor_meet_tree){ .plugin = stranger.pid };
	expect_refused(meet.socket, tree, MORTISE_EVIOLATION, "which is not one of the plugin's");
	end_child(&stranger);
	expect_refused(meet.socket, (struct mor_meet_tree){ 0 }, MORTISE_EVIOLATION, "answers process");
	end_child(&plugin);
	mor_meet_close(&meet);
}

static void test_adopted(void **state)
{
	struct child plugin = { .listens = true };

	(void)state;
	set_up();
	start_child(&plugin);
	expect_connect(meet.socket, (struct mor_meet_tree){ .plugin = 0, .guardian = getpid() });
	end_child(&plugin);
	mor_meet_close(&meet);
}

static void test_below(void **state)
{
	(void)state;
	assert_true(mor_meet_is_below(getpid(), getpid()));
	assert_true(mor_meet_is_below(getpid(), getppid()));
	assert_false(mor_meet_is_below(getppid(), getpid()));
	assert_false(mor_meet_is_below(0, 0));
	assert_false(mor_meet_is_below(-1, getpid()));
	assert_false(mor_meet_is_below(0x7ffffffe, getpid())); /* none has this number */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(test_directory),    MOR_TEST(test_no_directory),   MOR_TEST(test_other_paths),
		MOR_TEST(test_not_a_socket), MOR_TEST(test_nobody_listens), MOR_TEST(test_who_answers),
		MOR_TEST(test_adopted),      MOR_TEST(test_below),
	};

	return mor_run_group("meet/place", tests);
}
