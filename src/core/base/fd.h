/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: all are close-on-exec, and no error is ignored. */
#ifndef MOR_BASE_FD_H
#define MOR_BASE_FD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Closes *fd if it is open and stores -1. errno is kept. */
void mor_fd_close(int *fd);
int mor_fd_nonblock(int fd); /* 0 or -errno */
/* The same file once more, by /proc/self/fd: to read or write what an O_PATH handle means. -errno. */
int mor_fd_reopen(int fd, int flags);
/* Moves *fd to `least` or above: an embedder that closed its stdio gets pipes on 0, 1 and 2, and dup2() in the
 * child would then overwrite one end with another. 0 or -errno. */
int mor_fd_lift(int *fd, int least);
/* A whole file, at most limit bytes, NUL-terminated; free *ret with mor_free(). 0 or -errno; -EFBIG over the
 * limit, -EISDIR for a directory, -EINVAL for other things that are not files. Never blocks on a FIFO. */
int mor_fd_read_file(const char *path, size_t limit, char **ret, size_t *ret_len);
/* Only opens it, for those who read it piece by piece: a descriptor or -errno. Its size is a hint. */
int mor_fd_open_file(const char *path, uint64_t *ret_size);
/* Reads until `len` bytes are there or the end. How many, or -errno. */
ssize_t mor_fd_read_full(int fd, void *data, size_t len);
/* The same for a file of this name in an open directory that others may write: a link is -ELOOP. The first only
 * opens it: a descriptor or -errno. */
int mor_fd_open_in(int dir, const char *name);
int mor_fd_read_in(int dir, const char *name, size_t limit, char **ret, size_t *ret_len);
/* How many bytes wait in a pipe or socket to be read; for a pipe, either end may be asked. 0
 * also if unknown. */
uint64_t mor_fd_unread(int fd);
/* One write that raises no SIGPIPE and changes no signal handler: RWF_NOSIGNAL if the kernel has it. Else
 * the signal is blocked for this thread and a pending one is taken. Bytes written or -errno. */
ssize_t mor_fd_write_nosignal(int fd, const void *data, size_t len);
/* Writes everything. 0 or -errno. Waits if the descriptor is non-blocking: the process at the other end of a
 * pipe may have set that. */
int mor_fd_write_all(int fd, const void *data, size_t len);
/* The same at the end of a file of `at` bytes that is too large for memory: the bytes go to the disk at once
 * and leave the page cache, if kernel and file system can do that. */
int mor_fd_write_uncached(int fd, uint64_t at, const void *data, size_t len);
/* An unnamed file in `dir`, to read and write, for this user only: it is gone with its last descriptor. Or
 * -errno. */
int mor_fd_unnamed(const char *dir);
/* Who reads bytes piece by piece: up to `len` of them; 0 at the end, -errno. */
typedef ssize_t mor_read_fn(void *arg, void *buffer, size_t len);
/* A descriptor, read up to byte `end`. Never seeks; `at` is the present place. */
struct mor_fd_source {
	int fd;
	uint64_t at, end; /* end 0: to its end */
};
ssize_t mor_fd_read_source(void *source, void *buffer, size_t len); /* a mor_read_fn */
/* Only the second of the two ways. */
ssize_t mor_fd_write_masked(int fd, const void *data, size_t len);

#endif
