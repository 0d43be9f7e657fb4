/* SPDX-License-Identifier: Apache-2.0 */
/* See checked.h. */
#include "jail/checked.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/dir.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/policy.h"

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x1000
#endif
#define PAGE 4096u

static int64_t time_ns(struct timespec time)
{
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static bool is_same(int fd, const struct mor_plan_identity *was)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_dev == was->device &&
	       st.st_ino == was->inode && (uint64_t)st.st_size == was->size &&
	       time_ns(st.st_mtim) == was->mtime_ns && time_ns(st.st_ctim) == was->ctime_ns;
}

/* ---- the program ---- */

static const struct mor_op_file *find_file(const struct mor_plan *plan, const char *path)
{
	for (const struct mor_plan_op *op = NULL; (op = mor_plan_next(plan, MOR_OP_FILE, op));) {
		const struct mor_op_file *file = mor_plan_payload(op);

		if (strcmp(file->path, path) == 0 && !(file->flags & MOR_OP_FILE_LINK))
			return file;
	}
	return NULL;
}

/* The part of a path below the plugin's directory; NULL: it is elsewhere. */
static const char *below_checked(const struct mor_plan *plan, const char *path)
{
	const char *rest = mor_path_below(plan->checked, path);

	return rest && *rest ? rest : NULL;
}

/* Does a word of the command mean a file of the plugin? By its name: what lies there now may be a link that
 * leads away. *ret_file: the one that was checked, or NULL. */
static bool is_meant(const struct mor_plan *plan, const char *word, const struct mor_op_file **ret_file)
{
	MOR_CLEAN(mor_buf) struct mor_buf name = MOR_BUF_INIT;
	const char *rest;
	char here[PATH_MAX];

	*ret_file = NULL;
	if (!getcwd(here, sizeof(here)) || mor_path_clean(here, word, &name) < 0 ||
	    mor_buf_byte(&name, '\0') < 0)
		return true; /* when in doubt, it must be one that was checked */
	rest = below_checked(plan, name.data);
	if (rest)
		*ret_file = find_file(plan, rest);
	return rest;
}

/* The one that an open file was when it was checked. */
static const struct mor_op_file *find_open(const struct mor_plan *plan, int fd, bool *ret_inside)
{
	char link[32], name[PATH_MAX];
	const char *rest;
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, name, sizeof(name) - 1);
	*ret_inside = len < 0;
	if (len < 0)
		return NULL;
	name[len] = '\0';
	rest = below_checked(plan, name);
	*ret_inside = rest;
	return rest ? find_file(plan, rest) : NULL;
}

/* As long as the handle is open, a process that opens the file to write waits; execve takes over from there.
 * Not on every file system: then a moment is left between the comparison and execve. No signal comes of it. */
static int hold_file(int fd)
{
	if (fcntl(fd, F_SETLEASE, F_RDLCK) < 0)
		return errno == EAGAIN ? -ETXTBSY : 0; /* somebody writes it */
	(void)fcntl(fd, F_SETOWN, 0);
	return 0;
}

