/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions lie in a directory that only this user can enter. Each has a socket, and a lock that its keeper
 * holds: so a socket without a keeper is known as such, and two keepers of one name are not possible.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/xdg.h"
#include "session/inside.h"

#define DIR_MODE 0700

/* ---- the directory ---- */

static bool is_ours_alone(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

/* XDG_RUNTIME_DIR as the specification wants it: ours, and closed to others. Else it is not used,
 * as after `su`. */
static int open_runtime(void)
{
	char *path = NULL;
	int fd = -1;

	if (mor_xdg_path(MOR_XDG_RUNTIME, NULL, &path, "%s", "") == 0)
		fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	mor_free(path);
	if (fd >= 0 && !is_ours_alone(fd))
		mor_fd_close(&fd);
	return fd;
}

static int open_below(int parent, const char *name, const char *shown, mortise_error *err)
{
	int fd = mor_dir_make_open(parent, name, DIR_MODE, 0, NULL);

	if (fd < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -fd, "the directory of sessions, %s", shown);
	if (is_ours_alone(fd))
		return fd;
	mor_fd_close(&fd);
	return mor_fail(err, MORTISE_EINVAL,
			"%s is the directory of sessions, but others can enter it or own it: remove it, or set "
			"XDG_RUNTIME_DIR",
			shown);
}

int mor_session_dir_open(mortise_error *err)
{
	int runtime = open_runtime(), tmp, fd;
	char name[32], shown[48];

	if (runtime >= 0) {
		fd = open_below(runtime, "mortise", "$XDG_RUNTIME_DIR/mortise", err);
		mor_fd_close(&runtime);
		return fd;
	}
	snprintf(name, sizeof(name), "mortise-%u", (unsigned)geteuid());
	snprintf(shown, sizeof(shown), "/tmp/%s", name);
	if ((tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "/tmp");
	fd = open_below(tmp, name, shown, err);
	mor_fd_close(&tmp);
	return fd;
}

/* ---- names ---- */

int mor_session_name_check(const char *name, mortise_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strlen(name);

	if (len == 0 || len > MOR_SESSION_NAME_MAX || strspn(name, allowed) != len || strchr(".-", *name))
		return mor_fail(err, MORTISE_EINVAL,
				"the name of a session has 1 to %d letters, digits, \".\", \"_\" or \"-\", and "
				"begins with a letter, a digit or \"_\"",
				MOR_SESSION_NAME_MAX);
	return 0;
}

/* Through the descriptor of the directory: its own name may be longer than a socket's address. */
static void fill_address(int dir, const char *name, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d/%s.sock", dir, name);
}

bool mor_session_peer_is_ours(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

int mor_session_connect(int dir, const char *name, int *ret_fd, mortise_error *err)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r = 0;
	struct sockaddr_un address;

	fill_address(dir, name, &address);
	if (fd < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "socket");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno == ENOENT || errno == ECONNREFUSED)
			r = mor_fail(err, MORTISE_ENOTFOUND,
				     "there is no session \"%s\": 'mortise session list' shows them, 'mortise "
				     "session start %s PLUGIN' starts one",
				     name, name);
		else
			r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "session %s", name);
	} else if (!mor_session_peer_is_ours(fd)) {
		r = mor_fail(err, MORTISE_EINVAL, "session %s is kept by another user", name);
	}
	if (r < 0)
		mor_fd_close(&fd);
	else
		*ret_fd = fd;
	return r;
}

/* ---- the seat ---- */

static void side_file(const struct mor_session_seat *seat, const char *suffix,
		      char out[MOR_SESSION_NAME_MAX + 8])
{
	snprintf(out, MOR_SESSION_NAME_MAX + 8, "%s%s", seat->name, suffix);
}

/* The file that the name leads to may be another by now: its last holder has removed it. */
static bool is_still_there(int lock, int dir, const char *file)
{
	struct stat held, named;

	return fstat(lock, &held) == 0 && fstatat(dir, file, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_dev == named.st_dev && held.st_ino == named.st_ino;
}

static int take_lock(struct mor_session_seat *seat, mortise_error *err)
{
	char file[MOR_SESSION_NAME_MAX + 8];

	side_file(seat, ".lock", file);
	for (;;) {
		seat->lock = openat(seat->dir, file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (seat->lock < 0)
			return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "session %s: %s", seat->name, file);
		if (flock(seat->lock, LOCK_EX | LOCK_NB) < 0)
			return mor_fail(err, MORTISE_EINPUT,
					"session %s runs already: 'mortise session stop %s' ends it",
					seat->name, seat->name);
		if (is_still_there(seat->lock, seat->dir, file))
			return 0;
		mor_fd_close(&seat->lock);
	}
}

static int open_listener(struct mor_session_seat *seat, mortise_error *err)
{
	char file[MOR_SESSION_NAME_MAX + 8];
	struct sockaddr_un address;

	side_file(seat, ".sock", file);
	unlinkat(seat->dir, file, 0); /* of a keeper that was killed: we have its lock */
	fill_address(seat->dir, seat->name, &address);
	seat->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (seat->listener < 0 || bind(seat->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(seat->listener, 64) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "session %s: its socket", seat->name);
	return 0;
}

int mor_session_seat_take(struct mor_session_seat *seat, int dir, const char *name, mortise_error *err)
{
	int r;

	*seat = (struct mor_session_seat){ .dir = dir, .lock = -1, .listener = -1 };
	snprintf(seat->name, sizeof(seat->name), "%s", name);
	if ((r = take_lock(seat, err)) < 0) {
		mor_fd_close(&seat->lock);
		mor_fd_close(&seat->dir);
		return r;
	}
	if ((r = open_listener(seat, err)) < 0)
		mor_session_seat_leave(seat);
	return r;
}

void mor_session_seat_leave(struct mor_session_seat *seat)
{
	char file[MOR_SESSION_NAME_MAX + 8];

	if (seat->lock >= 0) {
		side_file(seat, ".sock", file);
		unlinkat(seat->dir, file, 0);
		side_file(seat, ".lock", file);
		unlinkat(seat->dir, file, 0);
	}
	mor_fd_close(&seat->listener);
	mor_fd_close(&seat->lock);
	mor_fd_close(&seat->dir);
}
