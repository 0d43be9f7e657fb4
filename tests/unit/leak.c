/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_FDS 4096

struct snapshot {
	unsigned char open[MAX_FDS];
};

static struct snapshot before;

static void take(struct snapshot *shot)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	memset(shot, 0, sizeof(*shot));
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (entry->d_name[0] != '.' && fd != dirfd(dir) && fd < MAX_FDS)
			shot->open[fd] = 1;
	}
	closedir(dir);
}

int leak_setup(void **state)
{
	(void)state;
	take(&before);
	return 0;
}

static void say_leaked_fd(int fd)
{
	char link[64], target[256];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, target, sizeof(target) - 1);
	target[len < 0 ? 0 : len] = '\0';
	print_error("leaked descriptor %d -> %s\n", fd, target);
}

int leak_teardown(void **state)
{
	struct snapshot after;
	int leaks = 0;
	siginfo_t info = { 0 };

	(void)state;
	take(&after);
	for (int fd = 0; fd < MAX_FDS; fd++) {
		if (after.open[fd] && !before.open[fd]) {
			say_leaked_fd(fd);
			leaks++;
		}
	}
	/* WNOWAIT: look, do not reap what is not ours to reap. ECHILD is what we want to hear. */
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD) {
		print_error("leaked child process %d\n", (int)info.si_pid);
		leaks++;
	}
	return leaks ? -1 : 0;
}

/* ---- TAP ---- */

static const char *skipped_because = "no reason given";

void leak_skip(const char *why)
{
	skipped_because = why;
	skip();
	abort(); /* skip() does not return, but does not say so */
}

/* cmocka writes "not ok 3 # SKIP test_name", which readers of TAP take for a failure, and it
 * knows no reason. */
static ssize_t tap_write(void *cookie, const char *text, size_t len)
{
	static const char mark[] = " # SKIP ";
	const char *skip = memmem(text, len, mark, sizeof(mark) - 1), *name;

	(void)cookie;
	if (!skip || strncmp(text, "not ok ", 7) != 0)
		return write(STDOUT_FILENO, text, len);
	name = skip + sizeof(mark) - 1;
	dprintf(STDOUT_FILENO, "%.*s - %.*s # SKIP %s\n", (int)(skip - text - 4), text + 4,
		(int)(text + len - name - 1), name, skipped_because);
	return (ssize_t)len;
}

void leak_print_tap(void)
{
	FILE *tap = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = tap_write });

	cmocka_set_message_output(CM_OUTPUT_TAP);
	assert_non_null(tap);
	setvbuf(tap, NULL, _IOLBF, 0);
	stdout = tap;
}

#ifdef MOR_COVERAGE
void __gcov_dump(void);
#endif

void leak_exit(int status)
{
#ifdef MOR_COVERAGE
	__gcov_dump();
#endif
	_exit(status);
}

void leak_in_fork(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		alarm(60);
		fn();
		leak_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
