/* SPDX-License-Identifier: Apache-2.0 */
#include "private_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"

#define READ_STEP ((size_t)64 << 10)

static int open_null(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int r = 0;

	if (null < 0)
		return -1;
	if (null != fd) {
		r = dup2(null, fd);
		mor_fd_close(&null);
	}
	return r < 0 ? -1 : 0;
}

static int move(int *ret_in, int *ret_out)
{
	*ret_in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	*ret_out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (*ret_in < 0 || *ret_out < 0)
		return -1;
	/* Without a stderr the next file opened would become it, and get what we print. */
	if (fcntl(STDERR_FILENO, F_GETFD) < 0 && open_null(STDERR_FILENO) < 0)
		return -1;
	if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return -1;
	fflush(stdout);
	return open_null(STDIN_FILENO);
}

int tn_private_wire(int *ret_in, int *ret_out)
{
	return move(ret_in, ret_out) < 0 ? -errno : 0;
}

ssize_t tn_read_some(int fd, struct mor_buf *input)
{
	if (mor_buf_reserve(input, READ_STEP) < 0)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, input->data + input->len, READ_STEP);

		if (n >= 0) {
			input->len += (size_t)n;
			return n;
		}
		if (errno != EAGAIN)
			return -errno;
		if (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1) < 0)
			return -errno;
	}
}
