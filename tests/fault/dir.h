/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory of a host and its plugins: below TMPDIR, which the runner of the tests removes, and which no
 * other run has. A helper that the host starts is not given the host's environment, and looks there.
 */
#ifndef TESTS_FAULT_DIR_H
#define TESTS_FAULT_DIR_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIR_ROOM = 160, FILE_ROOM = 192 };

static inline void fault_dir_below(char to[DIR_ROOM], const char *parent, int pid)
{
	snprintf(to, DIR_ROOM, "%s/mortise-fault-%d", parent && *parent ? parent : "/tmp", pid);
}

/* Of the host with that pid, which has our environment. */
static inline void fault_dir(char to[DIR_ROOM], int pid)
{
	fault_dir_below(to, getenv("TMPDIR"), pid);
}

/* Of our parent, a host. */
static inline void fault_dir_of_parent(char to[DIR_ROOM])
{
	static char text[1 << 16];
	char path[32], *tmp = NULL;
	ssize_t len = 0, n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, text + len, sizeof(text) - 1 - (size_t)len)) > 0)
		len += n;
	close(fd);
	for (char *entry = text; !tmp && entry < text + len; entry += strlen(entry) + 1)
		if (strncmp(entry, "TMPDIR=", 7) == 0)
			tmp = entry + 7;
	fault_dir_below(to, tmp, (int)getppid());
}

#endif
