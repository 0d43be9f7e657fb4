/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and truncates files for the plugin. */
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/fd.h"
#include "jail/broker.h"
#include "jail/direct.h"

#define DEPTH_MAX 40

struct opening {
	int dirfd;
	uint64_t flags, resolve;
	mode_t mode;
	char path[PATH_MAX];
} __attribute__((aligned(512)));

static bool writes(uint64_t flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC || (flags & O_TMPFILE) == O_TMPFILE;
}

static int judge_open(struct mor_syscall *call, const struct mor_found *found, uint64_t flags)
{
	struct mor_paths *paths = call->broker->paths;
	int status = 0;

	if (writes(flags))
		status = mor_syscall_judge_write(call, found->where,
						 S_ISDIR(found->st.st_mode) ? MOR_WRITE_INSIDE :
									      MOR_WRITE_CONTENT);
	if (status == 0 && (flags & O_ACCMODE) != O_WRONLY)
		status = mor_syscall_ruling(call, found->where, mor_paths_read(paths, found->where));
	return status;
}

/* Opens the caller's own descriptor again, with at most its rights. MOR_BROKER_SENT or -errno. */
static int duplicate(struct mor_syscall *call, const struct mor_found *found, uint64_t flags)
{
	int pidfd = (int)syscall(SYS_pidfd_open, call->tgid, 0), fd = -1, have;

	if (pidfd >= 0)
		fd = (int)syscall(SYS_pidfd_getfd, pidfd, found->own_fd, 0);
	mor_fd_close(&pidfd);
	if (fd < 0)
		return -ENXIO;
	have = fcntl(fd, F_GETFL);
	if (have >= 0 && !(have & O_PATH) && !S_ISDIR(found->st.st_mode) &&
	    ((have & O_ACCMODE) == O_RDWR || (uint64_t)(have & O_ACCMODE) == (flags & O_ACCMODE)) &&
	    (!(flags & O_TRUNC) || !S_ISREG(found->st.st_mode) || ftruncate(fd, 0) == 0))
		return mor_syscall_inject(call, fd, flags & O_CLOEXEC);
	close(fd);
	return -EACCES;
}

/* Things without a name, or that could block us when opened again. */
static bool only_duplicates(const struct mor_found *found)
{
	return found->own_fd >= 0 && (found->where[0] != '/' || strncmp(found->where, "/memfd:", 7) == 0 ||
				      S_ISCHR(found->st.st_mode) || S_ISFIFO(found->st.st_mode));
}

static int judge_all(struct mor_syscall *call, const struct mor_found *found, uint64_t flags)
{
	bool exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) && (flags & O_TMPFILE) != O_TMPFILE;
	mode_t type = found->st.st_mode & S_IFMT;
	int status = exclusive ? mor_syscall_judge_write(call, found->where, MOR_WRITE_CONTENT) :
				 judge_open(call, found, flags);

	if (status < 0)
		return status;
	if (exclusive)
		return -EEXIST;
	if (type == S_IFLNK)
		return -ELOOP;
	/* They could block us, and reach another program. */
	if (type == S_IFIFO || type == S_IFSOCK || type == S_IFBLK)
		return -ENXIO;
	return type == S_IFCHR && strncmp(found->where, "/dev/", 5) != 0 ? -ENXIO : 0;
}