/* What an interpreter is told to run. It opens it a moment later by its name. */
static bool are_words_same(const struct mor_plan *plan)
{
	for (size_t i = 1; i < plan->argc; i++) {
		const struct mor_op_file *file;
		bool same;
		int fd;

		if (!is_meant(plan, plan->argv[i], &file) || !file)
			continue; /* not a file of the plugin, or one that it is to write */
		fd = open(plan->argv[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
		same = fd >= 0 && is_same(fd, &file->identity);
		mor_fd_close(&fd);
		if (!same)
			return false;
	}
	return true;
}

int mor_checked_open(const struct mor_plan *plan)
{
	const struct mor_op_file *file, *meant;
	char head[SELFMAG];
	bool inside;
	int fd;

	if (!plan->checked || plan->level.level == MOR_LEVEL_T1)
		return -1;
	if (!are_words_same(plan))
		return -2;
	if ((fd = open(plan->argv[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
		return -1; /* execve will report it */
	file = find_open(plan, fd, &inside);
	if (!file && !inside && !is_meant(plan, plan->argv[0], &meant)) {
		close(fd); /* a program of the machine's */
		return -1;
	}
	if (!file || hold_file(fd) < 0 || !is_same(fd, &file->identity)) {
		close(fd);
		return -2;
	}
	if (pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) && memcmp(head, ELFMAG, SELFMAG) == 0)
		return fd;
	close(fd); /* its interpreter opens it by its name */
	return -1;
}

/* The filter of a confined plugin knows execve only. */
void mor_checked_execute(int fd, const struct mor_plan *plan)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (plan->level.level != MOR_LEVEL_GUARDED)
		execve(link, plan->argv, plan->env);
	else
		syscall(SYS_execveat, fd, "", plan->argv, plan->env, AT_EMPTY_PATH);
}

/* ---- the copy ---- */

uint64_t mor_checked_size(const struct mor_plan *plan)
{
	uint64_t bytes = 0, files = 0;

	for (const struct mor_plan_op *op = NULL; (op = mor_plan_next(plan, MOR_OP_FILE, op));) {
		const struct mor_op_file *file = mor_plan_payload(op);

		if (file->identity.size > MOR_CHECKED_COPIED_BYTES)
			return 0;
		bytes += (file->identity.size + PAGE - 1) / PAGE * PAGE;
		files++;
	}
	/* directories take room of their own, and each name may need some */
	return bytes > MOR_CHECKED_COPIED_BYTES || files > MOR_CHECKED_COPIED_FILES ?
		       0 :
		       bytes + (files + 64) * PAGE;
}

static int open_file(int from, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, from, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int make_parents(int onto, const char *path)
{
	const char *slash = strrchr(path, '/');
	char parent[PATH_MAX];

	if (!slash)
		return 0;
	if ((size_t)(slash - path) >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = '\0';
	return mor_dir_make_all(onto, parent, 0755);
}

/* Not more than it had when it was compared: one that grows is seen afterwards. */
static int copy_bytes(int in, int out, uint64_t size)
{
	static char block[64 * 1024];
	ssize_t n = 0;
	int status = 0;

	for (uint64_t left = size; status == 0 && left > 0; left -= (uint64_t)n) {
		n = read(in, block, left < sizeof(block) ? (size_t)left : sizeof(block));
		if (n <= 0)
			return n < 0 ? -errno : -ESTALE;
		status = mor_fd_write_all(out, block, (size_t)n);
	}
	return status;
}

static int copy_file(const struct mor_op_file *file, int in, int onto)
{
	mode_t mode = file->flags & MOR_OP_FILE_EXECUTABLE ? 0755 : 0644;
	int out = openat(onto, file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode), status;

	if (out < 0)
		return -errno;
	status = copy_bytes(in, out, file->identity.size);
	close(out);
	return status;
}

/* Before and after: a rewrite in between cannot keep the times. */
static int take_file(const struct mor_op_file *file, int from, int onto)
{
	int in = open_file(from, file->path), status;

	if (in < 0)
		return in == -EMFILE || in == -ENFILE || in == -ENOMEM ? in : -ESTALE;
	status = is_same(in, &file->identity) ? 0 : -ESTALE;
	if (status == 0 && onto >= 0)
		status = copy_file(file, in, onto);
	if (status == 0 && !is_same(in, &file->identity))
		status = -ESTALE;
	close(in);
	return status;
}

int mor_checked_take(const struct mor_plan *plan, int from, int onto, const char **ret_name)
{
	int status = 0;

	for (const struct mor_plan_op *op = NULL; status == 0 && (op = mor_plan_next(plan, MOR_OP_FILE, op));) {
		const struct mor_op_file *file = mor_plan_payload(op);
		bool link = file->flags & MOR_OP_FILE_LINK;

		*ret_name = file->path;
		if (onto >= 0)
			status = make_parents(onto, file->path);
		if (status == 0 && !link)
			status = take_file(file, from, onto);
		else if (status == 0 && onto >= 0 &&
			 symlinkat(file->path + strlen(file->path) + 1, onto, file->path) < 0)
			status = -errno;
	}
	return status;
}
