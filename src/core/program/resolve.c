/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a command to what exec gets: PATH, interpreters by suffix, and a look at a script's first line.
 *
 * Paths that go into argv are as the child will see them, after its chdir; what we look at ourselves goes
 * through mor_program_seen_from().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/text.h"
#include "program/inside.h"

#define PYTHON       "/usr/bin/python3"
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

/* ---- looking at files ---- */

bool mor_program_seen_from(const struct mor_command *command, const char *path, char out[PATH_MAX])
{
	bool joined = command->cwd && path[0] != '/';
	int n = snprintf(out, PATH_MAX, "%s%s%s", joined ? command->cwd : "", joined ? "/" : "", path);

	return n < PATH_MAX;
}

bool mor_program_is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0;
}

static bool child_can_run(const struct mor_command *command, const char *path)
{
	char seen[PATH_MAX];

	return mor_program_seen_from(command, path, seen) && mor_program_is_executable(seen);
}

static bool is_there(const struct mor_command *command, const char *path)
{
	char seen[PATH_MAX];

	return mor_program_seen_from(command, path, seen) && access(seen, F_OK) == 0;
}

/* ---- PATH ---- */

static const char *search_path(const struct mor_command *command)
{
	const char *const *env = command->env ? command->env : (const char *const *)environ;

	for (; env && *env; env++) {
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	}
	return DEFAULT_PATH;
}

/* RESOLVED: in `out`. */
static enum mor_shim look_behind(const struct mor_command *command, const char *program, char out[PATH_MAX])
{
	return command->no_shims ? mor_program_behind_shim(command, program, out) : MOR_SHIM_NONE;
}

/* Like execvp(), with the PATH of the child. 0, -ENOENT, or -EACCES with the file that is not executable in
 * `out`. */
static int find_in_path(const struct mor_command *command, const char *name, char out[PATH_MAX])
{
	const char *dir = search_path(command);
	char candidate[PATH_MAX];
	int r = -ENOENT;

	for (;;) {
		size_t len = strcspn(dir, ":");
		/* An empty entry means the current directory. "./" makes sure that the result has a slash. */
		int n = len ? snprintf(candidate, PATH_MAX, "%.*s/%s", (int)len, dir, name) :
			      snprintf(candidate, PATH_MAX, "./%s", name);

		if (n < PATH_MAX && child_can_run(command, candidate)) {
			enum mor_shim shim = look_behind(command, candidate, out);

			if (shim == MOR_SHIM_NONE)
				memcpy(out, candidate, (size_t)n + 1);
			if (shim != MOR_SHIM_EMPTY)
				return 0;
		}
		if (n < PATH_MAX && r == -ENOENT && is_there(command, candidate)) {
			memcpy(out, candidate, (size_t)n + 1);
			r = -EACCES;
		}
		if (!dir[len])
			return r;
		dir += len + 1;
	}
}

/* ---- interpreters ---- */

enum language { NO_LANGUAGE, PYTHON_FILE, NODE_FILE };

static enum language language_of(const char *path)
{
	static const struct {
		const char *suffix;
		enum language language;
	} table[] = {
		{ ".py", PYTHON_FILE }, { ".js", NODE_FILE }, { ".mjs", NODE_FILE }, { ".cjs", NODE_FILE }
	};
	const char *dot = strrchr(path, '.');

	for (size_t i = 0; dot && i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(dot, table[i].suffix) == 0)
			return table[i].language;
	}
	return NO_LANGUAGE;
}

/* The system's Python is preferred to the one in PATH: a pyenv shim costs 0.1 to 0.2 s per start. */
static int find_python(const struct mor_command *command, char out[PATH_MAX])
{
	if (!mor_program_is_executable(PYTHON))
		return find_in_path(command, "python3", out);
	memcpy(out, PYTHON, sizeof(PYTHON));
	return 0;
}

/* `#!/home/me/venv/bin/python` is a choice, because imports depend on it; `#!/usr/bin/env python3` is not. */
static bool python_by_shebang(const char *seen, char out[PATH_MAX])
{
	struct mor_shebang line;
	const char *name;

	if (!mor_shebang_read(seen, &line) || line.interpreter[0] != '/')
		return false;
	name = mor_base_name(line.interpreter);
	if (strncmp(name, "python", 6) != 0 && strncmp(name, "pypy", 4) != 0)
		return false;
	if (!mor_program_is_executable(line.interpreter))
		return false;
	memcpy(out, line.interpreter, strlen(line.interpreter) + 1);
	return true;
}

static int find_interpreter(const struct mor_command *command, enum language language, const char *seen,
			    char out[PATH_MAX], struct mor_exec_failure *failure)
{
	int r;

	if (language == PYTHON_FILE)
		r = python_by_shebang(seen, out) ? 0 : find_python(command, out);
	else
		r = find_in_path(command, "node", out);
	if (r == 0)
		return 0;
	return mor_exec_fail(failure, MOR_STEP_RESOLVE, -r, MORTISE_EEXEC, seen,
			     "needs %s, which is not in PATH", language == PYTHON_FILE ? "python3" : "node");
}

/* ---- a script's first line ---- */

