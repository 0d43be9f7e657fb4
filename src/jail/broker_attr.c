/* SPDX-License-Identifier: Apache-2.0 */
/* Changes modes and times for the plugin. Landlock does not cover them: here the broker is the only layer. */
#include <errno.h>
#include <string.h>
#include <sys/time.h>
#include <utime.h>

#include "jail/broker.h"

/* The thing behind (dirfd, name). No name, or an empty one with AT_EMPTY_PATH, means the descriptor itself. */
static int find_thing(struct mor_syscall *call, int dirfd, uint64_t address, int flags, struct mor_found *found)
{
	char path[PATH_MAX];
	int status;

	if (!address)
		return mor_find_fd(call, dirfd, found);
	if ((status = mor_syscall_path(call, address, path)) < 0)
		return status;
	if (!*path && flags & AT_EMPTY_PATH)
		return mor_find_fd(call, dirfd, found);
	status = mor_find(call, dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? MOR_FIND_NOFOLLOW : 0, 0, found);
	return status < 0 ? mor_find_failed(call, dirfd, path, true, status) : status;
}

/* A device that it may write is still the machine's: its mode and times belong to everybody. A link's own times
 * are as harmless as those of the file that it stands for. */
static int judge_attr(struct mor_syscall *call, const struct mor_found *found)
{
	mode_t type = found->st.st_mode & S_IFMT;
	int status;

	if (found->where[0] != '/' || strncmp(found->where, "/memfd:", 7) == 0) /* its own, and harmless */
		return -EPERM;
	status = mor_syscall_judge_write(call, found->where,
					 type == S_IFDIR ? MOR_WRITE_INSIDE : MOR_WRITE_CONTENT);
	if (status == 0 && type != S_IFREG && type != S_IFDIR && type != S_IFLNK)
		return -EPERM;
	return status;
}

/* ---- modes ---- */

/* No set-id bits: users who run the file later have not agreed to them. */
static int change_mode(struct mor_syscall *call, int dirfd, uint64_t address, mode_t mode, int flags)
{
	struct mor_found found;
	char text[16];
	int status = find_thing(call, dirfd, address, flags, &found);

	if (status < 0)
		return status;
	status = judge_attr(call, &found);
	if (status == 0 && S_ISLNK(found.st.st_mode))
		status = -EOPNOTSUPP;
	if (status == 0)
		status = mor_undo_before_attrs(call->broker->undo, found.where, found.fd);
	if (status == 0 &&
	    fchmodat(call->broker->own_fds, mor_handle_number(found.fd, text), mode & 0777, 0) < 0)
		status = -errno;
	mor_found_fini(&found);
	return status;
}

int mor_on_chmod(struct mor_syscall *call)
{
	return mor_syscall_arg_at(call, 0) ?
		       change_mode(call, mor_syscall_dirfd(call), mor_syscall_arg_at(call, 0),
				   (mode_t)mor_syscall_arg_at(call, 1), 0) :
		       -EFAULT;
}

int mor_on_fchmod(struct mor_syscall *call)
{
	return change_mode(call, (int)mor_syscall_arg(call, 0), 0, (mode_t)mor_syscall_arg(call, 1), 0);
}

int mor_on_fchmodat2(struct mor_syscall *call)
{
	int flags = (int)mor_syscall_arg(call, 3);

	if (!mor_syscall_arg(call, 1))
		return -EFAULT;
	if (flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	return change_mode(call, (int)mor_syscall_arg(call, 0), mor_syscall_arg(call, 1),
			   (mode_t)mor_syscall_arg(call, 2), flags);
}

/* ---- times ---- */

/* times NULL: now. */
static int change_times(struct mor_syscall *call, int dirfd, uint64_t address, const struct timespec *times,
			int flags)
{
	struct mor_found found;
	int status = find_thing(call, dirfd, address, flags, &found);

	if (status < 0)
		return status;
	status = judge_attr(call, &found);
	if (status == 0)
		status = mor_undo_before_attrs(call->broker->undo, found.where, found.fd);
	if (status == 0 && utimensat(found.fd, "", times, AT_EMPTY_PATH) < 0)
		status = -errno;
	mor_found_fini(&found);
	return status;
}

int mor_on_utimensat(struct mor_syscall *call)
{
	struct timespec times[2];
	uint64_t at = mor_syscall_arg(call, 2);
	int flags = (int)mor_syscall_arg(call, 3),
	    status = at ? mor_syscall_read(call, at, times, sizeof(times)) : 0;

	if (status == 0 && flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		status = -EINVAL;
	if (status < 0)
		return status;
	return change_times(call, (int)mor_syscall_arg(call, 0), mor_syscall_arg(call, 1), at ? times : NULL,
			    flags);
}

static int with_timevals(struct mor_syscall *call, int dirfd, uint64_t address, uint64_t at)
{
	struct timeval given[2];
	struct timespec times[2];
	int status = at ? mor_syscall_read(call, at, given, sizeof(given)) : 0;

	if (status < 0)
		return status;
	for (int i = 0; at && i < 2; i++) {
		if (given[i].tv_usec < 0 || given[i].tv_usec >= 1000000)
			return -EINVAL;
		times[i] = (struct timespec){ given[i].tv_sec, given[i].tv_usec * 1000 };
	}
	return change_times(call, dirfd, address, at ? times : NULL, 0);
}

int mor_on_utimes(struct mor_syscall *call)
{
	return mor_syscall_arg(call, 0) ?
		       with_timevals(call, AT_FDCWD, mor_syscall_arg(call, 0), mor_syscall_arg(call, 1)) :
		       -EFAULT;
}

int mor_on_futimesat(struct mor_syscall *call)
{
	return with_timevals(call, (int)mor_syscall_arg(call, 0), mor_syscall_arg(call, 1),
			     mor_syscall_arg(call, 2));
}

int mor_on_utime(struct mor_syscall *call)
{
	struct utimbuf given;
	struct timespec times[2] = { { 0 } };
	uint64_t at = mor_syscall_arg(call, 1);
	int status = at ? mor_syscall_read(call, at, &given, sizeof(given)) : 0;

	if (status < 0 || !mor_syscall_arg(call, 0))
		return status < 0 ? status : -EFAULT;
	if (at) {
		times[0].tv_sec = given.actime;
		times[1].tv_sec = given.modtime;
	}
	return change_times(call, AT_FDCWD, mor_syscall_arg(call, 0), at ? times : NULL, 0);
}
