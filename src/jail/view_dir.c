/* SPDX-License-Identifier: Apache-2.0 */
/* See view_dir.h. */
#include "jail/view_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int mor_scan_begin(struct mor_scan *scan, int dir)
{
	mor_scan_take(scan, openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	return scan->fd < 0 ? -errno : 0;
}

void mor_scan_take(struct mor_scan *scan, int fd)
{
	scan->got = scan->at = 0;
	scan->error = 0;
	scan->fd = fd;
}

const char *mor_scan_next(struct mor_scan *scan)
{
	while (scan->fd >= 0) {
		const struct dirent64 *entry;

		if (scan->at >= scan->got) {
			scan->got = syscall(SYS_getdents64, scan->fd, scan->batch, sizeof(scan->batch));
			scan->at = 0;
			if (scan->got < 0)
				scan->error = errno;
			if (scan->got <= 0)
				break;
		}
		entry = (const struct dirent64 *)(scan->batch + scan->at);
		scan->at += entry->d_reclen;
		scan->type = entry->d_type;
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return entry->d_name;
	}
	return NULL;
}

int mor_scan_end(struct mor_scan *scan)
{
	if (scan->fd >= 0)
		close(scan->fd);
	scan->fd = -1;
	return -scan->error;
}

int mor_dir_entry(int dir, const char *name)
{
	return dir < 0 ? -1 : openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

mode_t mor_dir_type(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

int mor_dir_join(char out[PATH_MAX], const char *dir, const char *name)
{
	int len = snprintf(out, PATH_MAX, "%s/%s", dir, name);

	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : 0;
}
