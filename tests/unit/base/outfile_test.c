/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs that are there whole or not at all. */
#include "leak.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/outfile.h"
#include "tmp.h"

static char top[TMP_ROOM];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int enter_top(void **state)
{
	tmp_name(top, "outfile");
	return mkdtemp(top) && chdir(top) == 0 ? leak_setup(state) : -1;
}

static int leave_top(void **state)
{
	int r = leak_teardown(state);

	return chdir("/") != 0 || nftw(top, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 ? -1 : r;
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	assert_true(fd >= 0);
	assert_int_equal(mor_fd_write_all(fd, text, strlen(text)), 0);
	mor_fd_close(&fd);
}

static void has(const char *path, const char *text)
{
	char *got = NULL;

	assert_int_equal(mor_fd_read_file(path, 1000, &got, NULL), 0);
	assert_string_equal(got, text);
	mor_free(got);
}

static void write_new(const char *path, const char *text)
{
	struct mor_outfile file;
	mortise_error err = { 0 };

	if (mor_outfile_open(path, 0666, &file, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(mor_fd_write_all(file.fd, text, strlen(text)), 0);
	if (mor_outfile_commit(&file, &err) < 0)
		fail_msg("%s", err.text);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static int count_names(void)
{
	DIR *dir = opendir(".");
	int count = 0;

	for (struct dirent *entry; (entry = readdir(dir));)
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(dir);
	return count;
}

static void appears_whole(void **state)
{
	struct mor_outfile file;
	mode_t mask = umask(027);

	(void)state;
	assert_int_equal(mor_outfile_open("new", 0666, &file, NULL), 0);
	assert_int_equal(mor_fd_write_all(file.fd, "half", 4), 0);
	assert_int_equal(count_names(), 0);
	assert_int_equal(mor_outfile_commit(&file, NULL), 0);
	umask(mask);
	has("new", "half");
	assert_int_equal(mode_of("new"), 0640);
	assert_int_equal(count_names(), 1);
	assert_int_equal(file.fd, -1);
}

static void stays_when_dropped(void **state)
{
	struct mor_outfile file;

	(void)state;
	put("old", "as it was");
	assert_int_equal(mor_outfile_open("old", 0666, &file, NULL), 0);
	assert_int_equal(mor_fd_write_all(file.fd, "half", 4), 0);
	mor_outfile_drop(&file);
	has("old", "as it was");
	assert_int_equal(count_names(), 1);
	mor_outfile_drop(&file); /* nothing to do */
}

static void stays_when_killed(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	put("old", "as it was");
	child = fork();
	if (child == 0) {
		struct mor_outfile file;

		if (mor_outfile_open("old", 0666, &file, NULL) == 0 &&
		    mor_fd_write_all(file.fd, "half", 4) == 0)
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	has("old", "as it was");
	assert_int_equal(count_names(), 1);
}

static void keeps_the_mode(void **state)
{
	(void)state;
	put("old", "as it was");
	assert_int_equal(chmod("old", 04711), 0);
	write_new("old", "now");
	has("old", "now");
	assert_int_equal(mode_of("old"), 0711); /* who it runs as was said of other bytes */
}

static void follows_links(void **state)
{
	char target[256];

	(void)state;
	assert_int_equal(mkdir("deep", 0777), 0);
	assert_int_equal(symlink("../target", "deep/link"), 0);
	assert_int_equal(symlink("deep/link", "link"), 0);
	write_new("link", "made"); /* the target was not there */
	has("target", "made");
	write_new("link", "again");
	has("target", "again");
	assert_int_equal(readlink("link", target, sizeof(target)), 9);
	snprintf(target, sizeof(target), "%s/absolute", top);
	assert_int_equal(symlink(target, "far"), 0);
	write_new("far", "there");
	has("absolute", "there");
	assert_int_equal(symlink("round", "round"), 0);
	assert_int_equal(mor_outfile_open("round", 0666, &(struct mor_outfile){ 0 }, NULL), MORTISE_EINPUT);
}

static void *read_fifo(void *arg)
{
	int fd = open("fifo", O_RDONLY | O_CLOEXEC);

	assert_int_equal(read(fd, arg, 10), 5);
	close(fd);
	return NULL;
}

static void writes_pipes_in_place(void **state)
{
	char got[10] = "";
	pthread_t reader;

	(void)state;
	assert_int_equal(mkfifo("fifo", 0600), 0);
	assert_int_equal(pthread_create(&reader, NULL, read_fifo, got), 0);
	write_new("fifo", "piped");
	pthread_join(reader, NULL);
	assert_string_equal(got, "piped");
	assert_int_equal(count_names(), 1);
	write_new("/dev/null", "gone");
}

/* As the shell's ">> log" expects: behind what is there. */
static void writes_descriptors_in_place(void **state)
{
	char path[40];
	int fd = open("log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(mor_fd_write_all(fd, "before ", 7), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	write_new(path, "after");
	mor_fd_close(&fd);
	has("log", "before after");
	assert_int_equal(mor_outfile_open("/dev/fd/99999", 0666, &(struct mor_outfile){ 0 }, NULL),
			 MORTISE_EINPUT);
}

static void refuses(void **state)
{
	mortise_error err = { 0 };
	struct mor_outfile file;

	(void)state;
	assert_int_equal(mkdir("dir", 0777), 0);
	assert_int_equal(mor_outfile_open("dir", 0666, &file, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "dir: it cannot be written: Is a directory"));
	assert_int_equal(mor_outfile_open("no/such/file", 0666, &file, &err), MORTISE_ENOTFOUND);
	assert_int_equal(mor_outfile_open("", 0666, &file, &err), MORTISE_ENOTFOUND);
	if (geteuid() == 0)
		return; /* for whom nothing below is forbidden */
	put("mine", "as it was");
	assert_int_equal(chmod("mine", 0400), 0);
	assert_int_equal(mor_outfile_open("mine", 0666, &file, &err), MORTISE_EINPUT);
	put("dir/file", "as it was");
	assert_int_equal(chmod("dir", 0500), 0);
	assert_int_equal(mor_outfile_open("dir/file", 0666, &file, &err), MORTISE_EINPUT);
	assert_non_null(strstr(err.text, "no file can be made in its directory"));
	assert_int_equal(chmod("dir", 0700), 0);
}

static void every_allocation_fails(void **state)
{
	(void)state;
	put("old", "as it was");
	assert_int_equal(symlink("old", "link"), 0);
	for (long n = 0;; n++) {
		struct mor_outfile file;
		int r;

		mor_alloc_fail_after(n);
		r = mor_outfile_open("link", 0666, &file, NULL);
		if (r == 0)
			r = mor_outfile_commit(&file, NULL);
		mor_alloc_fail_after(-1);
		if (r == 0)
			break;
		has("old", "as it was");
		assert_int_equal(count_names(), 2);
	}
	has("old", "");
}

static void writes_a_whole_text(void **state)
{
	mortise_error err = { 0 };

	(void)state;
	assert_int_equal(mor_outfile_write("file", 0600, mor_slice_of("text"), &err), 0);
	has("file", "text");
	assert_int_equal(mode_of("file"), 0600);
	assert_int_equal(mor_outfile_write("no/file", 0600, mor_slice_of("text"), &err), MORTISE_ENOTFOUND);
	/* nothing that can be replaced, and full */
	assert_int_equal(mor_outfile_write("/dev/full", 0600, mor_slice_of("text"), &err), MORTISE_ESYSTEM);
	assert_non_null(strstr(err.text, "/dev/full"));
	assert_int_equal(count_names(), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, enter_top, leave_top)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(writes_a_whole_text),
		CASE(appears_whole),
		CASE(stays_when_dropped),
		CASE(stays_when_killed),
		CASE(keeps_the_mode),
		CASE(follows_links),
		CASE(writes_pipes_in_place),
		CASE(writes_descriptors_in_place),
		CASE(refuses),
		CASE(every_allocation_fails),
	};

	return mor_run_group("base/outfile", tests);
}
