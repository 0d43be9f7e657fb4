/* SPDX-License-Identifier: Apache-2.0 */
#include "leak.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "tmp.h"

typedef ssize_t writer(int fd, const void *data, size_t len);

static volatile sig_atomic_t pipes_broken;

static void count_pipe(int signal)
{
	(void)signal;
	pipes_broken++;
}

static void check_writer(writer *write_some)
{
	struct sigaction count = { .sa_handler = count_pipe }, old;
	sigset_t mask;
	char got[8] = "";
	int ends[2];

	assert_int_equal(sigaction(SIGPIPE, &count, &old), 0);
	pipes_broken = 0;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write_some(ends[1], "hello", 5), 5);
	assert_int_equal(read(ends[0], got, sizeof(got)), 5);
	assert_string_equal(got, "hello");
	mor_fd_close(&ends[0]);
	assert_int_equal(ends[0], -1);
	assert_int_equal(write_some(ends[1], "x", 1), -EPIPE);
	assert_int_equal(pipes_broken, 0);
	/* Neither the mask nor what is pending has changed. */
	sigpending(&mask);
	assert_false(sigismember(&mask, SIGPIPE));
	pthread_sigmask(SIG_BLOCK, NULL, &mask);
	assert_false(sigismember(&mask, SIGPIPE));
	mor_fd_close(&ends[1]);
	assert_int_equal(write_some(-1, "x", 1), -EBADF);
	sigaction(SIGPIPE, &old, NULL);
}

static void write_raises_no_signal(void **state)
{
	(void)state;
	check_writer(mor_fd_write_nosignal);
}

static void masked_write_raises_no_signal(void **state)
{
	(void)state;
	check_writer(mor_fd_write_masked);
}

/* A SIGPIPE that was pending before belongs to the embedder. */
static void masked_write_leaves_a_pending_signal(void **state)
{
	sigset_t block, old, pending;
	int ends[2], got;

	(void)state;
	sigemptyset(&block);
	sigaddset(&block, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &block, &old);
	assert_int_equal(raise(SIGPIPE), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	mor_fd_close(&ends[0]);
	assert_int_equal(mor_fd_write_masked(ends[1], "x", 1), -EPIPE);
	sigpending(&pending);
	assert_true(sigismember(&pending, SIGPIPE));
	assert_int_equal(sigwait(&block, &got), 0);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	mor_fd_close(&ends[1]);
}

static void full_pipe_and_sockets(void **state)
{
	static const char block[65536];
	int ends[2];
	ssize_t n;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(mor_fd_nonblock(ends[1]), 0);
	while ((n = mor_fd_write_nosignal(ends[1], block, sizeof(block))) > 0)
		;
	assert_int_equal(n, -EAGAIN);
	mor_fd_close(&ends[0]);
	mor_fd_close(&ends[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	mor_fd_close(&ends[0]);
	assert_int_equal(mor_fd_write_nosignal(ends[1], "x", 1), -EPIPE);
	mor_fd_close(&ends[1]);
	assert_int_equal(mor_fd_nonblock(-1), -EBADF);
}

/* Pieces of all sizes, one behind the other; on a file system that knows the way, and on one that does not. */
static void uncached_writes(void **state)
{
	static const char *const dirs[] = { "/var/tmp", "/dev/shm" };
	static char bytes[300000], got[300000];
	static const size_t sizes[] = { 1, 4095, 4096, 0, 4097, 100, 262144, 7, 20000 };

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 31 + i / 251);
	for (size_t d = 0; d < sizeof(dirs) / sizeof(*dirs); d++) {
		int fd = open(dirs[d], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		size_t at = 0;

		if (fd < 0)
			continue;
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); at += sizes[i++])
			assert_int_equal(mor_fd_write_uncached(fd, at, bytes + at, sizes[i]), 0);
		assert_int_equal(pread(fd, got, sizeof(got), 0), at);
		assert_memory_equal(got, bytes, at);
		mor_fd_close(&fd);
	}
	assert_int_equal(mor_fd_write_uncached(-1, 0, bytes, 10000), -EBADF);
}

static void close_keeps_errno(void **state)
{
	int fd = -1;

	(void)state;
	errno = EXDEV;
	mor_fd_close(&fd);
	assert_int_equal(errno, EXDEV);
}

static void write_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	mor_fd_close(&fd);
}

static void reads_whole_files(void **state)
{
	char dir[TMP_ROOM], path[256], fifo[256], *text = NULL;
	size_t len = 0;

	(void)state;
	assert_non_null(mkdtemp(tmp_name(dir, "fd")));
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	write_file(path, "a\0b", 3);
	assert_int_equal(mor_fd_read_file(path, 3, &text, &len), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(text, "a\0b\0", 4);
	mor_free(text);
	text = NULL;
	assert_int_equal(mor_fd_read_file(path, 2, &text, &len), -EFBIG);
	assert_null(text);
	write_file(path, "", 0);
	assert_int_equal(mor_fd_read_file(path, 0, &text, NULL), 0);
	assert_string_equal(text, "");
	mor_free(text);
	text = NULL;
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(mor_fd_read_file(fifo, 10, &text, &len), -EINVAL);
	assert_int_equal(mor_fd_read_file(dir, 10, &text, &len), -EISDIR);
	unlink(path);
	assert_int_equal(mor_fd_read_file(path, 10, &text, &len), -ENOENT);
	unlink(fifo);
	rmdir(dir);
}

/* Files in /proc say they are empty and are not. */
static void reads_files_that_lie_about_their_size(void **state)
{
	char *text = NULL;
	size_t len = 0;

	(void)state;
	assert_int_equal(mor_fd_read_file("/proc/self/status", SIZE_MAX, &text, &len), 0);
	assert_true(len > 100 && strlen(text) == len);
	mor_free(text);
	text = NULL;
	assert_int_equal(mor_fd_read_file("/proc/self/status", 20, &text, &len), -EFBIG);
	mor_alloc_fail_after(0);
	assert_int_equal(mor_fd_read_file("/proc/self/status", 9999, &text, &len), -ENOMEM);
	mor_alloc_fail_after(-1);
	assert_null(text);
}

static void counts_what_is_not_read(void **state)
{
	int fds[2];
	char byte;

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(mor_fd_unread(fds[1]), 0);
	assert_int_equal(write(fds[1], "abc", 3), 3);
	assert_int_equal(mor_fd_unread(fds[0]), 3);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(mor_fd_unread(fds[1]), 2); /* the writer's end knows it too */
	mor_fd_close(&fds[0]);
	mor_fd_close(&fds[1]);
	assert_int_equal(mor_fd_unread(-1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		MOR_TEST(write_raises_no_signal),
		MOR_TEST(masked_write_raises_no_signal),
		MOR_TEST(masked_write_leaves_a_pending_signal),
		MOR_TEST(full_pipe_and_sockets),
		MOR_TEST(uncached_writes),
		MOR_TEST(close_keeps_errno),
		MOR_TEST(reads_whole_files),
		MOR_TEST(reads_files_that_lie_about_their_size),
		MOR_TEST(counts_what_is_not_read),
	};

	return mor_run_group("base/fd", tests);
}
