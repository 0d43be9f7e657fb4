/* SPDX-License-Identifier: Apache-2.0 */
/* fault-jail: a mortise-jail that is killed before it has done anything, the first time; see fault.h. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "dir.h"
#include "fault.h"

int main(int argc, char **argv)
{
	char dir[DIR_ROOM], path[FILE_ROOM];
	int fd;

	(void)argc;
	fault_dir_of_parent(dir);
	snprintf(path, sizeof(path), "%s/" MARK_FILE, dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd >= 0)
		raise(SIGKILL);
	execv(JAIL_PROGRAM, argv);
	return 127;
}