static ssize_t read_head(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = pread(fd, out, room, 0);
	mor_fd_close(&fd);
	return n;
}

static size_t trimmed_len(const char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
		len--;
	return len;
}

bool mor_shebang_read(const char *path, struct mor_shebang *ret)
{
	char head[256] = "";
	ssize_t n = read_head(path, head, sizeof(head) - 1);
	const char *name, *argument;
	size_t len;

	if (n < 2 || memcmp(head, "#!", 2) != 0)
		return false;
	head[2 + strcspn(head + 2, "\n")] = '\0';
	name = head + 2 + strspn(head + 2, " \t");
	len = strcspn(name, " \t");
	if (len == 0)
		return false;
	argument = name + len + strspn(name + len, " \t");
	*ret = (struct mor_shebang){ 0 };
	memcpy(ret->interpreter, name, len);
	memcpy(ret->argument, argument, trimmed_len(argument, strlen(argument)));
	return true;
}

/* The program that `#!/usr/bin/env NAME` runs; NULL if env has options or assignments. */
static const char *env_name(const struct mor_shebang *line)
{
	const char *name = line->argument;

	if (strcmp(mor_base_name(line->interpreter), "env") != 0 || !*name || *name == '-' || strchr(name, '='))
		return NULL;
	return name;
}

/* `missing` is what the first line asks for; `by_env`: env would search for it. */
static int no_interpreter(const char *seen, const char *missing, bool by_env, struct mor_exec_failure *failure)
{
	size_t len = strlen(missing);
	bool cr = missing[len - 1] == '\r';
	char shown[64];

	mor_excerpt((struct mor_slice){ missing, len - cr }, shown, sizeof(shown));
	if (cr)
		return mor_exec_fail(failure, MOR_STEP_RESOLVE, ENOENT, MORTISE_EEXEC, seen,
				     "its first line ends in a carriage return (Windows line ends), so "
				     "\"%s\\r\" is looked for: sed -i 's/\\r$//' it",
				     shown);
	if (by_env && strpbrk(missing, " \t"))
		return mor_exec_fail(failure, MOR_STEP_RESOLVE, ENOENT, MORTISE_EEXEC, seen,
				     "its first line makes env look for a program called \"%s\": write env -S",
				     shown);
	return mor_exec_fail(failure, MOR_STEP_RESOLVE, ENOENT, MORTISE_EEXEC, seen,
			     "its interpreter %s (named in its first line) %s", shown,
			     by_env ? "is not in PATH" : "does not exist or is not executable");
}

/* If the interpreter is missing, exec says "No such file" about a file that exists; env would run and end
 * with 127. We report both before the start. A carriage return after an argument is left to the interpreter:
 * some (perl) accept it. */
static int check_shebang(const struct mor_command *command, const char *seen, struct mor_exec_failure *failure)
{
	struct mor_shebang line;
	char found[PATH_MAX];
	const char *env;

	if (!mor_program_is_executable(seen) || !mor_shebang_read(seen, &line))
		return 0;
	if (!child_can_run(command, line.interpreter))
		return no_interpreter(seen, line.interpreter, false, failure);
	env = env_name(&line);
	if (env && !strchr(env, '/') && find_in_path(command, env, found) < 0)
		return no_interpreter(seen, env, true, failure);
	return 0;
}

/* ---- argv ---- */

/* Both lists, NULL-terminated, as one block. */
static char **join_argv(const char *const *prefix, const char *const *argv)
{
	const char *const *parts[] = { prefix, argv };
	size_t count = 1, bytes = 0;
	char **all, *text;

	for (int p = 0; p < 2; p++) {
		for (const char *const *s = parts[p]; *s; s++) {
			count++;
			bytes += strlen(*s) + 1;
		}
	}
	all = mor_alloc(count * sizeof(*all) + bytes);
	if (!all)
		return NULL;
	text = (char *)(all + count);
	count = 0;
	for (int p = 0; p < 2; p++) {
		for (const char *const *s = parts[p]; *s; s++) {
			size_t len = strlen(*s) + 1;

			all[count++] = memcpy(text, *s, len);
			text += len;
		}
	}
	all[count] = NULL;
	return all;
}

void mor_program_argv_free(char **argv)
{
	mor_free(argv);
}

/* ---- resolution ---- */

static int check_cwd(const struct mor_command *command, struct mor_exec_failure *failure)
{
	struct stat st;
	int error;

	if (!command->cwd)
		return 0;
	errno = 0;
	if (stat(command->cwd, &st) == 0 && S_ISDIR(st.st_mode) &&
	    faccessat(AT_FDCWD, command->cwd, X_OK, AT_EACCESS) == 0)
		return 0;
	error = errno ? errno : ENOTDIR;
	return mor_exec_fail(failure, MOR_STEP_RESOLVE, error,
			     error == ENOENT ? MORTISE_ENOTFOUND : MORTISE_EEXEC, command->cwd,
			     "working directory: %s", strerrordesc_np(error));
}

