/* SPDX-License-Identifier: Apache-2.0 */
/* Against the one that answers: arguments and moments that could confuse it, block it or end it. Those that are
 * no attack by themselves must just get the kernel's own errno, and the program must go on. */
#include "attempt.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* A name that ends with its page, or crosses into the next. The pages after it are not there. */
static char *at_page_end(const char *name, size_t pages, size_t behind)
{
	char *p = mmap(NULL, (pages + 1) * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *to;

	if (p == MAP_FAILED || munmap(p + pages * 4096, 4096) < 0)
		return NULL;
	to = p + 4096 - strlen(name) - 1 + behind;
	memcpy(to, name, strlen(name) + (behind == 0 || pages > 1));
	return to;
}

static struct result b_page_cross(const struct stage *s)
{
	char *name = at_page_end(in(s, "outside/secret.txt"), 2, 9);

	return name ? read_secret("a name across two pages", open(name, O_RDONLY)) : no("mmap");
}

/* Escaped only in the sense that the broker failed: what is allowed must open. */
static struct result b_page_end(const struct stage *s)
{
	char *name = at_page_end("data.txt", 1, 0);

	(void)s;
	return name && open(name, O_RDONLY) >= 0 ? no("opened") :
						   yes("a name at the end of memory does not open");
}

static struct result b_unterminated(const struct stage *s)
{
	char *name = at_page_end("data.txt", 1, 1);

	(void)s;
	if (!name || open(name, O_RDONLY) >= 0 || errno != EFAULT)
		return yes("no EFAULT");
	return no("EFAULT, as it should be");
}

static struct result b_pointers(const struct stage *s)
{
	const char *bad[] = { NULL, (const char *)1, (const char *)-4096L };

	(void)s;
	for (size_t i = 0; i < 3; i++) {
		if (syscall(SYS_openat, AT_FDCWD, bad[i], O_RDONLY) >= 0 || errno != EFAULT)
			return yes("no EFAULT from openat");
		if (syscall(SYS_openat2, AT_FDCWD, "data.txt", bad[i], 24) >= 0)
			return yes("no error from openat2");
	}
	return no("EFAULT, as it should be");
}

static struct result b_names(const struct stage *s)
{
	static char longest[6000];

	(void)s;
	memset(longest, 'a', sizeof(longest) - 1);
	if (open(longest, O_RDONLY) >= 0 || errno != ENAMETOOLONG)
		return yes("no ENAMETOOLONG");
	longest[300] = '\0';
	if (open(longest, O_RDONLY) >= 0 || errno != ENAMETOOLONG)
		return yes("no ENAMETOOLONG for one part");
	if (open("", O_RDONLY) >= 0 || errno != ENOENT)
		return yes("no ENOENT for the empty name");
	if (open("data.txt/", O_RDONLY) >= 0 || errno != ENOTDIR)
		return yes("no ENOTDIR");
	if (openat(77, "data.txt", O_RDONLY) >= 0 || errno != EBADF)
		return yes("no EBADF");
	return no("the kernel's errors");
}

/* A loop of links. */
static struct result b_loop(const struct stage *s)
{
	(void)s;
	if (symlink("loop.b", "loop.a") < 0 || symlink("loop.a", "loop.b") < 0)
		return no("symlink");
	if (open("loop.a", O_RDONLY) >= 0 || errno != ELOOP)
		return yes("no ELOOP");
	return no("ELOOP, as it should be");
}

/* No room for the descriptor that the broker would hand over. */
static struct result b_nofile(const struct stage *s)
{
	const struct rlimit none = { 3, 3 };

	(void)s;
	if (setrlimit(RLIMIT_NOFILE, &none) < 0)
		return no("setrlimit");
	for (int i = 0; i < 50; i++)
		if (open("data.txt", O_RDONLY) >= 0 || errno != EMFILE)
			return yes("no EMFILE");
	return no("EMFILE, as it should be");
}

/* Nobody writes to it: an open for reading waits forever, and a broker that waits answers nobody. */
static struct result b_fifo(const struct stage *s)
{
	(void)s;
	if (open("pipe", O_RDONLY) >= 0)
		return yes("opened");
	return open("data.txt", O_RDONLY) >= 0 ? no("refused, and others are served") :
						 yes("the broker is stuck");
}

static void *open_for_ever(void *unused)
{
	for (;;) {
		int fd = open("data.txt", O_RDONLY);

		if (fd >= 0)
			close(fd);
	}
	return unused;
}

/* Ends in the middle of eight questions. */
static struct result b_exit_busy(const struct stage *s)
{
	pthread_t thread;

	(void)s;
	for (int i = 0; i < 8; i++)
		if (pthread_create(&thread, NULL, open_for_ever, NULL))
			return no("pthread_create");
	usleep(20000);
	return no("ends while threads ask");
}

/* Registers are 64 bits wide, the kernel's parameters are not. */
static struct result b_dirfd_high(const struct stage *s)
{
	(void)s;
	return read_secret("AT_FDCWD with high bits",
			   (int)syscall(SYS_openat, 0x700000000UL | (uint32_t)AT_FDCWD, "../outside/secret.txt",
					O_RDONLY));
}

static struct result b_flags_high(const struct stage *s)
{
	(void)s;
	return read_secret("flags with high bits", (int)syscall(SYS_openat, AT_FDCWD, "../outside/secret.txt",
								0x20000000000000UL | O_RDONLY));
}

#define H "host"
const struct attempt broker_attempts[] = {
	{ "b_page_cross", "read", 1, 'D', 0, 0, 0, b_page_cross },
	{ "b_dirfd_high", "read", 9, 'D', 0, 0, 0, b_dirfd_high },
	{ "b_flags_high", "read", 9, 'D', 0, 0, 0, b_flags_high },
	{ "b_page_end", H, 0, 'B', 0, 0, NOT_BARE, b_page_end },
	{ "b_unterminated", H, 0, 'B', 0, 0, NOT_BARE, b_unterminated },
	{ "b_pointers", H, 0, 'B', 0, 0, NOT_BARE, b_pointers },
	{ "b_names", H, 0, 'B', 0, 0, NOT_BARE, b_names },
	{ "b_loop", H, 0, 'B', 0, 0, NOT_BARE | NEEDS_WRITE, b_loop },
	{ "b_nofile", H, 0, 'B', 0, 0, NOT_BARE, b_nofile },
	{ "b_fifo", H, 0, 'B', 0, 0, NOT_BARE, b_fifo },
	{ "b_exit_busy", H, 0, 'B', 0, 0, NOT_BARE, b_exit_busy },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
