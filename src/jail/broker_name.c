/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, moves and removes names for the plugin. */
#include <errno.h>
#include <linux/fs.h>
#include <stdio.h>
#include <unistd.h>

#include "jail/broker.h"

/* The parent and the last part of the name behind an argument. */
static int find_name(struct mor_syscall *call, int dirfd, uint64_t address, struct mor_found *found)
{
	char path[PATH_MAX];
	int status = mor_syscall_path(call, address, path);

	if (status < 0)
		return status;
	status = mor_find(call, dirfd, path, MOR_FIND_PARENT, 0, found);
	return status < 0 ? mor_find_failed(call, dirfd, path, true, status) : status;
}

/* S_IFREG and the like; 0: there is nothing of that name. */
static mode_t type_of(const struct mor_found *found)
{
	struct stat st;

	return fstatat(found->parent, found->name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_mode & S_IFMT : 0;
}

static bool present(const struct mor_found *found)
{
	return type_of(found) != 0;
}

/* A thing of this type gets a name. */
static enum mor_write_kind placing(mode_t type)
{
	return type == S_IFLNK || type == S_IFDIR ? MOR_WRITE_GRAFT : MOR_WRITE_PLACE;
}

/* ---- making ---- */

/* A new file that cannot be noted must be removed again. */
static int made(struct mor_syscall *call, const struct mor_found *found, int flags, const char *source)
{
	int status = mor_undo_made(call->broker->undo, found->where, found->parent, found->name, source);

	if (status < 0)
		unlinkat(found->parent, found->name, flags);
	return status;
}

int mor_on_mkdir(struct mor_syscall *call)
{
	struct mor_found found;
	int status = find_name(call, mor_syscall_dirfd(call), mor_syscall_arg_at(call, 0), &found);

	if (status < 0)
		return status == -EINVAL ? -EEXIST : status; /* "/", "." and ".." always exist */
	/* An existing name is no attempt to make one: programs that make a whole path must not fail at its
	 * beginning. */
	status = present(&found) ? -EEXIST : mor_syscall_judge_write(call, found.where, MOR_WRITE_MKDIR);
	if (status == 0)
		status = mor_undo_before_make(call->broker->undo, found.where);
	if (status == 0) {
		mor_syscall_borrow_umask(call);
		status = mkdirat(found.parent, found.name, (mode_t)mor_syscall_arg_at(call, 1) & 0777) < 0 ?
				 -errno :
				 made(call, &found, AT_REMOVEDIR, NULL);
	}
	mor_found_fini(&found);
	return status;
}

int mor_on_mknod(struct mor_syscall *call)
{
	struct mor_found found;
	mode_t mode = (mode_t)mor_syscall_arg_at(call, 1), type = mode & S_IFMT;
	int fd, status = find_name(call, mor_syscall_dirfd(call), mor_syscall_arg_at(call, 0), &found);

	if (status < 0)
		return status == -EINVAL ? -EEXIST : status;
	status = mor_syscall_judge_write(call, found.where, MOR_WRITE_PLACE);
	if (status == 0 && (type == S_IFCHR || type == S_IFBLK))
		status = mor_syscall_violation(call, found.where, MOR_FORBID_DEVICE);
	else if (status == 0 && type != 0 && type != S_IFREG) /* nobody could open them: see open */
		status = -EPERM;
	if (status == 0)
		status = mor_undo_before_make(call->broker->undo, found.where);
	if (status == 0) {
		mor_syscall_borrow_umask(call);
		fd = openat(found.parent, found.name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW,
			    mode & 0777);
		status = fd < 0 ? -errno : close(fd) < 0 ? -errno : made(call, &found, 0, NULL);
	}
	mor_found_fini(&found);
	return status;
}

/* A link may have any text: the broker judges the place where it leads when it is opened. */
int mor_on_symlink(struct mor_syscall *call)
{
	char text[PATH_MAX];
	struct mor_found found;
	int status = mor_syscall_text(call, mor_syscall_arg(call, 0), text);

	if (status < 0)
		return status;
	status = find_name(call, call->at ? (int)mor_syscall_arg(call, 1) : AT_FDCWD,
			   mor_syscall_arg_at(call, 1), &found);
	if (status < 0)
		return status == -EINVAL ? -EEXIST : status;
	status = mor_syscall_judge_write(call, found.where, placing(S_IFLNK));
	if (status == 0)
		status = mor_undo_before_make(call->broker->undo, found.where);
	if (status == 0)
		status = symlinkat(text, found.parent, found.name) < 0 ? -errno : made(call, &found, 0, NULL);
	mor_found_fini(&found);
	return status;
}

/* ---- removing ---- */

static int remove_found(struct mor_syscall *call, const struct mor_found *found, int flags)
{
	struct mor_undo *undo = call->broker->undo;
	struct mor_undo_mark mark = mor_undo_mark(undo);
	struct mor_undo_look look = { 0 };
	int status = mor_undo_before_remove(undo, found->where, found->parent, found->name);

	if (status == 0 && mor_undo_covers(undo, found->where))
		status = mor_undo_look(found->parent, found->name, &look);
	if (status < 0)
		return status;
	if (unlinkat(found->parent, found->name, flags) < 0) {
		status = -errno;
		mor_undo_take_back(undo, mark);
		return status;
	}
	mor_undo_removed(undo, &look.id, found->where);
	return 0;
}

static int remove_name(struct mor_syscall *call, int dirfd, uint64_t address, int flags)
{
	struct mor_found found;
	int status;

	if (flags & ~AT_REMOVEDIR)
		return -EINVAL;
	if ((status = find_name(call, dirfd, address, &found)) < 0)
		return status == -EINVAL ? -EBUSY : status;
	if (!present(&found))
		status = -ENOENT;
	else if (found.slash && !(flags & AT_REMOVEDIR))
		status = -ENOTDIR;
	else if (flags & AT_REMOVEDIR && mor_found_is_full(call, &found))
		status = -ENOTEMPTY;
	else
		status = mor_syscall_judge_write(call, found.where, MOR_WRITE_REMOVE);
	if (status == 0)
		status = remove_found(call, &found, flags);
	mor_found_fini(&found);
	return status;
}

int mor_on_rmdir(struct mor_syscall *call)
{
	return remove_name(call, AT_FDCWD, mor_syscall_arg(call, 0), AT_REMOVEDIR);
}

int mor_on_unlink(struct mor_syscall *call)
{
	return remove_name(call, AT_FDCWD, mor_syscall_arg(call, 0), 0);
}

int mor_on_unlinkat(struct mor_syscall *call)
{
	return remove_name(call, (int)mor_syscall_arg(call, 0), mor_syscall_arg(call, 1),
			   (int)mor_syscall_arg(call, 2));
}

/* ---- moving and linking ---- */

static int move_found(struct mor_syscall *call, const struct mor_found *from, const struct mor_found *to,
		      unsigned flags)
{
	struct mor_undo *undo = call->broker->undo;
	struct mor_undo_mark mark = mor_undo_mark(undo);
	struct mor_undo_look replaced = { 0 };
	int status =
		undo ? mor_undo_before_move(undo,
					    &(struct mor_undo_name){ from->where, from->name, from->parent },
					    &(struct mor_undo_name){ to->where, to->name, to->parent }, flags) :
		       0;

	if (status < 0)
		return status;
	if (undo && mor_undo_look(to->parent, to->name, &replaced) < 0)
		replaced = (struct mor_undo_look){ 0 };
	if (renameat2(from->parent, from->name, to->parent, to->name, flags) < 0) {
		status = -errno;
		mor_undo_take_back(undo, mark);
		return status;
	}
	if (!(flags & RENAME_EXCHANGE))
		mor_undo_removed(undo, &replaced.id, to->where);
	mor_undo_moved(undo, from->where, to->where, flags);
	return 0;
}

/* One of the two ways of a move: a thing of this type from here to there. */
static int judge_way(struct mor_syscall *call, const struct mor_found *from, mode_t type,
		     const struct mor_found *to)
{
	int status = mor_syscall_judge_write(call, to->where, placing(type));

	if (status < 0 || type != S_IFDIR)
		return status;
	return mor_paths_together(call->broker->paths, from->where, to->where) ?
		       mor_found_judge_tree(call, from) :
		       -EXDEV;
}

/* Both ends must be writable, and neither may contain a protected name: moving .git would move its hooks. */
static int move(struct mor_syscall *call, const struct mor_found *from, const struct mor_found *to,
		unsigned flags)
{
	mode_t type = type_of(from), other = type_of(to);
	int status;

	if (!type)
		return -ENOENT;
	status = mor_syscall_judge_write(call, from->where, MOR_WRITE_PLACE);
	if (status == 0)
		status = judge_way(call, from, type, to);
	if (status == 0 && flags & RENAME_EXCHANGE && other)
		status = judge_way(call, to, other, from);
	return status < 0 ? status : move_found(call, from, to, flags);
}

static int rename_names(struct mor_syscall *call, int from_dir, uint64_t from_address, int to_dir,
			uint64_t to_address, unsigned flags)
{
	struct mor_found from, to;
	int status;

	if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	if ((status = find_name(call, from_dir, from_address, &from)) < 0)
		return status == -EINVAL ? -EBUSY : status;
	status = find_name(call, to_dir, to_address, &to);
	if (status == 0) {
		status = move(call, &from, &to, flags);
		mor_found_fini(&to);
	}
	mor_found_fini(&from);
	return status;
}

int mor_on_rename(struct mor_syscall *call)
{
	return rename_names(call, mor_syscall_dirfd(call), mor_syscall_arg_at(call, 0),
			    call->at ? (int)mor_syscall_arg(call, 2) : AT_FDCWD,
			    mor_syscall_arg(call, call->at ? 3 : 1), 0);
}

int mor_on_renameat2(struct mor_syscall *call)
{
	return rename_names(call, (int)mor_syscall_arg(call, 0), mor_syscall_arg(call, 1),
			    (int)mor_syscall_arg(call, 2), mor_syscall_arg(call, 3),
			    (unsigned)mor_syscall_arg(call, 4));
}

static int find_source(struct mor_syscall *call, int dirfd, uint64_t address, int flags,
		       struct mor_found *found)
{
	char path[PATH_MAX];
	int status = mor_syscall_path(call, address, path);

	if (status < 0)
		return status;
	if (!*path && flags & AT_EMPTY_PATH)
		return mor_find_fd(call, dirfd, found);
	status = mor_find(call, dirfd, path, flags & AT_SYMLINK_FOLLOW ? 0 : MOR_FIND_NOFOLLOW, 0, found);
	return status < 0 ? mor_find_failed(call, dirfd, path, true, status) : status;
}

/* The source must be writable as well, because it will be under its new name. */
static int link_names(struct mor_syscall *call, int from_dir, uint64_t from_address, int to_dir,
		      uint64_t to_address, int flags)
{
	struct mor_found from, to;
	char text[16];
	int status;

	if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if ((status = find_source(call, from_dir, from_address, flags, &from)) < 0)
		return status;
	status = mor_syscall_judge_write(call, from.where, MOR_WRITE_PLACE);
	if (status == 0)
		status = find_name(call, to_dir, to_address, &to);
	if (status == 0) {
		status = mor_syscall_judge_write(call, to.where, placing(from.st.st_mode & S_IFMT));
		if (status == 0 && mor_undo_covers(call->broker->undo, from.where) !=
					   mor_undo_covers(call->broker->undo, to.where))
			status = -EXDEV; /* like between two file systems: otherwise it could be changed
					  * where nothing is noted */
		if (status == 0)
			status = mor_undo_before_make(call->broker->undo, to.where);
		if (status == 0)
			status = linkat(call->broker->own_fds, mor_handle_number(from.fd, text), to.parent,
					to.name, AT_SYMLINK_FOLLOW) < 0 ?
					 -errno :
					 made(call, &to, 0, from.where);
		mor_found_fini(&to);
	}
	mor_found_fini(&from);
	return status == -EINVAL ? -EEXIST : status;
}

int mor_on_link(struct mor_syscall *call)
{
	return link_names(call, AT_FDCWD, mor_syscall_arg(call, 0), AT_FDCWD, mor_syscall_arg(call, 1), 0);
}

int mor_on_linkat(struct mor_syscall *call)
{
	return link_names(call, (int)mor_syscall_arg(call, 0), mor_syscall_arg(call, 1),
			  (int)mor_syscall_arg(call, 2), mor_syscall_arg(call, 3),
			  (int)mor_syscall_arg(call, 4));
}
