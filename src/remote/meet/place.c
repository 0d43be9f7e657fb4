/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a plugin that listens, and the connection to it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/xdg.h"
#include "meet/meet.h"

#define SOCKET_NAME   "plugin.sock"
#define PARENT_MAX    40 /* bytes: names of others in the directory need room in the 107 of a socket's path */
#define ANCESTORS_MAX 1000

/* ---- the directory ---- */

int mor_meet_open(struct mor_meet *meet, const char *parent, mortise_error *err)
{
	MOR_CLEAN_TEXT char *runtime = NULL;
	size_t len;
	int r;

	*meet = (struct mor_meet){ .scratch = MOR_SCRATCH_INIT };
	if (!parent && mor_xdg_path(MOR_XDG_RUNTIME, NULL, &runtime, "%s", "") == MORTISE_ENOMEM)
		return mor_fail_memory(err);
	/* Libraries name their socket without a doubled slash: it must be the same text. */
	for (len = runtime ? strlen(runtime) : 0; len > 1 && runtime[len - 1] == '/'; len--)
		runtime[len - 1] = '\0';
	if (!parent && runtime && strlen(runtime) <= PARENT_MAX && access(runtime, W_OK | X_OK) == 0)
		parent = runtime;
	else if (!parent)
		parent = "/tmp";
	mor_scratch_sweep(parent);
	if ((r = mor_scratch_make(&meet->scratch, parent)) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, -r, "a directory for its socket in %.100s", parent);
	if ((size_t)snprintf(meet->socket, sizeof(meet->socket), "%s/%s", meet->scratch.path, SOCKET_NAME) <
	    sizeof(meet->socket))
		return 0;
	mor_meet_close(meet);
	return mor_fail(err, MORTISE_ESYSTEM, "%.100s: a path too long for a socket in it", parent);
}

void mor_meet_close(struct mor_meet *meet)
{
	mor_scratch_remove(&meet->scratch);
}

/* ---- who answers ---- */

/* The parent of a process; 0: it has none, or does not exist. The name in front may hold anything. */
static int parent_of(int pid)
{
	char path[40], *text = NULL, *after;
	size_t len;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (mor_fd_read_file(path, 4096, &text, &len) < 0)
		return 0;
	after = strrchr(text, ')');
	if (!after || sscanf(after, ") %*c %d", &parent) != 1)
		parent = 0;
	mor_free(text);
	return parent;
}

bool mor_meet_is_below(int pid, int root)
{
	for (unsigned depth = 0; pid > 0 && root > 0 && depth < ANCESTORS_MAX; depth++) {
		if (pid == root)
			return true;
		pid = parent_of(pid);
	}
	return false;
}

/* The process that called listen(). It may have ended since, if a child of it goes on: then nobody knows whose
 * child that is. */
static int check_peer(int fd, const char *path, const struct mor_meet_tree *tree, mortise_error *err)
{
	struct ucred who;
	socklen_t len = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", path);
	if (who.uid != geteuid())
		return mor_fail(err, MORTISE_EVIOLATION, "on its socket %s answers a process of user %u", path,
				who.uid);
	if (mor_meet_is_below(who.pid, tree->plugin) || mor_meet_is_below(who.pid, tree->guardian))
		return 0;
	return mor_fail(err, MORTISE_EVIOLATION,
			"on its socket %s answers process %d, which is not one of the plugin's", path, who.pid);
}

/* ---- the connection ---- */

/* The part of `path` below the directory: one name. NULL: it is elsewhere. */
static const char *name_in(const struct mor_meet *meet, const char *path)
{
	size_t len = strlen(meet->scratch.path);
	const char *name = path + len + 1;

	if (strncmp(path, meet->scratch.path, len) != 0 || path[len] != '/')
		return NULL;
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 ? name : NULL;
}

static int check_file(const struct mor_meet *meet, const char *path, mortise_error *err)
{
	const char *name = name_in(meet, path), *wrong = NULL;
	struct stat st;

	if (!name)
		return mor_fail(err, MORTISE_EVIOLATION,
				"wants to be met at %s: only a socket directly in its TMPDIR, %s, is used",
				path, meet->scratch.path);
	if (fstatat(meet->scratch.dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? mor_fail(err, MORTISE_ENOTFOUND, "%s does not exist", path) :
					 mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", path);
	if (S_ISLNK(st.st_mode))
		wrong = "is a link";
	else if (!S_ISSOCK(st.st_mode))
		wrong = "is not a socket";
	else if (st.st_uid != geteuid())
		wrong = "belongs to another user";
	return wrong ? mor_fail(err, MORTISE_EVIOLATION, "its socket %s %s", path, wrong) : 0;
}

/* By now the name may mean something else: connect() follows links. Who answers is checked after it. */
static int open_socket(const char *path, int *ret_fd, mortise_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r = 0;

	if (fd < 0)
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "a socket");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		if (errno == ECONNREFUSED)
			r = mor_fail(err, MORTISE_ECLOSED, "nobody listens on its socket %s", path);
		else if (errno == EAGAIN)
			r = mor_fail(err, MORTISE_EOVERLOAD, "accepts no connection on its socket %s", path);
		else if (errno == ENOENT)
			r = mor_fail(err, MORTISE_ENOTFOUND, "%s does not exist", path);
		else
			r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "its socket %s", path);
		mor_fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

int mor_meet_connect(const struct mor_meet *meet, const char *path, const struct mor_meet_tree *tree,
		     int *ret_fd, mortise_error *err)
{
	int fd = -1, r = check_file(meet, path, err);

	if (r == 0)
		r = open_socket(path, &fd, err);
	if (r == 0)
		r = check_peer(fd, path, tree, err);
	if (r < 0) {
		mor_fd_close(&fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}