/* A new file of that text, which nobody can change. The descriptor or -errno. */
static int make_text(const struct mor_broker *broker, const char *text)
{
	int fd = memfd_create("made-up", MFD_CLOEXEC | MFD_ALLOW_SEALING), shown = -1;
	char number[16];

	if (fd < 0)
		return -errno;
	if (mor_fd_write_all(fd, text, strlen(text)) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		shown = openat(broker->own_fds, mor_handle_number(fd, number), O_RDONLY | O_CLOEXEC);
	close(fd);
	return shown < 0 ? -EIO : shown;
}

static int open_made_up(struct mor_syscall *call, const char *text, uint64_t flags)
{
	int fd = flags & O_DIRECTORY ? -ENOTDIR : make_text(call->broker, text);

	return fd < 0 ? fd : mor_syscall_inject(call, fd, flags & O_CLOEXEC);
}

/* With a view, the view's file of that name wins; where it has none, the one in the plugin's own
 * tree is opened. */
static const char *made_up(const struct mor_syscall *call, struct mor_ruling ruling)
{
	return ruling.under && call->broker->steady ? ruling.under->text : NULL;
}

static int open_found(struct mor_syscall *call, const struct mor_found *found, uint64_t flags, mode_t mode)
{
	bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
	const char *text;
	char number[16];
	int fd, status;

	if (only_duplicates(found))
		return duplicate(call, found, flags);
	status = judge_all(call, found, flags);
	/* A file that the host uses as standard output: the plugin may write to it by any name. */
	if ((status == MOR_BROKER_VIOLATION || status == -EROFS) && found->own_fd >= 0 &&
	    duplicate(call, found, flags) == MOR_BROKER_SENT)
		return MOR_BROKER_SENT;
	if (status < 0)
		return status;
	text = made_up(call, mor_paths_read(call->broker->paths, found->where));
	if (text)
		return open_made_up(call, text, flags);
	status = unnamed ? mor_undo_before_make(call->broker->undo, found->where) : 0;
	if (status < 0)
		return status;
	if (unnamed)
		mor_syscall_borrow_umask(call);
	else
		flags &= ~(uint64_t)(O_CREAT | O_EXCL);
	flags &= ~(uint64_t)O_NOFOLLOW;
	status = writes(flags) && !unnamed ?
			 mor_undo_before_write(call->broker->undo, found->where, found->fd) :
			 0;
	if (status < 0)
		return status;
	fd = openat(call->broker->own_fds, mor_handle_number(found->fd, number),
		    (int)flags | O_CLOEXEC | O_NOCTTY, mode & 0777);
	if (fd < 0)
		return -errno;
	if ((flags & O_ACCMODE) != O_RDONLY)
		mor_undo_opened(call->broker->undo, found->where, fd, unnamed);
	return mor_syscall_inject(call, fd, flags & O_CLOEXEC);
}

/* To undo it, we must know that it was made here: another process may be faster. -ERESTART: it was. */
static int make_file(struct mor_syscall *call, const struct mor_found *found, uint64_t flags, mode_t mode)
{
	struct mor_undo *undo = call->broker->undo;
	uint64_t alone = mor_undo_covers(undo, found->where) ? O_EXCL : 0;
	int fd, status = mor_undo_before_make(undo, found->where);

	if (status < 0)
		return status;
	mor_syscall_borrow_umask(call);
	fd = openat(found->parent, found->name,
		    (int)(flags | alone) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, mode & 0777);
	if (fd < 0)
		return errno == EEXIST && !(flags & O_EXCL) ? -ERESTART : -errno;
	if ((status = mor_undo_made(undo, found->where, found->parent, found->name, NULL)) < 0) {
		unlinkat(found->parent, found->name, 0);
		close(fd);
		return status;
	}
	if ((flags & O_ACCMODE) != O_RDONLY)
		mor_undo_opened(undo, found->where, fd, false);
	return fd;
}

/* Makes the file in a directory that we hold. O_NONBLOCK in case somebody puts a FIFO there meanwhile. */
static int create_found(struct mor_syscall *call, const struct mor_found *found, uint64_t flags, mode_t mode)
{
	int fd, status;

	if (found->slash)
		return -EISDIR;
	if ((status = mor_syscall_judge_write(call, found->where, MOR_WRITE_PLACE)) < 0)
		return status;
	if ((fd = make_file(call, found, flags, mode)) < 0)
		return fd;
	if (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, (int)(flags & (O_APPEND | O_NOATIME | O_DIRECT))) < 0) {
		status = -errno;
		close(fd);
		return status;
	}
	return mor_syscall_inject(call, fd, flags & O_CLOEXEC);
}