static int not_in_path(const struct mor_command *command, const char *name, struct mor_exec_failure *failure)
{
	char hint[MOR_LIST_HINT];

	if (is_there(command, name))
		return mor_exec_fail(failure, MOR_STEP_RESOLVE, ENOENT, MORTISE_ENOTFOUND, name,
				     "not in PATH; to run the one in the working directory write ./%s", name);
	return mor_exec_fail(failure, MOR_STEP_RESOLVE, ENOENT, MORTISE_ENOTFOUND, name, "not found in PATH%s",
			     mor_program_list_hint(name, hint));
}

static int find_program(const struct mor_command *command, char out[PATH_MAX], struct mor_exec_failure *failure)
{
	const char *name = command->argv[0];
	size_t len = strlen(name);
	int r;

	if (len >= PATH_MAX)
		return mor_exec_fail(failure, MOR_STEP_RESOLVE, ENAMETOOLONG, MORTISE_ENOTFOUND, name,
				     "name is too long");
	if (strchr(name, '/')) {
		if (look_behind(command, name, out) != MOR_SHIM_RESOLVED)
			memcpy(out, name, len + 1);
		return 0;
	}
	r = find_in_path(command, name, out);
	if (r == -ENOENT && strcmp(name, "python") == 0) /* Debian has no such name, but manifests use it */
		r = find_python(command, out);
	if (r == -EACCES)
		return mor_exec_diagnose(command, out, EACCES, failure);
	return r < 0 ? not_in_path(command, name, failure) : 0;
}

/* Otherwise the interpreter would report it in its own words, with its own exit status. */
static int check_source(const struct mor_command *command, const char *program, const char *seen,
			struct mor_exec_failure *failure)
{
	struct stat st;

	if (stat(seen, &st) < 0 || !S_ISREG(st.st_mode))
		return mor_exec_diagnose(command, program, ENOENT, failure);
	if (faccessat(AT_FDCWD, seen, R_OK, AT_EACCESS) < 0)
		return mor_exec_fail(failure, MOR_STEP_RESOLVE, EACCES, MORTISE_EEXEC, seen,
				     "not readable (mode %04o)", st.st_mode & 07777);
	return 0;
}

/* Fills prefix with the words before the rest of argv. Its strings are `interpreter` and `program`. */
static int choose_interpreter(const struct mor_command *command, char interpreter[PATH_MAX],
			      const char *program, const char *prefix[4], struct mor_exec_failure *failure)
{
	enum language language = language_of(program);
	char seen[PATH_MAX];
	int r, n = 0;

	if (!mor_program_seen_from(command, program, seen))
		return mor_exec_fail(failure, MOR_STEP_RESOLVE, ENAMETOOLONG, MORTISE_ENOTFOUND, program,
				     "name is too long");
	if (language == NO_LANGUAGE) {
		prefix[n++] = program;
		prefix[n] = NULL;
		return check_shebang(command, seen, failure);
	}
	if ((r = check_source(command, program, seen, failure)) < 0)
		return r;
	if ((r = find_interpreter(command, language, seen, interpreter, failure)) < 0)
		return r;
	prefix[n++] = interpreter;
	if (language == PYTHON_FILE)
		prefix[n++] = "-u"; /* otherwise its answers stay in a buffer until it ends */
	prefix[n++] = program;
	prefix[n] = NULL;
	return 0;
}

bool mor_program_is_source(const char *path)
{
	return language_of(path) != NO_LANGUAGE;
}

/* `env PROGRAM` runs PROGRAM and does nothing else. A confined plugin can be executed once: so
 * it is PROGRAM. */
static const char *const *without_env(const char *const *argv)
{
	bool is_env = mor_text_in(mor_slice_of(argv[0]), "env|/usr/bin/env|/bin/env");

	return is_env && argv[1] && *argv[1] && argv[1][0] != '-' && !strchr(argv[1], '=') ? argv + 1 : argv;
}

static int resolve_plain(const struct mor_command *command, char ***ret_argv,
			 struct mor_exec_failure *ret_failure)
{
	char interpreter[PATH_MAX] = "", program[PATH_MAX] = "";
	const char *prefix[4] = { NULL };
	char **argv;
	int r;

	r = check_cwd(command, ret_failure);
	if (r < 0 || (r = find_program(command, program, ret_failure)) < 0 ||
	    (r = choose_interpreter(command, interpreter, program, prefix, ret_failure)) < 0)
		return r;
	argv = join_argv(prefix, command->argv + 1);
	if (!argv)
		return mor_exec_fail(ret_failure, MOR_STEP_RESOLVE, ENOMEM, MORTISE_ENOMEM, program, "%s",
				     mortise_status_text(MORTISE_ENOMEM));
	*ret_argv = argv;
	return 0;
}

int mor_program_resolve(const struct mor_command *command, char ***ret_argv,
			struct mor_exec_failure *ret_failure)
{
	struct mor_command plain = *command;

	if (!command->argv || !command->argv[0] || !command->argv[0][0])
		return mor_exec_fail(ret_failure, MOR_STEP_RESOLVE, EINVAL, MORTISE_ENOTFOUND, "command",
				     "no program is named");
	plain.argv = without_env(command->argv);
	return resolve_plain(&plain, ret_argv, ret_failure);
}
