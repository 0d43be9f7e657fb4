/* SPDX-License-Identifier: Apache-2.0 */
/* Modes and times of the machine's own devices, which everybody may write. Each is set to what it is already,
 * so that nothing changes where the attempt succeeds. */
#include "attempt.h"

#include <sys/stat.h>
#include <sys/time.h>

#define NULL_DEVICE "/dev/null"

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0666 : st.st_mode & 07777;
}

static struct result a_chmod(const struct stage *s)
{
	(void)s;
	return got("chmod /dev/null", chmod(NULL_DEVICE, mode_of(NULL_DEVICE)));
}

static struct result a_chmod_full(const struct stage *s)
{
	(void)s;
	return got("chmod /dev/full", chmod("/dev/full", mode_of("/dev/full")));
}

static struct result a_fchmod(const struct stage *s)
{
	(void)s;
	return got("fchmod /dev/zero", fchmod(open("/dev/zero", O_RDWR), mode_of("/dev/zero")));
}

static struct result a_fchmodat2(const struct stage *s)
{
	(void)s;
	return got("fchmodat2 of a handle",
		   syscall(452, open(NULL_DEVICE, O_PATH), "", mode_of(NULL_DEVICE), AT_EMPTY_PATH));
}

static struct result a_utimes(const struct stage *s)
{
	(void)s;
	return got("utimes /dev/null", utimes(NULL_DEVICE, NULL));
}

static struct result a_futimens(const struct stage *s)
{
	(void)s;
	return got("futimens /dev/zero", futimens(open("/dev/zero", O_RDWR), NULL));
}

/* By a link of its own, and by the name of a descriptor. */
static struct result a_link_utimes(const struct stage *s)
{
	(void)s;
	if (symlink(NULL_DEVICE, "device") < 0)
		return no("symlink");
	return got("utimes of a link to /dev/null", utimes("device", NULL));
}

static struct result a_fifo_chmod(const struct stage *s)
{
	(void)s;
	return got("chmod of a FIFO", chmod("pipe", mode_of("pipe")));
}

const struct attempt attr_attempts[] = {
	{ "a_chmod", "write", 85, 'B', 0, 0, 0, a_chmod },
	{ "a_chmod_full", "write", 85, 'B', 0, 0, 0, a_chmod_full },
	{ "a_fchmod", "write", 85, 'B', 0, 0, 0, a_fchmod },
	{ "a_fchmodat2", "write", 85, 'B', 0, 0, 0, a_fchmodat2 },
	{ "a_utimes", "write", 85, 'B', 0, 0, 0, a_utimes },
	{ "a_futimens", "write", 85, 'B', 0, 0, 0, a_futimens },
	{ "a_link_utimes", "write", 85, 'B', 0, 0, NEEDS_WRITE, a_link_utimes },
	{ "a_fifo_chmod", "write", 85, 'B', 0, 0, NEEDS_WRITE, a_fifo_chmod },
	{ NULL, NULL, 0, 0, 0, 0, 0, NULL },
};
