/* SPDX-License-Identifier: Apache-2.0 */
/* The scratch directory: removed whatever is in it, and swept up after those who were killed. */
#include "leak.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tier.h"
#include "top.h"
#include "undo/scratch.h"

static struct timespec held; /* the time of day, while it is not 0 */

/* In place of libc's. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock != CLOCK_REALTIME || !held.tv_sec)
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = held;
	return 0;
}

static const char *under(const char *name)
{
	char file[128];

	snprintf(file, sizeof(file), "%s/file", name);
	return at(file);
}

static int make_stage(void **state)
{
	(void)state;
	return top_make("scratch") == 0 ? mkdir(at("keep"), 0755) : -1;
}

static int drop_stage(void **state)
{
	(void)state;
	rmdir(at("keep"));
	return rmdir(top);
}

/* A tree that is deeper than our descriptors, with closed directories and links to what must stay. */
static void removing(void **state)
{
	struct mor_scratch s = MOR_SCRATCH_INIT;
	char keep[128], link[PATH_MAX + 8];
	int dir, next;

	(void)state;
	snprintf(keep, sizeof(keep), "%s", at("keep/file"));
	close(open(keep, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(mor_scratch_make(&s, top), 0);
	dir = dup(s.dir);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(mkdirat(dir, "d", 0755), 0);
		close(openat(dir, "f", O_CREAT | O_WRONLY | O_CLOEXEC, 0));
		next = openat(dir, "d", O_RDONLY | O_DIRECTORY);
		assert_true(next >= 0);
		if (i % 10 == 3)
			fchmod(dir, 0);
		close(dir);
		dir = next;
	}
	close(dir);
	snprintf(link, sizeof(link), "%s/link", s.path);
	assert_int_equal(symlink(at("keep"), link), 0);
	snprintf(link, sizeof(link), "%s", s.path);
	mor_scratch_remove(&s);
	assert_int_equal(access(link, F_OK), -1);
	assert_int_equal(unlink(keep), 0);
}

/* The program knows how we name what we lift to the top, and has taken the names. */
static void removing_with_names_in_the_way(void **state)
{
	struct mor_scratch s = MOR_SCRATCH_INIT;
	char name[64], path[PATH_MAX];
	int dir, next;

	(void)state;
	assert_int_equal(mor_scratch_make(&s, top), 0);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), ".lifted-%d", i);
		assert_int_equal(mkdirat(s.dir, name, 0755), 0);
		snprintf(name, sizeof(name), ".lifted-%d/s", i);
		assert_int_equal(mkdirat(s.dir, name, 0755), 0);
		snprintf(name, sizeof(name), ".lifted-%d/s/k", i);
		assert_int_equal(mkdirat(s.dir, name, 0755), 0);
	}
	for (int chain = 0; chain < 40; chain++) {
		snprintf(name, sizeof(name), "d%d", chain);
		dir = dup(s.dir);
		for (int i = 0; i < 40; i++) {
			assert_int_equal(mkdirat(dir, name, 0755), 0);
			next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			assert_true(next >= 0);
			close(dir);
			dir = next;
		}
		close(dir);
	}
	snprintf(path, sizeof(path), "%s", s.path);
	mor_scratch_remove(&s);
	assert_int_equal(access(path, F_OK), -1);
}

static void set_changed(const char *name, time_t seconds_from_now)
{
	struct timespec when = { .tv_sec = time(NULL) + seconds_from_now };

	assert_int_equal(utimensat(AT_FDCWD, at(name), (struct timespec[]){ when, when }, 0), 0);
}

