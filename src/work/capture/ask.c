/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a compiler which files it reads: runs it with -M and takes the answer from a file in memory. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "capture/capture.h"

#define ANSWER_LIMIT ((size_t)64 << 20)

extern char **environ;

/* Signals that we catch or ignore get their default action again. All our descriptors are close-on-exec. */
static int spawn_compiler(struct mor_capture_asking *asking, const char *directory, char **argv)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t ours;
	int r;

	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	if (posix_spawn_file_actions_init(&files))
		return ENOMEM;
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&files);
		return ENOMEM;
	}
	r = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	r = r ? r : posix_spawn_file_actions_adddup2(&files, asking->out, STDOUT_FILENO);
	r = r ? r : posix_spawn_file_actions_adddup2(&files, asking->err, STDERR_FILENO);
	r = r ? r : posix_spawn_file_actions_addchdir_np(&files, directory);
	r = r ? r : posix_spawnattr_setsigdefault(&attributes, &ours);
	r = r ? r : posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	r = r ? r : posix_spawnp(&asking->pid, argv[0], &files, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return r;
}

int mor_capture_asking_start(struct mor_capture_asking *asking, const char *directory,
			     const char *const *arguments, size_t count, mortise_error *err)
{
	MOR_CLEAN(mor_strings) struct mor_strings command = { 0 };
	int r = mor_depends_command(arguments, count, &command);

	*asking = (struct mor_capture_asking){ .out = -1, .err = -1 };
	if (r < 0)
		return mor_fail_memory(err);
	asking->out = memfd_create("kzip-out", MFD_CLOEXEC);
	asking->err = memfd_create("kzip-err", MFD_CLOEXEC);
	if (asking->out < 0 || asking->err < 0)
		r = mor_fail_errno(err, MORTISE_ESYSTEM, errno, "memfd_create");
	else if ((r = spawn_compiler(asking, directory, command.item)))
		r = mor_fail_errno(err, MORTISE_EEXEC, r, "cannot run %s in %s", command.item[0], directory);
	if (r < 0) {
		asking->pid = 0;
		mor_capture_asking_fini(asking);
	}
	return r;
}

void mor_capture_asking_fini(struct mor_capture_asking *asking)
{
	if (asking->pid > 0) {
		kill(asking->pid, SIGKILL);
		while (waitpid(asking->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	asking->pid = 0;
	mor_fd_close(&asking->out);
	mor_fd_close(&asking->err);
}

static int slurp_answer(int fd, struct mor_buf *out)
{
	ssize_t n;

	out->limit = ANSWER_LIMIT;
	do {
		if (mor_buf_reserve(out, 65536) < 0)
			return out->status;
		n = pread(fd, out->data + out->len, 65536, (off_t)out->len);
		out->len += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? MORTISE_ESYSTEM : 0;
}

/* From all that the compiler printed: the first line with an error, else the first line. */
static struct mor_slice telling_line(struct mor_slice text)
{
	struct mor_slice first = { 0 };

	while (text.len) {
		struct mor_slice line = mor_slice_cut(&text, '\n');

		if (memmem(line.ptr, line.len, "error", 5))
			return line;
		if (!first.len)
			first = line;
	}
	return first;
}

static int refused_answer(const struct mor_capture_asking *asking, int status, mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf said = MOR_BUF_INIT;
	char line[300], how[60];

	slurp_answer(asking->err, &said);
	mor_printable(telling_line(mor_buf_view(&said)), line, sizeof(line));
	if (WIFSIGNALED(status))
		snprintf(how, sizeof(how), "was ended by signal %d", WTERMSIG(status));
	else
		snprintf(how, sizeof(how), "ended with %d", WEXITSTATUS(status));
	return mor_fail(err, MORTISE_EINPUT, "the compiler %s when asked which files it reads%s%s", how,
			*line ? ": " : "", line);
}

int mor_capture_asking_result(struct mor_capture_asking *asking, int status, struct mor_strings *ret,
			      mortise_error *err)
{
	MOR_CLEAN(mor_buf) struct mor_buf rule = MOR_BUF_INIT;
	int r;

	asking->pid = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return refused_answer(asking, status, err);
	if ((r = slurp_answer(asking->out, &rule)) < 0)
		return mor_fail(err, r, "the compiler's answer cannot be read: %s", mortise_status_text(r));
	return mor_depends_parse(mor_buf_view(&rule), ret, err);
}

const char *mor_capture_asked_source(const struct mor_strings *files, const char *directory, const char *file)
{
	MOR_CLEAN_TEXT char *wanted = mor_path_cleaned(directory, file);

	for (size_t i = 0; wanted && i < files->count; i++) {
		MOR_CLEAN_TEXT char *have = mor_path_cleaned(directory, files->item[i]);

		if (have && strcmp(have, wanted) == 0)
			return files->item[i];
	}
	return NULL;
}