/* The name does not exist: it is made. If it is a link to a missing file, that file is made. */
static int open_absent(struct mor_syscall *call, int base, bool own_base, const struct opening *want, int depth)
{
	struct mor_found found;
	struct opening next;
	ssize_t len;
	int status = own_base ? mor_find_at(call, base, want->path, MOR_FIND_PARENT, 0, &found) :
				mor_find(call, want->dirfd, want->path, MOR_FIND_PARENT, 0, &found);

	if (status < 0)
		return mor_find_failed(call, want->dirfd, want->path, true, status);
	len = readlinkat(found.parent, found.name, next.path, sizeof(next.path) - 1);
	if (len < 0) {
		status = create_found(call, &found, want->flags, want->mode);
	} else if (want->flags & (O_NOFOLLOW | O_EXCL)) {
		status = want->flags & O_EXCL ? -EEXIST : -ELOOP;
	} else if (depth == DEPTH_MAX) {
		status = -ELOOP;
	} else {
		next.path[len] = 0;
		next.dirfd = AT_FDCWD;
		next.flags = want->flags;
		next.mode = want->mode;
		status = open_absent(call, found.parent, true, &next, depth + 1);
	}
	mor_found_fini(&found);
	return status;
}

static int open_once(struct mor_syscall *call, const struct opening *want)
{
	bool nofollow = want->flags & O_NOFOLLOW || (want->flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
	struct mor_found found;
	int status = mor_find(call, want->dirfd, want->path, nofollow ? MOR_FIND_NOFOLLOW : 0, want->resolve,
			      &found);

	if (status == -ENOENT && want->flags & O_CREAT && (want->flags & O_TMPFILE) != O_TMPFILE)
		return want->resolve ? -ENOSYS : open_absent(call, -1, false, want, 0);
	if (status < 0)
		return mor_find_failed(call, want->dirfd, want->path, writes(want->flags), status);
	status = open_found(call, &found, want->flags, want->mode);
	mor_found_fini(&found);
	return status;
}

/* tmpfile() of the C library knows no directory but /tmp. What has no name is in nobody's way in scratch. */
static void place_unnamed(struct mor_syscall *call, struct opening *want)
{
	const struct mor_broker *broker = call->broker;

	if ((want->flags & O_TMPFILE) == O_TMPFILE && broker->scratch && strcmp(want->path, "/tmp") == 0 &&
	    mor_paths_write(broker->paths, want->path, MOR_WRITE_INSIDE).kind != MOR_RULING_PERFORM)
		snprintf(want->path, sizeof(want->path), "%s", broker->scratch);
}

static int open_it(struct mor_syscall *call, struct opening *want)
{
	int status = -ERESTART;

	place_unnamed(call, want);
	for (int tries = 0; tries < 8 && status == -ERESTART; tries++)
		status = open_once(call, want);
	return status == -ERESTART ? -EBUSY : status;
}

/* Opened first and checked then: so it must not wait for the other end of a FIFO; regular files ignore
 * O_NONBLOCK. MOR_BROKER_UNDECIDED: not a plain file or directory, or not readable. */
static int hand_over_take(struct mor_syscall *call, const struct opening *want, int fd, const char *where)
{
	long keep = (long)(want->flags & (O_APPEND | O_NOATIME | O_DIRECT));

	if (mor_handle_is_plain(call, fd, where) &&
	    (want->flags & O_NONBLOCK || mor_direct(SYS_fcntl, fd, F_SETFL, keep, 0) == 0))
		return mor_syscall_inject(call, fd, want->flags & O_CLOEXEC);
	close(fd);
	return MOR_BROKER_UNDECIDED;
}

/* The name is judged before it is opened, because it will be the true one. In the system's own directories,
 * where an interpreter opens most files, nothing can make us wait, so there is no further check. */
static int open_clean(struct mor_syscall *call, const struct opening *want)
{
	struct mor_ruling ruling = mor_paths_read(call->broker->paths, want->path);
	uint64_t flags = want->flags | (ruling.inert ? 0 : O_NONBLOCK);
	int fd;

	if (ruling.kind != MOR_RULING_PERFORM || ruling.needs)
		return MOR_BROKER_UNDECIDED;
	if (made_up(call, ruling))
		return open_made_up(call, made_up(call, ruling), want->flags);
	if ((fd = mor_find_open_under(call, ruling.under, want->path, flags)) < 0)
		return fd;
	return ruling.inert ? mor_syscall_inject(call, fd, want->flags & O_CLOEXEC) :
			      hand_over_take(call, want, fd, want->path);
}

/* The common cases, which need not open handles again. Only plain files and directories. */
static int open_plain(struct mor_syscall *call, const struct opening *want)
{
	char where[PATH_MAX];
	struct mor_ruling ruling;
	int fd = mor_name_is_clean(want->path) ? open_clean(call, want) : MOR_BROKER_UNDECIDED;

	if (fd != MOR_BROKER_UNDECIDED)
		return fd;
	if ((fd = mor_find_open(call, want->dirfd, want->path, want->flags | O_NONBLOCK, 0)) < 0)
		return fd;
	if (mor_handle_raw(call, fd, where) == 0) {
		ruling = mor_paths_read(call->broker->paths, where);
		if (ruling.kind == MOR_RULING_PERFORM && !ruling.needs && !made_up(call, ruling))
			return hand_over_take(call, want, fd, where);
	}
	close(fd);
	return MOR_BROKER_UNDECIDED;
}

static int open_named(struct mor_syscall *call, int dirfd, uint64_t address, uint64_t flags, mode_t mode)
{
	static struct opening want; /* used by the broker's only thread, and within one page for short names */
	int status;

	want.dirfd = dirfd;
	want.flags = flags;
	want.resolve = 0;
	want.mode = mode;
	if (writes(flags) || flags & O_CREAT) {
		status = mor_syscall_path(call, address, want.path);
		return status < 0 ? status : open_it(call, &want);
	}
	call->doubtful = true;
	if ((status = mor_syscall_text(call, address, want.path)) < 0)
		return status;
	status = call->broker->locked ? open_plain(call, &want) : MOR_BROKER_UNDECIDED;
	return status == MOR_BROKER_UNDECIDED ? open_it(call, &want) : status;
}

int mor_on_open(struct mor_syscall *call)
{
	return open_named(call, mor_syscall_dirfd(call), mor_syscall_arg_at(call, 0),
			  (uint32_t)mor_syscall_arg_at(call, 1), (mode_t)mor_syscall_arg_at(call, 2));
}

int mor_on_creat(struct mor_syscall *call)
{
	return open_named(call, AT_FDCWD, mor_syscall_arg(call, 0), O_CREAT | O_WRONLY | O_TRUNC,
			  (mode_t)mor_syscall_arg(call, 1));
}

int mor_on_openat2(struct mor_syscall *call)
{
	struct open_how how;
	struct opening want;
	uint64_t size = mor_syscall_arg(call, 3);
	int status;

	if (size < sizeof(how))
		return -EINVAL;
	if (size > sizeof(how))
		return -E2BIG;
	status = mor_syscall_read(call, mor_syscall_arg(call, 2), &how, sizeof(how));
	if (status == 0)
		status = mor_syscall_path(call, mor_syscall_arg(call, 1), want.path);
	if (status < 0)
		return status;
	if (how.flags & O_PATH || how.flags >> 32)
		return how.flags >> 32 ? -EINVAL : -ENOSYS;
	want.dirfd = (int)mor_syscall_arg(call, 0);
	want.flags = how.flags;
	want.resolve = how.resolve;
	want.mode = (mode_t)how.mode;
	return open_it(call, &want);
}

int mor_on_truncate(struct mor_syscall *call)
{
	char path[PATH_MAX], text[16];
	struct mor_found found;
	int fd, status = mor_syscall_path(call, mor_syscall_arg(call, 0), path);

	if (status < 0)
		return status;
	if ((status = mor_find(call, AT_FDCWD, path, 0, 0, &found)) < 0)
		return mor_find_failed(call, AT_FDCWD, path, true, status);
	status = mor_syscall_judge_write(call, found.where, MOR_WRITE_CONTENT);
	if (status == 0 && !S_ISREG(found.st.st_mode))
		status = S_ISDIR(found.st.st_mode) ? -EISDIR : -EINVAL;
	if (status == 0)
		status = mor_undo_before_write(call->broker->undo, found.where, found.fd);
	if (status == 0) {
		fd = openat(call->broker->own_fds, mor_handle_number(found.fd, text), O_WRONLY | O_CLOEXEC);
		if (fd >= 0)
			mor_undo_opened(call->broker->undo, found.where, fd, false);
		status = fd < 0 || ftruncate(fd, (off_t)mor_syscall_arg(call, 1)) < 0 ? -errno : 0;
		mor_fd_close(&fd);
	}
	mor_found_fini(&found);
	return status;
}