/* One that a killed guardian has left a while ago, with something in it. */
static void leave_behind(const char *name)
{
	assert_int_equal(mkdir(at(name), 0700), 0);
	close(open(under(name), O_CREAT | O_WRONLY, 0600));
	set_changed(name, -60);
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* Only what is named like ours, is a directory of this user, and is locked by nobody. */
static void sweeping(void **state)
{
	static const char *const left[] = { "mortise-jail-0000000000000001", "mortise-jail-fedcba9876543210" };
	static const char *const others[] = {
		"mortise-jail-000000000000000",  "mortise-jail-00000000000000001",
		"mortise-jail-000000000000000G", "mortise-0000000000000001",
		"mortise-jail-0000000000000002",
	};
	struct mor_scratch alive = MOR_SCRATCH_INIT;

	(void)state;
	assert_int_equal(mor_scratch_make(&alive, top), 0);
	leave_behind(left[0]);
	leave_behind(left[1]);
	for (size_t i = 0; i + 1 < sizeof(others) / sizeof(*others); i++)
		leave_behind(others[i]);
	assert_int_equal(symlink(others[0], at(others[4])), 0);
	mor_scratch_sweep(top);
	assert_true(is_there(alive.path));
	assert_false(is_there(at(left[0])));
	assert_false(is_there(at(left[1])));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_true(is_there(at(others[i])));
		assert_true(is_there(under(others[i])));
	}
	for (size_t i = sizeof(others) / sizeof(*others); i-- > 0;) { /* the link first */
		unlink(under(others[i]));
		remove(at(others[i]));
	}
	mor_scratch_remove(&alive);
}

static void sweeping_leaves_other_users(void **state)
{
	const char *name = "mortise-jail-0000000000000003";

	(void)state;
	if (geteuid() != 0)
		leak_skip("needs root");
	leave_behind(name);
	assert_int_equal(chown(at(name), 65534, 65534), 0);
	mor_scratch_sweep(top);
	assert_true(is_there(under(name)));
	assert_int_equal(chown(at(name), 0, 0), 0);
	mor_scratch_sweep(top);
	assert_false(is_there(at(name)));
}

/* A large one is removed in pieces, so that no start waits long for it. */
static void sweeping_is_bounded(void **state)
{
	const char *name = "mortise-jail-0000000000000004";
	unsigned sweeps = 0;
	char file[16];
	int dir;

	(void)state;
	assert_int_equal(mkdir(at(name), 0700), 0);
	dir = open(at(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < 2500; i++) {
		snprintf(file, sizeof(file), "%d", i);
		close(openat(dir, file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	close(dir);
	for (; is_there(at(name)) && sweeps < 10; sweeps++) {
		set_changed(name, -60); /* each piece that goes makes it young again */
		mor_scratch_sweep(top);
	}
	assert_int_equal(sweeps, 3);
}

/* The maker of one may be about to lock it. A time to come, which a plugin could have set, saves none. */
static void sweeping_leaves_the_young(void **state)
{
	const char *name = "mortise-jail-0000000000000005";
	struct stat st;

	(void)state;
	assert_int_equal(mkdir(at(name), 0700), 0);
	set_changed(name, -2);
	assert_int_equal(stat(at(name), &st), 0);
	held = (struct timespec){ st.st_mtim.tv_sec, 999999999 };
	mor_scratch_sweep(top);
	assert_true(is_there(at(name)));
	set_changed(name, 3600);
	mor_scratch_sweep(top);
	assert_false(is_there(at(name)));
	held.tv_sec = 0;
}

/* A process that makes one while others sweep without a pause has one that stays. For them none is young, as
 * when its maker was stopped for a second, or the clock was changed. Eight that went before they were
 * locked are luck. */
static void sweeping_races(void **state)
{
	unsigned rounds = tier_rounds(150, 2000), made = 0;
	pid_t pid;

	(void)state;
	held.tv_sec = time(NULL) + 3600;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed assertion kills nobody */
		for (;;)
			mor_scratch_sweep(top);
	}
	for (unsigned i = 0; i < rounds; i++) {
		struct mor_scratch s = MOR_SCRATCH_INIT;
		int status = mor_scratch_make(&s, top);

		assert_true(status == 0 || status == -EAGAIN);
		sched_yield();
		if (status == 0) {
			made++;
			assert_int_equal(mkdirat(s.dir, "d", 0700), 0);
			assert_true(is_there(s.path));
		}
		mor_scratch_remove(&s);
	}
	print_message("# %u of %u were made\n", made, rounds);
	held.tv_sec = 0;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(removing),
		MOR_TEST(removing_with_names_in_the_way),
		MOR_TEST(sweeping),
		MOR_TEST(sweeping_leaves_other_users),
		MOR_TEST(sweeping_is_bounded),
		MOR_TEST(sweeping_leaves_the_young),
		MOR_TEST(sweeping_races),
	};

	return mor_run_group_in("undo/scratch", tests, make_stage, drop_stage);
}
