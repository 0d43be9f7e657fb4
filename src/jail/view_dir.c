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

int mor_listing_begin(struct mor_listing *listing, int dir)
{
	mor_listing_take(listing, openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	return listing->fd < 0 ? -errno : 0;
}

void mor_listing_take(struct mor_listing *listing, int fd)
{
	listing->got = listing->at = 0;
	listing->error = 0;
	listing->fd = fd;
}

const char *mor_listing_next(struct mor_listing *listing)
{
	while (listing->fd >= 0) {
		const struct dirent64 *entry;

		if (listing->at >= listing->got) {
			listing->got =
				syscall(SYS_getdents64, listing->fd, listing->batch, sizeof(listing->batch));
			listing->at = 0;
			if (listing->got < 0)
				listing->error = errno;
			if (listing->got <= 0)
				break;
		}
		entry = (const struct dirent64 *)(listing->batch + listing->at);
		listing->at += entry->d_reclen;
		listing->type = entry->d_type;
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return entry->d_name;
	}
	return NULL;
}

int mor_listing_end(struct mor_listing *listing)
{
	if (listing->fd >= 0)
		close(listing->fd);
	listing->fd = -1;
	return -listing->error;
}

int mor_handle_entry(int dir, const char *name)
{
	return dir < 0 ? -1 : openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

mode_t mor_handle_type(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? st.st_mode & S_IFMT : 0;
}

int mor_name_join(char out[PATH_MAX], const char *dir, const char *name)
{
	int len = snprintf(out, PATH_MAX, "%s/%s", dir, name);

	return len < 0 || len >= PATH_MAX ? -ENAMETOOLONG : 0;
}
