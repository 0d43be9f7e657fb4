/* SPDX-License-Identifier: Apache-2.0 */
/* What somebody types: stdin is a file with these bytes, from typed_begin() to typed_end(). */
#ifndef TESTS_UNIT_TYPED_H
#define TESTS_UNIT_TYPED_H

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "leak.h"

static int typed_real = -1;

static inline void typed_bytes(const char *bytes, size_t len)
{
	int fd = memfd_create("stdin", MFD_CLOEXEC);

	assert_true(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0);
	typed_real = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	assert_true(typed_real >= 0);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	close(fd);
}

static inline void typed_begin(const char *text)
{
	typed_bytes(text, strlen(text));
}

static inline void typed_end(void)
{
	assert_int_equal(dup2(typed_real, STDIN_FILENO), STDIN_FILENO);
	close(typed_real);
}

#endif
