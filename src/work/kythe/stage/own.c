/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that belong to a living process, and the removal of those that do not. */
#include "kythe/stage/own.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/fd.h"

void mor_remove_orphans(int all_stages)
{
	DIR *dir = fdopendir(fcntl(all_stages, F_DUPFD_CLOEXEC, 0));
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		int fd = entry->d_name[0] == '.' ? -1 :
						   openat(all_stages, entry->d_name,
							  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			mor_dir_remove_all(all_stages, entry->d_name);
		mor_fd_close(&fd);
	}
	closedir(dir);
}

bool mor_stage_is_own(int all_stages, const char *name, int fd)
{
	struct stat now, mine;

	return flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &mine) == 0 &&
	       fstatat(all_stages, name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == mine.st_ino;
}
