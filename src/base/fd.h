/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: everything close-on-exec, nothing ignored. */
#ifndef MOR_BASE_FD_H
#define MOR_BASE_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Closes *fd if it is one and stores -1. errno is kept. */
void mor_fd_close(int *fd);
int mor_fd_nonblock(int fd); /* 0 or -errno */
/* Moves *fd to `least` or above: an embedder that closed its stdio gets pipes on 0, 1 and 2, and dup2() in the child would
 * then overwrite one end with another. 0 or -errno. */
int mor_fd_lift(int *fd, int least);
/* A whole file, at most limit bytes, NUL-terminated; *ret is freed with mor_free(). 0 or -errno;
 * -EFBIG over the limit, -EISDIR for a directory; never blocks on a FIFO (-EINVAL for what is no file). */
int mor_fd_read_file(const char *path, size_t limit, char **ret, size_t *ret_len);
/* One write that raises no SIGPIPE and touches no disposition: RWF_NOSIGNAL where the kernel has it,
 * else the signal blocked for this thread and a pending one taken. Bytes written or -errno. */
ssize_t mor_fd_write_nosignal(int fd, const void *data, size_t len);
/* All of it. 0 or -errno. Waits where the descriptor would block: whoever has the other end of a pipe may have set that. */
int mor_fd_write_all(int fd, const void *data, size_t len);
/* The same at the end of a file, `at` bytes long, that is too large to be kept in memory: on its way to the disk at once, and
 * then forgotten, where kernel and file system can do that. */
int mor_fd_write_uncached(int fd, uint64_t at, const void *data, size_t len);
/* A file without a name in `dir`, to read and write, for this user only: gone with its last descriptor. Or -errno. */
int mor_fd_unnamed(const char *dir);
/* The second of the two ways by itself. */
ssize_t mor_fd_write_masked(int fd, const void *data, size_t len);

#endif
