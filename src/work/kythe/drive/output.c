/* SPDX-License-Identifier: Apache-2.0 */
/* The output file of an analysis: made before the record is handed out, read when it is done, used again if
 * that is safe. */
#include "kythe/drive/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"

/* A random name that nobody can have used: files that an analyzer puts beside its output cannot disturb
 * other units. */
static int name_output(struct worker *worker, mortise_error *err)
{
	struct mor_buf path = MOR_BUF_INIT;
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return mor_fail_errno(err, MORTISE_ESYSTEM, errno, "getrandom");
	mor_buf_printf(&path, "%s/%u-%016" PRIx64, worker->out_dir, worker->driver->outputs++, number);
	worker->output = mor_buf_detach(&path);
	return worker->output ? 0 : mor_fail_memory(err);
}

/* ---- used again ---- */

/* A write lease is given only while nobody else has the file open, mapped or in a pipe. If somebody opens it
 * at this moment, we get a signal. It must not be SIGIO, which would kill us. */
static bool nobody_else_has(int fd)
{
	bool alone = fcntl(fd, F_SETSIG, SIGURG) == 0 && fcntl(fd, F_SETLEASE, F_WRLCK) == 0;

	if (alone)
		fcntl(fd, F_SETLEASE, F_UNLCK);
	return alone;
}

static bool is_as_made(const struct worker *worker, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_mode == (S_IFREG | 0600) && st.st_nlink == 1 &&
	       st.st_ino == worker->output_inode;
}

/* A new file for each analysis would need a new inode each time. ext4 without a journal is slow at that
 * after many deletions: it steps over recently deleted inodes one by one. So the last file is emptied and
 * gets another name, unless an analyzer could still write to it. It is closed before it is written to;
 * otherwise ext4 would flush it to the disk at the next close. */
static bool use_again(struct worker *worker)
{
	bool usable;
	int fd;

	if (!worker->last_path || rename(worker->last_path, worker->output) < 0)
		return false;
	worker->last_path = mor_free(worker->last_path);
	fd = open(worker->output, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	usable = fd >= 0 && is_as_made(worker, fd) && nobody_else_has(fd) && ftruncate(fd, 0) == 0;
	if (!usable)
		unlink(worker->output);
	mor_fd_close(&fd);
	return usable;
}

void mor_output_drop_last(struct worker *worker)
{
	mor_fd_close(&worker->last_output);
	if (worker->last_path)
		unlink(worker->last_path);
	worker->last_path = mor_free(worker->last_path);
}

static int create_output(struct worker *worker, mortise_error *err)
{
	int fd = open(worker->output, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0 || fchmod(fd, 0600) < 0 || fstat(fd, &st) < 0) {
		mor_fail_errno(err, MORTISE_ESYSTEM, errno, "%s", worker->output);
		mor_fd_close(&fd);
		return MORTISE_ESYSTEM;
	}
	worker->output_inode = st.st_ino;
	mor_fd_close(&fd);
	return 0;
}

int mor_output_make(struct worker *worker, mortise_error *err)
{
	bool again;
	int r = name_output(worker, err);

	if (r < 0)
		return r;
	mor_fd_close(&worker->last_output); /* the signal would go to another thread */
	again = use_again(worker);
	mor_output_drop_last(worker);
	return again ? 0 : create_output(worker, err);
}

void mor_output_forget(struct worker *worker)
{
	if (worker->output)
		unlink(worker->output);
	worker->output = mor_free(worker->output);
}

/* ---- done ---- */

/* The size of the output at done counts. Later bytes do not. */
static int open_output(struct worker *worker, struct mor_result_output *ret, mortise_error *err)
{
	struct stat st;

	ret->form = worker->form;
	ret->fd = open(worker->output, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (ret->fd < 0)
		return mor_fail_errno(err, MORTISE_EINPUT, errno, "its output");
	if (fstat(ret->fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		mor_fd_close(&ret->fd);
		return mor_fail(err, MORTISE_EINPUT, "its output is not a file any more");
	}
	ret->size = (uint64_t)st.st_size;
	return 0;
}

int mor_output_keep(struct worker *worker, struct mor_result_output *ret, mortise_error *err)
{
	int r = open_output(worker, ret, err);

	r = r ? r : mor_result_done(worker->driver->result, worker->item, ret, err);
	if (r < 0) {
		mor_fd_close(&ret->fd);
		return r;
	}
	mor_output_drop_last(worker);
	worker->last_output = ret->fd;
	worker->last_size = ret->size;
	worker->last_path = mor_take(&worker->output);
	return 0;
}

void mor_output_mind_last(struct worker *worker)
{
	struct stat st;

	if (worker->last_output >= 0 && fstat(worker->last_output, &st) == 0 &&
	    (uint64_t)st.st_size > worker->last_size)
		mor_driver_warn(worker->driver,
				"%s: wrote %" PRIu64
				" bytes to an output after it had said \"done\"; they do not count",
				mortise_plugin_name(worker->plugin), (uint64_t)st.st_size - worker->last_size);
	mor_fd_close(&worker->last_output);
}
