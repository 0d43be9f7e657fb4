/* What the files of this room share. Nobody outside includes it. */
#ifndef MOR_PROC_INSIDE_H
#define MOR_PROC_INSIDE_H

#include <limits.h>

#include "proc/proc.h"

/* ---- failures (diagnose.c) ---- */

/* Fills *failure (NULL is fine) with "path: text" and returns code. */
int mor_exec_fail(struct mor_exec_failure *failure, enum mor_proc_step step, int os_errno, int code, const char *path,
		  const char *format, ...) __attribute__((format(printf, 6, 7)));
/* exec said os_errno: finds out why by looking at the file. `path` is seen from the command's cwd. */
int mor_exec_diagnose(const struct mor_command *command, const char *path, int os_errno,
		      struct mor_exec_failure *failure);
void mor_exit_text(const struct mor_child_exit *how, char *out, size_t out_size);
/* What the dynamic loader's complaint means. false: the line is no such complaint. */
bool mor_loader_complaint(const char *line, char *out, size_t out_size);

/* ---- looking at files (resolve.c) ---- */

/* Where the child will find `path`, as seen from here. false: too long. */
bool mor_seen_from(const struct mor_command *command, const char *path, char out[PATH_MAX]);
bool mor_is_executable(const char *path);

/* The first line of a script. The kernel looks at no more than 256 bytes, and passes the whole rest of the
 * line as ONE argument. */
struct mor_shebang {
	char interpreter[256], argument[256];
};
/* false: no script, or not readable. */
bool mor_shebang_read(const char *path, struct mor_shebang *ret);

/* ---- stderr (stderr.c) ---- */

struct mor_stderr;
typedef void mor_stderr_fn(struct mor_stderr *err, struct mor_slice line);
struct mor_stderr {
	struct mor_watch watch;
	mor_stderr_fn *on_line;
	struct mor_stderr_keep *keep; /* made when the first byte comes: a quiet plugin costs nothing */
	uint64_t bytes;
	int fd;
};
/* Takes the descriptor over, also on failure. 0 or a status. */
int mor_stderr_start(struct mor_loop *loop, struct mor_stderr *err, int fd, mor_stderr_fn *on_line);
/* Reads what the pipe holds now, without waiting for EOF, and tells the unfinished line too. */
void mor_stderr_finish(struct mor_loop *loop, struct mor_stderr *err);
/* Stops and closes. What was kept stays until mor_stderr_fini(), for callers up the stack. */
void mor_stderr_stop(struct mor_stderr *err);
void mor_stderr_fini(struct mor_stderr *err);
const char *mor_stderr_last(const struct mor_stderr *err);

#endif
