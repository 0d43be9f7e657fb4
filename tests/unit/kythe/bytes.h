/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of archives, from and into memory. */
#ifndef TESTS_UNIT_KYTHE_BYTES_H
#define TESTS_UNIT_KYTHE_BYTES_H

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "kythe/archive/kzip.h"

static inline int bytes_into(struct mor_kzip_writer *writer, struct mor_slice bytes, char ret_digest[65],
			     mortise_error *err)
{
	int fd = memfd_create("bytes", MFD_CLOEXEC), r;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = mor_fd_write_all(fd, bytes.ptr, bytes.len);
	r = r < 0 ? MORTISE_ESYSTEM : mor_kzip_writer_add_path(writer, path, ret_digest, err);
	close(fd);
	return r;
}

static inline int bytes_append(const void *bytes, size_t len, void *arg)
{
	return mor_buf_append(arg, bytes, len);
}

static inline int bytes_of(struct mor_kzip *from, const char *digest, struct mor_buf *out, mortise_error *err)
{
	size_t before = out->len;
	int r = mor_kzip_file_read(from, digest, bytes_append, out, err);

	if (r < 0)
		out->len = before;
	return r;
}

#endif
